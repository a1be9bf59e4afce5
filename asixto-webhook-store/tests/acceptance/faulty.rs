//! A store as simple as can be, with a fault built in.

use std::{
    collections::HashMap,
    num::NonZeroUsize,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use asixto_webhook_core::{
    BoxFuture, Claim, Claimed, Clock, DedupKey, DedupStore, Fingerprint, Held, StoreError, Token, UnixTime,
    testing::ManualClock,
};
use asixto_webhook_store::acceptance::Harness;

/// What is wrong with a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing: without a fault it passes.
    None,
    /// Calls a new id done.
    LosesEvents,
    /// Reads under one lock and writes under the next, as a `SELECT` before an `INSERT` does.
    ChecksThenWrites,
    /// As that, and only where a claim is taken over.
    ChecksThenTakesOver,
    /// As that, and only in `commit`.
    ChecksThenCommits,
    /// When full, makes room by dropping an id that is done.
    EvictsDone,
    /// When full, makes room by dropping a claim.
    EvictsClaims,
    /// When full, says that a new id is done.
    FullIsDone,
    /// When full, takes nothing over either.
    FullTakesNothingOver,
    /// What is over keeps its room.
    KeepsRoom,
    /// A released id keeps its room.
    ReleaseKeepsRoom,
    /// Counts before it adds.
    Overbooks,
    /// Remembers for a day.
    ForgetsEarly,
    /// Remembers for good.
    NeverForgets,
    /// Counts the time to live from the claim.
    TtlFromClaim,
    /// Whoever has a token may commit.
    CommitIsNotFenced,
    /// Whoever has a token may release.
    ReleaseIsNotFenced,
    /// Whoever has a token may extend.
    ExtendIsNotFenced,
    /// Gives every claim the same fence.
    OneFence,
    /// Counts fences anew for an id that comes back.
    FencesStartAnew,
    /// Takes no difference between claimed and done.
    InFlightIsDone,
    /// A claim with another body is a conflict while the first is in flight.
    InFlightConflicts,
    /// Takes an id without looking at the body.
    IgnoresBody,
    /// Keeps the body of whoever asked last.
    LastBodyCounts,
    /// Keeps the body of the first claim, through takeovers too.
    FirstBodyCounts,
    /// Releases what is done.
    ReleaseForgetsDone,
    /// Extending makes a claim of what is done.
    ExtendReopensDone,
    /// A lease never ends.
    LeaseNeverEnds,
    /// A late owner has nothing to say.
    LateOwnerIsLost,
    /// `extend` says yes and does nothing.
    ExtendDoesNothing,
    /// `extend` adds to the end of the lease.
    ExtendAdds,
    /// `commit` says yes and does nothing.
    CommitDoesNothing,
    /// `release` says yes and does nothing.
    ReleaseDoesNothing,
    /// Is surprised by its own commit.
    CommitsOnce,
    /// A second commit may shorten what the first promised.
    CommitShortens,
    /// Says that a whole lease is left.
    RemainingIsLease,
    /// Looks at the first half of a key.
    HalfKeys,
    /// Takes durations of more than a year for an error.
    FearsLongDurations,
}

/// A harness of stores with this fault.
pub(crate) struct Faulty(pub(crate) Fault, pub(crate) ManualClock);

impl Faulty {
    fn open(&self, capacity: usize) -> Arc<dyn DedupStore> {
        let (clock, ids, fences) = (self.1.clone(), Mutex::default(), AtomicU64::new(0));
        Arc::new(FaultyStore { fault: self.0, clock, capacity, ids, fences })
    }
}

impl Harness for Faulty {
    fn store(&self) -> BoxFuture<'_, Arc<dyn DedupStore>> {
        Box::pin(async { self.open(usize::MAX) })
    }

    fn bounded(&self, capacity: NonZeroUsize) -> Option<BoxFuture<'_, Arc<dyn DedupStore>>> {
        Some(Box::pin(async move { self.open(capacity.get()) }))
    }

    fn advance(&self, by: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move { self.1.advance(by) })
    }
}

#[derive(Debug)]
struct FaultyStore {
    fault: Fault,
    clock: ManualClock,
    capacity: usize,
    ids: Mutex<HashMap<DedupKey, Id>>,
    fences: AtomicU64,
}

#[derive(Debug, Clone, Copy)]
struct Id {
    body: Fingerprint,
    fence: u64,
    claimed: UnixTime,
    end: UnixTime,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Claimed,
    Done,
    /// Only there to take up room.
    Released,
}

impl FaultyStore {
    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn key(&self, key: &DedupKey) -> DedupKey {
        let mut bytes = *key.as_bytes();
        if self.has(Fault::HalfKeys) {
            bytes[16..].fill(0);
        }
        DedupKey::from_bytes(bytes)
    }

    fn over(&self, id: &Id) -> bool {
        let now = self.clock.now();
        match id.state {
            State::Claimed => now >= id.end && !self.has(Fault::LeaseNeverEnds),
            State::Done => now >= id.end && !self.has(Fault::NeverForgets),
            State::Released => true,
        }
    }

    fn check(&self, duration: Duration) -> Result<(), StoreError> {
        if self.has(Fault::FearsLongDurations) && duration > Duration::from_secs(365 * 24 * 60 * 60) {
            return Err(StoreError::unavailable("out of range"));
        }
        Ok(())
    }

    /// The answer for an id that is not over.
    fn known(&self, id: &mut Id, claim: Claim<'_>) -> Option<Claimed> {
        if self.over(id) {
            return None;
        }
        let same = id.body == claim.fingerprint || self.has(Fault::IgnoresBody);
        if self.has(Fault::LastBodyCounts) {
            id.body = claim.fingerprint;
        }
        let remaining = match self.fault {
            Fault::RemainingIsLease => claim.lease,
            _ => id.end.saturating_since(self.clock.now()),
        };
        Some(match (id.state, same) {
            (State::Claimed, false) if self.has(Fault::InFlightConflicts) => Claimed::Conflict,
            (State::Claimed, _) if self.has(Fault::InFlightIsDone) => Claimed::Done,
            (State::Claimed, _) => Claimed::InFlight { remaining },
            (_, true) => Claimed::Done,
            (_, false) => Claimed::Conflict,
        })
    }

    /// Whether there is room, or else what to answer.
    fn room(&self, ids: &mut HashMap<DedupKey, Id>) -> Result<(), Result<Claimed, StoreError>> {
        if ids.len() == self.capacity && !self.has(Fault::KeepsRoom) && !self.has(Fault::FullTakesNothingOver) {
            ids.retain(|_, id| !self.over(id) || self.has(Fault::ReleaseKeepsRoom) && id.state == State::Released);
        }
        if ids.len() < self.capacity {
            return Ok(());
        }
        let evicted = match self.fault {
            Fault::EvictsDone => Some(State::Done),
            Fault::EvictsClaims => Some(State::Claimed),
            Fault::FullIsDone => return Err(Ok(Claimed::Done)),
            _ => None,
        };
        let Some(key) = ids.iter().find(|(_, id)| Some(id.state) == evicted).map(|(key, _)| *key) else {
            return Err(Err(StoreError::full()));
        };
        ids.remove(&key);
        Ok(())
    }

    /// The claim that `token` holds.
    fn owned<'i>(&self, ids: &'i mut HashMap<DedupKey, Id>, token: &Token, unfenced: Fault) -> Option<&'i mut Id> {
        let id = ids.get_mut(&self.key(token.key()))?;
        let late = self.has(Fault::LateOwnerIsLost) && self.over(id);
        ((id.fence == token.fence() || self.has(unfenced)) && !late).then_some(id)
    }
}

/// What another connection does meanwhile is not seen.
async fn round_trip() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
        std::thread::yield_now();
    }
}

impl DedupStore for FaultyStore {
    fn claim<'a>(&'a self, claim: Claim<'a>) -> BoxFuture<'a, Result<Claimed, StoreError>> {
        Box::pin(async move {
            self.check(claim.lease)?;
            let key = self.key(claim.key);
            let known = self.ids.lock().unwrap().contains_key(&key);
            let checked = match self.fault {
                Fault::ChecksThenWrites => true,
                Fault::ChecksThenTakesOver => known,
                Fault::Overbooks => !known,
                _ => false,
            };
            if checked {
                {
                    let mut ids = self.ids.lock().unwrap();
                    if let Some(answer) = ids.get_mut(&key).and_then(|id| self.known(id, claim)) {
                        return Ok(answer);
                    }
                    if let Err(answer) = self.room(&mut ids) {
                        return answer;
                    }
                }
                round_trip().await;
            }

            let mut ids = self.ids.lock().unwrap();
            let before = ids.get(&key).copied();
            if !checked {
                if let Some(answer) = ids.get_mut(&key).and_then(|id| self.known(id, claim)) {
                    return Ok(answer);
                }
                if before.is_none() && self.has(Fault::LosesEvents) {
                    return Ok(Claimed::Done);
                }
                if (before.is_none() || self.has(Fault::FullTakesNothingOver))
                    && let Err(answer) = self.room(&mut ids)
                {
                    return answer;
                }
            }
            let fence = match self.fault {
                Fault::OneFence => 1,
                Fault::FencesStartAnew => before.filter(|id| id.state != State::Released).map_or(1, |id| id.fence + 1),
                _ => self.fences.fetch_add(1, Ordering::SeqCst) + 1,
            };
            let body = match before {
                Some(before) if self.has(Fault::FirstBodyCounts) => before.body,
                _ => claim.fingerprint,
            };
            let claimed = self.clock.now();
            let end = claimed.saturating_add(claim.lease);
            ids.insert(key, Id { body, fence, claimed, end, state: State::Claimed });
            Ok(Claimed::Fresh(Token::new(*claim.key, fence)))
        })
    }

    fn extend<'a>(&'a self, token: &'a Token, lease: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        Box::pin(async move {
            self.check(lease)?;
            let (mut ids, now) = (self.ids.lock().unwrap(), self.clock.now());
            let Some(id) = self.owned(&mut ids, token, Fault::ExtendIsNotFenced) else { return Ok(Held::Lost) };
            match (id.state, self.fault) {
                (State::Done, Fault::ExtendReopensDone) => id.state = State::Claimed,
                (State::Claimed, Fault::ExtendDoesNothing) => {}
                (State::Claimed, Fault::ExtendAdds) => id.end = id.end.saturating_add(lease),
                (State::Claimed, _) => id.end = now.saturating_add(lease),
                (State::Done | State::Released, _) => return Ok(Held::Lost),
            }
            Ok(Held::Yes)
        })
    }

    fn commit<'a>(&'a self, token: &'a Token, ttl: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        Box::pin(async move {
            self.check(ttl)?;
            let mut checked = None;
            if self.has(Fault::ChecksThenCommits) {
                checked = self.owned(&mut self.ids.lock().unwrap(), token, Fault::None).copied();
                round_trip().await;
            }
            let (mut ids, now) = (self.ids.lock().unwrap(), self.clock.now());
            if let Some(checked) = checked {
                ids.insert(self.key(token.key()), checked);
            }
            let Some(id) = self.owned(&mut ids, token, Fault::CommitIsNotFenced) else { return Ok(Held::Lost) };
            let from = if self.has(Fault::TtlFromClaim) { id.claimed } else { now };
            let ttl = if self.has(Fault::ForgetsEarly) { ttl / 7 } else { ttl };
            let end = from.saturating_add(ttl);
            match (id.state, self.fault) {
                (State::Claimed, Fault::CommitDoesNothing) => {}
                (State::Done, Fault::CommitsOnce) | (State::Released, _) => return Ok(Held::Lost),
                (State::Done, Fault::CommitShortens) | (State::Claimed, _) => id.end = end,
                (State::Done, _) => id.end = id.end.max(end),
            }
            if !self.has(Fault::CommitDoesNothing) {
                id.state = State::Done;
            }
            Ok(Held::Yes)
        })
    }

    fn release<'a>(&'a self, token: &'a Token) -> BoxFuture<'a, Result<Held, StoreError>> {
        Box::pin(async move {
            let mut ids = self.ids.lock().unwrap();
            let Some(id) = self.owned(&mut ids, token, Fault::ReleaseIsNotFenced) else { return Ok(Held::Lost) };
            match (id.state, self.fault) {
                (State::Claimed, Fault::ReleaseDoesNothing) => {}
                (State::Claimed, _) | (State::Done, Fault::ReleaseForgetsDone) => id.state = State::Released,
                (State::Done | State::Released, _) => return Ok(Held::Lost),
            }
            Ok(Held::Yes)
        })
    }
}
