//! The other way to be safe: write the event down, acknowledge, and work on it later.

use alloc::sync::Arc;
use core::{fmt, time::Duration};

use bytes::Bytes;

use crate::{
    BoxFuture,
    dedup::{DedupKey, Fingerprint, StoreError},
    time::UnixTime,
};

/// A durable queue with one place per key: a delivery is acknowledged once it is written here.
///
/// This is the seam alone: no database comes with these crates yet, so that an inbox is one of your own.
///
/// Writing and deduplicating are one atomic step, and the answer is given only when the record would survive a
/// crash. What goes wrong costs this:
///
/// * **A crash** before the record is durable loses nothing: no answer was given, the sender comes back. After it,
///   the record is there and a repeat is a duplicate.
/// * **A false positive** (an unseen key called duplicate) loses an event for good.
/// * **A false negative** (a known key stored again) makes the worker run it twice.
pub trait Inbox: fmt::Debug + Send + Sync {
    /// Writes `record` unless its key is there already.
    fn accept<'a>(&'a self, record: Record<'a>) -> BoxFuture<'a, Result<Accepted, StoreError>>;
}

impl<I: Inbox + ?Sized> Inbox for Arc<I> {
    fn accept<'a>(&'a self, record: Record<'a>) -> BoxFuture<'a, Result<Accepted, StoreError>> {
        (**self).accept(record)
    }
}

/// A verified event, to be written down.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Record<'a> {
    /// The key under which there is one record only.
    pub key: &'a DedupKey,
    /// A digest of the body, by which a second body under one key is noticed.
    pub fingerprint: Fingerprint,
    /// A key that may be used by this body alone, and for how long that must be remembered.
    pub nonce: Option<(&'a DedupKey, Duration)>,
    /// The short name of the sender.
    pub provider: &'a str,
    /// The endpoint or tenant.
    pub scope: &'a str,
    /// The identifier as sent.
    pub id: &'a str,
    /// The type as sent.
    pub event_type: &'a str,
    /// The raw body.
    pub body: &'a Bytes,
    /// When it was received, by the receiver's clock.
    pub received: UnixTime,
    /// How long the key must be remembered after the record is done.
    pub ttl: Duration,
}

/// Without the body, which is the customer's.
impl fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("key", self.key)
            .field("provider", &self.provider)
            .field("scope", &self.scope)
            .field("id", &self.id)
            .field("event_type", &self.event_type)
            .field("received", &self.received)
            .finish_non_exhaustive()
    }
}

/// What became of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a receiver must decide about each of them")]
pub enum Accepted {
    /// It was written and is durable.
    Stored,
    /// One with this body was there already.
    Duplicate,
    /// One with another body was there already; this body is kept beside it for inspection.
    Conflict,
    /// Its nonce was used by another body; nothing was written.
    NonceReused,
}
