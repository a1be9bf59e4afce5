//! A verified event. Only verification makes one.

use alloc::sync::Arc;
use core::fmt;

use bytes::Bytes;
use serde_json::value::RawValue;

use crate::{
    provider::{Asixto, Data, DataError, Envelope, Environment, Provider},
    time::UnixTime,
    verify::Verified,
};

/// An event whose signature, window and envelope hold, and which nobody else is processing.
///
/// There is no public constructor: whoever holds one got it from a receiver. Cloning is cheap.
///
/// ```
/// use asixto_webhook_core::{Data, Event};
///
/// fn handle(event: &Event) {
///     match event.data() {
///         Ok(Data::JobSucceeded(job)) => println!("{} cost {:?}", job.job_id, job.credits_charged),
///         Ok(_) => println!("{} needs nothing", event.event_type()),
///         Err(error) => println!("{error}; raw: {} bytes", event.raw_data().get().len()),
///     }
/// }
/// ```
pub struct Event<P: Provider = Asixto>(Arc<Inner<P>>);

struct Inner<P: Provider> {
    envelope: P::Envelope,
    body: Bytes,
    scope: Arc<str>,
    verified: Verified,
}

impl<P: Provider> Event<P> {
    pub(crate) fn new(envelope: P::Envelope, body: Bytes, scope: &str, verified: Verified) -> Self {
        Self(Arc::new(Inner { envelope, body, scope: scope.into(), verified }))
    }

    /// The identifier, as sent: opaque, and what deduplicates.
    #[must_use]
    pub fn id(&self) -> &str {
        self.0.envelope.id()
    }

    /// The type, as sent.
    #[must_use]
    pub fn event_type(&self) -> &str {
        self.0.envelope.event_type()
    }

    /// Everything the sender's envelope says.
    #[must_use]
    pub fn envelope(&self) -> &P::Envelope {
        &self.0.envelope
    }

    /// The whole body, byte for byte.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.0.body
    }

    /// The endpoint or tenant that received it, as configured.
    #[must_use]
    pub fn scope(&self) -> &str {
        &self.0.scope
    }

    /// Which secret vouches for it (the label is [`verified().secret()`](Verified::secret)), and how far the clocks
    /// differ.
    #[must_use]
    pub fn verified(&self) -> &Verified {
        &self.0.verified
    }
}

impl Event<Asixto> {
    /// When the event happened: the same on every attempt, and what to order by. Not the time of the attempt.
    #[must_use]
    pub fn created(&self) -> UnixTime {
        self.0.envelope.created()
    }

    /// The environment it belongs to.
    #[must_use]
    pub fn environment(&self) -> Environment {
        self.0.envelope.kind()
    }

    /// For a manual replay, the id of the original: correlate by it, never deduplicate by it.
    #[must_use]
    pub fn replay_of(&self) -> Option<&str> {
        self.0.envelope.replay_of()
    }

    /// The data, typed by the event's type; [`Data::Unknown`] for a type outside the catalogue.
    ///
    /// # Errors
    /// A [`DataError`] that names the field which is not what the catalogue says. The rest of the event, raw data
    /// included, is as usable as before.
    pub fn data(&self) -> Result<Data, DataError> {
        self.0.envelope.data()
    }

    /// The data as JSON text, byte for byte.
    #[must_use]
    pub fn raw_data(&self) -> &RawValue {
        self.0.envelope.raw_data()
    }
}

impl<P: Provider> Clone for Event<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Without body and data, which are the customer's.
impl<P: Provider> fmt::Debug for Event<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("envelope", self.envelope())
            .field("scope", &self.scope())
            .field("verified", self.verified())
            .finish_non_exhaustive()
    }
}
