//! A sender that hangs up, and a server that is told to stop: a handler that has begun runs to its end.
#![cfg(test)]
#![cfg(feature = "memory")]

mod common;

use actix_web::{
    App, HttpResponse,
    dev::Service,
    rt::{self, net::TcpStream},
    web,
};
use asixto_webhook_actix::{Outcome, VerifiedEvent, WebhookMiddleware};
use asixto_webhook_conformance::{
    Request,
    http1::{self, Connection},
    http2,
};
use common::{Gate, PATIENCE, Server, kit, serve, told, webhooks, within};

async fn hook(VerifiedEvent(event): VerifiedEvent, gate: web::Data<Gate>) -> HttpResponse {
    gate.pass(&event).await;
    HttpResponse::Ok().finish()
}

/// A server that drops a request when its sender hangs up, which actix does at once only if it is asked to.
fn server(webhooks: &WebhookMiddleware, gate: &Gate) -> Server {
    let (webhooks, gate) = (webhooks.clone(), gate.clone());
    serve!(
        move || {
            let watch = gate.clone();
            let hook = web::resource("/hook").wrap(webhooks.clone()).route(web::post().to(hook));
            App::new().app_data(web::Data::new(gate.clone())).service(hook).wrap_fn(move |request, service| {
                let (guard, watch, response) = (watch.guard(), watch.clone(), service.call(request));
                async move {
                    let response = response.await?;
                    watch.note(response.response().extensions().get::<Outcome>());
                    drop(guard);
                    Ok(response)
                }
            })
        },
        |server| server.h1_allow_half_closed(false)
    )
}

/// Sends `request` as far as it goes, waits for its handler, and hangs up.
async fn abandon(server: &Server, gate: &Gate, request: &Request) {
    let mut connection = Connection::open(server.address, PATIENCE).await.unwrap();
    connection.start(request).await.unwrap();
    gate.begun().await;
    drop(connection);
    gate.dropped().await;
}

// E5: actix drops the request; the handler ends all the same, and its event is done.
#[actix_web::test]
async fn while_the_handler_runs() {
    let (webhooks, gate, kit) = (webhooks(), Gate::new(), kit());
    let server = server(&webhooks, &gate);
    let delivery = kit.plain();
    abandon(&server, &gate, &delivery.request()).await;
    assert_eq!((gate.outcomes(), gate.ended()), (vec![], vec![]));
    assert_eq!(told(&server.send(&delivery).await), "503 in_flight");

    gate.open();
    webhooks.drain(PATIENCE).await.unwrap();
    assert_eq!(gate.ended(), [delivery.id()]);
    assert_eq!(told(&server.send(&delivery).await), "200 duplicate");
    within(server.handle.stop(true)).await;
}

// E5: over HTTP/2 too, where actix lets the request go on by itself.
#[actix_web::test]
async fn over_http_2() {
    let (webhooks, gate, kit) = (webhooks(), Gate::new(), kit());
    let server = server(&webhooks, &gate);
    let (address, delivery) = (server.address, kit.plain());
    let request = delivery.request();
    let sending = rt::spawn(async move { http2::send(address, &request, PATIENCE).await });
    gate.begun().await;
    sending.abort();
    assert!(within(sending).await.unwrap_err().is_cancelled());
    gate.open();
    webhooks.drain(PATIENCE).await.unwrap();
    gate.dropped().await;
    assert_eq!((gate.outcomes(), gate.ended()), (vec![Outcome::Processed], vec![delivery.id().to_owned()]));
    within(server.handle.stop(true)).await;
}

// E5: nothing has been claimed by a delivery whose body breaks off.
#[actix_web::test]
async fn in_the_middle_of_the_body() {
    let (gate, kit) = (Gate::new(), kit());
    let server = server(&webhooks(), &gate);
    let delivery = kit.plain();
    let mut connection = Connection::open(server.address, PATIENCE).await.unwrap();
    connection.start(&delivery.request().abort_after(10)).await.unwrap();
    gate.dropped().await;

    gate.open();
    assert_eq!(told(&server.send(&delivery).await), "200 processed");
    assert_eq!(gate.ended(), [delivery.id()]);
    within(server.handle.stop(true)).await;
}

// E5: the order of a shutdown: pause, drain, stop. Nobody but the drain waits for the handler.
#[actix_web::test]
async fn before_the_server_stops() {
    let (webhooks, gate) = (webhooks(), Gate::new());
    let server = server(&webhooks, &gate);
    let delivery = kit().plain();
    abandon(&server, &gate, &delivery.request()).await;

    within(server.handle.pause()).await;
    let drain = rt::spawn({
        let webhooks = webhooks.clone();
        async move { webhooks.drain(PATIENCE).await }
    });
    tokio::task::yield_now().await;
    assert!(!drain.is_finished());
    gate.open();
    assert_eq!(within(drain).await.unwrap(), Ok(()));
    assert_eq!(gate.ended(), [delivery.id()]);
    within(server.handle.stop(true)).await;
    within(server.running).await.unwrap().unwrap();
}

// E5: what the order is for: a worker that has stopped ends its handlers. Their events are not lost, nor done.
#[actix_web::test]
async fn a_stop_without_a_drain() {
    let (webhooks, gate) = (webhooks(), Gate::new());
    let server = server(&webhooks, &gate);
    abandon(&server, &gate, &kit().plain().request()).await;
    within(server.handle.stop(true)).await;
    within(server.running).await.unwrap().unwrap();
    assert_eq!(webhooks.drain(PATIENCE).await, Ok(()));
    gate.open();
    assert_eq!(gate.ended(), [""; 0]);
}

// E5: a sender that waits is answered by a server that stops.
#[actix_web::test]
async fn a_stop_while_the_sender_waits() {
    let (webhooks, gate) = (webhooks(), Gate::new());
    let server = server(&webhooks, &gate);
    let (address, request) = (server.address, kit().plain().request());
    let sending = rt::spawn(async move { http1::send(address, &request, PATIENCE).await });
    gate.begun().await;
    let stopping = rt::spawn(server.handle.stop(true));
    within(async { while TcpStream::connect(address).await.is_ok() {} }).await;
    gate.open();
    assert_eq!(told(&within(sending).await.unwrap().unwrap()), "200 processed");
    within(stopping).await.unwrap();
    assert_eq!(webhooks.drain(PATIENCE).await, Ok(()));
}
