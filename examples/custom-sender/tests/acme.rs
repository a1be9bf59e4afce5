//! Acme's deliveries, good and bad, through a real socket.
#![cfg(test)]

use std::{
    fs,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use asixto_webhook_axum::{
    MemoryStore, Receiver, SecretSet, UnixTime, VerifiedEvent, WebhookLayer,
    core::{Clock, Provider, SystemClock, provider::Message},
};
use asixto_webhook_conformance::{Request, Target, Version, send};
use axum::{Router, routing::post};
use example_custom_sender::Acme;
use tokio::net::TcpListener;

const PAID: &str = r#"{"number":"A-1","state":"paid","amount":4900}"#;
const SHIPPED: &str = r#"{"number":"A-1","state":"shipped","amount":4900}"#;

/// A receiver, and the orders that its handler has seen.
struct Server {
    address: SocketAddr,
    secrets: SecretSet<Acme>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start() -> Self {
        let secrets = SecretSet::from_issued(["the new secret", "the old secret"]).unwrap();
        let receiver = Receiver::builder_for(Acme)
            .secrets(secrets.clone())
            .dedup(MemoryStore::default())
            .diagnostics(true)
            .build()
            .unwrap();
        let seen: Arc<Mutex<Vec<_>>> = Arc::default();
        let orders = seen.clone();
        let hook = async move |VerifiedEvent(event): VerifiedEvent<Acme>| {
            let order = event.envelope();
            orders.lock().unwrap().push(format!("{} {} {}", order.number, order.state, order.amount));
        };
        let app = Router::new().route("/hook", post(hook).layer(WebhookLayer::new(&receiver)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { address, secrets, seen }
    }

    async fn outcome(&self, request: &Request) -> String {
        let response = send(&Target::new(self.address, Version::Http1), request).await.unwrap();
        response.header("asixto-webhook-outcome").unwrap().to_owned()
    }
}

fn signed(secrets: &SecretSet<Acme>, seconds_ago: u64, body: &'static str) -> Request {
    let at = UnixTime::from_secs(SystemClock.now().as_secs() - seconds_ago);
    let headers = Acme.sign(secrets, Message::new(at, body.as_bytes())).into_iter();
    headers.fold(Request::post("/hook").body(body), |request, (name, value)| request.header(name, value))
}

#[tokio::test]
async fn orders() {
    let server = Server::start().await;
    // Two signatures, as while a secret is rotated.
    let paid = signed(&server.secrets, 0, PAID);
    assert_eq!(server.outcome(&paid).await, "processed");
    assert_eq!(server.outcome(&paid).await, "duplicate");
    // One signature, by the old secret; and another event of the same order.
    let old = SecretSet::from_issued(["the old secret"]).unwrap();
    assert_eq!(server.outcome(&signed(&old, 0, SHIPPED)).await, "processed");
    assert_eq!(*server.seen.lock().unwrap(), ["A-1 paid 4900", "A-1 shipped 4900"]);
}

#[tokio::test]
async fn what_is_refused() {
    let server = Server::start().await;
    let good = || signed(&server.secrets, 0, PAID);
    let forger = SecretSet::from_issued(["another secret"]).unwrap();
    for (request, expected) in [
        (Request::post("/hook").body(PAID), "missing_header"),
        (good().header("X-ACME-TIMESTAMP", "1"), "repeated_header"),
        (good().body(SHIPPED), "signature_mismatch"),
        (signed(&forger, 0, PAID), "signature_mismatch"),
        (signed(&server.secrets, 302, PAID), "outside_window"),
        (signed(&server.secrets, 0, "[]"), "invalid_envelope"),
        // Without what tells them apart, different orders would be one event.
        (signed(&server.secrets, 0, r#"{"number":"","state":"paid","amount":1}"#), "invalid_envelope"),
        (signed(&server.secrets, 0, r#"{"number":"A-1","state":"","amount":1}"#), "invalid_envelope"),
        (
            signed(&server.secrets, 0, r#"{"number":"A-1","number":"A-2","state":"paid","amount":1}"#),
            "invalid_envelope",
        ),
    ] {
        assert_eq!(server.outcome(&request).await, expected);
    }
    assert!(server.seen.lock().unwrap().is_empty());
}

/// What the guide shows, copied in its order, is this crate: it compiles since this does.
#[test]
fn the_guide_is_true() {
    let read = |file| fs::read_to_string(format!("{}/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let (guide, library, manifest) = (read("README.md"), read("src/lib.rs"), read("Cargo.toml"));
    let (parts_1_and_2, part_3) = guide.split_once("## 3. Receive").unwrap();
    assert_eq!(code(&blocks(parts_1_and_2, "```rust\n")), code(&library));
    assert_eq!(code(&blocks(part_3, "```rust\n")), code(&read("src/main.rs")));
    assert_eq!(dependencies(&blocks(&guide, "```toml\n")), dependencies(&manifest));
    // As its title promises.
    let provider = library.split_once("impl Provider for Acme {").unwrap().1.split_once("\n}\n").unwrap().0;
    assert!(provider.lines().count() <= 40);
}

/// All blocks that begin so, one after the other.
fn blocks(guide: &str, begin: &str) -> String {
    guide.split(begin).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// The lines without those that document them.
fn code(rust: &str) -> Vec<&str> {
    rust.lines().filter(|line| !line.is_empty() && !line.trim_start().starts_with("//")).collect()
}

/// The names of what a manifest depends on.
fn dependencies(manifest: &str) -> Vec<&str> {
    let lines = manifest.split_once("[dependencies]\n").unwrap().1.lines().take_while(|line| !line.is_empty());
    lines.map(|line| line.split([' ', '.']).next().unwrap()).collect()
}
