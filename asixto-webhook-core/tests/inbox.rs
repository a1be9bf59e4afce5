//! What is written to an inbox, and what is answered for it?
#![cfg(test)]

mod common;

use std::time::Duration;

use asixto_webhook_core::{Accepted, Outcome, UnixTime};
use common::{
    ID, NOW, TYPE, answered, builder, deliver, envelope,
    fakes::{FakeInbox, FakeStore, Says},
    headers, known, post, processed, signed,
};

const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

// H6, E6: written down and acknowledged, or known already; no handler runs.
#[test]
fn an_inbox() {
    for (accepted, outcome) in [
        (Accepted::Stored, Outcome::Stored),
        (Accepted::Duplicate, Outcome::Duplicate),
        (Accepted::Conflict, Outcome::Conflict),
    ] {
        let inbox = FakeInbox::new(Says::This(accepted));
        let receiver = builder().inbox(inbox.clone()).build().unwrap();
        let answer = answered(deliver(&receiver, envelope(ID)));
        assert_eq!((answer.outcome(), answer.status(), answer.keeps_response()), (outcome, 200, false));
        assert_eq!(inbox.written().len(), 1);
    }
}

// E7, E9
#[test]
fn an_inbox_that_is_down_or_full() {
    for says in [Says::Fails, Says::IsFull] {
        let receiver = builder().inbox(FakeInbox::new(says)).build().unwrap();
        let answer = answered(deliver(&receiver, envelope(ID)));
        assert_eq!((answer.outcome(), answer.status()), (Outcome::StoreUnavailable, 503));
        assert!(matches!(&headers(&answer)[..], [("retry-after", _)]));
    }
}

// H6, E1: everything that a worker needs later.
#[test]
fn what_an_inbox_is_given() {
    let store = FakeStore::fresh();
    drop(processed(deliver(&builder().dedup(store.clone()).scope("shop").build().unwrap(), envelope(ID))));
    let (key, fingerprint, _) = store.claimed();

    let inbox = FakeInbox::new(Says::This(Accepted::Stored));
    let receiver = builder().inbox(inbox.clone()).scope("shop").build().unwrap();
    _ = answered(deliver(&receiver, envelope(ID)));
    let [record] = &inbox.written()[..] else { panic!("not one record") };
    assert_eq!((record.key, record.fingerprint), (key, fingerprint));
    assert_eq!(record.provider, "asixto");
    assert_eq!(record.scope, "shop");
    assert_eq!(record.id, ID);
    assert_eq!(record.event_type, TYPE);
    assert_eq!(record.body, envelope(ID));
    assert_eq!(record.received, UnixTime::from_secs(NOW));
    assert_eq!(record.ttl, WEEK);
}

// A3, K: an inbox, too, is given nothing that is forged, stale or no envelope.
#[test]
fn an_inbox_is_given_what_was_verified() {
    let inbox = FakeInbox::new(Says::This(Accepted::Stored));
    let receiver = builder().inbox(inbox.clone()).build().unwrap();
    _ = answered(post(
        &receiver,
        &signed(&common::secrets("forged", common::FORGED_SECRET), envelope(ID)),
        envelope(ID),
    ));
    _ = answered(post(&receiver, &common::signed_at(&known(), NOW - 301, envelope(ID)), envelope(ID)));
    _ = answered(deliver(&receiver, envelope("")));
    assert_eq!(inbox.written(), []);
}
