#![cfg_attr(feature = "memory", doc = include_str!("../README.md"))]
//!
//! # Stores
//!
//! A store is a feature and a file of that name, and nothing of one is compiled for another.
//!
//! | Feature | What it adds | Shared by processes | Survives a restart |
//! |---|---|---|---|
//! | `memory` (default) | `MemoryStore` | no | no |
//! | `sqlite` | `SqliteStore` | those of one machine | yes |
//!
//! # The suite
//!
//! The feature `acceptance` adds the module `acceptance`: the cases that every
//! [`DedupStore`](asixto_webhook_core::DedupStore) has to pass, those of this crate and those of others.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "acceptance")]
pub mod acceptance;
#[cfg(feature = "memory")]
mod memory;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(feature = "memory")]
pub use self::memory::MemoryStore;
#[cfg(feature = "sqlite")]
pub use self::sqlite::{OpenError, SqliteOptions, SqliteStore};
