//! What a whole run found.

use std::collections::BTreeMap;

use crate::{Finding, Kit, Latency, Target, Verdict, Version, probe::Point};

/// What a whole run found.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Report {
    /// The receiver, as a URL.
    pub url: String,
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
            url: format!("{}://{}{}", target.peer.scheme(), target.peer.authority(), kit.path()),
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

    /// The exit code of a program that ran it: 0 where the receiver passes, 1 where it fails, 3 where it could not be
    /// judged; and if that is `strict`, 4 where something could not be told.
    #[must_use]
    pub fn exit_code(&self, strict: bool) -> u8 {
        match self.verdict() {
            Verdict::Environment => 3,
            Verdict::Fail => 1,
            _ if strict && self.count(Verdict::Inconclusive) > 0 => 4,
            _ => 0,
        }
    }
}
