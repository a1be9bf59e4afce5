//! Where a genuine event goes: to a handler, if the store lets it through, or into an inbox.

use alloc::sync::Arc;
use core::time::Duration;

use super::{
    Authentic, Placed, Receiver, Ticket,
    running::{Begun, Mark},
    settle::{Claims, Hold},
};
use crate::{
    dedup::{Claim, Claimed, DedupKey, DedupStore, Fingerprint, StoreError, Token},
    event::Event,
    inbox::{Accepted, Inbox, Record},
    log::{Chain, Line, TARGET, cut},
    outcome::{Answer, CONFLICT_REFUSED, Outcome},
    provider::Provider,
};

/// Where admitted events go.
#[derive(Debug, Clone)]
pub(crate) enum Sink {
    /// To a handler, once the store has let them through.
    Handler(Arc<dyn DedupStore>),
    /// Into an inbox, which is all that happens while the sender waits.
    Inbox(Arc<dyn Inbox>),
}

/// What tells an event from all others.
pub(super) struct Marks {
    pub(super) key: DedupKey,
    pub(super) nonce: Option<DedupKey>,
}

/// Why a key is not the caller's.
enum Taken {
    Done,
    Conflict,
    InFlight(Duration),
    /// It runs in this process with another body, and this is the claim that was to be its copy's.
    ByAnotherBody(Mark),
    Unknown(StoreError),
}

impl<P: Provider> Receiver<P> {
    /// The second half of [`admit`](Self::admit): claims the event, or writes it to the inbox.
    ///
    /// Once this returned [`Placed::Process`], the event is claimed: run its handler to the end even if the sender
    /// hangs up, and settle the ticket.
    pub async fn place(&self, authentic: Authentic<P>) -> Placed<P> {
        let Authentic { event, marks } = authentic;
        match &self.0.sink {
            Sink::Handler(store) => self.claim(store.as_ref(), event, &marks).await,
            Sink::Inbox(inbox) => Placed::Answer(self.store(inbox.as_ref(), &event, &marks).await, None),
        }
    }

    /// The nonce first, then the event: a nonce that is refused has touched nothing.
    async fn claim(&self, store: &dyn DedupStore, event: Event<P>, marks: &Marks) -> Placed<P> {
        let fingerprint = Fingerprint::of(event.body());
        let mut claims = Claims::default();
        if let Some(nonce) = &marks.nonce {
            match self.take(store, nonce, fingerprint).await {
                Ok(mark) => claims.nonce = Some(Hold { mark, ttl: self.nonce_ttl(&event) }),
                Err(Taken::Conflict) => {
                    return Placed::Answer(self.conclude(Outcome::NonceReused, self.line(&event)), None);
                }
                // The same body again, so the event behind it is done or under way.
                Err(taken) => return self.refuse(event, taken, claims),
            }
        }
        match self.take(store, &marks.key, fingerprint).await {
            Ok(mark) => {
                claims.event = Some(Hold { mark, ttl: self.0.settings.ttl });
                tracing::debug!(
                    target: TARGET,
                    event_id = cut(event.id()),
                    event_type = cut(event.event_type()),
                    "the handler starts"
                );
                Placed::Process(event.clone(), Ticket::new(event, claims))
            }
            Err(taken) => self.refuse(event, taken, claims),
        }
    }

    /// The answer for an event that is not to be processed, with what was claimed before that was known. A repeat is to
    /// be answered as this one was.
    fn refuse(&self, event: Event<P>, taken: Taken, mut claims: Claims) -> Placed<P> {
        let answer = self.taken(&event, &taken);
        if let Taken::ByAnotherBody(mark) = taken {
            // The run has lost its claim by this one, and claims the event anew once it is given back.
            claims.event = Some(Hold { mark, ttl: self.0.settings.ttl });
        }
        let left = (!claims.is_empty()).then(|| Ticket::new(event, claims));
        Placed::Answer(answer, left)
    }

    async fn take(&self, store: &dyn DedupStore, key: &DedupKey, fingerprint: Fingerprint) -> Result<Mark, Taken> {
        let lease = self.0.settings.lease;
        match self.ask(|| store.claim(Claim::new(key, fingerprint, lease))).await {
            Ok(Claimed::Fresh(token)) => self.begin(store, token, fingerprint),
            Ok(Claimed::Done) => Err(Taken::Done),
            Ok(Claimed::Conflict) => Err(Taken::Conflict),
            Ok(Claimed::InFlight { remaining }) => Err(Taken::InFlight(remaining.min(lease))),
            Err(error) => Err(Taken::Unknown(error)),
        }
    }

    /// A run under a fresh claim, unless one is under way in this process.
    fn begin(&self, store: &dyn DedupStore, token: Token, fingerprint: Fingerprint) -> Result<Mark, Taken> {
        let now = self.0.clock.now();
        let until = now.saturating_add(self.0.settings.handler_limit);
        if !store.keeps_apart() {
            return Ok(Mark::unlisted(&token, fingerprint, until));
        }
        match self.0.running.begin(token, fingerprint, now, until) {
            Begun::Run(mark) => Ok(mark),
            Begun::Handed => Err(Taken::InFlight(self.0.settings.lease)),
            Begun::OtherBody(token) => Err(Taken::ByAnotherBody(Mark::unlisted(&token, fingerprint, until))),
        }
    }

    /// A nonce is remembered for as long as its delivery could pass the window.
    fn nonce_ttl(&self, event: &Event<P>) -> Duration {
        let skew = event.verified().skew_seconds();
        let passed = Duration::from_secs(skew.unsigned_abs());
        let tolerance = self.0.settings.tolerance;
        // A second more, since the window is judged in whole seconds.
        let left = if skew < 0 { tolerance + passed } else { tolerance.saturating_sub(passed) };
        left + Duration::from_secs(1)
    }

    async fn store(&self, inbox: &dyn Inbox, event: &Event<P>, marks: &Marks) -> Answer {
        let record = Record {
            key: &marks.key,
            fingerprint: Fingerprint::of(event.body()),
            nonce: marks.nonce.as_ref().map(|nonce| (nonce, self.nonce_ttl(event))),
            provider: P::NAME,
            scope: event.scope(),
            id: event.id(),
            event_type: event.event_type(),
            body: event.body(),
            received: self.0.clock.now(),
            ttl: self.0.settings.ttl,
        };
        match self.ask(|| inbox.accept(record)).await {
            Ok(Accepted::Stored) => self.log(event, Answer::new(Outcome::Stored, self.diagnostics())),
            Ok(Accepted::Duplicate) => self.log(event, Answer::new(Outcome::Duplicate, self.diagnostics())),
            Ok(Accepted::Conflict) => self.conflict(event),
            Ok(Accepted::NonceReused) => self.conclude(Outcome::NonceReused, self.line(event)),
            Err(error) => self.store_unavailable(event, &error),
        }
    }

    fn taken(&self, event: &Event<P>, taken: &Taken) -> Answer {
        match taken {
            Taken::Done => self.log(event, Answer::new(Outcome::Duplicate, self.diagnostics())),
            Taken::Conflict => self.conflict(event),
            Taken::InFlight(remaining) => self.in_flight(event, *remaining),
            Taken::ByAnotherBody(_) => self.in_flight(event, self.0.settings.lease),
            Taken::Unknown(error) => self.store_unavailable(event, error),
        }
    }

    fn in_flight(&self, event: &Event<P>, remaining: Duration) -> Answer {
        self.log(event, Answer::new(Outcome::InFlight, self.diagnostics()).retry_after(remaining))
    }

    fn conflict(&self, event: &Event<P>) -> Answer {
        let answer = Answer::new(Outcome::Conflict, self.diagnostics());
        let refuse = self.0.settings.refuse_conflicts;
        self.log(event, if refuse { answer.status_is(CONFLICT_REFUSED) } else { answer })
    }

    fn store_unavailable(&self, event: &Event<P>, error: &StoreError) -> Answer {
        self.conclude(Outcome::StoreUnavailable, Line { reason: Some(&Chain(error)), ..self.line(event) })
    }
}
