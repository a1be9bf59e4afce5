//! Drives probes against a webhook receiver over real sockets.
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
