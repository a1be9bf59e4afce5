//! Does every delivery leave exactly one line in the log, which says which it was and what became of it?
#![cfg(test)]

mod common;

use std::time::Duration;

use asixto_webhook_core::{Accepted, Bytes, Delivery, Held, Outcome, Receiver};
use common::{
    ID, Lines, NOW, TYPE, answered, block_on, builder,
    capture::{Line, captured, delivery_line},
    deliver, envelope,
    fakes::{FakeInbox, FakeStore, Found, Says},
    known, post, processed,
    scenes::play,
    signed_at,
};
use tracing::Level;

// K, K10: each outcome is logged once, with its code, its status and a level by which somebody is woken or not.
#[test]
fn one_line_a_delivery() {
    for outcome in Outcome::ALL {
        let (answer, lines) = captured(|| play(outcome, |builder| builder));
        // A handler that is slow goes on, and ends in a line of its own.
        let line = delivery_line(&lines);
        assert_eq!(line.field("outcome"), Some(outcome.code()));
        assert_eq!(line.field("status"), Some(&*answer.status().to_string()), "{outcome}");
        assert_eq!(line.field("provider"), Some("asixto"), "{outcome}");
        assert_eq!(line.target, "asixto_webhook");
        let level = match outcome {
            Outcome::Processed | Outcome::Stored | Outcome::Duplicate | Outcome::InFlight => Level::INFO,
            Outcome::Conflict | Outcome::StoreUnavailable | Outcome::NoSecret | Outcome::HandlerFailed => Level::ERROR,
            _ => Level::WARN,
        };
        assert_eq!(line.level, level, "{outcome}");
    }
}

/// Whether the MAC had been found to hold when a delivery came to this end.
fn verified(outcome: Outcome) -> bool {
    !matches!(
        outcome,
        Outcome::MethodNotAllowed
            | Outcome::BodyTooLarge
            | Outcome::BodyTimeout
            | Outcome::BodyAborted
            | Outcome::MissingHeader
            | Outcome::RepeatedHeader
            | Outcome::MalformedHeader
            | Outcome::NoSecret
            | Outcome::SignatureMismatch
    )
}

// K10: id and type of every delivery, under a name that says whether a signature vouches for them.
#[test]
fn which_delivery_it_was() {
    for outcome in Outcome::ALL {
        let (_, lines) = captured(|| play(outcome, |builder| builder));
        let line = delivery_line(&lines);
        let fields = ["event_id", "event_type", "unverified_id", "unverified_type"].map(|name| line.field(name));
        let expected =
            if verified(outcome) { [Some(ID), Some(TYPE), None, None] } else { [None, None, Some(ID), Some(TYPE)] };
        assert_eq!(fields, expected, "{outcome}");
    }
}

// K10: a body that is handed over whole and is too large is a delivery like any other.
#[test]
fn which_delivery_was_too_large() {
    let receiver = builder().dedup(FakeStore::untouched()).build().unwrap();
    let body = common::padded(&envelope(ID), 263_169);
    let (answer, lines) = captured(|| answered(post(&receiver, &Lines::new(), body)));
    assert_eq!(answer.outcome(), Outcome::BodyTooLarge);
    assert_eq!(delivery_line(&lines).field("unverified_id"), Some(ID));
    assert_eq!(delivery_line(&lines).field("unverified_type"), Some(TYPE));
}

// K10: on a best-effort basis, as far as the body goes.
#[test]
fn what_can_be_read_of_a_body_that_broke_off() {
    for (body, id, event_type) in [
        ("", None, None),
        (r#"{"id":"evt_1""#, Some("evt_1"), None),
        (r#"{"id":"evt_1","type":"job.exp"#, Some("evt_1"), None),
        (r#"{"type":"job.expired","data":{"id":"inner"},"id":"evt_1","#, Some("evt_1"), Some("job.expired")),
        (r#"{"id":7,"type":"job.expired""#, None, Some("job.expired")),
        (r#"{"data":{"id":"inner","type":"inner"}}"#, None, None),
        (r#"[{"id":"evt_1","type":"job.expired"}]"#, None, None),
        (r#"{"\u0069d":"\u0065vt_1","type":null}"#, Some("evt_1"), None),
    ] {
        let receiver = builder().dedup(FakeStore::untouched()).build().unwrap();
        let fault = asixto_webhook_core::BodyFault::Aborted;
        let (_, lines) = captured(|| receiver.broken_body(None, &Lines::new(), body.as_bytes(), fault));
        let line = delivery_line(&lines);
        assert_eq!((line.field("unverified_id"), line.field("unverified_type")), (id, event_type), "{body}");
    }
}

// K10: cut to 255 characters, then escaped: a sender writes no lines of its own into a log.
#[test]
fn ids_are_cut_and_escaped() {
    let long = "ñ\n".repeat(1000);
    for (sent, logged) in [
        ("a\nwebhook delivery outcome=processed", r"a\nwebhook delivery outcome=processed".to_owned()),
        ("a\r\u{1b}[2J\0b", r"a\r\u{1b}[2J\0b".to_owned()),
        ("a\u{202e}b\u{2066}\u{200b}\u{feff}", r"a\u{202e}b\u{2066}\u{200b}\u{feff}".to_owned()),
        ("a\u{2028}\u{85}b", r"a\u{2028}\u{85}b".to_owned()),
        (r#"a"b\c"#, r#"a\"b\\c"#.to_owned()),
        ("ñ🦀", "ñ🦀".to_owned()),
        (&long, r"ñ\n".repeat(127) + "ñ"),
    ] {
        let json = serde_json::to_string(sent).unwrap();
        let body = envelope("ID").replace("\"ID\"", &json).replace(&format!("\"{TYPE}\""), &json);

        let receiver = builder().dedup(FakeStore::fresh().commit(Says::This(Held::Yes))).build().unwrap();
        let (_, lines) = captured(|| {
            let (event, ticket) = processed(deliver(&receiver, body.clone()));
            assert_eq!((event.id(), event.event_type()), (sent, sent));
            block_on(receiver.settle(ticket, 200)).answer
        });
        let line = delivery_line(&lines);
        assert_eq!((line.field("event_id"), line.field("event_type")), (Some(&*logged), Some(&*logged)));
        // Nor in any other line about it.
        for line in &lines {
            assert!(line.fields.values().all(|value| !value.contains(|char: char| char.is_control())), "{line:?}");
        }

        let (_, lines) = captured(|| answered(post(&receiver, &Lines::new(), body)));
        let line = delivery_line(&lines);
        let fields = (line.field("unverified_id"), line.field("unverified_type"));
        assert_eq!(fields, (Some(&*logged), Some(&*logged)));
    }
}

// K10: a tenant's name can come from a URL, which a sender chooses.
#[test]
fn scopes_are_cut_and_escaped() {
    let receiver = builder().dedup(FakeStore::untouched()).build().unwrap();
    let scope = "acme\n\u{1b}".to_owned() + &"x".repeat(1000);
    let lines = Lines::new();
    let (_, logged) = captured(|| {
        answered(block_on(receiver.admit(Delivery::new("POST", &lines, Bytes::from(envelope(ID))).scope(&scope))))
    });
    let expected = r"acme\n\u{1b}".to_owned() + &"x".repeat(249);
    assert_eq!(delivery_line(&logged).field("scope"), Some(&*expected));
}

// K10: what is genuine is said to be, even where it is no envelope.
#[test]
fn an_invalid_envelope_is_verified_all_the_same() {
    let receiver = builder().dedup(FakeStore::untouched()).build().unwrap();
    for (body, id) in [(r#"{"id":"evt_1"}"#, "evt_1"), ("not JSON", "")] {
        let (_, lines) = captured(|| answered(deliver(&receiver, body)));
        let line = delivery_line(&lines);
        assert_eq!(line.field("outcome"), Some("invalid_envelope"));
        assert_eq!(line.field("event_id").unwrap_or_default(), id);
        assert_eq!((line.field("unverified_id"), line.field("unverified_type")), (None, None));
        assert_eq!(line.field("secret"), Some("current"));
    }
}

// D1: the log says which secret matched, so that an old one is seen to be out of use.
#[test]
fn the_label_is_logged() {
    for outcome in Outcome::ALL {
        let (_, lines) = captured(|| play(outcome, |builder| builder));
        let label = verified(outcome).then_some("current");
        assert_eq!(delivery_line(&lines).field("secret"), label, "{outcome}");
    }
}

// C2: the log of a stale delivery says by how much, in either direction.
#[test]
fn the_skew_is_logged() {
    for (at, skew) in [(NOW - 301, "301"), (NOW + 86_400, "-86400")] {
        let receiver = builder().dedup(FakeStore::untouched()).build().unwrap();
        let body = envelope(ID);
        let (_, lines) = captured(|| answered(post(&receiver, &signed_at(&known(), at, &body), body)));
        assert_eq!(delivery_line(&lines).field("skew_seconds"), Some(skew));
    }
}

// K10: which of the scenes' doubles answers is no matter of the log: an inbox and a store log alike.
#[test]
fn an_inbox_logs_like_a_store() {
    let line = |lines: Vec<Line>| {
        let line = delivery_line(&lines).clone();
        (line.level, line.fields)
    };
    let store = builder().dedup(FakeStore::default().claim(Says::This(Found::Done))).build().unwrap();
    let inbox = builder().inbox(FakeInbox::new(Says::This(Accepted::Duplicate))).build().unwrap();
    let log = |receiver: &Receiver| line(captured(|| answered(deliver(receiver, envelope(ID)))).1);
    assert_eq!(log(&store), log(&inbox));
}

// K10: a delivery has one outcome, so that outcomes can be counted; how its handler ended is told under another name.
#[test]
fn a_slow_delivery_is_one_delivery() {
    for (status, ended) in [(200, "processed"), (500, "handler_failed")] {
        let store = FakeStore::fresh().commit(Says::This(Held::Yes)).release(Says::This(Held::Yes));
        let receiver = builder().dedup(store).lease(Duration::from_secs(60)).build().unwrap();
        let (_, lines) = captured(|| {
            let (_, ticket) = processed(deliver(&receiver, envelope(ID)));
            _ = receiver.slow(&ticket);
            block_on(receiver.settle(ticket, status)).answer
        });
        let outcomes = |name| lines.iter().filter_map(move |line| line.field(name)).collect::<Vec<_>>();
        assert_eq!(outcomes("outcome"), ["handler_slow"]);
        assert_eq!(outcomes("handler_outcome"), [ended]);
        let end = lines.iter().find(|line| line.field("handler_outcome").is_some()).unwrap();
        assert_eq!((end.field("event_id"), end.field("event_type")), (Some(ID), Some(TYPE)));
    }
}
