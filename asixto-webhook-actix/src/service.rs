//! The service: translates a request for the driver, and its reply into a response.

use std::{
    cell::Cell,
    fmt,
    future::Future,
    pin::{Pin, pin},
    rc::Rc,
};

use actix_web::{
    Error, HttpMessage, HttpRequest, HttpResponse, ResponseError,
    body::{BoxBody, EitherBody, MessageBody},
    dev::{Payload, Service, ServiceRequest, ServiceResponse, forward_ready},
    error::{ErrorInternalServerError, InternalError},
    http::{
        Method, StatusCode,
        header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue},
    },
};
use asixto_webhook_core::{Answer, Asixto, Event, HeaderFault, HeaderLines, only, provider::Provider};
use asixto_webhook_runtime::{Reply, Request as Head};
use futures_core::Stream;
use tokio::time::Instant;

use crate::middleware::WebhookMiddleware;

/// A service behind a receiver, see [`WebhookMiddleware`].
pub struct WebhookService<S, P: Provider = Asixto> {
    pub(crate) inner: Rc<S>,
    pub(crate) middleware: WebhookMiddleware<P>,
}

impl<S, B, P> Service<ServiceRequest> for WebhookService<S, P>
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    S::Future: 'static,
    B: MessageBody + 'static,
    P: Provider,
{
    type Response = ServiceResponse<EitherBody<B>>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Error>>>>;

    forward_ready!(inner);

    fn call(&self, request: ServiceRequest) -> Self::Future {
        let inner = self.inner.clone();
        let WebhookMiddleware { driver, scope } = self.middleware.clone();
        let arrived = Instant::now();

        Box::pin(async move {
            let (request, payload) = request.into_parts();
            let scope = match scope.map(|scope| driver.scope(|| scope(&request))).transpose() {
                Ok(scope) => scope,
                Err(answer) => return Ok(refuse(request, &answer)),
            };
            let head = Incoming { method: request.method().clone(), headers: request.headers().clone(), scope };
            let collected = {
                let mut payload = pin!(payload);
                driver.collect(arrived, &head, head.length(), |cx| payload.as_mut().poll_next(cx)).await
            };
            let bytes = match collected {
                Ok(bytes) => bytes,
                Err(answer) => return Ok(refuse(request, &answer)),
            };
            // Whoever has the request can make a response of it. It is never cloned: routing wants it for itself.
            let held = Rc::new(Cell::new(Some(request)));
            let call = {
                let held = held.clone();
                async move |_, event: Event<P>| {
                    let request = held.take().ok_or_else(|| rendered(ErrorInternalServerError("")))?;
                    let payload = Payload::from(event.body().clone());
                    request.extensions_mut().insert(event);
                    let (request, response) =
                        inner.call(ServiceRequest::from_parts(request, payload)).await.map_err(rendered)?.into_parts();
                    held.set(Some(request));
                    Ok(response)
                }
            };
            let Reply { answer, response } = driver.run_local(arrived, head, bytes, call, status).await;
            // The handler is gone, or else it has the request still.
            match (response, Rc::into_inner(held).and_then(Cell::into_inner)) {
                (Some(Ok(mut response)), Some(request)) => {
                    decorate(&mut response, &answer);
                    Ok(ServiceResponse::new(request, response.map_into_left_body()))
                }
                (Some(Err((error, mut response))), _) => {
                    decorate(&mut response, &answer);
                    Err(InternalError::from_response(error, response).into())
                }
                (_, Some(request)) => Ok(refuse(request, &answer)),
                (_, None) => Err(Refusal(answer).into()),
            }
        })
    }
}

impl<S: fmt::Debug, P: Provider> fmt::Debug for WebhookService<S, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookService").field("inner", &self.inner).field("middleware", &self.middleware).finish()
    }
}

/// An error, and what actix would send for it, which some errors say only once.
type Rendered = (Error, HttpResponse);

fn rendered(error: Error) -> Rendered {
    let response = error.error_response();
    (error, response)
}

fn status<B>(response: &Result<HttpResponse<B>, Rendered>) -> u16 {
    response.as_ref().map_or_else(|(_, response)| response.status(), HttpResponse::status).as_u16()
}

fn refuse<B>(request: HttpRequest, answer: &Answer) -> ServiceResponse<EitherBody<B>> {
    ServiceResponse::new(request, respond(answer).map_into_right_body())
}

fn respond(answer: &Answer) -> HttpResponse {
    let mut response = HttpResponse::new(StatusCode::OK);
    decorate(&mut response, answer);
    response
}

fn decorate<B>(response: &mut HttpResponse<B>, answer: &Answer) {
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

/// An answer without the request that a response takes in actix: its handler has it, or has panicked with it.
#[derive(Debug)]
struct Refusal(Answer);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.outcome().code())
    }
}

impl ResponseError for Refusal {
    fn status_code(&self) -> StatusCode {
        respond(&self.0).status()
    }

    fn error_response(&self) -> HttpResponse<BoxBody> {
        respond(&self.0)
    }
}

/// The head of a request. A copy, since a request of actix stays on its thread.
struct Incoming {
    method: Method,
    headers: HeaderMap,
    scope: Option<String>,
}

impl Incoming {
    /// The length of the body, where the sender announced one.
    fn length(&self) -> Option<u64> {
        self.headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
    }
}

impl HeaderLines for Incoming {
    fn line(&self, name: &str, index: usize) -> Option<&[u8]> {
        self.headers.get_all(name).nth(index).map(HeaderValue::as_bytes)
    }

    fn one(&self, name: &str) -> Result<&[u8], HeaderFault> {
        only(self.headers.get_all(name).map(HeaderValue::as_bytes))
    }
}

impl Head for Incoming {
    fn method(&self) -> &str {
        self.method.as_str()
    }

    fn scope(&self) -> Option<&str> {
        self.scope.as_deref()
    }
}
