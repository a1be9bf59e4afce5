//! What goes out: the handler's response where it may, and otherwise a status, the headers it needs, and no body.
#![cfg(test)]
#![cfg(feature = "memory")]

mod common;

use std::{convert::Infallible, future::ready};

use asixto_webhook_tower::{
    WebhookLayer,
    core::{Outcome, ReceiverBuilder},
};
use bytes::Bytes;
use common::{ID, OUTCOME, Seen, builder, bytes, delivery, envelope, layer, post, row, secs, send, strict, told};
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Empty, Full, combinators::BoxBody};
use tokio::time::{Instant, sleep};
use tower::{Layer, ServiceExt};

const STATUSES: [u16; 9] = [200, 204, 299, 400, 404, 429, 500, 503, 599];
const HARMFUL: [u16; 7] = [101, 300, 301, 302, 304, 307, 410];

/// What a handler answers with `status`, with headers and a body of its own.
fn own<R: From<&'static str>>(status: u16) -> Response<R> {
    Response::builder()
        .status(status)
        .header(header::LOCATION, "https://elsewhere.example/")
        .header(header::RETRY_AFTER, "17")
        .header(header::SET_COOKIE, "a=1")
        .header(header::SET_COOKIE, "b=2")
        .body(R::from("the handler's own words"))
        .unwrap()
}

/// What is sent when a handler answers with `status`.
async fn sent(receiver: ReceiverBuilder, status: u16) -> (StatusCode, HeaderMap, Bytes) {
    let handler = move |_: Request<Full<Bytes>>| ready(Ok::<_, Infallible>(own::<Full<Bytes>>(status)));
    let service = WebhookLayer::new(&receiver.build().unwrap()).layer(strict(handler));
    let (parts, body) = send(&service, delivery(ID)).await.into_parts();
    (parts.status, parts.headers, bytes(body).await)
}

// The handler's response goes out as it is, whether the event is done or will be tried again.
#[tokio::test(start_paused = true)]
async fn the_handlers_response() {
    for status in STATUSES {
        let (found, headers, body) = sent(builder().diagnostics(false), status).await;
        assert_eq!(found.as_u16(), status);
        assert_eq!(headers, *own::<Full<Bytes>>(status).headers());
        assert_eq!(body, "the handler's own words");
    }
}

// H7: 1xx, 3xx and 410 become 500, of which nothing of the handler's is a part: no `Location`, no body.
#[tokio::test(start_paused = true)]
async fn a_harmful_response() {
    for status in HARMFUL {
        let (found, headers, body) = sent(builder().diagnostics(false), status).await;
        assert_eq!((found.as_u16(), headers, body), (500, HeaderMap::new(), Bytes::new()), "{status}");
    }
}

// H7: unless the user wants them to go out; but no 1xx, which is no answer.
#[tokio::test(start_paused = true)]
async fn a_harmful_response_that_is_wanted() {
    for status in HARMFUL.into_iter().filter(|status| *status >= 200) {
        let (found, headers, body) = sent(builder().diagnostics(false).forward_any_status(true), status).await;
        assert_eq!(found.as_u16(), status);
        assert_eq!(headers, *own::<Full<Bytes>>(status).headers());
        assert_eq!(body, "the handler's own words");
    }
}

// The outcome is shown where that is asked for, beside the handler's headers, and in its place if it set one itself.
#[tokio::test(start_paused = true)]
async fn diagnostics() {
    for (status, outcome) in [(200, Outcome::Processed), (422, Outcome::HandlerFailed), (302, Outcome::HandlerFailed)] {
        let (_, headers, _) = sent(builder(), status).await;
        assert_eq!(headers[OUTCOME], outcome.code());
        assert_eq!(headers.len(), if status == 302 { 1 } else { 4 + 1 });
    }
    let service = layer().layer(strict(|_: Request<Full<Bytes>>| {
        let response = Response::builder().header(OUTCOME, "stored").header(OUTCOME, "duplicate");
        ready(response.body(Full::<Bytes>::default()))
    }));
    let response = send(&service, delivery(ID)).await;
    assert_eq!(response.headers().get_all(OUTCOME).iter().collect::<Vec<_>>(), ["processed"]);
}

// K10: a service counts outcomes without asking for the header; the sender sees nothing of it.
#[tokio::test(start_paused = true)]
async fn outcomes_for_metrics() {
    let service = layer().layer(Seen::default().service::<_, Full<Bytes>>());
    let outcome = async |request| send(&service, request).await.extensions().get::<Outcome>().copied();
    assert_eq!(outcome(delivery(ID)).await, Some(Outcome::Processed));
    assert_eq!(outcome(delivery(ID)).await, Some(Outcome::Duplicate));
    assert_eq!(outcome(Request::get("/").body(Full::default()).unwrap()).await, Some(Outcome::MethodNotAllowed));
}

// No oracle: a refusal says nothing but its status, and shows no difference between one reason and another.
#[tokio::test(start_paused = true)]
async fn a_refusal_says_nothing() {
    let service = WebhookLayer::new(&builder().diagnostics(false).build().unwrap())
        .layer(Seen::default().service::<_, Full<Bytes>>());
    let mut unsigned = delivery(ID);
    unsigned.headers_mut().clear();
    let mut malformed = delivery(ID);
    malformed.headers_mut().insert(common::SIGNATURE, "t=now".parse().unwrap());
    let body = || Full::new(envelope(ID));
    for request in [unsigned, malformed, post(b"another body", body()), post(b"{}", Full::new("{}".into()))] {
        let (parts, body) = send(&service, request).await.into_parts();
        assert_eq!((parts.status.as_u16(), parts.headers), (400, HeaderMap::new()));
        assert_eq!(bytes(body).await, "");
    }
}

// A1: another method is told which one to use, and nothing else.
#[tokio::test(start_paused = true)]
async fn another_method() {
    let service = WebhookLayer::new(&builder().diagnostics(false).build().unwrap())
        .layer(Seen::default().service::<_, Full<Bytes>>());
    let methods =
        [Method::GET, Method::HEAD, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS, Method::TRACE];
    for method in
        methods.into_iter().chain([Method::from_bytes(b"post").unwrap(), Method::from_bytes(b"POSTS").unwrap()])
    {
        let mut request = delivery(ID);
        *request.method_mut() = method.clone();
        let (parts, body) = send(&service, request).await.into_parts();
        assert_eq!(parts.status, 405, "{method}");
        assert_eq!(parts.headers, HeaderMap::from_iter([(header::ALLOW, "POST".parse().unwrap())]));
        assert_eq!(bytes(body).await, "");
    }
}

// E5, H8: who is to come back is told when.
#[tokio::test(start_paused = true)]
async fn retry_after() {
    let service = layer().layer(strict(|_: Request<Full<Bytes>>| async {
        sleep(secs(12)).await;
        Ok::<_, Infallible>(own::<Full<Bytes>>(200))
    }));
    let start = Instant::now();
    let response = send(&service, delivery(ID)).await;
    assert_eq!((told(&response), start.elapsed()), (row(Outcome::HandlerSlow), secs(9)));
    assert_eq!(response.headers()[header::RETRY_AFTER], "30");
    assert!(!response.headers().contains_key(header::LOCATION));
    assert_eq!(bytes(response.into_body()).await, "");

    let response = send(&service, delivery(ID)).await;
    assert_eq!(told(&response), row(Outcome::InFlight));
    let left: u64 = response.headers()[header::RETRY_AFTER].to_str().unwrap().parse().unwrap();
    assert!((1..=30).contains(&left), "{left}");
}

// E5: a panic is a 500 without a body.
#[tokio::test(start_paused = true)]
async fn a_panic() {
    let service = layer().layer(strict(|request: Request<Full<Bytes>>| async move {
        assert!(request.uri() == "/", "the handler panics, as this test wants it to");
        Ok::<_, Infallible>(own::<Full<Bytes>>(200))
    }));
    let response = send(&service, delivery(ID)).await;
    assert_eq!(told(&response), row(Outcome::HandlerFailed));
    assert_eq!((response.status().as_u16(), response.headers().len()), (500, 1));
    assert_eq!(bytes(response.into_body()).await, "");

    let mut retry = delivery(ID);
    *retry.uri_mut() = "/".parse().unwrap();
    assert_eq!(told(&send(&service, retry).await), row(Outcome::Processed));
}

// Any type of response body that has an empty one.
#[tokio::test(start_paused = true)]
async fn response_bodies() {
    let full = layer().layer(strict(|_: Request<Full<Bytes>>| ready(Ok::<_, Infallible>(own::<Full<Bytes>>(200)))));
    assert_eq!(bytes(send(&full, delivery(ID)).await.into_body()).await, "the handler's own words");
    assert_eq!(bytes(send(&full, delivery(ID)).await.into_body()).await, "");

    let boxed = layer().layer(strict(|_: Request<Full<Bytes>>| {
        let response = own::<Full<Bytes>>(200).map(|body| BoxBody::<Bytes, Infallible>::new(body.boxed()));
        ready(Ok::<_, Infallible>(response))
    }));
    assert_eq!(bytes(send(&boxed, delivery(ID)).await.into_body()).await, "the handler's own words");
    assert_eq!(bytes(send(&boxed, delivery(ID)).await.into_body()).await, "");

    let axum = layer().layer(strict(|_: Request<Full<Bytes>>| {
        ready(Ok::<_, Infallible>(own::<&'static str>(200).map(axum::body::Body::from)))
    }));
    assert_eq!(bytes(send(&axum, delivery(ID)).await.into_body()).await, "the handler's own words");
    assert_eq!(bytes(send(&axum, delivery(ID)).await.into_body()).await, "");

    // One that the sender cannot send: nobody has to.
    let unit = layer().layer(strict(|_: Request<Full<Bytes>>| ready(Ok::<_, Infallible>(Response::new(())))));
    assert_eq!(told(&send(&unit, delivery(ID)).await), row(Outcome::Processed));
}

// An axum router is an inner service like another.
#[tokio::test(start_paused = true)]
async fn an_axum_route() {
    let route = axum::routing::post(async |body: String| (StatusCode::CREATED, body));
    let app = axum::Router::new().route("/webhooks/asixto", route.layer(layer()));
    let request = delivery(ID).map(axum::body::Body::new);
    let response = app.clone().oneshot(request).await.unwrap();
    assert_eq!((response.status().as_u16(), response.headers()[OUTCOME].as_bytes()), (201, &b"processed"[..]));
    assert_eq!(bytes(response.into_body()).await, envelope(ID));

    let empty = Request::get("/webhooks/asixto").body(axum::body::Body::new(Empty::<Bytes>::new())).unwrap();
    let response = app.oneshot(empty).await.unwrap();
    assert_eq!((response.status().as_u16(), response.headers()[header::ALLOW].as_bytes()), (405, &b"POST"[..]));
}
