//! What the tests of this crate share: signed requests, inner services that are strict, and a log that is read back.
#![allow(dead_code, reason = "each test file is a crate of its own and uses a part of this")]

pub(crate) mod body;

use std::{
    convert::Infallible,
    fmt,
    future::Future,
    mem,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use asixto_webhook_tower::{
    MemoryStore, WebhookLayer,
    core::{
        BoxFuture, Event, Outcome, Receiver, ReceiverBuilder, Secret, SecretSet, UnixTime, sign, testing::ManualClock,
    },
};
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use tokio::time::timeout;
use tower::{Service, ServiceExt};

/// The receiver's present time, which stands still.
pub(crate) const NOW: u64 = 1_787_923_200;

pub(crate) const ID: &str = "evt_3f1c9a70-4e0b";
pub(crate) const TYPE: &str = "job.succeeded";
pub(crate) const SECRET: &str = "whsec_Qx7Lr2Vn9TbKd4Wm8HsYc3Jf6PzGa1Ue";
pub(crate) const SIGNATURE: &str = "asixto-signature";
/// Where an outcome is shown, if the receiver is set to.
pub(crate) const OUTCOME: &str = "asixto-webhook-outcome";

pub(crate) const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) fn secrets(issued: &str) -> SecretSet {
    Secret::new("current", issued).unwrap().into()
}

/// A valid envelope.
pub(crate) fn envelope(id: &str) -> Bytes {
    envelope_with(id, "{}")
}

pub(crate) fn envelope_with(id: &str, data: &str) -> Bytes {
    format!(r#"{{"id":"{id}","type":"{TYPE}","created":1787923100,"environment":"live","data":{data}}}"#).into()
}

/// The value of the signature header, for a body that is signed now.
pub(crate) fn signature(body: &[u8]) -> String {
    sign(&secrets(SECRET), UnixTime::from_secs(NOW), body)
}

/// A POST whose head vouches for `signed`, with whatever body.
pub(crate) fn post<B>(signed: &[u8], body: B) -> Request<B> {
    Request::post("/webhooks/asixto").header(SIGNATURE, signature(signed)).body(body).unwrap()
}

/// A POST of a valid envelope, properly signed.
pub(crate) fn delivery(id: &str) -> Request<Full<Bytes>> {
    let body = envelope(id);
    post(&body, Full::new(body.clone()))
}

/// A receiver over a memory store that tells the outcome of each delivery.
pub(crate) fn builder() -> ReceiverBuilder {
    Receiver::builder()
        .secrets(secrets(SECRET))
        .dedup(MemoryStore::default())
        .clock(ManualClock::new(UnixTime::from_secs(NOW)))
        .diagnostics(true)
}

pub(crate) fn layer() -> WebhookLayer {
    WebhookLayer::new(&builder().build().unwrap())
}

/// An inner service that may be called on an instance that has become ready, and on no other: a clone has not.
pub(crate) struct Strict<F> {
    handler: F,
    ready: bool,
}

pub(crate) fn strict<F>(handler: F) -> Strict<F> {
    Strict { handler, ready: false }
}

impl<F: Clone> Clone for Strict<F> {
    fn clone(&self) -> Self {
        strict(self.handler.clone())
    }
}

impl<F> fmt::Debug for Strict<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Strict").field("ready", &self.ready).finish_non_exhaustive()
    }
}

impl<F, B, R, E, T> Service<Request<B>> for Strict<F>
where
    F: FnMut(Request<B>) -> R,
    R: Future<Output = Result<T, E>> + Send + 'static,
{
    type Response = T;
    type Error = E;
    type Future = BoxFuture<'static, Result<T, E>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        assert!(mem::take(&mut self.ready), "called without having become ready");
        Box::pin((self.handler)(request))
    }
}

/// The requests that reached the inner service, in the order in which they did.
#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Vec<Got>>>);

/// One of them.
#[derive(Debug, Clone)]
pub(crate) struct Got {
    pub(crate) parts: http::request::Parts,
    pub(crate) event: Event,
    pub(crate) body: Bytes,
}

type Noted<R> = BoxFuture<'static, Result<Response<R>, Infallible>>;

impl Seen {
    pub(crate) fn all(&self) -> Vec<Got> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        self.all().iter().map(|got| got.event.id().to_owned()).collect()
    }

    /// The one request that came through.
    #[track_caller]
    pub(crate) fn one(&self) -> Got {
        match &self.all()[..] {
            [got] => got.clone(),
            all => panic!("not exactly one request came through: {all:?}"),
        }
    }

    /// Reads a request's body, and notes it.
    pub(crate) async fn note<B: Body>(&self, request: Request<B>) -> Event {
        let (parts, body) = request.into_parts();
        let Ok(body) = body.collect().await else { panic!("the restored body does not fail") };
        let event: Event = parts.extensions.get().cloned().expect("an event in the extensions");
        self.0.lock().unwrap().push(Got { parts, event: event.clone(), body: body.to_bytes() });
        event
    }

    /// An inner service that notes its requests and answers 200.
    pub(crate) fn service<B, R>(&self) -> Strict<impl FnMut(Request<B>) -> Noted<R> + Clone + use<B, R>>
    where
        B: Body<Data: Send, Error: Send> + Send + 'static,
        R: Default,
    {
        let seen = self.clone();
        strict(move |request: Request<B>| -> Noted<R> {
            let seen = seen.clone();
            Box::pin(async move {
                seen.note(request).await;
                Ok(Response::default())
            })
        })
    }
}

/// Makes a service ready and calls it once, as a server does.
pub(crate) async fn send<S, B, R>(service: &S, request: Request<B>) -> Response<R>
where
    S: Service<Request<B>, Response = Response<R>, Error: fmt::Debug> + Clone,
{
    within(service.clone().oneshot(request)).await.unwrap()
}

/// Makes a service ready and calls it; what comes of that is for the caller to wait for.
pub(crate) async fn begin<S, B>(service: &mut S, request: Request<B>) -> S::Future
where
    S: Service<Request<B>, Error: fmt::Debug>,
{
    within(service.ready()).await.unwrap().call(request)
}

/// Status and outcome.
#[track_caller]
pub(crate) fn told<R>(response: &Response<R>) -> (u16, &str) {
    let outcome = response.headers().get(OUTCOME).expect("diagnostics").to_str().unwrap();
    (response.status().as_u16(), outcome)
}

pub(crate) fn row(outcome: Outcome) -> (u16, &'static str) {
    (outcome.status(), outcome.code())
}

pub(crate) async fn bytes<B: Body<Error: fmt::Debug>>(body: B) -> Bytes {
    body.collect().await.unwrap().to_bytes()
}

/// Fails a test that waits for what never comes. With a paused clock the time passes at once.
#[track_caller]
pub(crate) fn within<T>(work: impl Future<Output = T>) -> impl Future<Output = T> {
    let place = std::panic::Location::caller();
    async move {
        match timeout(secs(60), work).await {
            Ok(value) => value,
            Err(_) => panic!("{place}: still waiting after a minute"),
        }
    }
}
