//! The filter behind `warp::serve`, over HTTP/1.1 and HTTP/2.
#![cfg(test)]
#![cfg(feature = "memory")]

use std::{
    future::Future,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use asixto_webhook_conformance::{Kit, Request, Response, Target, Version, http1, send};
use asixto_webhook_warp::{
    Environment, MemoryStore, Receiver, ReceiverBuilder, SecretSet, VerifiedEvent, WebhookLayer, webhook,
};
use testkit::Log;
use tokio::{net::TcpListener, sync::Notify, task::yield_now, time::timeout};
use warp::{Filter, Reply, http::StatusCode};

const SECRETS: [&str; 2] = ["whsec_c2VjcmV0IG9mIHRoZSBzb2NrZXQgdGVzdHM", "whsec_YW5vdGhlciBzZWNyZXQgb2YgdGhlIHRlc3Rz"];
const BOTH: [Version; 2] = [Version::Http1, Version::Http2];
const PATIENCE: Duration = Duration::from_secs(20);

/// A receiver with diagnostics on a free port.
struct Server {
    address: SocketAddr,
    kit: Kit,
    webhooks: WebhookLayer,
    stop: Arc<Notify>,
    stopped: tokio::task::JoinHandle<()>,
}

impl Server {
    async fn start<F: Future<Output: Reply> + Send + 'static>(
        builder: ReceiverBuilder,
        handler: impl FnOnce(VerifiedEvent) -> F + Clone + Send + Sync + 'static,
    ) -> Self {
        let webhooks = WebhookLayer::new(&builder.diagnostics(true).build().unwrap());
        let routes = warp::path!("hook").and(webhook(webhooks.clone(), handler));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(Notify::new());
        let told = stop.clone().notified_owned();
        let stopped = tokio::spawn(warp::serve(routes).incoming(listener).graceful(told).run());
        let kit = Kit::new("/hook", secrets(), Environment::Live);
        Self { address, kit, webhooks, stop, stopped }
    }

    async fn outcome(&self, version: Version, request: &Request) -> String {
        outcome(&send(&Target::new(self.address, version), request).await.unwrap())
    }
}

fn secrets() -> SecretSet {
    SecretSet::from_issued(SECRETS).unwrap()
}

fn builder() -> ReceiverBuilder {
    Receiver::builder().secrets(secrets()).dedup(MemoryStore::default())
}

async fn good(_: VerifiedEvent) -> StatusCode {
    StatusCode::OK
}

fn outcome(response: &Response) -> String {
    format!("{} {}", response.status, response.header("asixto-webhook-outcome").unwrap_or("-"))
}

// B6: every line of the header is seen, in whatever case it comes.
#[tokio::test(flavor = "multi_thread")]
async fn repeated_header() {
    let server = Server::start(builder(), good).await;
    let delivery = server.kit.plain();
    let (_, value) = delivery.signature();
    for (first, second) in [("asixto-signature", "asixto-signature"), ("ASIXTO-SIGNATURE", "aSiXtO-sIgNaTuRe")] {
        let once = delivery.unsigned().header(first, value.clone());
        let twice = once.header(second, value.clone());
        assert_eq!(server.outcome(Version::Http1, &twice).await, "400 repeated_header");
    }
    assert_eq!(server.outcome(Version::Http1, &delivery.request()).await, "200 processed");
}

// H4: an announced length is refused before a byte of the body, and one that is not announced where it is passed.
#[tokio::test(flavor = "multi_thread")]
async fn too_large() {
    let server = Server::start(builder(), good).await;
    for announced in [263_169, 1 << 40, u64::MAX >> 1] {
        let request = server.kit.plain().request().announce(announced).stop_after(0);
        let response = http1::send(server.address, &request, PATIENCE).await.unwrap();
        assert_eq!(outcome(&response), "413 body_too_large", "{announced}");
    }
    for version in BOTH {
        let exact = server.kit.plain().edit(|body| body.clone() + &" ".repeat(263_168 - body.len()));
        assert_eq!(server.outcome(version, &exact.request()).await, "200 processed");
        assert_eq!(server.outcome(version, &exact.edit(|body| body + " ").request()).await, "413 body_too_large");
    }
}

// K10: a body that breaks off leaves a line in the log, and has no effect.
#[tokio::test]
async fn half_a_body() {
    let log = Log::start();
    let server = Server::start(builder(), good).await;
    let request = server.kit.plain().request().stop_after(30);
    let mut connection = http1::Connection::open(server.address, PATIENCE).await.unwrap();
    connection.start(&request).await.unwrap();
    drop(connection);
    let logged = async {
        while log.outcomes().is_empty() {
            yield_now().await;
        }
    };
    timeout(PATIENCE, logged).await.unwrap();
    assert_eq!(log.outcomes(), ["body_aborted"]);
}

// E5: a sender that hangs up stops nothing. The server ends without the handler; a drain waits for it.
#[tokio::test(flavor = "multi_thread")]
async fn sender_gone_and_server_stopped() {
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let effects = Arc::new(AtomicUsize::new(0));
    let handler = {
        let (begun, go_on, effects) = (begun.clone(), go_on.clone(), effects.clone());
        async move |_: VerifiedEvent| {
            begun.notify_one();
            go_on.notified().await;
            effects.fetch_add(1, Ordering::SeqCst);
            StatusCode::OK
        }
    };
    let server = Server::start(builder(), handler).await;
    let request = server.kit.plain().request();
    let mut connection = http1::Connection::open(server.address, PATIENCE).await.unwrap();
    connection.start(&request).await.unwrap();
    begun.notified().await;
    drop(connection);
    assert_eq!(server.outcome(Version::Http2, &request).await, "503 in_flight");

    server.stop.notify_one();
    server.stopped.await.unwrap();
    let undrained = server.webhooks.drain(Duration::ZERO).await.unwrap_err();
    assert_eq!((undrained.remaining, effects.load(Ordering::SeqCst)), (1, 0));
    go_on.notify_one();
    server.webhooks.drain(PATIENCE).await.unwrap();
    assert_eq!(effects.load(Ordering::SeqCst), 1);
}
