//! A receiver on a free port, with whatever handler, store and secrets a test needs.

use std::{
    fmt,
    future::{Future, pending},
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use asixto_webhook_axum::{
    Environment, Event, MemoryStore, Receiver, SecretSet, VerifiedEvent, WebhookLayer,
    core::{BoxFuture, Claim, Claimed, DedupStore, Held, ReceiverBuilder, StoreError, Token},
};
use asixto_webhook_conformance::{ExchangeError, Kit, Request, Response, Target, Version, send};
use axum::{Router, response::IntoResponse, routing::post};
use tokio::net::TcpListener;

pub(crate) const SECRET: &str = "whsec_c2VjcmV0IG9mIHRoZSBzb2NrZXQgdGVzdHM";
pub(crate) const SECOND: &str = "whsec_YW5vdGhlciBzZWNyZXQgb2YgdGhlIHRlc3Rz";
pub(crate) const BOTH: [Version; 2] = [Version::Http1, Version::Http2];

pub(crate) struct Server {
    address: SocketAddr,
    pub(crate) kit: Kit,
    pub(crate) webhooks: WebhookLayer,
}

impl Server {
    /// Serves `handler` behind a receiver with diagnostics.
    pub(crate) async fn start<F, R>(
        builder: ReceiverBuilder,
        handler: impl Fn(Event) -> F + Clone + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = R> + Send + 'static,
        R: IntoResponse + 'static,
    {
        let webhooks = WebhookLayer::new(&builder.diagnostics(true).build().unwrap());
        let hook = move |VerifiedEvent(event): VerifiedEvent| handler(event);
        Self::serve(Router::new().route("/hook", post(hook).layer(webhooks.clone())), webhooks).await
    }

    pub(crate) async fn serve(app: Router, webhooks: WebhookLayer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { address, kit: kit(), webhooks }
    }

    pub(crate) fn target(&self, version: Version) -> Target {
        Target::new(self.address, version)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) async fn send(&self, version: Version, request: &Request) -> Result<Response, ExchangeError> {
        send(&self.target(version), request).await
    }

    /// Status and outcome of a request.
    pub(crate) async fn outcome(&self, version: Version, request: &Request) -> String {
        outcome(&self.send(version, request).await.unwrap())
    }
}

pub(crate) fn kit() -> Kit {
    Kit::new("/hook", secrets(), Environment::Live)
}

pub(crate) fn secrets() -> SecretSet {
    SecretSet::from_issued([SECRET, SECOND]).unwrap()
}

/// A receiver of the test's secrets that remembers ids.
pub(crate) fn builder() -> ReceiverBuilder {
    Receiver::builder().secrets(secrets()).dedup(MemoryStore::default())
}

pub(crate) fn outcome(response: &Response) -> String {
    format!("{} {}", response.status, response.header("asixto-webhook-outcome").unwrap_or("-"))
}

/// Counts what a handler did.
#[derive(Clone, Default)]
pub(crate) struct Effects(Arc<AtomicUsize>);

impl Effects {
    pub(crate) fn happen(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Awaits a condition, for ten seconds at most.
pub(crate) async fn until(what: &str, condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), waiting).await.unwrap_or_else(|_| panic!("never came: {what}"));
}

/// A store that claims every id, as far as it works.
pub(crate) struct Scripted<F>(pub(crate) F);

/// How a store takes one step.
pub(crate) enum Works {
    Well,
    NotAtAll,
    ForEver,
}

impl<F> fmt::Debug for Scripted<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scripted")
    }
}

impl<F: Fn(&'static str) -> Works + Send + Sync> Scripted<F> {
    fn step<'a, T: Send + 'a>(&'a self, name: &'static str, good: T) -> BoxFuture<'a, Result<T, StoreError>> {
        Box::pin(async move {
            match (self.0)(name) {
                Works::Well => Ok(good),
                Works::NotAtAll => Err(StoreError::unavailable("connection refused")),
                Works::ForEver => pending().await,
            }
        })
    }
}

impl<F: Fn(&'static str) -> Works + Send + Sync> DedupStore for Scripted<F> {
    fn claim<'a>(&'a self, claim: Claim<'a>) -> BoxFuture<'a, Result<Claimed, StoreError>> {
        self.step("claim", Claimed::Fresh(Token::new(*claim.key, 1)))
    }

    fn extend<'a>(&'a self, _: &'a Token, _: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        self.step("extend", Held::Yes)
    }

    fn commit<'a>(&'a self, _: &'a Token, _: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        self.step("commit", Held::Yes)
    }

    fn release<'a>(&'a self, _: &'a Token) -> BoxFuture<'a, Result<Held, StoreError>> {
        self.step("release", Held::Yes)
    }
}
