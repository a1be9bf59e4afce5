use std::{net::TcpListener, thread};

use actix_web::{
    App, HttpResponse, HttpServer,
    http::StatusCode,
    rt::{self, System},
    web,
};
use asixto_webhook_actix::{VerifiedEvent, WebhookMiddleware};
use asixto_webhook_core::{BoxFuture, provider::Provider};
use tokio::sync::oneshot;

use super::tenant;
use crate::server::{Drain, PATIENCE, Service};

pub(super) fn serve<P: Provider>(
    service: Service<P>,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> (Drain, BoxFuture<'static, ()>) {
    let mut webhooks = WebhookMiddleware::new(&service.receiver);
    if service.tenants {
        webhooks = webhooks.scope_from(|request| tenant(request.path())).unwrap();
    }
    let draining = webhooks.clone();
    let drain: Drain = Box::new(move |limit| {
        let webhooks = draining.clone();
        Box::pin(async move { webhooks.drain(limit).await })
    });
    let (end, ended) = oneshot::channel();
    // A system of its own, as a service's `main` has.
    thread::spawn(move || {
        System::new().block_on(async move {
            let (served, handler) = (webhooks.clone(), service.handler);
            let server = HttpServer::new(move || {
                let handler = handler.clone();
                let hook = move |VerifiedEvent(event): VerifiedEvent<P>| {
                    let handled = handler(event);
                    async move { HttpResponse::new(StatusCode::from_u16(handled.await).unwrap()) }
                };
                App::new().service(web::resource("/{path:.*}").wrap(served.clone()).route(web::post().to(hook)))
            });
            let server = server.workers(2).disable_signals().listen_auto_h2c(listener).unwrap().run();
            let handle = server.handle();
            let running = rt::spawn(server);
            stop.await;
            handle.pause().await;
            webhooks.drain(PATIENCE).await.unwrap();
            handle.stop(true).await;
            running.await.unwrap().unwrap();
        });
        // Nobody may wait for it.
        _ = end.send(());
    });
    (drain, Box::pin(async { ended.await.unwrap() }))
}
