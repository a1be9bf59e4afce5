//! What is answered, and in which order are the checks made: the outcome table, row by row.
#![cfg(test)]

mod common;

use std::{collections::HashMap, time::Duration};

use asixto_webhook_core::{BodyFault, Bytes, Delivery, Environment, Outcome, ReceiverBuilder};
use common::{
    FORGED_SECRET, ID, Lines, NOW, answered, block_on, builder, deliver, envelope,
    fakes::{FakeSource, FakeStore, Found, Says},
    headers, known, padded, post, processed,
    scenes::play,
    secrets, signed, signed_at,
};

const SIZE_LIMIT: usize = 263_168;

/// Outcome, code, status, and the headers that belong to it.
type Row = (Outcome, &'static str, u16, &'static [(&'static str, &'static str)]);

/// The table of the contract. A scene's handler answers 204 or 422, the lease of another has 12 s left, its own is
/// 30 s long.
const TABLE: [Row; 21] = [
    (Outcome::Processed, "processed", 204, &[]),
    (Outcome::Stored, "stored", 200, &[]),
    (Outcome::Duplicate, "duplicate", 200, &[]),
    (Outcome::Conflict, "conflict", 200, &[]),
    (Outcome::InFlight, "in_flight", 503, &[("retry-after", "12")]),
    (Outcome::MissingHeader, "missing_header", 400, &[]),
    (Outcome::RepeatedHeader, "repeated_header", 400, &[]),
    (Outcome::MalformedHeader, "malformed_header", 400, &[]),
    (Outcome::SignatureMismatch, "signature_mismatch", 400, &[]),
    (Outcome::OutsideWindow, "outside_window", 400, &[]),
    (Outcome::InvalidEnvelope, "invalid_envelope", 400, &[]),
    (Outcome::WrongEnvironment, "wrong_environment", 400, &[]),
    (Outcome::NonceReused, "nonce_reused", 400, &[]),
    (Outcome::MethodNotAllowed, "method_not_allowed", 405, &[("allow", "POST")]),
    (Outcome::BodyTimeout, "body_timeout", 408, &[]),
    (Outcome::BodyAborted, "body_aborted", 400, &[]),
    (Outcome::BodyTooLarge, "body_too_large", 413, &[]),
    (Outcome::HandlerFailed, "handler_failed", 422, &[]),
    (Outcome::HandlerSlow, "handler_slow", 503, &[("retry-after", "30")]),
    (Outcome::StoreUnavailable, "store_unavailable", 503, &[("retry-after", "5")]),
    (Outcome::NoSecret, "no_secret", 503, &[("retry-after", "5")]),
];

fn owned(headers: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
}

// K: the whole table.
#[test]
fn the_table_is_whole() {
    for outcome in Outcome::ALL {
        assert_eq!(TABLE.iter().filter(|row| row.0 == outcome).count(), 1, "{outcome}");
    }
}

// K: code, status and headers; no header of ours unless it is asked for.
#[test]
fn every_row() {
    for (outcome, code, status, expected) in TABLE {
        let answer = play(outcome, |builder| builder);
        assert_eq!(answer.outcome(), outcome);
        assert_eq!(answer.outcome().code(), code);
        assert_eq!(answer.outcome().to_string(), code);
        assert_eq!(answer.status(), status, "{code}");
        assert_eq!(headers(&answer), owned(expected), "{code}");
    }
}

// K: the diagnostics switch adds one header and changes nothing else.
#[test]
fn every_row_with_diagnostics() {
    for (outcome, code, status, expected) in TABLE {
        let answer = play(outcome, |builder| builder.diagnostics(true));
        assert_eq!((answer.outcome(), answer.status()), (outcome, status));
        let mut expected = owned(expected);
        expected.push(("asixto-webhook-outcome", code.to_owned()));
        assert_eq!(headers(&answer), expected, "{code}");
    }
}

// H7, K: only what a handler answered has a body; a refusal explains nothing.
#[test]
fn only_a_handlers_response_is_kept() {
    for (outcome, code, ..) in TABLE {
        let kept = matches!(outcome, Outcome::Processed | Outcome::HandlerFailed);
        assert_eq!(play(outcome, |builder| builder).keeps_response(), kept, "{code}");
    }
}

/// Everything that one request can have wrong with it at once, in the order of the checks.
const FAULTS: [Outcome; 9] = [
    Outcome::MethodNotAllowed,
    Outcome::BodyTooLarge,
    Outcome::MissingHeader,
    Outcome::NoSecret,
    Outcome::SignatureMismatch,
    Outcome::OutsideWindow,
    Outcome::InvalidEnvelope,
    Outcome::WrongEnvironment,
    Outcome::StoreUnavailable,
];

/// The headers of a body under all of `faults`: signing large ones again and again would take minutes.
#[derive(Default)]
struct Signer(HashMap<(Bytes, bool, bool), Lines>);

impl Signer {
    fn sign(&mut self, body: &Bytes, forged: bool, stale: bool) -> Lines {
        let entry = self.0.entry((body.clone(), forged, stale));
        let sign = || {
            let secrets = if forged { secrets("forged", FORGED_SECRET) } else { known() };
            signed_at(&secrets, if stale { NOW + 301 } else { NOW }, body)
        };
        entry.or_insert_with(sign).clone()
    }
}

// K, B11, C2: of all the faults of a request the first in the table's order is answered, and nothing behind it
// happens: each of the 511 combinations, with each of the header's three faults.
#[test]
fn the_first_fault_is_answered() {
    let mut signer = Signer::default();
    for faults in 0_u32..1 << FAULTS.len() {
        let has = |fault: Outcome| {
            FAULTS.iter().enumerate().any(|(place, known)| *known == fault && faults & (1 << place) != 0)
        };
        let header_faults: &[Outcome] = if has(Outcome::MissingHeader) {
            &[Outcome::MissingHeader, Outcome::RepeatedHeader, Outcome::MalformedHeader]
        } else {
            &[Outcome::Processed]
        };
        for header_fault in header_faults {
            let environment = if has(Outcome::WrongEnvironment) { "test" } else { "live" };
            let mut body = common::envelope_in(environment, ID);
            if has(Outcome::InvalidEnvelope) {
                body = body.replace(r#""id""#, r#""di""#);
            }
            if has(Outcome::BodyTooLarge) {
                body = padded(&body, SIZE_LIMIT + 1);
            }
            let body = Bytes::from(body);
            let good = signer.sign(&body, has(Outcome::SignatureMismatch), has(Outcome::OutsideWindow));
            let lines = match header_fault {
                Outcome::MissingHeader => Lines::new(),
                Outcome::RepeatedHeader => [good.clone(), good].concat(),
                Outcome::MalformedHeader => vec![(good[0].0.clone(), good[0].1.replace("t=", "t=0"))],
                _ => good,
            };
            let source = FakeSource::new(if has(Outcome::NoSecret) { Says::Fails } else { Says::This(Some(known())) });
            let store = FakeStore::default().claim(if has(Outcome::StoreUnavailable) {
                Says::Fails
            } else {
                Says::This(Found::Nothing)
            });
            let receiver =
                builder().secrets(source.clone()).dedup(store.clone()).environment(Environment::Live).build().unwrap();
            let method = if has(Outcome::MethodNotAllowed) { "PUT" } else { "POST" };
            let admission = block_on(receiver.admit(Delivery::new(method, &lines, body)));

            let first = FAULTS.iter().position(|fault| has(*fault));
            match first.map(|place| FAULTS[place]) {
                None => _ = processed(admission),
                Some(Outcome::MissingHeader) => {
                    assert_eq!(answered(admission).outcome(), *header_fault, "{faults:09b}")
                }
                Some(fault) => assert_eq!(answered(admission).outcome(), fault, "{faults:09b}"),
            }
            let place = first.unwrap_or(FAULTS.len());
            assert_eq!(
                source.asked().len(),
                usize::from(place >= 3),
                "{faults:09b}: secrets are looked up in their turn"
            );
            assert_eq!(store.asked().len(), usize::from(place >= 8), "{faults:09b}: the store is asked last");
        }
    }
}

// A1: one method, spelt as HTTP spells it.
#[test]
fn only_post() {
    let receiver = builder().dedup(FakeStore::untouched()).build().unwrap();
    assert!(receiver.announced(None, "POST", None).is_ok());
    for method in ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "post", "Post", "POST ", ""] {
        let answer = receiver.announced(None, method, None).unwrap_err();
        assert_eq!(answer.status(), 405, "{method}");
        assert_eq!(headers(&answer), owned(&[("allow", "POST")]), "{method}");
    }
}

// A1: verification never depends on the content type.
#[test]
fn any_content_type() {
    for content_type in ["application/json", "text/plain", "application/json; charset=utf-16", "multipart/form-data"] {
        let receiver = builder().dedup(FakeStore::fresh()).build().unwrap();
        let body = envelope(ID);
        let mut lines = signed(&known(), &body);
        lines.push(("content-type".into(), content_type.into()));
        drop(processed(post(&receiver, &lines, body)));
    }
}

// H4: the limit itself passes, one more does not, whether it is announced or arrives.
#[test]
fn the_body_limit() {
    let receiver = || builder().dedup(FakeStore::fresh()).build().unwrap();
    assert_eq!(receiver().body_limit(), SIZE_LIMIT);

    let full = padded(&envelope(ID), SIZE_LIMIT);
    assert!(receiver().announced(None, "POST", Some(SIZE_LIMIT as u64)).is_ok());
    drop(processed(deliver(&receiver(), full.clone())));

    for announced in [SIZE_LIMIT as u64 + 1, u64::MAX] {
        assert_eq!(receiver().announced(None, "POST", Some(announced)).unwrap_err().status(), 413);
    }
    assert_eq!(answered(deliver(&receiver(), full.clone() + " ")).outcome(), Outcome::BodyTooLarge);
    assert_eq!(receiver().broken_body(None, &Lines::new(), full.as_bytes(), BodyFault::TooLarge).status(), 413);
}

// H4: it can be raised.
#[test]
fn a_raised_body_limit() {
    let receiver = || builder().dedup(FakeStore::fresh()).body_limit(SIZE_LIMIT + 10).build().unwrap();
    let full = padded(&envelope(ID), SIZE_LIMIT + 10);
    drop(processed(deliver(&receiver(), full.clone())));
    assert_eq!(answered(deliver(&receiver(), full + " ")).outcome(), Outcome::BodyTooLarge);
}

// K: an unknown tenant cannot be told from a signature that does not match.
#[test]
fn an_unknown_tenant_looks_like_a_mismatch() {
    for diagnostics in [false, true] {
        let receiver = |secrets| {
            let builder = builder().dedup(FakeStore::untouched()).diagnostics(diagnostics);
            builder.secrets(FakeSource::new(Says::This(secrets))).build().unwrap()
        };
        let unknown = answered(deliver(&receiver(None), envelope(ID)));
        let mismatch = answered(deliver(&receiver(Some(secrets("other", FORGED_SECRET))), envelope(ID)));
        assert_eq!(unknown.outcome(), Outcome::SignatureMismatch);
        assert_eq!(unknown, mismatch);
        assert_eq!(headers(&unknown), headers(&mismatch));
    }
}

// K: which scope was asked for is the adapter's word, or else the receiver's own.
#[test]
fn the_secret_source_is_asked_for_the_scope() {
    let source = FakeSource::new(Says::This(None));
    let receiver = builder().secrets(source.clone()).dedup(FakeStore::untouched()).scope("own").build().unwrap();
    let (body, lines) = (Bytes::from(envelope(ID)), signed(&known(), envelope(ID)));
    _ = answered(block_on(receiver.admit(Delivery::new("POST", &lines, body.clone()))));
    _ = answered(block_on(receiver.admit(Delivery::new("POST", &lines, body).scope("acme"))));
    assert_eq!(source.asked(), ["own", "acme"]);
}

// K, E5: a forged delivery of an id claims nothing, so that the genuine one is processed afterwards.
#[test]
fn a_forgery_poisons_nothing() {
    let store = FakeStore::fresh();
    let receiver = builder().dedup(store.clone()).build().unwrap();
    let body = envelope(ID);
    let forged = post(&receiver, &signed(&secrets("forged", FORGED_SECRET), &body), body.clone());
    assert_eq!(answered(forged).outcome(), Outcome::SignatureMismatch);
    assert_eq!(store.asked(), []);
    drop(processed(deliver(&receiver, body)));
    assert_eq!(store.asked().len(), 1);
}

// C1: the receiver applies the window, on both sides alike.
#[test]
fn the_window() {
    let admit = |at: u64, configure: fn(ReceiverBuilder) -> ReceiverBuilder| {
        let receiver = configure(builder().dedup(FakeStore::fresh())).build().unwrap();
        let body = envelope(ID);
        post(&receiver, &signed_at(&known(), at, &body), body)
    };
    for at in [NOW - 300, NOW, NOW + 300] {
        drop(processed(admit(at, |builder| builder)));
    }
    for at in [NOW - 301, NOW + 301] {
        assert_eq!(answered(admit(at, |builder| builder)).outcome(), Outcome::OutsideWindow);
    }
    for at in [NOW - 10, NOW + 10] {
        drop(processed(admit(at, |builder| builder.tolerance(Duration::from_secs(10)))));
    }
    for at in [NOW - 11, NOW + 11] {
        let answer = answered(admit(at, |builder| builder.tolerance(Duration::from_secs(10))));
        assert_eq!(answer.outcome(), Outcome::OutsideWindow);
    }
}

// C1: now in whole seconds, rounded down.
#[test]
fn a_fraction_of_the_present_second_does_not_count() {
    use asixto_webhook_core::{UnixTime, testing::ManualClock};

    let clock = ManualClock::new(UnixTime::from_secs(NOW));
    let receiver = || builder().clock(clock.clone()).dedup(FakeStore::fresh()).build().unwrap();
    let (body, lines) = (envelope(ID), signed_at(&known(), NOW - 300, envelope(ID)));
    clock.advance(Duration::from_millis(999));
    let (event, _) = processed(post(&receiver(), &lines, body.clone()));
    assert_eq!(event.verified().skew_seconds(), 300);
    clock.advance(Duration::from_millis(1));
    assert_eq!(answered(post(&receiver(), &lines, body)).outcome(), Outcome::OutsideWindow);
}
