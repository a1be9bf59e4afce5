//! What becomes of a claim: renewed, committed or released.

use core::{
    fmt,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use super::{Receiver, place::Sink, running::Mark};
use crate::{
    dedup::{Claim, Claimed, Held, StoreError},
    event::Event,
    log::{Chain, Line, TARGET, cut, reason},
    outcome::{Answer, Outcome},
    provider::{Asixto, Provider},
};

/// The claim under which a handler runs. Dropped unsettled, as by a crash, the claim ends with its lease.
#[must_use = "settle it, or the event stays claimed until the lease ends"]
pub struct Ticket<P: Provider = Asixto> {
    event: Event<P>,
    claims: Claims,
    /// Whether the sender has been told that the handler is slow.
    slow: AtomicBool,
    /// Whether it is known, and logged, that the claim is lost.
    lost: AtomicBool,
}

impl<P: Provider> Ticket<P> {
    pub(super) const fn new(event: Event<P>, claims: Claims) -> Self {
        Self { event, claims, slow: AtomicBool::new(false), lost: AtomicBool::new(false) }
    }

    pub(super) const fn event(&self) -> &Event<P> {
        &self.event
    }
}

/// What a delivery has claimed.
#[derive(Default)]
pub(super) struct Claims {
    pub(super) event: Option<Hold>,
    pub(super) nonce: Option<Hold>,
}

impl Claims {
    pub(super) const fn is_empty(&self) -> bool {
        self.event.is_none() && self.nonce.is_none()
    }

    fn iter(&self) -> impl Iterator<Item = &Hold> {
        self.event.iter().chain(&self.nonce)
    }
}

/// A claim, and how long it is remembered once it is committed.
pub(super) struct Hold {
    pub(super) mark: Mark,
    pub(super) ttl: Duration,
}

impl<P: Provider> fmt::Debug for Ticket<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("event", &self.event).finish_non_exhaustive()
    }
}

/// How a handler ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "an adapter makes them, nobody matches them")]
pub enum Handled {
    /// It answered with this status.
    Answered(u16),
    /// It panicked.
    Panicked,
}

impl From<u16> for Handled {
    fn from(status: u16) -> Self {
        Self::Answered(status)
    }
}

impl fmt::Display for Handled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answered(status) => write!(f, "the handler answered {status}"),
            Self::Panicked => f.write_str("the handler panicked"),
        }
    }
}

/// What came of settling a ticket.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "an adapter must deal with both")]
pub struct Settled<P: Provider = Asixto> {
    /// The answer to the sender.
    pub answer: Answer,
    /// A claim whose handler succeeded while the store did not take the commit, or another delivery has the event. The
    /// sender is told 2xx all the same, since 503 would run the handler again; whoever settles calls
    /// [`Receiver::commit`] until it is [`Held::Yes`].
    pub uncommitted: Option<Ticket<P>>,
}

impl<P: Provider> Receiver<P> {
    /// Extends a claim by another lease, or claims the event anew if it is nobody's. [`Held::Lost`] while another
    /// delivery has it.
    ///
    /// Neither that nor a store that cannot be reached is a reason to stop renewing: the other may fail, and the lease
    /// may still hold.
    pub async fn renew(&self, ticket: &Ticket<P>) -> Held {
        let mut all = Held::Yes;
        for hold in ticket.claims.iter() {
            if matches!(self.hold_on(Step::Renew, ticket, hold).await, Ok(Held::Lost)) {
                all = Held::Lost;
            }
        }
        all
    }

    /// Gives up on a handler that has run for the whole of its budget: its claim is not to be renewed any more, and
    /// once the lease has ended another attempt may run beside it.
    pub fn overdue(&self, ticket: &Ticket<P>) {
        ticket.claims.iter().for_each(|hold| hold.mark.end());
        tracing::error!(
            target: TARGET,
            event_id = cut(ticket.event.id()),
            event_type = cut(ticket.event.event_type()),
            handler_limit_seconds = self.0.settings.handler_limit.as_secs(),
            "the handler still runs at the end of its budget: its claim is not renewed any more"
        );
    }

    /// The answer for an event whose handler needs longer than the sender waits. It runs on, and is settled later.
    pub fn slow(&self, ticket: &Ticket<P>) -> Answer {
        ticket.slow.store(true, Ordering::Relaxed);
        self.log(
            &ticket.event,
            Answer::new(Outcome::HandlerSlow, self.diagnostics()).retry_after(self.0.settings.lease),
        )
    }

    /// The answer for a delivery that was broken off by a panic outside of its handler; `reason` is for the log.
    pub fn interrupted(&self, reason: &str) -> Answer {
        self.conclude(Outcome::HandlerFailed, Line { reason: Some(&reason), ..Line::default() })
    }

    /// The answer for a delivery whose task is silent past the time for the answer, although nothing that it awaits
    /// takes that long: it cannot move. If it ever does, it logs and settles as usual.
    pub fn stuck(&self) -> Answer {
        let reason =
            "the delivery's task gives no answer: a store or secret source blocks its thread instead of waiting";
        self.conclude(Outcome::StoreUnavailable, Line { reason: Some(&reason), ..Line::default() })
    }

    /// Commits the claim on a 2xx, releases it on any other status and on a panic.
    ///
    /// Whoever has to answer by a deadline takes the steps of it one by one: [`finished`](Self::finished), then
    /// [`commit`](Self::commit) if the outcome is [`Outcome::Processed`], and otherwise [`release`](Self::release).
    pub async fn settle(&self, ticket: Ticket<P>, handled: impl Into<Handled>) -> Settled<P> {
        let answer = self.finished(&ticket, handled.into());
        let settled = self.settle_rest(&answer, &ticket).await;
        Settled { answer, uncommitted: (!settled).then_some(ticket) }
    }

    /// Settles what a delivery that was answered without a handler has claimed on its way, once it is answered: a nonce,
    /// say, which a duplicate uses up, and which anything else gives back. Whether there is nothing left to do.
    pub async fn settle_rest(&self, answer: &Answer, ticket: &Ticket<P>) -> bool {
        if (200..300).contains(&answer.status()) {
            return self.commit(ticket).await.is_ok_and(|held| held == Held::Yes);
        }
        // What is not released ends with its lease.
        let _ = self.release(ticket).await;
        true
    }

    /// The answer for a handler that has ended, before its claim is settled.
    pub fn finished(&self, ticket: &Ticket<P>, handled: Handled) -> Answer {
        let answer = self.handler_answer(handled);
        let failed = answer.outcome() != Outcome::Processed;
        let why: Option<&dyn fmt::Display> = if failed { Some(&handled) } else { None };
        if ticket.slow.load(Ordering::Relaxed) {
            // The delivery has its outcome: a second one would count it twice.
            tracing::info!(
                target: TARGET,
                event_id = cut(ticket.event.id()),
                event_type = cut(ticket.event.event_type()),
                handler_outcome = answer.outcome().code(),
                reason = why.map(reason),
                "a slow handler has ended"
            );
            return answer;
        }
        Line { provider: P::NAME, status: answer.status(), reason: why, ..self.line(&ticket.event) }
            .write(answer.outcome());
        answer
    }

    /// Notes that a commit is given up: the handler has succeeded, and a repeat of the event will run it again.
    pub fn uncommitted(&self, ticket: &Ticket<P>) {
        tracing::error!(
            target: TARGET,
            event_id = cut(ticket.event.id()),
            event_type = cut(ticket.event.event_type()),
            "the store has not taken the commit, and it is not tried again: a repeat of this event will be processed"
        );
    }

    /// Commits a claim whose handler succeeded, see [`Settled::uncommitted`]. [`Held::Lost`] while another delivery has
    /// the event: once that one is done, or has given up, this is [`Held::Yes`].
    ///
    /// # Errors
    /// Where the store did not take it. Either is worth trying again.
    pub async fn commit(&self, ticket: &Ticket<P>) -> Result<Held, StoreError> {
        let mut all = Held::Yes;
        for hold in ticket.claims.iter() {
            if self.hold_on(Step::Commit, ticket, hold).await? == Held::Lost {
                all = Held::Lost;
            }
        }
        Ok(all)
    }

    /// Gives the claim of a handler that failed up, for the next attempt.
    ///
    /// # Errors
    /// Where the store did not take it. The claim then ends with its lease.
    pub async fn release(&self, ticket: &Ticket<P>) -> Result<Held, StoreError> {
        let mut all = Ok(Held::Yes);
        for hold in ticket.claims.iter() {
            let held = self.take_step(Step::Release, ticket, hold).await;
            // The others are released all the same.
            if !matches!(held, Ok(Held::Yes)) {
                all = held;
            }
        }
        all
    }

    /// The answer to what a handler answered: its own, unless that would end or redirect the delivery.
    fn handler_answer(&self, handled: Handled) -> Answer {
        let Handled::Answered(status) = handled else {
            return Answer::new(Outcome::HandlerFailed, self.diagnostics());
        };
        let harmful = matches!(status, 300..400 | 410);
        match status {
            200..300 => Answer::new(Outcome::Processed, self.diagnostics()).status_is(status).keeping_response(),
            // A 1xx ends nothing: no sender can make sense of it as an answer.
            0..200 => Answer::new(Outcome::HandlerFailed, self.diagnostics()),
            _ if harmful && !self.0.settings.forward_any_status => {
                Answer::new(Outcome::HandlerFailed, self.diagnostics())
            }
            _ => Answer::new(Outcome::HandlerFailed, self.diagnostics()).status_is(status).keeping_response(),
        }
    }

    /// Takes a step, under a new claim if the old one is lost and the event nobody's.
    async fn hold_on(&self, step: Step, ticket: &Ticket<P>, hold: &Hold) -> Result<Held, StoreError> {
        let held = self.take_step(step, ticket, hold).await;
        let (Ok(Held::Lost), Sink::Handler(store)) = (&held, &self.0.sink) else { return held };
        let token = hold.mark.token();
        let claim = Claim::new(token.key(), hold.mark.fingerprint(), self.0.settings.lease);
        match self.ask(|| store.claim(claim)).await? {
            Claimed::Fresh(token) => {
                hold.mark.hold(&token);
                self.take_step(step, ticket, hold).await
            }
            // Another has done it as well: what this one did is no less done.
            Claimed::Done | Claimed::Conflict if matches!(step, Step::Commit) => Ok(Held::Yes),
            _ => held,
        }
    }

    /// Takes a step with the newest token of a claim.
    async fn take_step(&self, step: Step, ticket: &Ticket<P>, hold: &Hold) -> Result<Held, StoreError> {
        let Sink::Handler(store) = &self.0.sink else { return Ok(Held::Lost) };
        match step {
            Step::Renew => {}
            Step::Commit => hold.mark.owe(),
            // The handler has ended: whoever claims the event from now on runs it.
            Step::Release => hold.mark.end(),
        }
        let held = loop {
            let token = hold.mark.token();
            let held = self
                .ask(|| match step {
                    Step::Renew => store.extend(&token, self.0.settings.lease),
                    Step::Commit => store.commit(&token, hold.ttl),
                    Step::Release => store.release(&token),
                })
                .await;
            // Meanwhile a copy of the event may have claimed it anew, on behalf of this run.
            if !matches!(held, Ok(Held::Lost)) || hold.mark.token() == token {
                break held;
            }
        };
        let event_id = cut(ticket.event.id());
        let name = step.name();
        match &held {
            Ok(Held::Yes) => {}
            // Asked for again and again it is said once.
            Ok(Held::Lost) if ticket.lost.swap(true, Ordering::Relaxed) => {}
            Ok(Held::Lost) => tracing::warn!(
                target: TARGET,
                event_id,
                step = name,
                "the claim is lost: another delivery of the event has taken it over"
            ),
            Err(error) => {
                tracing::error!(target: TARGET, event_id, step = name, reason = reason(&Chain(error)), "store failed")
            }
        }
        held
    }
}

/// What a store is asked about a claim.
#[derive(Clone, Copy)]
enum Step {
    Renew,
    Commit,
    Release,
}

impl Step {
    const fn name(self) -> &'static str {
        match self {
            Self::Renew => "renew",
            Self::Commit => "commit",
            Self::Release => "release",
        }
    }
}
