//! What an example is told, by variables of its environment.

use std::{
    env::{self, VarError},
    net::TcpListener,
    sync::Arc,
};

use asixto_webhook_core::{DedupStore, Environment, Receiver, SecretSet};
use asixto_webhook_store::{MemoryStore, OpenError, PostgresStore, SqliteStore};

use crate::Error;

/// The receiver that the variables describe.
///
/// # Errors
/// Where one of them is missing, or is not what it has to be.
pub async fn receiver() -> Result<Receiver, Error> {
    let mut receiver = Receiver::builder().secrets(secrets()?).scope("example").diagnostics(diagnostics()?);
    if let Some(environment) = environment()? {
        receiver = receiver.environment(environment);
    }
    Ok(receiver.dedup(store().await?).build()?)
}

/// `ASIXTO_WEBHOOK_SECRETS`: one secret, or several with commas between them.
fn secrets() -> Result<SecretSet, Error> {
    const NAME: &str = "ASIXTO_WEBHOOK_SECRETS";
    let issued = variable(NAME)?
        .ok_or_else(|| format!("{NAME} is not set; make one with: export {NAME}=whsec_$(openssl rand -hex 32)"))?;
    let secrets = SecretSet::from_issued(issued.split(',').map(str::trim));
    Ok(secrets.map_err(|error| format!("{NAME}: {error}"))?)
}

/// `ASIXTO_WEBHOOK_DIAGNOSTICS`: whether responses tell the outcome; no, by default.
fn diagnostics() -> Result<bool, Error> {
    match variable("ASIXTO_WEBHOOK_DIAGNOSTICS")?.as_deref() {
        Some("1") => Ok(true),
        Some("0" | "") | None => Ok(false),
        Some(_) => Err("ASIXTO_WEBHOOK_DIAGNOSTICS: expected `1` or `0`, found another text".into()),
    }
}

/// `ASIXTO_WEBHOOK_ENVIRONMENT`: the only one whose events are received; both, by default.
fn environment() -> Result<Option<Environment>, Error> {
    const NAME: &str = "ASIXTO_WEBHOOK_ENVIRONMENT";
    let Some(environment) = variable(NAME)? else { return Ok(None) };
    Ok(Some(environment.parse().map_err(|error| format!("{NAME}: {error}"))?))
}

/// `ASIXTO_WEBHOOK_STORE`: where ids are remembered: in a file as `sqlite:PATH`, in PostgreSQL as `postgres://…`, or in
/// memory, by default.
///
/// # Errors
/// Where there is no such store, or it cannot be opened.
pub async fn store() -> Result<Arc<dyn DedupStore>, Error> {
    const NAME: &str = "ASIXTO_WEBHOOK_STORE";
    let Some(store) = variable(NAME)? else { return Ok(Arc::new(MemoryStore::default())) };
    let failed = |error: OpenError| format!("{NAME}: {error}");
    match store.split_once(':') {
        None if store == "memory" => Ok(Arc::new(MemoryStore::default())),
        Some(("sqlite", path)) => Ok(Arc::new(SqliteStore::open(path).map_err(failed)?)),
        Some(("postgres", _)) => Ok(Arc::new(PostgresStore::connect(&store).await.map_err(failed)?)),
        // What it is may hold a password.
        other => {
            let found = other.map_or(&*store, |(scheme, _)| scheme);
            Err(format!("{NAME}: expected `memory`, `sqlite:PATH` or `postgres://…`, found `{found}`").into())
        }
    }
}

/// `ASIXTO_WEBHOOK_LISTEN`: an address and a port; `127.0.0.1:3000`, by default.
///
/// # Errors
/// Where nothing can listen there.
pub fn listen() -> Result<TcpListener, Error> {
    const NAME: &str = "ASIXTO_WEBHOOK_LISTEN";
    let address = variable(NAME)?.unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let listener = TcpListener::bind(&address).map_err(|error| format!("{NAME}={address}: {error}"))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn variable(name: &str) -> Result<Option<String>, Error> {
    match env::var(name) {
        Ok(value) => Ok(Some(value)),
        Err(VarError::NotPresent) => Ok(None),
        // Its value may be a secret.
        Err(VarError::NotUnicode(_)) => Err(format!("{name}: expected UTF-8, found other bytes").into()),
    }
}
