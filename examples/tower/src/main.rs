//! Receives Asixto's webhooks with hyper and tower alone: `cargo run -p example-tower`.

use std::{convert::Infallible, process::ExitCode, time::Duration};

use asixto_webhook_tower::{
    WebhookLayer,
    core::{Data, Event},
};
use bytes::Bytes;
use example_support::{Error, Handled, listen, receiver, run, stop_signal};
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
        Ok(Data::JobSucceeded(job)) => info!(job.job_id, job.operation, "done"),
        // All ten types: examples/axum.
        Ok(_) => info!(kind = event.event_type(), "nothing to do"),
        // Trying again would not help: note it, and acknowledge.
        Err(error) => warn!(id = event.id(), "{error}"),
    }
    handled.record(event);
    Ok(empty(StatusCode::OK))
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
