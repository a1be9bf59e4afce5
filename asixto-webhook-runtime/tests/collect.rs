//! How a body is collected: under a limit and a deadline, and what is said of one that does not arrive whole.
#![cfg(test)]

mod common;

use std::{
    collections::VecDeque,
    future::Future,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use asixto_webhook_runtime::{
    Driver,
    core::{Answer, Bytes, NoDedup, Outcome},
};
use common::{ID, TYPE, builder, envelope, headers, millis, over, secs, within};
use testkit::Log;
use tokio::time::{Instant, Sleep, advance, sleep};
use tracing::Level;

/// H4: 256 KiB and 1 KiB of room.
const LIMIT: usize = 263_168;

/// A body that does what it is told, and counts how often it is asked.
struct Body {
    steps: VecDeque<Step>,
    polls: usize,
    wait: Option<Pin<Box<Sleep>>>,
}

#[derive(Clone)]
enum Step {
    Chunk(Bytes),
    /// Nothing for a while.
    Wait(Duration),
    Error,
    /// Nothing for ever.
    Never,
    /// Always another one, as long as it is asked.
    Endless(&'static [u8]),
}

impl Body {
    fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().collect(), polls: 0, wait: None }
    }

    fn chunks(chunks: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Self {
        Self::new(chunks.into_iter().map(|chunk| Step::Chunk(Bytes::copy_from_slice(chunk.as_ref()))))
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, &'static str>>> {
        self.polls += 1;
        loop {
            match self.steps.pop_front() {
                None => return Poll::Ready(None),
                Some(Step::Chunk(chunk)) => return Poll::Ready(Some(Ok(chunk))),
                Some(Step::Error) => return Poll::Ready(Some(Err("connection reset"))),
                Some(Step::Never) => {
                    self.steps.push_front(Step::Never);
                    return Poll::Pending;
                }
                Some(Step::Endless(chunk)) => {
                    // So that a test which fails ends as well.
                    if self.polls < 2_000_000 {
                        self.steps.push_front(Step::Endless(chunk));
                    }
                    return Poll::Ready(Some(Ok(Bytes::from_static(chunk))));
                }
                Some(Step::Wait(time)) => {
                    let wait = self.wait.get_or_insert_with(|| Box::pin(sleep(time)));
                    if wait.as_mut().poll(cx).is_pending() {
                        self.steps.push_front(Step::Wait(time));
                        return Poll::Pending;
                    }
                    self.wait = None;
                }
            }
        }
    }
}

fn driver() -> Driver {
    over(&NoDedup)
}

fn head(method: &'static str) -> common::Head {
    common::Head { method, ..common::Head::of(b"") }
}

async fn collect_since(arrived: Instant, announced: Option<u64>, body: &mut Body) -> Result<Bytes, Answer> {
    within(driver().collect(arrived, &head("POST"), announced, |cx| body.poll(cx))).await
}

async fn collect(announced: Option<u64>, body: &mut Body) -> Result<Bytes, Answer> {
    collect_since(Instant::now(), announced, body).await
}

#[track_caller]
fn refused(collected: Result<Bytes, Answer>) -> (Outcome, u16) {
    let answer = collected.unwrap_err();
    assert!(!answer.keeps_response());
    (answer.outcome(), answer.status())
}

const TOO_LARGE: (Outcome, u16) = (Outcome::BodyTooLarge, 413);
const TIMEOUT: (Outcome, u16) = (Outcome::BodyTimeout, 408);
const ABORTED: (Outcome, u16) = (Outcome::BodyAborted, 400);
const METHOD: (Outcome, u16) = (Outcome::MethodNotAllowed, 405);

// B10: the bytes on the wire, and those very bytes where they came in one piece.
#[tokio::test(start_paused = true)]
async fn one_chunk_is_not_copied() {
    let chunk = envelope(ID);
    let empty = || Step::Chunk(Bytes::new());
    for steps in [
        vec![Step::Chunk(chunk.clone())],
        vec![empty(), Step::Chunk(chunk.clone())],
        // As HTTP/2 ends a body.
        vec![Step::Chunk(chunk.clone()), empty()],
        vec![empty(), empty(), Step::Chunk(chunk.clone()), empty(), empty()],
    ] {
        let body = collect(None, &mut Body::new(steps)).await.unwrap();
        assert_eq!(body, chunk);
        assert_eq!(body.as_ptr(), chunk.as_ptr());
    }
}

// B10: every byte once, in order, however they are cut.
#[tokio::test(start_paused = true)]
async fn many_chunks_are_put_together() {
    let sent: Vec<u8> = (0..70_000_u32).flat_map(u32::to_le_bytes).take(LIMIT).collect();
    for size in [1, 2, 3, 1000, 16_384, LIMIT - 1] {
        let body = collect(None, &mut Body::chunks(sent.chunks(size))).await.unwrap();
        assert!(body == sent, "{size}");
    }
    let uneven = [&sent[..1], &[], &sent[1..7], &sent[7..5000], &[], &sent[5000..5001]];
    assert!(collect(None, &mut Body::chunks(uneven)).await.unwrap() == sent[..5001]);
}

// An empty body is whole: what it lacks is for the signature and the envelope to say.
#[tokio::test(start_paused = true)]
async fn an_empty_body() {
    for announced in [None, Some(0)] {
        assert_eq!(collect(announced, &mut Body::new([])).await.unwrap(), "");
        assert_eq!(collect(announced, &mut Body::chunks([&b""[..], b""])).await.unwrap(), "");
    }
}

// H4: the limit itself passes, one byte more does not, however it is cut, and nothing more is read.
#[tokio::test(start_paused = true)]
async fn the_limit_in_chunks() {
    let bytes = vec![b' '; LIMIT + 1];
    for size in [1, 1000, LIMIT - 1, LIMIT] {
        let body = collect(None, &mut Body::chunks(bytes[..LIMIT].chunks(size))).await.unwrap();
        assert_eq!(body.len(), LIMIT, "{size}");

        let mut body = Body::chunks(bytes.chunks(size));
        body.steps.push_back(Step::Never);
        assert_eq!(refused(collect(None, &mut body).await), TOO_LARGE, "{size}");
        assert_eq!(body.polls, (LIMIT + 1).div_ceil(size), "{size}");
    }
    let mut body = Body::new([Step::Chunk(bytes.into()), Step::Never]);
    assert_eq!(refused(collect(None, &mut body).await), TOO_LARGE);
    assert_eq!(body.polls, 1);
}

// H4: announced over the limit, nothing is read; announced within it, what comes is what counts.
#[tokio::test(start_paused = true)]
async fn the_limit_as_announced() {
    for announced in [LIMIT as u64 + 1, 2 * 1024 * 1024 + 1, u64::MAX] {
        let mut body = Body::chunks([&b"{}"[..]]);
        assert_eq!(refused(collect(Some(announced), &mut body).await), TOO_LARGE);
        assert_eq!(body.polls, 0, "{announced}");
    }
    let mut body = Body::new([Step::Chunk(vec![b' '; LIMIT].into())]);
    assert_eq!(collect(Some(LIMIT as u64), &mut body).await.unwrap().len(), LIMIT);
}

// H4: the limit can be raised.
#[tokio::test(start_paused = true)]
async fn a_raised_limit() {
    let driver = Driver::new(&builder().dedup(NoDedup).body_limit(LIMIT + 1).build().unwrap());
    for (size, passes) in [(LIMIT + 1, true), (LIMIT + 2, false)] {
        for announced in [None, Some(size as u64)] {
            let mut body = Body::new([Step::Chunk(vec![b' '; size].into())]);
            let collected = driver.collect(Instant::now(), &head("POST"), announced, |cx| body.poll(cx)).await;
            assert_eq!(collected.is_ok(), passes, "{size} {announced:?}");
        }
    }
}

// An announced length is no more than a hint.
#[tokio::test(start_paused = true)]
async fn announced_otherwise_than_sent() {
    let sent = envelope(ID);
    for announced in [0, 1, sent.len() as u64 - 1, sent.len() as u64 + 1, LIMIT as u64] {
        let body = collect(Some(announced), &mut Body::chunks(sent.chunks(10))).await.unwrap();
        assert_eq!(body, sent, "{announced}");
    }
    // Announced small, and sent over the limit.
    let mut body = Body::new([Step::Endless(&[b' '; 4096])]);
    assert_eq!(refused(collect(Some(10), &mut body).await), TOO_LARGE);
    assert_eq!(body.polls, LIMIT / 4096 + 1);
}

// H8: 5 s for the body, from the request's arrival.
#[tokio::test(start_paused = true)]
async fn a_body_that_stops() {
    for (before, left) in [(0, 5000), (3000, 2000), (4999, 1), (5000, 0), (60_000, 0)] {
        let arrived = Instant::now();
        sleep(millis(before)).await;
        let start = Instant::now();
        let mut body = Body::new([Step::Chunk("{".into()), Step::Never]);
        assert_eq!(refused(collect_since(arrived, None, &mut body).await), TIMEOUT, "{before}");
        assert_eq!(start.elapsed(), millis(left), "{before}");
    }
}

// H8: one that trickles is stopped as one that stands still, and one that is in time is not.
#[tokio::test(start_paused = true)]
async fn a_body_that_trickles() {
    let start = Instant::now();
    let drops = (0..100).flat_map(|_| [Step::Chunk("1".into()), Step::Wait(millis(300))]);
    assert_eq!(refused(collect(None, &mut Body::new(drops)).await), TIMEOUT);
    assert_eq!(start.elapsed(), secs(5));

    for (time, in_time) in [(4999, true), (5000, false), (5001, false)] {
        let mut body = Body::new([Step::Chunk("{".into()), Step::Wait(millis(time)), Step::Chunk("}".into())]);
        assert_eq!(collect(None, &mut body).await.is_ok(), in_time, "{time}");
    }
}

// H8: the deadline holds for a body that always has another chunk, of nothing; and other work on its thread goes on
// meanwhile, such as the work that lets time pass here.
#[tokio::test(start_paused = true)]
async fn a_body_of_empty_chunks_without_end() {
    let start = Instant::now();
    let _work = tokio::spawn(advance(secs(5)));
    let mut body = Body::new([Step::Endless(b"")]);
    assert_eq!(refused(collect_since(start, None, &mut body).await), TIMEOUT);
    assert_eq!(start.elapsed(), secs(5));
}

// H4: and one whose chunks are not empty ends at the limit.
#[tokio::test(start_paused = true)]
async fn a_body_without_end() {
    let mut body = Body::new([Step::Endless(b"1")]);
    assert_eq!(refused(collect(None, &mut body).await), TOO_LARGE);
    assert_eq!(body.polls, LIMIT + 1);
}

// K10: what did arrive names the delivery, as far as it can be read, as unverified.
#[tokio::test(start_paused = true)]
async fn a_body_that_breaks_off() {
    let log = Log::start();
    let mut body = Body::new([Step::Chunk(envelope(ID)), Step::Error, Step::Never]);
    assert_eq!(refused(collect(None, &mut body).await), ABORTED);
    assert_eq!(body.polls, 2);
    let line = log.delivery();
    assert_eq!(
        (line.level, line.field("outcome"), line.field("status")),
        (Level::WARN, Some("body_aborted"), Some("400"))
    );
    assert_eq!((line.field("unverified_id"), line.field("unverified_type")), (Some(ID), Some(TYPE)));
    assert_eq!((line.field("event_id"), line.field("event_type")), (None, None));
}

// K10: the same for one that is too late, or too large, in pieces too.
#[tokio::test(start_paused = true)]
async fn a_body_that_is_late_or_large_is_named() {
    let body = envelope(ID);
    let (head, tail) = body.split_at(20);
    for (end, code) in [(Step::Never, "body_timeout"), (Step::Endless(&[b' '; 4096]), "body_too_large")] {
        let log = Log::start();
        let mut body = Body::chunks([head, tail]);
        body.steps.push_back(end);
        refused(collect(None, &mut body).await);
        let line = log.delivery();
        assert_eq!((line.field("outcome"), line.field("unverified_id")), (Some(code), Some(ID)));
    }
}

// K10: a sender that hangs up half-way leaves one line as well.
#[tokio::test(start_paused = true)]
async fn a_sender_that_hangs_up_half_way() {
    for (arrived, id) in [(vec![], None), (vec![Step::Chunk(envelope(ID))], Some(ID))] {
        let (driver, head) = (driver(), head("POST"));
        let mut body = Body::new(arrived.into_iter().chain([Step::Never]));
        let log = Log::start();
        {
            let mut collecting = pin!(driver.collect(Instant::now(), &head, None, |cx| body.poll(cx)));
            let asleep = std::future::poll_fn(|cx| Poll::Ready(collecting.as_mut().poll(cx).is_pending())).await;
            assert!(asleep);
            assert_eq!(log.lines().len(), 0);
        }
        let line = log.delivery();
        assert_eq!((line.field("outcome"), line.field("unverified_id")), (Some("body_aborted"), id));
    }
}

// K10: and a body that is whole leaves none here: what becomes of it is not known yet.
#[tokio::test(start_paused = true)]
async fn a_whole_body_is_not_logged() {
    let log = Log::start();
    collect(None, &mut Body::chunks([&b"{}"[..]])).await.unwrap();
    assert_eq!(log.lines().len(), 0);
}

// A1: another method is refused without a byte of its body, whatever its length; methods are case-sensitive.
#[tokio::test(start_paused = true)]
async fn another_method_never_reads_the_body() {
    for method in ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "post", "Post", "POST ", ""] {
        for announced in [None, Some(0), Some(u64::MAX)] {
            let log = Log::start();
            let mut body = Body::new([Step::Never]);
            let collected = driver().collect(Instant::now(), &head(method), announced, |cx| body.poll(cx)).await;
            assert_eq!(headers(collected.as_ref().unwrap_err()), [("allow", "POST".to_owned())]);
            assert_eq!(refused(collected), METHOD);
            assert_eq!(body.polls, 0, "{method}");
            assert_eq!(log.delivery().field("outcome"), Some("method_not_allowed"));
        }
    }
}
