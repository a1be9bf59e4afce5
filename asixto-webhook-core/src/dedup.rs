//! Deduplication: claim an id, do the work, commit; or release it for the next attempt.

use alloc::{boxed::Box, sync::Arc};
use core::{error::Error, fmt, time::Duration};

use sha2::{Digest, Sha256};

use crate::BoxFuture;

/// Remembers which events are being processed and which are done.
///
/// An id goes through *claimed* (for the length of a lease, which is extended while the handler runs) to *done*
/// (kept for the time to live), or back to *absent* when it is released or its lease ends. Each method is one
/// atomic step: an implementation never reads first and writes afterwards.
///
/// # What goes wrong, and what it costs
///
/// * **A crash** between `claim` and `commit` leaves a claim whose lease ends by itself. Until then the sender is
///   told to come back; after it the event is processed. If the crash came after the handler's effect and before
///   the commit, that effect happens a second time: where that must not be, the effect and the record have to be
///   one transaction, which an [`Inbox`](crate::Inbox) offers.
/// * **A false positive** (an unseen id called done) loses an event for good: the sender is told 200 and never
///   comes back. An implementation answers an error rather than guess, and the receiver turns that into 503.
/// * **A false negative** (a done id called fresh) runs a handler twice. An implementation never forgets early: it
///   has no eviction, and when it is full it answers [`StoreErrorKind::Full`].
pub trait DedupStore: fmt::Debug + Send + Sync {
    /// Claims the key of `claim` if it is absent, or if its lease or its time to live is over.
    fn claim<'a>(&'a self, claim: Claim<'a>) -> BoxFuture<'a, Result<Claimed, StoreError>>;

    /// Makes the lease of a claim end `lease` from now. [`Held::Lost`] where `token` does not hold it any more.
    fn extend<'a>(&'a self, token: &'a Token, lease: Duration) -> BoxFuture<'a, Result<Held, StoreError>>;

    /// Marks the claim as done, to be remembered for `ttl` from now. [`Held::Lost`] where another has taken it over,
    /// or where it was released; a lease that ended without that does not prevent a commit.
    ///
    /// Committing once more with the same token is [`Held::Yes`], since the first answer may have been lost on its
    /// way, and never shortens what was promised.
    fn commit<'a>(&'a self, token: &'a Token, ttl: Duration) -> BoxFuture<'a, Result<Held, StoreError>>;

    /// Gives the claim up, for the next attempt. [`Held::Lost`] where `token` does not hold it any more.
    fn release<'a>(&'a self, token: &'a Token) -> BoxFuture<'a, Result<Held, StoreError>>;

    /// Whether the copies of an event are kept apart at all. Only [`NoDedup`] says no.
    fn keeps_apart(&self) -> bool {
        true
    }
}

impl<S: DedupStore + ?Sized> DedupStore for Arc<S> {
    fn claim<'a>(&'a self, claim: Claim<'a>) -> BoxFuture<'a, Result<Claimed, StoreError>> {
        (**self).claim(claim)
    }

    fn extend<'a>(&'a self, token: &'a Token, lease: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        (**self).extend(token, lease)
    }

    fn commit<'a>(&'a self, token: &'a Token, ttl: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        (**self).commit(token, ttl)
    }

    fn release<'a>(&'a self, token: &'a Token) -> BoxFuture<'a, Result<Held, StoreError>> {
        (**self).release(token)
    }

    fn keeps_apart(&self) -> bool {
        (**self).keeps_apart()
    }
}

/// What a store is asked to claim.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Claim<'a> {
    /// The key.
    pub key: &'a DedupKey,
    /// A digest of the body, by which a second body under one key is noticed.
    pub fingerprint: Fingerprint,
    /// How long the claim holds unless it is extended.
    pub lease: Duration,
}

impl<'a> Claim<'a> {
    /// A claim of `key` for `lease`.
    #[must_use]
    pub const fn new(key: &'a DedupKey, fingerprint: Fingerprint, lease: Duration) -> Self {
        Self { key, fingerprint, lease }
    }
}

/// What became of a claim.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a receiver must decide about each of them")]
pub enum Claimed {
    /// The key is the caller's: go ahead.
    Fresh(Token),
    /// Another one holds it, whatever its body.
    InFlight {
        /// What is left of its lease.
        remaining: Duration,
    },
    /// It was committed with this body.
    Done,
    /// It was committed with another body.
    Conflict,
}

/// Whether a token still holds its claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no third answer")]
pub enum Held {
    /// It does, and the step was taken.
    Yes,
    /// Another has taken the claim over, or it is gone; nothing was changed.
    Lost,
}

/// Proof of a claim, made by the store: without it nobody commits or releases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    key: DedupKey,
    fence: u64,
}

impl Token {
    /// For stores: a claim of `key`. No two claims of one key have the same `fence`.
    #[must_use]
    pub const fn new(key: DedupKey, fence: u64) -> Self {
        Self { key, fence }
    }

    /// The claimed key.
    #[must_use]
    pub const fn key(&self) -> &DedupKey {
        &self.key
    }

    /// The number that tells this claim from every other claim of its key.
    #[must_use]
    pub const fn fence(&self) -> u64 {
        self.fence
    }
}

/// What two deliveries of one event have in common: a SHA-256 digest over provider, scope and identifier.
///
/// Of fixed length whatever the sender calls its events, and safe in any database as it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DedupKey([u8; 32]);

impl DedupKey {
    /// A key read back from a database.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for DedupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DedupKey(")?;
        hex(&self.0, f)?;
        f.write_str(")")
    }
}

fn hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

/// Makes the keys of one provider and scope, so that no two senders or endpoints ever meet.
#[derive(Debug, Clone, Copy)]
pub struct Keys<'a> {
    provider: &'a str,
    scope: &'a str,
}

impl<'a> Keys<'a> {
    pub(crate) const fn new(provider: &'a str, scope: &'a str) -> Self {
        Self { provider, scope }
    }

    /// The key of the event that `parts` identify. Their lengths are part of it: `a`, `bc` is not `ab`, `c`.
    #[must_use]
    pub fn event(self, parts: &[&str]) -> DedupKey {
        self.digest("event", parts)
    }

    /// The key of a nonce, which no event's key ever meets.
    #[must_use]
    pub fn nonce(self, nonce: &str) -> DedupKey {
        self.digest("nonce", &[nonce])
    }

    fn digest(self, kind: &str, parts: &[&str]) -> DedupKey {
        let mut digest = Sha256::new();
        for part in [self.provider, self.scope, kind].iter().chain(parts) {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        DedupKey(digest.finalize().into())
    }
}

/// A SHA-256 digest of a raw body.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The digest of `body`.
    #[must_use]
    pub fn of(body: &[u8]) -> Self {
        Self(Sha256::digest(body).into())
    }

    /// The digest.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fingerprint(")?;
        hex(&self.0, f)?;
        f.write_str(")")
    }
}

/// No deduplication: every accepted delivery runs the handler, repeats included.
///
/// For handlers that are idempotent by themselves. It has to be named, so that it cannot be forgotten.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::exhaustive_structs, reason = "a name and nothing else")]
pub struct NoDedup;

impl DedupStore for NoDedup {
    fn claim<'a>(&'a self, claim: Claim<'a>) -> BoxFuture<'a, Result<Claimed, StoreError>> {
        ready(Ok(Claimed::Fresh(Token::new(*claim.key, 0))))
    }

    fn extend<'a>(&'a self, _: &'a Token, _: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        ready(Ok(Held::Yes))
    }

    fn commit<'a>(&'a self, _: &'a Token, _: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        ready(Ok(Held::Yes))
    }

    fn release<'a>(&'a self, _: &'a Token) -> BoxFuture<'a, Result<Held, StoreError>> {
        ready(Ok(Held::Yes))
    }

    fn keeps_apart(&self) -> bool {
        false
    }
}

fn ready<T: Send + 'static>(value: T) -> BoxFuture<'static, T> {
    Box::pin(core::future::ready(value))
}

/// The store could not do what it was asked. Never read as "duplicate": the sender gets 503 and comes back.
#[derive(Debug)]
pub struct StoreError {
    kind: StoreErrorKind,
    cause: Option<Box<dyn Error + Send + Sync>>,
}

/// What kept a store from answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// It could not be reached, or failed.
    Unavailable,
    /// It has no room for another id, and forgets none before its time.
    Full,
    /// It did not answer in time.
    TimedOut,
}

impl StoreError {
    /// With what went wrong: for the log, the sender learns nothing of it.
    pub fn unavailable(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { kind: StoreErrorKind::Unavailable, cause: Some(cause.into()) }
    }

    /// For a bounded store without room.
    #[must_use]
    pub const fn full() -> Self {
        Self { kind: StoreErrorKind::Full, cause: None }
    }

    /// For a store that did not answer in time.
    #[must_use]
    pub const fn timed_out() -> Self {
        Self { kind: StoreErrorKind::TimedOut, cause: None }
    }

    /// What kept the store from answering.
    #[must_use]
    pub const fn kind(&self) -> StoreErrorKind {
        self.kind
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            StoreErrorKind::Unavailable => "the store is unavailable",
            StoreErrorKind::Full => "the store is full, and forgets no id before its time",
            StoreErrorKind::TimedOut => "the store did not answer in time",
        })
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.cause.as_deref()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E1, M4: provider, scope and every boundary between parts make a difference.
    #[test]
    fn keys_never_meet() {
        let keys = [
            Keys::new("asixto", "a").event(&["1"]),
            Keys::new("asixto", "b").event(&["1"]),
            Keys::new("other", "a").event(&["1"]),
            Keys::new("asixto", "a").event(&["1", ""]),
            Keys::new("asixto", "a").event(&["", "1"]),
            Keys::new("asixto", "a1").event(&[""]),
            Keys::new("asixto", "").event(&["a1"]),
        ];
        for (at, key) in keys.iter().enumerate() {
            assert!(!keys[..at].contains(key), "{at}");
        }
        assert_eq!(keys[0], Keys::new("asixto", "a").event(&["1"]));
    }
}
