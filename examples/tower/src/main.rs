//! Receives Asixto's webhooks with hyper and tower alone: `cargo run -p example-tower`.

use std::{convert::Infallible, process::ExitCode, time::Duration};

use asixto_webhook_tower::{
    WebhookLayer,
    core::{Data, Event, Integer, Number, Receiver},
};
use bytes::Bytes;
use example_support::{Error, Handled, diagnostics, environment, listen, run, secrets, stop_signal, store};
use http::{HeaderValue, Method, Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::Full;
use hyper::body::Incoming;
use tower::{Layer, Service, ServiceExt, service_fn};
use tracing::{info, warn};

type Reply = Response<Full<Bytes>>;

async fn hook(handled: Handled, request: Request<Full<Bytes>>) -> Result<Reply, Infallible> {
    // The layer has put it there; without the layer, whatever comes is a failure.
    let Some(event) = request.extensions().get::<Event>() else { return Ok(empty(StatusCode::INTERNAL_SERVER_ERROR)) };
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
    handled.record(event);
    Ok(empty(StatusCode::OK))
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
    let hook = webhooks.layer(service_fn(move |request| hook(record.clone(), request)));
    let routes = service_fn(move |request: Request<Incoming>| route(hook.clone(), handled.clone(), request));

    let listener = listen()?;
    println!("listening on http://{}/webhooks/asixto", listener.local_addr()?);
    example_support::serve(listener, routes, stop_signal()).await?;
    // The server has stopped; handlers whose sender is gone may still be at work.
    Ok(webhooks.drain(Duration::from_secs(30)).await?)
}

async fn route(
    hook: impl Service<Request<Incoming>, Response = Reply, Error = Infallible>,
    handled: Handled,
    request: Request<Incoming>,
) -> Result<Reply, Infallible> {
    match (request.method(), request.uri().path()) {
        // Any method: the layer is the one to refuse it.
        (_, "/webhooks/asixto") => hook.oneshot(request).await,
        (&Method::GET, "/events") => Ok(events(&handled)),
        _ => Ok(empty(StatusCode::NOT_FOUND)),
    }
}

/// What the handler ran for.
fn events(handled: &Handled) -> Reply {
    let Ok(json) = serde_json::to_vec(&handled.entries()) else { return empty(StatusCode::INTERNAL_SERVER_ERROR) };
    let mut response = Response::new(json.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn empty(status: StatusCode) -> Reply {
    let mut response = Response::default();
    *response.status_mut() = status;
    response
}
