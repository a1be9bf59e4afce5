//! The file, and the tables in it.

use std::{path::Path, time::Duration};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::OpenError;

/// How long a step waits for another process to have written.
const BUSY: Duration = Duration::from_secs(1);

/// How long the opening does: several processes may begin at once, and one makes the tables.
const OPENING: Duration = Duration::from_secs(10);

/// One step of the schema each, never changed once it is released.
const MIGRATIONS: &[fn(&Names) -> String] = &[|names| {
    let Names { dedup, .. } = names;
    // Without a row id the key is the table: one tree to write to.
    format!(
        "CREATE TABLE {dedup} (
             key BLOB PRIMARY KEY NOT NULL,
             fingerprint BLOB NOT NULL,
             fence INTEGER NOT NULL,
             done INTEGER NOT NULL,
             until INTEGER NOT NULL
         ) WITHOUT ROWID, STRICT;
         CREATE INDEX {dedup}_until ON {dedup} (until);"
    )
}];

/// The tables of one prefix.
#[derive(Debug)]
pub(super) struct Names {
    schema: String,
    pub(super) dedup: String,
}

impl Names {
    pub(super) fn new(prefix: &str) -> Result<Self, OpenError> {
        crate::prefix::check(prefix)?;
        Ok(Self { schema: format!("{prefix}schema"), dedup: format!("{prefix}dedup") })
    }
}

/// Opens the file, and makes or completes the tables.
pub(super) fn open(path: &Path, names: &Names) -> Result<Connection, OpenError> {
    if path.as_os_str().is_empty() || path == Path::new(":memory:") {
        return Err(OpenError::told(
            "expected the path of a file, found a database in memory, which forgets: `MemoryStore` is faster at that",
        ));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags).and_then(|mut connection| {
        connection.busy_timeout(OPENING)?;
        // Written through before it is answered; readers do not wait for whoever writes.
        let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        let version = migrate(&mut connection, names)?;
        connection.busy_timeout(BUSY)?;
        Ok((connection, mode, version))
    });
    let (connection, mode, version) =
        opened.map_err(|error| OpenError::of(format!("{}: {}", path.display(), what(&error)), error))?;
    if mode != "wal" {
        return Err(OpenError::told(format!(
            "{}: expected a file that can have a write-ahead log, found journal mode `{mode}`: \
             use a disk of this machine",
            path.display()
        )));
    }
    match version as usize > MIGRATIONS.len() {
        true => Err(OpenError::told(format!(
            "{}: expected tables of version {} at most, found {version}: they were made by a later version of this crate",
            path.display(),
            MIGRATIONS.len()
        ))),
        false => Ok(connection),
    }
}

/// Brings the tables to the present version, in one transaction; gives the version that was there.
fn migrate(connection: &mut Connection, names: &Names) -> rusqlite::Result<u32> {
    let schema = &names.schema;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(&format!("CREATE TABLE IF NOT EXISTS {schema} (version INTEGER NOT NULL) STRICT"))?;
    let sql = format!("SELECT coalesce(max(version), 0) FROM {schema}");
    let found: u32 = transaction.query_row(&sql, [], |row| row.get(0))?;
    for (version, migration) in (1..).zip(MIGRATIONS).skip_while(|(version, _)| *version <= found) {
        transaction.execute_batch(&migration(names))?;
        transaction.execute(&format!("INSERT INTO {schema} (version) VALUES (?1)"), [version])?;
    }
    transaction.commit()?;
    Ok(found)
}

fn what(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => "expected a database of SQLite, found another file",
        Some(ErrorCode::ReadOnly) => "expected a file that can be written, found one that cannot",
        Some(ErrorCode::CannotOpen) => "expected a file, or a folder in which one can be made",
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "another process has it locked",
        _ => "it cannot be opened",
    }
}
