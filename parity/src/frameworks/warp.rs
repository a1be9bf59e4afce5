use std::net::TcpListener;

use asixto_webhook_core::{BoxFuture, provider::Provider};
use asixto_webhook_warp::{VerifiedEvent, WebhookLayer, webhook};
use warp::http::StatusCode;

use super::tenant;
use crate::server::{Drain, PATIENCE, Service};

pub(super) fn serve<P: Provider>(
    service: Service<P>,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> (Drain, BoxFuture<'static, ()>) {
    let mut webhooks = WebhookLayer::new(&service.receiver);
    if service.tenants {
        webhooks = webhooks.scope_from(|parts| tenant(parts.uri.path())).unwrap();
    }
    let handler = service.handler;
    let hook = move |VerifiedEvent(event): VerifiedEvent<P>| {
        let handled = handler(event);
        async move { StatusCode::from_u16(handled.await).unwrap() }
    };
    let routes = webhook(webhooks.clone(), hook);
    let draining = webhooks.clone();
    let drain: Drain = Box::new(move |limit| {
        let webhooks = draining.clone();
        Box::pin(async move { webhooks.drain(limit).await })
    });
    let serving = async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        warp::serve(routes).incoming(listener).graceful(stop).run().await;
        webhooks.drain(PATIENCE).await.unwrap();
    };
    (drain, Box::pin(serving))
}
