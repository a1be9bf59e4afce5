//! Receive signed webhooks: the part that decides, and does no IO.
//!
//! This crate verifies signatures, opens envelopes and says what to answer. It opens no socket, reads no clock,
//! starts no task and holds no runtime: bytes and the time are handed in, answers are handed out. The adapters
//! (`asixto-webhook-axum`, `asixto-webhook-tower`) carry them from and to a framework, and a service normally
//! depends on one of those.
//!
//! ```text
//!  method, headers, raw body
//!        │
//!        ▼
//!   signature ──── header missing, repeated or malformed ──────────► 400
//!        ▼
//!   verify ─────── no secret matches, or outside the window ───────► 400
//!        ▼
//!   envelope ───── not an envelope, or of the other environment ───► 400
//!        ▼
//!   claim ──────── done before ► 200    in flight, store down ─────► 503
//!        │
//!        ▼
//!   Event, Ticket ──► the handler ──► settle: commit on 2xx, release otherwise
//! ```
//!
//! * [`Receiver`] is the whole road, for adapters. [`Verifier`] is the signature alone.
//! * [`Event`] is what a handler gets; only verification makes one.
//! * [`SecretSource`], [`DedupStore`], [`Inbox`], [`Clock`] and [`Timer`] are the seams to the world.
//! * [`Provider`] is the seam between senders; [`Asixto`] is the one that needs no naming.

#![no_std]
#![warn(clippy::alloc_instead_of_core, clippy::std_instead_of_core)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

mod dedup;
mod event;
#[cfg(feature = "explain")]
pub mod explain;
mod headers;
mod inbox;
mod json;
mod log;
mod mac;
mod mistakes;
mod outcome;
pub mod provider;
mod receiver;
mod secret;
pub mod signature;
mod source;
#[cfg(feature = "testing")]
pub mod testing;
mod time;
mod verify;

use alloc::boxed::Box;
use core::{future::Future, pin::Pin};

#[doc(no_inline)]
pub use bytes::Bytes;
#[doc(no_inline)]
pub use serde_json::value::RawValue;

#[cfg(feature = "jiff")]
pub use self::provider::TimeError;
pub use self::{
    dedup::{
        Claim, Claimed, DedupKey, DedupStore, Fingerprint, Held, Keys, NoDedup, StoreError, StoreErrorKind, Token,
    },
    event::Event,
    headers::{HeaderFault, HeaderLines, Headers, Malformed, only},
    inbox::{Accepted, Inbox, Record},
    json::JsonKind,
    mac::Encoding,
    mistakes::ConfigError,
    outcome::{Answer, Outcome},
    provider::{
        Asixto, Certification, Credits, Data, DataError, DisabledEndpoint, DisabledReason, DisabledTool, EVENT_TYPES,
        EnvelopeFault, Environment, ExpiredJob, Handoff, Integer, Job, JobStatus, Number, Provider, Time,
        UnknownEnvironment, Verdict, sign,
    },
    receiver::{
        Admission, Authentic, BodyFault, Delivery, Handled, Placed, Receiver, ReceiverBuilder, Settled, Ticket,
        Timeouts,
    },
    secret::{Secret, SecretError, SecretSet, SecretSetError},
    source::{SecretSource, Unavailable, lookup},
    time::{Clock, Timer, UnixTime},
    verify::{Check, Verified, Verifier, VerifyError},
};
#[cfg(feature = "std")]
pub use self::{source::RotatingSecrets, time::SystemClock};

/// A boxed future, as the traits of this crate return it: they are usable as `dyn`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The examples in the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
