//! The steps of deduplication, a statement each.

use core::time::Duration;

use asixto_webhook_core::Held;
use rusqlite::{OptionalExtension, Transaction, params};

use super::{schema::Names, writer::Work};

/// How many ids that are over are removed for each step at most: a step brings one at most, so that they never pile up.
const SWEPT_PER_STEP: usize = 2;

/// How long a claim whose lease is over is kept, in milliseconds: until then a late owner can commit.
const LATE_OWNERS: i64 = 24 * 60 * 60 * 1000;

type Key = [u8; 32];

/// What is asked for. Moments are milliseconds since 1970.
pub(super) enum Step {
    Claim { key: Key, fingerprint: [u8; 32], fence: i64, now: i64, until: i64 },
    Extend { key: Key, fence: i64, until: i64 },
    Commit { key: Key, fence: i64, until: i64 },
    Release { key: Key, fence: i64 },
}

/// What became of it.
pub(super) enum Stepped {
    Fresh,
    InFlight { remaining: Duration },
    Done,
    Conflict,
    Held(Held),
}

/// The statements.
pub(super) struct Dedup {
    claim: String,
    known: String,
    extend: String,
    commit: String,
    release: String,
    sweep: String,
}

impl Dedup {
    pub(super) fn new(names: &Names) -> Self {
        let table = &names.dedup;
        Self {
            claim: format!(
                "INSERT INTO {table} (key, fingerprint, fence, done, until) VALUES (?1, ?2, ?3, 0, ?4)
                 ON CONFLICT (key) DO UPDATE
                 SET fingerprint = excluded.fingerprint, fence = excluded.fence, done = 0, until = excluded.until
                 WHERE {table}.until <= ?5"
            ),
            known: format!("SELECT fingerprint, done, until FROM {table} WHERE key = ?1"),
            extend: format!("UPDATE {table} SET until = ?3 WHERE key = ?1 AND fence = ?2 AND done = 0"),
            // Repeated, it never shortens what was promised.
            commit: format!(
                "UPDATE {table} SET done = 1, until = iif(done, max(until, ?3), ?3) WHERE key = ?1 AND fence = ?2"
            ),
            release: format!("DELETE FROM {table} WHERE key = ?1 AND fence = ?2 AND done = 0"),
            sweep: format!(
                "DELETE FROM {table} WHERE key IN (
                     SELECT key FROM {table} WHERE until <= ?1 AND (done OR until <= ?2) ORDER BY until LIMIT ?3)"
            ),
        }
    }
}

impl Work for Dedup {
    type Step = Step;
    type Done = Stepped;

    fn step(&self, transaction: &Transaction<'_>, step: &Step) -> rusqlite::Result<Stepped> {
        let held = |sql: &str, params: &[&dyn rusqlite::ToSql]| {
            let changed = transaction.prepare_cached(sql)?.execute(params)?;
            Ok(Stepped::Held(if changed == 1 { Held::Yes } else { Held::Lost }))
        };
        match step {
            Step::Claim { key, fingerprint, fence, now, until } => {
                let claimed = params![key, fingerprint, fence, until, now];
                if transaction.prepare_cached(&self.claim)?.execute(claimed)? == 1 {
                    return Ok(Stepped::Fresh);
                }
                self.known(transaction, key, fingerprint, *now)
            }
            Step::Extend { key, fence, until } => held(&self.extend, params![key, fence, until]),
            Step::Commit { key, fence, until } => held(&self.commit, params![key, fence, until]),
            Step::Release { key, fence } => held(&self.release, params![key, fence]),
        }
    }

    fn finish(&self, transaction: &Transaction<'_>, steps: &[&Step]) -> rusqlite::Result<()> {
        // The clock is the callers'; where nobody claims, nothing new comes either.
        let now = steps.iter().filter_map(|step| match step {
            Step::Claim { now, .. } => Some(*now),
            _ => None,
        });
        let Some(now) = now.max() else { return Ok(()) };
        let most = i64::try_from(steps.len() * SWEPT_PER_STEP).unwrap_or(i64::MAX);
        let late = now.saturating_sub(LATE_OWNERS);
        transaction.prepare_cached(&self.sweep)?.execute(params![now, late, most]).map(drop)
    }
}

impl Dedup {
    /// What stands in the way of a claim, in the same transaction.
    fn known(
        &self,
        transaction: &Transaction<'_>,
        key: &Key,
        fingerprint: &[u8; 32],
        now: i64,
    ) -> rusqlite::Result<Stepped> {
        let mut statement = transaction.prepare_cached(&self.known)?;
        let known = statement.query_row([key], |row| Ok((row.get::<_, [u8; 32]>(0)?, row.get(1)?, row.get(2)?)));
        let Some((body, done, until)): Option<(_, bool, i64)> = known.optional()? else {
            return Err(rusqlite::Error::QueryReturnedNoRows);
        };
        Ok(match done {
            false => {
                let remaining = u64::try_from(until.saturating_sub(now)).unwrap_or_default();
                Stepped::InFlight { remaining: Duration::from_millis(remaining) }
            }
            true if body == *fingerprint => Stepped::Done,
            true => Stepped::Conflict,
        })
    }
}
