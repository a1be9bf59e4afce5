//! What is sent for a handler's response, for an error, and where there is neither.
#![cfg(test)]
#![cfg(feature = "memory")]

mod common;

use std::{future::ready, time::Duration};

use actix_web::{
    App, Error, HttpRequest, HttpResponse, ResponseError,
    body::{MessageBody, to_bytes},
    dev::{Service, ServiceResponse},
    error::InternalError,
    http::{StatusCode, header::HeaderMap},
    test::{TestRequest, init_service},
    web,
};
use asixto_webhook_actix::{
    Environment, Outcome, ReceiverBuilder, VerifiedEvent, WebhookMiddleware,
    core::provider::{Provider, StandardWebhooks},
};
use asixto_webhook_conformance::{Kit, Request, http1::Connection};
use common::{PATIENCE, builder, kit, post, secrets, serve, told, webhooks, within};
use testkit::Log;
use tokio::time::{pause, sleep};

const STATUSES: [u16; 9] = [200, 204, 299, 400, 404, 429, 500, 503, 599];
const HARMFUL: [u16; 6] = [300, 301, 302, 304, 307, 410];
/// The places that a response comes from: the handler, its error, and the error of a middleware behind ours.
const PLACES: [&str; 3] = ["/responds", "/fails", "/errs"];

/// The response that a test asks for.
fn wanted(request: &HttpRequest) -> HttpResponse {
    HttpResponse::build(request.headers().get("x-status").unwrap().to_str().unwrap().parse().unwrap())
        .insert_header(("location", "https://elsewhere.example/"))
        .append_header(("set-cookie", "a=1"))
        .append_header(("set-cookie", "b=2"))
        .body("its own words")
}

fn error(request: &HttpRequest) -> Error {
    InternalError::from_response("the error", wanted(request)).into()
}

async fn ok(_: VerifiedEvent) -> HttpResponse {
    HttpResponse::Ok().finish()
}

/// What is sent when `status` comes out of `place`.
async fn sent(receiver: ReceiverBuilder, place: &str, status: u16) -> Sent {
    let webhooks = WebhookMiddleware::new(&receiver.build().unwrap());
    let responds = async |_: VerifiedEvent, request: HttpRequest| wanted(&request);
    let fails = async |_: VerifiedEvent, request: HttpRequest| Err::<HttpResponse, _>(error(&request));
    let app = App::new()
        .service(web::resource("/responds").wrap(webhooks.clone()).route(web::post().to(responds)))
        .service(web::resource("/fails").wrap(webhooks.clone()).route(web::post().to(fails)))
        .service(
            web::resource("/errs")
                .wrap_fn(|request, _| ready(Err::<ServiceResponse, _>(error(request.request()))))
                .wrap(webhooks)
                .route(web::post().to(ok)),
        );
    let request = post(&kit().plain()).uri(place).insert_header(("x-status", status.to_string()));
    answer(&init_service(app).await, request.to_request()).await
}

#[derive(Debug)]
struct Sent {
    status: u16,
    outcome: Option<Outcome>,
    headers: HeaderMap,
    body: web::Bytes,
    /// It came around the middlewares.
    error: bool,
}

/// The response as actix sends it, which makes one of an error.
async fn answer<R, B: MessageBody + 'static>(
    app: &impl Service<R, Response = ServiceResponse<B>, Error = Error>,
    request: R,
) -> Sent {
    let answered = within(app.call(request)).await;
    let error = answered.is_err();
    let response = match answered {
        Ok(response) => response.into_parts().1.map_into_boxed_body(),
        Err(error) => error.error_response(),
    };
    let outcome = response.extensions().get().copied();
    Sent {
        status: response.status().as_u16(),
        outcome,
        headers: response.headers().clone(),
        error,
        body: to_bytes(response.into_body()).await.unwrap(),
    }
}

// The service's response goes out as it is, whichever way it comes, and the event is judged by its status.
#[actix_web::test]
async fn the_services_response() {
    for (place, status) in PLACES.into_iter().flat_map(|place| STATUSES.map(|status| (place, status))) {
        let sent = sent(builder(), place, status).await;
        assert_eq!((sent.status, &sent.body[..]), (status, &b"its own words"[..]), "{place}");
        assert_eq!(sent.headers.get_all("set-cookie").count(), 2, "{place}");
        assert_eq!(sent.headers.len_keys(), 2, "{place}: {:?}", sent.headers);
        let outcome = if status < 300 { Outcome::Processed } else { Outcome::HandlerFailed };
        assert_eq!((sent.outcome, sent.error), (Some(outcome), place == "/errs"), "{place}");
    }
}

// H7: 3xx and 410 become 500, of which nothing of the service's is a part.
#[actix_web::test]
async fn a_harmful_response() {
    for (place, status) in PLACES.into_iter().flat_map(|place| HARMFUL.map(|status| (place, status))) {
        let sent = sent(builder(), place, status).await;
        assert_eq!((sent.status, &sent.body[..], sent.headers.len()), (500, &b""[..], 0), "{place} {status}");
        assert_eq!(sent.outcome, Some(Outcome::HandlerFailed));
    }
}

// H7: unless the user wants them to go out.
#[actix_web::test]
async fn a_harmful_response_that_is_wanted() {
    for (place, status) in PLACES.into_iter().flat_map(|place| HARMFUL.map(|status| (place, status))) {
        let sent = sent(builder().forward_any_status(true), place, status).await;
        assert_eq!((sent.status, &sent.body[..]), (status, &b"its own words"[..]), "{place}");
    }
}

// The outcome is shown where that is asked for, on an error too.
#[actix_web::test]
async fn diagnostics() {
    for (place, status) in PLACES.into_iter().flat_map(|place| [(place, 200), (place, 422), (place, 302)]) {
        let outcome = if status == 200 { "processed" } else { "handler_failed" };
        let sent = sent(builder().diagnostics(true), place, status).await;
        assert_eq!(sent.headers.get("asixto-webhook-outcome").unwrap(), outcome, "{place} {status}");
    }
}

// H8: the answer to a slow handler comes around the middlewares, and says when to come back. The handler runs on.
#[actix_web::test]
async fn a_slow_handler() {
    let webhooks = WebhookMiddleware::new(&builder().build().unwrap());
    let hook = async |_: VerifiedEvent| {
        sleep(Duration::from_secs(12)).await;
        HttpResponse::Ok().finish()
    };
    let resource = web::resource("/hook").wrap(webhooks.clone()).route(web::post().to(hook));
    let app = init_service(App::new().service(resource)).await;
    let delivery = kit().plain();
    pause();
    let slow = answer(&app, post(&delivery).to_request()).await;
    assert_eq!((slow.status, slow.outcome, &slow.body[..]), (503, Some(Outcome::HandlerSlow), &b""[..]));
    assert_eq!((slow.headers.get("retry-after").unwrap().as_bytes(), slow.error), (&b"30"[..], true));
    let copy = answer(&app, post(&delivery).to_request()).await;
    assert_eq!((copy.outcome, copy.error), (Some(Outcome::InFlight), false));
    webhooks.drain(Duration::from_secs(5)).await.unwrap();
    let repeat = answer(&app, post(&delivery).to_request()).await;
    assert_eq!((repeat.outcome, repeat.error), (Some(Outcome::Duplicate), false));
}

// E5: a panic is a 500 without a body, over a connection that goes on; the retry is processed.
#[actix_web::test]
async fn a_panic() {
    let webhooks = webhooks();
    let server = serve!(move || {
        let hook = async |_: VerifiedEvent, request: HttpRequest| {
            assert!(request.query_string() != "panic", "the handler panics, as this test wants it to");
            HttpResponse::Ok().finish()
        };
        App::new().service(web::resource("/hook").wrap(webhooks.clone()).route(web::post().to(hook)))
    });
    let kit = Kit::new("/hook?panic", secrets(), Environment::Live);
    let delivery = kit.plain();
    let mut connection = Connection::open(server.address, PATIENCE).await.unwrap();
    let response = connection.send(&delivery.request()).await.unwrap();
    assert_eq!((told(&response).as_str(), response.body.len()), ("500 handler_failed", 0));
    let (name, value) = delivery.signature();
    let retry = Request::post("/hook").header(name, value).body(delivery.body().clone());
    assert_eq!(told(&connection.send(&retry).await.unwrap()), "200 processed");
    within(server.handle.stop(true)).await;
}

// A1, B7: a refusal says nothing but its status, and is a response like another, which middlewares see.
#[actix_web::test]
async fn refusals() {
    let webhooks = WebhookMiddleware::new(&builder().build().unwrap());
    let resource = web::resource("/hook").wrap(webhooks).route(web::post().to(ok));
    let app = init_service(App::new().service(resource)).await;
    let unsigned = || TestRequest::post().uri("/hook").set_payload("{}");
    for (request, outcome) in [
        (unsigned(), Outcome::MissingHeader),
        (unsigned().insert_header(("asixto-signature", "t=now")), Outcome::MalformedHeader),
        (post(&kit().plain()).set_payload("{}"), Outcome::SignatureMismatch),
    ] {
        let sent = answer(&app, request.to_request()).await;
        assert_eq!((sent.status, sent.outcome, sent.error), (400, Some(outcome), false));
        assert_eq!((sent.headers.len(), &sent.body[..]), (0, &b""[..]));
    }
    let sent = answer(&app, TestRequest::get().uri("/hook").to_request()).await;
    assert_eq!((sent.status, sent.headers.get("allow").unwrap().as_bytes()), (405, &b"POST"[..]));
    assert_eq!(sent.headers.len(), 1);
}

// Without the middleware, or behind that of another sender, the handler does not run, and the log says what to add.
#[actix_web::test]
async fn an_extractor_without_its_middleware() {
    let log = Log::start();
    let other = async |_: VerifiedEvent<StandardWebhooks>| HttpResponse::Ok();
    let app = App::new()
        .service(web::resource("/bare").route(web::post().to(ok)))
        .service(web::resource("/hook").wrap(webhooks()).route(web::post().to(other)));
    let app = init_service(app).await;
    for (path, provider) in [("/bare", "asixto"), ("/hook", StandardWebhooks::NAME)] {
        let sent = answer(&app, post(&kit().plain()).uri(path).to_request()).await;
        assert_eq!((sent.status, &sent.body[..]), (500, &b""[..]));
        let lines = log.lines();
        let line = lines.iter().rfind(|line| line.message().contains("WebhookMiddleware")).unwrap();
        assert_eq!((line.target.as_str(), line.field("path")), ("asixto_webhook", Some(path)));
        let sentence = format!(
            "expected a `WebhookMiddleware` of the provider `{provider}` on this route, found none: \
             add `.wrap(WebhookMiddleware::new(&receiver))` to its resource"
        );
        assert_eq!(line.message(), sentence);
    }
}

// The rejection is there for who asks for it, by the word that the other frameworks have for it.
#[actix_web::test]
async fn a_rejection() {
    let (request, mut payload) = TestRequest::default().to_http_parts();
    let extracted = <VerifiedEvent as actix_web::FromRequest>::from_request(&request, &mut payload).await;
    let rejection = extracted.unwrap_err();
    assert_eq!((rejection.code(), rejection.status_code()), ("no_layer", StatusCode::INTERNAL_SERVER_ERROR));
}
