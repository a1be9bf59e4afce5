//! Receives Asixto's webhooks with axum: `cargo run -p example-axum`.

use std::{
    collections::VecDeque,
    env,
    error::Error,
    io::{IsTerminal, stderr},
    net::TcpListener,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use asixto_webhook_axum::{Data, Integer, MemoryStore, Number, Receiver, SecretSet, VerifiedEvent, WebhookLayer};
use axum::{
    Json, Router,
    extract::State,
    routing::{get, post},
};
use axum_server::Handle;
use hyper_util::rt::TokioTimer;
use serde::Serialize;
use tokio::signal;
use tracing::{info, level_filters::LevelFilter, warn};
use tracing_subscriber::EnvFilter;

/// What the handler ran for, newest first: the last thousand, so that it stays small.
type Handled = Arc<Mutex<VecDeque<Entry>>>;

#[derive(Clone, Serialize)]
struct Entry {
    id: String,
    r#type: String,
    created: u64,
    environment: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay_of: Option<String>,
    times: u32,
}

async fn hook(State(handled): State<Handled>, VerifiedEvent(event): VerifiedEvent) {
    match event.data() {
        Ok(Data::JobSucceeded(job)) => {
            info!(job.job_id, credits = job.credits_charged.as_ref().map(Integer::as_str), "done");
        }
        Ok(Data::JobFailed(job)) => warn!(job.job_id, job.error_code, "failed"),
        Ok(Data::JobExpired(job)) => info!(job.job_id, "expired: ask for it again"),
        Ok(Data::CreditsThresholdReached(credits)) => {
            warn!(percent = credits.usage_percent.as_ref().map(Number::as_str), "credits are running out");
        }
        Ok(Data::CreditsExhausted(_)) => warn!("no credits are left: top up"),
        Ok(Data::CreditsSpendingCapReached(_)) => warn!("the spending cap is reached: raise it"),
        Ok(Data::CertificationFinished(run)) => info!(run.server, status = run.status.as_str(), "certified"),
        Ok(Data::WebhookEndpointDisabled(endpoint)) => warn!(endpoint.url, "an endpoint was switched off"),
        Ok(Data::ToolDisabled(tool)) => warn!(tool.server, ?tool.tools, "tools withdrawn"),
        Ok(Data::ConversationHandoffRequested(handoff)) => info!(handoff.job_id, "a person is asked for"),
        Ok(_) => info!(kind = event.event_type(), "an event of a type unknown to this version"),
        // Trying again would not help: note it, and acknowledge.
        Err(error) => warn!(id = event.id(), "{error}"),
    }
    let mut handled = handled.lock().unwrap_or_else(PoisonError::into_inner);
    match handled.iter_mut().find(|entry| entry.id == event.id()) {
        Some(entry) => entry.times += 1,
        None => {
            handled.truncate(999);
            handled.push_front(Entry {
                id: event.id().to_owned(),
                r#type: event.event_type().to_owned(),
                created: event.created().as_secs(),
                environment: event.environment().as_str(),
                replay_of: event.replay_of().map(str::to_owned),
                times: 1,
            });
        }
    }
}

async fn events(State(handled): State<Handled>) -> Json<Vec<Entry>> {
    Json(handled.lock().unwrap_or_else(PoisonError::into_inner).iter().rev().cloned().collect())
}

/// The receiver that the environment describes.
fn receiver() -> Result<Receiver, Box<dyn Error>> {
    let secrets = env::var("ASIXTO_WEBHOOK_SECRETS").map_err(
        |_| "ASIXTO_WEBHOOK_SECRETS is not set; make one with: export ASIXTO_WEBHOOK_SECRETS=whsec_$(openssl rand -hex 32)",
    )?;
    let secrets = SecretSet::from_issued(secrets.split(',').map(str::trim))
        .map_err(|error| format!("ASIXTO_WEBHOOK_SECRETS: {error}"))?;
    let diagnostics = match env::var_os("ASIXTO_WEBHOOK_DIAGNOSTICS").unwrap_or_default().as_encoded_bytes() {
        b"1" => true,
        b"0" | b"" => false,
        _ => return Err("ASIXTO_WEBHOOK_DIAGNOSTICS: expected `1` or `0`, found another text".into()),
    };
    let mut receiver = Receiver::builder().secrets(secrets).scope("example").diagnostics(diagnostics);
    if let Some(environment) = env::var_os("ASIXTO_WEBHOOK_ENVIRONMENT") {
        let environment = environment.to_string_lossy();
        receiver =
            receiver.environment(environment.parse().map_err(|error| format!("ASIXTO_WEBHOOK_ENVIRONMENT: {error}"))?);
    }
    match env::var_os("ASIXTO_WEBHOOK_STORE").unwrap_or("memory".into()).to_string_lossy().as_ref() {
        "memory" => Ok(receiver.dedup(MemoryStore::default()).build()?),
        other => Err(format!("ASIXTO_WEBHOOK_STORE: expected `memory`, found `{other}`").into()),
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let level = EnvFilter::builder().with_default_directive(LevelFilter::INFO.into()).from_env_lossy();
    tracing_subscriber::fmt().with_env_filter(level).with_ansi(stderr().is_terminal()).with_writer(stderr).init();
    let Err(error) = run().await else { return ExitCode::SUCCESS };
    eprintln!("error: {error}");
    ExitCode::from(2)
}

async fn run() -> Result<(), Box<dyn Error>> {
    let webhooks = WebhookLayer::new(&receiver()?);
    let app = Router::new()
        .route("/webhooks/asixto", post(hook).layer(webhooks.clone()))
        .route("/events", get(events))
        .with_state(Handled::default());

    let listen = env::var("ASIXTO_WEBHOOK_LISTEN").unwrap_or_else(|_| "127.0.0.1:3000".to_owned());
    let listener = TcpListener::bind(&listen).map_err(|error| format!("ASIXTO_WEBHOOK_LISTEN={listen}: {error}"))?;
    println!("listening on http://{}/webhooks/asixto", listener.local_addr()?);

    let handle = Handle::new();
    let mut server = axum_server::from_tcp(listener)?.handle(handle.clone());
    // Without these a sender could hold a connection open and never send a request.
    server.http_builder().http1().timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(5));
    server.http_builder().http2().timer(TokioTimer::new()).keep_alive_interval(Duration::from_secs(20));
    let server = server.first_request_timeout(Duration::from_secs(10));
    tokio::spawn(async move {
        stop_signal().await;
        handle.graceful_shutdown(Some(Duration::from_secs(15)));
    });
    server.serve(app.into_make_service()).await?;
    // The server has stopped; handlers whose sender is gone may still be at work.
    Ok(webhooks.drain(Duration::from_secs(30)).await?)
}

/// Waits for ctrl-c, or for what an orchestrator sends.
async fn stop_signal() {
    #[cfg(unix)]
    if let Ok(mut terminate) = signal::unix::signal(signal::unix::SignalKind::terminate()) {
        tokio::select! { _ = terminate.recv() => return, _ = signal::ctrl_c() => return }
    }
    _ = signal::ctrl_c().await;
}
