//! Handlers that stay on their thread: the same road, in tasks of a `LocalSet`.
#![cfg(test)]

mod common;

use std::{
    cell::{Cell, RefCell},
    future::{Future, poll_fn},
    pin::pin,
    rc::Rc,
};

use asixto_webhook_runtime::{
    Driver, Reply,
    core::{
        Outcome, Provider, Receiver, SecretSet, UnixTime,
        provider::{Agent, Identity, Message},
        testing::ManualClock,
    },
};
use common::{
    DUPLICATE, Head, ID, IN_FLIGHT, NOW, PANICKED, PROCESSED, SLOW, TYPE, envelope, millis, over, secs, sent,
    store::{Fault, Scripted, Step},
    within,
};
use testkit::Log;
use tokio::{
    task::{LocalSet, yield_now},
    time::{Instant, sleep},
};
use tracing::{Instrument, info_span};

/// What handlers did, kept where no other thread can come.
type Effects = Rc<RefCell<Vec<String>>>;

/// Runs a delivery of [`ID`] whose handler takes `time`.
async fn deliver(driver: &Driver, effects: &Effects, time: u64) -> Reply<u16> {
    let effects = effects.clone();
    let handler = async move |_: Head, event: asixto_webhook_runtime::core::Event| {
        sleep(secs(time)).await;
        effects.borrow_mut().push(event.id().to_owned());
        200
    };
    let body = envelope(ID);
    driver.run_local(Instant::now(), Head::of(&body), body, handler, |status| *status).await
}

/// Polls `work` until the store has seen a claim, and drops it.
async fn abandoned(store: &Scripted, work: impl Future) {
    let (mut work, mut claimed) = (pin!(work), pin!(store.until(Step::Claim, 1)));
    poll_fn(|cx| {
        assert!(work.as_mut().poll(cx).is_pending(), "ended before the sender hung up");
        claimed.as_mut().poll(cx)
    })
    .await;
}

// E2, E5: once, whatever it keeps across its awaits.
#[tokio::test(start_paused = true)]
async fn a_handler_that_is_not_send() {
    let (driver, effects) = (over(&Scripted::new()), Effects::default());
    LocalSet::new()
        .run_until(within(async {
            assert_eq!(sent(&deliver(&driver, &effects, 1).await), PROCESSED);
            assert_eq!(sent(&deliver(&driver, &effects, 1).await), DUPLICATE);
        }))
        .await;
    assert_eq!(*effects.borrow(), [ID]);
}

// E5: the sender hangs up: the claim is renewed until the handler ends, and is committed then.
#[tokio::test(start_paused = true)]
async fn a_sender_that_hangs_up() {
    let (store, effects) = (Scripted::new(), Effects::default());
    let driver = over(&store);
    LocalSet::new()
        .run_until(within(async {
            abandoned(&store, deliver(&driver, &effects, 25)).await;
            assert_eq!(sent(&deliver(&driver, &effects, 0).await), IN_FLIGHT);
            assert_eq!(driver.drain(secs(30)).await, Ok(()));
            assert_eq!(sent(&deliver(&driver, &effects, 0).await), DUPLICATE);
        }))
        .await;
    assert_eq!((store.times(Step::Extend), store.times(Step::Commit)), (vec![10_000, 20_000], vec![25_000]));
    assert_eq!(*effects.borrow(), [ID]);
}

// B7: until the signature holds, a sender that hangs up stops everything, and a forgery begins nothing.
#[tokio::test(start_paused = true)]
async fn nothing_begins_without_a_signature() {
    let (store, effects) = (Scripted::new(), Effects::default());
    let driver = over(&store);
    LocalSet::new()
        .run_until(within(async {
            drop(deliver(&driver, &effects, 0));
            let forged = Head::of(b"another body");
            let handler = async |_, _| -> u16 { panic!("called for a forgery") };
            let reply = driver.run_local(Instant::now(), forged, envelope(ID), handler, |status| *status).await;
            assert_eq!((reply.answer.status(), reply.response), (400, None));
            assert_eq!(driver.drain(secs(1)).await, Ok(()));
        }))
        .await;
    assert_eq!((store.steps(), effects.borrow().len()), (vec![], 0));
}

// H8: a sender is told in time that the handler is slow; it runs on, and is committed.
#[tokio::test(start_paused = true)]
async fn a_slow_handler() {
    let (store, effects, start) = (Scripted::new(), Effects::default(), Instant::now());
    let driver = over(&store);
    LocalSet::new()
        .run_until(within(async {
            assert_eq!(sent(&deliver(&driver, &effects, 12).await), SLOW);
            assert_eq!(start.elapsed(), secs(9));
            assert_eq!(driver.drain(secs(5)).await, Ok(()));
        }))
        .await;
    assert_eq!((store.times(Step::Commit), effects.borrow().len()), (vec![12_000], 1));
}

// E5: a panic, before the first await or after it, is a failure like another.
#[tokio::test(start_paused = true)]
async fn a_panic() {
    for polls in [0, 1] {
        let store = Scripted::new();
        let (driver, body) = (over(&store), envelope(ID));
        let handler = move |_, _| {
            assert_ne!(polls, 0, "the handler panics, as this test wants it to");
            async move {
                yield_now().await;
                assert_eq!(polls, 0, "the handler panics, as this test wants it to");
                200
            }
        };
        let run = driver.run_local(Instant::now(), Head::of(&body), body, handler, |status| *status);
        assert_eq!(sent(&LocalSet::new().run_until(within(run)).await), PANICKED);
        assert_eq!(store.steps(), [Step::Claim, Step::Release]);
    }
}

// E2, N3: what is answered before the handler begins gives back at once what the handler would have had, though the
// nonce of a repeat is still to be settled.
#[tokio::test(start_paused = true)]
async fn what_a_handler_would_have_had() {
    let provider = Agent::new(|_| Ok(Identity::new("the event")));
    let secrets = SecretSet::from_issued(["a partner's secret"]).unwrap();
    let store = Scripted::new();
    let receiver = Receiver::builder_for(provider.clone())
        .secrets(secrets.clone())
        .clock(ManualClock::new(UnixTime::from_secs(NOW)))
        .dedup(store.clone());
    let driver = Driver::new(&receiver.build().unwrap());
    let held = Rc::new(Cell::new(0));
    let deliver = async |nonce: &str| {
        let message = Message::new(UnixTime::from_secs(NOW), b"{}").with_id(nonce);
        let lines = provider.sign(&secrets, message).into_iter().map(|(name, value)| (name.into_owned(), value));
        let head = Head { method: "POST", lines: lines.collect(), scope: None };
        let kept = held.clone();
        let handler = async move |_, _| kept.set(kept.get() + 1);
        driver.run_local(Instant::now(), head, "{}".into(), handler, |()| 200).await.answer.outcome()
    };
    LocalSet::new()
        .run_until(within(async {
            assert_eq!(deliver("first").await, Outcome::Processed);
            let store = store.then(Step::Commit, [Fault::Takes(secs(1))]);
            assert_eq!(deliver("second").await, Outcome::Duplicate);
            assert_eq!((Rc::strong_count(&held), held.get()), (1, 1));
            assert!(driver.drain(millis(1)).await.is_err(), "nothing was left to settle");
            assert_eq!(driver.drain(secs(30)).await, Ok(()));
            // The first one's event and nonce, and the second one's nonce.
            assert_eq!(store.times(Step::Commit).len(), 2 + 1);
        }))
        .await;
}

// K10: inside the spans of its request and of its event.
#[tokio::test(start_paused = true)]
async fn its_span() {
    let log = Log::start();
    let driver = over(&Scripted::new());
    let handler = async |_, _| {
        yield_now().await;
        tracing::info!("handled");
        200
    };
    let body = envelope(ID);
    let run = driver.run_local(Instant::now(), Head::of(&body), body, handler, |status| *status);
    assert_eq!(sent(&LocalSet::new().run_until(within(run.instrument(info_span!("request")))).await), PROCESSED);
    assert_eq!(log.delivery().span, Some("request"));
    let handled = log.lines().into_iter().find(|line| line.message() == "handled").unwrap();
    assert_eq!((handled.span, handled.parent), (Some("webhook"), Some("request")));
    let span = log.lines().into_iter().find(|line| line.field("event_type").is_some()).unwrap();
    assert_eq!((span.field("event_type"), span.field("event_id")), (Some(TYPE), Some(ID)));
}

// E5: a thread that goes takes its tasks with it: nothing is committed, and a drain does not wait for them.
#[tokio::test(start_paused = true)]
async fn a_thread_that_goes() {
    let (store, effects) = (Scripted::new(), Effects::default());
    let driver = over(&store);
    let local = LocalSet::new();
    local.run_until(abandoned(&store, deliver(&driver, &effects, 25))).await;
    assert!(driver.drain(millis(1)).await.is_err());
    drop(local);
    assert_eq!(driver.drain(secs(60)).await, Ok(()));
    assert_eq!((store.steps(), effects.borrow().len()), (vec![Step::Claim], 0));
}
