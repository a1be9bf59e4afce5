//! Receive signed webhooks in warp: one filter that verifies, runs the handler, and replies.
//!
//! ```
//! use asixto_webhook_warp::{Data, MemoryStore, Receiver, SecretSet, VerifiedEvent, webhook};
//! use warp::{Filter, filters::BoxedFilter, http::StatusCode, reply::Response};
//!
//! async fn hook(VerifiedEvent(event): VerifiedEvent) -> StatusCode {
//!     match event.data() {
//!         Ok(Data::JobSucceeded(job)) => tracing::info!(job.job_id, job.operation, "done"),
//!         Ok(_) => tracing::info!(event_type = event.event_type(), "nothing to do"),
//!         // Trying again would not help: note it, and acknowledge.
//!         Err(error) => tracing::error!(event_id = event.id(), "{error}"),
//!     }
//!     StatusCode::OK
//! }
//!
//! fn routes(secret: &str) -> Result<BoxedFilter<(Response,)>, Box<dyn std::error::Error>> {
//!     let secrets = SecretSet::from_issued([secret])?;
//!     let receiver = Receiver::builder().secrets(secrets).dedup(MemoryStore::default()).build()?;
//!     Ok(warp::path!("webhooks" / "asixto").and(webhook(&receiver, hook)).boxed())
//! }
//! # routes("whsec_Zm9vYmFyYmF6cXV4").unwrap();
//! ```
//!
//! The handler runs for an event whose signature holds, and not again for one that it has answered with a 2xx, as long
//! as the store remembers it (a [`MemoryStore`] does until the process ends). Any other status, and a panic, makes the
//! sender try again. What the handler does not have to think of: repeated headers, several signatures, stale
//! deliveries, duplicates, copies that arrive at once, a sender that hangs up in the middle.
//!
//! [`Data`] has a variant for each of the ten types of event, with their names.
//!
//! # A handler that fails
//!
//! It answers with any other status than 2xx, and says why in a log of its own: the receiver sees the status alone. A
//! `Result` of two replies is a reply.
//!
//! ```
//! use asixto_webhook_warp::VerifiedEvent;
//! use warp::http::StatusCode;
//!
//! # async fn book(_: &str) -> std::io::Result<()> { Ok(()) }
//! async fn hook(VerifiedEvent(event): VerifiedEvent) -> Result<StatusCode, StatusCode> {
//!     book(event.id()).await.map(|()| StatusCode::OK).map_err(|error| {
//!         tracing::error!(event_id = event.id(), "not booked: {error}");
//!         StatusCode::INTERNAL_SERVER_ERROR // the sender tries again
//!     })
//! }
//! # fn take(receiver: &asixto_webhook_warp::Receiver) { drop(asixto_webhook_warp::webhook(receiver, hook)); }
//! ```
//!
//! `()` is no reply in warp: `warp::reply()` is the shortest one. A handler rejects nothing, since the delivery is known
//! to be its own by then. What trying again would not mend, such as a [`DataError`], is better noted and acknowledged. What a handler needs, such as a pool, it takes along:
//! `async move |VerifiedEvent(event): VerifiedEvent| …` is cloned for each delivery, and the pool with it.
//!
//! # The log
//!
//! Each delivery leaves a line, by [`tracing`](https://docs.rs/tracing), under the target `asixto_webhook`: nothing else
//! says why one was refused, since the sender must not learn it. It takes a subscriber that lets the level `INFO`
//! through, such as `tracing_subscriber::fmt().with_max_level(tracing::Level::INFO).init()`; with the feature
//! `env-filter`, `tracing_subscriber::fmt::init()` shows errors alone unless `RUST_LOG` is set. Its field `outcome` is
//! the code of an [`Outcome`]. Levels and fields are those that
//! [the page of `asixto-webhook-axum`](https://docs.rs/asixto-webhook-axum/latest/asixto_webhook_axum/#the-log) lists.
//!
//! For local use, [`diagnostics`](ReceiverBuilder::diagnostics) puts the outcome into a header of the response as well:
//! `asixto-webhook-outcome`.
//!
//! # Where to put the filter
//!
//! After a path, as above, and without a `warp::post()`: a delivery that the filter refuses is answered by it (400, 405
//! with `Allow`, 413, …), and is never a rejection, which an `or` would offer to the next route and a `recover` would
//! answer otherwise. Nothing that takes the body may come before it; where something does, every delivery is answered
//! 500, and the log says so. [`Event::data`] is the typed data, [`Event::raw_data`] the JSON, [`Event::body`] the bytes.
//!
//! `warp::path!` ends the path. Without it, `warp::path("webhooks")` alone lets `/webhooks/anything` pass as well.
//!
//! # Slow handlers, and shutting down
//!
//! The sender waits for 10 seconds. A handler that needs longer than 9 is answered for with 503 and runs on: if it
//! succeeds, the sender's next attempt is a duplicate. Once started, a handler runs to its end, whoever hangs up. While
//! it does, no copy of its event runs beside it behind the same receiver; and none in another process, as long as its
//! claim is renewed. A handler that blocks its thread can hold that up, and every answer with it: work that blocks
//! belongs into `tokio::task::spawn_blocking`.
//!
//! So the last step of a shutdown, after the server has stopped, is to wait for those that nobody waits for any more. A
//! [`WebhookLayer`] does; [`webhook`] takes it in place of the receiver.
//!
//! ```no_run
//! # #[cfg(unix)] mod unix {
//! use std::{error::Error, time::Duration};
//!
//! use asixto_webhook_warp::{Receiver, VerifiedEvent, WebhookLayer, webhook};
//! use tokio::{net::TcpListener, signal::{ctrl_c, unix::{SignalKind, signal}}};
//! use warp::{Filter, http::StatusCode};
//!
//! # async fn hook(_: VerifiedEvent) -> StatusCode { StatusCode::OK }
//! async fn serve(listener: TcpListener, receiver: &Receiver) -> Result<(), Box<dyn Error>> {
//!     let webhooks = WebhookLayer::new(receiver);
//!     let routes = warp::path!("webhooks" / "asixto").and(webhook(webhooks.clone(), hook));
//!     let mut terminate = signal(SignalKind::terminate())?; // SIGTERM, which an orchestrator sends
//!     let stop = async move { tokio::select! { _ = terminate.recv() => {} _ = ctrl_c() => {} } };
//!     warp::serve(routes).incoming(listener).graceful(stop).run().await;
//!     Ok(webhooks.drain(Duration::from_secs(30)).await?) // what is left then is retried by the sender
//! }
//! # }
//! ```
//!
//! Any layer of a receiver will do. Each receiver has a drain of its own, and one after the other their times add up:
//! `tokio::join!` waits for several at once. All of it has to fit into what the orchestrator grants. (`warp::serve` sets
//! no limit to a head that is half sent, nor to how long it waits for its connections; `examples/warp` sets both.)
//!
//! # Testing a handler
//!
//! With the feature `testing`, `testing::event(body)` makes an event without a signature, to be handed to a handler as
//! `VerifiedEvent(event)`; `testing::event_in` makes one for a tenant, and `testing::event_of` one of another sender. For
//! a test from the request on, [`sign`] makes the header (`core::Provider::sign` those of another sender), and
//! `warp::test` hands over the request without a socket:
//!
//! ```toml
//! [dev-dependencies]
//! asixto-webhook-warp = { path = "../asixto-webhook/asixto-webhook-warp", features = ["testing"] }
//! warp = { version = "0.4", features = ["test"] }
//! ```
//!
//! ```
//! use asixto_webhook_warp::{MemoryStore, Receiver, SecretSet, UnixTime, VerifiedEvent, sign, webhook};
//! use warp::{Filter, http::StatusCode};
//!
//! # async fn hook(_: VerifiedEvent) -> StatusCode { StatusCode::OK }
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let secrets = SecretSet::from_issued(["whsec_Zm9vYmFyYmF6cXV4"])?;
//! let receiver = Receiver::builder().secrets(secrets.clone()).dedup(MemoryStore::default()).build()?;
//! let routes = warp::path!("webhooks" / "asixto").and(webhook(&receiver, hook));
//!
//! let body = r#"{"id":"1","type":"job.succeeded","created":1787923140,"environment":"test","data":{"job_id":"job_1",
//!     "operation":"agent.turn","status":"succeeded","credits_charged":12,"error_code":null,"result":{"text":"Done"}}}"#;
//! let request = warp::test::request()
//!     .method("POST")
//!     .path("/webhooks/asixto")
//!     .header("Asixto-Signature", sign(&secrets, UnixTime::now(), body.as_bytes()))
//!     .body(body);
//! assert_eq!(request.reply(&routes).await.status(), StatusCode::OK);
//! # Ok(()) }
//! ```
//!
//! Where a delivery that you have at hand is refused with `signature_mismatch`, the feature `explain` has
//! `core::explain::Case` say why.
//!
//! # Many tenants on one route
//!
//! [`WebhookLayer::scope_from`] names the tenant of a request, [`lookup`] finds its secrets. The path is the whole path
//! as it was sent, still percent-encoded. Where a tenant is found by several spellings (`acme`, `ACME`, `%61cme` once
//! decoded), [`SecretSet::for_scope`] says which one it is: ids are unique within a scope.
//!
//! ```
//! use asixto_webhook_warp::{MemoryStore, Receiver, SecretSet, VerifiedEvent, WebhookLayer, lookup, webhook};
//! use warp::{Filter, reply::Response};
//!
//! # fn routes() -> Result<warp::filters::BoxedFilter<(Response,)>, Box<dyn std::error::Error>> {
//! # #[derive(Clone)]
//! # struct Db;
//! # impl Db {
//! #     async fn find(&self, _: &str) -> Result<Option<(String, String)>, std::io::Error> { Ok(None) }
//! # }
//! # let db = Db;
//! let secrets = lookup(move |tenant: String| {
//!     let db = db.clone(); // a pool, say: every future takes its own handle along
//!     async move {
//!         let Some((name, issued)) = db.find(&tenant).await? else { return Ok(None) };
//!         Ok(Some(SecretSet::from_issued([issued])?.for_scope(name)))
//!     }
//! });
//! let receiver = Receiver::builder().secrets(secrets).dedup(MemoryStore::default()).build()?;
//! let webhooks = WebhookLayer::new(&receiver)
//!     .scope_from(|parts| parts.uri.path().rsplit('/').next().unwrap_or_default().to_owned())?;
//! let hook = async |VerifiedEvent(event): VerifiedEvent| {
//!     println!("{} for {}", event.id(), event.scope());
//!     warp::reply()
//! };
//! let routes = warp::path!("webhooks" / String)
//!     .and(webhook(webhooks, hook))
//!     .map(|_tenant, response: Response| response); // what a path extracts is there for the reply
//! # Ok(routes.boxed()) }
//! # routes().unwrap();
//! ```

mod body;
mod webhook;

pub use asixto_webhook_core as core;
#[cfg(feature = "testing")]
pub use asixto_webhook_core::testing;
pub use asixto_webhook_core::{
    Asixto, Certification, ConfigError, Credits, Data, DataError, DedupStore, DisabledEndpoint, DisabledReason,
    DisabledTool, EVENT_TYPES, EnvelopeFault, Environment, Event, ExpiredJob, Handoff, Integer, Job, JobStatus,
    NoDedup, Number, Outcome, Receiver, ReceiverBuilder, RotatingSecrets, Secret, SecretError, SecretSet,
    SecretSetError, SecretSource, Time, Unavailable, UnixTime, Verdict, Verified, lookup, sign,
};
#[cfg(feature = "memory")]
pub use asixto_webhook_tower::MemoryStore;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use asixto_webhook_tower::OpenError;
#[cfg(feature = "postgres")]
pub use asixto_webhook_tower::PostgresStore;
#[cfg(feature = "sqlite")]
pub use asixto_webhook_tower::{SqliteOptions, SqliteStore};
pub use asixto_webhook_tower::{Undrained, WebhookLayer};

pub use crate::webhook::{VerifiedEvent, webhook};

/// The examples in the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
