//! What a handler does to a delivery, and a sender to a handler, on every framework.
#![cfg(test)]

use std::{sync::Arc, time::Duration};

use asixto_webhook_conformance::{Version, http1, http2};
use parity::{BOTH, Effects, Framework, PATIENCE, Server, builder, everywhere, outcome, until};
use tokio::{sync::Notify, task::JoinSet, time::Instant};

everywhere!(forty_at_once, client_gone_in_mid_handler, fails_once_then_succeeds, slow_handler, longer_than_the_lease,);

/// E5: of 40 equal deliveries at once exactly one has an effect, and none is answered before its effect is safe.
async fn forty_at_once(framework: Framework) {
    for version in BOTH {
        let effects = Effects::default();
        let server = Server::start(framework, builder(), {
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
async fn client_gone_in_mid_handler(framework: Framework) {
    let (begun, go_on, effects) = (Arc::new(Notify::new()), Arc::new(Notify::new()), Effects::default());
    let server = Server::start(framework, builder(), {
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
    server.drain().await.unwrap();
    assert_eq!(server.outcome(Version::Http1, &request).await, "200 duplicate");
    assert_eq!(effects.count(), 1);
}

/// E5: a handler that fails or panics once and then succeeds has exactly one successful effect.
async fn fails_once_then_succeeds(framework: Framework) {
    for version in BOTH {
        for panics in [false, true] {
            let (attempts, effects) = (Effects::default(), Effects::default());
            let server = Server::start(framework, builder(), {
                let (attempts, effects) = (attempts.clone(), effects.clone());
                move |_| {
                    let (attempts, effects) = (attempts.clone(), effects.clone());
                    async move {
                        if attempts.happen() == 1 {
                            assert!(!panics, "a handler that panics");
                            return 502;
                        }
                        effects.happen();
                        200
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
async fn slow_handler(framework: Framework) {
    tokio::join!(slow_handler_over(framework, Version::Http1), slow_handler_over(framework, Version::Http2));
}

async fn slow_handler_over(framework: Framework, version: Version) {
    let (go_on, effects) = (Arc::new(Notify::new()), Effects::default());
    let server = Server::start(framework, builder(), {
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
    let request = server.kit.plain().request();
    let begun = Instant::now();
    let response = server.send(version, &request).await.unwrap();
    assert_eq!(outcome(&response), "503 handler_slow");
    assert_eq!(response.header("retry-after"), Some("30"));
    assert!(begun.elapsed() >= Duration::from_secs(9), "answered while there was still time");
    assert_eq!(server.outcome(version, &request).await, "503 in_flight");

    go_on.notify_one();
    until("the effect", || effects.count() == 1).await;
    let deadline = Instant::now() + PATIENCE;
    while server.outcome(version, &request).await != "200 duplicate" {
        assert!(Instant::now() < deadline, "the slow handler was never committed");
    }
    assert_eq!(effects.count(), 1);
}

/// E5: the lease is renewed while the handler runs, so that a handler longer than the lease runs once.
async fn longer_than_the_lease(framework: Framework) {
    let effects = Effects::default();
    let server =
        Server::start(framework, builder().lease(Duration::from_secs(1)).store_timeout(Duration::from_millis(300)), {
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
