//! Receivers that verify exactly as the published Python and TypeScript do come out of a check without a failure.

#![cfg(test)]

use std::{
    env,
    io::{BufRead, BufReader, ErrorKind},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
};

use asixto_webhook_conformance::{Check, Kit, Report, Target, Verdict, Version};
use asixto_webhook_core::{Environment, SecretSet};

const SECRETS: [&str; 2] = ["whsec_cHVibGlzaGVkIHNlY3JldCBvbmU", "whsec_cHVibGlzaGVkIHNlY3JldCB0d28"];

/// Where it is set, a language that is not installed is an error.
const REQUIRE_ALL: &str = "ASIXTO_WEBHOOK_REQUIRE_ALL";

/// The last of two timestamps counts (B8), other parts may hold any byte (B8), and of the envelope the published code
/// says nothing (A3, A6, A8).
const ADVISED: [&str; 5] =
    ["reject/joined", "reject/not-ascii", "reject/empty-id", "reject/two-ids", "reject/other-environment"];

#[tokio::test]
async fn the_python_does_not_fail() {
    does_not_fail("python3", "receiver.py").await;
}

#[tokio::test]
async fn the_typescript_does_not_fail() {
    does_not_fail("node", "receiver.mjs").await;
}

async fn does_not_fail(language: &str, script: &str) {
    let Some(receiver) = Receiver::start(language, script) else { return };
    let target = Target::new(receiver.address, Version::Http1);
    let seen = target.clone().observed_at("/events");
    let (observed, unobserved) = tokio::join!(check(&seen), check(&target));
    assert_eq!(of(&observed, Verdict::Advisory), ADVISED);
    assert_eq!(of(&observed, Verdict::Inconclusive), [""; 0]);

    // Whether it did a thing once or twice its answers do not say.
    assert_eq!(of(&unobserved, Verdict::Advisory), ADVISED);
    assert!(of(&unobserved, Verdict::Inconclusive).contains(&"state/duplicate"));
}

struct Receiver {
    process: Child,
    address: SocketAddr,
}

impl Receiver {
    /// `None` where there is no such language, and that is not an error.
    fn start(language: &str, script: &str) -> Option<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/published").join(script);
        let mut command = Command::new(language);
        command.arg(script).env("ASIXTO_WEBHOOK_SECRETS", SECRETS.join(",")).stdout(Stdio::piped());
        let mut process = match command.spawn() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                assert!(env::var_os(REQUIRE_ALL).is_none(), "{REQUIRE_ALL} is set, and there is no {language}");
                eprintln!("SKIPPED: there is no {language}, so that its published verifier was not tried");
                return None;
            }
            process => process.unwrap(),
        };
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").unwrap().parse().unwrap();
        Some(Self { process, address })
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// A whole check, without a failure.
async fn check(target: &Target) -> Report {
    let kit = Kit::new("/webhooks/asixto", SecretSet::from_issued(SECRETS).unwrap(), Environment::Live);
    let report = Check::new(target, &kit).run(|_, _| ()).await;
    assert_eq!(report.environment, None);
    let failed: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| finding.verdict >= Verdict::Warn)
        .map(|finding| format!("{} {}: {}", finding.verdict, finding.probe.id, finding.got))
        .collect();
    assert_eq!(failed, [""; 0]);
    report
}

fn of(report: &Report, verdict: Verdict) -> Vec<&'static str> {
    report.findings.iter().filter(|finding| finding.verdict == verdict).map(|finding| finding.probe.id).collect()
}
