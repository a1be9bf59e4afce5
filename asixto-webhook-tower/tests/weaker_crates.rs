//! What has been seen to go wrong in other webhook crates, one test each.
#![cfg(test)]
#![cfg(feature = "memory")]

mod common;

use std::{
    convert::Infallible,
    future::ready,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use asixto_webhook_tower::{
    MemoryStore, WebhookLayer,
    core::{
        Asixto, Encoding, Event, Outcome, Receiver, ReceiverBuilder, Secret, SecretError, SecretSet, UnixTime, lookup,
        sign, testing::ManualClock,
    },
};
use bytes::Bytes;
use common::{
    ID, NOW, SECRET, SIGNATURE, Seen,
    body::{Scripted, Step},
    builder, bytes, delivery, envelope, envelope_with, layer, post, row, secrets, send, signature, strict, told,
    within,
};
use http::{HeaderValue, Request, Response};
use http_body::Body;
use http_body_util::Full;
use testkit::Log;
use tokio::{sync::Barrier, task::JoinSet};
use tower::{Layer, limit::ConcurrencyLimit};

/// What a request is told by a receiver that processes every verified event.
async fn told_to<B>(request: Request<B>) -> (u16, String)
where
    B: Body<Error: std::fmt::Debug> + Send + 'static,
{
    let seen = Seen::default();
    let response = send(&layer().layer(seen.service::<_, Full<Bytes>>()), request).await;
    let (status, outcome) = told(&response);
    assert_eq!(seen.all().len(), usize::from(outcome == "processed"));
    (status, outcome.to_owned())
}

fn expected(outcome: Outcome) -> (u16, String) {
    (outcome.status(), outcome.code().to_owned())
}

/// A valid body under a header of one's own.
fn headed(value: impl AsRef<[u8]>) -> Request<Full<Bytes>> {
    let mut request = delivery(ID);
    request.headers_mut().insert(SIGNATURE, HeaderValue::from_bytes(value.as_ref()).unwrap());
    request
}

// 1: a panic that the sender can reach. A panic in the service itself would end the test.
#[tokio::test(start_paused = true)]
async fn no_01_panic_that_a_sender_can_reach() {
    let two_mebibytes_and_one = Bytes::from(vec![b' '; 2 * 1024 * 1024 + 1]);
    assert_eq!(told_to(post(b"", Full::new(two_mebibytes_and_one.clone()))).await, expected(Outcome::BodyTooLarge));
    let unannounced = Scripted::pieces(&two_mebibytes_and_one, 65_536);
    assert_eq!(told_to(post(b"", unannounced)).await, expected(Outcome::BodyTooLarge));
    assert_eq!(told_to(post(b"", Scripted::new([Step::Error]))).await, expected(Outcome::BodyAborted));

    assert_eq!(told_to(headed(b"\xff\xfe")).await, expected(Outcome::MalformedHeader));
    let mac = "0".repeat(64);
    for time in ["-9223372036854775808", "-1", "0", "1e9", "", "+1", "٣"] {
        assert_eq!(told_to(headed(format!("t={time},v1={mac}"))).await, expected(Outcome::MalformedHeader), "{time}");
    }
    for time in ["1", "9223372036854775808", "18446744073709551615", "99999999999999999999999999"] {
        // Not signed like this, so that nothing is said of the window.
        assert_eq!(told_to(headed(format!("t={time},v1={mac}"))).await, expected(Outcome::SignatureMismatch), "{time}");
        // Signed like this, with a time that is as far off as it can be.
        let mac =
            Secret::new("current", SECRET).unwrap().sign(&[time.as_bytes(), b"."], &envelope(ID), Encoding::HexLower);
        assert_eq!(told_to(headed(format!("t={time},v1={mac}"))).await, expected(Outcome::OutsideWindow), "{time}");
    }
    // As deep as fits.
    let depth = 130_000;
    let deep = envelope_with(ID, &("[".repeat(depth) + &"]".repeat(depth)));
    assert_eq!(told_to(post(&deep, Full::new(deep.clone()))).await, expected(Outcome::Processed));
}

// 2: fail-open.
#[tokio::test(start_paused = true)]
async fn no_02_failing_open() {
    // A sender that is not known is not skipped,
    let receiver = builder().secrets(lookup(|_| ready(Ok(None)))).build().unwrap();
    let service = WebhookLayer::new(&receiver).layer(Seen::default().service::<_, Full<Bytes>>());
    assert_eq!(told(&send(&service, delivery(ID)).await), row(Outcome::SignatureMismatch));

    // a header that is missing is not excused,
    let mut unsigned = delivery(ID);
    unsigned.headers_mut().clear();
    assert_eq!(told_to(unsigned).await, expected(Outcome::MissingHeader));
    for empty in ["", "t=1787923200", "t=1787923200,v1=", "v1=", ","] {
        assert_eq!(told_to(headed(empty)).await, expected(Outcome::MalformedHeader), "{empty}");
    }

    // an empty secret is not one, and no more is no secret at all,
    for (issued, error) in [("", SecretError::Empty), ("whsec_", SecretError::PrefixOnly { prefix: "whsec_" })] {
        assert_eq!(Secret::new("current", issued).unwrap_err(), error);
    }
    assert_eq!(SecretSet::<Asixto>::new([]).unwrap_err(), SecretError::NoSecrets);
    assert!(Receiver::builder().dedup(MemoryStore::default()).build().is_err());

    // and a failure is not a success.
    for status in [400, 404, 500, 503] {
        let failing = layer().layer(strict(move |_: Request<Full<Bytes>>| {
            ready(Response::builder().status(status).body(Full::<Bytes>::default()))
        }));
        assert_eq!(told(&send(&failing, delivery(ID)).await), (status, "handler_failed"));
    }
}

// 3: taking the first of repeated headers, or joining them.
#[tokio::test(start_paused = true)]
async fn no_03_choice_among_repeated_headers() {
    let (good, bad) = (signature(&envelope(ID)), signature(b"another"));
    let (time, macs) = good.split_once(',').unwrap();
    for pair in [[&*good, &*good], [&*good, &*bad], [&*bad, &*good], [time, macs]] {
        let mut request = headed(pair[0]);
        request.headers_mut().append("Asixto-Signature", pair[1].parse().unwrap());
        assert_eq!(told_to(request).await, expected(Outcome::RepeatedHeader), "{pair:?}");
        // As a proxy joins them: not taken apart again.
        let joined = told_to(headed(pair.join(","))).await;
        let second_time = pair[1].starts_with("t=");
        assert_eq!(joined, expected(if second_time { Outcome::MalformedHeader } else { Outcome::Processed }));
    }
}

// 4: one HMAC per candidate, or one malformed candidate that spoils the good one.
#[tokio::test(start_paused = true)]
async fn no_04_work_per_candidate() {
    let body = envelope_with(ID, &format!("\"{}\"", "x".repeat(262_000)));
    let good = signature(&body);
    let candidates = |count: usize| {
        let mut header = format!("t={NOW}");
        (1..count).for_each(|number| header += &format!(",v1={number:064x}"));
        header + "," + good.split_once(',').unwrap().1
    };
    // The quickest of a few: the rest of the machine is at work as well. The good one comes last.
    let time = async |header: String| {
        let mut quickest = Duration::MAX;
        for _ in 0..5 {
            let mut request = post(&body, Full::new(body.clone()));
            request.headers_mut().insert(SIGNATURE, header.parse().unwrap());
            let start = Instant::now();
            assert_eq!(told_to(request).await, expected(Outcome::Processed));
            quickest = quickest.min(start.elapsed());
        }
        quickest
    };
    let (one, hundred) = (time(candidates(1)).await, time(candidates(100)).await);
    assert!(hundred < one * 10, "{hundred:?} instead of {one:?}");

    let good = signature(&envelope(ID));
    for spoiler in ["v1=", "v1=zz", "v1=00", "v1", "=", "v1=\t", "v0=1", "v2=x", "", " ", "v1==", "t", "T=1"] {
        for header in [format!("{spoiler},{good}"), format!("{good},{spoiler}")] {
            assert_eq!(told_to(headed(&header)).await, expected(Outcome::Processed), "{header}");
        }
    }
}

// 5: text where bytes are signed, or a body that was decompressed or decoded first.
#[tokio::test(start_paused = true)]
async fn no_05_text_in_place_of_bytes() {
    // Signed as it is, so that it fails later, and only for what it says.
    for body in [&b"\xff\xfe{\0}\0"[..], b"\x1f\x8b\x08\0", b"{\"id\":\"\xc3\"}"] {
        assert_eq!(told_to(post(body, Full::new(Bytes::from(body)))).await, expected(Outcome::InvalidEnvelope));
    }
    let replaced = "{\"id\":\"\u{fffd}\"}".as_bytes();
    let original = Bytes::from_static(b"{\"id\":\"\xc3\"}");
    assert_eq!(told_to(post(replaced, Full::new(original))).await, expected(Outcome::SignatureMismatch));
    // What is the same as JSON is not the same as bytes.
    let body = envelope(ID);
    for changed in [[&body[..], b"\n"].concat(), [b" ", &body[..]].concat(), [b"\xef\xbb\xbf", &body[..]].concat()] {
        assert_eq!(told_to(post(&body, Full::new(Bytes::from(changed)))).await, expected(Outcome::SignatureMismatch));
    }
    for (name, value) in [("content-encoding", "gzip"), ("content-type", "text/plain; charset=utf-16")] {
        let mut request = delivery(ID);
        request.headers_mut().insert(name, value.parse().unwrap());
        assert_eq!(told_to(request).await, expected(Outcome::Processed), "{name}");
    }
}

// 6: allocating what a length promises before a byte has arrived.
#[test]
fn no_06_memory_on_a_senders_word() {
    let cost = |length: u64| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let service = layer().layer(Seen::default().service::<_, Full<Bytes>>());
        let work = send(&service, post(b"", Scripted::new([Step::Never]).announcing(length)));
        let mut status = 0;
        let cost = allocation_counter::measure(|| status = runtime.block_on(work).status().as_u16()).bytes_max;
        assert_eq!(status, if length > 263_168 { 413 } else { 408 });
        cost
    };
    // The first one also pays for what is allocated once.
    cost(0);
    let usual = cost(0);
    for length in [263_168, 263_169, u64::from(u32::MAX), u64::MAX] {
        assert!(cost(length) <= usual + 1_000, "{length}");
    }
}

// 7: calling a clone that has not become ready.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_07_call_of_what_is_not_ready() {
    let seen = Seen::default();
    let service = layer().layer(ConcurrencyLimit::new(seen.service::<_, Full<Bytes>>(), 1));
    let mut requests = JoinSet::new();
    for number in 0..20 {
        let service = service.clone();
        requests.spawn(async move { send(&service, delivery(&format!("event-{number}"))).await.status() });
    }
    assert_eq!(within(requests.join_all()).await, [200; 20]);
    assert_eq!(seen.all().len(), 20);
}

// 8: dedup that checks first and records later, by the body, or by a header that nobody signed; done before the work.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_08_dedup_that_lets_twice_or_never() {
    // At once.
    let (seen, all) = (Seen::default(), Arc::new(Barrier::new(40)));
    let service = layer().layer(seen.service::<_, Full<Bytes>>());
    let mut copies = JoinSet::new();
    for _ in 0..40 {
        let (service, all) = (service.clone(), Arc::clone(&all));
        copies.spawn(async move {
            all.wait().await;
            told(&send(&service, delivery(ID)).await).1.to_owned()
        });
    }
    let outcomes = within(copies.join_all()).await;
    assert_eq!(outcomes.iter().filter(|outcome| *outcome == "processed").count(), 1, "{outcomes:?}");
    assert!(outcomes.iter().all(|outcome| ["processed", "in_flight", "duplicate"].contains(&&**outcome)));
    assert_eq!(seen.ids(), [ID]);

    // Another body under one id is no other event, and the same body but for the id is.
    let other_body = envelope_with(ID, "{\"n\":1}");
    let response = send(&service, post(&other_body, Full::new(other_body.clone()))).await;
    assert_eq!(told(&response), row(Outcome::Conflict));
    assert_eq!(told(&send(&service, delivery("other")).await), row(Outcome::Processed));
    assert_eq!(seen.ids(), [ID, "other"]);

    // Headers that nobody signed make neither two events of one nor one of two.
    for (id, key, outcome) in
        [("a", "1", Outcome::Processed), ("a", "2", Outcome::Duplicate), ("b", "1", Outcome::Processed)]
    {
        let mut request = delivery(id);
        for name in ["idempotency-key", "webhook-id", "x-request-id", "asixto-event-id"] {
            request.headers_mut().insert(name, key.parse().unwrap());
        }
        assert_eq!(told(&send(&service, request).await), row(outcome), "{id} {key}");
    }

    // Not done before it is done: each failure is followed by another attempt, the success by none.
    let attempts = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&attempts);
    let failing = layer().layer(strict(move |_: Request<Full<Bytes>>| {
        let before = counter.fetch_add(1, Ordering::SeqCst);
        assert!(before > 0, "the handler panics, as this test wants it to");
        ready(Response::builder().status(if before < 3 { 503 } else { 200 }).body(Full::<Bytes>::default()))
    }));
    for expected in [
        (500, "handler_failed"),
        (503, "handler_failed"),
        (503, "handler_failed"),
        (200, "processed"),
        (200, "duplicate"),
    ] {
        assert_eq!(told(&send(&failing, delivery(ID)).await), expected);
    }
}

// 9: parsing the whole payload inside verification, so that one new field makes valid deliveries fail.
#[tokio::test(start_paused = true)]
async fn no_09_payload_that_must_be_known() {
    for body in [
        // A field that is new, a type that is new, data of another shape, data that is no object.
        r#"{"id":"1","type":"job.succeeded","created":1,"environment":"live","data":{},"trace":{"a":[1]}}"#,
        r#"{"id":"1","type":"job.paused","created":1,"environment":"live","data":{"until":null}}"#,
        r#"{"id":"1","type":"job.succeeded","created":1,"environment":"test","data":{"job_id":7,"new":true}}"#,
        r#"{"id":"1","type":"job.failed","created":1,"environment":"live","data":null}"#,
        r#"{"data":[1e999,{"":{}},"\ud800"],"environment":"live","created":1,"type":"a.b","id":"1"}"#,
    ] {
        assert_eq!(
            told_to(post(body.as_bytes(), Full::new(Bytes::from(body)))).await,
            expected(Outcome::Processed),
            "{body}"
        );
    }
}

// 10: keys in `Debug`, payloads in the log, error bodies that tell the sender why.
#[tokio::test(start_paused = true)]
async fn no_10_secret_or_payload_that_shows() {
    const MARKER: &str = "customer-confidential-8c1f";
    let log = Log::start();
    let body = envelope_with(ID, &format!("{{\"note\":\"{MARKER}\"}}"));
    let shown = Arc::new(Mutex::new(String::new()));
    let debug = Arc::clone(&shown);
    let layer = WebhookLayer::new(&builder().diagnostics(false).build().unwrap());
    let service = layer.layer(strict(move |request: Request<Full<Bytes>>| {
        *debug.lock().unwrap() += &format!("{:?}", request.extensions().get::<Event>().unwrap());
        ready(Response::builder().status(302).body(Full::new(Bytes::from(MARKER))))
    }));
    let good = || post(&body, Full::new(body.clone()));
    let mut unsigned = good();
    unsigned.headers_mut().clear();
    for request in [
        good(),
        unsigned,
        post(b"another", Full::new(body.clone())),
        post(b"", Full::new(Bytes::from(vec![b' '; 300_000]))),
    ] {
        let response = send(&service, request).await;
        assert!(!response.status().is_success());
        assert_eq!(response.headers().len(), 0);
        assert_eq!(bytes(response.into_body()).await, "");
    }
    assert!(!shown.lock().unwrap().is_empty());
    assert_eq!(log.outcomes(), ["handler_failed", "missing_header", "signature_mismatch", "body_too_large"]);
    let shown = format!("{} {layer:?} {service:?} {:?}", shown.lock().unwrap(), log.lines());
    let mac = signature(&body);
    for secret in [SECRET, &SECRET["whsec_".len()..], MARKER, mac.rsplit('=').next().unwrap()] {
        assert!(!shown.contains(secret), "{secret}: {shown}");
    }
}

/// A receiver whose clock is moved by hand.
fn at(now: u64) -> (ManualClock, ReceiverBuilder) {
    let clock = ManualClock::new(UnixTime::from_secs(now));
    (clock.clone(), builder().clock(clock))
}

// 11: a clock that is welded in, and tests that ask for no more than an error: C1, C2 to the second, each by its code.
#[tokio::test(start_paused = true)]
async fn no_11_clock_that_is_welded_in() {
    let (clock, receiver) = at(NOW);
    let service = WebhookLayer::new(&receiver.build().unwrap())
        .layer(strict(|_: Request<Full<Bytes>>| ready(Ok::<_, Infallible>(Response::<Full<Bytes>>::default()))));
    for (now, outcome) in [
        (NOW - 301, Outcome::OutsideWindow),
        (NOW - 300, Outcome::Processed),
        (NOW, Outcome::Duplicate),
        (NOW + 300, Outcome::Duplicate),
        (NOW + 301, Outcome::OutsideWindow),
        (0, Outcome::OutsideWindow),
        (u64::MAX / 1_000, Outcome::OutsideWindow),
        (NOW, Outcome::Duplicate),
    ] {
        clock.set(UnixTime::from_secs(now));
        assert_eq!(told(&send(&service, delivery(ID)).await), row(outcome), "{now}");
    }
    // Rounded down: the last moment of the last second is inside.
    clock.set(UnixTime::from_secs(NOW + 300));
    clock.advance(Duration::from_millis(999));
    assert_eq!(told(&send(&service, delivery(ID)).await), row(Outcome::Duplicate));
    clock.advance(Duration::from_millis(1));
    assert_eq!(told(&send(&service, delivery(ID)).await), row(Outcome::OutsideWindow));
    // The signature is looked at first.
    let forged = sign(&secrets("whsec_m5RkZt0oXw3EiNq8ByDv6UhSj2LgCf7A"), UnixTime::from_secs(NOW), &envelope(ID));
    assert_eq!(told(&send(&service, headed(forged)).await), row(Outcome::SignatureMismatch));
}
