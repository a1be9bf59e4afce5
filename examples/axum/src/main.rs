//! Receives Asixto's webhooks with axum: `cargo run -p example-axum`.

use std::{process::ExitCode, time::Duration};

use asixto_webhook_axum::{Data, Integer, Number, VerifiedEvent, WebhookLayer};
use axum::{
    Json, Router,
    extract::State,
    routing::{get, post},
};
use axum_server::Handle;
use example_support::{Entry, Error, Handled, listen, receiver, run, stop_signal};
use hyper_util::rt::TokioTimer;
use tracing::{info, warn};

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
    handled.record(&event);
}

/// What the handler ran for.
async fn events(State(handled): State<Handled>) -> Json<Vec<Entry>> {
    Json(handled.entries())
}

#[tokio::main]
async fn main() -> ExitCode {
    run(serve()).await
}

async fn serve() -> Result<(), Error> {
    let webhooks = WebhookLayer::new(&receiver().await?);
    let app = Router::new()
        .route("/webhooks/asixto", post(hook).layer(webhooks.clone()))
        .route("/events", get(events))
        .with_state(Handled::default());

    let listener = listen()?;
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
