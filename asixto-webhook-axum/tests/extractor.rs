//! The extractor, its layer, and what stands around them. What all adapters promise is tested for all of them at once,
//! in `parity`.
#![cfg(test)]
#![cfg(feature = "memory")]

use std::{convert::Infallible, net::SocketAddr};

use asixto_webhook_axum::{
    Environment, MemoryStore, Receiver, Rejection, SecretSet, VerifiedEvent, WebhookLayer,
    core::{
        Asixto, Clock, SystemClock,
        provider::{CloudEvents, Message, Provider},
    },
};
use asixto_webhook_conformance::{Kit, Request, Response, Target, Version, send};
use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, FromRequestParts},
    http::{Request as HttpRequest, StatusCode},
    response::IntoResponse,
    routing::{get, post},
};
use testkit::Log;
use tokio::net::TcpListener;

const SECRET: &str = "whsec_c2VjcmV0IG9mIHRoZSBzb2NrZXQgdGVzdHM";

/// A handler without its layer is refused, whatever is sent, and the log says what to add.
#[tokio::test]
async fn without_the_layer() {
    let log = Log::start();
    let (mut parts, ()) = HttpRequest::get("/hook").body(()).unwrap().into_parts();
    let rejection = VerifiedEvent::<Asixto>::from_request_parts(&mut parts, &()).await.unwrap_err();
    assert_eq!((rejection.status(), rejection.code()), (StatusCode::INTERNAL_SERVER_ERROR, "no_layer"));
    assert_eq!(
        rejection.to_string(),
        "expected a `WebhookLayer` of the provider `asixto` on this route, found none: \
         add `.layer(WebhookLayer::new(&receiver))` to its method router"
    );
    assert_eq!(log.count("`.layer(WebhookLayer::new(&receiver))`"), 1);
    let response = rejection.into_response();
    assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
    assert!(axum::body::to_bytes(response.into_body(), 100).await.unwrap().is_empty());
    let _: fn(Rejection) -> _ = Rejection::into_response;
}

/// Rules of the house: the layer of one provider is none for an extractor of another.
#[tokio::test]
async fn another_providers_layer() {
    let provider = CloudEvents::new("Acme-Signature").unwrap();
    let secrets = SecretSet::from_issued(["acme-shared-secret"]).unwrap();
    let receiver = Receiver::builder_for(provider.clone()).secrets(secrets.clone()).dedup(MemoryStore::default());
    let layer = WebhookLayer::new(&receiver.diagnostics(true).build().unwrap());
    let address = serve(Router::new().route("/hook", post(async |_: VerifiedEvent| ()).layer(layer))).await;
    let body = r#"{"specversion":"1.0","id":"evt_1","source":"/charges","type":"com.acme.charge.refunded"}"#;
    let message = Message::new(SystemClock.now(), body.as_bytes());
    let headers = provider.sign(&secrets, message).into_iter();
    let request = headers.fold(Request::post("/hook").body(body), |request, (name, value)| request.header(name, value));
    // An extractor that refuses is a handler that fails: the sender comes back.
    assert_eq!(outcome(address, &request).await, "500 handler_failed");
}

/// H4, A1: axum's own limit of bodies plays no part, in either direction, and later extractors get the body.
#[tokio::test]
async fn body_limits_and_later_extractors() {
    let kit = Kit::new("/hook", SecretSet::from_issued([SECRET]).unwrap(), Environment::Live);
    let hook = async |VerifiedEvent(event): VerifiedEvent, body: Bytes| assert_eq!(event.body(), &body);
    let app = Router::new()
        .route("/hook", post(hook).layer(layer()))
        .route("/other", get(async || "here"))
        .layer(DefaultBodyLimit::max(10_000_000));
    let address = serve(app).await;
    assert_eq!(outcome(address, &kit.plain().request()).await, "200 processed");
    let large = kit.plain().with_body(vec![b' '; 263_169]);
    assert_eq!(outcome(address, &large.request()).await, "413 body_too_large");

    // Its route and no other is the layer's business.
    let other = response(address, &Request::post("/other").method("GET")).await;
    assert_eq!((other.status, other.body), (200, b"here".to_vec()));
    assert_eq!(response(address, &Request::post("/nowhere")).await.status, 404);

    // One `Allow`, and one method in it.
    let wrong = response(address, &Request::post("/hook").method("PUT")).await;
    assert_eq!((wrong.status, wrong.header("allow")), (405, Some("POST")));

    // A handler that wants more than it may have is a handler that fails.
    let hook = async |_: VerifiedEvent, _: Bytes| ();
    let hook = post(hook).layer::<_, Infallible>(DefaultBodyLimit::max(10)).layer(layer());
    let address = serve(Router::new().route("/hook", hook)).await;
    assert_eq!(outcome(address, &kit.plain().request()).await, "413 handler_failed");
}

fn layer() -> WebhookLayer {
    let secrets = SecretSet::from_issued([SECRET]).unwrap();
    let receiver = Receiver::builder().secrets(secrets).dedup(MemoryStore::default()).diagnostics(true);
    WebhookLayer::new(&receiver.build().unwrap())
}

async fn serve(app: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

async fn response(address: SocketAddr, request: &Request) -> Response {
    send(&Target::new(address, Version::Http1), request).await.unwrap()
}

async fn outcome(address: SocketAddr, request: &Request) -> String {
    let response = response(address, request).await;
    format!("{} {}", response.status, response.header("asixto-webhook-outcome").unwrap_or("-"))
}
