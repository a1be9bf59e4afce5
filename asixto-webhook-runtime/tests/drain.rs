//! A shutdown: waits for what was admitted, whoever still waits for it, and says what it did not wait for.
#![cfg(test)]

mod common;

use std::time::Duration;

use asixto_webhook_runtime::{Driver, Undrained};
use common::{
    Effects, ID, PANICKED, PROCESSED, SLOW, STORE_UNAVAILABLE, builder, deliver, over, secs, sent,
    store::{Fault, Scripted, Step},
    within, within_of,
};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

/// A delivery whose sender waits, in a task of its own.
fn begin(driver: &Driver, id: &'static str, effects: &Effects, time: Duration) -> JoinHandle<u16> {
    let (driver, handler) = (driver.clone(), effects.after(time));
    tokio::spawn(async move { deliver(&driver, id, handler).await.answer.status() })
}

// With nothing to wait for it waits for nothing, however often.
#[tokio::test(start_paused = true)]
async fn when_idle() {
    let (store, start) = (Scripted::new(), Instant::now());
    let driver = over(&store);
    assert_eq!(driver.drain(secs(30)).await, Ok(()));
    assert_eq!(driver.drain(secs(0)).await, Ok(()));

    let driver = over(&store);
    assert_eq!(sent(&deliver(&driver, ID, Effects::default().handler()).await), PROCESSED);
    assert_eq!(driver.drain(secs(0)).await, Ok(()));
    assert_eq!(start.elapsed(), secs(0));
}

// A handler whose sender waits, one whose sender has hung up, and one whose sender was told that it is slow.
#[tokio::test(start_paused = true)]
async fn while_handlers_run() {
    let (store, effects, start) = (Scripted::new(), Effects::default(), Instant::now());
    let driver = over(&store);
    let waiting = begin(&driver, "waiting", &effects, secs(2));
    let hung_up = begin(&driver, "hung-up", &effects, secs(5));
    let slow = begin(&driver, "slow", &effects, secs(40));
    store.until(Step::Claim, 3).await;
    hung_up.abort();

    // Any clone will do.
    assert_eq!(within_of(secs(60), driver.clone().drain(secs(60))).await, Ok(()));
    assert_eq!(start.elapsed(), secs(40));
    assert_eq!(effects.ids(), ["waiting", "hung-up", "slow"]);
    assert_eq!(store.times(Step::Commit), [2_000, 5_000, 40_000]);
    assert_eq!((waiting.await.unwrap(), slow.await.unwrap()), (200, 503));
}

// Several routes of one receiver: the drain of any of them misses nothing.
#[tokio::test(start_paused = true)]
async fn of_another_driver_of_the_receiver() {
    let (store, effects) = (Scripted::new(), Effects::default());
    let receiver = builder().dedup(store.clone()).build().unwrap();
    let (one, other) = (Driver::new(&receiver), Driver::new(&receiver));
    begin(&other, ID, &effects, secs(5)).abort();
    begin(&other, "another", &effects, secs(3));
    store.until(Step::Claim, 1).await;
    assert_eq!(within_of(secs(60), one.drain(secs(60))).await, Ok(()));
    assert_eq!(effects.ids().len(), store.times(Step::Commit).len());
    assert!(effects.ids().contains(&"another".to_owned()));
}

// E7: a commit that is yet to be taken.
#[tokio::test(start_paused = true)]
async fn while_a_commit_is_tried_again() {
    let store = Scripted::new().then(Step::Commit, [Fault::Hangs, Fault::Fails, Fault::Fails]);
    let (driver, start) = (over(&store), Instant::now());
    assert_eq!(sent(&within(deliver(&driver, ID, Effects::default().handler())).await), PROCESSED);
    assert_eq!(start.elapsed(), secs(2));
    assert_eq!(within(driver.drain(secs(30))).await, Ok(()));
    assert_eq!(store.times(Step::Commit), [0, 2_100, 2_300, 2_700]);
    assert_eq!(start.elapsed().as_millis(), 2_700);
}

// A release, and a claim for a sender who has hung up.
#[tokio::test(start_paused = true)]
async fn while_a_store_takes_its_time() {
    for step in [Step::Claim, Step::Release] {
        let store = Scripted::new().then(step, [Fault::Takes(secs(1))]);
        let (driver, start) = (over(&store), Instant::now());
        let delivering = {
            let driver = driver.clone();
            tokio::spawn(async move { deliver(&driver, ID, |_| std::future::ready(500)).await })
        };
        store.until(step, 1).await;
        delivering.abort();
        assert_eq!(within(driver.drain(secs(30))).await, Ok(()));
        assert_eq!((start.elapsed(), store.steps()), (secs(1), vec![Step::Claim, Step::Release]));
    }
}

// What is still running at the end of the limit is counted, and goes on.
#[tokio::test(start_paused = true)]
async fn beyond_the_limit() {
    // Refused up to 3.1 s, and taken at 6.3 s.
    let store = Scripted::new().then(Step::Commit, vec![Fault::Fails; 6]);
    let (driver, effects, start) = (over(&store), Effects::default(), Instant::now());
    assert_eq!(sent(&deliver(&driver, "uncommitted", effects.handler()).await), PROCESSED);
    for (id, seconds) in [("a", 5), ("b", 5), ("c", 8)] {
        begin(&driver, id, &effects, secs(seconds));
    }
    store.until(Step::Claim, 4).await;
    assert!(format!("{driver:?}").ends_with("running: 4 }"), "{driver:?}");

    let undrained = within(driver.drain(secs(4))).await.unwrap_err();
    assert_eq!((undrained.remaining, undrained.limit, start.elapsed()), (4, secs(4), secs(4)));
    assert_eq!(undrained.to_string(), "expected every delivery to end within 4s, found 4 still running");
    let _: &(dyn std::error::Error + Send + Sync) = &undrained;

    let remaining = |drained: Result<(), Undrained>| drained.map_err(|undrained| undrained.remaining);
    assert_eq!(remaining(within(driver.drain(secs(0))).await), Err(4));
    assert_eq!(remaining(within(driver.drain(secs(3))).await), Err(1));
    assert_eq!(remaining(within(driver.drain(secs(30))).await), Ok(()));
    assert_eq!((effects.count(), start.elapsed()), (4, secs(8)));
    assert!(format!("{driver:?}").ends_with("running: 0 }"), "{driver:?}");
}

// A delivery that comes while the shutdown is under way is served, and waited for.
#[tokio::test(start_paused = true)]
async fn with_a_latecomer() {
    let (store, effects, start) = (Scripted::new(), Effects::default(), Instant::now());
    let driver = over(&store);
    begin(&driver, "early", &effects, secs(3));
    store.until(Step::Claim, 1).await;
    let draining = {
        let driver = driver.clone();
        tokio::spawn(async move { driver.drain(secs(60)).await })
    };
    sleep(secs(2)).await;
    assert_eq!(sent(&deliver(&driver, "late", effects.after(secs(5))).await), PROCESSED);
    assert_eq!((within(draining).await.unwrap(), start.elapsed()), (Ok(()), secs(7)));
    assert_eq!(effects.ids(), ["early", "late"]);

    // And after it, too: a driver is not closed for ever.
    assert_eq!(sent(&deliver(&driver, "later", effects.after(secs(12))).await), SLOW);
    assert_eq!((within(driver.drain(secs(60))).await, start.elapsed()), (Ok(()), secs(19)));
}

// What has panicked is over.
#[tokio::test(start_paused = true)]
async fn after_panics() {
    for fault in [Fault::None, Fault::Panics, Fault::PanicsLater] {
        for step in [Step::Claim, Step::Release] {
            let driver = over(&Scripted::new().then(step, [fault]));
            let reply = within(deliver(&driver, ID, |_| async { panic!("the handler panics") })).await;
            let claimed = step == Step::Release || matches!(fault, Fault::None);
            assert_eq!(sent(&reply), if claimed { PANICKED } else { STORE_UNAVAILABLE });
            assert_eq!(within(driver.drain(secs(0))).await, Ok(()), "{step:?} {fault:?}");
        }
    }
}
