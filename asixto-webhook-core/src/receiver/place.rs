//! Where a genuine event goes: to a handler, if the store lets it through, or into an inbox.

use alloc::sync::Arc;
use core::time::Duration;

use super::{
    Admission, Authentic, Receiver, Ticket,
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
    Unknown(StoreError),
}

impl<P: Provider> Receiver<P> {
    /// The second half of [`admit`](Self::admit): claims the event, or writes it to the inbox.
    ///
    /// Once this returned [`Admission::Process`], the event is claimed: run its handler to the end even if the sender
    /// hangs up, and settle the ticket.
    pub async fn place(&self, authentic: Authentic<P>) -> Admission<P> {
        let Authentic { event, marks } = authentic;
        match &self.0.sink {
            Sink::Handler(store) => self.claim(store.as_ref(), event, &marks).await,
            Sink::Inbox(inbox) => Admission::Answer(self.store(inbox.as_ref(), &event, &marks).await),
        }
    }

    /// The nonce first, then the event: a nonce that is refused has touched nothing.
    async fn claim(&self, store: &dyn DedupStore, event: Event<P>, marks: &Marks) -> Admission<P> {
        let fingerprint = Fingerprint::of(event.body());
        let mut claims = Claims::default();
        if let Some(nonce) = &marks.nonce {
            match self.take(store, nonce, fingerprint).await {
                Ok(mark) => claims.nonce = Some(Hold { mark, ttl: self.nonce_ttl(&event) }),
                Err(Taken::Conflict) => {
                    return Admission::Answer(self.conclude(Outcome::NonceReused, self.line(&event)));
                }
                // The same body again, so the event behind it is done or under way.
                Err(taken) => return Admission::Answer(self.taken(&event, &taken)),
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
                Admission::Process(event.clone(), Ticket::new(event, claims))
            }
            Err(taken) => {
                let answer = self.taken(&event, &taken);
                let ticket = Ticket::new(event, claims);
                if (200..300).contains(&answer.status()) {
                    // The nonce is used up as well. Failing that it ends with its lease, and a repeat is a duplicate.
                    let _ = self.commit(&ticket).await;
                } else {
                    // A repeat is to be refused as this one was, be it for a conflict.
                    let _ = self.release(&ticket).await;
                }
                Admission::Answer(answer)
            }
        }
    }

    async fn take(&self, store: &dyn DedupStore, key: &DedupKey, fingerprint: Fingerprint) -> Result<Mark, Taken> {
        let lease = self.0.settings.lease;
        match self.ask(|| store.claim(Claim::new(key, fingerprint, lease))).await {
            Ok(Claimed::Fresh(token)) => self.begin(store, token, fingerprint).await.ok_or(Taken::InFlight(lease)),
            Ok(Claimed::Done) => Err(Taken::Done),
            Ok(Claimed::Conflict) => Err(Taken::Conflict),
            Ok(Claimed::InFlight { remaining }) => Err(Taken::InFlight(remaining.min(lease))),
            Err(error) => Err(Taken::Unknown(error)),
        }
    }

    /// A run under a fresh claim; `None` where one is under way in this process.
    async fn begin(&self, store: &dyn DedupStore, token: Token, fingerprint: Fingerprint) -> Option<Mark> {
        let now = self.0.clock.now();
        let until = now.saturating_add(self.0.settings.handler_limit);
        if !store.keeps_apart() {
            return Some(Mark::unlisted(&token, fingerprint, until));
        }
        match self.0.running.begin(token, fingerprint, now, until) {
            Begun::Run(mark) => Some(mark),
            Begun::Handed => None,
            Begun::OtherBody(token) => {
                // The run has lost its claim by this, and claims the event anew when it notices.
                let _ = self.ask(|| store.release(&token)).await;
                None
            }
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
            Taken::InFlight(remaining) => {
                self.log(event, Answer::new(Outcome::InFlight, self.diagnostics()).retry_after(*remaining))
            }
            Taken::Unknown(error) => self.store_unavailable(event, error),
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
}
