//! The ids of one machine, in a file.

mod dedup;
mod schema;
mod writer;

use core::{fmt, num::NonZeroUsize, time::Duration};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use asixto_webhook_core::{BoxFuture, Claim, Claimed, Clock, DedupStore, Held, StoreError, SystemClock, Token};

use self::{
    dedup::{Dedup, Step, Stepped},
    schema::Names,
    writer::Writer,
};
use crate::{OpenError, fence::fence, prefix};

/// How many steps may wait for the file. A receiver is then told that the store is unavailable, and its sender to come
/// back: what waits longer would be answered too late anyway.
const QUEUE: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

/// Remembers ids in a file, by SQLite, which is part of this crate: there is no server to run. Clones share it.
///
/// For the processes of one machine. **What it has answered survives a crash** of the process and of the machine: every
/// step is written through to the disk (a write-ahead log, `synchronous=FULL`) before it is answered. Steps that come at
/// the same time share one write, so that a busy receiver pays for one where it would pay for many.
///
/// * Every step is one transaction, or a part of one: of two claims of one id, in whatever processes, one is fresh.
/// * Leases and times to live go by the receiver's clock, and outlive restarts. A clock that is set back makes them last
///   longer, one that is set forward ends them early: keep it right, by NTP.
/// * It never forgets early. An id that is over is as good as absent at once, and removed along with later claims, a few
///   at a time.
/// * A claim whose lease is over stays with its owner until another takes the id: until then a late owner can commit.
/// * A crash between claim and commit leaves a claim, whose lease ends by itself.
/// * About 150 bytes of the file for each id.
///
/// The file lies on a disk of the machine, and not on one of a network: SQLite's locks do not work there.
///
/// ```
/// use asixto_webhook_store::SqliteStore;
///
/// # let folder = std::env::temp_dir().join(format!("sqlite-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("webhooks.db");
/// let store = SqliteStore::open(path)?; // makes the file where there is none
/// # drop(store);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SqliteStore(Arc<Inner>);

struct Inner {
    path: PathBuf,
    clock: Box<dyn Clock>,
    writer: Writer<Dedup>,
}

impl SqliteStore {
    /// The store of this file, which is made where there is none.
    ///
    /// It reads and writes while it opens, as a program does at its start.
    ///
    /// # Errors
    /// Where the file cannot be opened or written, is no database, or was made by a later version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::options().open(path)
    }

    /// A store with settings of its own.
    pub fn options() -> SqliteOptions {
        SqliteOptions { prefix: prefix::DEFAULT.to_owned(), clock: Box::new(SystemClock), queue: QUEUE }
    }

    /// Takes a step, in its turn.
    async fn step(&self, step: Step) -> Result<Stepped, StoreError> {
        self.0.writer.take(step).await
    }
}

impl DedupStore for SqliteStore {
    fn claim<'a>(&'a self, claim: Claim<'a>) -> BoxFuture<'a, Result<Claimed, StoreError>> {
        Box::pin(async move {
            let fence = fence()?;
            let (now, lease) = (self.now(), millis(claim.lease));
            let step = Step::Claim {
                key: *claim.key.as_bytes(),
                fingerprint: *claim.fingerprint.as_bytes(),
                fence,
                now,
                until: now.saturating_add(lease),
            };
            match self.step(step).await? {
                Stepped::Fresh => Ok(Claimed::Fresh(Token::new(*claim.key, fence.cast_unsigned()))),
                Stepped::InFlight { remaining } => Ok(Claimed::InFlight { remaining }),
                Stepped::Done => Ok(Claimed::Done),
                Stepped::Conflict => Ok(Claimed::Conflict),
                Stepped::Held(_) => Err(StoreError::unavailable("expected an answer to a claim, found another")),
            }
        })
    }

    fn extend<'a>(&'a self, token: &'a Token, lease: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        self.settle(|key, fence, now| Step::Extend { key, fence, until: now.saturating_add(millis(lease)) }, token)
    }

    fn commit<'a>(&'a self, token: &'a Token, ttl: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        self.settle(|key, fence, now| Step::Commit { key, fence, until: now.saturating_add(millis(ttl)) }, token)
    }

    fn release<'a>(&'a self, token: &'a Token) -> BoxFuture<'a, Result<Held, StoreError>> {
        self.settle(|key, fence, _| Step::Release { key, fence }, token)
    }
}

impl SqliteStore {
    fn settle<'a>(
        &'a self,
        step: impl FnOnce([u8; 32], i64, i64) -> Step,
        token: &Token,
    ) -> BoxFuture<'a, Result<Held, StoreError>> {
        let step = step(*token.key().as_bytes(), token.fence().cast_signed(), self.now());
        Box::pin(async move {
            match self.step(step).await? {
                Stepped::Held(held) => Ok(held),
                _ => Err(StoreError::unavailable("expected whether the claim holds, found another answer")),
            }
        })
    }

    /// In milliseconds since 1970.
    fn now(&self) -> i64 {
        millis(self.0.clock.now().saturating_since(asixto_webhook_core::UnixTime::from_secs(0)))
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.0.path).field("clock", &self.0.clock).finish_non_exhaustive()
    }
}

/// Settings of a [`SqliteStore`].
#[derive(Debug)]
#[must_use = "nothing is opened until `open`"]
pub struct SqliteOptions {
    prefix: String,
    clock: Box<dyn Clock>,
    queue: NonZeroUsize,
}

impl SqliteOptions {
    /// What the names of the tables begin with, so that they can lie beside others in one file. By default
    /// `asixto_webhook_`. A letter, and then letters, digits and `_`, 40 at most.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Goes by this clock: for tests, which move it by hand.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// How many steps may wait. By default 4096.
    pub fn queue(mut self, steps: NonZeroUsize) -> Self {
        self.queue = steps;
        self
    }

    /// The store of this file, see [`SqliteStore::open`].
    ///
    /// # Errors
    /// As there, and where the prefix is none.
    pub fn open(self, path: impl AsRef<Path>) -> Result<SqliteStore, OpenError> {
        let path = path.as_ref();
        let names = Names::new(&self.prefix)?;
        let connection = schema::open(path, &names)?;
        let writer = Writer::start(connection, Dedup::new(&names), self.queue).map_err(|error| {
            OpenError::of(format!("{}: the thread that writes it cannot be started", path.display()), error)
        })?;
        Ok(SqliteStore(Arc::new(Inner { path: path.to_owned(), clock: self.clock, writer })))
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
