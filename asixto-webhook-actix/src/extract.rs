//! The extractor: the event that the middleware has verified.

use std::{
    fmt,
    future::{Ready, ready},
};

use actix_web::{FromRequest, HttpMessage, HttpRequest, HttpResponse, ResponseError, dev::Payload, http::StatusCode};
use asixto_webhook_core::{Asixto, Event, provider::Provider};

/// The verified event of this request.
///
/// Behind a [`WebhookMiddleware`](crate::WebhookMiddleware) it never fails, since the handler runs for a verified event
/// or not at all. Without the middleware every request is refused with a [`Rejection`].
///
/// It reads no body, so it can stand before any other extractor; the raw body is [`Event::body`].
///
/// Never take `Option<VerifiedEvent>` or `Result<VerifiedEvent, _>`, which actix makes of every extractor: a handler
/// that works without a verified event is open to everybody where the middleware is missing.
#[derive(Clone)]
#[expect(clippy::exhaustive_structs, reason = "made to be taken apart in a handler's arguments")]
pub struct VerifiedEvent<P: Provider = Asixto>(pub Event<P>);

impl<P: Provider> fmt::Debug for VerifiedEvent<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VerifiedEvent").field(&self.0).finish()
    }
}

impl<P: Provider> FromRequest for VerifiedEvent<P> {
    type Error = Rejection;
    type Future = Ready<Result<Self, Rejection>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let event = request.extensions().get().cloned();
        ready(event.map(Self).ok_or_else(|| {
            let rejection = Rejection(Reason::NoLayer { provider: P::NAME });
            // Said where the developer looks; the sender learns the status alone.
            tracing::error!(target: "asixto_webhook", path = request.path(), "{rejection}");
            rejection
        }))
    }
}

/// Why there is no verified event. That is a mistake of the service, not of the sender: the status is 500.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rejection(Reason);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    NoLayer { provider: &'static str },
}

impl Rejection {
    /// A word for metrics: `no_layer`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self.0 {
            Reason::NoLayer { .. } => "no_layer",
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Reason::NoLayer { provider } = self.0;
        write!(
            f,
            "expected a `WebhookMiddleware` of the provider `{provider}` on this route, found none: \
             add `.wrap(WebhookMiddleware::new(&receiver))` to its resource"
        )
    }
}

impl std::error::Error for Rejection {}

impl ResponseError for Rejection {
    fn status_code(&self) -> StatusCode {
        StatusCode::INTERNAL_SERVER_ERROR
    }

    fn error_response(&self) -> HttpResponse {
        HttpResponse::new(self.status_code())
    }
}
