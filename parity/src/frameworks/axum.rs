use std::net::TcpListener;

use asixto_webhook_axum::{VerifiedEvent, WebhookLayer};
use asixto_webhook_core::{BoxFuture, provider::Provider};
use axum::{Router, http::StatusCode, routing::post};

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
    let hook = async move |VerifiedEvent(event): VerifiedEvent<P>| StatusCode::from_u16(handler(event).await).unwrap();
    let app = Router::new().route("/{*path}", post(hook).layer(webhooks.clone()));
    let draining = webhooks.clone();
    let drain: Drain = Box::new(move |limit| {
        let webhooks = draining.clone();
        Box::pin(async move { webhooks.drain(limit).await })
    });
    let serving = async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        axum::serve(listener, app).with_graceful_shutdown(stop).await.unwrap();
        webhooks.drain(PATIENCE).await.unwrap();
    };
    (drain, Box::pin(serving))
}
