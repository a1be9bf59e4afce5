//! Runs one probe against a receiver, and says what came back.

mod many;

use core::time::Duration;

use asixto_webhook_core::Outcome;
use tokio::time::{Instant, sleep};

use crate::{
    ExchangeError, Request, Response, Target,
    judge::{PATIENCE, Verdict, is_success, judge, told},
    kit::Kit,
    latency::Latency,
    observe::{LATE, observed},
    probe::{Expect, Probe, Step},
    target::send,
};

/// What became of one probe.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Finding {
    /// The probe.
    pub probe: Probe,
    /// What it says of the receiver.
    pub verdict: Verdict,
    /// What had to come back, step by step.
    pub expected: String,
    /// What came back.
    pub got: String,
    /// What a verdict rests on that is no plain pass or fail.
    pub note: Option<&'static str>,
    /// The request that decided it, or else the first.
    pub request: Option<Request>,
    /// How soon deliveries were acknowledged, where that was measured.
    pub latency: Option<Latency>,
    /// Whether a request was left without an answer.
    pub(crate) unanswered: bool,
    /// Whether what had to be refused was refused with another status.
    pub(crate) refused_otherwise: bool,
}

impl Finding {
    /// Whether what came back is what had to.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.verdict == Verdict::Pass
    }

    /// What to do about it.
    #[must_use]
    pub fn fix(&self) -> &'static str {
        match self.refused_otherwise && self.verdict < Verdict::Fail {
            true => "it is refused, as it has to be: answer the status that is expected",
            false => self.probe.fix,
        }
    }

    /// One that was not tried.
    pub(crate) fn untried(probe: &Probe, verdict: Verdict, note: &'static str) -> Self {
        Self { verdict, note: Some(note), ..Self::new(probe) }
    }

    fn new(probe: &Probe) -> Self {
        Self {
            probe: *probe,
            verdict: Verdict::Pass,
            expected: String::new(),
            got: String::new(),
            note: None,
            request: None,
            latency: None,
            unanswered: false,
            refused_otherwise: false,
        }
    }
}

/// Runs one probe. `None` where it takes another sender, or more secrets than the receiver has.
pub async fn run(target: &Target, kit: &Kit, probe: &Probe) -> Option<Finding> {
    if !probe.is_about(kit.provider()) || kit.secrets() < probe.secrets {
        return None;
    }
    let evidence = Evidence { repeats: probe.by_effects, ..Evidence::default() };
    let mut running = Running { target, finding: Finding::new(probe), steps: Vec::new(), evidence, late: None };
    for step in (probe.script)(kit) {
        running.step(step).await;
    }
    Some(running.end())
}

struct Running<'t> {
    target: &'t Target,
    finding: Finding,
    /// What had to come back and what did, of each step.
    steps: Vec<(String, String)>,
    evidence: Evidence,
    /// Until when effects are waited for, from the first that is looked up.
    late: Option<Instant>,
}

/// What is known of a handler's effects.
#[derive(Default)]
struct Evidence {
    /// Deliveries of one event were sent more than once, or one that may be taken for a repeat.
    repeats: bool,
    /// Some answer came without an outcome.
    statuses_alone: bool,
    observed: bool,
    /// Some request could not be sent as it is.
    unsent: bool,
}

impl Running<'_> {
    async fn step(&mut self, step: Step) {
        match step {
            Step::Send(request, expect) => {
                self.evidence.repeats |= matches!(expect.outcome, Outcome::Duplicate | Outcome::Conflict);
                let answer = send(self.target, &request).await;
                self.judge(&request, expect, &answer);
            }
            Step::HangUp(request) => {
                // The error is that it hung up.
                let _ = send(self.target, &request).await;
            }
            Step::Insist(request) => self.insist(&request).await,
            Step::Together(requests, first, rest) => self.together(requests, first, rest).await,
            Step::Beside(slow, quick) => self.beside(&slow, &quick).await,
            Step::Burst(requests, expect) => self.burst(requests, expect).await,
            Step::Alike(requests, expect) => self.alike(requests, expect).await,
            Step::Timed(requests) => self.timed(requests).await,
            Step::Anything(request) => self.anything(request).await,
            Step::Effects(id, times) => self.effects(&id, times).await,
        }
    }

    fn judge(&mut self, request: &Request, expect: Expect, answer: &Result<Response, ExchangeError>) {
        let (verdict, got) = judge(expect, answer);
        self.finding.refused_otherwise |= verdict == Verdict::Warn && answer.is_ok();
        self.note(answer);
        self.say(verdict, expect.to_string(), got, Some(request));
    }

    /// Takes down what an answer proves.
    fn note(&mut self, answer: &Result<Response, ExchangeError>) {
        match answer {
            Ok(response) => self.evidence.statuses_alone |= response.header(Outcome::HEADER).is_none(),
            Err(_) => self.finding.unanswered = true,
        }
    }

    fn say(&mut self, verdict: Verdict, expected: String, got: String, request: Option<&Request>) {
        if self.finding.request.is_none() || verdict > self.finding.verdict {
            self.finding.request = request.cloned().or(self.finding.request.take());
        }
        self.finding.verdict = self.finding.verdict.max(verdict);
        self.evidence.unsent |= verdict == Verdict::Skipped;
        self.steps.push((expected, got));
    }

    /// As its sender does, if sooner.
    async fn insist(&mut self, request: &Request) {
        self.evidence.repeats = true;
        let deadline = Instant::now() + PATIENCE;
        let answer = loop {
            let answer = send(self.target, request).await;
            self.note(&answer);
            if answer.as_ref().is_ok_and(|response| is_success(response.status)) || Instant::now() >= deadline {
                break answer;
            }
            sleep(Duration::from_millis(100)).await;
        };
        let taken = answer.as_ref().is_ok_and(|response| is_success(response.status));
        let verdict = if taken { Verdict::Pass } else { Verdict::Fail };
        let got = if taken { "2xx in the end".to_owned() } else { told(&answer) };
        self.say(verdict, "2xx in the end".to_owned(), got, Some(request));
    }

    /// Whatever it is answered, it is neither a redirect nor a farewell.
    async fn anything(&mut self, request: Request) {
        let answer = send(self.target, &request).await;
        self.note(&answer);
        let fatal = match &answer {
            Ok(response) => (300..400).contains(&response.status) || response.status == 410,
            Err(_) => true,
        };
        let verdict = if fatal { Verdict::Fail } else { Verdict::Pass };
        self.say(verdict, "neither 3xx nor 410".to_owned(), told(&answer), Some(&request));
    }

    async fn effects(&mut self, id: &str, times: u32) {
        self.evidence.repeats |= times > 1;
        let Some(observer) = &self.target.observer else { return };
        self.evidence.observed = true;
        // What has failed already is not waited for.
        let patience = if self.finding.verdict < Verdict::Fail { LATE } else { Duration::ZERO };
        let deadline = *self.late.get_or_insert_with(|| Instant::now() + patience);
        let (expected, got, verdict) = match observed(self.target, observer, id, times, deadline).await {
            Ok(found) if found == times => (effects(times), effects(found), Verdict::Pass),
            Ok(found) => (effects(times), effects(found), Verdict::Fail),
            Err(error) => (effects(times), format!(", {error}"), Verdict::Inconclusive),
        };
        self.finding.verdict = self.finding.verdict.max(verdict);
        if let Some((last_expected, last_got)) = self.steps.last_mut() {
            // Of many deliveries it is said once, as long as it is the same.
            if !last_expected.ends_with(&expected) || !last_got.ends_with(&got) {
                *last_expected += &expected;
                *last_got += &got;
            }
        }
    }

    fn end(self) -> Finding {
        let Self { mut finding, steps, evidence, .. } = self;
        let join = |of: fn(&(String, String)) -> &str| steps.iter().map(of).collect::<Vec<_>>().join(" → ");
        (finding.expected, finding.got) = (join(|(expected, _)| expected), join(|(_, got)| got));
        if finding.verdict == Verdict::Pass && evidence.unsent {
            finding.verdict = Verdict::Skipped;
            finding.note = Some("this version of HTTP cannot say it");
        }
        if finding.verdict == Verdict::Pass && evidence.repeats && evidence.statuses_alone && !evidence.observed {
            finding.verdict = Verdict::Inconclusive;
            finding.note = Some("the status alone does not tell whether the handler ran again: observe it");
        }
        finding
    }
}

fn effects(times: u32) -> String {
    format!(", run {times}×")
}
