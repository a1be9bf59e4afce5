//! What a handler does to a delivery, and a sender to a handler.

use std::{sync::Arc, time::Duration};

use asixto_webhook_conformance::{Version, http1, http2};
use axum::http::StatusCode;
use tokio::{sync::Notify, task::JoinSet, time::Instant};

use crate::server::{BOTH, Effects, Server, builder, outcome, until};

const PATIENCE: Duration = Duration::from_secs(20);

/// E5: of 40 equal deliveries at once exactly one has an effect, and none is answered before its effect is safe.
#[tokio::test(flavor = "multi_thread")]
async fn forty_at_once() {
    for version in BOTH {
        let effects = Effects::default();
        let server = Server::start(builder(), {
            let effects = effects.clone();
            move |_| {
                effects.happen();
                // Long enough for others to arrive.
                tokio::task::yield_now()
            }
        })
        .await;
        let request = server.kit.plain().request();
        let responses = if version == Version::Http2 {
            http2::together(server.address(), &vec![request; 40], PATIENCE).await
        } else {
            let mut sending = JoinSet::new();
            for _ in 0..40 {
                let (address, request) = (server.address(), request.clone());
                sending.spawn(async move { http1::send(address, &request, PATIENCE).await });
            }
            sending.join_all().await
        };
        let mut outcomes: Vec<_> = responses.iter().map(|response| outcome(response.as_ref().unwrap())).collect();
        outcomes.sort();
        let processed = outcomes.iter().filter(|outcome| *outcome == "200 processed").count();
        assert_eq!((processed, outcomes.len(), effects.count()), (1, 40, 1), "{outcomes:?}");
        let rest = |outcome: &String| ["200 processed", "200 duplicate", "503 in_flight"].contains(&outcome.as_str());
        assert!(outcomes.iter().all(rest), "{outcomes:?}");
    }
}

/// E5: a sender that hangs up in the middle of the handler stops nothing; its retry is a duplicate.
#[tokio::test(flavor = "multi_thread")]
async fn client_gone_in_mid_handler() {
    let (begun, go_on, effects) = (Arc::new(Notify::new()), Arc::new(Notify::new()), Effects::default());
    let server = Server::start(builder(), {
        let (begun, go_on, effects) = (begun.clone(), go_on.clone(), effects.clone());
        move |_| {
            let (begun, go_on, effects) = (begun.clone(), go_on.clone(), effects.clone());
            async move {
                begun.notify_one();
                go_on.notified().await;
                effects.happen();
            }
        }
    })
    .await;
    let request = server.kit.plain().request();

    let mut connection = http1::Connection::open(server.address(), PATIENCE).await.unwrap();
    connection.start(&request).await.unwrap();
    begun.notified().await;
    drop(connection);

    // In flight, as long as the handler runs.
    assert_eq!(server.outcome(Version::Http1, &request).await, "503 in_flight");
    go_on.notify_one();
    until("the effect", || effects.count() == 1).await;
    server.webhooks.drain(PATIENCE).await.unwrap();
    assert_eq!(server.outcome(Version::Http1, &request).await, "200 duplicate");
    assert_eq!(effects.count(), 1);
}

/// E5: a handler that fails or panics once and then succeeds has exactly one successful effect.
#[tokio::test(flavor = "multi_thread")]
async fn fails_once_then_succeeds() {
    for version in BOTH {
        for panics in [false, true] {
            let (attempts, effects) = (Effects::default(), Effects::default());
            let server = Server::start(builder(), {
                let (attempts, effects) = (attempts.clone(), effects.clone());
                move |_| {
                    let (attempts, effects) = (attempts.clone(), effects.clone());
                    async move {
                        if attempts.happen() == 1 {
                            assert!(!panics, "a handler that panics");
                            return StatusCode::BAD_GATEWAY;
                        }
                        effects.happen();
                        StatusCode::OK
                    }
                }
            })
            .await;
            let request = server.kit.plain().request();
            let failure = if panics { "500 handler_failed" } else { "502 handler_failed" };
            assert_eq!(server.outcome(version, &request).await, failure);
            assert_eq!(server.outcome(version, &request).await, "200 processed");
            assert_eq!(server.outcome(version, &request).await, "200 duplicate");
            assert_eq!((attempts.count(), effects.count()), (2, 1));
        }
    }
}

/// H8: a handler that takes longer than the sender waits is answered 503 after 9 s, within the sender's 10; it runs
/// on and is committed, so the retry is a duplicate.
#[tokio::test(flavor = "multi_thread")]
async fn slow_handler() {
    let (go_on, effects) = (Arc::new(Notify::new()), Effects::default());
    let server = Server::start(builder(), {
        let (go_on, effects) = (go_on.clone(), effects.clone());
        move |_| {
            let (go_on, effects) = (go_on.clone(), effects.clone());
            async move {
                go_on.notified().await;
                effects.happen();
            }
        }
    })
    .await;
    for version in BOTH {
        let request = server.kit.plain().request();
        let (begun, before) = (Instant::now(), effects.count());
        let response = server.send(version, &request).await.unwrap();
        assert_eq!(outcome(&response), "503 handler_slow");
        assert_eq!(response.header("retry-after"), Some("30"));
        assert!(begun.elapsed() >= Duration::from_secs(9), "answered while there was still time");
        assert_eq!(server.outcome(version, &request).await, "503 in_flight");

        go_on.notify_one();
        until("the effect", || effects.count() == before + 1).await;
        let deadline = Instant::now() + PATIENCE;
        while server.outcome(version, &request).await != "200 duplicate" {
            assert!(Instant::now() < deadline, "the slow handler was never committed");
        }
        assert_eq!(effects.count(), before + 1);
    }
}

/// E5: the lease is renewed while the handler runs, so that a handler longer than the lease runs once.
#[tokio::test(flavor = "multi_thread")]
async fn longer_than_the_lease() {
    let effects = Effects::default();
    let server = Server::start(builder().lease(Duration::from_secs(1)).store_timeout(Duration::from_millis(300)), {
        let effects = effects.clone();
        move |_| {
            let effects = effects.clone();
            async move {
                effects.happen();
                // The subject of this test: it takes three leases.
                tokio::time::sleep(Duration::from_secs(3)).await;
            }
        }
    })
    .await;
    let request = server.kit.plain().request();
    let (address, first) = (server.address(), request.clone());
    let running = tokio::spawn(async move { http1::send(address, &first, PATIENCE).await });
    until("the handler", || effects.count() == 1).await;
    while !running.is_finished() {
        let seen = server.outcome(Version::Http1, &request).await;
        assert!(seen == "503 in_flight" || (seen == "200 duplicate" && effects.count() == 1), "{seen}");
    }
    assert_eq!(outcome(&running.await.unwrap().unwrap()), "200 processed");
    assert_eq!(server.outcome(Version::Http1, &request).await, "200 duplicate");
    assert_eq!(effects.count(), 1);
}

/// B7: nothing before the handler waits for ever: the header is there, the rest of the body never comes.
#[tokio::test(flavor = "multi_thread")]
async fn body_that_never_ends() {
    let server = Server::start(builder(), async |_| ()).await;
    for version in BOTH {
        let request = server.kit.plain().request().stop_after(30);
        let begun = Instant::now();
        assert_eq!(server.outcome(version, &request).await, "408 body_timeout");
        assert!(begun.elapsed() >= Duration::from_secs(5), "refused while there was still time");
    }
}
