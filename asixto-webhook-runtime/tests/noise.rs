//! Hundreds of runs with a store that is slow, fails, and loses answers at random: an event is never run twice at once,
//! never again after it was acknowledged, and never stuck once the noise is over.
#![cfg(test)]

mod common;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use asixto_webhook_runtime::{
    Driver,
    core::{BoxFuture, Claim, Claimed, DedupStore, Held, Outcome, StoreError, Token},
};
use common::{ID, builder, deliver, millis, secs, store::Scripted, within_of};
use tokio::{
    runtime,
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};

const RUNS: u64 = 400;
const COPIES: usize = 12;

/// The same numbers for the same seed.
#[derive(Debug, Clone)]
struct Random(Arc<Mutex<u64>>);

impl Random {
    fn below(&self, bound: u64) -> u64 {
        let mut state = self.0.lock().unwrap();
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state % bound
    }

    /// Mostly short.
    fn latency(&self) -> Duration {
        millis(if self.below(4) == 0 { self.below(2_500) } else { self.below(50) })
    }
}

/// Takes its time before a step and after it, and gives no answer to one in three, whether it has taken the step or not.
#[derive(Debug, Clone)]
struct Noisy {
    store: Scripted,
    random: Random,
    is_calm: Arc<AtomicBool>,
}

impl Noisy {
    async fn perform<T>(&self, step: BoxFuture<'_, Result<T, StoreError>>) -> Result<T, StoreError> {
        if self.is_calm.load(Ordering::SeqCst) {
            return step.await;
        }
        let (before, after) = (self.random.latency(), self.random.latency());
        let (is_refused, is_lost) = (self.random.below(6) == 0, self.random.below(6) == 0);
        sleep(before).await;
        if is_refused {
            return Err(StoreError::unavailable("refused"));
        }
        let answer = step.await;
        sleep(after).await;
        if is_lost { Err(StoreError::unavailable("the answer was lost")) } else { answer }
    }
}

impl DedupStore for Noisy {
    fn claim<'a>(&'a self, claim: Claim<'a>) -> BoxFuture<'a, Result<Claimed, StoreError>> {
        Box::pin(async move { self.perform(Box::pin(async move { self.store.claim(claim).await })).await })
    }

    fn extend<'a>(&'a self, token: &'a Token, lease: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        Box::pin(async move { self.perform(Box::pin(async move { self.store.extend(token, lease).await })).await })
    }

    fn commit<'a>(&'a self, token: &'a Token, ttl: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        Box::pin(async move { self.perform(Box::pin(async move { self.store.commit(token, ttl).await })).await })
    }

    fn release<'a>(&'a self, token: &'a Token) -> BoxFuture<'a, Result<Held, StoreError>> {
        Box::pin(async move { self.perform(Box::pin(async move { self.store.release(token).await })).await })
    }
}

/// What one run has come to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Complaints {
    at_once: bool,
    after_the_acknowledgement: bool,
    stuck: bool,
}

async fn run(seed: u64) -> Complaints {
    let random = Random(Arc::new(Mutex::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)));
    let is_calm = Arc::<AtomicBool>::default();
    let noisy = Noisy { store: Scripted::new(), random: random.clone(), is_calm: is_calm.clone() };
    let driver = Driver::new(&builder().dedup(noisy).lease(secs(4)).store_timeout(millis(1_300)).build().unwrap());
    let running = Arc::<AtomicUsize>::default();
    let [at_once, acknowledged, after] = [(); 3].map(|()| Arc::<AtomicBool>::default());

    let mut copies = JoinSet::new();
    for _ in 0..COPIES {
        sleep(millis(random.below(6_000))).await;
        let (driver, random, running) = (driver.clone(), random.clone(), running.clone());
        let (at_once, acknowledged, after) = (at_once.clone(), acknowledged.clone(), after.clone());
        copies.spawn(async move {
            let before = acknowledged.clone();
            let handler = move |_| async move {
                at_once.fetch_or(running.fetch_add(1, Ordering::SeqCst) > 0, Ordering::SeqCst);
                after.fetch_or(before.load(Ordering::SeqCst), Ordering::SeqCst);
                let (time, end) = (millis(random.below(20_000)), random.below(3));
                sleep(time).await;
                running.fetch_sub(1, Ordering::SeqCst);
                match end {
                    0 => 200,
                    1 => 500,
                    _ => panic!("the handler panics, as this test wants it to"),
                }
            };
            let reply = deliver(&driver, ID, handler).await;
            acknowledged.fetch_or((200..300).contains(&reply.answer.status()), Ordering::SeqCst);
        });
    }
    while let Some(copy) = copies.join_next().await {
        copy.unwrap();
    }
    is_calm.store(true, Ordering::SeqCst);
    // A claim whose answer was lost ends with its lease.
    sleep_until(Instant::now() + secs(40)).await;
    let last = deliver(&driver, ID, |_| std::future::ready(500)).await.answer.outcome();
    Complaints {
        at_once: at_once.load(Ordering::SeqCst),
        after_the_acknowledgement: after.load(Ordering::SeqCst),
        stuck: ![Outcome::Duplicate, Outcome::HandlerFailed].contains(&last),
    }
}

// E2, E5, E7, E8
#[test]
fn a_noisy_store() {
    // Hundreds of handlers panic.
    std::panic::set_hook(Box::new(|_| {}));
    let complaints: Vec<_> = (1..=RUNS)
        .map(|seed| {
            let runtime = runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
            (seed, runtime.block_on(within_of(secs(3_600), run(seed))))
        })
        .filter(|(_, complaints)| *complaints != Complaints::default())
        .collect();
    let _ = std::panic::take_hook();
    assert!(complaints.is_empty(), "{complaints:#?}");
}
