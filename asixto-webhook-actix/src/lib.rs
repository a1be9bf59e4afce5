//! Receive signed webhooks in actix-web: wrap the resource, take the verified event in the handler.
//!
//! ```
//! use actix_web::{HttpResponse, Responder, web};
//! use asixto_webhook_actix::{Data, MemoryStore, Receiver, SecretSet, VerifiedEvent, WebhookMiddleware};
//!
//! async fn hook(VerifiedEvent(event): VerifiedEvent) -> impl Responder {
//!     match event.data() {
//!         Ok(Data::JobSucceeded(job)) => tracing::info!(job.job_id, job.operation, "done"),
//!         Ok(_) => tracing::info!(event_type = event.event_type(), "nothing to do"),
//!         // Trying again would not help: note it, and acknowledge.
//!         Err(error) => tracing::error!(event_id = event.id(), "{error}"),
//!     }
//!     HttpResponse::Ok()
//! }
//!
//! fn webhooks(secret: &str) -> Result<WebhookMiddleware, Box<dyn std::error::Error>> {
//!     let secrets = SecretSet::from_issued([secret])?;
//!     let receiver = Receiver::builder().secrets(secrets).dedup(MemoryStore::default()).build()?;
//!     Ok(WebhookMiddleware::new(&receiver))
//! }
//!
//! async fn serve(webhooks: WebhookMiddleware) -> std::io::Result<()> {
//!     actix_web::HttpServer::new(move || {
//!         let hook = web::resource("/webhooks/asixto").wrap(webhooks.clone()).route(web::post().to(hook));
//!         actix_web::App::new().service(hook)
//!     })
//!     .bind("127.0.0.1:3000")?
//!     .run()
//!     .await
//! }
//! # drop(serve(webhooks("whsec_Zm9vYmFyYmF6cXV4").unwrap()));
//! ```
//!
//! The receiver is made once, outside of the factory: each worker runs that, and two receivers would not know what the
//! other one is about.
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
//! It answers with any other status than 2xx, and says why in a log of its own: the middleware sees the status alone.
//!
//! ```
//! use actix_web::{HttpResponse, error::ErrorInternalServerError};
//! use asixto_webhook_actix::VerifiedEvent;
//!
//! # async fn book(_: &str) -> std::io::Result<()> { Ok(()) }
//! async fn hook(VerifiedEvent(event): VerifiedEvent) -> actix_web::Result<HttpResponse> {
//!     book(event.id()).await.map_err(|error| {
//!         tracing::error!(event_id = event.id(), "not booked: {error}");
//!         ErrorInternalServerError("") // the sender tries again
//!     })?;
//!     Ok(HttpResponse::Ok().finish())
//! }
//! # actix_web::App::new().route("/", actix_web::web::post().to(hook));
//! ```
//!
//! Mind what an error shows: actix sends its text to the sender. What trying again would not mend, such as a
//! [`DataError`], is better noted and acknowledged.
//!
//! # The log
//!
//! Each delivery leaves a line, by [`tracing`](https://docs.rs/tracing), under the target `asixto_webhook`: nothing else
//! says why one was refused, since the sender must not learn it. Where there is no subscriber of `tracing` the line
//! goes to `log`, and so to `env_logger`. `INFO` has to be let through, or only what went wrong is seen: `WARN` is a
//! delivery that was refused, `ERROR` one that failed on this side. Among its fields are `outcome` (a word of
//! [`Outcome`]), `status` and `scope`; `event_id` and `event_type` once the signature holds, and `unverified_id` and
//! `unverified_type` before it does.
//!
//! For metrics the [`Outcome`] is in the extensions of the response. For local use,
//! [`diagnostics`](ReceiverBuilder::diagnostics) puts it into a header of the response as well:
//! `asixto-webhook-outcome`.
//!
//! # Where to put the middleware
//!
//! On the resource, as above. On a whole `App` it would take every route's requests for deliveries, and answer 405 to
//! each `GET`. Nothing that reads, decompresses or rewrites bodies may run before it: what is wrapped later runs
//! earlier. (`Logger`, and `Compress`, which is about responses, are free to.) `PayloadConfig` plays no part in it, and
//! applies as ever to extractors that read the body again. Those are seldom needed: [`Event::data`] is the typed data,
//! [`Event::raw_data`] the JSON, [`Event::body`] the bytes. (`web::Json` would also refuse a delivery for its content
//! type, on every attempt.)
//!
//! Two answers pass the middlewares around as an error, since the handler keeps the request that a response takes: to
//! one that is slow, and to one that has panicked. [`Error::error_response`](actix_web::Error::error_response) has their
//! status, and their [`Outcome`].
//!
//! An `actix_web::Error` that a middleware between this one and the handler fails with is judged by what it sends, and
//! goes on as an [`InternalError`](actix_web::error::InternalError) of the same text and response.
//!
//! HTTP/2 without TLS takes the feature `http2` of actix-web, and `HttpServer::bind_auto_h2c` in the place of `bind`.
//!
//! # Slow handlers, and shutting down
//!
//! The sender waits for 10 seconds. A handler that needs longer than 9 is answered for with 503 and runs on: if it
//! succeeds, the sender's next attempt is a duplicate. Once started, a handler runs to its end, whoever hangs up. While
//! it does, no copy of its event runs beside it behind the same receiver; and none in another process, as long as its
//! claim is renewed. A handler that blocks its thread holds up every answer of its worker: work that blocks belongs into
//! `web::block`.
//!
//! A worker that stops waits for its connections, and ends whatever else still runs on its thread. So the handlers that
//! nobody waits for any more come before it: no new connections, then the drain, then the stop.
//!
//! ```no_run
//! # #[cfg(unix)] mod unix {
//! use std::{error::Error, time::Duration};
//!
//! use actix_web::{App, HttpServer, rt::{self, signal::unix::{SignalKind, signal}}, web};
//! use asixto_webhook_actix::{VerifiedEvent, WebhookMiddleware};
//!
//! # async fn hook(_: VerifiedEvent) -> &'static str { "" }
//! async fn serve(webhooks: WebhookMiddleware) -> Result<(), Box<dyn Error>> {
//!     let served = webhooks.clone();
//!     let server = HttpServer::new(move || {
//!         App::new().service(web::resource("/hook").wrap(served.clone()).route(web::post().to(hook)))
//!     });
//!     // Its own signals would stop it at once.
//!     let server = server.disable_signals().bind("127.0.0.1:3000")?.run();
//!     let handle = server.handle();
//!     let running = rt::spawn(server);
//!
//!     signal(SignalKind::terminate())?.recv().await; // SIGTERM, which an orchestrator sends
//!     handle.pause().await;
//!     let drained = webhooks.drain(Duration::from_secs(30)).await;
//!     handle.stop(true).await;
//!     running.await??;
//!     Ok(drained?) // what was left then is retried by the sender
//! }
//! # }
//! ```
//!
//! Any middleware of a receiver will do. Each receiver has a drain of its own, and one after the other their times add
//! up: `tokio::join!` waits for several at once. All of it has to fit into what the orchestrator grants, and the stop
//! takes its time too ([`HttpServer::shutdown_timeout`](actix_web::HttpServer::shutdown_timeout)). A handler that is
//! ended all the same is no event lost: its claim ends with its lease, and the sender comes back.
//!
//! # Testing a handler
//!
//! With the feature `testing`, `testing::event(body)` makes an event without a signature, to be handed to a handler as
//! `VerifiedEvent(event)`; `testing::event_in` makes one for a tenant, and `testing::event_of` one of another sender. For
//! a test from the request on, [`sign`] makes the header (`core::Provider::sign` those of another sender), and
//! `actix_web::test` hands over the request without a socket:
//!
//! ```toml
//! [dev-dependencies]
//! asixto-webhook-actix = { path = "../asixto-webhook/asixto-webhook-actix", features = ["testing"] }
//! ```
//!
//! ```
//! use actix_web::{App, HttpResponse, http::StatusCode, test, web};
//! use asixto_webhook_actix::{MemoryStore, Receiver, SecretSet, UnixTime, VerifiedEvent, WebhookMiddleware, sign};
//!
//! # async fn hook(_: VerifiedEvent) -> HttpResponse { HttpResponse::Ok().finish() }
//! # #[actix_web::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let secrets = SecretSet::from_issued(["whsec_Zm9vYmFyYmF6cXV4"])?;
//! let receiver = Receiver::builder().secrets(secrets.clone()).dedup(MemoryStore::default()).build()?;
//! let hook = web::resource("/webhooks/asixto").wrap(WebhookMiddleware::new(&receiver)).route(web::post().to(hook));
//! let app = test::init_service(App::new().service(hook)).await;
//!
//! let body = r#"{"id":"1","type":"job.succeeded","created":1787923140,"environment":"test","data":{"job_id":"job_1",
//!     "operation":"agent.turn","status":"succeeded","credits_charged":12,"error_code":null,"result":{"text":"Done"}}}"#;
//! let request = test::TestRequest::post()
//!     .uri("/webhooks/asixto")
//!     .insert_header(("Asixto-Signature", sign(&secrets, UnixTime::now(), body.as_bytes())))
//!     .set_payload(body);
//! assert_eq!(test::call_service(&app, request.to_request()).await.status(), StatusCode::OK);
//! # Ok(()) }
//! ```
//!
//! Such a test stands under `#[actix_web::test]`: like actix's own tasks, a handler needs a thread that takes them.
//! Where a delivery that you have at hand is refused with `signature_mismatch`, the feature `explain` has
//! `core::explain::Case` say why.
//!
//! # Many tenants on one route
//!
//! [`WebhookMiddleware::scope_from`] names the tenant of a request, [`lookup`] finds its secrets. Where a tenant is found
//! by several spellings (`acme`, `ACME`), [`SecretSet::for_scope`] says which one it is: ids are unique within a scope.
//!
//! ```
//! use actix_web::{App, web};
//! use asixto_webhook_actix::{MemoryStore, Receiver, SecretSet, VerifiedEvent, WebhookMiddleware, lookup};
//!
//! # fn app() -> Result<(), Box<dyn std::error::Error>> {
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
//! let webhooks = WebhookMiddleware::new(&receiver).scope_from(|request| request.match_info().query("tenant").to_owned())?;
//! let hook = web::resource("/webhooks/{tenant}").wrap(webhooks).route(web::post().to(
//!     async |VerifiedEvent(event): VerifiedEvent| format!("{} for {}", event.id(), event.scope()),
//! ));
//! let app = App::new().service(hook);
//! # Ok(drop(app)) }
//! # app().unwrap();
//! ```

mod extract;
mod middleware;
mod service;

pub use asixto_webhook_core as core;
#[cfg(feature = "testing")]
pub use asixto_webhook_core::testing;
pub use asixto_webhook_core::{
    Asixto, Certification, ConfigError, Credits, Data, DataError, DedupStore, DisabledEndpoint, DisabledReason,
    DisabledTool, EVENT_TYPES, EnvelopeFault, Environment, Event, ExpiredJob, Handoff, Integer, Job, JobStatus,
    NoDedup, Number, Outcome, Receiver, ReceiverBuilder, RotatingSecrets, Secret, SecretError, SecretSet,
    SecretSetError, SecretSource, Time, Unavailable, UnixTime, Verdict, Verified, lookup, sign,
};
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
    extract::{Rejection, VerifiedEvent},
    middleware::WebhookMiddleware,
    service::WebhookService,
};

/// The examples in the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
