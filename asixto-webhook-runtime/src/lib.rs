//! Drives a receiver on tokio: the one place of this workspace that waits.
//!
//! The core decides and does no IO; an adapter translates requests and responses. What lies between them needs a
//! runtime and is the same for every framework:
//!
//! * the body arrives under a limit and a deadline ([`Driver::collect`]);
//! * secrets and stores answer within their timeouts ([`TokioTimer`]);
//! * a handler runs to its end once it has started, even if the sender hangs up or it takes longer than the sender
//!   waits; its claim is renewed meanwhile; a panic is a failure like another ([`Driver::run`], and
//!   [`Driver::run_local`] for handlers that are not `Send`);
//! * a commit that the store did not take is tried again in the background;
//! * a shutdown waits for all of that ([`Driver::drain`]).
//!
//! Services use an adapter (`asixto-webhook-axum`, `asixto-webhook-actix`, `asixto-webhook-warp`,
//! `asixto-webhook-tower`); this crate is for writing one.
//!
//! With `panic = "abort"` in the profile a handler's panic ends the process, as any other would: the claim then ends
//! with its lease.

mod body;
mod driver;

pub use asixto_webhook_core as core;

pub use crate::driver::{Driver, Reply, Request, TokioTimer, Undrained};
