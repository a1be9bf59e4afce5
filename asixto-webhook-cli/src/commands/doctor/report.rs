//! A diagnosis, for people or as JSON.

use asixto_webhook_core::explain::{Cause, Diagnosis, Verdict};
use serde::Serialize;

use super::Args;
use crate::console::{Console, Failure};

#[derive(Serialize)]
struct Report<'r> {
    provider: &'r str,
    verdict: &'r str,
    secret: Option<&'r str>,
    skew_seconds: Option<i64>,
    causes: Vec<Found<'r>>,
    notes: &'r [&'r str],
    complete: bool,
    macs: usize,
}

#[derive(Serialize)]
struct Found<'r> {
    code: &'r str,
    certainty: String,
    evidence: &'r str,
    fix: &'r str,
}

pub(super) fn print(args: &Args, diagnosis: &Diagnosis, notes: &[&str], console: &mut Console) -> Result<(), Failure> {
    if args.json {
        let (verdict, secret, skew_seconds) = match diagnosis.verdict() {
            Verdict::Healthy { secret, skew_seconds } => ("healthy", Some(&**secret), Some(*skew_seconds)),
            Verdict::Stale { secret, skew_seconds } => ("stale", Some(&**secret), Some(*skew_seconds)),
            Verdict::Explained => ("explained", None, None),
            _ => ("unexplained", None, None),
        };
        let causes = diagnosis.causes().iter().map(Found::from).collect();
        let (provider, complete, macs) = (args.keys.provider.name(), diagnosis.is_complete(), diagnosis.macs());
        return console.json(&Report { provider, verdict, secret, skew_seconds, causes, notes, complete, macs });
    }
    console.line(diagnosis.verdict())?;
    for cause in diagnosis.causes() {
        let (code, certainty) = (cause.code(), cause.certainty());
        console.line(format_args!("\n{code} ({certainty})\n  {}\n  fix: {}", cause.evidence(), cause.fix()))?;
    }
    for note in notes {
        console.line(format_args!("\nnote: {note}"))?;
    }
    Ok(())
}

impl<'r> From<&'r Cause> for Found<'r> {
    fn from(cause: &'r Cause) -> Self {
        Self {
            code: cause.code(),
            certainty: cause.certainty().to_string(),
            evidence: cause.evidence(),
            fix: cause.fix(),
        }
    }
}
