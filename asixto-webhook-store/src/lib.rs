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
//! | `postgres` | `PostgresStore` | yes | as the server does |
//!
//! # The suite
//!
//! The feature `acceptance` adds the module `acceptance`: the cases that every
//! [`DedupStore`](asixto_webhook_core::DedupStore) has to pass, those of this crate and those of others.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "acceptance")]
pub mod acceptance;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod fence;
#[cfg(feature = "memory")]
mod memory;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod open;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod prefix;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(feature = "memory")]
pub use self::memory::MemoryStore;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use self::open::OpenError;
#[cfg(feature = "postgres")]
pub use self::postgres::PostgresStore;
#[cfg(feature = "sqlite")]
pub use self::sqlite::{SqliteOptions, SqliteStore};
