//! How long a claim is held for a handler: renewed while it runs, up to its budget, and never against a new owner.
#![cfg(test)]

mod common;

use std::{collections::BTreeSet, time::Duration};

use asixto_webhook_runtime::{
    Driver,
    core::{Event, Outcome},
};
use common::{
    DUPLICATE, Effects, ID, IN_FLIGHT, PROCESSED, SLOW, builder, deliver, headers, millis, over, secs, sent,
    store::{Fault, Scripted, Step},
    within, within_of,
};
use testkit::Log;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep_until},
};

const OVERDUE: &str = "at the end of its budget";
const LOST: &str = "the claim is lost";

/// A delivery whose handler needs `time`, of which nothing but its end is waited for.
fn begin(driver: &Driver, effects: &Effects, time: Duration) -> JoinHandle<(Outcome, u16, Option<u16>)> {
    let (driver, handler) = (driver.clone(), effects.after(time));
    tokio::spawn(async move { sent(&deliver(&driver, ID, handler).await) })
}

fn fences(store: &Scripted, step: Step) -> Vec<u64> {
    store.asked().iter().filter(|asked| asked.step == step).map(|asked| asked.fence).collect()
}

// E5: a handler of 95 s, with a lease of 30 s: one run, renewed three times a lease, and in flight to everybody else.
#[tokio::test(start_paused = true)]
async fn a_handler_longer_than_the_lease() {
    let (store, effects, start) = (Scripted::new(), Effects::default(), Instant::now());
    let driver = over(&store);
    let first = begin(&driver, &effects, secs(95));
    for at in [5, 15, 29, 31, 45, 60, 61, 90, 94] {
        sleep_until(start + secs(at)).await;
        let retry = deliver(&driver, ID, effects.handler()).await;
        assert_eq!(sent(&retry), IN_FLIGHT, "{at}");
        // What is left of a lease that was renewed at the last full ten seconds.
        assert_eq!(headers(&retry.answer), [("retry-after", (30 - at % 10).to_string())], "{at}");
        assert_eq!(effects.count(), 0);
    }
    store.until(Step::Commit, 1).await;
    assert_eq!(store.times(Step::Commit), [95_000]);
    let renewals: Vec<_> = (1..=9).map(|renewal| renewal * 10_000).collect();
    assert_eq!(store.times(Step::Extend), renewals);
    assert_eq!(sent(&deliver(&driver, ID, effects.handler()).await), DUPLICATE);
    assert_eq!((first.await.unwrap(), effects.ids()), (SLOW, vec![ID.to_owned()]));
}

// E5: renewals follow the lease, and a short handler has none.
#[tokio::test(start_paused = true)]
async fn renewals_follow_the_lease() {
    for (lease, time, expected) in [
        (secs(30), millis(9_999), vec![]),
        (secs(3), millis(4_500), vec![1_000, 2_000, 3_000, 4_000]),
        (secs(1), millis(700), vec![333, 666]),
        (secs(600), secs(250), vec![200_000]),
    ] {
        let (store, effects) = (Scripted::new(), Effects::default());
        let driver =
            Driver::new(&builder().dedup(store.clone()).lease(lease).store_timeout(millis(200)).build().unwrap());
        begin(&driver, &effects, time);
        store.until(Step::Commit, 1).await;
        // A timer is as fine as a millisecond, rounded up.
        let found: Vec<_> = store.times(Step::Extend);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        assert!(
            found.iter().zip(&expected).all(|(found, expected)| (*expected..=expected + 2).contains(found)),
            "{found:?}"
        );
    }
}

// E5: renewals end with the handler, committed or not.
#[tokio::test(start_paused = true)]
async fn no_renewal_after_the_end() {
    for status in [200, 500] {
        let store = Scripted::new();
        let handler = move |_: Event| async move {
            tokio::time::sleep(secs(25)).await;
            status
        };
        assert_eq!(sent(&deliver(&over(&store), ID, handler).await), SLOW);
        tokio::time::sleep(secs(3_600)).await;
        assert_eq!(store.times(Step::Extend), [10_000, 20_000]);
        assert_eq!(store.asked().len(), 4, "{:?}", store.asked());
    }
}

// E5: a renewal that fails, or is slow, or panics, is no loss: the next one comes before the lease is over.
#[tokio::test(start_paused = true)]
async fn one_failed_renewal_is_no_loss() {
    for (fault, next) in [
        (Fault::Fails, 20_000),
        (Fault::Full, 20_000),
        (Fault::Takes(secs(1)), 21_000),
        // H8: 2 s for a store.
        (Fault::Hangs, 22_000),
        (Fault::Panics, 20_000),
        (Fault::PanicsLater, 20_001),
    ] {
        let (store, effects, start) = (Scripted::new().then(Step::Extend, [fault]), Effects::default(), Instant::now());
        let driver = over(&store);
        let first = begin(&driver, &effects, secs(49));
        for at in [29, 31, 45] {
            sleep_until(start + secs(at)).await;
            assert_eq!(sent(&deliver(&driver, ID, effects.handler()).await), IN_FLIGHT, "{fault:?} {at}");
        }
        assert_eq!(first.await.unwrap(), SLOW, "{fault:?}");
        assert_eq!(within(driver.drain(secs(30))).await, Ok(()), "{fault:?}");
        assert_eq!(start.elapsed(), secs(49), "{fault:?}");
        assert_eq!(store.times(Step::Extend), [10_000, next, next + 10_000, next + 20_000], "{fault:?}");
        assert_eq!(sent(&deliver(&driver, ID, effects.handler()).await), DUPLICATE);
        assert_eq!(effects.ids(), [ID]);
    }
}

// E5: a lease that has ended, with nobody there to take the event, is taken up again by the renewal after that.
#[tokio::test(start_paused = true)]
async fn a_lease_that_has_ended() {
    let (store, effects, log) =
        (Scripted::new().then(Step::Extend, [Fault::Fails; 3]), Effects::default(), Log::start());
    let (driver, start) = (over(&store), Instant::now());
    begin(&driver, &effects, secs(75));
    for at in [41, 69, 74] {
        sleep_until(start + secs(at)).await;
        assert_eq!(sent(&deliver(&driver, ID, effects.handler()).await), IN_FLIGHT, "{at}");
    }
    assert_eq!(within_of(secs(60), driver.drain(secs(60))).await, Ok(()));
    assert_eq!((effects.ids(), log.count(LOST)), (vec![ID.to_owned()], 0));
    assert_eq!(sent(&deliver(&driver, ID, effects.handler()).await), DUPLICATE);
}

// E5: nor is a lease that has ended given to a copy, while the handler runs here: the copy's claim becomes the run's.
#[tokio::test(start_paused = true)]
async fn a_lease_that_has_ended_under_a_handler() {
    let away = [Fault::Fails, Fault::Hangs, Fault::Panics, Fault::Full];
    let (store, effects, start) = (Scripted::new().then(Step::Extend, away), Effects::default(), Instant::now());
    let driver = over(&store);
    let first = begin(&driver, &effects, secs(75));
    // Over since 30 s; claimed anew at 31 s for the run, and renewed for it from then on.
    for at in [31, 41, 60, 74] {
        sleep_until(start + secs(at)).await;
        let copies = (0..10).map(|_| begin(&driver, &effects, secs(0)));
        for copy in copies.collect::<Vec<_>>() {
            assert_eq!(copy.await.unwrap(), IN_FLIGHT, "{at}");
        }
        assert_eq!(effects.count(), 0);
    }
    assert_eq!((first.await.unwrap(), within(driver.drain(secs(30))).await), (SLOW, Ok(())));
    assert_eq!((effects.ids(), fences(&store, Step::Commit)), (vec![ID.to_owned()], vec![2]));
    assert_eq!(sent(&deliver(&driver, ID, effects.handler()).await), DUPLICATE);
}

// E5: nor does a claim that was lost leave its event stuck behind a handler that never ends: after its budget, and a
// lease, another attempt runs, here or elsewhere.
#[tokio::test(start_paused = true)]
async fn a_lost_claim_under_a_handler_that_never_ends() {
    let (store, effects, start) = (Scripted::new(), Effects::default(), Instant::now());
    let driver = Driver::new(&builder().dedup(store.clone()).handler_limit(secs(100)).build().unwrap());
    let handler = |_: Event| std::future::pending::<u16>();
    assert_eq!(sent(&deliver(&driver, ID, handler).await), SLOW);
    // As a store that has lost what it knew.
    store.forget();
    for at in [31, 60, 99] {
        sleep_until(start + secs(at)).await;
        assert_eq!(sent(&deliver(&driver, ID, effects.handler()).await), IN_FLIGHT, "{at}");
        assert_eq!(sent(&deliver(&over(&store), ID, effects.handler()).await), IN_FLIGHT, "{at}");
    }
    sleep_until(start + secs(131)).await;
    assert_eq!(sent(&deliver(&driver, ID, effects.handler()).await), PROCESSED);
    assert_eq!(effects.ids(), [ID]);
}

// E5: after five minutes a handler is not stopped, but its claim is not renewed any more, and that is logged once.
#[tokio::test(start_paused = true)]
async fn the_handler_budget() {
    let (store, effects, log, start) = (Scripted::new(), Effects::default(), Log::start(), Instant::now());
    let driver = over(&store);
    begin(&driver, &effects, secs(1_000));

    sleep_until(start + millis(299_999)).await;
    assert_eq!(log.count(OVERDUE), 0);
    sleep_until(start + secs(319)).await;
    assert_eq!(log.count(OVERDUE), 1);
    let line = log.lines().into_iter().find(|line| line.message().contains(OVERDUE)).unwrap();
    assert_eq!((line.level, line.field("event_id")), (tracing::Level::ERROR, Some(ID)));
    let renewals: Vec<_> = (1..=29).map(|renewal| renewal * 10_000).collect();
    assert_eq!(store.times(Step::Extend), renewals);
    assert_eq!(sent(&deliver(&driver, ID, effects.handler()).await), IN_FLIGHT);

    // The last renewal was at 290 s: until then and for a lease it was nobody else's.
    sleep_until(start + secs(321)).await;
    assert_eq!(sent(&deliver(&driver, ID, effects.handler()).await), PROCESSED);

    sleep_until(start + secs(1_001)).await;
    assert_eq!((effects.count(), store.times(Step::Extend)), (2, renewals));
    assert_eq!((log.count(OVERDUE), log.count(LOST)), (1, 1));
    assert_eq!(fences(&store, Step::Commit), [2, 1]);
    assert_eq!(sent(&deliver(&driver, ID, effects.handler()).await), DUPLICATE);
}

// E5: a budget of one's own, that is no multiple of a third of the lease.
#[tokio::test(start_paused = true)]
async fn another_handler_budget() {
    let (store, effects, log) = (Scripted::new(), Effects::default(), Log::start());
    let driver = Driver::new(&builder().dedup(store.clone()).handler_limit(secs(25)).build().unwrap());
    begin(&driver, &effects, secs(200));
    store.until(Step::Commit, 1).await;
    assert_eq!((store.times(Step::Extend), log.count(OVERDUE)), (vec![10_000, 20_000], 1));
    // Nobody has taken the claim over, so that the work that was done counts.
    assert_eq!(sent(&deliver(&driver, ID, effects.handler()).await), DUPLICATE);
    assert_eq!(effects.ids(), [ID]);
}

// E8: a claim that was lost to another process, because the store was away for a whole lease: the first handler is not
// stopped, and neither commits nor releases what is now the second one's.
#[tokio::test(start_paused = true)]
async fn a_claim_that_is_taken_over() {
    for second_ends in [200, 500] {
        let away = [Fault::Fails, Fault::Hangs, Fault::Panics];
        let (store, effects, log, start) =
            (Scripted::new().then(Step::Extend, away), Effects::default(), Log::start(), Instant::now());
        let driver = over(&store);
        let first = begin(&driver, &effects, secs(60));
        sleep_until(start + secs(31)).await;
        let (driver_of_second, done) = (over(&store), effects.clone());
        let second = tokio::spawn(async move {
            let handler = move |event: Event| async move {
                sleep_until(start + secs(80)).await;
                done.of(&event);
                second_ends
            };
            sent(&deliver(&driver_of_second, ID, handler).await)
        });

        // The first one goes on asking, since the other may fail.
        sleep_until(start + secs(59)).await;
        let renewals = |fence| {
            let asked = store.asked();
            let mine = asked.iter().filter(|asked| asked.step == Step::Extend && asked.fence == fence);
            mine.map(|asked| asked.at.as_secs()).collect::<Vec<_>>()
        };
        assert_eq!(renewals(1), [10, 20, 32, 42, 52]);
        assert_eq!(renewals(2), [41, 51]);
        assert_eq!((effects.count(), log.count(LOST)), (0, 1));

        // The first ends: its commit is refused, and the event is still the second one's.
        sleep_until(start + secs(70)).await;
        assert_eq!((effects.count(), log.count(LOST)), (1, 1));
        assert_eq!(sent(&deliver(&driver, ID, effects.handler()).await), IN_FLIGHT);
        assert_eq!(sent(&deliver(&over(&store), ID, effects.handler()).await), IN_FLIGHT);

        // The second ends as well, one way or the other; what the first has done is done.
        assert_eq!((first.await.unwrap(), second.await.unwrap()), (SLOW, SLOW));
        assert_eq!(within_of(secs(60), driver.drain(secs(60))).await, Ok(()));
        assert_eq!(sent(&deliver(&driver, ID, effects.handler()).await), DUPLICATE);
        assert_eq!(effects.count(), 2);
        let committed: BTreeSet<_> = fences(&store, Step::Commit).into_iter().collect();
        // Under its own claim the first commits only where the second has given up.
        assert_eq!(committed, BTreeSet::from(if second_ends == 200 { [1, 2] } else { [1, 3] }));
        let releases: &[u64] = if second_ends == 200 { &[] } else { &[2] };
        assert_eq!(fences(&store, Step::Release), releases);
    }
}

// E8: nor does a late owner that failed release it.
#[tokio::test(start_paused = true)]
async fn a_late_failure_releases_nothing() {
    let (store, effects, start) =
        (Scripted::new().always(Step::Extend, Fault::Fails), Effects::default(), Instant::now());
    let driver = over(&store);
    let handler = move |_: Event| async move {
        sleep_until(start + secs(40)).await;
        500
    };
    assert_eq!(sent(&deliver(&driver, ID, handler).await), SLOW);
    sleep_until(start + secs(30)).await;
    begin(&over(&store), &effects, secs(20));
    store.until(Step::Release, 1).await;
    assert_eq!(sent(&deliver(&driver, ID, effects.handler()).await), IN_FLIGHT);
    store.until(Step::Commit, 1).await;
    assert_eq!((fences(&store, Step::Release), fences(&store, Step::Commit)), (vec![1], vec![2]));
    assert_eq!(effects.ids(), [ID]);
}
