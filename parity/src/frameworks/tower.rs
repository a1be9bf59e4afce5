use std::{convert::Infallible, net::TcpListener, pin::pin};

use asixto_webhook_core::{BoxFuture, Event, provider::Provider};
use asixto_webhook_tower::WebhookLayer;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::{conn::auto::Builder, graceful::GracefulShutdown},
    service::TowerToHyperService,
};
use tower::{Layer, service_fn};

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
    let hook = webhooks.layer(service_fn(move |mut request: Request<Full<Bytes>>| {
        let handled = request.extensions_mut().remove::<Event<P>>().map(&*handler);
        async move {
            let status = handled.unwrap().await;
            Ok::<_, Infallible>(Response::builder().status(status).body(Full::<Bytes>::default()).unwrap())
        }
    }));
    let draining = webhooks.clone();
    let drain: Drain = Box::new(move |limit| {
        let webhooks = draining.clone();
        Box::pin(async move { webhooks.drain(limit).await })
    });
    let serving = async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        let (server, graceful) = (Builder::new(TokioExecutor::new()), GracefulShutdown::new());
        let mut stop = pin!(stop);
        loop {
            let stream = tokio::select! {
                accepted = listener.accept() => accepted.unwrap().0,
                () = &mut stop => break,
            };
            let connection = server.serve_connection(TokioIo::new(stream), TowerToHyperService::new(hook.clone()));
            let connection = graceful.watch(connection.into_owned());
            // A connection that breaks off is the sender's affair.
            drop(tokio::spawn(connection));
        }
        drop(listener);
        graceful.shutdown().await;
        webhooks.drain(PATIENCE).await.unwrap();
    };
    (drain, Box::pin(serving))
}
