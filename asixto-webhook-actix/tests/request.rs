//! What the receiver and the handler see of a request.
#![cfg(test)]
#![cfg(feature = "memory")]

mod common;

use std::rc::Rc;

use actix_web::{
    App, HttpResponse, Responder,
    middleware::Compress,
    rt,
    test::{call_service, init_service, read_body},
    web,
};
use asixto_webhook_actix::{Environment, MemoryStore, Receiver, VerifiedEvent, WebhookMiddleware, lookup};
use asixto_webhook_conformance::{Kit, http1, http2};
use common::{Gate, PATIENCE, kit, post, secrets, serve, told, webhooks, within};

async fn ok(_: VerifiedEvent) -> impl Responder {
    HttpResponse::Ok()
}

// The body is there for the next extractor, whichever it is, and as it came.
#[actix_web::test]
async fn the_body_is_given_back() {
    async fn both(VerifiedEvent(event): VerifiedEvent, body: web::Bytes) -> web::Bytes {
        assert_eq!(event.body(), &body);
        body
    }
    async fn stream(mut body: web::Payload, _: VerifiedEvent) -> impl Responder {
        let mut all = Vec::new();
        while let Some(chunk) =
            std::future::poll_fn(|cx| futures_core::Stream::poll_next(std::pin::Pin::new(&mut body), cx)).await
        {
            all.extend_from_slice(&chunk.unwrap());
        }
        all
    }
    for route in [web::post().to(both), web::post().to(stream)] {
        let app = init_service(App::new().service(web::resource("/hook").wrap(webhooks()).route(route))).await;
        let delivery = kit().plain();
        let response = call_service(&app, post(&delivery).to_request()).await;
        assert_eq!(response.status(), 200);
        assert_eq!(read_body(response).await, delivery.body());
    }
}

// B6: actix keeps repeated lines apart, and so does the middleware.
#[actix_web::test]
async fn repeated_headers() {
    let app = init_service(App::new().service(web::resource("/hook").wrap(webhooks()).route(web::post().to(ok)))).await;
    let delivery = kit().plain();
    let (name, value) = delivery.signature();
    for name in [name.to_lowercase(), name.to_uppercase()] {
        let response =
            call_service(&app, post(&delivery).append_header((name.as_str(), value.clone())).to_request()).await;
        assert_eq!(response.status(), 400);
        assert_eq!(response.headers().get("asixto-webhook-outcome").unwrap(), "repeated_header");
    }
}

// B10: the bytes on the wire are verified, whatever is said of their coding, and wherever `Compress` is.
#[actix_web::test]
async fn beside_compression() {
    let server = serve!(|| {
        let inside = web::resource("/inside").wrap(Compress::default()).wrap(webhooks()).route(web::post().to(echo));
        let outside = web::resource("/hook").wrap(webhooks()).wrap(Compress::default()).route(web::post().to(echo));
        App::new().service(inside).service(outside)
    });
    async fn echo(VerifiedEvent(event): VerifiedEvent) -> web::Bytes {
        event.body().clone()
    }
    for path in ["/inside", "/hook"] {
        let kit = Kit::new(path, secrets(), Environment::Live);
        let request = kit.plain().request().header("content-encoding", "gzip").header("accept-encoding", "gzip");
        let response = http1::send(server.address, &request, PATIENCE).await.unwrap();
        assert_eq!(told(&response), "200 processed");
        assert_eq!(response.header("content-encoding"), Some("gzip"));
    }
    within(server.handle.stop(true)).await;
}

// H4: a length that is announced over the limit is refused before the body comes, in HTTP/2 too.
#[actix_web::test]
async fn an_announced_length() {
    let server = serve!(|| App::new().service(web::resource("/hook").wrap(webhooks()).route(web::post().to(ok))));
    let (kit, limit) = (kit(), 263_168);
    let over = kit.plain().with_body(vec![b' '; limit + 1]).request();
    let early = over.clone().stop_after(0);
    assert_eq!(told(&http1::send(server.address, &early, PATIENCE).await.unwrap()), "413 body_too_large");
    assert_eq!(told(&http2::send(server.address, &early, PATIENCE).await.unwrap()), "413 body_too_large");
    let delivery = kit.plain();
    assert_eq!(told(&http2::send(server.address, &delivery.request(), PATIENCE).await.unwrap()), "200 processed");
    assert_eq!(told(&server.send(&delivery).await), "200 duplicate");
    within(server.handle.stop(true)).await;
}

// E5: the workers of a server are one receiver: what one is about, another leaves alone.
#[actix_web::test]
async fn two_workers() {
    async fn hook(VerifiedEvent(event): VerifiedEvent, gate: web::Data<Gate>) -> impl Responder {
        gate.pass(&event).await;
        format!("{:?}", std::thread::current().id())
    }
    let (gate, webhooks) = (Gate::new(), webhooks());
    let data = web::Data::new(gate.clone());
    let server = serve!(
        move || App::new()
            .app_data(data.clone())
            .service(web::resource("/hook").wrap(webhooks.clone()).route(web::post().to(hook))),
        |server| server.workers(2)
    );
    let kit = kit();
    let deliveries = [kit.plain(), kit.plain()];
    // Connections are dealt out in turn, so that these two meet different workers.
    let sending = deliveries.clone().map(|delivery| {
        let (address, request) = (server.address, delivery.request());
        rt::spawn(async move { http1::send(address, &request, PATIENCE).await.unwrap() })
    });
    gate.begun().await;
    gate.begun().await;
    for delivery in &deliveries {
        assert_eq!(told(&server.send(delivery).await), "503 in_flight");
        assert_eq!(told(&server.send(delivery).await), "503 in_flight");
    }
    gate.open();
    gate.open();
    let mut threads = Vec::new();
    for sending in sending {
        let response = within(sending).await.unwrap();
        assert_eq!(told(&response), "200 processed");
        threads.push(response.body);
    }
    assert_ne!(threads[0], threads[1]);
    for delivery in &deliveries {
        assert_eq!(told(&server.send(delivery).await), "200 duplicate");
        assert_eq!(told(&server.send(delivery).await), "200 duplicate");
    }
    within(server.handle.stop(true)).await;
}

// A handler that stays on its thread across its awaits.
#[actix_web::test]
async fn a_handler_that_is_not_send() {
    async fn hook(_: VerifiedEvent, request: actix_web::HttpRequest) -> String {
        let kept = Rc::new(request.path().to_owned());
        rt::task::yield_now().await;
        kept.to_string()
    }
    let server = serve!(|| App::new().service(web::resource("/hook").wrap(webhooks()).route(web::post().to(hook))));
    let response = server.send(&kit().plain()).await;
    assert_eq!((told(&response).as_str(), &response.body[..]), ("200 processed", &b"/hook"[..]));
    within(server.handle.stop(true)).await;
}

// Routing goes on behind the middleware, which takes the request for itself: around a scope, and around an app.
#[actix_web::test]
async fn around_a_router() {
    async fn name(_: VerifiedEvent, name: web::Path<String>) -> String {
        name.into_inner()
    }
    let scope = web::scope("").wrap(webhooks()).app_data(web::Data::new(1)).route("/{name}", web::post().to(name));
    let response =
        call_service(&init_service(App::new().service(scope)).await, post(&kit().plain()).to_request()).await;
    assert_eq!(read_body(response).await, "hook");
    let app = init_service(App::new().wrap(webhooks()).route("/{name}", web::post().to(name))).await;
    assert_eq!(read_body(call_service(&app, post(&kit().plain()).to_request()).await).await, "hook");
}

// One route for many tenants: the scope is of the request, and a name that nobody has is refused like a forgery.
#[actix_web::test]
async fn scopes() {
    async fn scope(VerifiedEvent(event): VerifiedEvent) -> String {
        event.scope().to_owned()
    }
    let receiver = Receiver::builder()
        .secrets(lookup(async |tenant: String| Ok((tenant != "nobody").then(secrets))))
        .dedup(MemoryStore::default());
    let webhooks = WebhookMiddleware::new(&receiver.diagnostics(true).build().unwrap())
        .scope_from(|request| {
            assert_ne!(request.path(), "/hooks/panic", "the function panics, as this test wants it to");
            request.match_info().query("tenant").to_owned()
        })
        .unwrap();
    let hook = web::resource("/hooks/{tenant}").wrap(webhooks).route(web::post().to(scope));
    let app = init_service(App::new().service(hook)).await;
    let delivery = kit().plain();
    for (tenant, status, body) in
        [("a", 200, "a"), ("b", 200, "b"), ("a", 200, ""), ("nobody", 400, ""), ("panic", 500, "")]
    {
        let request = post(&delivery).uri(&format!("/hooks/{tenant}")).to_request();
        let response = call_service(&app, request).await;
        assert_eq!(response.status(), status, "{tenant}");
        assert_eq!(read_body(response).await, body, "{tenant}");
    }
    assert!(common::webhooks().scope_from(|_| String::new()).is_err());
}

// One value serves all workers.
#[test]
fn types() {
    fn shared<T: Clone + Send + Sync + std::fmt::Debug + 'static>(_: &T) {}
    shared(&webhooks());
}
