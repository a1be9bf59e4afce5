//! How an example begins and ends.

use std::{
    io::{IsTerminal, stderr},
    process::ExitCode,
};

use tokio::signal;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;

use crate::Error;

/// Sets up the log, runs a service to its end, and says what ended it, where that was an error.
pub async fn run(service: impl Future<Output = Result<(), Error>>) -> ExitCode {
    let level = EnvFilter::builder().with_default_directive(LevelFilter::INFO.into()).from_env_lossy();
    tracing_subscriber::fmt().with_env_filter(level).with_ansi(stderr().is_terminal()).with_writer(stderr).init();
    let Err(error) = service.await else { return ExitCode::SUCCESS };
    eprintln!("error: {error}");
    ExitCode::from(2)
}

/// Waits for ctrl-c, or for what an orchestrator sends.
pub async fn stop_signal() {
    #[cfg(unix)]
    if let Ok(mut terminate) = signal::unix::signal(signal::unix::SignalKind::terminate()) {
        tokio::select! { _ = terminate.recv() => return, _ = signal::ctrl_c() => return }
    }
    _ = signal::ctrl_c().await;
}
