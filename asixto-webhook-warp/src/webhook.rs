//! The filter: the layer, with a request put together for it out of what filters extract.

use std::{convert::Infallible, fmt, future::Future};

use asixto_webhook_core::{Asixto, Event, provider::Provider};
use asixto_webhook_tower::WebhookLayer;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, Uri};
use http_body_util::Full;
use tower::{Layer, ServiceExt, service_fn};
use warp::{Filter, Rejection, Reply, filters::BoxedFilter, path::FullPath, reply::Response};

use crate::body::RawBody;

/// A verified event, as a handler takes it.
#[derive(Clone)]
#[expect(clippy::exhaustive_structs, reason = "made to be taken apart in a handler's arguments")]
pub struct VerifiedEvent<P: Provider = Asixto>(pub Event<P>);

impl<P: Provider> fmt::Debug for VerifiedEvent<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VerifiedEvent").field(&self.0).finish()
    }
}

/// Receives deliveries, and replies: the handler runs for a verified event, and for nothing else.
///
/// `webhooks` is a [`&Receiver`](crate::Receiver), or a [`WebhookLayer`] where there is more to say: tenants, or a
/// [`drain`](WebhookLayer::drain) to keep. The handler answers with any [`Reply`]: a `StatusCode`, `warp::reply()`, or a
/// `Result` of two of them. Each delivery is given to a clone of it.
///
/// The filter never rejects, so that a delivery that is refused here is not offered to the next filter of an `or`. It
/// takes every method, since it is the one to answer 405: a path comes before it, and nothing else has to.
pub fn webhook<P, H, F>(webhooks: impl Into<WebhookLayer<P>>, handler: H) -> BoxedFilter<(Response,)>
where
    P: Provider,
    H: FnOnce(VerifiedEvent<P>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output: Reply> + Send + 'static,
{
    // Boxed, since a nameless filter would borrow the receiver that it was made from.
    replies(webhooks.into(), handler).boxed()
}

/// An answer to whatever comes: no error is possible.
fn replies<P, H, F>(
    webhooks: WebhookLayer<P>,
    handler: H,
) -> impl Filter<Extract = (Response,), Error = Infallible> + Send + Sync
where
    P: Provider,
    H: FnOnce(VerifiedEvent<P>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output: Reply> + Send + 'static,
{
    let service = webhooks.layer(service_fn(move |mut request: Request<Full<Bytes>>| {
        let (event, handler) = (request.extensions_mut().remove::<Event<P>>(), handler.clone());
        async move {
            Ok::<_, Infallible>(match event {
                Some(event) => handler(VerifiedEvent(event)).await.into_response(),
                // The layer gives every request that it lets through one.
                None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            })
        }
    }));
    head().and(optional(warp::body::stream())).then(move |head: Request<()>, stream: Option<_>| {
        let service = service.clone();
        async move {
            let Some(stream) = stream else { return already_read(head.uri()) };
            let (parts, ()) = head.into_parts();
            let body = RawBody::new(stream, &parts.headers);
            let Ok(response) = service.oneshot(Request::from_parts(parts, body)).await;
            response
        }
    })
}

/// The request as it came, without its body.
fn head() -> impl Filter<Extract = (Request<()>,), Error = Infallible> + Copy {
    warp::method().and(warp::path::full()).and(optional(warp::query::raw())).and(warp::header::headers_cloned()).map(
        |method: Method, path: FullPath, query: Option<String>, headers: HeaderMap| {
            let mut head = Request::new(());
            *head.method_mut() = method;
            *head.uri_mut() = uri(&path, query.as_deref());
            *head.headers_mut() = headers;
            head
        },
    )
}

fn uri(path: &FullPath, query: Option<&str>) -> Uri {
    let mut text = path.as_str().to_owned();
    if let Some(query) = query {
        text = text + "?" + query;
    }
    // It was one before it was taken apart, but for the target of a `CONNECT`.
    text.parse().unwrap_or_default()
}

fn optional<T: Send + 'static>(
    filter: impl Filter<Extract = (T,), Error = Rejection> + Copy,
) -> impl Filter<Extract = (Option<T>,), Error = Infallible> + Copy {
    filter.map(Some).or_else(async |_| Ok((None,)))
}

/// Answers for a mistake of the service: whoever took the body has the bytes that are signed.
fn already_read(uri: &Uri) -> Response {
    tracing::error!(
        target: "asixto_webhook",
        path = uri.path(),
        "expected the body of the request, found that a filter before `webhook` has taken it"
    );
    StatusCode::INTERNAL_SERVER_ERROR.into_response()
}
