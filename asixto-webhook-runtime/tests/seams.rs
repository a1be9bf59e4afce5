//! Secrets and stores that hang, fail or panic: an answer comes in time, and no handler runs on their word.
#![cfg(test)]

mod common;

use std::{
    future::{pending, ready},
    sync::atomic::{AtomicBool, Ordering},
};

use asixto_webhook_runtime::{
    Driver,
    core::{Clock, Outcome, SecretSet, Timer, Unavailable, UnixTime, lookup},
};
use common::{
    DUPLICATE, Effects, ID, IN_FLIGHT, NOW, PROCESSED, STORE_UNAVAILABLE, builder, deliver, headers, known, millis,
    over, secs, sent,
    store::{Fault, Scripted, Step},
    within,
};
use testkit::Log;
use tokio::time::{Instant, sleep};

type Found = Result<Option<SecretSet>, Unavailable>;

const NO_SECRET: (Outcome, u16, Option<u16>) = (Outcome::NoSecret, 503, None);
/// What a delivery gets that a panic of a clock has ended.
const INTERRUPTED: (Outcome, u16, Option<u16>) = (Outcome::HandlerFailed, 500, None);

// A source that hangs is one that is down, after 2 s: 503, and the sender comes back.
#[tokio::test(start_paused = true)]
async fn secrets_that_do_not_come() {
    let (store, effects, start) = (Scripted::new(), Effects::default(), Instant::now());
    let hanging = lookup(|_| pending::<Found>());
    let driver = Driver::new(&builder().secrets(hanging).dedup(store.clone()).build().unwrap());
    let reply = within(deliver(&driver, ID, effects.handler())).await;
    assert_eq!((sent(&reply), start.elapsed()), (NO_SECRET, secs(2)));
    assert_eq!(headers(&reply.answer), [("retry-after", "5".to_owned())]);

    let failing = lookup(|_| ready(Found::Err(Unavailable::new("the vault is sealed"))));
    let driver = Driver::new(&builder().secrets(failing).dedup(store.clone()).build().unwrap());
    let reply = within(deliver(&driver, ID, effects.handler())).await;
    assert_eq!((sent(&reply), start.elapsed()), (NO_SECRET, secs(2)));
    assert_eq!((effects.count(), store.steps()), (0, vec![]));

    let slow = lookup(|_| async {
        sleep(millis(1_999)).await;
        Found::Ok(Some(known()))
    });
    let driver = Driver::new(&builder().secrets(slow).dedup(store).build().unwrap());
    assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), PROCESSED);
}

// E7: a store that hangs is one that is down, after 2 s: 503, never "duplicate", never a run without it.
#[tokio::test(start_paused = true)]
async fn a_claim_that_is_not_answered() {
    for (fault, time) in [(Fault::Hangs, 2_000), (Fault::Fails, 0), (Fault::Full, 0), (Fault::Takes(secs(3)), 2_000)] {
        let (store, effects, start) = (Scripted::new().then(Step::Claim, [fault]), Effects::default(), Instant::now());
        let driver = over(&store);
        let reply = within(deliver(&driver, ID, effects.handler())).await;
        assert_eq!((sent(&reply), start.elapsed()), (STORE_UNAVAILABLE, millis(time)), "{fault:?}");
        assert_eq!(headers(&reply.answer), [("retry-after", "5".to_owned())]);
        assert_eq!((effects.count(), store.steps()), (0, vec![Step::Claim]));
        assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), PROCESSED);
    }
}

// Timeouts of one's own.
#[tokio::test(start_paused = true)]
async fn other_budgets() {
    let hanging = lookup(|_| pending::<Found>());
    let receiver = builder().dedup(Scripted::new()).secrets(hanging).secrets_timeout(millis(500)).build().unwrap();
    let start = Instant::now();
    assert_eq!(sent(&within(deliver(&Driver::new(&receiver), ID, |_| ready(200))).await), NO_SECRET);
    assert_eq!(start.elapsed(), millis(500));

    let store = Scripted::new().always(Step::Claim, Fault::Hangs);
    let receiver = builder().dedup(store).store_timeout(millis(700)).build().unwrap();
    let start = Instant::now();
    assert_eq!(sent(&within(deliver(&Driver::new(&receiver), ID, |_| ready(200))).await), STORE_UNAVAILABLE);
    assert_eq!(start.elapsed(), millis(700));
}

// A store that panics brings down neither the sender nor the next delivery, and nothing hangs.
#[tokio::test(start_paused = true)]
async fn a_store_that_panics() {
    for fault in [Fault::Panics, Fault::PanicsLater] {
        let (store, effects, log) = (Scripted::new().then(Step::Claim, [fault]), Effects::default(), Log::start());
        let driver = over(&store);
        assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), STORE_UNAVAILABLE);
        assert_eq!((effects.count(), log.delivery().field("event_id")), (0, Some(ID)));
        assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), PROCESSED);

        // E7: the handler's answer goes out all the same, and the commit is tried again.
        let (store, effects) = (Scripted::new().then(Step::Commit, [fault]), Effects::default());
        let driver = over(&store);
        assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), PROCESSED);
        driver.drain(secs(10)).await.unwrap();
        assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), DUPLICATE);
        assert_eq!(effects.count(), 1);

        // A release is tried once more.
        let (store, effects) = (Scripted::new().then(Step::Release, [fault]), Effects::default());
        let driver = over(&store);
        let _ = within(deliver(&driver, ID, |_| ready(500))).await;
        driver.drain(secs(10)).await.unwrap();
        assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), PROCESSED);

        // A claim that is not released ends with its lease.
        let (store, effects) = (Scripted::new().then(Step::Release, [fault, fault]), Effects::default());
        let driver = over(&store);
        let start = Instant::now();
        let reply = within(deliver(&driver, ID, |_| ready(500))).await;
        assert_eq!(sent(&reply), (Outcome::HandlerFailed, 500, Some(500)));
        assert!(start.elapsed() < secs(2));
        assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), IN_FLIGHT);
        sleep(common::LEASE).await;
        assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), PROCESSED);
    }
}

/// A clock that panics the first time that it is read.
#[derive(Debug, Default)]
struct Broken(AtomicBool);

impl Clock for Broken {
    fn now(&self) -> UnixTime {
        assert!(self.0.swap(true, Ordering::SeqCst), "the clock panics, as this test wants it to");
        UnixTime::from_secs(NOW)
    }
}

// The same for secrets; a clock is nothing that is known to fail, and what is left of the delivery is its answer.
#[tokio::test(start_paused = true)]
async fn secrets_and_clocks_that_panic() {
    let asked = AtomicBool::new(false);
    let source = lookup(move |_| {
        assert!(asked.swap(true, Ordering::SeqCst), "the source panics, as this test wants it to");
        ready(Found::Ok(Some(known())))
    });
    for (receiver, expected) in
        [(builder().secrets(source), NO_SECRET), (builder().clock(Broken::default()), INTERRUPTED)]
    {
        let (store, effects) = (Scripted::new(), Effects::default());
        let driver = Driver::new(&receiver.dedup(store.clone()).build().unwrap());
        assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), expected);
        assert_eq!((effects.count(), store.steps()), (0, vec![]));
        assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), PROCESSED);
        assert_eq!(driver.drain(secs(0)).await, Ok(()));
    }
}

// The timer that all of this is measured by.
#[tokio::test(start_paused = true)]
async fn the_timer() {
    let start = Instant::now();
    within(asixto_webhook_runtime::TokioTimer::default().sleep(millis(1_500))).await;
    assert_eq!(start.elapsed(), millis(1_500));
}
