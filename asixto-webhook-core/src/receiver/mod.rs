//! The receiver: takes a delivery apart, decides, and settles what the handler made of it.

mod config;

use alloc::sync::Arc;
use core::{fmt, future::poll_fn, task::Poll, time::Duration};

use bytes::Bytes;

pub(crate) use config::Config;
pub use config::{ConfigError, ReceiverBuilder};

use crate::{
    BoxFuture,
    dedup::{Claim, Claimed, DedupKey, DedupStore, Fingerprint, Held, Keys, StoreError, Token},
    event::Event,
    headers::{HeaderFault, HeaderLines, Headers},
    inbox::{Accepted, Inbox, Record},
    log::{self, Chain, Cut, Line},
    outcome::{Answer, CONFLICT_REFUSED, Outcome, RETRY_SOON},
    provider::{Asixto, Envelope, Glimpse, Opened, Provider},
    time::Timer,
    verify::{self, Verified, VerifyError},
};

/// Where admitted events go.
#[derive(Debug, Clone)]
pub(crate) enum Sink {
    /// To a handler, once the store has let them through.
    Handler(Arc<dyn DedupStore>),
    /// Into an inbox, which is all that happens while the sender waits.
    Inbox(Arc<dyn Inbox>),
}

/// One endpoint: decides about deliveries, without doing any IO of its own.
///
/// An adapter calls [`announced`](Self::announced) before it reads the body, [`admit`](Self::admit) with the body,
/// runs the handler if it is told to, [`renew`](Self::renew)s the claim meanwhile, and [`settle`](Self::settle)s it.
/// Cloning is cheap, and clones share everything.
///
/// ```
/// use asixto_webhook_core::{NoDedup, Receiver, Secret, SecretSet};
///
/// let secret = Secret::new("current", "whsec_Zm9vYmFyYmF6cXV4")?;
/// let receiver = Receiver::builder().secrets(SecretSet::from(secret)).dedup(NoDedup).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Receiver<P: Provider = Asixto>(pub(crate) Arc<Config<P>>);

/// One request, as an adapter hands it over.
pub struct Delivery<'d> {
    method: &'d str,
    headers: Headers<'d>,
    body: Bytes,
    scope: Option<&'d str>,
}

impl<'d> Delivery<'d> {
    /// A request with its raw body: the bytes on the wire, not decompressed, not decoded.
    pub fn new(method: &'d str, headers: &'d dyn HeaderLines, body: Bytes) -> Self {
        Self { method, headers: Headers::new(headers), body, scope: None }
    }

    /// The tenant it is for, instead of the receiver's own scope.
    #[must_use]
    pub fn scope(mut self, scope: &'d str) -> Self {
        self.scope = Some(scope);
        self
    }
}

/// Without the body, which is the customer's.
impl fmt::Debug for Delivery<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery").field("method", &self.method).field("scope", &self.scope).finish_non_exhaustive()
    }
}

/// What to do with a delivery.
#[derive(Debug)]
#[must_use = "a claimed event has to be processed and settled"]
#[expect(clippy::exhaustive_enums, reason = "an adapter must do one or the other")]
pub enum Admission<P: Provider = Asixto> {
    /// Run the handler for this event, and settle the ticket with the status of its response.
    Process(Event<P>, Ticket<P>),
    /// Answer this; no handler runs.
    Answer(Answer),
}

/// The claim under which a handler runs. Dropped unsettled, as by a crash, the claim ends with its lease.
#[must_use = "settle it, or the event stays claimed until the lease ends"]
pub struct Ticket<P: Provider = Asixto> {
    event: Event<P>,
    token: Token,
}

impl<P: Provider> fmt::Debug for Ticket<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("event", &self.event).finish_non_exhaustive()
    }
}

/// What came of settling a ticket.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "an adapter must deal with both")]
pub struct Settled<P: Provider = Asixto> {
    /// The answer to the sender.
    pub answer: Answer,
    /// A claim whose handler succeeded while the store did not take the commit. The sender is told 2xx all the same,
    /// since 503 would run the handler again; whoever settles calls [`Receiver::commit`] until it succeeds.
    pub uncommitted: Option<Ticket<P>>,
}

/// What is wrong with a body before it is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "an adapter makes them, nobody matches them")]
pub enum BodyFault {
    /// Over the limit.
    TooLarge,
    /// Not complete in time.
    Timeout,
    /// Broken off.
    Aborted,
}

/// The durations that whoever drives a receiver has to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Budgets {
    /// For the body to arrive, from the request's arrival.
    pub body: Duration,
    /// For the answer, from the request's arrival.
    pub answer: Duration,
    /// For renewing a claim in all, from the handler's start.
    pub handler: Duration,
    /// How long a claim holds; to be renewed well before.
    pub lease: Duration,
}

impl Receiver<Asixto> {
    /// A receiver of Asixto's deliveries, to be configured.
    pub fn builder() -> ReceiverBuilder<Asixto> {
        Self::builder_for(Asixto)
    }
}

impl<P: Provider> Receiver<P> {
    /// A receiver of another provider's deliveries, to be configured.
    pub fn builder_for(provider: P) -> ReceiverBuilder<P> {
        ReceiverBuilder::new(provider)
    }

    /// The same receiver with `timer`, so that secrets and stores are awaited under a deadline.
    #[must_use]
    pub fn with_timer(&self, timer: Arc<dyn Timer>) -> Self {
        Self(Arc::new(Config { timer: Some(timer), ..(*self.0).clone() }))
    }

    /// The largest body in bytes.
    #[must_use]
    pub fn body_limit(&self) -> usize {
        self.0.settings.body_limit
    }

    /// The durations to keep.
    #[must_use]
    pub fn budgets(&self) -> Budgets {
        let settings = &self.0.settings;
        Budgets {
            body: settings.body_budget,
            answer: settings.answer_budget,
            handler: settings.handler_budget,
            lease: settings.lease,
        }
    }

    /// What can be said before the body is read.
    ///
    /// # Errors
    /// The answer for a method other than POST, and for a body announced over the limit.
    pub fn announced(&self, method: &str, length: Option<u64>) -> Result<(), Answer> {
        match self.unwanted(method, length) {
            None => Ok(()),
            Some(outcome) => Err(self.conclude(outcome, Line::default())),
        }
    }

    fn unwanted(&self, method: &str, length: Option<u64>) -> Option<Outcome> {
        if method != "POST" {
            Some(Outcome::MethodNotAllowed)
        } else if length.is_some_and(|length| length > self.0.settings.body_limit as u64) {
            Some(Outcome::BodyTooLarge)
        } else {
            None
        }
    }

    /// The answer to a body that did not arrive whole; `received` is what did, for the log.
    pub fn broken_body(&self, headers: &dyn HeaderLines, received: &[u8], fault: BodyFault) -> Answer {
        let outcome = match fault {
            BodyFault::TooLarge => Outcome::BodyTooLarge,
            BodyFault::Timeout => Outcome::BodyTimeout,
            BodyFault::Aborted => Outcome::BodyAborted,
        };
        let unverified = self.0.provider.glimpse(Headers::new(headers), received);
        self.conclude(outcome, Line { unverified, ..Line::default() })
    }

    /// Verifies, opens and claims a delivery.
    ///
    /// Once this returned [`Admission::Process`], the event is claimed: run its handler to the end even if the sender
    /// hangs up, and settle the ticket.
    pub async fn admit(&self, delivery: Delivery<'_>) -> Admission<P> {
        let scope = delivery.scope.unwrap_or(&self.0.settings.scope);
        if let Some(outcome) = self.unwanted(delivery.method, Some(delivery.body.len() as u64)) {
            let unverified = self.0.provider.glimpse(delivery.headers, &delivery.body);
            return Admission::Answer(self.conclude(outcome, Line { scope, unverified, ..Line::default() }));
        }
        let verified = match self.verify(scope, &delivery).await {
            Ok(verified) => verified,
            Err(answer) => return Admission::Answer(answer),
        };
        let (event, key) = match self.open(scope, &delivery, verified) {
            Ok(opened) => opened,
            Err(answer) => return Admission::Answer(answer),
        };
        match &self.0.sink {
            Sink::Handler(store) => self.claim(store.as_ref(), event, &key).await,
            Sink::Inbox(inbox) => Admission::Answer(self.store(inbox.as_ref(), &event, &key).await),
        }
    }

    /// Extends a claim by another lease. [`Held::Lost`] if another delivery has taken the event over.
    ///
    /// A store that cannot be reached is logged and no reason to give up: the lease may still hold.
    pub async fn renew(&self, ticket: &Ticket<P>) -> Held {
        let Sink::Handler(store) = &self.0.sink else { return Held::Lost };
        let held = self.ask(store.extend(&ticket.token, self.0.settings.lease)).await;
        self.note(ticket, "renew", &held);
        held.unwrap_or(Held::Yes)
    }

    /// Notes that a claim is not renewed any more, because its handler has run for the whole of its budget.
    pub fn overdue(&self, ticket: &Ticket<P>) {
        tracing::error!(
            target: log::TARGET,
            event_id = %Cut(ticket.event.id()),
            event_type = %Cut(ticket.event.event_type()),
            handler_budget_seconds = self.0.settings.handler_budget.as_secs(),
            "the handler still runs at the end of its budget: its claim is not renewed any more"
        );
    }

    /// The answer for an event whose handler needs longer than the sender waits. It runs on, and is settled later.
    pub fn slow(&self, event: &Event<P>) -> Answer {
        self.log(event, Answer::new(Outcome::HandlerSlow, self.diagnostics()).retry_after(self.0.settings.lease))
    }

    /// The answer for a delivery that nobody will settle, because a seam of this receiver panicked.
    pub fn interrupted(&self) -> Answer {
        let reason = "the delivery's task ended without an answer: a store, source or clock has panicked";
        self.conclude(Outcome::HandlerFailed, Line { reason: Some(&reason), ..Line::default() })
    }

    /// Commits the claim on a 2xx, releases it on any other status; a handler that panicked counts as 500.
    pub async fn settle(&self, ticket: Ticket<P>, status: u16) -> Settled<P> {
        let success = (200..300).contains(&status);
        let answer = self.log(&ticket.event, self.handler_answer(status));
        if success {
            let uncommitted = self.commit(&ticket).await.err().map(|_| ticket);
            return Settled { answer, uncommitted };
        }
        if let Sink::Handler(store) = &self.0.sink {
            let held = self.ask(store.release(&ticket.token)).await;
            self.note(&ticket, "release", &held);
        }
        Settled { answer, uncommitted: None }
    }

    /// Commits a claim whose handler succeeded, see [`Settled::uncommitted`].
    ///
    /// # Errors
    /// Where the store did not take it; it is worth trying again.
    pub async fn commit(&self, ticket: &Ticket<P>) -> Result<Held, StoreError> {
        let Sink::Handler(store) = &self.0.sink else { return Ok(Held::Lost) };
        let held = self.ask(store.commit(&ticket.token, self.0.settings.ttl)).await;
        self.note(ticket, "commit", &held);
        held
    }

    /// Header, secrets, MAC, window.
    async fn verify(&self, scope: &str, delivery: &Delivery<'_>) -> Result<Verified, Answer> {
        let Delivery { headers, body, .. } = delivery;
        let unverified = || Line { scope, unverified: self.0.provider.glimpse(*headers, body), ..Line::default() };
        let signed = self.0.provider.signed(*headers).map_err(|fault| {
            let outcome = match fault {
                HeaderFault::Missing => Outcome::MissingHeader,
                HeaderFault::Repeated => Outcome::RepeatedHeader,
                HeaderFault::Malformed(_) => Outcome::MalformedHeader,
            };
            self.conclude(outcome, Line { reason: Some(&fault), ..unverified() })
        })?;

        let found = match self.within(self.0.settings.secrets_budget, self.0.secrets.secrets(scope)).await {
            Some(Ok(found)) => found,
            Some(Err(error)) => {
                return Err(self.conclude(Outcome::NoSecret, Line { reason: Some(&error), ..unverified() }));
            }
            None => {
                let reason = "the secret source did not answer in time";
                return Err(self.conclude(Outcome::NoSecret, Line { reason: Some(&reason), ..unverified() }));
            }
        };
        let Some(secrets) = found else {
            verify::decoy(&signed, body);
            let reason = "the scope is unknown to the secret source";
            return Err(self.conclude(Outcome::SignatureMismatch, Line { reason: Some(&reason), ..unverified() }));
        };
        let Some(secret) = verify::matching(&secrets, &signed, body) else {
            return Err(self.conclude(Outcome::SignatureMismatch, unverified()));
        };

        let skew_seconds = verify::skew(&signed, self.0.clock.now());
        let verified = Verified { secret: secret.shared_label(), skew_seconds };
        verified.within(self.0.settings.tolerance).map_err(|error| {
            // Genuine, so what the body says is the sender's word.
            let Glimpse { id, event_type } = self.0.provider.glimpse(*headers, body);
            let line = Line {
                scope,
                verified: Some((id.as_deref().unwrap_or_default(), event_type.as_deref().unwrap_or_default())),
                secret: Some(secret.label()),
                skew_seconds: Some(skew_seconds),
                reason: Some(&error),
                ..Line::default()
            };
            debug_assert!(matches!(error, VerifyError::OutsideWindow { .. }), "the header was read before");
            self.conclude(Outcome::OutsideWindow, line)
        })
    }

    /// Envelope and environment.
    fn open(&self, scope: &str, delivery: &Delivery<'_>, verified: Verified) -> Result<(Event<P>, DedupKey), Answer> {
        let Delivery { headers, body, .. } = delivery;
        let line = || Line {
            scope,
            secret: Some(verified.secret()),
            skew_seconds: Some(verified.skew_seconds()),
            ..Line::default()
        };
        let Opened { envelope, key } =
            self.0.provider.open(*headers, body, Keys::new(P::NAME, scope)).map_err(|fault| {
                let Glimpse { id, event_type } = self.0.provider.glimpse(*headers, body);
                let verified = Some((id.as_deref().unwrap_or_default(), event_type.as_deref().unwrap_or_default()));
                self.conclude(Outcome::InvalidEnvelope, Line { verified, reason: Some(&fault), ..line() })
            })?;
        let declared = self.0.settings.environment.map(crate::provider::Environment::as_str);
        if declared.is_some() && declared != envelope.environment() {
            let verified = Some((envelope.id(), envelope.event_type()));
            return Err(self.conclude(Outcome::WrongEnvironment, Line { verified, ..line() }));
        }
        Ok((Event::new(envelope, body.clone(), scope, verified), key))
    }

    async fn claim(&self, store: &dyn DedupStore, event: Event<P>, key: &DedupKey) -> Admission<P> {
        let claim = Claim::new(key, Fingerprint::of(event.body()), self.0.settings.lease);
        Admission::Answer(match self.ask(store.claim(claim)).await {
            Ok(Claimed::Fresh(token)) => {
                tracing::debug!(
                    target: log::TARGET,
                    event_id = %Cut(event.id()),
                    event_type = %Cut(event.event_type()),
                    "the handler starts"
                );
                return Admission::Process(event.clone(), Ticket { event, token });
            }
            Ok(Claimed::Done) => self.log(&event, Answer::new(Outcome::Duplicate, self.diagnostics())),
            Ok(Claimed::Conflict) => self.conflict(&event),
            Ok(Claimed::InFlight { remaining }) => {
                self.log(&event, Answer::new(Outcome::InFlight, self.diagnostics()).retry_after(remaining))
            }
            Err(error) => self.store_unavailable(&event, &error),
        })
    }

    async fn store(&self, inbox: &dyn Inbox, event: &Event<P>, key: &DedupKey) -> Answer {
        let record = Record {
            key,
            fingerprint: Fingerprint::of(event.body()),
            provider: P::NAME,
            scope: event.scope(),
            id: event.id(),
            event_type: event.event_type(),
            body: event.body(),
            received: self.0.clock.now(),
            ttl: self.0.settings.ttl,
        };
        match self.ask(inbox.accept(record)).await {
            Ok(Accepted::Stored) => self.log(event, Answer::new(Outcome::Stored, self.diagnostics())),
            Ok(Accepted::Duplicate) => self.log(event, Answer::new(Outcome::Duplicate, self.diagnostics())),
            Ok(Accepted::Conflict) => self.conflict(event),
            Err(error) => self.store_unavailable(event, &error),
        }
    }

    fn conflict(&self, event: &Event<P>) -> Answer {
        let answer = Answer::new(Outcome::Conflict, self.diagnostics());
        let refuse = self.0.settings.refuse_conflicts;
        self.log(event, if refuse { answer.status_is(CONFLICT_REFUSED) } else { answer })
    }

    fn store_unavailable(&self, event: &Event<P>, error: &StoreError) -> Answer {
        self.conclude(Outcome::StoreUnavailable, Line { reason: Some(&Chain(error)), ..self.line(event) })
    }

    /// The answer to what a handler answered: its own, unless that would end or redirect the delivery.
    fn handler_answer(&self, status: u16) -> Answer {
        let harmful = matches!(status, 0..200 | 300..400 | 410);
        match status {
            200..300 => Answer::new(Outcome::Processed, self.diagnostics()).status_is(status).keeping_response(),
            _ if harmful && !self.0.settings.forward_any_status => {
                Answer::new(Outcome::HandlerFailed, self.diagnostics())
            }
            _ => Answer::new(Outcome::HandlerFailed, self.diagnostics()).status_is(status).keeping_response(),
        }
    }

    fn diagnostics(&self) -> bool {
        self.0.settings.diagnostics
    }

    fn line<'a>(&self, event: &'a Event<P>) -> Line<'a> {
        Line {
            scope: event.scope(),
            verified: Some((event.id(), event.event_type())),
            secret: Some(event.verified().secret()),
            skew_seconds: Some(event.verified().skew_seconds()),
            ..Line::default()
        }
    }

    /// Logs an answer about a verified event.
    fn log(&self, event: &Event<P>, answer: Answer) -> Answer {
        Line { provider: P::NAME, status: answer.status(), ..self.line(event) }.write(answer.outcome());
        answer
    }

    /// Logs an outcome and makes its answer.
    fn conclude(&self, outcome: Outcome, line: Line<'_>) -> Answer {
        let answer = Answer::new(outcome, self.diagnostics());
        Line { provider: P::NAME, status: answer.status(), ..line }.write(outcome);
        if matches!(outcome, Outcome::StoreUnavailable | Outcome::NoSecret) {
            return answer.retry_after(RETRY_SOON);
        }
        answer
    }

    fn note(&self, ticket: &Ticket<P>, step: &'static str, held: &Result<Held, StoreError>) {
        let event_id = Cut(ticket.event.id());
        match held {
            Ok(Held::Yes) => {}
            Ok(Held::Lost) => tracing::warn!(
                target: log::TARGET,
                %event_id,
                step,
                "the claim is lost: another delivery of the event has taken it over"
            ),
            Err(error) => tracing::error!(target: log::TARGET, %event_id, step, reason = %Chain(error), "store failed"),
        }
    }

    /// Asks the store, which has its own budget: one that hangs is one that is down.
    async fn ask<T>(&self, question: BoxFuture<'_, Result<T, StoreError>>) -> Result<T, StoreError> {
        self.within(self.0.settings.store_budget, question).await.unwrap_or_else(|| Err(StoreError::timed_out()))
    }

    async fn within<T>(&self, budget: Duration, mut future: BoxFuture<'_, T>) -> Option<T> {
        let mut alarm = None;
        poll_fn(|cx| {
            if let Poll::Ready(value) = future.as_mut().poll(cx) {
                return Poll::Ready(Some(value));
            }
            let Some(timer) = &self.0.timer else { return Poll::Pending };
            // Made only now: what is ready at once costs no timer.
            alarm.get_or_insert_with(|| timer.sleep(budget)).as_mut().poll(cx).map(|()| None)
        })
        .await
    }
}

impl<P: Provider> Clone for Receiver<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: Provider> fmt::Debug for Receiver<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("provider", &self.0.provider)
            .field("settings", &self.0.settings)
            .finish_non_exhaustive()
    }
}
