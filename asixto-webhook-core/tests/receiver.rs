//! What does a receiver ask its store, and what does it make of the answers?
#![cfg(test)]

mod common;

use std::time::Duration;

use asixto_webhook_core::{Accepted, Bytes, Delivery, Fingerprint, Held, NoDedup, Outcome, Receiver};
use common::{
    ID, NOW, TYPE, answered, block_on, builder,
    capture::{captured, delivery_line},
    deliver, envelope,
    fakes::{Asked, FakeInbox, FakeSource, FakeStore, Found, Says},
    headers, known, post, processed, settle, signed,
};
use tracing::Level;

const LEASE: Duration = Duration::from_secs(30);
const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

fn over(store: &FakeStore) -> Receiver {
    builder().dedup(store.clone()).build().unwrap()
}

// E5, E1: claimed for the lease, committed for at least 7 days.
#[test]
fn claim_work_commit() {
    let store = FakeStore::fresh().commit(Says::This(Held::Yes));
    let (answer, uncommitted) = settle(&over(&store), 200);
    assert_eq!((answer.outcome(), answer.status(), uncommitted), (Outcome::Processed, 200, false));
    let (key, fingerprint, lease) = store.claimed();
    assert_eq!(lease, LEASE);
    assert_eq!(fingerprint, Fingerprint::of(envelope(ID).as_bytes()));
    assert_eq!(store.asked(), [Asked::Claim { key, fingerprint, lease }, Asked::Commit { fence: 1, ttl: WEEK }]);
}

// E5, H1: a 2xx commits; after any other status the claim is given back, for the next attempt.
#[test]
fn claim_work_commit_or_release() {
    for status in 100..=599 {
        let store = FakeStore::fresh().commit(Says::This(Held::Yes)).release(Says::This(Held::Yes));
        let (answer, uncommitted) = settle(&over(&store), status);
        let (outcome, step) = match status {
            200..=299 => (Outcome::Processed, Asked::Commit { fence: 1, ttl: WEEK }),
            _ => (Outcome::HandlerFailed, Asked::Release { fence: 1 }),
        };
        assert_eq!((answer.outcome(), uncommitted), (outcome, false), "{status}");
        assert_eq!(store.asked()[1..], [step], "{status}");
    }
}

// E1, E5: the receiver's own lease and time to live.
#[test]
fn configured_durations_reach_the_store() {
    let store = FakeStore::fresh().extend(Says::This(Held::Yes)).commit(Says::This(Held::Yes));
    let (lease, ttl) = (Duration::from_secs(90), 4 * WEEK);
    let receiver = builder().dedup(store.clone()).lease(lease).ttl(ttl).build().unwrap();
    let (_, ticket) = processed(deliver(&receiver, envelope(ID)));
    block_on(receiver.renew(&ticket));
    _ = block_on(receiver.settle(ticket, 200));
    assert_eq!(store.claimed().2, lease);
    assert_eq!(store.asked()[1..], [Asked::Extend { fence: 1, lease }, Asked::Commit { fence: 1, ttl }]);
}

// E5: a ticket that nobody settles, as after a crash, leaves the claim to its lease.
#[test]
fn a_dropped_ticket_asks_nothing() {
    let store = FakeStore::fresh();
    drop(processed(deliver(&over(&store), envelope(ID))));
    assert_eq!(store.asked().len(), 1);
}

// E2: a duplicate is acknowledged, and has no second effect.
#[test]
fn a_duplicate() {
    let store = FakeStore::default().claim(Says::This(Found::Done));
    let answer = answered(deliver(&over(&store), envelope(ID)));
    assert_eq!((answer.outcome(), answer.status()), (Outcome::Duplicate, 200));
    assert_eq!(store.asked().len(), 1);
}

// E5: in flight, with what is left of the lease, at least 1.
#[test]
fn in_flight() {
    for (remaining, retry_after) in [
        (Duration::ZERO, "1"),
        (Duration::from_nanos(1), "1"),
        (Duration::from_secs(1), "1"),
        (Duration::from_millis(1500), "2"),
        (LEASE, "30"),
        // Whatever a store says, no more is promised than a lease of the receiver's own.
        (LEASE + Duration::from_nanos(1), "30"),
        (Duration::MAX, "30"),
    ] {
        let store = FakeStore::default().claim(Says::This(Found::InFlight(remaining)));
        let answer = answered(deliver(&over(&store), envelope(ID)));
        assert_eq!((answer.outcome(), answer.status()), (Outcome::InFlight, 503));
        assert_eq!(headers(&answer), [("retry-after", retry_after.to_owned())], "{remaining:?}");
    }
}

// E6: acknowledged as a duplicate, or refused where the receiver is set to; an error in the log either way.
#[test]
fn a_conflict() {
    for (refuse, status) in [(false, 200), (true, 409)] {
        let store = FakeStore::default().claim(Says::This(Found::Conflict));
        let receiver = builder().dedup(store.clone()).refuse_conflicts(refuse).build().unwrap();
        let (answer, lines) = captured(|| answered(deliver(&receiver, envelope(ID))));
        assert_eq!((answer.outcome(), answer.status()), (Outcome::Conflict, status));
        assert_eq!(store.asked().len(), 1);
        assert_eq!(delivery_line(&lines).level, Level::ERROR);
        assert_eq!(delivery_line(&lines).field("status"), Some(&*status.to_string()));

        let receiver =
            builder().inbox(FakeInbox::new(Says::This(Accepted::Conflict))).refuse_conflicts(refuse).build().unwrap();
        let (answer, lines) = captured(|| answered(deliver(&receiver, envelope(ID))));
        assert_eq!((answer.outcome(), answer.status()), (Outcome::Conflict, status));
        assert_eq!(delivery_line(&lines).level, Level::ERROR);
    }
}

// E6: being refused is for conflicts; a duplicate stays acknowledged.
#[test]
fn refusing_conflicts_refuses_no_duplicate() {
    let store = FakeStore::default().claim(Says::This(Found::Done));
    let receiver = builder().dedup(store).refuse_conflicts(true).build().unwrap();
    assert_eq!(answered(deliver(&receiver, envelope(ID))).status(), 200);
}

// E6: one id with two bodies is one key with two fingerprints.
#[test]
fn the_key_is_the_id_alone() {
    let claim = |body: &str| {
        let store = FakeStore::fresh();
        drop(processed(deliver(&over(&store), body.to_owned())));
        store.claimed()
    };
    let body = envelope(ID);
    let (key, fingerprint, _) = claim(&body);
    for (part, other) in [
        ("live", "test"),
        (TYPE, "job.failed"),
        ("1787923100", "1787923101"),
        ("\"j1\"", "\"j2\""),
        // G2: what it replays is no part of it.
        ("\"data\":", "\"replay_of\":\"evt_0\",\"data\":"),
    ] {
        let (other_key, other_fingerprint, _) = claim(&body.replace(part, other));
        assert_eq!(other_key, key, "{part}");
        assert_ne!(other_fingerprint, fingerprint, "{part}");
    }
    assert_eq!(claim(&body), (key, fingerprint, LEASE));
    assert_ne!(claim(&envelope("evt_2")).0, key);
}

// E1: the scope is a configured name, and ids are unique within it.
#[test]
fn scopes_separate_ids() {
    let claim = |configured: Option<&'static str>, asked: Option<&str>| {
        let store = FakeStore::fresh();
        let mut receiver = builder().dedup(store.clone());
        if let Some(scope) = configured {
            receiver = receiver.scope(scope);
        }
        let (body, lines) = (Bytes::from(envelope(ID)), signed(&known(), envelope(ID)));
        let mut delivery = Delivery::new("POST", &lines, body);
        if let Some(scope) = asked {
            delivery = delivery.scope(scope);
        }
        let (event, _) = processed(block_on(receiver.build().unwrap().admit(delivery)));
        assert_eq!(event.scope(), asked.or(configured).unwrap_or("default"));
        store.claimed().0
    };
    assert_eq!(claim(None, None), claim(Some("default"), None));
    assert_eq!(claim(Some("a"), None), claim(Some("b"), Some("a")));
    assert_ne!(claim(Some("a"), None), claim(Some("b"), None));
    assert_ne!(claim(Some("a"), Some("b")), claim(Some("a"), Some("c")));
}

// E1: the key has nothing of the request's own: not its other headers, not the time, not the secret that matched.
#[test]
fn attempts_of_one_delivery_meet() {
    let claim = |at: u64, host: &str| {
        let store = FakeStore::fresh();
        let body = envelope(ID);
        let mut lines = common::signed_at(&known(), at, &body);
        lines.push(("host".into(), host.into()));
        drop(processed(post(&over(&store), &lines, body)));
        store.claimed()
    };
    assert_eq!(claim(NOW, "a.example"), claim(NOW - 60, "b.example"));
}

// E7, E9: a store that cannot answer is never a duplicate, and never lets an event through.
#[test]
fn a_store_that_is_down_or_full() {
    for says in [Says::Fails, Says::IsFull] {
        let store = FakeStore::default().claim(says);
        let (answer, lines) = captured(|| answered(deliver(&over(&store), envelope(ID))));
        assert_eq!((answer.outcome(), answer.status()), (Outcome::StoreUnavailable, 503));
        assert!(matches!(&headers(&answer)[..], [("retry-after", _)]));
        assert_eq!(delivery_line(&lines).level, Level::ERROR);
    }
}

// E7: the cause is for whoever reads the log.
#[test]
fn the_cause_is_logged() {
    let store = FakeStore::default().claim(Says::Fails);
    let (_, lines) = captured(|| answered(deliver(&over(&store), envelope(ID))));
    assert!(delivery_line(&lines).field("reason").unwrap().contains("connection refused"));

    let receiver = builder().secrets(FakeSource::new(Says::Fails)).dedup(FakeStore::untouched()).build().unwrap();
    let (_, lines) = captured(|| answered(deliver(&receiver, envelope(ID))));
    assert!(delivery_line(&lines).field("reason").unwrap().contains("the vault is sealed"));
}

// E7: the 2xx stands although the commit failed, and somebody can try again.
#[test]
fn a_commit_that_fails() {
    for says in [Says::Fails, Says::IsFull] {
        let store = FakeStore::fresh().commit(says).commit(Says::Fails).commit(Says::This(Held::Yes));
        let receiver = over(&store);
        let (_, ticket) = processed(deliver(&receiver, envelope(ID)));
        let (settled, lines) = captured(|| block_on(receiver.settle(ticket, 201)));
        assert_eq!((settled.answer.outcome(), settled.answer.status()), (Outcome::Processed, 201));
        assert!(
            lines.iter().any(|line| line.level == Level::ERROR && line.field("step") == Some("commit")),
            "{lines:#?}"
        );

        let ticket = settled.uncommitted.unwrap();
        assert!(block_on(receiver.commit(&ticket)).is_err());
        assert_eq!(block_on(receiver.commit(&ticket)).unwrap(), Held::Yes);
        let commit = Asked::Commit { fence: 1, ttl: WEEK };
        assert_eq!(store.asked()[1..], [commit, commit, commit]);
    }
}

// E8: a late owner commits nothing while another has the event; its answer is its handler's.
#[test]
fn a_late_owner_has_lost() {
    let store = FakeStore::fresh().commit(Says::This(Held::Lost)).claim(Says::This(Found::InFlight(LEASE)));
    let ((answer, uncommitted), lines) = captured(|| settle(&over(&store), 200));
    assert_eq!((answer.outcome(), answer.status(), uncommitted), (Outcome::Processed, 200, true));
    assert_eq!(store.asked().len(), 3);
    assert!(lines.iter().any(|line| line.level == Level::WARN && line.field("step") == Some("commit")), "{lines:#?}");

    let store = FakeStore::fresh().release(Says::This(Held::Lost));
    let (answer, uncommitted) = settle(&over(&store), 500);
    assert_eq!((answer.outcome(), answer.status(), uncommitted), (Outcome::HandlerFailed, 500, false));
}

// E2, E5: what a handler has done is done: its commit is made under a new claim where the old one was lost and the event
// is nobody's, and needs none where another has done it as well.
#[test]
fn a_late_owner_whose_work_counts() {
    for (found, commits) in [(Found::Nothing, 2), (Found::Done, 1), (Found::Conflict, 1)] {
        let store = FakeStore::fresh().commit(Says::This(Held::Lost)).claim(Says::This(found));
        let store = store.commit(Says::This(Held::Yes));
        let (answer, uncommitted) = settle(&over(&store), 200);
        assert_eq!((answer.outcome(), answer.status(), uncommitted), (Outcome::Processed, 200, false));
        let (key, fingerprint, lease) = store.claimed();
        let mut asked = vec![Asked::Commit { fence: 1, ttl: WEEK }, Asked::Claim { key, fingerprint, lease }];
        asked.extend((commits == 2).then_some(Asked::Commit { fence: 2, ttl: WEEK }));
        assert_eq!(store.asked()[1..], asked);
    }
    // A store that fails in between is asked again later.
    let store = FakeStore::fresh().commit(Says::This(Held::Lost)).claim(Says::Fails);
    assert!(settle(&over(&store), 200).1);
}

// E5: a release that fails changes no answer: the claim ends with its lease.
#[test]
fn a_release_that_fails() {
    for says in [Says::Fails, Says::IsFull] {
        let store = FakeStore::fresh().release(says);
        let ((answer, uncommitted), lines) = captured(|| settle(&over(&store), 503));
        assert_eq!((answer.outcome(), answer.status(), uncommitted), (Outcome::HandlerFailed, 503, false));
        assert_eq!(store.asked().len(), 2);
        assert!(
            lines.iter().any(|line| line.level == Level::ERROR && line.field("step") == Some("release")),
            "{lines:#?}"
        );
    }
}

// E5, E8: a renewal tells a lost claim from a store that is down, after which the lease may still hold.
#[test]
fn renewals() {
    let (yes, lost) = (Says::This(Held::Yes), Says::This(Held::Lost));
    let store = FakeStore::fresh()
        .extend(yes)
        .extend(Says::Fails)
        .extend(lost)
        .claim(Says::This(Found::InFlight(LEASE)))
        .extend(lost)
        .claim(Says::This(Found::Done))
        // The other has given up, and the event is this one's again.
        .extend(lost)
        .claim(Says::This(Found::Nothing))
        .extend(yes)
        .extend(yes);
    let receiver = over(&store);
    let (_, ticket) = processed(deliver(&receiver, envelope(ID)));
    let (renewed, lines) = captured(|| (0..6).map(|_| block_on(receiver.renew(&ticket))).collect::<Vec<_>>());
    assert_eq!(renewed, [Held::Yes, Held::Yes, Held::Lost, Held::Lost, Held::Yes, Held::Yes]);
    assert_eq!(store.asked().last(), Some(&Asked::Extend { fence: 4, lease: LEASE }));
    let warned = lines.iter().filter(|line| line.message().starts_with("the claim is lost")).count();
    assert_eq!(warned, 1, "{lines:#?}");
}

// H7: 1xx never leaves the receiver, and 3xx and 410 do not unless the user opts in.
#[test]
fn statuses_that_would_end_or_redirect_a_delivery() {
    for status in 100..=599 {
        let receiver = |forward| {
            let store = FakeStore::fresh().commit(Says::This(Held::Yes)).release(Says::This(Held::Yes));
            builder().dedup(store).forward_any_status(forward).build().unwrap()
        };
        let harmful = matches!(status / 100, 1 | 3) || status == 410;
        let outcome = if status / 100 == 2 { Outcome::Processed } else { Outcome::HandlerFailed };

        let (answer, _) = settle(&receiver(false), status);
        let expected = if harmful { (outcome, 500, false) } else { (outcome, status, true) };
        assert_eq!((answer.outcome(), answer.status(), answer.keeps_response()), expected, "{status}");

        let (answer, _) = settle(&receiver(true), status);
        let expected = if status < 200 { (outcome, 500, false) } else { (outcome, status, true) };
        assert_eq!((answer.outcome(), answer.status(), answer.keeps_response()), expected, "{status}");
    }
}

// H8: told 503 while the handler runs on; what it makes of the event counts all the same.
#[test]
fn a_slow_handler_still_commits() {
    let store = FakeStore::fresh().commit(Says::This(Held::Yes));
    let receiver = over(&store);
    let (_, ticket) = processed(deliver(&receiver, envelope(ID)));
    let answer = receiver.slow(&ticket);
    assert_eq!((answer.outcome(), answer.status()), (Outcome::HandlerSlow, 503));
    assert!(matches!(&headers(&answer)[..], [("retry-after", _)]));
    assert_eq!(store.asked().len(), 1);

    _ = block_on(receiver.settle(ticket, 200));
    assert_eq!(store.asked()[1..], [Asked::Commit { fence: 1, ttl: WEEK }]);
}

// H8: the figures of the contract.
#[test]
fn timeouts() {
    let timeouts = over(&FakeStore::untouched()).timeouts();
    assert_eq!(timeouts.body, Duration::from_secs(5));
    assert_eq!(timeouts.answer, Duration::from_secs(9));
    assert_eq!(timeouts.handler, Duration::from_secs(300));
    assert_eq!(timeouts.lease, LEASE);
}

// E5: without deduplication, which has to be named, every delivery runs the handler.
#[test]
fn no_dedup() {
    let receiver = builder().dedup(NoDedup).build().unwrap();
    for _ in 0..2 {
        assert_eq!(settle(&receiver, 200).0.outcome(), Outcome::Processed);
        assert_eq!(settle(&receiver, 500).0.outcome(), Outcome::HandlerFailed);
    }
}
