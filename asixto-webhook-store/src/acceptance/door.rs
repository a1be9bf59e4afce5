//! One way to the ids of a store, with steps that say what they expect.

use core::{fmt, num::NonZeroUsize, panic::Location, time::Duration};
use std::sync::{Arc, LazyLock};

use asixto_webhook_core::{Claim, Claimed, DedupKey, DedupStore, Fingerprint, Held, StoreError, StoreErrorKind, Token};

use super::{Found, Harness};

/// The lease of every claim, unless a case says otherwise. Twenty times that of a receiver, lest a slow machine end it.
pub(super) const LEASE: Duration = Duration::from_secs(10 * 60);

/// What Asixto asks for (E1).
pub(super) const TTL: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How far from an end the cases look.
pub(super) const MARGIN: Duration = Duration::from_secs(60);

/// Two bodies. Digested once, so that those who race do nothing but race.
pub(super) static BODY: LazyLock<Fingerprint> = LazyLock::new(|| Fingerprint::of(b"{}"));
pub(super) static OTHER: LazyLock<Fingerprint> = LazyLock::new(|| Fingerprint::of(b"{ }"));

#[derive(Debug, Clone)]
pub(super) struct Door(Arc<dyn DedupStore>);

/// Two doors to the ids of an empty store.
pub(super) async fn open(harness: &dyn Harness) -> [Door; 2] {
    doors(harness, harness.store().await).await
}

/// Two doors to an empty store with room for `capacity` ids.
pub(super) async fn open_bounded(harness: &dyn Harness, capacity: usize) -> Option<[Door; 2]> {
    let store = harness.bounded(NonZeroUsize::new(capacity)?)?.await;
    Some(doors(harness, store).await)
}

async fn doors(harness: &dyn Harness, store: Arc<dyn DedupStore>) -> [Door; 2] {
    let peer = harness.peer(&store).await;
    [Door(store), Door(peer)]
}

/// The key called `name`. As evenly spread as those of a receiver.
pub(super) fn key(name: impl fmt::Display) -> DedupKey {
    DedupKey::from_bytes(*Fingerprint::of(name.to_string().as_bytes()).as_bytes())
}

// The steps are no `async fn`, since only a plain one is told its caller.
impl Door {
    pub(super) async fn claim(
        &self,
        key: &DedupKey,
        body: &Fingerprint,
        lease: Duration,
    ) -> Result<Claimed, StoreError> {
        self.0.claim(Claim::new(key, *body, lease)).await
    }

    /// Claims `key`, which nobody holds.
    #[track_caller]
    pub(super) fn fresh(
        &self,
        key: &DedupKey,
        body: &Fingerprint,
    ) -> impl Future<Output = Result<Token, Found>> + Send {
        self.fresh_for(key, body, LEASE)
    }

    #[track_caller]
    pub(super) fn fresh_for(
        &self,
        key: &DedupKey,
        body: &Fingerprint,
        lease: Duration,
    ) -> impl Future<Output = Result<Token, Found>> + Send {
        let at = Location::caller();
        async move {
            match self.claim(key, body, lease).await {
                Ok(Claimed::Fresh(token)) if token.key() == key => Ok(token),
                found => Err(Found::at(at, "a claim to be fresh", &found)),
            }
        }
    }

    /// Claims `key`, which another holds. Gives what is left of its lease.
    #[track_caller]
    pub(super) fn in_flight(
        &self,
        key: &DedupKey,
        body: &Fingerprint,
    ) -> impl Future<Output = Result<Duration, Found>> + Send {
        let at = Location::caller();
        async move {
            match self.claim(key, body, LEASE).await {
                Ok(Claimed::InFlight { remaining }) => Ok(remaining),
                found => Err(Found::at(at, "a claim to meet one in flight", &found)),
            }
        }
    }

    /// Claims `key`, which was committed with this body.
    #[track_caller]
    pub(super) fn done(&self, key: &DedupKey, body: &Fingerprint) -> impl Future<Output = Result<(), Found>> + Send {
        let at = Location::caller();
        async move {
            match self.claim(key, body, LEASE).await {
                Ok(Claimed::Done) => Ok(()),
                found => Err(Found::at(at, "a claim to find the id done", &found)),
            }
        }
    }

    /// Claims `key`, which was committed with another body.
    #[track_caller]
    pub(super) fn conflict(
        &self,
        key: &DedupKey,
        body: &Fingerprint,
    ) -> impl Future<Output = Result<(), Found>> + Send {
        let at = Location::caller();
        async move {
            match self.claim(key, body, LEASE).await {
                Ok(Claimed::Conflict) => Ok(()),
                found => Err(Found::at(at, "a claim with another body to be a conflict", &found)),
            }
        }
    }

    /// Claims `key`, for which there is no room.
    #[track_caller]
    pub(super) fn full(&self, key: &DedupKey) -> impl Future<Output = Result<(), Found>> + Send {
        let at = Location::caller();
        async move {
            match self.claim(key, &BODY, LEASE).await {
                Err(error) if error.kind() == StoreErrorKind::Full => Ok(()),
                found => Err(Found::at(at, "a claim to find the store full", &found)),
            }
        }
    }

    #[track_caller]
    pub(super) fn extend(
        &self,
        token: &Token,
        lease: Duration,
        expected: Held,
    ) -> impl Future<Output = Result<(), Found>> + Send {
        let at = Location::caller();
        async move { held("extend", expected, self.0.extend(token, lease).await, at) }
    }

    #[track_caller]
    pub(super) fn commit(&self, token: &Token, expected: Held) -> impl Future<Output = Result<(), Found>> + Send {
        self.commit_for(token, TTL, expected)
    }

    #[track_caller]
    pub(super) fn commit_for(
        &self,
        token: &Token,
        ttl: Duration,
        expected: Held,
    ) -> impl Future<Output = Result<(), Found>> + Send {
        let at = Location::caller();
        async move { held("commit", expected, self.0.commit(token, ttl).await, at) }
    }

    #[track_caller]
    pub(super) fn release(&self, token: &Token, expected: Held) -> impl Future<Output = Result<(), Found>> + Send {
        let at = Location::caller();
        async move { held("release", expected, self.0.release(token).await, at) }
    }

    /// Commits `token`, whatever comes of it.
    #[track_caller]
    pub(super) fn try_commit(&self, token: &Token) -> impl Future<Output = Result<Held, Found>> + Send {
        let at = Location::caller();
        async move { self.0.commit(token, TTL).await.map_err(|error| Found::at(at, "a commit", &error)) }
    }

    /// Whether a claim of `key` is fresh, or finds it done.
    #[track_caller]
    pub(super) fn fresh_or_done(&self, key: &DedupKey) -> impl Future<Output = Result<bool, Found>> + Send {
        let at = Location::caller();
        async move {
            match self.claim(key, &BODY, LEASE).await {
                Ok(Claimed::Fresh(_)) => Ok(true),
                Ok(Claimed::Done) => Ok(false),
                found => Err(Found::at(at, "a fresh claim or a done id", &found)),
            }
        }
    }

    /// Claims `key`, if there is room.
    #[track_caller]
    pub(super) fn fresh_or_full(&self, key: &DedupKey) -> impl Future<Output = Result<Option<Token>, Found>> + Send {
        let at = Location::caller();
        async move {
            match self.claim(key, &BODY, LEASE).await {
                Ok(Claimed::Fresh(token)) => Ok(Some(token)),
                Err(error) if error.kind() == StoreErrorKind::Full => Ok(None),
                found => Err(Found::at(at, "a fresh claim or a full store", &found)),
            }
        }
    }

    /// Claims `keys`, which nobody holds.
    pub(super) async fn fresh_all(&self, keys: &[DedupKey]) -> Result<Vec<Token>, Found> {
        let mut tokens = Vec::new();
        for key in keys {
            tokens.push(self.fresh(key, &BODY).await?);
        }
        Ok(tokens)
    }
}

fn held(
    step: &str,
    expected: Held,
    found: Result<Held, StoreError>,
    at: &'static Location<'static>,
) -> Result<(), Found> {
    match found {
        Ok(held) if held == expected => Ok(()),
        found => Err(Found::at(at, &format!("{step} to answer {expected:?}"), &found)),
    }
}

impl Found {
    #[track_caller]
    pub(super) fn instead_of(expected: &str, found: &dyn fmt::Debug) -> Self {
        Self::at(Location::caller(), expected, found)
    }

    /// `expected` does not hold.
    #[track_caller]
    pub(super) fn unless(holds: bool, expected: &str, found: &dyn fmt::Debug) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self::instead_of(expected, found)) }
    }

    fn at(at: &'static Location<'static>, expected: &str, found: &dyn fmt::Debug) -> Self {
        Self { what: format!("expected {expected}, found {found:?}"), at }
    }
}
