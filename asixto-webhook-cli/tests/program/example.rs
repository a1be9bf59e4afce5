//! `send` to the example with a route for every provider.

use asixto_webhook_conformance::fixtures::EVENT_TYPES;
use example_senders::Senders;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::harness::{PROVIDERS, program};

// A, F, L10, M, N: each of the ten types is processed; E2, N3: one that is sent three times has one effect.
#[test]
fn every_type_to_every_route_of_the_example() {
    let variables = ["ASIXTO_WEBHOOK_SECRETS", "STANDARD_WEBHOOKS_SECRETS", "CLOUDEVENTS_SECRETS", "AGENT_SECRETS"];
    let senders = Senders::new(|asked| match asked {
        "ASIXTO_WEBHOOK_DIAGNOSTICS" => Some("1".to_owned()),
        _ => variables.iter().zip(PROVIDERS).find(|(name, _)| **name == asked).map(|(_, (_, both))| both.join(",")),
    });
    let app = senders.unwrap().router();
    let runtime = Runtime::new().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(async move { axum::serve(listener, app).await });

    for provider in PROVIDERS {
        let route = provider.0.split(':').next().unwrap();
        let outcomes = |arguments: &[&str]| -> Vec<String> {
            let to = format!("http://{address}/webhooks/{route}");
            let report = program(&[&["send", "--json", "--to", &to], arguments].concat()).of(provider).run().json(0);
            let deliveries = report["deliveries"].as_array().unwrap().iter();
            deliveries.map(|delivery| delivery["outcome"].as_str().unwrap().to_owned()).collect()
        };
        for event_type in EVENT_TYPES {
            assert_eq!(outcomes(&["--type", event_type]), ["processed"], "{route} {event_type}");
        }
        let thrice = ["--type", "job.succeeded", "--duplicate", "3"];
        assert_eq!(outcomes(&thrice), ["processed", "duplicate", "duplicate"], "{route}");
    }

    let events = runtime.block_on(async {
        let target = asixto_webhook_conformance::Target::new(address, asixto_webhook_conformance::Version::Http1);
        let request = asixto_webhook_conformance::Request::post("/events").method("GET");
        asixto_webhook_conformance::send(&target, &request).await.unwrap().body
    });
    let events: Vec<Value> = serde_json::from_slice(&events).unwrap();
    assert_eq!(events.len(), PROVIDERS.len() * (EVENT_TYPES.len() + 1));
    assert!(events.iter().all(|event| event["times"] == 1), "{events:?}");
}
