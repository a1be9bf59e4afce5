//! What every store has to pass, whatever it keeps its ids in.
//!
//! A [`Harness`] says how to get an empty store and how its time passes; [`run`] runs all [`CASES`] against it and
//! panics at the first rule that is broken. It has to be called in a tokio runtime of the multi-threaded kind.
//!
//! The cases ask for no more than the trait does, and a store that passes them is still not proven: a gap between a
//! check and a write is found the more surely the wider it is, and with two processors at least.
//!
#![cfg_attr(feature = "memory", doc = "```")]
#![cfg_attr(not(feature = "memory"), doc = "```ignore")]
//! use std::{num::NonZeroUsize, sync::Arc, time::Duration};
//! use asixto_webhook_core::{BoxFuture, DedupStore, UnixTime, testing::ManualClock};
//! use asixto_webhook_store::{MemoryStore, acceptance::{self, Harness}};
//!
//! struct Memory(ManualClock);
//!
//! impl Harness for Memory {
//!     fn store(&self) -> BoxFuture<'_, Arc<dyn DedupStore>> {
//!         Box::pin(async { Arc::new(MemoryStore::default().with_clock(self.0.clone())) as _ })
//!     }
//!
//!     fn bounded(&self, capacity: NonZeroUsize) -> Option<BoxFuture<'_, Arc<dyn DedupStore>>> {
//!         Some(Box::pin(async move { Arc::new(MemoryStore::new(capacity).with_clock(self.0.clone())) as _ }))
//!     }
//!
//!     fn advance(&self, by: Duration) -> BoxFuture<'_, ()> {
//!         Box::pin(async move { self.0.advance(by) })
//!     }
//! }
//!
//! // In a test: #[tokio::test(flavor = "multi_thread")]
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let clock = ManualClock::new(UnixTime::from_secs(0));
//! acceptance::run(&Memory(clock)).await;
//! # });
//! # Ok::<(), std::io::Error>(())
//! ```

mod cases;
mod door;
mod races;
mod room;

use core::{error::Error, fmt, num::NonZeroUsize, panic::Location, time::Duration};
use std::sync::Arc;

use asixto_webhook_core::{BoxFuture, DedupStore};

pub use self::cases::CASES;

/// How the suite gets at a store, and at its time.
pub trait Harness: Sync {
    /// A store without ids that shares none with any other. Called once or more for each case.
    fn store(&self) -> BoxFuture<'_, Arc<dyn DedupStore>>;

    /// Another way to the ids of `store`: a second connection, or the store as another process opens it. The cases
    /// take turns between the two. By default it is `store` itself.
    fn peer<'a>(&'a self, store: &'a Arc<dyn DedupStore>) -> BoxFuture<'a, Arc<dyn DedupStore>> {
        Box::pin(async move { Arc::clone(store) })
    }

    /// As [`store`](Self::store), with room for `capacity` ids. `None`, the default, if the store has no bound: the
    /// cases about a full store pass then.
    fn bounded(&self, _capacity: NonZeroUsize) -> Option<BoxFuture<'_, Arc<dyn DedupStore>>> {
        None
    }

    /// Lets `by` pass, up to eight days, for every store of this harness.
    ///
    /// Where the clock cannot be moved, as in most databases, move every stored instant back by as much instead. Time
    /// that really passes as well does no harm: nothing hinges on less than a minute.
    fn advance(&self, by: Duration) -> BoxFuture<'_, ()>;
}

/// Runs all [`CASES`], one after the other.
///
/// # Panics
/// At the first case that a store fails, with its name and rule. Outside of a tokio runtime.
pub async fn run(harness: &dyn Harness) {
    for case in CASES {
        case.run(harness).await;
    }
}

/// One thing that a store has to do.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    name: &'static str,
    rule: &'static str,
    check: Check,
}

type Check = for<'a> fn(&'a dyn Harness) -> BoxFuture<'a, Outcome>;
type Outcome = Result<(), Found>;

impl Case {
    /// What it is called, in snake case.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The rule that it checks, in a sentence.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        self.rule
    }

    /// Checks the rule.
    ///
    /// # Errors
    /// If the store breaks it, or fails.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn check(&self, harness: &dyn Harness) -> Result<(), Broken> {
        (self.check)(harness).await.map_err(|found| Broken { case: *self, found })
    }

    /// Checks the rule, for a test.
    ///
    /// # Panics
    /// If the store breaks it, or fails. Outside of a tokio runtime.
    pub async fn run(&self, harness: &dyn Harness) {
        if let Err(broken) = self.check(harness).await {
            #[expect(clippy::panic, reason = "this is how a test fails")]
            {
                panic!("{broken}");
            }
        }
    }
}

/// A rule that a store breaks.
#[derive(Debug)]
pub struct Broken {
    case: Case,
    found: Found,
}

impl Broken {
    /// The case that found it.
    #[must_use]
    pub const fn case(&self) -> &Case {
        &self.case
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { case: Case { name, rule, .. }, found: Found { what, at } } = self;
        write!(f, "`{name}` failed: {rule}, but {what} ({}, line {})", file(at), at.line())
    }
}

/// Without the folders, which are those of whoever built this crate.
fn file(at: &Location<'static>) -> &'static str {
    at.file().rsplit(['/', '\\']).next().unwrap_or_default()
}

impl Error for Broken {}

/// What was found instead, and by which line.
#[derive(Debug)]
struct Found {
    what: String,
    at: &'static Location<'static>,
}
