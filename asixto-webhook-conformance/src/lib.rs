//! Drives probes against a webhook receiver over real sockets.
//!
//! ```no_run
//! use asixto_webhook_conformance::{Kit, PROBES, Target, Version, run};
//! use asixto_webhook_core::{Environment, SecretSet};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let target = Target::new("127.0.0.1:3000".parse()?, Version::Http1).observed_at("/events");
//! let kit = Kit::new("/webhooks/asixto", SecretSet::from_issued(["whsec_Zm9vYmFyYmF6cXV4"])?, Environment::Live);
//! for probe in PROBES {
//!     if let Some(finding) = run(&target, &kit, probe).await {
//!         println!("{} {}: {}", probe.clause, probe.title, if finding.passed() { "ok" } else { &finding.got });
//!     }
//! }
//! # Ok(()) }
//! ```
//!
//! A receiver with diagnostics says how each delivery ended. Of any other one the status alone is known, and it is
//! believed to mean the outcome that was expected.
//!
//! A [`Request`] says exactly which bytes leave and when; [`http1`] and [`http2`] carry it, and bring back the
//! [`Response`] or the [`ExchangeError`] that came in its place.

mod corpus;
pub mod fixtures;
pub mod http1;
pub mod http2;
mod kit;
mod probe;
mod program;
mod request;
mod response;
mod run;

pub use corpus::PROBES;
pub use kit::{Delivery, Kit};
pub use probe::Probe;
pub use program::Program;
pub use request::Request;
pub use response::{ExchangeError, Response};
pub use run::{Finding, Target, Version, run, send};
