//! A commit that the store does not take: the sender has its 2xx, and the commit is tried again.
#![cfg(test)]

mod common;

use asixto_webhook_runtime::Driver;
use common::{
    DUPLICATE, Effects, ID, IN_FLIGHT, PROCESSED, SLOW, builder, deliver, millis, over, secs, sent,
    store::{Fault, Scripted, Step},
    within, within_of,
};
use testkit::Log;
use tokio::time::{Instant, sleep};

// E7: refused at first: 2xx at once, and then again after a wait that doubles, up to a third of the lease.
#[tokio::test(start_paused = true)]
async fn a_commit_that_fails() {
    for failures in [1, 2, 9] {
        let store = Scripted::new().then(Step::Commit, vec![Fault::Fails; failures]);
        let (driver, effects, start) = (over(&store), Effects::default(), Instant::now());
        assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), PROCESSED);
        assert_eq!(start.elapsed(), secs(0));

        store.until(Step::Commit, failures + 1).await;
        let times = [0, 100, 300, 700, 1_500, 3_100, 6_300, 12_700, 22_700, 32_700];
        assert_eq!(store.times(Step::Commit), times[..=failures]);
        assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), DUPLICATE);

        // Taken, it is not asked again; nor is anything else, as long as it was.
        sleep(secs(3_600)).await;
        assert_eq!(store.times(Step::Commit).len(), failures + 1);
        assert_eq!((store.times(Step::Extend).len(), store.times(Step::Release).len()), (0, 0));
        assert_eq!(effects.ids(), [ID]);
    }
}

// E7: a store that hangs is one that is down: 2xx after its 2 s, and each further try has as long.
#[tokio::test(start_paused = true)]
async fn a_commit_that_hangs() {
    let store = Scripted::new().then(Step::Commit, vec![Fault::Hangs; 3]);
    let (driver, effects, start) = (over(&store), Effects::default(), Instant::now());
    assert_eq!(sent(&within(deliver(&driver, ID, effects.after(secs(1)))).await), PROCESSED);
    assert_eq!(start.elapsed(), secs(3));
    store.until(Step::Commit, 4).await;
    assert_eq!(store.times(Step::Commit), [1_000, 3_100, 5_300, 7_700]);
    assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), DUPLICATE);
    assert_eq!(effects.ids(), [ID]);
}

// E7: taken after all, though late, a commit is one.
#[tokio::test(start_paused = true)]
async fn a_commit_that_takes_its_time() {
    let store = Scripted::new().then(Step::Commit, [Fault::Takes(millis(1_900))]);
    let (driver, start) = (over(&store), Instant::now());
    assert_eq!(sent(&within(deliver(&driver, ID, Effects::default().handler())).await), PROCESSED);
    assert_eq!(start.elapsed(), millis(1_900));
    assert_eq!(within(driver.drain(secs(0))).await, Ok(()));
    assert_eq!(store.steps(), [Step::Claim, Step::Commit]);
}

// E7: that a store panics while the sender has its answer already is one more failure.
#[tokio::test(start_paused = true)]
async fn a_later_commit_that_panics() {
    let store = Scripted::new().then(Step::Commit, [Fault::Fails, Fault::Panics, Fault::PanicsLater]);
    let (driver, effects) = (over(&store), Effects::default());
    assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), PROCESSED);
    store.until(Step::Commit, 4).await;
    assert_eq!(store.times(Step::Commit), [0, 100, 300, 701]);
    assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), DUPLICATE);
}

// E7, H8: whoever was answered for as slow is committed with the same patience.
#[tokio::test(start_paused = true)]
async fn a_slow_handler_whose_commit_fails() {
    let store = Scripted::new().then(Step::Commit, [Fault::Hangs, Fault::Fails]);
    let (driver, effects) = (over(&store), Effects::default());
    assert_eq!(sent(&within(deliver(&driver, ID, effects.after(secs(12)))).await), SLOW);
    store.until(Step::Commit, 3).await;
    assert_eq!(store.times(Step::Commit), [12_000, 14_100, 14_300]);
    assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), DUPLICATE);
    assert_eq!(effects.ids(), [ID]);
}

// E7: tried for an hour, each time a third of the lease after the last; then one repeat is all that is at stake.
#[tokio::test(start_paused = true)]
async fn a_commit_that_never_succeeds() {
    for lease in [1, 30, 90] {
        let (store, log) = (Scripted::new().always(Step::Commit, Fault::Fails), Log::start());
        let driver =
            Driver::new(&builder().dedup(store.clone()).lease(secs(lease)).store_timeout(millis(300)).build().unwrap());
        let start = Instant::now();
        assert_eq!(sent(&within(deliver(&driver, ID, Effects::default().handler())).await), PROCESSED);
        assert_eq!(within_of(secs(2 * 3_600), driver.drain(secs(2 * 3_600))).await, Ok(()));
        let (times, most) = (store.times(Step::Commit), u128::from(lease) * 1_000 / 3);
        let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        assert!((most..=most + 2).contains(&longest), "{longest}");
        assert!(start.elapsed() >= secs(3_600), "{:?}", start.elapsed());
        assert!(start.elapsed() <= secs(3_600 + lease), "{:?}", start.elapsed());
        sleep(secs(3_600)).await;
        assert_eq!(store.times(Step::Commit).len(), times.len());
        assert_eq!(log.count("it is not tried again"), 1);
    }
}

// E5: as long as a commit is owed, a copy of the event is in flight, be its lease over; the commit is then the copy's.
#[tokio::test(start_paused = true)]
async fn a_copy_while_a_commit_is_owed() {
    let store = Scripted::new().then(Step::Commit, vec![Fault::Fails; 10]);
    let (driver, effects) = (over(&store), Effects::default());
    assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), PROCESSED);
    for _ in 0..2 {
        sleep(secs(20)).await;
        assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), IN_FLIGHT);
    }
    assert_eq!(within(driver.drain(secs(30))).await, Ok(()));
    assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), DUPLICATE);
    assert_eq!(effects.ids(), [ID]);
}

// E8: a commit that is refused because another process owns the event by now changes nothing, and is tried again: the
// other may fail. Once it is done, so is this.
#[tokio::test(start_paused = true)]
async fn a_commit_that_comes_too_late() {
    let store = Scripted::new().then(Step::Commit, vec![Fault::Fails; 10]);
    let (driver, effects, log) = (over(&store), Effects::default(), Log::start());
    assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), PROCESSED);
    // The lease is over at 30 s, the tenth try was at 32.7 s, and the next one comes at 42.7 s.
    sleep(secs(31)).await;
    assert_eq!(sent(&within(deliver(&over(&store), ID, effects.after(secs(20)))).await), SLOW);
    sleep(secs(5)).await;
    assert_eq!((store.times(Step::Commit).last(), log.count("the claim is lost")), (Some(&42_700), 1));
    assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), IN_FLIGHT);

    sleep(secs(3_600)).await;
    assert_eq!((store.times(Step::Commit).last(), log.count("the claim is lost")), (Some(&52_700), 1));
    assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), DUPLICATE);
}
