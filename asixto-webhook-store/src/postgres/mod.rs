//! The ids of many machines, in PostgreSQL.

mod schema;

use core::{
    fmt,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};
use std::{error::Error, sync::Arc};

use asixto_webhook_core::{BoxFuture, Claim, Claimed, DedupStore, Held, StoreError, Token};
use sqlx::{AssertSqlSafe, PgPool, Row, postgres::PgPoolOptions};

use self::schema::Names;
use crate::{OpenError, fence::fence, prefix};

/// How long a connection is waited for: less than a receiver waits for a step, so that its error says what was missing.
const CONNECTING: Duration = Duration::from_millis(1500);

/// After how many claims ids that are over are removed, and how many for each.
const SWEEP_AFTER: u32 = 32;
const SWEPT_PER_CLAIM: u32 = 2;

/// A thousand years, in milliseconds: as long as any lease or time to live.
const LONGEST: i64 = 1000 * 366 * 24 * 60 * 60 * 1000;

/// Remembers ids in PostgreSQL, for all processes that share it. Clones share the pool of connections.
///
/// * Every step is one statement, and a transaction of its own: of two claims of one id exactly one is fresh, and no
///   transaction is left open, whoever stops waiting.
/// * Leases and times to live go by the server's clock, since those of several machines drift apart.
/// * It never forgets early. An id that is over is as good as absent at once, and removed along with later claims.
/// * A claim whose lease is over stays with its owner until another takes the id: until then a late owner can commit.
/// * What it has answered is as durable as the server's settings make it: with `synchronous_commit` off, a crash of the
///   server forgets the last moments, and what was done in them is done again.
/// * The server down, or not answering, is an error of each step, and never "seen before"; connections are made anew when
///   it is back. A claim whose answer was lost on the way ends with its lease.
///
/// It prepares statements. Behind `PgBouncer` in the mode `transaction` that takes a version from 1.21 on.
///
/// ```no_run
/// use asixto_webhook_store::PostgresStore;
///
/// # async fn open() -> Result<(), Box<dyn std::error::Error>> {
/// let store = PostgresStore::connect("postgres://receiver@localhost/webhooks").await?; // makes its table
/// # drop(store);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PostgresStore(Arc<Inner>);

struct Inner {
    pool: PgPool,
    claims: AtomicU32,
    claim: String,
    extend: String,
    commit: String,
    release: String,
    sweep: String,
}

impl PostgresStore {
    /// A store with connections of its own, ten at most.
    ///
    /// # Errors
    /// Where the URL is none, the server cannot be reached, its table cannot be made, or was made by a later version.
    pub async fn connect(url: &str) -> Result<Self, OpenError> {
        let pool = PgPoolOptions::new().acquire_timeout(CONNECTING).connect(url).await;
        // The error names the host, and nothing else of the URL.
        let pool = pool.map_err(|error| OpenError::of("PostgreSQL cannot be reached", error))?;
        Self::from_pool(pool).await
    }

    /// A store with a pool that the service has already. Its `acquire_timeout` bounds how long a step waits for a
    /// connection.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn from_pool(pool: PgPool) -> Result<Self, OpenError> {
        Self::with_prefix(pool, prefix::DEFAULT).await
    }

    /// As [`from_pool`](Self::from_pool), with another prefix for the names of its tables: a letter, and then letters,
    /// digits and `_`, 40 at most.
    ///
    /// # Errors
    /// As there, and where the prefix is none.
    pub async fn with_prefix(pool: PgPool, prefix: &str) -> Result<Self, OpenError> {
        let names = Names::new(prefix)?;
        schema::migrate(&pool, &names).await?;
        let table = &names.dedup;
        let kept = |column: &str| format!("CASE WHEN t.until <= now() THEN excluded.{column} ELSE t.{column} END");
        Ok(Self(Arc::new(Inner {
            // Whoever waits for another's claim sees what that has written: what is returned is the row as it stands.
            claim: format!(
                "INSERT INTO {table} AS t (key, fingerprint, fence, done, until)
                 VALUES ($1, $2, $3, false, now() + $4 * interval '1 millisecond')
                 ON CONFLICT (key) DO UPDATE SET fingerprint = {}, fence = {}, done = {}, until = {}
                 RETURNING fence = $3, done, fingerprint = $2,
                     ceil(extract(epoch FROM until - clock_timestamp()) * 1000)::bigint",
                kept("fingerprint"),
                kept("fence"),
                kept("done"),
                kept("until"),
            ),
            extend: format!(
                "UPDATE {table} SET until = now() + $3 * interval '1 millisecond'
                 WHERE key = $1 AND fence = $2 AND NOT done"
            ),
            // Repeated, it never shortens what was promised.
            commit: format!(
                "UPDATE {table} SET done = true, until = CASE WHEN done
                     THEN greatest(until, now() + $3 * interval '1 millisecond')
                     ELSE now() + $3 * interval '1 millisecond' END
                 WHERE key = $1 AND fence = $2"
            ),
            release: format!("DELETE FROM {table} WHERE key = $1 AND fence = $2 AND NOT done"),
            // A late owner has a day to come back.
            sweep: format!(
                "DELETE FROM {table} WHERE key IN (
                     SELECT key FROM {table}
                     WHERE until <= now() AND (done OR until <= now() - interval '1 day')
                     ORDER BY until LIMIT $1 FOR UPDATE SKIP LOCKED)"
            ),
            claims: AtomicU32::new(0),
            pool,
        })))
    }

    async fn settle(&self, sql: &str, token: &Token, millis: Option<i64>) -> Result<Held, StoreError> {
        let query = sqlx::query(AssertSqlSafe(sql.to_owned()));
        let query = query.bind(token.key().as_bytes().as_slice()).bind(token.fence().cast_signed());
        let query = match millis {
            Some(millis) => query.bind(millis),
            None => query,
        };
        let done = query.execute(&self.0.pool).await.map_err(failed)?;
        Ok(if done.rows_affected() == 1 { Held::Yes } else { Held::Lost })
    }

    /// Removes ids that are over, from time to time. Where that fails, the next one does.
    async fn sweep(&self) {
        let claims = self.0.claims.fetch_add(1, Ordering::Relaxed);
        if claims % SWEEP_AFTER == SWEEP_AFTER - 1 {
            let query = sqlx::query(AssertSqlSafe(self.0.sweep.clone()));
            _ = query.bind(i64::from(SWEEP_AFTER * SWEPT_PER_CLAIM)).execute(&self.0.pool).await;
        }
    }
}

impl DedupStore for PostgresStore {
    fn claim<'a>(&'a self, claim: Claim<'a>) -> BoxFuture<'a, Result<Claimed, StoreError>> {
        Box::pin(async move {
            let fence = fence()?;
            let row = sqlx::query(AssertSqlSafe(self.0.claim.clone()))
                .bind(claim.key.as_bytes().as_slice())
                .bind(claim.fingerprint.as_bytes().as_slice())
                .bind(fence)
                .bind(millis(claim.lease))
                .fetch_one(&self.0.pool)
                .await
                .map_err(failed)?;
            let read = || Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?));
            let (own, done, same, remaining): (bool, bool, bool, i64) = read().map_err(failed)?;
            let claimed = match (own, done, same) {
                (true, ..) => Claimed::Fresh(Token::new(*claim.key, fence.cast_unsigned())),
                (_, true, true) => Claimed::Done,
                (_, true, false) => Claimed::Conflict,
                (_, false, _) => {
                    let remaining = u64::try_from(remaining).unwrap_or_default();
                    Claimed::InFlight { remaining: Duration::from_millis(remaining) }
                }
            };
            self.sweep().await;
            Ok(claimed)
        })
    }

    fn extend<'a>(&'a self, token: &'a Token, lease: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        Box::pin(self.settle(&self.0.extend, token, Some(millis(lease))))
    }

    fn commit<'a>(&'a self, token: &'a Token, ttl: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        Box::pin(self.settle(&self.0.commit, token, Some(millis(ttl))))
    }

    fn release<'a>(&'a self, token: &'a Token) -> BoxFuture<'a, Result<Held, StoreError>> {
        Box::pin(self.settle(&self.0.release, token, None))
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The pool would show the user of the URL.
        f.debug_struct("PostgresStore").field("connections", &self.0.pool.size()).finish_non_exhaustive()
    }
}

fn failed(error: sqlx::Error) -> StoreError {
    StoreError::unavailable(Box::<dyn Error + Send + Sync>::from(error))
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).map_or(LONGEST, |millis| millis.min(LONGEST))
}
