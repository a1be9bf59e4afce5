//! Every type of request body gives the same bytes, and none of them gets past limit and deadline.
#![cfg(test)]
#![cfg(feature = "memory")]

mod common;

use std::{collections::VecDeque, fmt, sync::atomic::Ordering};

use asixto_webhook_tower::{
    MemoryStore,
    core::{Outcome, UnixTime, sign},
};
use bytes::{Buf, Bytes};
use common::{
    ID, NOW, SECRET, SIGNATURE, Seen,
    body::{Scripted, Step},
    builder, delivery, envelope, envelope_with, layer, post, row, secrets, secs, send, told,
};
use http::Request;
use http_body::{Body, SizeHint};
use http_body_util::{BodyExt, BodyStream, Full, StreamBody};
use testkit::Log;
use tokio::time::Instant;
use tower::Layer;

/// H4: 256 KiB and 1 KiB of room.
const LIMIT: usize = 263_168;

/// Whether `body` comes through as `sent`, under a head that vouches for it.
async fn comes_through<B>(sent: &Bytes, body: B)
where
    B: Body<Error: fmt::Debug> + Send + 'static,
{
    let seen = Seen::default();
    let service = layer().layer(seen.service::<_, Full<Bytes>>());
    assert_eq!(told(&send(&service, post(sent, body)).await), row(Outcome::Processed));
    let got = seen.one();
    assert_eq!((&got.body, got.event.body()), (sent, sent));
}

/// What `body` is told.
async fn ends<B>(body: B) -> (u16, String)
where
    B: Body<Error: fmt::Debug> + Send + 'static,
{
    let seen = Seen::default();
    let service = layer().layer(seen.service::<_, Full<Bytes>>());
    let response = send(&service, post(b"", body)).await;
    assert_eq!(seen.ids(), [""; 0]);
    assert_eq!(Body::size_hint(response.body()).exact(), Some(0));
    let (status, outcome) = told(&response);
    (status, outcome.to_owned())
}

fn expected(outcome: Outcome) -> (u16, String) {
    (outcome.status(), outcome.code().to_owned())
}

// B10: the types that servers and tests use.
#[tokio::test(start_paused = true)]
async fn usual_types() {
    let sent = envelope(ID);
    comes_through(&sent, Full::new(sent.clone())).await;
    comes_through(&sent, Full::new(sent.clone()).boxed()).await;
    comes_through(&sent, Full::new(sent.clone()).boxed_unsync()).await;
    comes_through(&sent, axum::body::Body::from(sent.clone())).await;
    comes_through(&sent, axum::body::Body::new(Scripted::pieces(&sent, 7).map_err(|_| axum::Error::new("reset"))))
        .await;
    comes_through(&sent, String::from_utf8(sent.to_vec()).unwrap()).await;
    comes_through(&sent, Box::new(Full::new(sent.clone()))).await;
    comes_through(&sent, http_body_util::Limited::new(Full::new(sent.clone()), LIMIT)).await;
}

// B10: in several frames, with trailers behind them, which nobody signed and nobody reads.
#[tokio::test(start_paused = true)]
async fn frames_and_trailers() {
    let sent = envelope(ID);
    for size in [1, 10, 1000] {
        let mut steps: Vec<_> = sent.chunks(size).map(|chunk| Step::Data(Bytes::copy_from_slice(chunk))).collect();
        comes_through(&sent, StreamBody::new(BodyStream::new(Scripted::new(steps.clone())))).await;
        steps.insert(0, Step::Data(Bytes::new()));
        steps.push(Step::Trailers);
        comes_through(&sent, StreamBody::new(BodyStream::new(Scripted::new(steps.clone())))).await;
    }
}

// B10: data that is not `Bytes`, and does not lie in one piece.
#[tokio::test(start_paused = true)]
async fn other_data() {
    let sent = envelope(ID);
    let (head, tail) = (sent.slice(..20), sent.slice(20..));
    comes_through(&sent, Full::new(Buf::chain(head.clone(), tail.clone()))).await;
    let mut ring = VecDeque::with_capacity(sent.len());
    // Its bytes wrap around its end.
    ring.extend(vec![0; sent.len() - 10]);
    ring.extend(&sent[..10]);
    ring.drain(..sent.len() - 10);
    ring.extend(&sent[10..]);
    assert_ne!(ring.as_slices().1, b"");
    comes_through(&sent, Full::new(ring)).await;
    comes_through(&sent, Full::new(std::io::Cursor::new(sent.to_vec()))).await;
    comes_through(
        &sent,
        Full::new(&b"x"[..]).map_frame(move |_| http_body::Frame::data(Buf::chain(head.clone(), tail.clone()))),
    )
    .await;
}

// B10: a body that came in one piece is handed to the inner service without a copy.
#[tokio::test(start_paused = true)]
async fn restored_without_a_copy() {
    let (seen, sent) = (Seen::default(), envelope(ID));
    let service = layer().layer(seen.service::<_, Full<Bytes>>());
    send(&service, post(&sent, Full::new(sent.clone()))).await;
    assert_eq!(seen.one().body.as_ptr(), sent.as_ptr());
}

// B10: whatever the bytes are; only then is it asked whether they are JSON.
#[tokio::test(start_paused = true)]
async fn bytes_that_are_no_text() {
    for body in [&b"\xff\xfe{\0}\0"[..], b"\x1f\x8b\x08\0\0\0\0\0", b"{\"id\":\"\xe4\"}", b"\r\n", b""] {
        let service = layer().layer(Seen::default().service::<_, Full<Bytes>>());
        let response = send(&service, post(body, Full::new(Bytes::from(body)))).await;
        assert_eq!(told(&response), row(Outcome::InvalidEnvelope), "{body:?}");
    }
    let padded = Bytes::from([b"\r\n\t ", &envelope(ID)[..], b" \n"].concat());
    comes_through(&padded, Full::new(padded.clone())).await;
}

// The restored body is of another type where the inner service wants one.
#[tokio::test(start_paused = true)]
async fn restored_as_another_type() {
    let (seen, sent) = (Seen::default(), envelope(ID));
    let service = layer().restore_as::<axum::body::Body>().layer(seen.service::<axum::body::Body, axum::body::Body>());
    let response = send(&service, post(&sent, Scripted::pieces(&sent, 9))).await;
    assert_eq!(told(&response), row(Outcome::Processed));
    assert_eq!(seen.one().body, sent);

    let service = layer().restore_as::<Bytes>().layer(tower::service_fn(|request: Request<Bytes>| async move {
        let status = if *request.body() == envelope(ID) { 200 } else { 500 };
        http::Response::builder().status(status).body(String::new())
    }));
    assert_eq!(told(&send(&service, delivery(ID)).await), row(Outcome::Processed));
}

// H8: a body that breaks off, and one that is never complete.
#[tokio::test(start_paused = true)]
async fn incomplete() {
    let piece = || Step::Data(envelope(ID));
    assert_eq!(ends(Scripted::new([piece(), Step::Error])).await, expected(Outcome::BodyAborted));
    for steps in [vec![Step::Never], vec![piece(), Step::Never], vec![piece(), Step::Trailers, Step::Never]] {
        let (start, log) = (Instant::now(), Log::start());
        assert_eq!(ends(Scripted::new(steps.clone())).await, expected(Outcome::BodyTimeout));
        assert_eq!(start.elapsed(), secs(5));
        // K10
        let id = log.delivery().field("unverified_id").map(str::to_owned);
        assert_eq!(id.as_deref(), (steps.len() > 1).then_some(ID));
    }
}

// H4, H8: a body without end meets the limit, or the deadline where its frames are empty, or no data at all.
#[tokio::test(start_paused = true)]
async fn without_end() {
    let endless = |step| Scripted::new([Step::Data(envelope(ID)), Step::Endless(Box::new(step))]);
    let body = endless(Step::Data(vec![b' '; 4096].into()));
    let polls = body.polls();
    assert_eq!(ends(body).await, expected(Outcome::BodyTooLarge));
    assert_eq!(polls.load(Ordering::SeqCst), 2 + LIMIT / 4096);

    for step in [Step::Data(Bytes::new()), Step::Trailers] {
        let _clock = tokio::spawn(tokio::time::advance(secs(5)));
        assert_eq!(ends(endless(step.clone())).await, expected(Outcome::BodyTimeout), "{step:?}");
    }
}

// H4: the limit, in one frame, in many, and announced.
#[tokio::test(start_paused = true)]
async fn the_limit() {
    let text = |size: usize| "x".repeat(size - envelope_with(ID, "\"\"").len());
    let largest = envelope_with(ID, &format!("\"{}\"", text(LIMIT)));
    assert_eq!(largest.len(), LIMIT);
    comes_through(&largest, Full::new(largest.clone())).await;
    comes_through(&largest, Scripted::pieces(&largest, 16_384)).await;

    let larger = envelope_with(ID, &format!("\"{}\"", text(LIMIT + 1)));
    assert_eq!(ends(Full::new(larger.clone())).await, expected(Outcome::BodyTooLarge));
    assert_eq!(ends(Scripted::pieces(&larger, 16_384)).await, expected(Outcome::BodyTooLarge));
}

// H4: what a body says of its length decides only where that is over the limit; then nothing of it is read.
#[tokio::test(start_paused = true)]
async fn a_length_that_is_not_true() {
    let sent = envelope(ID);
    for length in [0, 1, sent.len() as u64 - 1, sent.len() as u64 + 1, LIMIT as u64] {
        comes_through(&sent, Scripted::pieces(&sent, 50).announcing(length)).await;
    }
    let hints: [(Option<u64>, Option<u64>); 4] =
        [(None, Some(1)), (Some(sent.len() as u64 + 1), None), (Some(1), Some(2)), (None, Some(u64::MAX))];
    for (lower, upper) in hints {
        let mut hint = SizeHint::new();
        hint.set_lower(lower.unwrap_or(0));
        if let Some(upper) = upper {
            hint.set_upper(upper);
        }
        comes_through(&sent, Scripted::pieces(&sent, 50).claiming(hint)).await;
    }
    for length in [LIMIT as u64 + 1, u64::MAX] {
        let body = Scripted::pieces(&sent, 50).announcing(length);
        let polls = body.polls();
        assert_eq!(ends(body).await, expected(Outcome::BodyTooLarge));
        assert_eq!(polls.load(Ordering::SeqCst), 0);
    }
    let large = Scripted::new([Step::Endless(Box::new(Step::Data(vec![b' '; 4096].into())))]).announcing(10);
    assert_eq!(ends(large).await, expected(Outcome::BodyTooLarge));
}

// H4: a limit that is raised.
#[tokio::test(start_paused = true)]
async fn a_raised_limit() {
    let seen = Seen::default();
    let receiver = builder().dedup(MemoryStore::default()).body_limit(2 * LIMIT).build().unwrap();
    let service = asixto_webhook_tower::WebhookLayer::new(&receiver).layer(seen.service::<_, Full<Bytes>>());
    let body = envelope_with(ID, &format!("\"{}\"", "x".repeat(LIMIT)));
    let header = sign(&secrets(SECRET), UnixTime::from_secs(NOW), &body);
    let request = Request::post("/").header(SIGNATURE, header).body(Full::new(body.clone())).unwrap();
    assert_eq!(told(&send(&service, request).await), row(Outcome::Processed));
    assert_eq!(seen.one().body, body);
}
