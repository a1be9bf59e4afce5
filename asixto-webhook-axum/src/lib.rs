//! Receive signed webhooks in axum: put a layer on the route, take the verified event in the handler.
//!
//! ```
//! use asixto_webhook_axum::{Data, MemoryStore, Receiver, SecretSet, VerifiedEvent, WebhookLayer};
//! use axum::{Router, routing::post};
//!
//! async fn hook(VerifiedEvent(event): VerifiedEvent) {
//!     match event.data() {
//!         Ok(Data::JobSucceeded(job)) => println!("{} cost {:?} credits", job.job_id, job.credits_charged),
//!         Ok(_) => println!("{} needs nothing", event.event_type()),
//!         Err(error) => println!("{}: {error}", event.id()),
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
//! Each delivery leaves a line in the log, by [`tracing`](https://docs.rs/tracing): without a subscriber nothing says
//! why one was refused, since the sender must not learn it. [`diagnostics`](core::ReceiverBuilder::diagnostics) puts
//! the outcome into a header of the response as well, for local use.
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
//! ```
//! # async fn stop(webhooks: asixto_webhook_axum::WebhookLayer) {
//! if let Err(error) = webhooks.drain(std::time::Duration::from_secs(30)).await {
//!     eprintln!("{error}"); // what is left is retried by the sender
//! }
//! # }
//! ```
//!
//! # Testing a handler
//!
//! With the feature `testing` in `[dev-dependencies]`, `testing::event(body)` makes an event without a signature, to
//! be handed to a handler as `VerifiedEvent(event)`. For a test from the request on, [`sign`] makes the header:
//!
//! ```
//! use asixto_webhook_axum::{SecretSet, UnixTime, sign};
//!
//! let secrets = SecretSet::from_issued(["whsec_Zm9vYmFyYmF6cXV4"])?;
//! let body = r#"{"id":"1","type":"job.paused","created":1787923140,"environment":"test","data":{}}"#;
//! let header = ("Asixto-Signature", sign(&secrets, UnixTime::now(), body.as_bytes()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Where a delivery that you have at hand is refused with `signature_mismatch`, the feature `explain` has
//! `core::explain::Case` say why.
//!
//! # Many tenants on one route
//!
//! [`WebhookLayer::scope_from`] names the tenant of a request, [`lookup`] finds its secrets. (Under `nest` axum has
//! cut the prefix off the path by then.)
//!
//! ```
//! use asixto_webhook_axum::{MemoryStore, Receiver, SecretSet, VerifiedEvent, WebhookLayer, lookup};
//! use axum::{Router, routing::post};
//!
//! # fn app() -> Result<Router, Box<dyn std::error::Error>> {
//! let secrets = lookup(|tenant: String| async move {
//!     let row = (tenant == "acme").then_some("whsec_Zm9vYmFyYmF6cXV4"); // from your database
//!     Ok(row.map(|issued| SecretSet::from_issued([issued])).transpose()?)
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
    Asixto, Certification, ConfigError, Credits, Data, DataError, DisabledEndpoint, DisabledReason, DisabledTool,
    Environment, Event, ExpiredJob, Handoff, Integer, Job, JobStatus, NoDedup, Number, Outcome, Receiver,
    RotatingSecrets, Secret, SecretError, SecretSet, Time, Unavailable, UnixTime, Verdict, lookup, sign,
};
#[cfg(feature = "memory")]
pub use asixto_webhook_tower::MemoryStore;
pub use asixto_webhook_tower::{Undrained, WebhookLayer};

pub use crate::extract::{Rejection, VerifiedEvent};

/// The examples in the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
