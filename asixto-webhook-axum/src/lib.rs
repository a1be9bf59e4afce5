//! Receive signed webhooks in axum: put a layer on the route, take the verified event in the handler.
//!
//! ```
//! use asixto_webhook_axum::{Data, MemoryStore, Receiver, SecretSet, VerifiedEvent, WebhookLayer};
//! use axum::{Router, routing::post};
//!
//! async fn hook(VerifiedEvent(event): VerifiedEvent) {
//!     match event.data() {
//!         Ok(Data::JobSucceeded(job)) => tracing::info!(job.job_id, job.operation, "done"),
//!         Ok(_) => tracing::info!(event_type = event.event_type(), "nothing to do"),
//!         // Trying again would not help: note it, and acknowledge.
//!         Err(error) => tracing::error!(event_id = event.id(), "{error}"),
//!     }
//! }
//!
//! fn app(secret: &str) -> Result<Router, Box<dyn std::error::Error>> {
//!     let secrets = SecretSet::from_issued([secret])?;
//!     let receiver = Receiver::builder().secrets(secrets).dedup(MemoryStore::default()).build()?;
//!     Ok(Router::new().route("/webhooks/asixto", post(hook).layer(WebhookLayer::new(&receiver))))
//! }
//! # app("whsec_Zm9vYmFyYmF6cXV4").unwrap();
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
//! It answers with any other status than 2xx, and says why in a log of its own: the layer sees the status alone.
//!
//! ```
//! use asixto_webhook_axum::VerifiedEvent;
//! use axum::http::StatusCode;
//!
//! # async fn book(_: &str) -> std::io::Result<()> { Ok(()) }
//! async fn hook(VerifiedEvent(event): VerifiedEvent) -> Result<(), StatusCode> {
//!     book(event.id()).await.map_err(|error| {
//!         tracing::error!(event_id = event.id(), "not booked: {error}");
//!         StatusCode::INTERNAL_SERVER_ERROR // the sender tries again
//!     })
//! }
//! # axum::Router::<()>::new().route("/", axum::routing::post(hook));
//! ```
//!
//! `Result<(), Box<dyn Error>>` does not compile: axum takes an error that is a response. What trying again would not
//! mend, such as a [`DataError`], is better noted and acknowledged.
//!
//! # The log
//!
//! Each delivery leaves a line, by [`tracing`](https://docs.rs/tracing), under the target `asixto_webhook`: nothing else
//! says why one was refused, since the sender must not learn it. It takes a subscriber that lets the level `INFO`
//! through, such as `tracing_subscriber::fmt().with_max_level(tracing::Level::INFO).init()`; with the feature
//! `env-filter`, `tracing_subscriber::fmt::init()` shows errors alone unless `RUST_LOG` is set.
//!
//! | level | outcomes |
//! |---|---|
//! | `INFO` | `processed`, `stored`, `duplicate`, `in_flight` |
//! | `WARN` | `missing_header`, `repeated_header`, `malformed_header`, `signature_mismatch`, `outside_window`, `invalid_envelope`, `wrong_environment`, `nonce_reused`, `method_not_allowed`, `body_timeout`, `body_aborted`, `body_too_large`, `handler_slow` |
//! | `ERROR` | `conflict`, `handler_failed`, `store_unavailable`, `no_secret` |
//!
//! | field | |
//! |---|---|
//! | `outcome`, `status` | a word of [`Outcome`], for metrics too, and the status that was answered |
//! | `provider`, `scope` | the sender, and the endpoint or tenant |
//! | `event_id`, `event_type` | once the signature holds |
//! | `unverified_id`, `unverified_type` | before it does: what anybody may have written |
//! | `secret` | the label of the secret that matched: its place in [`SecretSet::from_issued`], or the name in [`Secret::new`] |
//! | `skew_seconds` | the receiver's clock less the time of signing |
//! | `reason` | the error, where there is one |
//!
//! For local use, [`diagnostics`](ReceiverBuilder::diagnostics) puts the outcome into a header of the response as well:
//! `asixto-webhook-outcome`.
//!
//! # Where to put the layer
//!
//! On the route (`post(hook).layer(…)`), as above. On a whole `Router` it would take every route's requests for
//! deliveries, and answer 405 to each `GET`. Nothing that reads, decompresses or limits bodies may come before it;
//! axum's own `DefaultBodyLimit` plays no part in it, and applies as ever to extractors that read the body again.
//! Those are seldom needed: [`Event::data`] is the typed data, [`Event::raw_data`] the JSON, [`Event::body`] the bytes.
//! (`Json<T>` would also refuse a delivery for its content type, on every attempt.)
//!
//! (Where the compiler says of a handler that `Handler<_, _>` is not satisfied, `#[axum::debug_handler]` on it says why;
//! there is no `Option<VerifiedEvent>`, since such a handler would be open to everybody.)
//!
//! # Slow handlers, and shutting down
//!
//! The sender waits for 10 seconds. A handler that needs longer than 9 is answered for with 503 and runs on: if it
//! succeeds, the sender's next attempt is a duplicate. Once started, a handler runs to its end, whoever hangs up. While
//! it does, no copy of its event runs beside it behind the same receiver; and none in another process, as long as its
//! claim is renewed. A handler that blocks its thread can hold that up, and every answer with it: work that blocks
//! belongs into `tokio::task::spawn_blocking`.
//!
//! So the last step of a shutdown, after the server has stopped, is to wait for those that nobody waits for any more:
//!
//! ```no_run
//! # #[cfg(unix)] mod unix {
//! use std::{error::Error, time::Duration};
//!
//! use asixto_webhook_axum::WebhookLayer;
//! use axum::Router;
//! use tokio::{net::TcpListener, signal::{ctrl_c, unix::{SignalKind, signal}}};
//!
//! async fn serve(listener: TcpListener, app: Router, webhooks: WebhookLayer) -> Result<(), Box<dyn Error>> {
//!     let mut terminate = signal(SignalKind::terminate())?; // SIGTERM, which an orchestrator sends
//!     let stop = async move { tokio::select! { _ = terminate.recv() => {} _ = ctrl_c() => {} } };
//!     axum::serve(listener, app).with_graceful_shutdown(stop).await?;
//!     Ok(webhooks.drain(Duration::from_secs(30)).await?) // what is left then is retried by the sender
//! }
//! # }
//! ```
//!
//! Any layer of a receiver will do. Each receiver has a drain of its own, and one after the other their times add up:
//! `tokio::join!` waits for several at once. All of it has to fit into what the orchestrator grants. (`axum::serve` sets
//! no limit to a head that is half sent, nor to how long it waits for its connections; `examples/axum` sets both.)
//!
//! # Testing a handler
//!
//! With the feature `testing`, `testing::event(body)` makes an event without a signature, to be handed to a handler as
//! `VerifiedEvent(event)`; `testing::event_in` makes one for a tenant, and `testing::event_of` one of another sender. For
//! a test from the request on, [`sign`] makes the header (`core::Provider::sign` those of another sender), and `tower`
//! hands over the request without a socket:
//!
//! ```toml
//! [dev-dependencies]
//! asixto-webhook-axum = { path = "../asixto-webhook/asixto-webhook-axum", features = ["testing"] }
//! tower = { version = "0.5", features = ["util"] }
//! ```
//!
//! ```
//! use asixto_webhook_axum::{MemoryStore, Receiver, SecretSet, UnixTime, VerifiedEvent, WebhookLayer, sign};
//! use axum::{Router, body::Body, http::{Request, StatusCode}, routing::post};
//! use tower::ServiceExt;
//!
//! # async fn hook(_: VerifiedEvent) {}
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let secrets = SecretSet::from_issued(["whsec_Zm9vYmFyYmF6cXV4"])?;
//! let receiver = Receiver::builder().secrets(secrets.clone()).dedup(MemoryStore::default()).build()?;
//! let app = Router::new().route("/webhooks/asixto", post(hook).layer(WebhookLayer::new(&receiver)));
//!
//! let body = r#"{"id":"1","type":"job.succeeded","created":1787923140,"environment":"test","data":{"job_id":"job_1",
//!     "operation":"agent.turn","status":"succeeded","credits_charged":12,"error_code":null,"result":{"text":"Done"}}}"#;
//! let request = Request::post("/webhooks/asixto")
//!     .header("Asixto-Signature", sign(&secrets, UnixTime::now(), body.as_bytes()))
//!     .body(Body::from(body))?;
//! assert_eq!(app.oneshot(request).await?.status(), StatusCode::OK);
//! # Ok(()) }
//! ```
//!
//! Where a delivery that you have at hand is refused with `signature_mismatch`, the feature `explain` has
//! `core::explain::Case` say why.
//!
//! # Many tenants on one route
//!
//! [`WebhookLayer::scope_from`] names the tenant of a request, [`lookup`] finds its secrets. The path is as it was sent:
//! still percent-encoded, and under `nest` without the prefix. Where a tenant is found by several spellings (`acme`,
//! `ACME`, `%61cme` once decoded), [`SecretSet::for_scope`] says which one it is: ids are unique within a scope.
//!
//! ```
//! use asixto_webhook_axum::{MemoryStore, Receiver, SecretSet, VerifiedEvent, WebhookLayer, lookup};
//! use axum::{Router, routing::post};
//!
//! # fn app() -> Result<Router, Box<dyn std::error::Error>> {
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
//! let layer = WebhookLayer::new(&receiver)
//!     .scope_from(|parts| parts.uri.path().rsplit('/').next().unwrap_or_default().to_owned())?;
//! let app = Router::new().route(
//!     "/webhooks/{tenant}",
//!     post(async |VerifiedEvent(event): VerifiedEvent| println!("{} for {}", event.id(), event.scope())).layer(layer),
//! );
//! # Ok(app) }
//! # app().unwrap();
//! ```

mod extract;

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

pub use crate::extract::{Rejection, VerifiedEvent};

/// The examples in the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
