//! Receives Asixto's webhooks with warp: `cargo run -p example-warp`.

use std::{process::ExitCode, time::Duration};

use asixto_webhook_warp::{Data, Integer, Number, Receiver, VerifiedEvent, WebhookLayer, webhook};
use example_support::{Error, Handled, diagnostics, environment, listen, run, secrets, stop_signal, store};
use tracing::{info, warn};
use warp::{Filter, http::StatusCode};

async fn hook(handled: Handled, VerifiedEvent(event): VerifiedEvent) -> StatusCode {
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
    StatusCode::OK
}

/// The receiver that the environment describes.
async fn receiver() -> Result<Receiver, Error> {
    let mut receiver = Receiver::builder().secrets(secrets()?).scope("example").diagnostics(diagnostics()?);
    if let Some(environment) = environment()? {
        receiver = receiver.environment(environment);
    }
    Ok(receiver.dedup(store().await?).build()?)
}

#[tokio::main]
async fn main() -> ExitCode {
    run(serve()).await
}

async fn serve() -> Result<(), Error> {
    let (webhooks, handled) = (WebhookLayer::new(&receiver().await?), Handled::default());
    let record = handled.clone();
    let hook = warp::path!("webhooks" / "asixto").and(webhook(webhooks.clone(), |event| hook(record, event)));
    let events = warp::path!("events").and(warp::get()).map(move || warp::reply::json(&handled.entries()));

    let listener = listen()?;
    println!("listening on http://{}/webhooks/asixto", listener.local_addr()?);
    // `warp::serve` would do, but for senders that hold a connection open and never send a request.
    example_support::serve(listener, warp::service(hook.or(events)), stop_signal()).await?;
    // The server has stopped; handlers whose sender is gone may still be at work.
    Ok(webhooks.drain(Duration::from_secs(30)).await?)
}
