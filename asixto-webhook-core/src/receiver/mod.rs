//! The receiver: takes a delivery apart, decides, and settles what the handler made of it.

mod config;
mod judge;
mod place;
mod report;
mod running;
mod settle;
mod wait;

use alloc::sync::Arc;
use core::{fmt, time::Duration};

use bytes::Bytes;

use self::{
    config::Config,
    place::{Marks, Sink},
};
pub use self::{
    config::ReceiverBuilder,
    settle::{Handled, Settled, Ticket},
};
use crate::{
    event::Event,
    headers::{HeaderLines, Headers},
    log::Line,
    mistakes::ConfigError,
    outcome::{Answer, Outcome},
    provider::{Asixto, Provider},
    time::Timer,
};

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
pub struct Receiver<P: Provider = Asixto>(Arc<Config<P>>);

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

/// What became of a genuine delivery, for whoever has to answer by a deadline.
#[derive(Debug)]
#[must_use = "a claimed event has to be processed and settled"]
#[expect(clippy::exhaustive_enums, reason = "a driver must do one or the other")]
pub enum Placed<P: Provider = Asixto> {
    /// Run the handler for this event, and settle the ticket with the status of its response.
    Process(Event<P>, Ticket<P>),
    /// Answer this. Then, where there is a ticket, [`settle_rest`](Receiver::settle_rest).
    Answer(Answer, Option<Ticket<P>>),
}

/// A delivery that is genuine, of which nobody has said yet whether it is to be processed.
#[must_use = "place it, or nothing comes of it"]
pub struct Authentic<P: Provider = Asixto> {
    event: Event<P>,
    marks: Marks,
}

impl<P: Provider> fmt::Debug for Authentic<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Authentic").field(&self.event).finish()
    }
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
pub struct Timeouts {
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

    /// What a driver keeps with this receiver: made by the first call, and the same for every clone.
    ///
    /// So several routes that share a receiver also share, for instance, the list of what is running. `None` where
    /// another driver has put something of another type there.
    #[cfg(feature = "std")]
    pub fn companion<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> T) -> Option<Arc<T>> {
        Arc::clone(self.0.companion.get_or_init(|| Arc::new(make()))).downcast().ok()
    }

    /// Checks that each request may have a scope of its own.
    ///
    /// # Errors
    /// [`ConfigError::SharedSecrets`] where the secrets are not looked up for each scope.
    pub fn check_scopes(&self) -> Result<(), ConfigError> {
        if self.0.secrets.is_per_scope() { Ok(()) } else { Err(ConfigError::SharedSecrets) }
    }

    /// The largest body in bytes.
    #[must_use]
    pub fn body_limit(&self) -> usize {
        self.0.settings.body_limit
    }

    /// The durations to keep.
    #[must_use]
    pub fn timeouts(&self) -> Timeouts {
        let settings = &self.0.settings;
        Timeouts {
            body: settings.body_timeout,
            answer: settings.answer_timeout,
            handler: settings.handler_limit,
            lease: settings.lease,
        }
    }

    /// What can be said before the body is read, for the receiver's own scope or for a tenant.
    ///
    /// # Errors
    /// The answer for a method other than POST, and for a body announced over the limit.
    pub fn announced(&self, scope: Option<&str>, method: &str, length: Option<u64>) -> Result<(), Answer> {
        match self.unwanted(method, length) {
            None => Ok(()),
            Some(outcome) => Err(self.conclude(outcome, Line { scope: scope.unwrap_or_default(), ..Line::default() })),
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
    pub fn broken_body(
        &self,
        scope: Option<&str>,
        headers: &dyn HeaderLines,
        received: &[u8],
        fault: BodyFault,
    ) -> Answer {
        let outcome = match fault {
            BodyFault::TooLarge => Outcome::BodyTooLarge,
            BodyFault::Timeout => Outcome::BodyTimeout,
            BodyFault::Aborted => Outcome::BodyAborted,
        };
        let unverified = self.0.provider.glimpse(Headers::new(headers), received);
        self.conclude(outcome, Line { scope: scope.unwrap_or_default(), unverified, ..Line::default() })
    }

    /// Verifies, opens and claims a delivery.
    ///
    /// Once this returned [`Admission::Process`], the event is claimed: run its handler to the end even if the sender
    /// hangs up, and settle the ticket.
    pub async fn admit(&self, delivery: Delivery<'_>) -> Admission<P> {
        let authentic = match self.authenticate(delivery).await {
            Ok(authentic) => authentic,
            Err(answer) => return Admission::Answer(answer),
        };
        match self.place(authentic).await {
            Placed::Process(event, ticket) => Admission::Process(event, ticket),
            Placed::Answer(answer, left) => {
                if let Some(ticket) = left {
                    let _ = self.settle_rest(&answer, &ticket).await;
                }
                Admission::Answer(answer)
            }
        }
    }

    /// The first half of [`admit`](Self::admit): header, secrets, signature, window, envelope. It claims nothing, so
    /// that it may be broken off.
    ///
    /// # Errors
    /// The answer to a delivery that is not to be processed.
    pub async fn authenticate(&self, delivery: Delivery<'_>) -> Result<Authentic<P>, Answer> {
        let scope = delivery.scope.unwrap_or(&self.0.settings.scope);
        if let Some(outcome) = self.unwanted(delivery.method, Some(delivery.body.len() as u64)) {
            let unverified = self.0.provider.glimpse(delivery.headers, &delivery.body);
            return Err(self.conclude(outcome, Line { scope, unverified, ..Line::default() }));
        }
        let (verified, spelled) = self.verify(scope, &delivery).await?;
        let scope = spelled.as_deref().unwrap_or(scope);
        self.open(scope, &delivery, verified)
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
