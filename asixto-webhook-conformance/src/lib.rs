//! Checks a webhook receiver over real sockets, whoever wrote it and in whatever language.
//!
//! ```no_run
//! use asixto_webhook_conformance::{Check, Kit, Target, Trust, Version};
//! use asixto_webhook_core::{Environment, SecretSet};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let url = "https://example.com/webhooks/asixto";
//! let (target, path) = Target::resolve(url, Version::Http1, &Trust::System).await?;
//! let kit = Kit::new(path, SecretSet::from_issued(["whsec_Zm9vYmFyYmF6cXV4"])?, Environment::Live);
//! let report = Check::new(&target, &kit).run(|_, probe| eprintln!("{}", probe.title)).await;
//! for finding in &report.findings {
//!     println!("{:>12} {:<4} {}", finding.verdict, finding.probe.point, finding.probe.title);
//! }
//! std::process::exit(report.exit_code(false).into());
//! # }
//! ```
//!
//! # What a verdict rests on
//!
//! What a receiver does can be told from its answers, and what it has *done* only in part. The evidence, the strongest
//! first:
//!
//! * **The diagnostics header** of this project's receivers says how each delivery ended. Such a receiver has made this
//!   project's decisions, and is held to them.
//! * **An observer** ([`Observer`]) tells what the handler ran for, and how often.
//! * **The status alone.** What it does not prove is [inconclusive](Verdict::Inconclusive): a receiver that answers 200
//!   twice may have worked twice.
//!
//! Where the sender's contract is silent, or where the published verifiers differ, a receiver of another make is
//! [advised](Verdict::Advisory), and never fails.
//!
//! A [valid delivery](Check) comes first and last; without it nothing is judged. Every id is fresh, so that a receiver can
//! be checked as often as one likes; and **every accepted delivery is work for its handler**: check a receiver that may
//! do it, on secrets of its own.
//!
//! A [`Request`] says exactly which bytes leave and when; [`http1`] and [`http2`] carry it, and bring back the
//! [`Response`] or the [`ExchangeError`] that came in its place.

mod check;
mod corpus;
mod curl;
pub mod fixtures;
pub mod http1;
pub mod http2;
mod judge;
mod kit;
mod latency;
mod observe;
mod peer;
mod probe;
mod program;
mod report;
mod request;
mod response;
mod run;
mod scheme;
mod target;

pub use check::{Check, Selection};
pub use corpus::PROBES;
pub use judge::Verdict;
pub use kit::{Delivery, Kit};
pub use latency::Latency;
pub use peer::Peer;
pub use probe::{Authority, Point, Probe};
pub use program::Program;
pub use report::Report;
pub use request::Request;
pub use response::{ExchangeError, Response};
pub use run::{Finding, run};
pub use scheme::Signer;
pub use target::{Observer, Target, TargetError, Trust, Version, send};
