//! The example as a user runs it: a program, its variables, and real sockets.
#![expect(clippy::unwrap_used, reason = "helpers of tests assert by panicking too")]

use std::{
    env, fs,
    io::{Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use asixto_webhook_conformance::{
    Kit, PROBES, Program, Request, Response, Target, Version, fixtures::EVENT_TYPES, run, send,
};
use asixto_webhook_core::{Environment, SecretSet};

const OLD: &str = "whsec_dGhlIG9sZCBzZWNyZXQgb2YgdGhlIGV4YW1wbGU";
const NEW: &str = "whsec_dGhlIG5ldyBzZWNyZXQgb2YgdGhlIGV4YW1wbGU";
const BINARY: &str = env!("CARGO_BIN_EXE_example-axum");
const PATIENCE: Duration = Duration::from_secs(20);

/// A–H, K: every probe, over both versions of HTTP; then it ends as it is asked to.
#[tokio::test(flavor = "multi_thread")]
async fn corpus() {
    let example = start("corpus", &[("ASIXTO_WEBHOOK_DIAGNOSTICS", "1")]);
    for version in [Version::Http1, Version::Http2] {
        let mut failures = Vec::new();
        for probe in PROBES {
            let target = Target::new(example.address(), version).observed_at("/events");
            let finding = run(&target, &kit(), probe).await.unwrap();
            if !finding.passed() {
                failures.push(format!("{}: expected {}, got {}", probe.id, finding.expected, finding.got));
            }
        }
        assert!(failures.is_empty(), "{version}:\n{}", failures.join("\n"));
    }
    assert!(cfg!(not(unix)) || example.stop().unwrap().success());
}

/// `GET /events`: oldest first, what the handler ran for, and how often.
#[tokio::test(flavor = "multi_thread")]
async fn events() {
    let example = start("events", &[("ASIXTO_WEBHOOK_DIAGNOSTICS", "0")]);
    let (target, kit) = (Target::new(example.address(), Version::Http1), kit());
    let mut ids = Vec::new();
    for event_type in EVENT_TYPES {
        let delivery = kit.delivery(event_type);
        let response = send(&target, &delivery.request()).await.unwrap();
        assert_eq!((response.status, response.header("asixto-webhook-outcome")), (200, None));
        ids.push(delivery.id().to_owned());
    }
    let original = kit.plain();
    let replay = original.clone().replayed();
    assert_eq!(send(&target, &replay.request()).await.unwrap().status, 200);
    ids.push(replay.id().to_owned());

    let listed = send(&target, &Request::post("/events").method("GET")).await.unwrap();
    let listed: Vec<serde_json::Value> = serde_json::from_slice(&listed.body).unwrap();
    let listed_ids: Vec<_> = listed.iter().map(|event| event["id"].as_str().unwrap()).collect();
    assert_eq!(listed_ids, ids);
    for (event, event_type) in listed.iter().zip(EVENT_TYPES) {
        assert_eq!((event["type"].as_str(), event["environment"].as_str()), (Some(event_type), Some("live")));
        assert!(event["created"].as_u64().unwrap() > 1_700_000_000);
        assert_eq!((event["times"].as_u64(), event.get("replay_of")), (Some(1), None));
    }
    assert_eq!(listed[10]["replay_of"].as_str(), Some(original.id()));
}

/// A declared environment refuses the other one's events.
#[tokio::test(flavor = "multi_thread")]
async fn environment() {
    let example = start("environment", &[("ASIXTO_WEBHOOK_ENVIRONMENT", "test"), ("ASIXTO_WEBHOOK_DIAGNOSTICS", "1")]);
    let target = Target::new(example.address(), Version::Http1);
    assert_eq!(outcome(&send(&target, &kit().plain().request()).await.unwrap()), "400 wrong_environment");
    let test = Kit::new("/webhooks/asixto", secrets(), Environment::Test);
    assert_eq!(outcome(&send(&target, &test.plain().request()).await.unwrap()), "200 processed");
}

/// What is missing or wrong is said at the start, with how to mend it, and never with a secret.
#[test]
fn wrong_configuration() {
    for (variables, expected) in [
        (&[][..], "ASIXTO_WEBHOOK_SECRETS is not set; make one with: export ASIXTO_WEBHOOK_SECRETS=whsec_$("),
        (&[("ASIXTO_WEBHOOK_SECRETS", "")], "ASIXTO_WEBHOOK_SECRETS: secret 1: expected a secret, found an empty"),
        (&[("ASIXTO_WEBHOOK_SECRETS", "hunter2hunter2")], "secret 1: expected a secret that starts with `whsec_`"),
        (&[("ASIXTO_WEBHOOK_SECRETS", "whsec_hunter2, ")], "secret 2: expected a secret, found an empty text"),
        (&[("ASIXTO_WEBHOOK_SECRETS", "whsec_hunter2 whsec_x")], "secret 1: expected one secret, found a comma, white"),
        (
            &[("ASIXTO_WEBHOOK_SECRETS", OLD), ("ASIXTO_WEBHOOK_DIAGNOSTICS", "true")],
            "ASIXTO_WEBHOOK_DIAGNOSTICS: expected `1` or `0`, found another text",
        ),
        (
            &[("ASIXTO_WEBHOOK_SECRETS", OLD), ("ASIXTO_WEBHOOK_STORE", "mongo")],
            "ASIXTO_WEBHOOK_STORE: expected `memory`",
        ),
        (
            &[("ASIXTO_WEBHOOK_SECRETS", OLD), ("ASIXTO_WEBHOOK_ENVIRONMENT", "prod")],
            "ASIXTO_WEBHOOK_ENVIRONMENT: expected `live` or `test`",
        ),
        (
            &[("ASIXTO_WEBHOOK_SECRETS", OLD), ("ASIXTO_WEBHOOK_LISTEN", "everywhere")],
            "ASIXTO_WEBHOOK_LISTEN=everywhere: ",
        ),
    ] {
        let mut command = Command::new(BINARY);
        for name in ["SECRETS", "STORE", "ENVIRONMENT", "LISTEN", "DIAGNOSTICS"] {
            command.env_remove(format!("ASIXTO_WEBHOOK_{name}"));
        }
        let output = command.envs(variables.iter().copied()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "expected {expected}, found {said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
}

/// What the server does before a request is a request: a half-sent head is not waited for.
#[test]
fn half_a_head() {
    let example = start("half-a-head", &[]);
    let begun = Instant::now();
    for half in ["", "POST /webhooks/asixto HTTP/1.1\r\nhost: x\r\nasixto-signa"] {
        let mut stream = TcpStream::connect(example.address()).unwrap();
        stream.write_all(half.as_bytes()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        assert!(!rest.starts_with(b"HTTP/1.1 2"));
    }
    assert!(begun.elapsed() < PATIENCE);
}

/// E5: told to stop while a body is on its way, it takes the rest and answers.
#[cfg(unix)]
#[test]
fn stop_in_mid_delivery() {
    let mut example = start("stop", &[("ASIXTO_WEBHOOK_DIAGNOSTICS", "1")]);
    let delivery = kit().plain();
    let (name, signature) = delivery.signature();
    let (body, middle) = (delivery.body(), delivery.body().len() / 2);
    let mut stream = TcpStream::connect(example.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "POST /webhooks/asixto HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: {}\r\n\
         {name}: {signature}\r\n\r\n",
        body.len()
    )
    .unwrap();
    // It asks for the body, so the delivery is under way.
    let mut go_on = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
    stream.read_exact(&mut go_on).unwrap();
    assert!(go_on.starts_with(b"HTTP/1.1 100"));
    stream.write_all(&body[..middle]).unwrap();
    example.ask_to_stop().unwrap();
    stream.write_all(&body[middle..]).unwrap();

    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 200") && response.contains(": processed\r\n"), "{response}");
    assert!(example.stop().unwrap().success());
}

fn start(test: &str, variables: &[(&str, &str)]) -> Program {
    // A blank after the comma is none of the secret's.
    let secrets = [OLD, NEW].join(", ");
    let mut all = vec![("ASIXTO_WEBHOOK_SECRETS", secrets.as_str())];
    all.extend(variables);
    let log: PathBuf = [env!("CARGO_TARGET_TMPDIR"), &format!("{test}.log")].iter().collect();
    Program::start(Path::new(BINARY), &log, &all).unwrap_or_else(|error| {
        let log = fs::read_to_string(&log).unwrap_or_default();
        unreachable!("{error}\n{log}")
    })
}

fn secrets() -> SecretSet {
    SecretSet::from_issued([OLD, NEW]).unwrap()
}

fn kit() -> Kit {
    Kit::new("/webhooks/asixto", secrets(), Environment::Live)
}

fn outcome(response: &Response) -> String {
    format!("{} {}", response.status, response.header("asixto-webhook-outcome").unwrap_or("-"))
}
