//! Any steps in any order: the memory store answers like a model that keeps a plain list.

#![allow(clippy::indexing_slicing, clippy::panic, reason = "tests assert by panicking")]

use std::{
    num::NonZeroUsize,
    task::{Context, Poll, Waker},
    time::Duration,
};

use asixto_webhook_core::{
    BoxFuture, Claim, Claimed, DedupKey, DedupStore, Fingerprint, Held, StoreError, StoreErrorKind, Token, UnixTime,
    testing::ManualClock,
};
use asixto_webhook_store::MemoryStore;
use proptest::{collection::vec, prelude::*};

#[derive(Debug, Clone, Copy)]
enum Step {
    Claim { id: u8, body: u8, lease: u64 },
    Extend { token: usize, lease: u64 },
    Commit { token: usize, ttl: u64 },
    Release { token: usize },
    Advance { seconds: u64 },
}

/// Short ones, so that ends meet, and one that never ends.
fn seconds() -> impl Strategy<Value = u64> {
    prop_oneof![9 => 0..6_u64, 1 => Just(u64::MAX)]
}

fn step() -> impl Strategy<Value = Step> {
    // The latest tokens are the likeliest to hold something.
    let token = 0..4_usize;
    prop_oneof![
        4 => (0..8_u8, 0..2_u8, seconds()).prop_map(|(id, body, lease)| Step::Claim { id, body, lease }),
        1 => (token.clone(), seconds()).prop_map(|(token, lease)| Step::Extend { token, lease }),
        2 => (token.clone(), seconds()).prop_map(|(token, ttl)| Step::Commit { token, ttl }),
        1 => token.prop_map(|token| Step::Release { token }),
        2 => (0..4_u64).prop_map(|seconds| Step::Advance { seconds }),
    ]
}

/// Ids that share shards, three to each, and come in an order other than that of their names.
fn key(id: u8) -> DedupKey {
    let mut bytes = [0xff - id; 32];
    bytes[0] = id % 3;
    DedupKey::from_bytes(bytes)
}

#[derive(Debug, Default)]
struct Model {
    now: u64,
    capacity: usize,
    ids: Vec<Id>,
}

#[derive(Debug)]
struct Id {
    id: u8,
    body: u8,
    /// The position of its token.
    token: usize,
    end: u64,
    done: bool,
}

/// An answer, without the token.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Fresh,
    InFlight(Duration),
    Done,
    Conflict,
    Full,
}

impl Model {
    fn over(&self, id: &Id) -> bool {
        id.end <= self.now
    }

    fn len(&self) -> usize {
        self.ids.iter().filter(|id| !self.over(id)).count()
    }

    fn claim(&mut self, id: u8, body: u8, lease: u64, token: usize) -> Answer {
        let now = self.now;
        self.ids.retain(|id| !id.done || id.end > now);
        if let Some(held) = self.ids.iter().find(|held| held.id == id && !self.over(held)) {
            return match (held.done, held.body == body) {
                (false, _) => Answer::InFlight(Duration::from_secs(held.end - now)),
                (true, true) => Answer::Done,
                (true, false) => Answer::Conflict,
            };
        }
        self.ids.retain(|held| held.id != id);
        if self.ids.len() == self.capacity {
            // The first shard that has a claim to lose loses the one that has been over for longest.
            let over = (0..self.ids.len()).filter(|at| self.over(&self.ids[*at]));
            let Some(at) = over.min_by_key(|at| (self.ids[*at].id % 3, self.ids[*at].end, key(self.ids[*at].id)))
            else {
                return Answer::Full;
            };
            self.ids.remove(at);
        }
        self.ids.push(Id { id, body, token, end: now.saturating_add(lease), done: false });
        Answer::Fresh
    }

    fn owned(&mut self, token: usize) -> Option<&mut Id> {
        let now = self.now;
        self.ids.iter_mut().find(|id| id.token == token && (!id.done || id.end > now))
    }

    fn extend(&mut self, token: usize, lease: u64) -> Held {
        let end = self.now.saturating_add(lease);
        match self.owned(token) {
            Some(id) if !id.done => id.end = end,
            _ => return Held::Lost,
        }
        Held::Yes
    }

    fn commit(&mut self, token: usize, ttl: u64) -> Held {
        let end = self.now.saturating_add(ttl);
        let Some(id) = self.owned(token) else { return Held::Lost };
        id.end = if id.done { id.end.max(end) } else { end };
        id.done = true;
        Held::Yes
    }

    fn release(&mut self, token: usize) -> Held {
        match self.owned(token) {
            Some(id) if !id.done => self.ids.retain(|id| id.token != token),
            _ => return Held::Lost,
        }
        Held::Yes
    }
}

struct Store {
    store: MemoryStore,
    clock: ManualClock,
    tokens: Vec<Token>,
}

impl Store {
    fn claim(&mut self, id: u8, body: u8, lease: u64) -> Result<Answer, StoreError> {
        let key = key(id);
        let claim = Claim::new(&key, Fingerprint::of(&[body]), Duration::from_secs(lease));
        Ok(match now(self.store.claim(claim)) {
            Ok(Claimed::Fresh(token)) => {
                self.tokens.push(token);
                Answer::Fresh
            }
            Ok(Claimed::InFlight { remaining }) => Answer::InFlight(remaining),
            Ok(Claimed::Done) => Answer::Done,
            Ok(Claimed::Conflict) => Answer::Conflict,
            Err(error) if error.kind() == StoreErrorKind::Full => Answer::Full,
            Err(error) => return Err(error),
        })
    }
}

/// A step of this store waits for nothing.
fn now<T>(mut future: BoxFuture<'_, T>) -> T {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("expected a step that waits for nothing"),
    }
}

/// What never ends has as much left as the store can count.
fn alike(store: &Answer, model: &Answer) -> bool {
    match (store, model) {
        (Answer::InFlight(store), Answer::InFlight(model)) => {
            store == model || store.min(model) > &Duration::from_secs(500 * 365 * 24 * 60 * 60)
        }
        _ => store == model,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// E1, E5, E6, E8, E9.
    #[test]
    fn the_store_answers_like_the_model(capacity in 1..6_usize, steps in vec(step(), 1..120)) {
        let clock = ManualClock::new(UnixTime::from_secs(1_760_000_000));
        let store = MemoryStore::new(NonZeroUsize::new(capacity).unwrap()).with_clock(clock.clone());
        let mut store = Store { store, clock, tokens: Vec::new() };
        let mut model = Model { capacity, ..Model::default() };

        for step in steps {
            let tokens = store.tokens.len();
            // Counted from the latest.
            let held = |token: usize| tokens.checked_sub(token + 1);
            match step {
                Step::Claim { id, body, lease } => {
                    let (found, expected) = (store.claim(id, body, lease)?, model.claim(id, body, lease, tokens));
                    prop_assert!(alike(&found, &expected), "{:?}: expected {:?}, found {:?}", step, expected, found);
                }
                Step::Extend { token, lease } => {
                    let Some(token) = held(token) else { continue };
                    let found = now(store.store.extend(&store.tokens[token], Duration::from_secs(lease)))?;
                    prop_assert_eq!(found, model.extend(token, lease));
                }
                Step::Commit { token, ttl } => {
                    let Some(token) = held(token) else { continue };
                    let found = now(store.store.commit(&store.tokens[token], Duration::from_secs(ttl)))?;
                    prop_assert_eq!(found, model.commit(token, ttl));
                }
                Step::Release { token } => {
                    let Some(token) = held(token) else { continue };
                    prop_assert_eq!(now(store.store.release(&store.tokens[token]))?, model.release(token));
                }
                Step::Advance { seconds } => {
                    store.clock.advance(Duration::from_secs(seconds));
                    model.now += seconds;
                }
            }
            prop_assert_eq!(store.store.len(), model.len());
        }

        // E8: no two claims of an id have the same fence, and later ones have higher ones.
        for (at, token) in store.tokens.iter().enumerate() {
            let earlier = store.tokens[..at].iter().filter(|earlier| earlier.key() == token.key());
            prop_assert!(earlier.map(Token::fence).all(|fence| fence < token.fence()));
        }
    }
}
