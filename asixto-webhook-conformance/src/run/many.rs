//! The steps that send many requests, at once or one after the other.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use asixto_webhook_core::Outcome;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::Running;
use crate::{
    ExchangeError, Request, Response, Version, http2,
    judge::{PATIENCE, Verdict, is_success, judge, told},
    latency::Latency,
    probe::Expect,
    target::send,
};

impl Running<'_> {
    pub(super) async fn together(&mut self, requests: Vec<Request>, first: Expect, rest: &'static [Outcome]) {
        let others = requests.len() - 1;
        self.evidence.repeats = true;
        let answers = self.all(&requests).await;
        let (mut firsts, mut repeats, mut seen) = (0, 0, BTreeMap::<_, u32>::new());
        for answer in &answers {
            self.note(answer);
            *seen.entry(told(answer)).or_default() += 1;
            match answer {
                Ok(response) if firsts == 0 && is(&[first.outcome], response) => firsts += 1,
                Ok(response) if is(rest, response) => repeats += 1,
                _ => {}
            }
        }
        let verdict = if (firsts, repeats) == (1, others) { Verdict::Pass } else { Verdict::Fail };
        let got: Vec<_> = seen.iter().map(|(told, times)| format!("{times} × {told}")).collect();
        // One of them alone shows nothing.
        self.say(verdict, format!("1 × {first}, {others} × {}", either(rest)), got.join(", "), None);
    }

    pub(super) async fn beside(&mut self, slow: &Request, quick: &Request) {
        let (target, expect) = (self.target, Expect::from(Outcome::Processed));
        let timed = async |request, after| {
            sleep(after).await;
            (send(target, request).await, Instant::now())
        };
        // Not before the slow one is under way.
        let (first, second) = (timed(slow, Duration::ZERO), timed(quick, Duration::from_millis(250)));
        let ((slow_answer, slow_ended), (quick_answer, quick_ended)) = tokio::join!(first, second);
        self.judge(slow, expect, &slow_answer);
        self.judge(quick, expect, &quick_answer);
        if self.finding.verdict == Verdict::Pass {
            let verdict = if quick_ended < slow_ended { Verdict::Pass } else { Verdict::Fail };
            let order = |first, last| format!("the {first} one before the {last} one");
            let got = if quick_ended < slow_ended { order("quick", "slow") } else { order("slow", "quick") };
            self.say(verdict, order("quick", "slow"), got, Some(quick));
        }
    }

    /// Different deliveries at once: each is taken. One that is told to come back is not lost.
    pub(super) async fn burst(&mut self, requests: Vec<Request>, expect: Expect) {
        let (mut taken, mut worst, mut strange) = (0, Verdict::Pass, BTreeSet::new());
        for answer in &self.all(&requests).await {
            self.note(answer);
            let (verdict, got) = match answer {
                Ok(response) if undiagnosed(response) && [429, 503].contains(&response.status) => {
                    (Verdict::Warn, told(answer))
                }
                answer => judge(expect, answer),
            };
            taken += u32::from(verdict == Verdict::Pass);
            worst = worst.max(verdict);
            if verdict != Verdict::Pass {
                strange.insert(got);
            }
        }
        let mut got = format!("{taken} × {expect}");
        if !strange.is_empty() {
            got += &format!(", and {}", Vec::from_iter(strange).join(", "));
        }
        self.say(worst, format!("{} × {expect}", requests.len()), got, None);
    }

    /// Sends all at once.
    async fn all(&self, requests: &[Request]) -> Vec<Result<Response, ExchangeError>> {
        let target = self.target;
        if target.version == Version::Http2 {
            return http2::together(target.peer.clone(), requests, PATIENCE).await;
        }
        let mut sending = JoinSet::new();
        for request in requests {
            let (target, request) = (target.clone(), request.clone());
            sending.spawn(async move { send(&target, &request).await });
        }
        sending.join_all().await
    }

    /// Refusals for several reasons: whoever sees them must not be able to tell the reasons apart.
    pub(super) async fn alike(&mut self, requests: Vec<Request>, expect: Expect) {
        let mut seen = BTreeSet::new();
        for request in &requests {
            let answer = send(self.target, request).await;
            self.note(&answer);
            match answer {
                Ok(response) => _ = seen.insert((response.status, response.body)),
                Err(error) => return self.say(Verdict::Fail, "an answer".to_owned(), error.to_string(), Some(request)),
            }
        }
        let verdict = if seen.len() == 1 { Verdict::Pass } else { Verdict::Fail };
        let statuses: BTreeSet<_> = seen.iter().map(|(status, _)| status.to_string()).collect();
        let got = match (seen.len(), statuses.len()) {
            (1, _) => format!("{}, whatever the reason", Vec::from_iter(statuses).join("")),
            (_, 1) => format!("{} with bodies that differ by the reason", Vec::from_iter(statuses).join("")),
            _ => format!("{} by the reason", Vec::from_iter(statuses).join(", ")),
        };
        let expected = format!("{}, whatever the reason", expect.outcome.status());
        self.say(verdict, expected, got, requests.first());
    }

    pub(super) async fn timed(&mut self, requests: Vec<Request>) {
        let (expect, mut times) = (Expect::from(Outcome::Processed), Vec::new());
        for request in &requests {
            let begun = Instant::now();
            let answer = send(self.target, request).await;
            times.push(begun.elapsed());
            let (verdict, got) = judge(expect, &answer);
            if verdict != Verdict::Pass {
                self.note(&answer);
                return self.say(verdict, expect.to_string(), got, Some(request));
            }
            // Three that nobody waited for say enough.
            if times.iter().filter(|time| **time >= SENDERS_PATIENCE).count() == 3 {
                break;
            }
        }
        let latency = Latency::of(times);
        let verdict = match latency.p99 {
            late if late >= SENDERS_PATIENCE => Verdict::Fail,
            close if close >= SENDERS_PATIENCE / 2 => Verdict::Warn,
            _ => Verdict::Pass,
        };
        self.finding.latency = Some(latency);
        self.say(verdict, format!("99 of 100 within {SENDERS_PATIENCE:?}"), latency.to_string(), None);
    }
}

/// How long Asixto waits for an answer (H1).
const SENDERS_PATIENCE: Duration = Duration::from_secs(10);

fn undiagnosed(response: &Response) -> bool {
    response.header(Outcome::HEADER).is_none()
}

/// Whether a response can be of one of these outcomes. Of a copy that comes at the same time a receiver may also say
/// that it is done, once it is, or that its sender shall come back.
fn is(outcomes: &[Outcome], response: &Response) -> bool {
    match response.header(Outcome::HEADER) {
        Some(code) => outcomes.iter().any(|it| it.code() == code && it.status() == response.status),
        None if is_success(response.status) => true,
        None => outcomes.contains(&Outcome::InFlight) && [409, 425, 429, 503].contains(&response.status),
    }
}

fn either(outcomes: &[Outcome]) -> String {
    outcomes.iter().map(|outcome| outcome.code()).collect::<Vec<_>>().join(" or ")
}
