//! For programs.

use serde_json::{Value, json};

use super::Report;
use crate::{Authority, Finding};

impl Report {
    /// The report as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let latency = self.latency.map(|latency| {
            let [p50, p99] = [latency.p50, latency.p99].map(|time| time.as_secs_f64() * 1000.0);
            json!({ "count": latency.count, "p50_ms": p50, "p99_ms": p99 })
        });
        json!({
            "url": format!("{}{}", self.origin, self.path),
            "http": self.version.to_string(),
            "provider": self.provider,
            "verdict": self.verdict().code(),
            "environment": self.environment,
            "evidence": { "diagnostics": self.ours, "observer": self.observed },
            "clock_skew_seconds": self.skew,
            "latency": latency,
            "probes": self.findings.iter().map(|finding| self.entry(finding)).collect::<Vec<_>>(),
        })
    }

    fn entry(&self, finding: &Finding) -> Value {
        let Finding { probe, verdict, expected, got, note, request, .. } = finding;
        json!({
            "id": probe.id,
            "clause": probe.clause,
            "point": probe.point.to_string(),
            "title": probe.title,
            "authority": match probe.authority {
                Authority::Contract => "contract",
                Authority::Decision => "decision",
            },
            "verdict": verdict.code(),
            "expected": expected,
            "got": got,
            "note": note,
            "fix": finding.fix(),
            "curl": request.as_ref().and_then(|request| request.curl(&self.origin)),
        })
    }
}
