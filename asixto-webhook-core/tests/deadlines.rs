//! What becomes of a delivery whose secrets or store do not answer in time?
#![cfg(test)]

mod common;

use std::{
    future::{Future, Ready},
    sync::Arc,
    task::{Context, Waker},
    time::Duration,
};

use asixto_webhook_core::{
    Bytes, Delivery, Held, NoDedup, Outcome, Receiver, SecretSet, StoreErrorKind, Unavailable, lookup,
};
use common::{
    ID, answered, block_on, builder,
    capture::{captured, delivery_line},
    deliver, envelope,
    fakes::{FakeInbox, FakeSource, FakeStore, FakeTimer, Found, Says},
    known, processed, settle, signed,
};

fn over(store: &FakeStore) -> Receiver {
    builder().dedup(store.clone()).build().unwrap()
}

// Rules of the house: a secret source that hangs is one that is down.
#[test]
fn a_secret_source_that_hangs() {
    let timer = FakeTimer::default();
    let receiver = builder().secrets(FakeSource::new(Says::Hangs)).dedup(FakeStore::untouched()).build().unwrap();
    let answer = answered(deliver(&receiver.with_timer(Arc::new(timer.clone())), envelope(ID)));
    assert_eq!((answer.outcome(), answer.status()), (Outcome::NoSecret, 503));
    assert_eq!(timer.asked(), [Duration::from_secs(2)]);
}

// Rules of the house: a database that hangs is a database that is down. E7: and never a duplicate.
#[test]
fn a_store_that_hangs() {
    let timer = FakeTimer::default();
    let hanging = FakeStore::default().claim(Says::Hangs);
    let answer = answered(deliver(&over(&hanging).with_timer(Arc::new(timer.clone())), envelope(ID)));
    assert_eq!((answer.outcome(), answer.status()), (Outcome::StoreUnavailable, 503));
    assert_eq!(timer.asked(), [Duration::from_secs(2)]);

    let receiver = builder().inbox(FakeInbox::new(Says::Hangs)).build().unwrap();
    let answer = answered(deliver(&receiver.with_timer(Arc::new(timer)), envelope(ID)));
    assert_eq!((answer.outcome(), answer.status()), (Outcome::StoreUnavailable, 503));
}

// E7: also for every step after the claim.
#[test]
fn a_store_that_begins_to_hang() {
    let store = FakeStore::fresh().extend(Says::Hangs).commit(Says::Hangs).commit(Says::Hangs);
    let receiver = over(&store).with_timer(Arc::new(FakeTimer::default()));
    let (_, ticket) = processed(deliver(&receiver, envelope(ID)));
    assert_eq!(block_on(receiver.renew(&ticket)), Held::Yes);
    let settled = block_on(receiver.settle(ticket, 200));
    assert_eq!(settled.answer.status(), 200);
    let error = block_on(receiver.commit(&settled.uncommitted.unwrap())).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::TimedOut);

    let store = FakeStore::fresh().release(Says::Hangs);
    let (answer, _) = settle(&over(&store).with_timer(Arc::new(FakeTimer::default())), 422);
    assert_eq!((answer.outcome(), answer.status()), (Outcome::HandlerFailed, 422));
}

// E7: a store or a source that panics is one that is down; the log says so, with what is known of the delivery.
#[test]
#[cfg(feature = "std")]
fn seams_that_panic() {
    let outcome = |receiver: &Receiver, name: &'static str| {
        let (answer, lines) = captured(|| answered(deliver(receiver, envelope(ID))));
        let line = delivery_line(&lines);
        let field = |name| line.field(name).unwrap_or_default().to_owned();
        (answer.outcome(), answer.status(), field(name), field("reason"))
    };
    // Asked for anything, it panics.
    let store = FakeStore::untouched();
    let reason = "the store is unavailable: it panicked".to_owned();
    assert_eq!(outcome(&over(&store), "event_id"), (Outcome::StoreUnavailable, 503, ID.to_owned(), reason));

    let store = FakeStore::fresh();
    let receiver = over(&store);
    let (_, ticket) = processed(deliver(&receiver, envelope(ID)));
    assert!(block_on(receiver.settle(ticket, 200)).uncommitted.is_some());

    let source = lookup(|_| -> Ready<Result<Option<SecretSet>, Unavailable>> { panic!("as this test wants it to") });
    let receiver = builder().secrets(source).dedup(NoDedup).build().unwrap();
    let reason = "the secrets are unavailable: the source panicked".to_owned();
    assert_eq!(outcome(&receiver, "unverified_id"), (Outcome::NoSecret, 503, ID.to_owned(), reason));
}

// Rules of the house: each of the two has its own budget.
#[test]
fn configured_budgets_reach_the_timer() {
    let timer = FakeTimer::default();
    let (secrets, store) = (Duration::from_millis(700), Duration::from_millis(300));
    let builder = || builder().secrets_timeout(secrets).store_timeout(store);
    let receiver = builder().secrets(FakeSource::new(Says::Hangs)).dedup(NoDedup).build().unwrap();
    _ = answered(deliver(&receiver.with_timer(Arc::new(timer.clone())), envelope(ID)));
    let receiver = builder().dedup(FakeStore::default().claim(Says::Hangs)).build().unwrap();
    _ = answered(deliver(&receiver.with_timer(Arc::new(timer.clone())), envelope(ID)));
    assert_eq!(timer.asked(), [secrets, store]);
}

// Rules of the house: who answers in time is heard, and who answers at once costs no timer.
#[test]
fn answers_in_time_are_heard() {
    let timer = FakeTimer::default();
    timer.stop();
    let store = FakeStore::default().claim(Says::Later(Found::Nothing)).commit(Says::Later(Held::Yes));
    let source = FakeSource::new(Says::Later(Some(known())));
    let receiver = builder().secrets(source).dedup(store.clone()).build().unwrap().with_timer(Arc::new(timer.clone()));
    let (answer, uncommitted) = settle(&receiver, 200);
    assert_eq!((answer.outcome(), uncommitted), (Outcome::Processed, false));
    assert_eq!(timer.asked().len(), 3);

    let timer = FakeTimer::default();
    let store = FakeStore::fresh().commit(Says::This(Held::Yes));
    let (answer, uncommitted) = settle(&over(&store).with_timer(Arc::new(timer.clone())), 200);
    assert_eq!((answer.outcome(), uncommitted), (Outcome::Processed, false));
    assert_eq!(timer.asked(), []);
}

// Rules of the house: without a timer nothing is given up.
#[test]
fn without_a_timer_a_store_is_awaited() {
    let receiver = over(&FakeStore::default().claim(Says::Hangs));
    let (body, lines) = (Bytes::from(envelope(ID)), signed(&known(), envelope(ID)));
    let mut admission = Box::pin(receiver.admit(Delivery::new("POST", &lines, body)));
    assert!(admission.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
}
