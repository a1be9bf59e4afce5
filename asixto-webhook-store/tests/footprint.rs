//! What the memory store takes, measured at the allocator, and that it gives all of it back.

#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "tests assert by panicking")]

use std::{
    num::NonZeroUsize,
    sync::LazyLock,
    task::{Context, Poll, Waker},
    time::Duration,
};

use allocation_counter::measure;
use asixto_webhook_core::{
    BoxFuture, Claim, Claimed, DedupKey, DedupStore, Fingerprint, Held, StoreErrorKind, Token, UnixTime,
    testing::ManualClock,
};
use asixto_webhook_store::MemoryStore;

/// As the docs of `MemoryStore` say.
const DOCUMENTED_BYTES_PER_ID: usize = 256;

const ROUNDS: usize = 200_000;
const LEASE: Duration = Duration::from_secs(30);
const TTL: Duration = Duration::from_secs(7 * 24 * 60 * 60);

fn store(capacity: usize) -> (MemoryStore, ManualClock) {
    let clock = ManualClock::new(UnixTime::from_secs(1_760_000_000));
    (MemoryStore::new(NonZeroUsize::new(capacity).unwrap()).with_clock(clock.clone()), clock)
}

/// As evenly spread as a digest (the finaliser of SplitMix64), at a fraction of its cost.
fn key(number: usize) -> DedupKey {
    let mut z = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&(z ^ (z >> 31)).to_be_bytes());
    DedupKey::from_bytes(bytes)
}

static BODY: LazyLock<Fingerprint> = LazyLock::new(|| Fingerprint::of(b"{}"));

/// A step of this store waits for nothing.
fn now<T>(mut future: BoxFuture<'_, T>) -> T {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("expected a step that waits for nothing"),
    }
}

fn fresh(store: &MemoryStore, key: &DedupKey) -> Token {
    match now(store.claim(Claim::new(key, *BODY, LEASE))) {
        Ok(Claimed::Fresh(token)) => token,
        other => panic!("expected a fresh claim, found {other:?}"),
    }
}

fn commit(store: &MemoryStore, token: &Token) {
    assert_eq!(now(store.commit(token, TTL)).unwrap(), Held::Yes);
}

/// The bytes that `work` left allocated, or gave back where negative, and the most it had at once.
fn bytes(work: impl FnOnce()) -> (i64, i64) {
    let measured = measure(work);
    (measured.bytes_current, measured.bytes_max.try_into().unwrap())
}

/// The share of one of `ids`, rounded up.
fn per_id(bytes: i64, ids: usize) -> usize {
    usize::try_from(bytes).unwrap().div_ceil(ids)
}

/// Ids as they arrive, claimed and then done, and all of them claimed at once; `most` is at the worst moment.
#[test]
fn an_id_takes_no_more_than_documented() {
    for (state, done) in [("done", true), ("claimed", false)] {
        let (store, clock) = store(ROUNDS);
        let (left, most) = bytes(|| {
            for number in 0..ROUNDS {
                let token = fresh(&store, &key(number));
                if done {
                    clock.advance(Duration::from_millis(5));
                    commit(&store, &token);
                }
            }
        });
        assert_eq!(store.len(), ROUNDS);
        println!("bytes_per_id_{state}={}", per_id(left, ROUNDS));
        println!("bytes_per_id_{state}_most={}", per_id(most, ROUNDS));
        assert!(per_id(most, ROUNDS) <= DOCUMENTED_BYTES_PER_ID, "{state}: {most}");
    }
}

/// E9: what is over is dropped along with the claims that come, and its memory with it, long before the store is full.
#[test]
fn ids_that_are_over_are_given_back() {
    const REMEMBERED: usize = 20_000;

    let (store, clock) = store(10 * ROUNDS);
    let (left, most) = bytes(|| {
        for number in 0..ROUNDS {
            commit(&store, &fresh(&store, &key(number)));
            clock.advance(TTL / u32::try_from(REMEMBERED).unwrap());
        }
    });
    println!("bytes_per_id_after_turnover={}", per_id(left, REMEMBERED));
    println!("bytes_per_id_after_turnover_most={}", per_id(most, REMEMBERED));
    assert!((REMEMBERED - 2..=REMEMBERED).contains(&store.len()), "{}", store.len());
    assert!(per_id(most, REMEMBERED) <= DOCUMENTED_BYTES_PER_ID, "{most}");

    clock.advance(TTL);
    let (left, _) = bytes(|| {
        for number in 0..REMEMBERED {
            assert_eq!(now(store.release(&fresh(&store, &key(number)))).unwrap(), Held::Yes);
        }
    });
    assert!(store.is_empty());
    println!("bytes_given_back={}", -left);
}

/// Released, extended, taken over: nothing stays behind, not even an entry in a queue.
#[test]
fn claims_that_come_and_go_leave_nothing() {
    let (store, clock) = store(8);
    let come_and_go = |rounds| {
        let token = fresh(&store, &key(0));
        for number in 1..=rounds {
            let token = fresh(&store, &key(number));
            assert_eq!(now(store.release(&token)).unwrap(), Held::Yes);
        }
        for _ in 0..rounds {
            assert_eq!(now(store.extend(&token, LEASE)).unwrap(), Held::Yes);
            clock.advance(Duration::from_millis(1));
        }
        for _ in 0..rounds {
            clock.advance(LEASE);
            fresh(&store, &key(0));
        }
        clock.advance(LEASE);
    };
    // An empty shard keeps a node of each tree.
    let (kept, _) = bytes(|| come_and_go(1_000));
    let (left, most) = bytes(|| come_and_go(ROUNDS));
    println!("bytes_kept_by_empty_shards={kept}");
    println!("bytes_left_by_claims={left}");
    assert!(kept <= 128 * 1_024, "{kept}");
    assert_eq!(left, 0);
    assert!(most <= 4 * 1_024, "{most}");
}

/// Claims that nobody ever settles take no more than the room there is.
#[test]
fn abandoned_claims_stay_within_the_capacity() {
    let (store, clock) = store(100);
    let (_, most) = bytes(|| {
        for number in 0..ROUNDS {
            fresh(&store, &key(number));
            clock.advance(LEASE / 100);
        }
        for number in 0..100 {
            let refused = now(store.claim(Claim::new(&key(ROUNDS + number), *BODY, LEASE)));
            assert!(refused.is_ok_and(|claimed| matches!(claimed, Claimed::Fresh(_))) == (number == 0));
        }
    });
    println!("bytes_used_by_abandoned_claims={most}");
    assert!(most <= 128 * 1_024, "{most}");
    let refused = now(store.claim(Claim::new(&key(2 * ROUNDS), *BODY, LEASE)));
    assert_eq!(refused.unwrap_err().kind(), StoreErrorKind::Full);
}
