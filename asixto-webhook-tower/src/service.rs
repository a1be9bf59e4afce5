//! The service: translates a request for the driver, and its reply into a response.

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::{Context, Poll},
};

use asixto_webhook_core::{Answer, Asixto, Event, HeaderFault, HeaderLines, only, provider::Provider};
use asixto_webhook_runtime::{Reply, Request as Head};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header::HeaderName, request::Parts};
use http_body::Body;
use http_body_util::Full;
use tokio::time::Instant;
use tower::Service;

use crate::{body::poll_chunk, layer::WebhookLayer};

/// A service behind a receiver, see [`WebhookLayer`].
pub struct Webhook<S, P: Provider = Asixto, B = Full<Bytes>> {
    pub(crate) inner: S,
    pub(crate) layer: WebhookLayer<P, B>,
}

impl<S, P, B, ReqBody, ResBody> Service<Request<ReqBody>> for Webhook<S, P, B>
where
    S: Service<Request<B>, Response = Response<ResBody>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    P: Provider,
    B: From<Bytes> + 'static,
    ReqBody: Body + Send + 'static,
    ResBody: Default + Send + 'static,
{
    /// With the [`Outcome`](asixto_webhook_core::Outcome) in its extensions, for metrics: never for the sender.
    type Response = Response<ResBody>;
    type Error = S::Error;
    type Future = ResponseFuture<Response<ResBody>, S::Error>;

    /// Always ready. The inner service is made ready only for a verified event: a permit of it would otherwise be held
    /// by whoever sends a body slowly, and a sender would wait for one without a deadline.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        let mut inner = self.inner.clone();
        let WebhookLayer { driver, scope, .. } = self.layer.clone();
        let arrived = Instant::now();

        ResponseFuture(Box::pin(async move {
            let (parts, body) = request.into_parts();
            let scope = match scope.map(|scope| driver.scope(|| scope(&parts))).transpose() {
                Ok(scope) => scope,
                Err(answer) => return Ok(respond(&answer)),
            };
            let head = Incoming { scope, parts };
            let announced = Some(body.size_hint().lower());
            let collected = {
                let mut body = pin!(body);
                driver.collect(arrived, &head, announced, |cx| poll_chunk(body.as_mut(), cx)).await
            };
            let bytes = match collected {
                Ok(bytes) => bytes,
                Err(answer) => return Ok(respond(&answer)),
            };
            let call = async move |head: Incoming, event: Event<P>| {
                poll_fn(|cx| inner.poll_ready(cx)).await?;
                // The instance that was made ready, and not a clone of it.
                let called = {
                    let mut request = Request::from_parts(head.parts, B::from(event.body().clone()));
                    request.extensions_mut().insert(event);
                    inner.call(request)
                };
                drop(inner);
                called.await
            };
            let Reply { answer, response } = driver.run(arrived, head, bytes, call, status).await;
            response.map_or_else(
                || Ok(respond(&answer)),
                |response| {
                    response.map(|mut response| {
                        decorate(&mut response, &answer);
                        response
                    })
                },
            )
        }))
    }
}

impl<S: Clone, P: Provider, B> Clone for Webhook<S, P, B> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), layer: self.layer.clone() }
    }
}

impl<S: fmt::Debug, P: Provider, B> fmt::Debug for Webhook<S, P, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").field("inner", &self.inner).field("layer", &self.layer).finish()
    }
}

/// A service that failed has not processed the event; its error goes on to whoever called.
fn status<B, E>(response: &Result<Response<B>, E>) -> u16 {
    response.as_ref().map_or(500, |response| response.status().as_u16())
}

fn respond<B: Default>(answer: &Answer) -> Response<B> {
    let mut response = Response::new(B::default());
    decorate(&mut response, answer);
    response
}

fn decorate<B>(response: &mut Response<B>, answer: &Answer) {
    if let Ok(status) = StatusCode::from_u16(answer.status()) {
        *response.status_mut() = status;
    }
    response.extensions_mut().insert(answer.outcome());
    for (name, value) in answer.headers() {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
}

/// The head of an `http` request.
struct Incoming {
    parts: Parts,
    scope: Option<String>,
}

impl HeaderLines for Incoming {
    fn line(&self, name: &str, index: usize) -> Option<&[u8]> {
        self.parts.headers.get_all(name).iter().nth(index).map(HeaderValue::as_bytes)
    }

    fn one(&self, name: &str) -> Result<&[u8], HeaderFault> {
        only(self.parts.headers.get_all(name).iter().map(HeaderValue::as_bytes))
    }
}

impl Head for Incoming {
    fn method(&self) -> &str {
        self.parts.method.as_str()
    }

    fn scope(&self) -> Option<&str> {
        self.scope.as_deref()
    }
}

/// The response of a [`Webhook`] service. Dropping it once the body has arrived stops no handler.
pub struct ResponseFuture<R, E>(Pin<Box<dyn Future<Output = Result<R, E>> + Send>>);

impl<R, E> Future for ResponseFuture<R, E> {
    type Output = Result<R, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

impl<R, E> fmt::Debug for ResponseFuture<R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseFuture")
    }
}
