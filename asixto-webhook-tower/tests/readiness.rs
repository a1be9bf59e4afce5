//! The inner service is called on the instance that has become ready, once, and what it holds for a request is given
//! back however the request ends.
#![cfg(test)]
#![cfg(feature = "memory")]

mod common;

use std::{
    convert::Infallible,
    fmt,
    future::{Future, Ready, poll_fn, ready},
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use asixto_webhook_tower::core::Outcome;
use bytes::Bytes;
use common::{
    ID, Seen, begin,
    body::{Scripted, Step},
    builder, delivery, envelope, layer, post, row, secs, send, strict, told, within,
};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full, combinators::UnsyncBoxBody};
use tokio::{
    task::{JoinSet, yield_now},
    time::{Instant, sleep},
};
use tower::{Layer, Service, ServiceExt, limit::ConcurrencyLimit};

type Sent = UnsyncBoxBody<Bytes, common::body::Reset>;

fn boxed(request: Request<Full<Bytes>>) -> Request<Sent> {
    request.map(|body| body.map_err(|never| match never {}).boxed_unsync())
}

// Whatever instance is called, it is one that has become ready: the same one again and again, clones, clones of clones.
#[tokio::test(start_paused = true)]
async fn the_instance_that_is_ready_is_called() {
    let seen = Seen::default();
    let mut service = layer().layer(seen.service::<_, Full<Bytes>>());
    let ids: Vec<_> = (0..6).map(|number| format!("event-{number}")).collect();
    for id in &ids[..3] {
        let response = begin(&mut service, delivery(id)).await.await.unwrap();
        assert_eq!(told(&response), row(Outcome::Processed));
    }
    // A clone of one that is ready is not ready itself.
    poll_fn(|cx| Service::<Request<Full<Bytes>>>::poll_ready(&mut service, cx)).await.unwrap();
    let mut clone = service.clone();
    let response = begin(&mut clone, delivery(&ids[3])).await.await.unwrap();
    assert_eq!(told(&response), row(Outcome::Processed));
    // And the one that was ready still is.
    let response = service.call(delivery(&ids[4])).await.unwrap();
    assert_eq!(told(&response), row(Outcome::Processed));
    let response = clone.oneshot(delivery(&ids[5])).await.unwrap();
    assert_eq!(told(&response), row(Outcome::Processed));
    assert_eq!(seen.ids(), ids);
}

/// Becomes ready when it is asked for the third time, or never.
#[derive(Clone)]
struct Hesitant {
    asked: usize,
    error: Option<Broken>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Broken(&'static str);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Service<Request<Full<Bytes>>> for Hesitant {
    type Response = Response<Full<Bytes>>;
    type Error = Broken;
    type Future = Ready<Result<Response<Full<Bytes>>, Broken>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        self.asked += 1;
        match &self.error {
            _ if self.asked < 3 => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Some(error) => Poll::Ready(Err(error.clone())),
            None => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, _: Request<Full<Bytes>>) -> Self::Future {
        assert!(self.asked >= 3, "called without having become ready");
        ready(Ok(Response::default()))
    }
}

// The inner service is waited for once an event is verified, and its failure is given on, like that of a call.
#[tokio::test(start_paused = true)]
async fn readiness_is_awaited_for_events() {
    let mut service = layer().layer(Hesitant { asked: 0, error: None });
    let ready = poll_fn(|cx| Poll::Ready(Service::<Request<Full<Bytes>>>::poll_ready(&mut service, cx)));
    assert_eq!(ready.await, Poll::Ready(Ok(())));
    assert_eq!(told(&within(service.call(delivery(ID))).await.unwrap()), row(Outcome::Processed));

    let layer = layer();
    let broken = layer.layer(Hesitant { asked: 0, error: Some(Broken("the pool is closed")) });
    let error = within(broken.oneshot(delivery(ID))).await.unwrap_err();
    assert_eq!(error, Broken("the pool is closed"));
    // Released, for the next attempt.
    let mended = layer.layer(Hesitant { asked: 0, error: None });
    assert_eq!(told(&send(&mended, delivery(ID)).await), row(Outcome::Processed));
}

// B7: whoever sends a body slowly keeps nobody else from the service.
#[tokio::test(start_paused = true)]
async fn a_slow_body_holds_no_permit() {
    let mut service = one_at_a_time(&Running::default(), &layer());
    let half = || post(b"", Scripted::new([Step::Data("{".into()), Step::Never]).boxed_unsync());
    let mut slow = Box::pin(begin(&mut service, half()).await);
    assert!(poll_fn(|cx| Poll::Ready(slow.as_mut().poll(cx).is_pending())).await);
    let start = Instant::now();
    assert_eq!(told(&send(&service, boxed(delivery(ID))).await), row(Outcome::Processed));
    assert_eq!(start.elapsed(), secs(0));
}

// H8: whoever waits for a permit is answered in time all the same.
#[tokio::test(start_paused = true)]
async fn a_permit_is_not_waited_for_too_long() {
    let inner = strict(|_: Request<Full<Bytes>>| async {
        sleep(secs(60)).await;
        Ok::<_, Infallible>(Response::<Full<Bytes>>::default())
    });
    let service = layer().layer(ConcurrencyLimit::new(inner, 1));
    let first = tokio::spawn({
        let service = service.clone();
        async move { send(&service, delivery("first")).await.status() }
    });
    yield_now().await;
    let start = Instant::now();
    assert_eq!(told(&send(&service, delivery("second")).await), row(Outcome::HandlerSlow));
    assert_eq!(start.elapsed(), secs(9));
    assert_eq!(first.await.unwrap(), StatusCode::SERVICE_UNAVAILABLE);
}

// E5: an error of the inner service is given on, and the event is released for the next attempt.
#[tokio::test(start_paused = true)]
async fn an_inner_error() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let service = layer().layer(strict(move |_: Request<Full<Bytes>>| {
        let fails = counter.fetch_add(1, Ordering::SeqCst) == 0;
        ready(if fails { Err(Broken("the database is gone")) } else { Ok(Response::<Full<Bytes>>::default()) })
    }));
    let error = within(service.clone().oneshot(delivery(ID))).await.unwrap_err();
    assert_eq!(error, Broken("the database is gone"));
    assert_eq!(told(&send(&service, delivery(ID)).await), row(Outcome::Processed));
    assert_eq!(told(&send(&service, delivery(ID)).await), row(Outcome::Duplicate));
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

/// How many run at once, and the most that ever did.
#[derive(Clone, Default)]
struct Running(Arc<Mutex<(usize, usize)>>);

impl Running {
    async fn during(&self, work: impl Future<Output = ()>) {
        {
            let mut running = self.0.lock().unwrap();
            running.0 += 1;
            running.1 = running.1.max(running.0);
        }
        work.await;
        self.0.lock().unwrap().0 -= 1;
    }

    fn most(&self) -> usize {
        self.0.lock().unwrap().1
    }
}

/// A layer over a service with one permit.
fn one_at_a_time(
    running: &Running,
    layer: &asixto_webhook_tower::WebhookLayer,
) -> impl Service<
    Request<Sent>,
    Response = Response<Full<Bytes>>,
    Error = Infallible,
    Future: Future<Output = Result<Response<Full<Bytes>>, Infallible>> + Send,
> + Clone
+ Send
+ 'static {
    let running = running.clone();
    let inner = strict(move |_: Request<Full<Bytes>>| {
        let running = running.clone();
        async move {
            running
                .during(async {
                    for _ in 0..5 {
                        yield_now().await
                    }
                })
                .await;
            Ok::<_, Infallible>(Response::<Full<Bytes>>::default())
        }
    });
    layer.layer(ConcurrencyLimit::new(inner, 1))
}

// One permit and many requests at once: no panic, no deadlock, and one after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_permit_and_many_requests() {
    let (running, layer) = (Running::default(), layer());
    let service = one_at_a_time(&running, &layer);
    let mut requests = JoinSet::new();
    for number in 0..40 {
        let service = service.clone();
        requests.spawn(async move {
            // Every third is a refusal.
            let mut request = delivery(&format!("event-{number}"));
            if number % 3 == 0 {
                request.headers_mut().clear();
            }
            send(&service, boxed(request)).await.status()
        });
    }
    let statuses = within(requests.join_all()).await;
    let count = |status: StatusCode| statuses.iter().filter(|found| **found == status).count();
    assert_eq!((count(StatusCode::OK), count(StatusCode::BAD_REQUEST)), (26, 14), "{statuses:?}");
    assert_eq!(running.most(), 1);
    assert_eq!(within(layer.drain(secs(10))).await, Ok(()));
}

// A refusal gives its permit back, whatever it is refused for.
#[tokio::test(start_paused = true)]
async fn a_refusal_gives_its_permit_back() {
    let service = one_at_a_time(&Running::default(), &layer());
    let body = envelope("refused");
    let good = || post(&body, Full::new(body.clone()));
    let with = |steps: Vec<Step>| post(&body, Scripted::new(steps).boxed_unsync());
    let mut get = good();
    *get.method_mut() = Method::GET;
    let mut unsigned = good();
    unsigned.headers_mut().clear();
    let mut large = post(&body, Scripted::new([]).announcing(u64::MAX).boxed_unsync());
    large.headers_mut().clear();
    for (request, outcome) in [
        (boxed(get), Outcome::MethodNotAllowed),
        (large, Outcome::BodyTooLarge),
        (with(vec![Step::Never]), Outcome::BodyTimeout),
        (with(vec![Step::Error]), Outcome::BodyAborted),
        (boxed(unsigned), Outcome::MissingHeader),
        (boxed(post(b"another", Full::new(body.clone()))), Outcome::SignatureMismatch),
        (boxed(good()), Outcome::Processed),
        (boxed(good()), Outcome::Duplicate),
    ] {
        assert_eq!(told(&send(&service, request).await), row(outcome));
    }
    assert_eq!(told(&send(&service, boxed(delivery(ID))).await), row(Outcome::Processed));
}

// So does a request that its sender gives up: before it has begun, with its body half-way, or with nothing but the
// permit.
#[tokio::test(start_paused = true)]
async fn a_request_that_is_given_up_gives_its_permit_back() {
    let mut service = one_at_a_time(&Running::default(), &layer());
    let half = || post(b"", Scripted::new([Step::Data("{".into()), Step::Never]).boxed_unsync());

    drop(begin(&mut service, half()).await);
    let mut begun = Box::pin(begin(&mut service, half()).await);
    assert!(poll_fn(|cx| Poll::Ready(begun.as_mut().poll(cx).is_pending())).await);
    drop(begun);
    drop(within(service.clone().ready_oneshot()).await.unwrap());

    assert_eq!(told(&send(&service, boxed(delivery(ID))).await), row(Outcome::Processed));
}

// H8: a slow handler, or one whose sender is gone, keeps its permit until it ends: the limit is about work.
#[tokio::test(start_paused = true)]
async fn a_slow_handler_keeps_its_permit() {
    for hang_up in [false, true] {
        let start = Instant::now();
        let begun: Arc<Mutex<Vec<_>>> = Arc::default();
        let beginnings = Arc::clone(&begun);
        let inner = strict(move |_: Request<Full<Bytes>>| {
            beginnings.lock().unwrap().push(start.elapsed());
            async {
                sleep(secs(12)).await;
                Ok::<_, Infallible>(Response::<Full<Bytes>>::default())
            }
        });
        let mut service = layer().layer(ConcurrencyLimit::new(inner, 1));
        if hang_up {
            let mut response = pin!(begin(&mut service, delivery(ID)).await);
            assert!(poll_fn(|cx| Poll::Ready(response.as_mut().poll(cx).is_pending())).await);
        } else {
            assert_eq!(told(&send(&service, delivery(ID)).await), row(Outcome::HandlerSlow));
            assert_eq!(start.elapsed(), secs(9));
        }
        send(&service, delivery("another")).await;
        within(async {
            while begun.lock().unwrap().len() < 2 {
                sleep(secs(1)).await;
            }
        })
        .await;
        assert_eq!(*begun.lock().unwrap(), [secs(0), secs(12)], "{hang_up}");
    }
}

// And so does one that panics.
#[tokio::test(start_paused = true)]
async fn a_panic_gives_its_permit_back() {
    let inner = strict(|request: Request<Full<Bytes>>| async move {
        assert!(request.headers().contains_key("calm"), "the handler panics, as this test wants it to");
        Ok::<_, Infallible>(Response::<Full<Bytes>>::default())
    });
    let service = layer().layer(ConcurrencyLimit::new(inner, 1));
    assert_eq!(told(&send(&service, delivery(ID)).await), row(Outcome::HandlerFailed));
    let mut request = delivery(ID);
    request.headers_mut().insert("calm", "1".parse().unwrap());
    assert_eq!(told(&send(&service, request).await), row(Outcome::Processed));
}

// A request without a body needs no more than its type.
#[tokio::test(start_paused = true)]
async fn an_empty_body_type() {
    let service = tower::ServiceBuilder::new()
        .layer(asixto_webhook_tower::WebhookLayer::new(&builder().build().unwrap()))
        .service(Seen::default().service::<_, Full<Bytes>>());
    let request = post(b"", Empty::<Bytes>::new());
    assert_eq!(told(&send(&service, request).await), row(Outcome::InvalidEnvelope));
}
