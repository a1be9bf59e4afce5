//! Where a genuine event goes: to a handler, if the store lets it through, or into an inbox.

use alloc::sync::Arc;

use super::{Admission, Receiver, Ticket};
use crate::{
    dedup::{Claim, Claimed, DedupKey, DedupStore, Fingerprint, StoreError},
    event::Event,
    inbox::{Accepted, Inbox, Record},
    log::{self, Chain, Cut, Line},
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

impl<P: Provider> Receiver<P> {
    pub(super) async fn place(&self, event: Event<P>, key: &DedupKey) -> Admission<P> {
        match &self.0.sink {
            Sink::Handler(store) => self.claim(store.as_ref(), event, key).await,
            Sink::Inbox(inbox) => Admission::Answer(self.store(inbox.as_ref(), &event, key).await),
        }
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
}
