//! The example as a user runs it: each sender's deliveries at its route, and none at another's.
#![cfg(test)]

use std::{env, path::Path, process::Command};

use asixto_webhook_axum::{
    Asixto, SecretSet,
    core::{
        Clock, Provider, SystemClock,
        provider::{Agent, CloudEvents, Message, StandardWebhooks, Unidentified},
    },
};
use asixto_webhook_conformance::{Program, Request, Target, Version, send};

const BINARY: &str = env!("CARGO_BIN_EXE_example-senders");
const SECRET: &str = "whsec_c2VjcmV0IG9mIGFsbCBmb3VyIGV4YW1wbGVz";
const BODIES: [&str; 4] = [
    r#"{"id":"1","type":"job.expired","created":1787923100,"environment":"live","data":{}}"#,
    r#"{"type":"sale.paid","timestamp":"2026-11-30T12:00:00Z","data":{}}"#,
    r#"{"specversion":"1.0","id":"1","source":"/charges","type":"charge.refunded"}"#,
    r#"{"event_id":"1","order":"A-1","type":"order.confirmed"}"#,
];

fn request<P: Provider>(provider: &P, route: &str, body: &str) -> Request {
    let secrets = SecretSet::from_issued([SECRET]).unwrap();
    let message = Message::new(SystemClock.now(), body.as_bytes()).with_id("1");
    let request = Request::post(format!("/webhooks/{route}")).body(body.to_owned());
    provider.sign(&secrets, message).into_iter().fold(request, |request, (name, value)| request.header(name, value))
}

fn requests(route: impl Fn(&'static str) -> &'static str) -> [Request; 4] {
    let [asixto, standard, cloudevents, agent] = BODIES;
    [
        request(&Asixto, route(Asixto::NAME), asixto),
        request(&StandardWebhooks, route(StandardWebhooks::NAME), standard),
        request(&CloudEvents::new("Acme-Signature").unwrap(), route(CloudEvents::NAME), cloudevents),
        // To sign takes no function: it is the receiver's.
        request(&Agent::new(|_| Err(Unidentified)), route(Agent::NAME), agent),
    ]
}

// A, L10, M, N
#[tokio::test]
async fn four_senders() {
    let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join("four_senders.log");
    let names = ["ASIXTO_WEBHOOK_SECRETS", "STANDARD_WEBHOOKS_SECRETS", "CLOUDEVENTS_SECRETS", "AGENT_SECRETS"];
    // A blank after the comma is none of the secret's.
    let secrets = format!("{SECRET}, {SECRET}Mg==");
    let mut variables = names.map(|name| (name, secrets.as_str())).to_vec();
    variables.push(("ASIXTO_WEBHOOK_DIAGNOSTICS", "1"));
    let example = Program::start(Path::new(BINARY), &log, &variables).unwrap();
    let target = Target::new(example.address(), Version::Http1);
    let outcome = async |request: &Request| {
        let response = send(&target, request).await.unwrap();
        response.header("asixto-webhook-outcome").unwrap_or("none").to_owned()
    };

    for request in &requests(|own| own) {
        assert_eq!(outcome(request).await, "processed");
        assert_eq!(outcome(request).await, "duplicate");
    }
    // What one sender signed is nothing that another receives.
    let other = |own| if own == Asixto::NAME { StandardWebhooks::NAME } else { Asixto::NAME };
    for request in &requests(other) {
        assert_eq!(outcome(request).await, "missing_header");
    }

    let listed = send(&target, &Request::post("/events").method("GET")).await.unwrap();
    let listed: Vec<serde_json::Value> = serde_json::from_slice(&listed.body).unwrap();
    let listed: Vec<_> = listed.iter().map(|entry| [&entry["sender"], &entry["type"], &entry["times"]]).collect();
    assert_eq!(
        serde_json::to_string(&listed).unwrap(),
        concat!(
            r#"[["asixto","job.expired",1],["standard","sale.paid",1],"#,
            r#"["cloudevents","charge.refunded",1],["agent","order.confirmed",1]]"#
        )
    );
}

// A mistake in a variable ends it at once, in words that say which.
#[test]
fn mistakes() {
    let run = |variables: &[(&str, &str)]| {
        let run = Command::new(BINARY).env_clear().envs(variables.iter().copied()).output().unwrap();
        (run.status.code(), String::from_utf8(run.stderr).unwrap())
    };
    let (code, said) = run(&[]);
    assert_eq!(code, Some(2));
    assert!(said.starts_with("error: no secrets: set one or more of ASIXTO_WEBHOOK_SECRETS"), "{said}");
    let (code, said) = run(&[("STANDARD_WEBHOOKS_SECRETS", "whsec_Zm9v,whsec_?")]);
    assert_eq!(code, Some(2));
    assert!(said.starts_with("error: STANDARD_WEBHOOKS_SECRETS: secret 2: expected base64"), "{said}");
    let (code, said) = run(&[("AGENT_SECRETS", SECRET), ("ASIXTO_WEBHOOK_DIAGNOSTICS", "true")]);
    assert_eq!(code, Some(2));
    assert!(said.starts_with("error: ASIXTO_WEBHOOK_DIAGNOSTICS: expected `1` or `0`, found another"), "{said}");
}
