//! Many deliveries at once, on several threads and in real time: each event has one effect.
#![cfg(test)]

mod common;

use std::{
    collections::BTreeSet,
    future::ready,
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use asixto_webhook_runtime::{
    Driver,
    core::{BoxFuture, Claim, Claimed, DedupStore, Event, Held, Outcome, ReceiverBuilder, StoreError, Token},
};
use common::{
    DUPLICATE, Effects, ID, IN_FLIGHT, PROCESSED, SLOW, STORE_UNAVAILABLE, builder, deliver, millis, over, secs, sent,
    store::{Scripted, Step},
    within,
};
use tokio::{
    sync::{Barrier, Notify},
    task::JoinSet,
};

// E4: different events run side by side: here none ends before all of them have begun.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hundred_events() {
    const EVENTS: usize = 200;
    let (store, effects) = (Scripted::timeless(), Effects::default());
    let (driver, all) = (over(&store), Arc::new(Barrier::new(EVENTS)));
    let mut deliveries = JoinSet::new();
    for number in 0..EVENTS {
        let (driver, effects, all) = (driver.clone(), effects.clone(), Arc::clone(&all));
        deliveries.spawn(async move {
            let handler = async move |event: Event| {
                all.wait().await;
                effects.of(&event);
                200
            };
            sent(&deliver(&driver, &format!("event-{number}"), handler).await)
        });
    }
    let replies = within(deliveries.join_all()).await;
    assert!(replies.iter().all(|reply| *reply == PROCESSED), "{replies:?}");
    assert_eq!(effects.count(), EVENTS);
    assert_eq!(effects.ids().into_iter().collect::<BTreeSet<_>>().len(), EVENTS);
    assert_eq!((store.times(Step::Claim).len(), store.times(Step::Commit).len()), (EVENTS, EVENTS));
    assert_eq!(within(driver.drain(secs(10))).await, Ok(()));
}

// E2, E5: of forty copies at once one runs; while it does, the others are in flight, and afterwards duplicates.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn forty_copies_of_one_event() {
    const COPIES: usize = 40;
    let (store, effects) = (Scripted::timeless(), Effects::default());
    let (driver, all, end) = (over(&store), Arc::new(Barrier::new(COPIES)), Arc::new(Notify::new()));
    let mut deliveries = JoinSet::new();
    for _ in 0..COPIES {
        let (driver, effects, all, end) = (driver.clone(), effects.clone(), Arc::clone(&all), Arc::clone(&end));
        deliveries.spawn(async move {
            all.wait().await;
            let handler = async move |event: Event| {
                effects.of(&event);
                end.notified().await;
                200
            };
            sent(&deliver(&driver, ID, handler).await)
        });
    }
    let early = within(async {
        let mut early = vec![];
        while early.len() < COPIES - 1 {
            early.push(deliveries.join_next().await.unwrap().unwrap());
        }
        early
    });
    assert_eq!(early.await, [IN_FLIGHT; COPIES - 1]);
    assert_eq!(effects.count(), 1);
    end.notify_one();
    assert_eq!(within(deliveries.join_all()).await, [PROCESSED]);

    let mut again = JoinSet::new();
    for _ in 0..COPIES {
        let (driver, handler) = (driver.clone(), effects.handler());
        again.spawn(async move { sent(&deliver(&driver, ID, handler).await) });
    }
    assert_eq!(within(again.join_all()).await, [DUPLICATE; COPIES]);
    assert_eq!((effects.count(), store.times(Step::Commit).len()), (1, 1));
}

// E5: a sender that hangs up at any moment: one effect per event, and none is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn senders_that_hang_up_at_any_moment() {
    let (store, effects) = (Scripted::timeless(), Effects::default());
    let driver = over(&store);
    let ids: Vec<_> = (0..100).map(|number| format!("event-{number:03}")).collect();
    for (number, id) in ids.iter().enumerate() {
        let (driver, id, effects) = (driver.clone(), id.clone(), effects.clone());
        let delivery = tokio::spawn(async move {
            let handler = async move |event: Event| {
                for _ in 0..number % 7 {
                    tokio::task::yield_now().await;
                }
                effects.of(&event);
                200
            };
            sent(&deliver(&driver, &id, handler).await)
        });
        for _ in 0..number % 11 {
            tokio::task::yield_now().await;
        }
        delivery.abort();
    }
    assert_eq!(within(driver.drain(secs(10))).await, Ok(()));
    // A retry of each: it is done by the first attempt, or, where that was stopped before it began, by this one.
    for id in &ids {
        let reply = sent(&within(deliver(&driver, id, effects.handler())).await);
        assert!([PROCESSED, DUPLICATE].contains(&reply), "{reply:?}");
    }
    let mut done = effects.ids();
    done.sort();
    assert_eq!(done, ids);
}

/// Timeouts that make a handler slow after 60 ms, and a lease that is renewed each third of a second.
fn impatient(builder: ReceiverBuilder) -> ReceiverBuilder {
    builder
        .body_timeout(millis(20))
        .secrets_timeout(millis(20))
        .store_timeout(millis(20))
        .answer_timeout(millis(60))
        .lease(secs(1))
}

/// Blocks a thread, and not just its task, until the test lets it go.
fn block(until: &Mutex<mpsc::Receiver<()>>) {
    // Ends by itself where the test has failed, so that the runtime can end as well.
    let _ = until.lock().unwrap().recv_timeout(Duration::from_secs(60));
}

// H8, E5: a handler that blocks its thread holds up neither the answer nor the renewal of its claim.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_its_thread() {
    for in_the_closure_itself in [false, true] {
        let (store, effects) = (Scripted::timeless(), Effects::default());
        let driver = Driver::new(&impatient(builder().dedup(store.clone())).build().unwrap());
        let (release, blocked) = mpsc::channel();
        let (blocked, done) = (Arc::new(Mutex::new(blocked)), effects.clone());
        let (entered, inside) = tokio::sync::oneshot::channel();
        let handler = move |event: Event| {
            entered.send(()).unwrap();
            if in_the_closure_itself {
                block(&blocked);
            }
            async move {
                if !in_the_closure_itself {
                    block(&blocked);
                }
                done.of(&event);
                200
            }
        };
        let delivery = {
            let driver = driver.clone();
            tokio::spawn(async move { sent(&deliver(&driver, ID, handler).await) })
        };
        within(inside).await.unwrap();
        assert_eq!(within(delivery).await.unwrap(), SLOW);
        // Three a lease.
        within(store.until(Step::Extend, 2)).await;
        assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), IN_FLIGHT);
        assert_eq!(effects.count(), 0);

        release.send(()).unwrap();
        assert_eq!(within(driver.drain(secs(30))).await, Ok(()));
        assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), DUPLICATE);
        assert_eq!((effects.ids(), store.times(Step::Commit).len()), (vec![ID.to_owned()], 1));
    }
}

// E4: nor does it hold up another event.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beside_a_handler_that_blocks_its_thread() {
    let (store, effects) = (Scripted::timeless(), Effects::default());
    let driver = over(&store);
    let (release, blocked) = mpsc::channel();
    let blocked = Arc::new(Mutex::new(blocked));
    let (entered, inside) = tokio::sync::oneshot::channel();
    let handler = move |_: Event| {
        entered.send(()).unwrap();
        block(&blocked);
        ready(200)
    };
    let delivery = {
        let driver = driver.clone();
        tokio::spawn(async move { sent(&deliver(&driver, ID, handler).await) })
    };
    within(inside).await.unwrap();
    for number in 0..50 {
        let reply = within(deliver(&driver, &format!("event-{number}"), effects.handler())).await;
        assert_eq!(sent(&reply), PROCESSED, "{number}");
    }
    release.send(()).unwrap();
    assert_eq!(within(delivery).await.unwrap(), (Outcome::Processed, 200, Some(200)));
}

/// A store whose claims and commits block the thread they are asked on until the test lets them go.
#[derive(Debug, Clone)]
struct Blocking {
    store: Scripted,
    step: Step,
    until: Arc<Mutex<mpsc::Receiver<()>>>,
}

impl DedupStore for Blocking {
    fn claim<'a>(&'a self, claim: Claim<'a>) -> BoxFuture<'a, Result<Claimed, StoreError>> {
        if self.step == Step::Claim {
            block(&self.until);
        }
        self.store.claim(claim)
    }

    fn extend<'a>(&'a self, token: &'a Token, lease: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        self.store.extend(token, lease)
    }

    fn commit<'a>(&'a self, token: &'a Token, ttl: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        if self.step == Step::Commit {
            block(&self.until);
        }
        self.store.commit(token, ttl)
    }

    fn release<'a>(&'a self, token: &'a Token) -> BoxFuture<'a, Result<Held, StoreError>> {
        self.store.release(token)
    }
}

// H8: a store that blocks its thread, which no timeout of a task can interrupt, is answered for in time as well; what
// comes of the delivery counts all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_blocks_its_thread() {
    for step in [Step::Claim, Step::Commit] {
        let (store, effects) = (Scripted::timeless(), Effects::default());
        let (release, until) = mpsc::channel();
        let blocking = Blocking { store: store.clone(), step, until: Arc::new(Mutex::new(until)) };
        let driver = Driver::new(&impatient(builder().dedup(blocking)).build().unwrap());
        let delivery = {
            let (driver, handler) = (driver.clone(), effects.handler());
            // A task of its own, since the delivery's would take the test's thread along.
            tokio::spawn(async move { sent(&deliver(&driver, ID, handler).await) })
        };
        assert_eq!(within(delivery).await.unwrap(), STORE_UNAVAILABLE, "{step:?}");

        // Dropped, it blocks nobody any more.
        drop(release);
        assert_eq!(within(driver.drain(secs(30))).await, Ok(()));
        assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), DUPLICATE, "{step:?}");
        assert_eq!(effects.ids(), [ID]);
    }
}
