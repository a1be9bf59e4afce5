//! A sender that hangs up: what has begun goes on to its end, once.
#![cfg(test)]

mod common;

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
    time::Duration,
};

use common::{
    DUPLICATE, Effects, ID, IN_FLIGHT, PROCESSED, deliver, millis, over, secs, sent,
    store::{Fault, Scripted, Step},
    within,
};
use testkit::Log;
use tokio::time::sleep;

/// Polls `work` for `time`, and drops it.
async fn abandoned(time: Duration, work: impl Future) {
    let mut work = pin!(work);
    let mut time = pin!(sleep(time));
    poll_fn(|cx| {
        assert!(work.as_mut().poll(cx).is_pending(), "ended before the sender hung up");
        time.as_mut().poll(cx)
    })
    .await;
}

/// Polls `work` once, and drops it.
async fn begun(work: impl Future) {
    let mut work = pin!(work);
    poll_fn(|cx| {
        assert!(work.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
}

// E5: in the middle of the handler: it ends, it is committed, and the retry finds it done.
#[tokio::test(start_paused = true)]
async fn while_the_handler_runs() {
    let (store, effects) = (Scripted::new(), Effects::default());
    let driver = over(&store);
    abandoned(secs(1), deliver(&driver, ID, effects.after(secs(3)))).await;
    assert_eq!((effects.count(), store.steps()), (0, vec![Step::Claim]));

    assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), IN_FLIGHT);
    store.until(Step::Commit, 1).await;
    assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), DUPLICATE);
    assert_eq!(effects.ids(), [ID]);
}

// E5: a handler that outlives the patience of a sender which is gone, too.
#[tokio::test(start_paused = true)]
async fn while_a_slow_handler_runs() {
    let (store, effects, log) = (Scripted::new(), Effects::default(), Log::start());
    let driver = over(&store);
    abandoned(secs(1), deliver(&driver, ID, effects.after(secs(35)))).await;
    store.until(Step::Commit, 1).await;
    assert_eq!(store.times(Step::Commit), [35_000]);
    assert_eq!(store.times(Step::Extend), [10_000, 20_000, 30_000]);
    assert_eq!(effects.ids(), [ID]);
    assert_eq!(log.lines().last().unwrap().field("handler_outcome"), Some("processed"));
}

// E5: before the claim was answered: either way the event is neither lost nor done twice.
#[tokio::test(start_paused = true)]
async fn before_the_claim_is_made() {
    let (store, effects) = (Scripted::new().then(Step::Claim, [Fault::Takes(secs(1))]), Effects::default());
    let driver = over(&store);
    begun(deliver(&driver, ID, effects.after(secs(1)))).await;
    assert_eq!(store.steps(), []);
    store.until(Step::Commit, 1).await;
    assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), DUPLICATE);
    assert_eq!(effects.ids(), [ID]);
}

// E5: a delivery that was never begun claims nothing.
#[tokio::test(start_paused = true)]
async fn before_anything_has_begun() {
    let (store, effects) = (Scripted::new(), Effects::default());
    let driver = over(&store);
    drop(deliver(&driver, ID, effects.handler()));
    sleep(secs(60)).await;
    assert_eq!((effects.count(), store.steps()), (0, vec![]));
    assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), PROCESSED);
}

// E7: while the commit hangs: it is tried again all the same.
#[tokio::test(start_paused = true)]
async fn while_the_commit_hangs() {
    let (store, effects) = (Scripted::new().then(Step::Commit, [Fault::Hangs]), Effects::default());
    let driver = over(&store);
    abandoned(secs(1), deliver(&driver, ID, effects.after(millis(500)))).await;
    store.until(Step::Commit, 2).await;
    assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), DUPLICATE);
    assert_eq!(effects.ids(), [ID]);
}

// E5: a handler that fails with nobody there to hear of it is released.
#[tokio::test(start_paused = true)]
async fn from_a_handler_that_fails() {
    let (store, effects) = (Scripted::new(), Effects::default());
    let driver = over(&store);
    let failing = deliver(&driver, ID, |_| async {
        sleep(secs(2)).await;
        500
    });
    abandoned(secs(1), failing).await;
    store.until(Step::Release, 1).await;
    assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), PROCESSED);
    assert_eq!(effects.ids(), [ID]);
}

// E5: the task that served the sender is aborted, as servers do, and every handle to the driver is gone.
#[tokio::test(start_paused = true)]
async fn with_everything_that_began_it() {
    let (store, effects) = (Scripted::new(), Effects::default());
    let (driver, handler) = (over(&store), effects.after(secs(100)));
    let serving = tokio::spawn(async move { deliver(&driver, ID, handler).await });
    store.until(Step::Claim, 1).await;
    serving.abort();
    assert!(serving.await.unwrap_err().is_cancelled());
    store.until(Step::Extend, 9).await;
    within(store.until(Step::Commit, 1)).await;
    assert_eq!(effects.ids(), [ID]);
    assert_eq!(sent(&within(deliver(&over(&store), ID, effects.handler())).await), DUPLICATE);
}
