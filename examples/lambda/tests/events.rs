//! Events as AWS hands them over, recorded and signed for a clock that stands still.
#![cfg(test)]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use asixto_webhook_core::{
    BoxFuture, Claim, Claimed, DedupStore, Held, Receiver, ReceiverBuilder, SecretSet, StoreError, Token, UnixTime,
    testing::ManualClock,
};
use example_lambda::function;
use example_support::store;
use lambda_http::{Context, LambdaEvent, tower::ServiceExt};
use serde_json::Value;

const HTTP_API: &str = include_str!("events/http-api.json");
const FUNCTION_URL: &str = include_str!("events/function-url.json");
const REST_API: &str = include_str!("events/rest-api.json");
const LOAD_BALANCER: &str = include_str!("events/load-balancer.json");
const LOAD_BALANCER_MULTI_VALUE: &str = include_str!("events/load-balancer-multi-value.json");

const SECRET: &str = "whsec_c2VjcmV0IG9mIHRoZSBsYW1iZGEgdGVzdHM";
/// The clock of the events.
const NOW: UnixTime = UnixTime::from_secs(1_787_923_200);

fn builder() -> ReceiverBuilder {
    let secrets = SecretSet::from_issued([SECRET]).unwrap();
    Receiver::builder().secrets(secrets).clock(ManualClock::new(NOW)).diagnostics(true)
}

async fn receiver() -> Receiver {
    builder().dedup(store().await.unwrap()).build().unwrap()
}

/// What Lambda hands back for an event.
async fn response(receiver: &Receiver, event: &Value) -> Value {
    let event = LambdaEvent::new(serde_json::from_value(event.clone()).unwrap(), Context::default());
    let Ok(response) = function(receiver).oneshot(event).await;
    serde_json::to_value(response).unwrap()
}

async fn outcome(receiver: &Receiver, event: &Value) -> String {
    let response = response(receiver, event).await;
    let headers = [&response["headers"], &response["multiValueHeaders"]];
    let outcome = headers.iter().find_map(|headers| headers.get("asixto-webhook-outcome"));
    // A list where headers may have several values.
    let outcome = outcome.map(|outcome| outcome.get(0).unwrap_or(outcome).as_str().unwrap());
    format!("{} {}", response["statusCode"], outcome.unwrap_or("-"))
}

fn event(recorded: &str) -> Value {
    serde_json::from_str(recorded).unwrap()
}

// A1, B7, B10, E2: whichever way it comes.
#[tokio::test]
async fn every_kind_of_event() {
    for recorded in [HTTP_API, FUNCTION_URL, REST_API, LOAD_BALANCER, LOAD_BALANCER_MULTI_VALUE] {
        let receiver = receiver().await;
        let event = event(recorded);
        assert_eq!(outcome(&receiver, &event).await, "200 processed", "{recorded}");
        assert_eq!(outcome(&receiver, &event).await, "200 duplicate", "{recorded}");

        let mut forged = event.clone();
        forged["body"] = "e30=".into();
        assert_eq!(outcome(&receiver, &forged).await, "400 signature_mismatch", "{recorded}");
        let mut unsigned = event.clone();
        for headers in ["headers", "multiValueHeaders"] {
            if let Some(headers) = unsigned[headers].as_object_mut() {
                headers.retain(|name, _| !name.eq_ignore_ascii_case("asixto-signature"));
            }
        }
        assert_eq!(outcome(&receiver, &unsigned).await, "400 missing_header", "{recorded}");
        let mut asked = event.clone();
        for method in ["/httpMethod", "/requestContext/http/method"] {
            if let Some(method) = asked.pointer_mut(method) {
                *method = "GET".into();
            }
        }
        assert_eq!(outcome(&receiver, &asked).await, "405 method_not_allowed", "{recorded}");
    }
}

// B6, B8: where the lines are kept apart they are counted; where they are joined, the second `t` shows it.
#[tokio::test]
async fn repeated_header_lines() {
    let receiver = receiver().await;
    for (recorded, headers, name) in [
        (REST_API, "multiValueHeaders", "Asixto-Signature"),
        (LOAD_BALANCER_MULTI_VALUE, "multiValueHeaders", "asixto-signature"),
    ] {
        let mut event = event(recorded);
        let lines = event[headers][name].as_array_mut().unwrap();
        lines.insert(0, "t=1,v1=00".into());
        assert_eq!(outcome(&receiver, &event).await, "400 repeated_header", "{recorded}");
    }
    for recorded in [HTTP_API, FUNCTION_URL] {
        let mut event = event(recorded);
        let line = &mut event["headers"]["asixto-signature"];
        *line = format!("{0},{0}", line.as_str().unwrap()).into();
        assert_eq!(outcome(&receiver, &event).await, "400 malformed_header", "{recorded}");
    }
}

// H4
#[tokio::test]
async fn too_large() {
    let mut event = event(HTTP_API);
    event["body"] = " ".repeat(263_169).into();
    assert_eq!(outcome(&receiver().await, &event).await, "413 body_too_large");
}

// E7: what is not settled yet holds the response up, since nothing runs on behind it.
#[tokio::test(start_paused = true)]
async fn nothing_is_left_behind() {
    let commits = Arc::new(Commits(Mutex::new(Vec::new())));
    let receiver = builder().dedup(commits.clone()).build().unwrap();
    assert_eq!(outcome(&receiver, &event(HTTP_API)).await, "200 processed");
    assert_eq!(*commits.0.lock().unwrap(), ["failed", "failed", "done"]);
}

/// A store that takes the third commit.
#[derive(Debug)]
struct Commits(Mutex<Vec<&'static str>>);

impl DedupStore for Commits {
    fn claim<'a>(&'a self, claim: Claim<'a>) -> BoxFuture<'a, Result<Claimed, StoreError>> {
        Box::pin(async { Ok(Claimed::Fresh(Token::new(*claim.key, 1))) })
    }

    fn extend<'a>(&'a self, _: &'a Token, _: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        Box::pin(async { Ok(Held::Yes) })
    }

    fn commit<'a>(&'a self, _: &'a Token, _: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        Box::pin(async {
            let mut commits = self.0.lock().unwrap();
            let fails = commits.len() < 2;
            commits.push(if fails { "failed" } else { "done" });
            if fails { Err(StoreError::unavailable("connection refused")) } else { Ok(Held::Yes) }
        })
    }

    fn release<'a>(&'a self, _: &'a Token) -> BoxFuture<'a, Result<Held, StoreError>> {
        Box::pin(async { Ok(Held::Yes) })
    }
}
