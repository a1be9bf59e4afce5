//! Receives Asixto's webhooks with actix-web: `cargo run -p example-actix`.

use std::{process::ExitCode, time::Duration};

use actix_web::{App, HttpResponse, HttpServer, Responder, rt, web};
use asixto_webhook_actix::{Data, VerifiedEvent, WebhookMiddleware};
use example_support::{Error, Handled, listen, receiver, run, stop_signal};
use tracing::{info, warn};

async fn hook(handled: web::Data<Handled>, VerifiedEvent(event): VerifiedEvent) -> impl Responder {
    match event.data() {
        Ok(Data::JobSucceeded(job)) => info!(job.job_id, job.operation, "done"),
        // All ten types: examples/axum.
        Ok(_) => info!(kind = event.event_type(), "nothing to do"),
        // Trying again would not help: note it, and acknowledge.
        Err(error) => warn!(id = event.id(), "{error}"),
    }
    handled.record(&event);
    HttpResponse::Ok()
}

/// What the handler ran for.
async fn events(handled: web::Data<Handled>) -> impl Responder {
    web::Json(handled.entries())
}

#[actix_web::main]
async fn main() -> ExitCode {
    run(serve()).await
}

async fn serve() -> Result<(), Error> {
    let (webhooks, handled) = (WebhookMiddleware::new(&receiver().await?), web::Data::new(Handled::default()));
    let served = webhooks.clone();
    let server = HttpServer::new(move || {
        let hook = web::resource("/webhooks/asixto").wrap(served.clone()).route(web::post().to(hook));
        App::new().app_data(handled.clone()).service(hook).route("/events", web::get().to(events))
    });

    let listener = listen()?;
    println!("listening on http://{}/webhooks/asixto", listener.local_addr()?);
    // Without it a sender could hold a connection open and never end the head of a request. (One that never sends a
    // byte is bounded by `listen` alone, without HTTP/2: see docs/servers.md.)
    let server = server.client_request_timeout(Duration::from_secs(5)).shutdown_timeout(15);
    let server = server.disable_signals().listen_auto_h2c(listener)?.run();
    let handle = server.handle();
    let running = rt::spawn(server);

    stop_signal().await;
    handle.pause().await;
    // Before the server stops: its workers take with them what still runs, such as handlers whose sender is gone.
    let drained = webhooks.drain(Duration::from_secs(30)).await;
    handle.stop(true).await;
    running.await??;
    Ok(drained?)
}
