//! What a whole run found, and how it is shown.

mod html;
mod json;
mod junit;
mod table;

use std::collections::BTreeMap;

use crate::{Finding, Kit, Latency, Target, Verdict, Version, check::SKEW, probe::Point};

/// What is to be said with lines of curl.
const AGING: &str = "the lines of curl hold for five minutes: then their signature is too old";

/// What a whole run found.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Report {
    /// Scheme, host and port of the receiver.
    pub origin: String,
    /// Its path, with the query.
    pub path: String,
    /// The version of HTTP.
    pub version: Version,
    /// The short name of the sender.
    pub provider: &'static str,
    /// Whether the receiver says how each delivery ended, and so has made this project's decisions.
    pub ours: bool,
    /// Whether its effects were looked up.
    pub observed: bool,
    /// How far its clock is ahead, in seconds, by its `Date`.
    pub skew: Option<i64>,
    /// How soon it acknowledges.
    pub latency: Option<Latency>,
    /// Why nothing could be judged, where that is so.
    pub environment: Option<String>,
    /// What became of each probe.
    pub findings: Vec<Finding>,
}

impl Report {
    pub(crate) fn new(target: &Target, kit: &Kit) -> Self {
        Self {
            origin: format!("{}://{}", target.peer.scheme(), target.peer.authority()),
            path: kit.path().to_owned(),
            version: target.version,
            provider: kit.provider(),
            ours: false,
            observed: target.observer.is_some(),
            skew: None,
            latency: None,
            environment: None,
            findings: Vec::new(),
        }
    }

    /// How many probes ended so.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.findings.iter().filter(|finding| finding.verdict == verdict).count()
    }

    /// What the whole run says: the worst of its verdicts.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self.environment {
            Some(_) => Verdict::Environment,
            None => self.findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Environment),
        }
    }

    /// The findings of each point of the checklist that has any.
    #[must_use]
    pub fn by_point(&self) -> BTreeMap<Point, Vec<&Finding>> {
        let mut points = BTreeMap::<_, Vec<_>>::new();
        for finding in &self.findings {
            points.entry(finding.probe.point).or_default().push(finding);
        }
        points
    }

    /// What the verdicts rest on.
    #[must_use]
    pub fn evidence(&self) -> &'static str {
        match (self.ours, self.observed) {
            (true, true) => "the diagnostics header, and what the handler ran for",
            (true, false) => "the diagnostics header",
            (false, true) => "statuses, and what the handler ran for",
            (false, false) => "statuses alone",
        }
    }

    /// How many there are of each verdict, such as `93 pass, 1 fail`.
    #[must_use]
    pub fn summary(&self) -> String {
        tally(self.findings.iter().map(|finding| finding.verdict))
    }

    /// What is worth a word about the receiver's clock.
    pub(crate) fn clock(&self) -> Option<String> {
        let skew = self.skew.filter(|skew| skew.abs() > SKEW)?;
        let way = if skew > 0 { "ahead" } else { "behind" };
        Some(format!("its clock is {} s {way}, by its `Date`: keep it right by NTP", skew.abs()))
    }

    /// The exit code of a program that ran it: 0 where the receiver passes, 1 where it fails, 3 where it could not be
    /// judged; and if that is `strict`, 4 where something could not be told.
    #[must_use]
    pub fn exit_code(&self, strict: bool) -> u8 {
        match self.verdict() {
            Verdict::Environment => 3,
            Verdict::Fail => 1,
            // Nor has one passed that was asked nothing.
            _ if strict && (self.count(Verdict::Inconclusive) > 0 || self.count(Verdict::Pass) == 0) => 4,
            _ => 0,
        }
    }
}

/// How many there are of each verdict, the worst first.
fn tally(verdicts: impl Iterator<Item = Verdict> + Clone) -> String {
    let count = |of: Verdict| verdicts.clone().filter(|verdict| *verdict == of).count();
    let counted = Verdict::ALL.into_iter().rev().map(|verdict| (count(verdict), verdict));
    let some: Vec<_> =
        counted.filter(|(count, _)| *count > 0).map(|(count, verdict)| format!("{count} {verdict}")).collect();
    if some.is_empty() { "nothing was judged".to_owned() } else { some.join(", ") }
}
