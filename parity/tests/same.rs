//! The same request has the same status, code and headers of ours on every framework, and the same event.
#![cfg(test)]

use std::sync::{Arc, Mutex};

use asixto_webhook_conformance::{Kit, Request, Response, Signer, Version, fixtures::EVENT_TYPES};
use asixto_webhook_core::{Environment, Event, Receiver, SecretSet, lookup};
use asixto_webhook_tower::MemoryStore;
use parity::{BOTH, Framework, PATIENCE, SECOND, SECRET, Server, Service, builder, everywhere, kit, outcome};
use tokio::time::Instant;

everywhere!(the_event_as_sent, header_names, tenants);

/// One request after the other to each of the frameworks, and what has to come back.
#[tokio::test(flavor = "multi_thread")]
async fn status_and_code() {
    let mut servers = Vec::new();
    for framework in Framework::ALL {
        servers.push((framework, Server::start(framework, builder(), async |_| ()).await));
    }
    let (kit, mut rows) = (kit(), 0);
    for version in BOTH {
        for (what, request, expected) in requests(&kit) {
            for (framework, server) in &servers {
                let response = server.send(version, &request).await.unwrap();
                assert_eq!(outcome(&response), expected, "{framework} over {version}: {what}");
                assert_eq!(ours(&response), headers_of(expected), "{framework} over {version}: {what}");
                assert!(response.body.is_empty(), "{framework} over {version}: {what}");
            }
            rows += 1;
        }
    }
    assert!(rows >= 2 * 40, "only {rows} requests were compared");
}

/// Requests that reach the middleware. What a server refuses before is in docs/servers.md.
fn requests(kit: &Kit) -> Vec<(&'static str, Request, &'static str)> {
    let good = kit.plain();
    let (name, value) = good.signature();
    let header = |edit: fn(String) -> String| kit.plain().resigned(edit);
    let body = |body: &'static [u8]| kit.plain().with_body(body).request();
    let conflict = good.clone().edit(|body| body.replacen("\"created\":", "\"created\": ", 1));
    vec![
        // A1
        ("GET", good.request().method("GET"), "405 method_not_allowed"),
        ("PUT", good.request().method("PUT"), "405 method_not_allowed"),
        ("DELETE", good.request().method("DELETE"), "405 method_not_allowed"),
        ("PATCH", good.request().method("PATCH"), "405 method_not_allowed"),
        ("OPTIONS", good.request().method("OPTIONS"), "405 method_not_allowed"),
        ("a method of no standard", good.request().method("BREW"), "405 method_not_allowed"),
        // E, B6
        ("a delivery", good.request(), "200 processed"),
        ("again", good.clone().signed_at(-1).request(), "200 duplicate"),
        ("another body", conflict.request(), "200 conflict"),
        ("with a query", kit.plain().request(), "200 processed"),
        ("a claimed encoding", kit.plain().request().header("content-encoding", "gzip"), "200 processed"),
        ("another content type", kit.plain().request().header("content-type", "text/plain"), "200 processed"),
        ("in chunks", chunked(kit), "200 processed"),
        ("a replay", good.clone().replayed().request(), "200 processed"),
        // B6, B7
        ("no header", good.unsigned(), "400 missing_header"),
        ("twice", good.request().header(name.clone(), value.clone()), "400 repeated_header"),
        ("twice, in two casings", good.request().header(name.to_uppercase(), value.clone()), "400 repeated_header"),
        ("twice, once empty", good.request().header(name.clone(), ""), "400 repeated_header"),
        ("empty", good.unsigned().header(name.clone(), ""), "400 malformed_header"),
        // B8
        ("joined", header(|value| format!("{value}, {value}")), "400 malformed_header"),
        ("no time", header(|value| value.replacen("t=", "x=", 1)), "400 malformed_header"),
        ("a leading zero", header(|value| value.replacen("t=", "t=0", 1)), "400 malformed_header"),
        ("no signature", header(|value| value.replace("v1=", "v2=")), "400 malformed_header"),
        ("outside ASCII", header(|value| value + ",x=\u{e9}"), "400 malformed_header"),
        ("a tab", header(|value| value.replace(',', "\t,\t")), "200 processed"),
        ("two thousand candidates", header(|value| value + &",v1=00".repeat(2000)), "200 processed"),
        // B2, B3, B4, C1, C2
        ("a stranger", kit.plain().signed_by([Signer::Stranger]).request(), "400 signature_mismatch"),
        ("a body that was altered", good.request().body("{}"), "400 signature_mismatch"),
        ("no body", good.request().body(""), "400 signature_mismatch"),
        ("no body, and no length", good.request().body("").without_length(), "400 signature_mismatch"),
        ("stale", kit.plain().signed_at(-310).request(), "400 outside_window"),
        ("from the future", kit.plain().signed_at(310).request(), "400 outside_window"),
        ("a time beyond 64 bits", header(|_| format!("t={},v1=00", "9".repeat(30))), "400 signature_mismatch"),
        // A2, A3, A8
        ("not JSON", body(b"{\"id\":"), "400 invalid_envelope"),
        ("not UTF-8", body(b"\xff\xfe"), "400 invalid_envelope"),
        ("a list", body(b"[]"), "400 invalid_envelope"),
        ("empty and signed", body(b""), "400 invalid_envelope"),
        // H4
        ("one byte more than the limit", kit.plain().with_body(vec![b' '; 263_169]).request(), "413 body_too_large"),
        ("the limit", kit.plain().with_body(vec![b' '; 263_168]).request(), "400 invalid_envelope"),
        ("too large, in chunks", large_chunks(kit), "413 body_too_large"),
        ("a TiB announced", kit.plain().request().announce(1 << 40).stop_after(5), "413 body_too_large"),
    ]
}

fn chunked(kit: &Kit) -> Request {
    let delivery = kit.plain();
    let (head, tail) = (delivery.body().slice(..7), delivery.body().slice(7..));
    delivery.request().chunked(vec![head, tail])
}

fn large_chunks(kit: &Kit) -> Request {
    let large = kit.plain().with_body(vec![b' '; 263_169]);
    large.request().chunked(vec![large.body().clone()])
}

/// The headers of a response that a receiver sets.
fn ours(response: &Response) -> Vec<(&str, &str)> {
    ["allow", "retry-after", "asixto-webhook-outcome"]
        .into_iter()
        .filter_map(|name| Some((name, response.header(name)?)))
        .collect()
}

fn headers_of(expected: &str) -> Vec<(&str, &str)> {
    let allow = expected.starts_with("405").then_some(("allow", "POST"));
    let outcome = expected.split_once(' ').map(|(_, code)| ("asixto-webhook-outcome", code));
    allow.into_iter().chain(outcome).collect()
}

/// H8: a body that stops half-way is answered for, and not hung up on.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_stops() {
    let mut answers = tokio::task::JoinSet::new();
    for framework in Framework::ALL {
        for version in BOTH {
            answers.spawn(async move {
                let server = Server::start(framework, builder(), async |_| ()).await;
                let begun = Instant::now();
                let told = server.outcome(version, &server.kit.plain().request().stop_after(20)).await;
                (framework, version, told, begun.elapsed())
            });
        }
    }
    for (framework, version, told, waited) in answers.join_all().await {
        assert_eq!(told, "408 body_timeout", "{framework} over {version}");
        assert!(waited.as_secs() >= 5 && waited < PATIENCE, "{framework} over {version}");
    }
}

/// The event of a handler is the one that was sent, for each of the ten types; data that has another shape than the
/// catalogue's leaves the rest usable.
async fn the_event_as_sent(framework: Framework) {
    let seen: Arc<Mutex<Vec<Event>>> = Arc::default();
    let keep = seen.clone();
    let server = Server::start(framework, builder(), move |event| {
        keep.lock().unwrap().push(event);
        async {}
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

/// B6: header names in any case, and repeated lines in any mixture of cases.
async fn header_names(framework: Framework) {
    let server = Server::start(framework, builder(), async |_| ()).await;
    for name in ["asixto-signature", "ASIXTO-SIGNATURE", "aSiXtO-sIgNaTuRe"] {
        let delivery = server.kit.plain();
        let (_, value) = delivery.signature();
        let once = delivery.unsigned().header(name, value.clone());
        let twice = once.clone().header("Asixto-Signature", value);
        assert_eq!(server.outcome(Version::Http1, &twice).await, "400 repeated_header");
        assert_eq!(server.outcome(Version::Http1, &once).await, "200 processed");
    }
}

/// D1, E1: many tenants on one route, each with secrets and ids of its own; an unknown one looks like a forgery.
async fn tenants(framework: Framework) {
    let secrets = lookup(|tenant: String| async move {
        let issued = match tenant.as_str() {
            "acme" => SECRET,
            "globex" => SECOND,
            _ => return Ok(None),
        };
        Ok(Some(SecretSet::from_issued([issued])?))
    });
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let keep = seen.clone();
    let receiver = Receiver::builder().secrets(secrets).dedup(MemoryStore::default()).diagnostics(true).build();
    let service = Service::new(receiver.unwrap(), move |event: Event| {
        keep.lock().unwrap().push(event.scope().to_owned());
        async {}
    });
    let server = Server::serve(framework, service.of_tenants()).await;

    let for_tenant = |tenant: &str, secret| {
        Kit::new(format!("/hooks/{tenant}"), SecretSet::from_issued([secret]).unwrap(), Environment::Live)
    };
    let (acme, globex) = (for_tenant("acme", SECRET), for_tenant("globex", SECOND));
    let delivery = acme.plain();
    assert_eq!(server.outcome(Version::Http1, &delivery.request()).await, "200 processed");
    // The same id is another event for another tenant.
    let twin = globex.plain().with_body(delivery.body().clone());
    assert_eq!(server.outcome(Version::Http1, &twin.request()).await, "200 processed");
    assert_eq!(server.outcome(Version::Http1, &delivery.request()).await, "200 duplicate");
    assert_eq!(*seen.lock().unwrap(), ["acme", "globex"]);
    // Neither another tenant's secret nor an unknown tenant passes.
    for stranger in [for_tenant("acme", SECOND), for_tenant("initech", SECRET)] {
        assert_eq!(server.outcome(Version::Http1, &stranger.plain().request()).await, "400 signature_mismatch");
    }
}
