//! The axum adapter over real sockets, HTTP/1.1 and HTTP/2.
#![cfg(feature = "memory")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests assert by panicking too")]

mod extractor;
mod handlers;
mod leaks;
mod outcomes;
mod server;
