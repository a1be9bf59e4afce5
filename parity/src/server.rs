//! A receiver on a free port, with whatever handler, store and secrets a test needs.

use std::{
    future::Future,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use asixto_webhook_conformance::{ExchangeError, Kit, Request, Response, Target, Version, send};
use asixto_webhook_core::{
    Asixto, BoxFuture, Environment, Event, Receiver, ReceiverBuilder, SecretSet, provider::Provider,
};
use asixto_webhook_tower::{MemoryStore, Undrained};
use tokio::{sync::oneshot, task::JoinHandle};

use crate::Framework;

/// Two secrets, as during a rotation.
pub const SECRET: &str = "whsec_c2VjcmV0IG9mIHRoZSBzb2NrZXQgdGVzdHM";
/// The second of them.
pub const SECOND: &str = "whsec_YW5vdGhlciBzZWNyZXQgb2YgdGhlIHRlc3Rz";
/// Every version of HTTP.
pub const BOTH: [Version; 2] = [Version::Http1, Version::Http2];
/// For what takes long only when something is wrong.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// What a test has a framework serve, at every path.
#[expect(missing_debug_implementations, reason = "a handler has nothing to show")]
pub struct Service<P: Provider = Asixto> {
    pub(crate) receiver: Receiver<P>,
    pub(crate) handler: Handler<P>,
    /// Whether the last segment of the path is the tenant.
    pub(crate) tenants: bool,
}

pub(crate) type Handler<P> = Arc<dyn Fn(Event<P>) -> BoxFuture<'static, u16> + Send + Sync>;

impl<P: Provider> Service<P> {
    /// `handler` behind `receiver`.
    pub fn new<F, R>(receiver: Receiver<P>, handler: impl Fn(Event<P>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = R> + Send + 'static,
        R: Answered,
    {
        let handler: Handler<P> = Arc::new(move |event| {
            let answered = handler(event);
            Box::pin(async move { answered.await.status() })
        });
        Self { receiver, handler, tenants: false }
    }

    /// Takes the tenant from the path.
    #[must_use]
    pub fn of_tenants(mut self) -> Self {
        self.tenants = true;
        self
    }
}

/// What a handler comes back with.
pub trait Answered {
    /// The status to be sent.
    fn status(self) -> u16;
}

impl Answered for () {
    fn status(self) -> u16 {
        200
    }
}

impl Answered for u16 {
    fn status(self) -> u16 {
        self
    }
}

/// Waits for what is running, as the framework's adapter offers it.
pub(crate) type Drain = Box<dyn Fn(Duration) -> BoxFuture<'static, Result<(), Undrained>> + Send + Sync>;

/// A service that a framework serves.
#[expect(missing_debug_implementations, reason = "neither has a server")]
pub struct Server {
    address: SocketAddr,
    /// What is sent to it.
    pub kit: Kit,
    drain: Drain,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<()>,
}

impl Server {
    /// Serves `handler` behind a receiver with diagnostics.
    pub async fn start<F, R>(
        framework: Framework,
        builder: ReceiverBuilder,
        handler: impl Fn(Event) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = R> + Send + 'static,
        R: Answered,
    {
        let receiver = builder.diagnostics(true).build().unwrap();
        Self::serve(framework, Service::new(receiver, handler)).await
    }

    /// Serves any service.
    pub async fn serve<P: Provider>(framework: Framework, service: Service<P>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let (drain, serving) = framework.serve(service, listener, async move { _ = stopped.await });
        Self { address, kit: kit(), drain, stop, ended: tokio::spawn(serving) }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// It, for probes.
    #[must_use]
    pub fn target(&self, version: Version) -> Target {
        Target::new(self.address, version)
    }

    /// Sends one request.
    pub async fn send(&self, version: Version, request: &Request) -> Result<Response, ExchangeError> {
        send(&self.target(version), request).await
    }

    /// Status and outcome of a request.
    pub async fn outcome(&self, version: Version, request: &Request) -> String {
        outcome(&self.send(version, request).await.unwrap())
    }

    /// Waits for every delivery that was admitted.
    pub async fn drain(&self) -> Result<(), Undrained> {
        (self.drain)(PATIENCE).await
    }

    /// Stops it as its framework is stopped: requests are answered, and what nobody waits for is drained.
    pub async fn stop(self) {
        self.stop.send(()).unwrap();
        self.ended.await.unwrap();
    }
}

/// Deliveries that a server of these tests takes.
#[must_use]
pub fn kit() -> Kit {
    Kit::new("/hook", secrets(), Environment::Live)
}

/// The secrets of a server of these tests.
#[must_use]
pub fn secrets() -> SecretSet {
    SecretSet::from_issued([SECRET, SECOND]).unwrap()
}

/// A receiver of the test's secrets that remembers ids.
pub fn builder() -> ReceiverBuilder {
    Receiver::builder().secrets(secrets()).dedup(MemoryStore::default())
}

/// Status and outcome of a response.
#[must_use]
pub fn outcome(response: &Response) -> String {
    format!("{} {}", response.status, response.header("asixto-webhook-outcome").unwrap_or("-"))
}
