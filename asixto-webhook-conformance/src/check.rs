//! A whole run against a receiver: controls, probes, and what follows from them.

use asixto_webhook_core::{Clock, Outcome, SystemClock};
use jiff::fmt::rfc2822;
use tokio::time::Instant;

use crate::{
    Delivery, ExchangeError, Finding, Kit, PROBES, Probe, Response, Target, Verdict,
    judge::{is_success, told},
    observe::{LATE, observed},
    probe::Point,
    report::Report,
    run::run,
    target::send,
};

/// A run of the corpus against one receiver.
///
/// A valid delivery comes first and last. Where the receiver does not take it, nothing else that it says is worth
/// anything, and the report says why in place of judging. The same holds where it stops answering in between.
#[derive(Debug)]
#[must_use = "a check does nothing until it is run"]
pub struct Check<'c> {
    target: &'c Target,
    kit: &'c Kit,
    only: Vec<Selection>,
}

impl<'c> Check<'c> {
    /// Of the receiver at `target`, with deliveries of `kit`.
    pub fn new(target: &'c Target, kit: &'c Kit) -> Self {
        Self { target, kit, only: Vec::new() }
    }

    /// Runs what is selected, and nothing else. Said more than once, each adds to the others.
    pub fn only(mut self, selection: Selection) -> Self {
        self.only.push(selection);
        self
    }

    /// The probes that will be run, in their order.
    #[must_use]
    pub fn probes(&self) -> Vec<&'static Probe> {
        let selected = |probe: &&Probe| self.only.is_empty() || self.only.iter().any(|only| only.takes(probe));
        PROBES.iter().filter(selected).filter(|probe| probe.is_about(self.kit.provider())).collect()
    }

    /// Runs it. `progress` is told of each probe before it is run, with its place.
    pub async fn run(self, mut progress: impl FnMut(usize, &Probe)) -> Report {
        let mut report = Report::new(self.target, self.kit);
        let began = now();
        let first = self.kit.plain();
        let control = self.send(&first).await;
        report.skew = control.as_ref().ok().and_then(|response| skew(response, began));
        report.ours = control.as_ref().is_ok_and(|response| response.header(Outcome::HEADER).is_some());
        report.environment = unfit(&control, report.skew);
        if report.environment.is_none() {
            report.environment = self.unobserved(first.id()).await;
        }
        if report.environment.is_some() {
            return report;
        }
        for (place, probe) in self.probes().into_iter().enumerate() {
            progress(place, probe);
            let finding = match run(self.target, self.kit, probe).await {
                Some(finding) => finding,
                None => Finding::untried(probe, Verdict::Skipped, "it takes more secrets than were given"),
            };
            // A receiver that is gone has refused nothing.
            let gone = if finding.unanswered { unfit(&self.control().await, report.skew) } else { None };
            report.latency = report.latency.or(finding.latency);
            report.findings.push(advised(finding, report.ours));
            if let Some(reason) = gone {
                report.environment = Some(reason);
                break;
            }
        }
        if report.environment.is_none() {
            report.environment = unfit(&self.control().await, report.skew);
        }
        if report.environment.is_some() {
            for finding in &mut report.findings {
                finding.verdict = Verdict::Environment;
            }
        }
        report
    }

    /// Why the observer of a delivery that was acknowledged is none of this receiver's.
    async fn unobserved(&self, id: &str) -> Option<String> {
        let observer = self.target.observer.as_ref()?;
        match observed(self.target, observer, id, 1, Instant::now() + LATE).await {
            Ok(1..) => None,
            Ok(0) => Some(
                "a valid delivery was acknowledged, and the observer does not list it: is it this receiver's, and does \
                 the receiver work on what it acknowledges?"
                    .to_owned(),
            ),
            Err(error) => Some(error.to_string()),
        }
    }

    /// A valid delivery.
    async fn control(&self) -> Result<Response, ExchangeError> {
        self.send(&self.kit.plain()).await
    }

    async fn send(&self, delivery: &Delivery) -> Result<Response, ExchangeError> {
        send(self.target, &delivery.request()).await
    }
}

/// Which probes are run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Selection {
    /// Those of a point of the checklist.
    Point(Point),
    /// Those of a group: `accept`, `reject`, `state` or `operation`.
    Group(&'static str),
    /// One, by its id.
    Probe(&'static str),
}

impl Selection {
    /// Reads `K5`, `reject` or `reject/forged`. `None` for a text that selects nothing.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(point) = Point::ALL.into_iter().find(|point| point.to_string().eq_ignore_ascii_case(text)) {
            return Some(Self::Point(point));
        }
        PROBES.iter().find_map(|probe| match text {
            _ if text == probe.id => Some(Self::Probe(probe.id)),
            _ if text == probe.group() => Some(Self::Group(probe.group())),
            _ => None,
        })
    }

    fn takes(&self, probe: &Probe) -> bool {
        match self {
            Self::Point(point) => *point == probe.point,
            Self::Group(group) => *group == probe.group(),
            Self::Probe(id) => *id == probe.id,
        }
    }
}

/// Whoever has not made our decisions is advised of them.
fn advised(mut finding: Finding, ours: bool) -> Finding {
    let unlike = matches!(finding.verdict, Verdict::Fail | Verdict::Warn);
    if unlike && !ours && finding.probe.authority == crate::Authority::Decision {
        finding.verdict = Verdict::Advisory;
    }
    finding
}

/// Why a receiver that answers a valid delivery so cannot be checked.
fn unfit(control: &Result<Response, ExchangeError>, skew: Option<i64>) -> Option<String> {
    let hint = match control {
        Ok(response) if is_success(response.status) => return None,
        Ok(response) if (300..400).contains(&response.status) => {
            "a redirect is never followed: give the URL that it leads to"
        }
        Ok(response) if [404, 405].contains(&response.status) => "is this the path of the webhook?",
        Ok(_) if skew.is_some_and(|skew| skew.abs() > SKEW) => "its clock is wrong, by its `Date`",
        Ok(response) if response.status < 500 => "is the secret the receiver's, and the environment the one it takes?",
        Ok(_) => "its log may say why",
        Err(_) => "is it running, and reachable from here?",
    };
    Some(match control {
        Ok(_) => format!("expected a valid delivery to be answered 2xx, found {}: {hint}", told(control)),
        Err(_) => format!("a valid delivery got {}: {hint}", told(control)),
    })
}

/// How far the receiver's clock is ahead of this one, in seconds, by its `Date`.
fn skew(response: &Response, asked: i64) -> Option<i64> {
    let date = rfc2822::DateTimeParser::new().parse_timestamp(response.header("date")?).ok()?.as_second();
    // That of a moment between the question and now.
    Some(if date < asked { date - asked } else { (date - now()).max(0) })
}

fn now() -> i64 {
    i64::try_from(SystemClock.now().as_secs()).unwrap_or(i64::MAX)
}

/// How many seconds a clock may be off before it is worth a word.
pub(crate) const SKEW: i64 = 10;

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn dated(date: &str) -> Response {
        Response { status: 200, headers: vec![("date".to_owned(), date.into())], body: Vec::new() }
    }

    // C1
    #[test]
    fn skew_is_read_from_the_date() {
        let asked = now();
        for off in [-600, -31, 0, 45, 600] {
            let at = Timestamp::from_second(asked + off).unwrap();
            let date = at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
            let found = skew(&dated(&date), asked).unwrap();
            assert!((found - off).abs() <= 1, "{found} for {off}");
        }
        for odd in ["", "yesterday", "Mon, 31 Feb 2026 00:00:00 GMT"] {
            assert_eq!(skew(&dated(odd), asked), None, "{odd}");
        }
    }

    #[test]
    fn what_is_selected() {
        assert_eq!(Selection::parse("k5"), Some(Selection::Point(Point::K5)));
        assert_eq!(Selection::parse("K10"), Some(Selection::Point(Point::K10)));
        assert_eq!(Selection::parse("state"), Some(Selection::Group("state")));
        assert_eq!(Selection::parse("reject/forged"), Some(Selection::Probe("reject/forged")));
        for nothing in ["", "K11", "reject/", "forged"] {
            assert_eq!(Selection::parse(nothing), None, "{nothing}");
        }
    }
}
