//! Servers for tests: started from what the machine has, on free ports and in folders of their own, and stopped again.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "made for tests, which assert by panicking")]

mod folder;
mod postgres;

pub use postgres::Postgres;

use std::{
    env,
    net::TcpListener,
    path::PathBuf,
    time::{Duration, Instant},
};

/// Where it is set, a server that is not installed is a failure.
const REQUIRE_ALL: &str = "ASIXTO_WEBHOOK_REQUIRE_ALL";

/// How long a server may take to begin, or to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program of this machine, wherever its package puts it. `None` where there is none, and that is no failure.
fn installed(program: &str, elsewhere: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(elsewhere.iter().map(PathBuf::from));
    let found = folders.map(|folder| folder.join(program)).find(|file| file.is_file());
    if found.is_none() {
        assert!(env::var_os(REQUIRE_ALL).is_none(), "{REQUIRE_ALL} is set, and there is no {program}");
        eprintln!("SKIPPED: there is no {program}, so that what takes it was not tried");
    }
    found
}

/// A port that nobody listens on.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Awaits a condition.
fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "never came: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
