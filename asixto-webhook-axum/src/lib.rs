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
//! The handler runs once per event, with a body whose signature holds. It acknowledges with any 2xx; any other
//! status, and a panic, makes the sender try again. What it does not have to think of: repeated headers, several
//! signatures, stale deliveries, duplicates, copies that arrive at once, a sender that hangs up in the middle.
//!
//! # Where to put the layer
//!
//! On the route (`post(hook).layer(…)`), as above: it answers other methods with 405, and other routes are none of
//! its business. On a whole `Router` it would also answer for paths that do not exist. Nothing that reads,
//! decompresses or limits bodies may come before it; axum's own `DefaultBodyLimit` plays no part.
//!
//! # Many tenants on one route
//!
//! [`WebhookLayer::scope_from`] names the tenant of a request, [`lookup`] finds its secrets:
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
//!     .scope_from(|parts| parts.uri.path().rsplit('/').next().unwrap_or_default().to_owned());
//! let app = Router::new().route(
//!     "/webhooks/{tenant}",
//!     post(async |VerifiedEvent(event): VerifiedEvent| println!("{} for {}", event.id(), event.scope())).layer(layer),
//! );
//! # Ok(app) }
//! # app().unwrap();
//! ```

mod extract;

pub use asixto_webhook_core as core;
pub use asixto_webhook_core::{
    Asixto, ConfigError, Data, DataError, Environment, Event, NoDedup, Receiver, RotatingSecrets, Secret, SecretError,
    SecretSet, lookup,
};
#[cfg(feature = "memory")]
pub use asixto_webhook_tower::MemoryStore;
pub use asixto_webhook_tower::{Undrained, WebhookLayer};

pub use crate::extract::{Rejection, VerifiedEvent};

/// The examples in the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
