//! Receive signed webhooks in any tower stack: axum, hyper, tonic, lambda.
//!
//! [`WebhookLayer`] puts a [`Receiver`](core::Receiver) before a service. It collects the raw body, has it verified
//! and deduplicated, and calls the service only for an event to be processed: with the body restored, and with the
//! [`Event`](core::Event) in the request's extensions. Everything else it answers itself.
//!
//! ```
//! use asixto_webhook_tower::{MemoryStore, WebhookLayer, core::{Event, Receiver, Secret, SecretSet}};
//! use http::{Request, Response};
//! use http_body_util::Full;
//! use bytes::Bytes;
//! use tower::{Layer, service_fn};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let receiver = Receiver::builder()
//!     .secrets(SecretSet::from(Secret::new("current", "whsec_Zm9vYmFyYmF6cXV4")?))
//!     .dedup(MemoryStore::default())
//!     .build()?;
//! let service = WebhookLayer::new(&receiver).layer(service_fn(async |request: Request<Full<Bytes>>| {
//!     let event: Option<&Event> = request.extensions().get();
//!     println!("{event:?}");
//!     Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::default()))
//! }));
//! # drop::<asixto_webhook_tower::Webhook<_>>(service);
//! # Ok(())
//! # }
//! ```
//!
//! Served by hyper alone, over HTTP/1.1:
//!
//! ```no_run
//! # use std::{io, time::Duration};
//! # use asixto_webhook_tower::Webhook;
//! use hyper::server::conn::http1;
//! use hyper_util::{rt::{TokioIo, TokioTimer}, service::TowerToHyperService};
//! use tokio::net::TcpListener;
//! # use http::{Request, Response};
//! # use http_body_util::Full;
//! # use bytes::Bytes;
//! # use tower::Service;
//!
//! # async fn serve<S>(service: Webhook<S>) -> io::Result<()>
//! # where
//! #     S: Service<Request<Full<Bytes>>, Response = Response<Full<Bytes>>, Error = std::convert::Infallible>,
//! #     S: Clone + Send + 'static,
//! #     S::Future: Send + 'static,
//! # {
//! let listener = TcpListener::bind("127.0.0.1:3000").await?;
//! loop {
//!     let (stream, _) = listener.accept().await?;
//!     let service = TowerToHyperService::new(service.clone());
//!     tokio::spawn(async move {
//!         let mut server = http1::Builder::new();
//!         // The layer bounds how long a body takes; a head that never ends is the server's affair.
//!         server.timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(5));
//!         if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
//!             eprintln!("{error}");
//!         }
//!     });
//! }
//! # }
//! ```
//!
//! What the layer relies on:
//!
//! * It runs inside a tokio runtime.
//! * The service can be cloned, its future is `Send`, and the body of its responses has an empty form (`Default`),
//!   which is what refusals have. A service that wants its own type of request body gets it by
//!   [`restore_as`](WebhookLayer::restore_as).
//! * Each delivery leaves a line in the log, by `tracing`: without a subscriber nothing says why one was refused.
//! * Nothing before it has read, decompressed or rewritten the body, nor dropped a line of a header, as `lambda_http` does
//!   with events that list several values (`examples/lambda` puts that right).
//! * The service's response is judged by its status when its head is ready: 2xx commits the event.
//!
//! # Slow handlers, and shutting down
//!
//! A service that needs longer than its sender waits is answered for with 503, and runs on: if it succeeds, the sender's
//! next attempt is a duplicate. Once called, it runs to its end, whoever hangs up. So the last step of a shutdown, after
//! the server has stopped, is to wait for those that nobody waits for any more:
//!
//! ```no_run
//! # async fn stop(webhooks: asixto_webhook_tower::WebhookLayer) -> Result<(), Box<dyn std::error::Error>> {
//! webhooks.drain(std::time::Duration::from_secs(30)).await?; // what is left then is retried by the sender
//! # Ok(()) }
//! ```
//!
//! # Many tenants, tests, and the log
//!
//! [`WebhookLayer::scope_from`] names the tenant of a request, and [`core::lookup`] finds its secrets. A test signs a body
//! with [`core::sign`] and hands the request over by `tower`'s `oneshot`. Levels and fields of the log, and more of all
//! that, are on [the page of `asixto-webhook-axum`](https://docs.rs/asixto-webhook-axum), which is this layer with an
//! extractor.

mod body;
mod layer;
mod service;

pub use asixto_webhook_core as core;
pub use asixto_webhook_runtime::Undrained;
#[cfg(feature = "memory")]
pub use asixto_webhook_store::MemoryStore;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use asixto_webhook_store::OpenError;
#[cfg(feature = "postgres")]
pub use asixto_webhook_store::PostgresStore;
#[cfg(feature = "sqlite")]
pub use asixto_webhook_store::{SqliteOptions, SqliteStore};

pub use crate::{
    layer::WebhookLayer,
    service::{ResponseFuture, Webhook},
};
