//! When a sender is answered: within its patience, however long the handler takes.
#![cfg(test)]

mod common;

use std::task::Poll;

use asixto_webhook_runtime::{
    Driver,
    core::{
        Bytes, Outcome, Provider, Receiver, SecretSet, UnixTime,
        provider::{Agent, Identity, Message},
        testing::ManualClock,
    },
};
use common::{
    DUPLICATE, Effects, Head, ID, IN_FLIGHT, NOW, PROCESSED, SLOW, arrived, builder, deliver, envelope, headers,
    millis, over, secs, sent,
    store::{Fault, Scripted, Step},
    within,
};
use testkit::Log;
use tokio::time::{Instant, sleep, sleep_until};

// H8: a handler of 12 s is answered for at 9 s, to come back after the lease; it runs on, and is committed.
#[tokio::test(start_paused = true)]
async fn a_slow_handler() {
    let (store, effects, log) = (Scripted::new(), Effects::default(), Log::start());
    let driver = over(&store);
    let start = Instant::now();
    let reply = within(deliver(&driver, ID, effects.after(secs(12)))).await;
    assert_eq!(start.elapsed(), secs(9));
    assert_eq!(sent(&reply), SLOW);
    assert_eq!(headers(&reply.answer), [("retry-after", "30".to_owned())]);
    assert_eq!(effects.count(), 0);

    let early = within(deliver(&driver, ID, effects.handler())).await;
    assert_eq!(sent(&early), IN_FLIGHT);

    store.until(Step::Commit, 1).await;
    assert_eq!(start.elapsed(), secs(12));
    assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), DUPLICATE);
    assert_eq!(effects.ids(), [ID]);
    assert_eq!(log.outcomes(), ["handler_slow", "in_flight", "duplicate"]);
    assert_eq!(log.count("a slow handler has ended"), 1);
}

// H8: up to the last moment it is the handler that answers.
#[tokio::test(start_paused = true)]
async fn a_handler_that_is_just_in_time() {
    let effects = Effects::default();
    let start = Instant::now();
    let reply = within(deliver(&over(&Scripted::new()), ID, effects.after(millis(8_999)))).await;
    assert_eq!((sent(&reply), start.elapsed()), (PROCESSED, millis(8_999)));
}

// H8: the time for the body is part of it.
#[tokio::test(start_paused = true)]
async fn the_time_counts_from_the_arrival() {
    for spent in [1, 3, 8] {
        let start = Instant::now();
        sleep(secs(spent)).await;
        let reply = within(arrived(&over(&Scripted::new()), start, ID, Effects::default().after(secs(12)))).await;
        assert_eq!((sent(&reply), start.elapsed()), (SLOW, secs(9)), "{spent}");
    }
}

// H8: body, secrets and claim may take what they may, one after the other.
#[tokio::test(start_paused = true)]
async fn every_budget_together() {
    let store = Scripted::new().then(Step::Claim, [Fault::Takes(millis(1_900))]);
    let secrets = asixto_webhook_runtime::core::lookup(|_| async {
        sleep(millis(1_900)).await;
        Ok(Some(common::known()))
    });
    let driver = Driver::new(&builder().secrets(secrets).dedup(store.clone()).build().unwrap());
    let body = envelope(ID);
    let (head, start) = (Head::of(&body), Instant::now());

    let (mut chunks, mut ready) = (body.chunks(10), Box::pin(sleep_until(start + millis(4_900))));
    let collected = driver.collect(start, &head, None, |cx| match chunks.next() {
        Some(chunk) => Poll::Ready(Some(Ok::<_, ()>(Bytes::copy_from_slice(chunk)))),
        None => ready.as_mut().poll(cx).map(|()| None),
    });
    let body = within(collected).await.unwrap();
    assert_eq!(start.elapsed(), millis(4_900));

    let handler = Effects::default().after(secs(1));
    let reply = within(driver.run(start, head, body, move |_, event| handler(event), |status| *status)).await;
    assert_eq!((sent(&reply), start.elapsed()), (SLOW, secs(9)));
    store.until(Step::Commit, 1).await;
    assert_eq!(start.elapsed(), millis(4_900 + 1_900 + 1_900 + 1_000));
}

// H8, E5: a slow handler that fails is released, and the next attempt runs.
#[tokio::test(start_paused = true)]
async fn a_slow_handler_that_fails() {
    for panics in [false, true] {
        let (store, effects) = (Scripted::new(), Effects::default());
        let driver = over(&store);
        let failing = deliver(&driver, ID, move |_| async move {
            sleep(secs(12)).await;
            if panics {
                panic!("the handler panics after the answer");
            }
            503
        });
        assert_eq!(sent(&within(failing).await), SLOW);
        store.until(Step::Release, 1).await;
        assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), PROCESSED);
        assert_eq!(effects.ids(), [ID]);
    }
}

// H8: a store that is slow to release holds up nobody for longer either.
#[tokio::test(start_paused = true)]
async fn a_slow_release() {
    let start = Instant::now();
    let store = Scripted::new().always(Step::Release, Fault::Hangs);
    let driver = over(&store);
    let failing = deliver(&driver, ID, |_| async {
        sleep(secs(8)).await;
        500
    });
    let reply = within(failing).await;
    assert_eq!((reply.answer.status() / 100, start.elapsed()), (5, secs(9)));
}

// E7, H8: a handler that succeeded in time is answered for with its 2xx, though the store does not take the commit
// before the time is up: 503 would bring the event back.
#[tokio::test(start_paused = true)]
async fn a_slow_commit_is_no_slow_handler() {
    for spent in [0, 5, 7, 8] {
        let (store, effects) = (Scripted::new().then(Step::Commit, [Fault::Hangs]), Effects::default());
        let (driver, start) = (over(&store), Instant::now());
        let reply = within(deliver(&driver, ID, effects.after(secs(spent)))).await;
        assert!(start.elapsed() <= secs(9), "{spent}");
        assert_eq!(sent(&reply), PROCESSED, "{spent}");
    }
}

// H8: timeouts of one's own.
#[tokio::test(start_paused = true)]
async fn another_budget() {
    let receiver = builder()
        .dedup(Scripted::new())
        .body_timeout(secs(1))
        .secrets_timeout(secs(1))
        .store_timeout(secs(1))
        .answer_timeout(secs(4))
        .lease(secs(60));
    let driver = Driver::new(&receiver.build().unwrap());
    let start = Instant::now();
    let reply = within(deliver(&driver, ID, Effects::default().after(secs(5)))).await;
    assert_eq!((sent(&reply), start.elapsed()), (SLOW, secs(4)));
    assert_eq!(headers(&reply.answer), [("retry-after", "60".to_owned())]);
}

// The outcome is in a header where that is asked for, on an answer that the runtime makes too.
#[tokio::test(start_paused = true)]
async fn diagnostics() {
    let driver = Driver::new(&builder().dedup(Scripted::new()).diagnostics(true).build().unwrap());
    let reply = within(deliver(&driver, ID, Effects::default().after(secs(12)))).await;
    let outcome = ("asixto-webhook-outcome", Outcome::HandlerSlow.code().to_owned());
    assert_eq!(headers(&reply.answer), [("retry-after", "30".to_owned()), outcome]);
}

// H8, N3: a repeat is answered as soon as it is known for one, and its nonce is settled afterwards, for as long as it takes.
#[tokio::test(start_paused = true)]
async fn what_is_left_to_settle_keeps_nobody_waiting() {
    let provider = Agent::new(|_| Ok(Identity::new("the event")));
    let secrets = SecretSet::from_issued(["a partner's secret"]).unwrap();
    let store = Scripted::new();
    let receiver = Receiver::builder_for(provider.clone())
        .secrets(secrets.clone())
        .clock(ManualClock::new(UnixTime::from_secs(NOW)))
        .dedup(store.clone());
    let driver = Driver::new(&receiver.build().unwrap());
    let deliver = async |nonce: &str, arrived| {
        let message = Message::new(UnixTime::from_secs(NOW), b"{}").with_id(nonce);
        let lines = provider.sign(&secrets, message).into_iter().map(|(name, value)| (name.into_owned(), value));
        let head = Head { method: "POST", lines: lines.collect(), scope: None };
        driver.run(arrived, head, "{}".into(), |_, _| async { 200 }, |status| *status).await.answer.outcome()
    };
    assert_eq!(deliver("first", Instant::now()).await, Outcome::Processed);

    // Refused twice, and then slow.
    let store = store.then(Step::Commit, [Fault::Fails, Fault::Hangs, Fault::Takes(millis(1_900))]);
    let start = Instant::now();
    assert_eq!(within(deliver("second", start - millis(8_900))).await, Outcome::Duplicate);
    assert_eq!(start.elapsed(), secs(0));
    assert_eq!(within(driver.drain(secs(30))).await, Ok(()));
    // The first one's event and nonce; the second one's nonce until it is taken.
    assert_eq!(store.times(Step::Commit).len(), 2 + 3);
}
