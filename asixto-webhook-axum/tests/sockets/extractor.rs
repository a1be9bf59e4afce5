//! The extractor, its layer, and what stands around them.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use asixto_webhook_axum::{
    Environment, Event, MemoryStore, Receiver, Rejection, SecretSet, VerifiedEvent, WebhookLayer, core::Asixto, lookup,
};
use asixto_webhook_conformance::{Kit, Request, Version, fixtures::EVENT_TYPES, send};
use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, FromRequestParts},
    http::{Request as HttpRequest, StatusCode},
    response::IntoResponse,
    routing::{get, post},
};

use crate::{
    leaks::Captured,
    server::{BOTH, SECOND, SECRET, Server, builder, kit},
};

/// A handler without its layer is refused, whatever is sent, and the log says what to add.
#[tokio::test]
async fn without_the_layer() {
    let captured = Captured::start();
    let (mut parts, ()) = HttpRequest::get("/hook").body(()).unwrap().into_parts();
    let rejection = VerifiedEvent::<Asixto>::from_request_parts(&mut parts, &()).await.unwrap_err();
    assert_eq!((rejection.status(), rejection.code()), (StatusCode::INTERNAL_SERVER_ERROR, "no_layer"));
    assert_eq!(
        rejection.to_string(),
        "expected a `WebhookLayer` of the provider `asixto` on this route, found none: \
         add `.layer(WebhookLayer::new(&receiver))` to its method router"
    );
    assert!(captured.text().contains("`.layer(WebhookLayer::new(&receiver))`"));
    let response = rejection.into_response();
    assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
    assert!(axum::body::to_bytes(response.into_body(), 100).await.unwrap().is_empty());
    let _: fn(Rejection) -> _ = Rejection::into_response;
}

/// The event of a handler is the one that was sent, for each of the ten types; data that has another shape than the
/// catalogue's leaves the rest usable.
#[tokio::test(flavor = "multi_thread")]
async fn the_event_as_sent() {
    let seen: Arc<Mutex<Vec<Event>>> = Arc::default();
    let server = Server::start(builder(), {
        let seen = seen.clone();
        move |event| {
            let seen = seen.clone();
            async move { seen.lock().unwrap().push(event) }
        }
    })
    .await;
    for version in BOTH {
        for event_type in EVENT_TYPES {
            let delivery = server.kit.delivery(event_type);
            assert_eq!(server.outcome(version, &delivery.request()).await, "200 processed");
            let event = seen.lock().unwrap().pop().unwrap();
            assert_eq!((event.id(), event.event_type()), (delivery.id(), event_type));
            assert_eq!(event.body(), delivery.body());
            event.data().unwrap();
        }
        let odd = server.kit.plain().edit(|body| body.replacen("\"job_id\":\"", "\"job_id\":0,\"x\":\"", 1));
        assert_eq!(server.outcome(version, &odd.request()).await, "200 processed");
        let event = seen.lock().unwrap().pop().unwrap();
        assert_eq!(event.data().unwrap_err().field(), "job_id");
        assert!(event.raw_data().get().contains("\"job_id\":0"));
    }
}

/// Axum's own limit of bodies plays no part, in either direction, and later extractors get the body.
#[tokio::test(flavor = "multi_thread")]
async fn body_limits_and_later_extractors() {
    let layer = WebhookLayer::new(&builder().diagnostics(true).build().unwrap());
    let hook = async |VerifiedEvent(event): VerifiedEvent, body: Bytes| {
        assert_eq!(event.body(), &body);
    };
    let app = Router::new()
        .route("/hook", post(hook).layer(layer.clone()))
        .route("/other", get(async || "here"))
        .layer(DefaultBodyLimit::max(10_000_000));
    let server = Server::serve(app, layer.clone()).await;
    assert_eq!(server.outcome(Version::Http1, &server.kit.plain().request()).await, "200 processed");
    let large = server.kit.plain().with_body(vec![b' '; 263_169]);
    assert_eq!(server.outcome(Version::Http1, &large.request()).await, "413 body_too_large");

    // Its route and no other is the layer's business.
    let other = server.send(Version::Http1, &Request::post("/other").method("GET")).await.unwrap();
    assert_eq!((other.status, other.body), (200, b"here".to_vec()));
    assert_eq!(server.send(Version::Http1, &Request::post("/nowhere")).await.unwrap().status, 404);

    // One `Allow`, and one method in it.
    let wrong = server.send(Version::Http1, &Request::post("/hook").method("PUT")).await.unwrap();
    assert_eq!((wrong.status, wrong.header("allow")), (405, Some("POST")));

    // A handler that wants more than it may have is a handler that fails.
    let layer = WebhookLayer::new(&builder().diagnostics(true).build().unwrap());
    let hook = async |_: VerifiedEvent, _: Bytes| ();
    let app =
        Router::new().route("/hook", post(hook).layer::<_, Infallible>(DefaultBodyLimit::max(10)).layer(layer.clone()));
    let server = Server::serve(app, layer).await;
    assert_eq!(server.outcome(Version::Http1, &server.kit.plain().request()).await, "413 handler_failed");
}

/// D1, E1: many tenants on one route, each with secrets and ids of its own; an unknown one looks like a forgery.
#[tokio::test(flavor = "multi_thread")]
async fn tenants() {
    let secrets = lookup(|tenant: String| async move {
        let issued = match tenant.as_str() {
            "acme" => SECRET,
            "globex" => SECOND,
            _ => return Ok(None),
        };
        Ok(Some(SecretSet::from_issued([issued])?))
    });
    let receiver = Receiver::builder().secrets(secrets).dedup(MemoryStore::default()).diagnostics(true).build();
    let layer = WebhookLayer::new(&receiver.unwrap())
        .scope_from(|parts| parts.uri.path().rsplit('/').next().unwrap_or_default().to_owned())
        .unwrap();
    let hook = async |VerifiedEvent(event): VerifiedEvent| event.scope().to_owned();
    let server = Server::serve(Router::new().route("/{tenant}", post(hook).layer(layer.clone())), layer).await;

    let for_tenant = |tenant: &str, secret| {
        Kit::new(format!("/{tenant}"), SecretSet::from_issued([secret]).unwrap(), Environment::Live)
    };
    let (acme, globex) = (for_tenant("acme", SECRET), for_tenant("globex", SECOND));
    let delivery = acme.plain();
    let response = server.send(Version::Http1, &delivery.request()).await.unwrap();
    assert_eq!(response.body, b"acme");
    // The same id is another event for another tenant.
    let twin = globex.plain().with_body(delivery.body().clone());
    assert_eq!(server.outcome(Version::Http1, &twin.request()).await, "200 processed");
    assert_eq!(server.outcome(Version::Http1, &delivery.request()).await, "200 duplicate");
    // Neither another tenant's secret nor an unknown tenant passes.
    for stranger in [for_tenant("acme", SECOND), for_tenant("initech", SECRET)] {
        assert_eq!(server.outcome(Version::Http1, &stranger.plain().request()).await, "400 signature_mismatch");
    }
}

/// B6: header names in any case, and repeated lines in any mixture of cases.
#[tokio::test(flavor = "multi_thread")]
async fn header_names() {
    let server = Server::start(builder(), async |_| ()).await;
    for name in ["asixto-signature", "ASIXTO-SIGNATURE", "aSiXtO-sIgNaTuRe"] {
        let delivery = kit().plain();
        let (_, value) = delivery.signature();
        let once = delivery.unsigned().header(name, value.clone());
        let twice = once.clone().header("Asixto-Signature", value);
        let target = server.target(Version::Http1);
        assert_eq!(crate::server::outcome(&send(&target, &twice).await.unwrap()), "400 repeated_header");
        assert_eq!(crate::server::outcome(&send(&target, &once).await.unwrap()), "200 processed");
    }
}
