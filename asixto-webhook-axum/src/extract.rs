//! The extractor: the event that the layer has verified.

use std::fmt;

use asixto_webhook_core::{Asixto, Event, provider::Provider};
use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
    response::{IntoResponse, Response},
};

/// The verified event of this request.
///
/// Behind a [`WebhookLayer`](crate::WebhookLayer) it never fails, since the handler runs for a verified event or not
/// at all. Without the layer every request is refused with a [`Rejection`]. There is no optional form of it: a
/// handler that works without a verified event would be open to everybody.
///
/// It reads no body, so it can stand before any other extractor; the raw body is [`Event::body`].
#[derive(Clone)]
#[expect(clippy::exhaustive_structs, reason = "made to be taken apart in a handler's arguments")]
pub struct VerifiedEvent<P: Provider = Asixto>(pub Event<P>);

impl<P: Provider> fmt::Debug for VerifiedEvent<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VerifiedEvent").field(&self.0).finish()
    }
}

impl<S: Send + Sync, P: Provider> FromRequestParts<S> for VerifiedEvent<P> {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Rejection> {
        parts.extensions.get().cloned().map(Self).ok_or_else(|| {
            let rejection = Rejection(Reason::NoLayer { provider: P::NAME });
            // Said where the developer looks; the sender learns the status alone.
            tracing::error!(target: "asixto_webhook", path = parts.uri.path(), "{rejection}");
            rejection
        })
    }
}

/// Why there is no verified event. That is a mistake of the service, not of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rejection(Reason);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    NoLayer { provider: &'static str },
}

impl Rejection {
    /// The status of the response: 500.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        StatusCode::INTERNAL_SERVER_ERROR
    }

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
            "expected a `WebhookLayer` of the provider `{provider}` on this route, found none: \
             add `.layer(WebhookLayer::new(&receiver))` to its method router"
        )
    }
}

impl std::error::Error for Rejection {}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        self.status().into_response()
    }
}
