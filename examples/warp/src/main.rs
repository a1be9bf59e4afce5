//! Receives Asixto's webhooks with warp: `cargo run -p example-warp`.

use std::{process::ExitCode, time::Duration};

use asixto_webhook_warp::{Data, VerifiedEvent, WebhookLayer, webhook};
use example_support::{Error, Handled, listen, receiver, run, stop_signal};
use tracing::{info, warn};
use warp::{Filter, http::StatusCode};

async fn hook(handled: Handled, VerifiedEvent(event): VerifiedEvent) -> StatusCode {
    match event.data() {
        Ok(Data::JobSucceeded(job)) => info!(job.job_id, job.operation, "done"),
        // All ten types: examples/axum.
        Ok(_) => info!(kind = event.event_type(), "nothing to do"),
        // Trying again would not help: note it, and acknowledge.
        Err(error) => warn!(id = event.id(), "{error}"),
    }
    handled.record(&event);
    StatusCode::OK
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
