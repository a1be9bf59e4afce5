//! Every row of the outcome table, over both versions of HTTP.

use std::{future::pending, time::Duration};

use asixto_webhook_axum::{
    Environment, NoDedup, Receiver, SecretSet,
    core::{Accepted, BoxFuture, Inbox, Outcome, Record, SecretSource, StoreError, Unavailable},
};
use asixto_webhook_conformance::{PROBES, Version, http1, run};
use axum::http::StatusCode;

use crate::server::{BOTH, Effects, Scripted, Server, Works, builder, outcome, secrets};

/// A–H, K: the whole corpus, as the conformance crate runs it against any receiver.
#[tokio::test(flavor = "multi_thread")]
async fn corpus() {
    let server = Server::start(builder(), async |_| ()).await;
    for version in BOTH {
        let mut failures = Vec::new();
        for probe in PROBES {
            let finding = run(&server.target(version), &server.kit, probe).await.unwrap();
            if !finding.passed() {
                failures.push(format!("{}: expected {}, got {}", probe.id, finding.expected, finding.got));
            }
        }
        assert!(failures.is_empty(), "{version}:\n{}", failures.join("\n"));
    }
}

/// The rows that need a broken part, a slow handler or another configuration.
#[tokio::test(flavor = "multi_thread")]
async fn rows_of_a_troubled_receiver() {
    for version in BOTH {
        // H7, E5
        for (answered, expected) in [
            (204, "204 processed"),
            (400, "400 handler_failed"),
            (429, "429 handler_failed"),
            (500, "500 handler_failed"),
            (302, "500 handler_failed"),
            (410, "500 handler_failed"),
        ] {
            let server =
                Server::start(builder(), move |_| async move { StatusCode::from_u16(answered).unwrap() }).await;
            assert_eq!(server.outcome(version, &server.kit.plain().request()).await, expected);
        }
        let forwarding = Server::start(builder().forward_any_status(true), async |_| StatusCode::GONE).await;
        assert_eq!(forwarding.outcome(version, &forwarding.kit.plain().request()).await, "410 handler_failed");

        // E6
        let strict = Server::start(builder().refuse_conflicts(true), async |_| ()).await;
        let first = strict.kit.plain();
        let second = first.clone().edit(|body| body.replacen("\"created\":", "\"created\": ", 1));
        assert_eq!(strict.outcome(version, &first.request()).await, "200 processed");
        assert_eq!(strict.outcome(version, &second.request()).await, "409 conflict");

        // A6
        let other = Server::start(builder().environment(Environment::Test), async |_| ()).await;
        assert_eq!(other.outcome(version, &other.kit.plain().request()).await, "400 wrong_environment");

        // E7, and a store that hangs is a store that is down.
        let down = Receiver::builder().secrets(secrets()).dedup(Scripted(|_| Works::NotAtAll));
        let hangs = Receiver::builder().secrets(secrets()).dedup(Scripted(|_| Works::ForEver));
        for broken in [down, hangs.store_timeout(Duration::from_millis(50))] {
            let server = Server::start(broken, async |_| ()).await;
            let response = server.send(version, &server.kit.plain().request()).await.unwrap();
            assert_eq!(outcome(&response), "503 store_unavailable");
            assert_eq!(response.header("retry-after"), Some("5"));
        }

        let failing = Receiver::builder().secrets(Keyless { hangs: false });
        let hanging = Receiver::builder().secrets(Keyless { hangs: true }).secrets_timeout(Duration::from_millis(50));
        for broken in [failing, hanging] {
            let server = Server::start(broken.dedup(NoDedup), async |_| ()).await;
            let response = server.send(version, &server.kit.plain().request()).await.unwrap();
            assert_eq!(outcome(&response), "503 no_secret");
            assert_eq!(response.header("retry-after"), Some("5"));
        }

        // K8: written to the inbox, and no handler runs.
        for (accepted, expected) in [
            (Ok(Accepted::Stored), "200 stored"),
            (Ok(Accepted::Duplicate), "200 duplicate"),
            (Ok(Accepted::Conflict), "200 conflict"),
            // N3
            (Ok(Accepted::NonceReused), "400 nonce_reused"),
            (Err(()), "503 store_unavailable"),
        ] {
            let handled = Effects::default();
            let inbox = Receiver::builder().secrets(secrets()).inbox(Tray(accepted));
            let server = Server::start(inbox, {
                let handled = handled.clone();
                move |_| {
                    handled.happen();
                    async {}
                }
            })
            .await;
            assert_eq!(server.outcome(version, &server.kit.plain().request()).await, expected);
            assert_eq!(handled.count(), 0);
        }
    }
}

/// E7: a commit that fails after the handler's 2xx does not take the 2xx back.
#[tokio::test(flavor = "multi_thread")]
async fn failed_commit() {
    for version in BOTH {
        let commits = Effects::default();
        let store = Scripted({
            let commits = commits.clone();
            move |step| if step == "commit" && commits.happen() < 3 { Works::NotAtAll } else { Works::Well }
        });
        let server = Server::start(Receiver::builder().secrets(secrets()).dedup(store), async |_| ()).await;
        assert_eq!(server.outcome(version, &server.kit.plain().request()).await, "200 processed");
        // It was tried again in the background until it succeeded.
        server.webhooks.drain(Duration::from_secs(10)).await.unwrap();
        assert_eq!(commits.count(), 3);
    }
}

/// H4: what is announced is not allocated. A receiver that believed these would be killed at the first.
#[tokio::test(flavor = "multi_thread")]
async fn announced_terabytes() {
    let server = Server::start(builder(), async |_| ()).await;
    let request = server.kit.plain().request().announce(1 << 40).stop_after(10);
    let sent = (0..64).map(|_| http1::send(server.address(), &request, Duration::from_secs(10)));
    for response in sent {
        assert_eq!(outcome(&response.await.unwrap()), "413 body_too_large");
    }
}

/// A refusal is a status and nothing else: no body, no header of ours, the same for every reason.
#[tokio::test(flavor = "multi_thread")]
async fn no_oracle() {
    let layer = asixto_webhook_axum::WebhookLayer::new(&builder().build().unwrap());
    let app = axum::Router::new().route("/hook", axum::routing::post(async || ()).layer(layer.clone()));
    let server = Server::serve(app, layer).await;
    let kit = &server.kit;
    let mut answers = Vec::new();
    for request in [
        kit.plain().unsigned(),
        kit.plain().resigned(|value| value.replacen("t=", "x=", 1)),
        kit.plain().resigned(|value| value.replace("v1=", "v1=0")),
        kit.plain().signed_at(-1000).request(),
        kit.plain().with_body("[]").request(),
    ] {
        let mut response = server.send(Version::Http1, &request).await.unwrap();
        response.headers.retain(|(name, _)| name != "date");
        answers.push(response);
    }
    assert_eq!(answers[0].status, 400);
    assert!(answers[0].body.is_empty());
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert!(answers[0].header("asixto-webhook-outcome").is_none());
}

/// The table has no row that no test here provokes over a socket.
#[test]
fn every_outcome_is_provoked() {
    let sources = [include_str!("outcomes.rs"), include_str!("handlers.rs")].concat();
    let expected_by_probes = include_str!("../../../asixto-webhook-conformance/src/corpus.rs");
    for outcome in Outcome::ALL {
        let row = format!("{} {outcome}\"", outcome.status());
        let probe = format!("Outcome::{outcome:?}");
        assert!(
            sources.contains(&row) || expected_by_probes.contains(&probe) || outcome == Outcome::BodyAborted,
            "{row}"
        );
    }
}

struct Keyless {
    hangs: bool,
}

impl SecretSource for Keyless {
    fn secrets<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<SecretSet>, Unavailable>> {
        Box::pin(async {
            if self.hangs {
                pending::<()>().await;
            }
            Err(Unavailable::new("the vault is sealed"))
        })
    }
}

#[derive(Debug)]
struct Tray(Result<Accepted, ()>);

impl Inbox for Tray {
    fn accept<'a>(&'a self, _: Record<'a>) -> BoxFuture<'a, Result<Accepted, StoreError>> {
        Box::pin(async { self.0.map_err(|()| StoreError::full()) })
    }
}
