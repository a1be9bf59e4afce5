//! Receives from four kinds of senders on one server: `cargo run -p example-senders`.

use std::{
    env,
    error::Error,
    io::{IsTerminal, stderr},
    net::TcpListener,
    process::ExitCode,
    time::Duration,
};

use axum_server::Handle;
use example_senders::Senders;
use hyper_util::rt::TokioTimer;
use tokio::signal;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;

#[tokio::main]
async fn main() -> ExitCode {
    let level = EnvFilter::builder().with_default_directive(LevelFilter::INFO.into()).from_env_lossy();
    tracing_subscriber::fmt().with_env_filter(level).with_ansi(stderr().is_terminal()).with_writer(stderr).init();
    let Err(error) = run().await else { return ExitCode::SUCCESS };
    eprintln!("error: {error}");
    ExitCode::from(2)
}

async fn run() -> Result<(), Box<dyn Error>> {
    let senders = Senders::new(|name| env::var(name).ok())?;
    let listen = env::var("ASIXTO_WEBHOOK_LISTEN").unwrap_or_else(|_| "127.0.0.1:3000".to_owned());
    let listener = TcpListener::bind(&listen).map_err(|error| format!("ASIXTO_WEBHOOK_LISTEN={listen}: {error}"))?;
    println!("listening on http://{}/", listener.local_addr()?);
    let handle = Handle::new();
    let mut server = axum_server::from_tcp(listener)?.handle(handle.clone());
    // Without it a sender could hold a connection open and never send a request.
    server.http_builder().http1().timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(5));
    let server = server.first_request_timeout(Duration::from_secs(10));
    tokio::spawn(async move {
        // Where there is no such signal to wait for, the server runs on.
        if signal::ctrl_c().await.is_ok() {
            handle.graceful_shutdown(Some(Duration::from_secs(15)));
        }
    });
    server.serve(senders.router().into_make_service()).await?;
    senders.drain().await
}
