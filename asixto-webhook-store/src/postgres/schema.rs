//! The tables, and how they come about.

use sqlx::{AssertSqlSafe, PgPool, Row};

use crate::OpenError;

/// One step of the schema each, never changed once it is released.
const MIGRATIONS: &[fn(&Names) -> String] = &[|names| {
    let Names { dedup, .. } = names;
    format!(
        "CREATE TABLE {dedup} (
             key bytea PRIMARY KEY,
             fingerprint bytea NOT NULL,
             fence bigint NOT NULL,
             done boolean NOT NULL,
             until timestamptz NOT NULL
         );
         CREATE INDEX {dedup}_until ON {dedup} (until)"
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

/// Brings the tables to the present version, in one transaction that others wait for.
pub(super) async fn migrate(pool: &PgPool, names: &Names) -> Result<(), OpenError> {
    let migrated = async {
        let schema = &names.schema;
        let mut transaction = pool.begin().await?;
        // `CREATE TABLE IF NOT EXISTS` fails where two do it at once.
        let lock = sqlx::query("SELECT pg_advisory_xact_lock(hashtext($1))").bind(schema);
        lock.execute(&mut *transaction).await?;
        let table = format!("CREATE TABLE IF NOT EXISTS {schema} (version integer NOT NULL)");
        sqlx::raw_sql(AssertSqlSafe(table)).execute(&mut *transaction).await?;
        let version = sqlx::query(AssertSqlSafe(format!("SELECT coalesce(max(version), 0) FROM {schema}")));
        let found: i32 = version.fetch_one(&mut *transaction).await?.try_get(0)?;
        for (version, migration) in (1_i32..).zip(MIGRATIONS).skip_while(|(version, _)| *version <= found) {
            sqlx::raw_sql(AssertSqlSafe(migration(names))).execute(&mut *transaction).await?;
            let done = sqlx::query(AssertSqlSafe(format!("INSERT INTO {schema} (version) VALUES ($1)"))).bind(version);
            done.execute(&mut *transaction).await?;
        }
        transaction.commit().await?;
        Ok(found)
    };
    let found = migrated.await.map_err(|error: sqlx::Error| OpenError::of("the tables cannot be made", error))?;
    match usize::try_from(found).is_ok_and(|found| found > MIGRATIONS.len()) {
        true => Err(OpenError::told(format!(
            "expected tables of version {} at most, found {found}: they were made by a later version of this crate",
            MIGRATIONS.len()
        ))),
        false => Ok(()),
    }
}
