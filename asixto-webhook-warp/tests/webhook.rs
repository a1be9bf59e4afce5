//! The filter among other filters, without a server.
#![cfg(test)]
#![cfg(feature = "memory")]

use std::{
    convert::Infallible,
    fmt::Debug,
    future::Future,
    sync::{Arc, Mutex},
};

use asixto_webhook_warp::{
    Asixto, MemoryStore, Receiver, ReceiverBuilder, SecretSet, UnixTime, VerifiedEvent, WebhookLayer,
    core::provider::{Agent, CloudEvents, Identity, Message, Provider, StandardWebhooks},
    lookup, webhook,
};
use bytes::Bytes;
use static_assertions::assert_impl_all;
use testkit::Log;
use warp::{
    Filter, Rejection, Reply,
    http::{Response, StatusCode},
    test::RequestBuilder,
};

const SECRET: &str = "whsec_c2VjcmV0IG9mIHRoZSBmaWx0ZXIgdGVzdHM";
const BODY: &str = r#"{"id":"1","type":"job.expired","created":1787923100,"environment":"live","data":{}}"#;

assert_impl_all!(VerifiedEvent: Clone, Debug, Send, Sync);

fn secrets<P: Provider>() -> SecretSet<P> {
    SecretSet::from_issued([SECRET]).unwrap()
}

fn builder() -> ReceiverBuilder {
    Receiver::builder().secrets(secrets()).dedup(MemoryStore::default()).diagnostics(true)
}

async fn good(_: VerifiedEvent) -> StatusCode {
    StatusCode::OK
}

fn unsigned() -> RequestBuilder {
    warp::test::request().method("POST").path("/hook").body(BODY)
}

fn signed_by<P: Provider>(provider: &P, request: RequestBuilder, body: &str) -> RequestBuilder {
    let secrets = secrets();
    let message = Message::new(UnixTime::now(), body.as_bytes()).with_id("1");
    let headers = provider.sign(&secrets, message).into_iter();
    headers.fold(request.body(body), |request, (name, value)| request.header(&*name, value))
}

fn signed() -> RequestBuilder {
    signed_by(&Asixto, unsigned(), BODY)
}

fn outcome(response: &Response<Bytes>) -> String {
    let outcome = response.headers().get("asixto-webhook-outcome").map(|outcome| outcome.to_str().unwrap());
    format!("{} {}", response.status().as_u16(), outcome.unwrap_or("-"))
}

// B7, A1: what is refused is answered here; neither another route nor a `recover` sees it.
#[tokio::test]
async fn a_refusal_is_a_reply() {
    let hook = warp::path!("hook").and(webhook(&builder().build().unwrap(), good));
    let other = warp::path("hook").map(|| "another route");
    let recovered = async |_: Rejection| Ok::<_, Infallible>("recovered");
    let routes = hook.or(other).recover(recovered);
    for (request, expected) in [
        (unsigned(), "400 missing_header"),
        (signed().body("[]"), "400 signature_mismatch"),
        (unsigned().body(vec![b' '; 263_169]), "413 body_too_large"),
        (signed(), "200 processed"),
        (signed(), "200 duplicate"),
    ] {
        let response = request.reply(&routes).await;
        assert_eq!(outcome(&response), expected);
        assert!(response.body().is_empty());
    }
    for method in ["GET", "HEAD", "PUT", "OPTIONS", "PROPFIND"] {
        let response = unsigned().method(method).reply(&routes).await;
        assert_eq!(outcome(&response), "405 method_not_allowed", "{method}");
        assert_eq!(response.headers()["allow"], "POST");
    }
    // Another path is none of its business, and rejections of others are recovered as ever.
    assert_eq!(unsigned().path("/hook/2").reply(&routes).await.body(), "another route");
    let alone = warp::path!("hook").and(webhook(&builder().build().unwrap(), good)).recover(recovered);
    assert_eq!(unsigned().path("/elsewhere").reply(&alone).await.body(), "recovered");
    assert_eq!(outcome(&unsigned().reply(&alone).await), "400 missing_header");
}

// What a service does with routes: it names them, keeps them, and has several threads serve them.
#[tokio::test]
async fn routes_are_values() {
    fn routes() -> impl Filter<Extract = (impl Reply,), Error = Rejection> + Clone + Send + Sync + 'static {
        let receiver = builder().build().unwrap();
        warp::path!("hook").and(webhook(&receiver, good)).or(warp::path!("events").map(warp::reply))
    }
    let routes = routes();
    let elsewhere = routes.clone();
    tokio::spawn(async move { assert_eq!(outcome(&signed().reply(&elsewhere).await), "200 processed") }).await.unwrap();
    assert_eq!(outcome(&signed().reply(&routes).await), "200 duplicate");
}

// H7, E5: any reply is an answer, and its status is what it is worth.
#[tokio::test]
async fn handlers_reply() {
    async fn check<F: Future<Output: Reply> + Send + 'static>(
        handler: impl FnOnce(VerifiedEvent) -> F + Clone + Send + Sync + 'static,
        expected: &str,
        body: &str,
    ) {
        let response = signed().reply(&webhook(&builder().build().unwrap(), handler)).await;
        assert_eq!((outcome(&response).as_str(), response.body().as_ref()), (expected, body.as_bytes()));
    }
    check(async |_| warp::reply(), "200 processed", "").await;
    check(async |_| "noted", "200 processed", "noted").await;
    check(async |_| Ok::<_, Infallible>(StatusCode::NO_CONTENT), "204 processed", "").await;
    check(async |_| Err::<StatusCode, _>(StatusCode::BAD_GATEWAY), "502 handler_failed", "").await;
    check(async |_| warp::reply::with_status("later", StatusCode::TOO_MANY_REQUESTS), "429 handler_failed", "later")
        .await;
    check(async |_| StatusCode::GONE, "500 handler_failed", "").await;
    // A panic on the way to the future, and one in it.
    check(|_| -> std::future::Ready<StatusCode> { unreachable!("a handler that panics") }, "500 handler_failed", "")
        .await;
    check(async |_| -> StatusCode { unreachable!("a handler that panics") }, "500 handler_failed", "").await;
}

// D1, E1: the tenant is taken from what was sent, and what the path extracts is there for the reply.
#[tokio::test]
async fn the_whole_target_is_seen() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let secrets = lookup(|_| async { Ok(Some(SecretSet::from_issued([SECRET])?)) });
    let receiver = Receiver::builder().secrets(secrets).dedup(MemoryStore::default()).diagnostics(true);
    let webhooks = WebhookLayer::new(&receiver.build().unwrap()).scope_from(|parts| parts.uri.to_string()).unwrap();
    let hook = {
        let seen = seen.clone();
        async move |VerifiedEvent(event): VerifiedEvent| {
            seen.lock().unwrap().push(event.scope().to_owned());
            warp::reply()
        }
    };
    let routes = warp::path!("hook" / String / ..)
        .and(webhook(webhooks, hook))
        .map(|tenant: String, response: warp::reply::Response| warp::reply::with_header(response, "tenant", tenant));
    let targets = ["/hook/acme", "/hook/acme?", "/hook/%61cme/x?a=b&c=%20", "/hook/a//?/?"];
    for target in targets {
        let response = signed().path(target).reply(&routes).await;
        assert_eq!(outcome(&response), "200 processed", "{target}");
        assert!(response.headers().contains_key("tenant"));
    }
    assert_eq!(*seen.lock().unwrap(), targets);
}

// A filter that has taken the body is a mistake of the service: 500, whatever is sent, so that nothing is lost.
#[tokio::test]
async fn a_body_that_is_gone() {
    let log = Log::start();
    let takes = warp::body::bytes().and_then(async |_| Err::<StatusCode, _>(warp::reject::not_found()));
    let hook = warp::path!("hook").and(webhook(&builder().build().unwrap(), good));
    let routes = takes.or(hook).or(warp::any().map(|| "another route"));
    let response = signed().reply(&routes).await;
    assert_eq!((outcome(&response).as_str(), response.body().as_ref()), ("500 -", &b""[..]));
    assert_eq!(log.count("expected the body of the request, found that a filter before `webhook` has taken it"), 1);
    assert!(log.outcomes().is_empty());
}

// L10, M, N: a receiver of any provider.
#[tokio::test]
async fn other_senders() {
    async fn check<P: Provider>(provider: P, body: &str) {
        let receiver = Receiver::builder_for(provider.clone()).secrets(secrets()).dedup(MemoryStore::default());
        let hook = async |VerifiedEvent(event): VerifiedEvent<P>| event.event_type().to_owned();
        let filter = webhook(&receiver.diagnostics(true).build().unwrap(), hook);
        let response = signed_by(&provider, unsigned(), body).reply(&filter).await;
        assert_eq!((outcome(&response).as_str(), response.body().as_ref()), ("200 processed", &b"paid"[..]));
        assert_eq!(outcome(&unsigned().reply(&filter).await), "400 missing_header");
    }
    check(StandardWebhooks, r#"{"type":"paid","data":{}}"#).await;
    check(
        CloudEvents::new("Acme-Signature").unwrap(),
        r#"{"specversion":"1.0","id":"1","source":"/sales","type":"paid"}"#,
    )
    .await;
    check(Agent::new(|_| Ok(Identity::new("1").event_type("paid"))), "{}").await;
}
