//! Receives Asixto's webhooks in a function of AWS Lambda, behind API Gateway, a function URL or a load balancer.
//!
//! What is different there:
//!
//! * **Nothing runs on.** Between two requests the process stands still, and at some time it is gone; there is no
//!   shutdown to drain in. So every response waits for the deliveries that are not settled yet: a handler that takes
//!   longer than the sender waits (10 s) is answered in vain, but it has ended, and the sender's next attempt is a
//!   duplicate. Give the function more time than that: 30 s.
//! * **Nothing is remembered.** Every copy of the function has a memory of its own, and the store in memory knows
//!   nothing of the others' events. Anything but a try takes a store that they share.
//! * **Header lines are counted by whoever makes the event.** API Gateway's HTTP APIs and function URLs join repeated
//!   lines with a comma, which a signature header then shows, and is refused for. REST APIs pass on all lines, which
//!   [`function`] keeps apart. A load balancer does once its target group has multi-value headers; without them it
//!   passes on the last line alone, and nobody can tell.
//! * **Bodies come as text, or in base64**, and are taken out of either. A gateway that changes them, by a mapping
//!   template say, makes every signature fail: use the proxy integration.

use std::{convert::Infallible, time::Duration};

use asixto_webhook_tower::{
    WebhookLayer,
    core::{Data, Event, Receiver},
};
use bytes::Bytes;
use http_body_util::Full;
use lambda_http::{
    Adapter, Body, LambdaEvent, Request, Response, Service,
    http::{self, StatusCode},
    request::LambdaRequest,
    service_fn,
    tower::{Layer, ServiceExt},
};
use serde::Serialize;
use tracing::{error, info, warn};

/// How long a response waits for what is not settled: less than the function's time.
const LEFT_OVER: Duration = Duration::from_secs(15);

async fn hook(request: http::Request<Full<Bytes>>) -> Result<Response<Body>, Infallible> {
    let mut response = Response::default();
    match request.extensions().get::<Event>().map(Event::data) {
        Some(Ok(Data::JobSucceeded(job))) => info!(job.job_id, job.operation, "done"),
        Some(Ok(_)) => info!("nothing to do"),
        // Trying again would not help: note it, and acknowledge.
        Some(Err(error)) => warn!("{error}"),
        // The layer has put it there; without the layer, whatever comes is a failure.
        None => *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR,
    }
    Ok(response)
}

/// What Lambda calls: every request is a delivery, since the gateway has the routes.
pub fn function(
    receiver: &Receiver,
) -> impl Service<LambdaEvent<LambdaRequest>, Response: Serialize, Error = Infallible> + use<> {
    let webhooks = WebhookLayer::new(receiver);
    let hook = webhooks.layer(service_fn(hook));
    let settled = service_fn(move |request: Request| {
        let (hook, webhooks) = (hook.clone(), webhooks.clone());
        async move {
            let response = hook.oneshot(request).await;
            if let Err(error) = webhooks.drain(LEFT_OVER).await {
                // Their claims end with their leases, and the sender comes back for them.
                error!("{error}");
            }
            response
        }
    });
    Adapter::from(settled).map_request(with_every_line)
}

/// B6: `lambda_http` has the one line of `headers` replace those in `multiValueHeaders`, and a repeated signature would
/// be verified as if it had come once.
fn with_every_line(mut event: LambdaEvent<LambdaRequest>) -> LambdaEvent<LambdaRequest> {
    let (one, all) = match &mut event.payload {
        LambdaRequest::ApiGatewayV1(request) => (&mut request.headers, &request.multi_value_headers),
        LambdaRequest::Alb(request) => (&mut request.headers, &request.multi_value_headers),
        _ => return event,
    };
    for name in all.keys() {
        one.remove(name);
    }
    event
}
