//! What the tests of this crate share: a receiver, deliveries for it, servers, and handlers that wait for a test.
#![allow(dead_code, reason = "each test file is a crate of its own and uses a part of this")]

use std::{
    future::Future,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use actix_web::{dev::ServerHandle, test::TestRequest};
use asixto_webhook_actix::{
    Environment, Event, MemoryStore, Outcome, Receiver, ReceiverBuilder, SecretSet, WebhookMiddleware,
};
use asixto_webhook_conformance::{Delivery, Kit, Response, http1};
use tokio::{sync::Semaphore, task::JoinHandle, time::timeout};

/// Long enough for whatever has to happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

const SECRET: &str = "whsec_YWN0aXggdGVzdHMgYXJlIHNpZ25lZCB0b28";

pub(crate) fn secrets() -> SecretSet {
    SecretSet::from_issued([SECRET]).unwrap()
}

/// Deliveries for `/hook`.
pub(crate) fn kit() -> Kit {
    Kit::new("/hook", secrets(), Environment::Live)
}

pub(crate) fn builder() -> ReceiverBuilder {
    Receiver::builder().secrets(secrets()).dedup(MemoryStore::default())
}

/// A middleware that says how a delivery ended.
pub(crate) fn webhooks() -> WebhookMiddleware {
    WebhookMiddleware::new(&builder().diagnostics(true).build().unwrap())
}

/// A delivery, for an app without a server.
pub(crate) fn post(delivery: &Delivery) -> TestRequest {
    let (name, value) = delivery.signature();
    TestRequest::post().uri("/hook").insert_header((name.as_str(), value)).set_payload(delivery.body().clone())
}

pub(crate) fn told(response: &Response) -> String {
    format!("{} {}", response.status, response.header("asixto-webhook-outcome").unwrap_or("-"))
}

/// `work`, which takes no time to speak of.
pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    timeout(PATIENCE, work).await.expect("in time")
}

/// A server that runs beside the test. `$app` is the factory of its app, and `$set` what is to be set of it.
macro_rules! serve {
    ($app:expr) => {
        serve!($app, |server| server)
    };
    ($app:expr, |$server:ident| $set:expr) => {{
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let $server = actix_web::HttpServer::new($app).workers(1).disable_signals();
        let server = $set.listen_auto_h2c(listener).unwrap().run();
        crate::common::Server { address, handle: server.handle(), running: actix_web::rt::spawn(server) }
    }};
}
pub(crate) use serve;

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) handle: ServerHandle,
    pub(crate) running: JoinHandle<std::io::Result<()>>,
}

impl Server {
    pub(crate) async fn send(&self, delivery: &Delivery) -> Response {
        http1::send(self.address, &delivery.request(), PATIENCE).await.unwrap()
    }
}

/// Where a test and a handler on another thread meet.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    begun: Arc<Semaphore>,
    open: Arc<Semaphore>,
    ended: Arc<Mutex<Vec<String>>>,
    dropped: Arc<Semaphore>,
    outcomes: Arc<Mutex<Vec<Outcome>>>,
}

impl Gate {
    pub(crate) fn new() -> Self {
        let closed = || Arc::new(Semaphore::new(0));
        Self { begun: closed(), open: closed(), ended: Arc::default(), dropped: closed(), outcomes: Arc::default() }
    }

    /// The handler: says that it has begun, and waits.
    pub(crate) async fn pass(&self, event: &Event) {
        self.begun.add_permits(1);
        self.open.acquire().await.unwrap().forget();
        self.ended.lock().unwrap().push(event.id().to_owned());
    }

    /// Waits for a handler to begin.
    pub(crate) async fn begun(&self) {
        within(self.begun.acquire()).await.unwrap().forget();
    }

    /// Lets one handler go on.
    pub(crate) fn open(&self) {
        self.open.add_permits(1);
    }

    /// The ids of the events whose handlers have ended.
    pub(crate) fn ended(&self) -> Vec<String> {
        self.ended.lock().unwrap().clone()
    }

    /// To be held while a request is served: [`dropped`](Self::dropped) waits for the end of that.
    pub(crate) fn guard(&self) -> Guard {
        Guard(self.dropped.clone())
    }

    pub(crate) async fn dropped(&self) {
        within(self.dropped.acquire()).await.unwrap().forget();
    }

    pub(crate) fn note(&self, outcome: Option<&Outcome>) {
        self.outcomes.lock().unwrap().extend(outcome);
    }

    pub(crate) fn outcomes(&self) -> Vec<Outcome> {
        self.outcomes.lock().unwrap().clone()
    }
}

pub(crate) struct Guard(Arc<Semaphore>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}
