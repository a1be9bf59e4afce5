//! What a request's head decides, and that it reaches the inner service as it came.
#![cfg(test)]
#![cfg(feature = "memory")]

mod common;

use asixto_webhook_tower::{
    WebhookLayer,
    core::{ConfigError, Outcome, RotatingSecrets, SecretSet, Unavailable, UnixTime, lookup, sign},
};
use bytes::Bytes;
use common::{
    ID, NOW, SECRET, SIGNATURE, Seen, builder, delivery, envelope, layer, post, row, secrets, send, signature, told,
};
use http::{HeaderValue, Method, Request, Uri, Version, header::HeaderName};
use http_body_util::Full;
use testkit::Log;
use tower::Layer;

/// What a request is told whose signature header has these values, one line each.
async fn lines<V: TryInto<HeaderValue, Error: std::fmt::Debug>>(
    values: impl IntoIterator<Item = (&'static str, V)>,
) -> (u16, String) {
    let (seen, body) = (Seen::default(), envelope(ID));
    let service = layer().layer(seen.service::<_, Full<Bytes>>());
    let mut request = Request::post("/").body(Full::new(body)).unwrap();
    for (name, value) in values {
        // As the HTTP stack reads it from the wire.
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        request.headers_mut().append(name, value.try_into().unwrap());
    }
    let response = send(&service, request).await;
    assert_eq!(seen.all().len(), usize::from(response.status() == 200));
    let (status, outcome) = told(&response);
    (status, outcome.to_owned())
}

fn expected(outcome: Outcome) -> (u16, String) {
    (outcome.status(), outcome.code().to_owned())
}

// B6: one line, in any casing; two are refused, equal or not, whichever is good, and are never joined.
#[tokio::test(start_paused = true)]
async fn repeated_lines() {
    let good = signature(&envelope(ID));
    let bad = signature(b"another");
    for name in ["Asixto-Signature", "asixto-signature", "ASIXTO-SIGNATURE", "aSiXtO-sIgNaTuRe"] {
        assert_eq!(lines([(name, &good)]).await, expected(Outcome::Processed), "{name}");
        for other in ["Asixto-Signature", "ASIXTO-SIGNATURE"] {
            for (first, second) in [(&good, &good), (&good, &bad), (&bad, &good), (&good, &String::new())] {
                let found = lines([(name, first), (other, second)]).await;
                assert_eq!(found, expected(Outcome::RepeatedHeader), "{name} {other}");
            }
        }
    }
    // Together they would make a good one.
    let (time, macs) = good.split_once(',').unwrap();
    assert_eq!(lines([(SIGNATURE, time), (SIGNATURE, macs)]).await, expected(Outcome::RepeatedHeader));
    assert_eq!(lines([(SIGNATURE, &good); 3]).await, expected(Outcome::RepeatedHeader));
    // B8: and this is what a proxy makes of two.
    assert_eq!(lines([(SIGNATURE, format!("{good}, {good}"))]).await, expected(Outcome::MalformedHeader));
    assert_eq!(lines([("asixto-signature-2", &good)]).await, expected(Outcome::MissingHeader));
}

// B8: bytes that are no text are malformed, and nothing panics over them.
#[tokio::test(start_paused = true)]
async fn bytes_that_are_no_text() {
    let good = signature(&envelope(ID));
    for (before, after) in [(&b"\xff"[..], &b""[..]), (b"", b",\x80"), (b"", b",x=\xc3\xb1"), (b"\xef\xbb\xbf", b"")] {
        let value = [before, good.as_bytes(), after].concat();
        assert_eq!(lines([(SIGNATURE, value)]).await, expected(Outcome::MalformedHeader));
    }
    assert_eq!(lines([(SIGNATURE, &b""[..])]).await, expected(Outcome::MalformedHeader));
    assert_eq!(lines([(SIGNATURE, &b"\xff\xff"[..])]).await, expected(Outcome::MalformedHeader));
    // Other headers may be what they like.
    assert_eq!(lines([(SIGNATURE, good.as_bytes()), ("x-name", b"\xe4")]).await, expected(Outcome::Processed));
}

#[derive(Debug, Clone, PartialEq)]
struct PeerAddress(&'static str);

// The request that the inner service gets is the one that came, but for the event in its extensions.
#[tokio::test(start_paused = true)]
async fn the_rest_of_the_request_survives() {
    let seen = Seen::default();
    let service = layer().layer(seen.service::<_, Full<Bytes>>());
    let body = envelope(ID);
    let mut request = Request::post("https://example.com/webhooks/asixto?x=%20&y=1")
        .version(Version::HTTP_2)
        .header("Content-Type", "text/plain; charset=utf-16")
        .header("Content-Encoding", "gzip")
        .header("X-Repeated", "1")
        .header("X-Repeated", "2")
        .header("X-Bytes", &b"\xe4"[..])
        .header(SIGNATURE, signature(&body))
        .body(Full::new(body.clone()))
        .unwrap();
    request.extensions_mut().insert(PeerAddress("192.0.2.1"));
    let headers = request.headers().clone();

    assert_eq!(told(&send(&service, request).await), row(Outcome::Processed));
    let got = seen.one();
    assert_eq!((got.parts.method, got.parts.version), (Method::POST, Version::HTTP_2));
    assert_eq!(got.parts.uri, "https://example.com/webhooks/asixto?x=%20&y=1".parse::<Uri>().unwrap());
    assert_eq!(got.parts.headers, headers);
    assert_eq!(got.parts.extensions.get(), Some(&PeerAddress("192.0.2.1")));
    assert_eq!((got.event.id(), got.event.verified().secret(), got.event.scope()), (ID, "current", "default"));
    assert_eq!(got.body, body);
}

// An event that stood in the extensions before is not believed: the verified one takes its place.
#[tokio::test(start_paused = true)]
async fn an_event_that_was_there_before() {
    let seen = Seen::default();
    let service = layer().layer(seen.service::<_, Full<Bytes>>());
    let mut request = delivery(ID);
    request.extensions_mut().insert(asixto_webhook_tower::core::testing::event(envelope("forged")).unwrap());
    assert_eq!(told(&send(&service, request).await), row(Outcome::Processed));
    assert_eq!((seen.ids(), seen.one().event.verified().secret()), (vec![ID.to_owned()], "current"));

    let mut request = delivery("other");
    request.headers_mut().clear();
    request.extensions_mut().insert(asixto_webhook_tower::core::testing::event(envelope("forged")).unwrap());
    assert_eq!(told(&send(&service, request).await), row(Outcome::MissingHeader));
    assert_eq!(seen.ids(), [ID]);
}

const OTHER_SECRET: &str = "whsec_m5RkZt0oXw3EiNq8ByDv6UhSj2LgCf7A";

/// A layer for two tenants, each with a path and a secret of its own.
fn tenants() -> WebhookLayer {
    let secrets = lookup(|tenant: String| async move {
        match &*tenant {
            "acme" => Ok(Some(secrets(SECRET))),
            "globex" => Ok(Some(secrets(OTHER_SECRET))),
            "vault" => Err(Unavailable::new("the vault is sealed")),
            _ => Ok(None),
        }
    });
    WebhookLayer::new(&builder().secrets(secrets).build().unwrap())
        .scope_from(|parts| parts.uri.path().rsplit('/').next().unwrap_or_default().to_owned())
        .unwrap()
}

fn for_tenant(tenant: &str, secrets: &SecretSet, id: &str) -> Request<Full<Bytes>> {
    let body = envelope(id);
    let header = sign(secrets, UnixTime::from_secs(NOW), &body);
    Request::post(format!("/webhooks/{tenant}")).header(SIGNATURE, header).body(Full::new(body)).unwrap()
}

// E1: each tenant has its secrets, and its ids.
#[tokio::test(start_paused = true)]
async fn two_tenants() {
    let seen = Seen::default();
    let service = tenants().layer(seen.service::<_, Full<Bytes>>());
    let (acme, globex) = (secrets(SECRET), secrets(OTHER_SECRET));
    for (tenant, secrets, outcome) in [
        ("acme", &acme, Outcome::Processed),
        ("globex", &globex, Outcome::Processed),
        ("acme", &acme, Outcome::Duplicate),
        ("globex", &globex, Outcome::Duplicate),
        // One tenant's secret is worth nothing with the other.
        ("globex", &acme, Outcome::SignatureMismatch),
        ("acme", &globex, Outcome::SignatureMismatch),
    ] {
        let response = send(&service, for_tenant(tenant, secrets, ID)).await;
        assert_eq!(told(&response), row(outcome), "{tenant}");
    }
    let scopes: Vec<_> = seen.all().iter().map(|got| got.event.scope().to_owned()).collect();
    assert_eq!(scopes, ["acme", "globex"]);
}

// A tenant that does not exist is told what a forger is told; one whose secrets cannot be had is told to come back.
#[tokio::test(start_paused = true)]
async fn an_unknown_tenant() {
    let seen = Seen::default();
    let service = tenants().layer(seen.service::<_, Full<Bytes>>());
    for tenant in ["initech", "", "ACME", "%61cme"] {
        let response = send(&service, for_tenant(tenant, &secrets(SECRET), ID)).await;
        assert_eq!(told(&response), row(Outcome::SignatureMismatch), "{tenant}");
    }
    let response = send(&service, for_tenant("vault", &secrets(SECRET), ID)).await;
    assert_eq!(told(&response), row(Outcome::NoSecret));
    assert_eq!(response.headers()["retry-after"], "5");
    assert_eq!(seen.ids(), [""; 0]);
}

/// A look-up that finds the same secrets for each.
fn for_every_tenant() -> WebhookLayer {
    WebhookLayer::new(&builder().secrets(lookup(|_| async { Ok(Some(secrets(SECRET))) })).build().unwrap())
}

// E1: with one set for all, what was made for one tenant would be a new event of every other.
#[test]
fn tenants_need_secrets_of_their_own() {
    for receiver in [builder().secrets(secrets(SECRET)), builder().secrets(RotatingSecrets::new(secrets(SECRET)))] {
        let layer = WebhookLayer::new(&receiver.build().unwrap()).scope_from(|_| "acme".to_owned());
        assert_eq!(layer.err(), Some(ConfigError::SharedSecrets));
    }
}

// Whatever type of body the inner service wants, and whichever of the two is said first.
#[tokio::test(start_paused = true)]
async fn tenants_and_another_body() {
    let scope = |parts: &http::request::Parts| parts.uri.path().to_owned();
    let layers = [
        for_every_tenant().scope_from(scope).unwrap().restore_as::<axum::body::Body>(),
        for_every_tenant().restore_as::<axum::body::Body>().scope_from(scope).unwrap(),
    ];
    for layer in layers {
        let seen = Seen::default();
        let service = layer.clone().layer(seen.service::<axum::body::Body, Full<Bytes>>());
        assert_eq!(told(&send(&service, delivery(ID)).await), row(Outcome::Processed));
        assert_eq!(seen.one().event.scope(), "/webhooks/asixto");
    }
}

// A function that did not foresee a request is no way to bring the connection down, nor is an empty name a way in.
#[tokio::test(start_paused = true)]
async fn a_scope_that_cannot_be_told() {
    let (seen, log) = (Seen::default(), Log::start());
    let service = for_every_tenant()
        .scope_from(|parts| parts.headers["x-tenant"].to_str().unwrap().to_owned())
        .unwrap()
        .layer(seen.service::<_, Full<Bytes>>());
    assert_eq!(told(&send(&service, delivery(ID)).await), row(Outcome::HandlerFailed));
    assert_eq!(log.delivery().field("reason"), Some("the function that names the scope of a request panicked"));

    let service = for_every_tenant().scope_from(|_| String::new()).unwrap().layer(seen.service::<_, Full<Bytes>>());
    assert_eq!(told(&send(&service, delivery(ID)).await), row(Outcome::SignatureMismatch));
    assert!(seen.all().is_empty());
}

// A scope is taken from the request as it came: its head, without a byte of its body.
#[tokio::test(start_paused = true)]
async fn a_scope_from_a_header() {
    let seen = Seen::default();
    let service = for_every_tenant()
        .scope_from(|parts| format!("{}-{}", parts.method, parts.headers["x-tenant"].to_str().unwrap()))
        .unwrap()
        .layer(seen.service::<_, Full<Bytes>>());
    let body = envelope(ID);
    let mut request = post(&body, Full::new(body.clone()));
    request.headers_mut().insert("x-tenant", "acme".parse().unwrap());
    assert_eq!(told(&send(&service, request).await), row(Outcome::Processed));
    assert_eq!(seen.one().event.scope(), "POST-acme");
}
