//! The ids of one process, in its memory.

mod shard;

use core::{
    fmt, mem,
    num::NonZeroUsize,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::Duration,
};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use asixto_webhook_core::{BoxFuture, Claim, Claimed, Clock, DedupKey, DedupStore, Held, StoreError, Token, UnixTime};

use self::shard::{Moment, Shard};

const DEFAULT_CAPACITY: NonZeroUsize = NonZeroUsize::new(1_000_000).unwrap();

/// Each with a lock of its own, so that deliveries seldom wait for each other.
const SHARDS: usize = 64;

/// Ids that are over and dropped along with a claim, which brings one at most: what is over never piles up.
const SWEPT_PER_CLAIM: usize = 2;

/// Remembers ids in the memory of this process. Clones share them.
///
/// For one process whose sender tolerates that a restart forgets: **after a crash or a deployment every id is
/// unknown**, and what the sender repeats is processed a second time, within the seven days too that Asixto asks
/// for. Behind a load balancer each process has ids of its own. Where either matters, use a database.
///
/// * Every step is atomic: it is taken under the one lock that guards its id, and waits for nothing else.
/// * It never forgets early. An id that is over, done or claimed, is as good as absent at once, and its room is free
///   at once; while none is over, a full store answers [`StoreErrorKind::Full`], which the sender is told as 503.
/// * A claim whose lease is over stays with its owner until another takes the id, or needs the room when no id that
///   was done is over. Until then a late owner can commit.
/// * It takes at most 256 bytes per id and gives them back, so that the default of 1,000,000 ids is at most 256 MB:
///   seven days of 99 events a minute. Size yours as events per minute × 10,080.
/// * Leases and times to live are measured by a monotonic clock: setting the wall clock ends none of them.
///
/// [`StoreErrorKind::Full`]: asixto_webhook_core::StoreErrorKind::Full
///
/// ```
/// use std::num::NonZeroUsize;
/// use asixto_webhook_store::MemoryStore;
///
/// const CAPACITY: NonZeroUsize = NonZeroUsize::new(200_000).unwrap();
///
/// let store = MemoryStore::new(CAPACITY);
/// assert_eq!((store.len(), store.capacity()), (0, CAPACITY));
/// ```
#[derive(Clone)]
pub struct MemoryStore(Arc<Inner>);

struct Inner {
    shards: [Mutex<Shard>; SHARDS],
    /// How many ids the shards hold, together with the room taken for those about to be put there.
    taken: AtomicUsize,
    capacity: NonZeroUsize,
    clock: Box<dyn Clock>,
    /// Moments count from here.
    start: UnixTime,
}

impl MemoryStore {
    /// An empty store for up to `capacity` ids.
    #[must_use]
    pub fn new(capacity: NonZeroUsize) -> Self {
        Self::build(capacity, Box::new(Monotonic(Instant::now())))
    }

    /// An empty store of this one's capacity that goes by `clock`: for tests, which move it by hand.
    ///
    /// A clock that is set back makes leases and times to live last longer.
    #[must_use]
    pub fn with_clock(self, clock: impl Clock + 'static) -> Self {
        Self::build(self.0.capacity, Box::new(clock))
    }

    /// How many ids are claimed or done at present, found by a walk over those that are over and not dropped yet.
    #[must_use]
    pub fn len(&self) -> usize {
        let now = self.0.now();
        self.0.locked().map(|shard| shard.remembered(now)).sum()
    }

    /// Whether no id is claimed or done at present.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many ids there is room for.
    #[must_use]
    pub fn capacity(&self) -> NonZeroUsize {
        self.0.capacity
    }

    fn build(capacity: NonZeroUsize, clock: Box<dyn Clock>) -> Self {
        let (shards, start) = ([const { Mutex::new(Shard::new()) }; SHARDS], clock.now());
        Self(Arc::new(Inner { shards, taken: AtomicUsize::new(0), capacity, clock, start }))
    }
}

impl Default for MemoryStore {
    /// With room for 1,000,000 ids.
    fn default() -> Self {
        Self::new(DEFAULT_CAPACITY)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("taken", &self.0.taken.load(Relaxed))
            .field("capacity", &self.0.capacity)
            .finish_non_exhaustive()
    }
}

impl DedupStore for MemoryStore {
    fn claim<'a>(&'a self, claim: Claim<'a>) -> BoxFuture<'a, Result<Claimed, StoreError>> {
        Box::pin(async move { self.0.claim(claim) })
    }

    fn extend<'a>(&'a self, token: &'a Token, lease: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        Box::pin(async move { Ok(self.0.step(token, |shard, now| shard.extend(token, now, lease))) })
    }

    fn commit<'a>(&'a self, token: &'a Token, ttl: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        Box::pin(async move { Ok(self.0.step(token, |shard, now| shard.commit(token, now, ttl))) })
    }

    fn release<'a>(&'a self, token: &'a Token) -> BoxFuture<'a, Result<Held, StoreError>> {
        Box::pin(async move {
            let held = self.0.step(token, |shard, _| shard.release(token));
            self.0.give_back(usize::from(held == Held::Yes));
            Ok(held)
        })
    }
}

impl Inner {
    fn claim(&self, claim: Claim<'_>) -> Result<Claimed, StoreError> {
        if let Some(claimed) = self.try_claim(claim, || self.take_room()) {
            return Ok(claimed);
        }
        // The room of an id that is over goes straight to this one, so that nobody can snatch it. It is looked for
        // without the lock of this id, since two locks at once could meet the other way round: what became of the
        // id meanwhile decides.
        let mut room = self.recover_room() || self.take_room();
        let claimed = self.try_claim(claim, || mem::take(&mut room));
        self.give_back(usize::from(room));
        claimed.ok_or_else(StoreError::full)
    }

    /// `None` if there is no room.
    fn try_claim(&self, claim: Claim<'_>, room: impl FnOnce() -> bool) -> Option<Claimed> {
        let mut shard = self.shard(claim.key);
        let now = self.now();
        self.give_back((0..SWEPT_PER_CLAIM).take_while(|_| shard.forget_done(now)).count());
        shard.claim(claim, now, room)
    }

    fn step(&self, token: &Token, step: impl FnOnce(&mut Shard, Moment) -> Held) -> Held {
        let mut shard = self.shard(token.key());
        // Read under the lock: an id is never seen at a moment before its last change.
        let now = self.now();
        step(&mut shard, now)
    }

    fn take_room(&self) -> bool {
        let room = |taken| (taken < self.capacity.get()).then_some(taken + 1);
        self.taken.fetch_update(Relaxed, Relaxed, room).is_ok()
    }

    fn give_back(&self, rooms: usize) {
        self.taken.fetch_sub(rooms, Relaxed);
    }

    /// Drops an id that is over, wherever it is, and keeps its room.
    fn recover_room(&self) -> bool {
        let now = self.now();
        // A claim only where there is nothing else: its owner might still commit.
        self.locked().any(|mut shard| shard.forget_done(now)) || self.locked().any(|mut shard| shard.forget_claim(now))
    }

    /// One shard after the other, never two at once.
    fn locked(&self) -> impl Iterator<Item = MutexGuard<'_, Shard>> {
        self.shards.iter().map(lock)
    }

    fn shard(&self, key: &DedupKey) -> MutexGuard<'_, Shard> {
        let index = usize::from(key.as_bytes()[0]) % SHARDS;
        #[expect(clippy::indexing_slicing, reason = "a remainder of the length")]
        lock(&self.shards[index])
    }

    fn now(&self) -> Moment {
        Moment::after(self.clock.now().saturating_since(self.start))
    }
}

/// Nothing panics between two changes that belong together, so a poisoned shard is a sound one.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Time since an arbitrary instant, which no one can set.
#[derive(Debug)]
struct Monotonic(Instant);

impl Clock for Monotonic {
    fn now(&self) -> UnixTime {
        UnixTime::since_epoch(self.0.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        task::{Context, Poll, Waker},
    };

    use asixto_webhook_core::{Fingerprint, testing::ManualClock};

    use super::*;

    const LEASE: Duration = Duration::from_secs(30);
    const TTL: Duration = Duration::from_secs(7 * 24 * 60 * 60);

    /// A key whose first byte is its shard.
    fn key(shard: u8, number: u8) -> DedupKey {
        let mut bytes = [number; 32];
        bytes[0] = shard;
        DedupKey::from_bytes(bytes)
    }

    fn store(capacity: usize) -> (MemoryStore, ManualClock) {
        let clock = ManualClock::new(UnixTime::from_secs(1_760_000_000));
        (MemoryStore::new(NonZeroUsize::new(capacity).unwrap()).with_clock(clock.clone()), clock)
    }

    fn claim(store: &MemoryStore, key: &DedupKey) -> Result<Claimed, StoreError> {
        now(store.claim(Claim::new(key, Fingerprint::of(b"body"), LEASE)))
    }

    fn fresh(store: &MemoryStore, key: &DedupKey) -> Token {
        match claim(store, key) {
            Ok(Claimed::Fresh(token)) => token,
            other => panic!("expected a fresh claim, found {other:?}"),
        }
    }

    fn commit(store: &MemoryStore, token: &Token) -> Held {
        now(store.commit(token, TTL)).unwrap()
    }

    /// A step of this store waits for nothing.
    fn now<T>(mut future: BoxFuture<'_, T>) -> T {
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => value,
            Poll::Pending => panic!("expected a step that waits for nothing"),
        }
    }

    /// How many ids the shards really hold, those that are over included.
    fn stored(store: &MemoryStore) -> usize {
        store.0.locked().map(|shard| shard.stored()).sum()
    }

    /// E9: one id that is over makes room, whichever shard it is in, and nothing else is forgotten for it.
    #[test]
    fn room_is_recovered_from_any_shard() {
        for over in [0, 31, 63] {
            let (store, clock) = store(64);
            commit(&store, &fresh(&store, &key(over, 1)));
            clock.advance(TTL - LEASE);
            for shard in (0..64).filter(|shard| *shard != over) {
                commit(&store, &fresh(&store, &key(shard, 1)));
            }
            assert!(claim(&store, &key(5, 2)).is_err(), "{over}");
            clock.advance(LEASE);
            fresh(&store, &key(5, 2));
            assert!(claim(&store, &key(6, 2)).is_err(), "{over}");
            assert!((0..64).filter(|s| *s != over).all(|s| matches!(claim(&store, &key(s, 1)), Ok(Claimed::Done))));
        }
    }

    /// A late owner keeps its claim while any id that was done is over, and loses it to the need for room.
    #[test]
    fn room_is_taken_from_what_is_done_first() {
        let (store, clock) = store(2);
        commit(&store, &fresh(&store, &key(9, 1)));
        let late = fresh(&store, &key(1, 1));
        clock.advance(TTL);
        fresh(&store, &key(2, 1));
        assert_eq!(commit(&store, &late), Held::Yes);

        let (store, clock) = self::store(1);
        let late = fresh(&store, &key(1, 1));
        clock.advance(LEASE);
        fresh(&store, &key(2, 1));
        assert_eq!(commit(&store, &late), Held::Lost);
    }

    /// E8: fences only ever grow, through releases and takeovers alike.
    #[test]
    fn fences_grow() {
        let (store, clock) = store(4);
        let mut last = 0;
        for round in 0..20 {
            let token = fresh(&store, &key(1, round % 2));
            assert!(token.fence() > last);
            last = token.fence();
            match round % 3 {
                0 => clock.advance(LEASE),
                _ => assert_eq!(now(store.release(&token)).unwrap(), Held::Yes),
            }
            clock.advance(LEASE);
        }
    }

    /// What is over goes by and by with the claims that come, and a step that fails takes no room.
    #[test]
    fn what_is_over_does_not_pile_up() {
        let (store, clock) = store(1_000);
        for number in 0..100 {
            commit(&store, &fresh(&store, &key(7, number)));
        }
        clock.advance(TTL);
        assert_eq!((store.len(), stored(&store)), (0, 100));
        for number in 100..200 {
            fresh(&store, &key(7, number));
        }
        assert_eq!((store.len(), stored(&store), store.0.taken.load(Relaxed)), (100, 100, 100));
    }

    /// E9: room is counted right whoever races for it.
    #[test]
    fn room_never_drifts() {
        let (store, clock) = store(50);
        std::thread::scope(|scope| {
            for thread in 0..4_u8 {
                let (store, clock) = (&store, &clock);
                scope.spawn(move || {
                    for round in 0..2_000_u32 {
                        let [a, b, ..] = round.wrapping_mul(2_654_435_761).to_be_bytes();
                        if let Ok(Claimed::Fresh(token)) = claim(store, &key(a % 8, b % 16)) {
                            match (u32::from(b) + round + u32::from(thread)) % 4 {
                                0 => {}
                                1 => _ = commit(store, &token),
                                _ => _ = now(store.release(&token)).unwrap(),
                            }
                        }
                        clock.advance(Duration::from_millis(u64::from(b)));
                        assert!(store.0.taken.load(Relaxed) <= 50);
                    }
                });
            }
        });
        assert_eq!(stored(&store), store.0.taken.load(Relaxed));
    }

    /// A clock that does something when it is read for the second time, which a claim does between its two halves.
    #[derive(Debug, Clone)]
    struct Interrupting(ManualClock, Arc<Mutex<Option<Interruption>>>);

    #[derive(Debug)]
    struct Interruption {
        reads: usize,
        job: fn(&MemoryStore),
        store: MemoryStore,
    }

    impl Clock for Interrupting {
        fn now(&self) -> UnixTime {
            let due = self.1.lock().unwrap().take_if(|interruption| {
                interruption.reads += 1;
                interruption.reads == 2
            });
            if let Some(Interruption { job, store, .. }) = due {
                job(&store);
            }
            self.0.now()
        }
    }

    /// A store whose next claim is interrupted by `job`, once `prepare` has been at it.
    fn interrupted(capacity: usize, prepare: fn(&MemoryStore, &ManualClock), job: fn(&MemoryStore)) -> MemoryStore {
        let (store, clock) = store(capacity);
        let interrupting = Interrupting(clock.clone(), Arc::default());
        let store = store.with_clock(interrupting.clone());
        prepare(&store, &clock);
        *interrupting.1.lock().unwrap() = Some(Interruption { reads: 0, job, store: store.clone() });
        store
    }

    /// E5, E9: whoever looks for room while another claims the id finds it in flight, and gives the room back.
    #[test]
    fn room_that_is_not_needed_any_more_is_given_back() {
        let two_are_over = |store: &MemoryStore, clock: &ManualClock| {
            commit(store, &fresh(store, &key(1, 1)));
            commit(store, &fresh(store, &key(2, 1)));
            clock.advance(TTL);
        };
        let store = interrupted(2, two_are_over, |store| _ = fresh(store, &key(3, 1)));
        assert!(matches!(claim(&store, &key(3, 1)), Ok(Claimed::InFlight { .. })));
        assert_eq!((stored(&store), store.0.taken.load(Relaxed)), (1, 1));
    }

    /// E9: room that comes free while one looks for some is found.
    #[test]
    fn room_that_comes_free_meanwhile_is_taken() {
        let one_is_held = |store: &MemoryStore, _: &ManualClock| _ = fresh(store, &key(1, 1));
        let release = |store: &MemoryStore| _ = now(store.release(&Token::new(key(1, 1), 1))).unwrap();
        let store = interrupted(1, one_is_held, release);
        fresh(&store, &key(2, 1));
        assert_eq!((stored(&store), store.0.taken.load(Relaxed)), (1, 1));
    }

    /// Nobody waits for a future that was dropped, so it must not have claimed anything.
    #[test]
    fn a_future_does_nothing_until_it_is_polled() {
        let (store, _) = store(1);
        drop(store.claim(Claim::new(&key(1, 1), Fingerprint::of(b""), LEASE)));
        assert!(store.is_empty());
        drop(now(store.claim(Claim::new(&key(1, 1), Fingerprint::of(b""), LEASE))));
        assert_eq!(store.len(), 1);
    }

    #[test]
    fn a_panicking_clock_poisons_nothing() {
        #[derive(Debug)]
        struct Faulty(AtomicUsize);
        impl Clock for Faulty {
            fn now(&self) -> UnixTime {
                assert!(self.0.fetch_add(1, Relaxed) != 1, "the clock is broken");
                UnixTime::from_secs(0)
            }
        }

        let store = store(1).0.with_clock(Faulty(AtomicUsize::new(0)));
        assert!(catch_unwind(AssertUnwindSafe(|| claim(&store, &key(1, 1)))).is_err());
        fresh(&store, &key(1, 1));
    }

    /// A clock that is set back makes nothing end early, and nothing overflow.
    #[test]
    fn a_clock_set_back_forgets_nothing() {
        let (store, clock) = store(4);
        clock.advance(LEASE);
        commit(&store, &fresh(&store, &key(1, 1)));
        let token = fresh(&store, &key(1, 2));
        clock.set(UnixTime::from_secs(0));
        assert!(matches!(claim(&store, &key(1, 1)), Ok(Claimed::Done)));
        assert!(matches!(claim(&store, &key(1, 2)), Ok(Claimed::InFlight { .. })));
        assert_eq!(commit(&store, &token), Held::Yes);
    }

    #[test]
    fn the_default_clock_runs() {
        let store = MemoryStore::default();
        let before = store.0.now();
        while store.0.now() <= before {
            core::hint::spin_loop();
        }
        fresh(&store, &key(1, 1));
        assert!(matches!(claim(&store, &key(1, 1)), Ok(Claimed::InFlight { remaining }) if remaining <= LEASE));
    }

    /// Neither ids nor digests, which a log has no use for.
    #[test]
    fn debug_shows_counts_only() {
        let (store, _) = store(3);
        fresh(&store, &key(1, 1));
        assert_eq!(format!("{store:?}"), "MemoryStore { taken: 1, capacity: 3, .. }");
    }
}
