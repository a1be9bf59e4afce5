//! Every row of the outcome table, on every framework and over both versions of HTTP.
#![cfg(test)]

use std::{future::pending, time::Duration};

use asixto_webhook_conformance::{Version, http1};
use asixto_webhook_core::{
    Accepted, BoxFuture, Environment, Inbox, NoDedup, Outcome, Receiver, Record, SecretSet, SecretSource, StoreError,
    Unavailable,
};
use parity::{BOTH, Effects, Framework, Scripted, Server, Service, Works, builder, everywhere, outcome, secrets};

everywhere!(statuses_of_handlers, settings, troubled_seams, inboxes, failed_commit, announced_terabytes, no_oracle,);

/// H7, E5
async fn statuses_of_handlers(framework: Framework) {
    for version in BOTH {
        for (answered, expected) in [
            (204, "204 processed"),
            (400, "400 handler_failed"),
            (429, "429 handler_failed"),
            (500, "500 handler_failed"),
            (302, "500 handler_failed"),
            (410, "500 handler_failed"),
        ] {
            let server = Server::start(framework, builder(), move |_| async move { answered }).await;
            assert_eq!(server.outcome(version, &server.kit.plain().request()).await, expected);
        }
        let forwarding = builder().forward_any_status(true);
        let server = Server::start(framework, forwarding, async |_| 410).await;
        assert_eq!(server.outcome(version, &server.kit.plain().request()).await, "410 handler_failed");
    }
}

async fn settings(framework: Framework) {
    for version in BOTH {
        // E6
        let strict = Server::start(framework, builder().refuse_conflicts(true), async |_| ()).await;
        let first = strict.kit.plain();
        let second = first.clone().edit(|body| body.replacen("\"created\":", "\"created\": ", 1));
        assert_eq!(strict.outcome(version, &first.request()).await, "200 processed");
        assert_eq!(strict.outcome(version, &second.request()).await, "409 conflict");

        // A6
        let other = Server::start(framework, builder().environment(Environment::Test), async |_| ()).await;
        assert_eq!(other.outcome(version, &other.kit.plain().request()).await, "400 wrong_environment");
    }
}

/// E7: a store or a source that hangs is one that is down.
async fn troubled_seams(framework: Framework) {
    for version in BOTH {
        let down = Receiver::builder().secrets(secrets()).dedup(Scripted(|_| Works::NotAtAll));
        let hangs = Receiver::builder().secrets(secrets()).dedup(Scripted(|_| Works::ForEver));
        for broken in [down, hangs.store_timeout(Duration::from_millis(50))] {
            let server = Server::start(framework, broken, async |_| ()).await;
            let response = server.send(version, &server.kit.plain().request()).await.unwrap();
            assert_eq!(outcome(&response), "503 store_unavailable");
            assert_eq!(response.header("retry-after"), Some("5"));
        }

        let failing = Receiver::builder().secrets(Keyless { hangs: false });
        let hanging = Receiver::builder().secrets(Keyless { hangs: true }).secrets_timeout(Duration::from_millis(50));
        for broken in [failing, hanging] {
            let server = Server::start(framework, broken.dedup(NoDedup), async |_| ()).await;
            let response = server.send(version, &server.kit.plain().request()).await.unwrap();
            assert_eq!(outcome(&response), "503 no_secret");
            assert_eq!(response.header("retry-after"), Some("5"));
        }
    }
}

/// K8: written to the inbox, and no handler runs.
async fn inboxes(framework: Framework) {
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
        let counted = handled.clone();
        let server = Server::start(framework, inbox, move |_| {
            counted.happen();
            async {}
        })
        .await;
        for version in BOTH {
            assert_eq!(server.outcome(version, &server.kit.plain().request()).await, expected);
        }
        assert_eq!(handled.count(), 0);
    }
}

/// E7: a commit that fails after the handler's 2xx does not take the 2xx back.
async fn failed_commit(framework: Framework) {
    for version in BOTH {
        let commits = Effects::default();
        let counted = commits.clone();
        let store =
            Scripted(move |step| if step == "commit" && counted.happen() < 3 { Works::NotAtAll } else { Works::Well });
        let builder = Receiver::builder().secrets(secrets()).dedup(store);
        let server = Server::start(framework, builder, async |_| ()).await;
        assert_eq!(server.outcome(version, &server.kit.plain().request()).await, "200 processed");
        // It was tried again in the background until it succeeded.
        server.drain().await.unwrap();
        assert_eq!(commits.count(), 3);
    }
}

/// H4: what is announced is not allocated. A receiver that believed these would be killed at the first.
async fn announced_terabytes(framework: Framework) {
    let server = Server::start(framework, builder(), async |_| ()).await;
    let request = server.kit.plain().request().announce(1 << 40).stop_after(10);
    for response in (0..64).map(|_| http1::send(server.address(), &request, Duration::from_secs(10))) {
        assert_eq!(outcome(&response.await.unwrap()), "413 body_too_large");
    }
}

/// A refusal is a status and nothing else: no body, no header of ours, the same for every reason.
async fn no_oracle(framework: Framework) {
    let receiver = builder().build().unwrap();
    let server = Server::serve(framework, Service::new(receiver, async |_| ())).await;
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
    let provoked = [include_str!("outcomes.rs"), include_str!("handlers.rs"), include_str!("same.rs")].concat();
    for outcome in Outcome::ALL {
        let row = format!("{} {outcome}\"", outcome.status());
        // Nobody is left to read that one.
        assert!(provoked.contains(&row) || outcome == Outcome::BodyAborted, "{row}");
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
