//! What the public types can do, and what they show of themselves.
#![cfg(test)]
#![cfg(feature = "memory")]

mod common;

use std::{convert::Infallible, error::Error, fmt::Debug, future::Future};

use asixto_webhook_tower::{
    ResponseFuture, Undrained, Webhook, WebhookLayer,
    core::{
        Asixto, Receiver,
        provider::{Agent, CloudEvents, StandardWebhooks},
    },
};
use bytes::Bytes;
use common::{ID, SECRET, Seen, delivery, layer, within};
use http::{Request, Response};
use http_body_util::{Empty, Full, combinators::BoxBody};
use static_assertions::{assert_impl_all, assert_not_impl_any};
use tower::{Layer, Service, util::BoxCloneSyncService};

type Inner = BoxCloneSyncService<Request<Full<Bytes>>, Response<Full<Bytes>>, Infallible>;
type Outer = Webhook<Inner>;
type Answered = ResponseFuture<Response<Full<Bytes>>, Infallible>;

assert_impl_all!(WebhookLayer: Clone, Debug, Send, Sync, Unpin, Layer<Inner, Service = Outer>, From<&'static Receiver>);
assert_impl_all!(WebhookLayer<Asixto, axum::body::Body>: Clone, Debug, Send, Sync);
// A body that is not `Sync` itself does not make the layer so.
assert_impl_all!(WebhookLayer<Asixto, std::cell::Cell<u8>>: Send, Sync);
// L10, M, N: the layer of any provider.
assert_impl_all!(WebhookLayer<StandardWebhooks>: Clone, Debug, Send, Sync, Layer<Inner, Service = Webhook<Inner, StandardWebhooks>>);
assert_impl_all!(WebhookLayer<CloudEvents>: Clone, Debug, Send, Sync, Layer<Inner, Service = Webhook<Inner, CloudEvents>>);
assert_impl_all!(WebhookLayer<Agent>: Clone, Debug, Send, Sync, Layer<Inner, Service = Webhook<Inner, Agent>>);
assert_impl_all!(Webhook<Inner, Agent>: Clone, Debug, Send, Sync, Service<Request<Full<Bytes>>, Future = Answered>);
assert_impl_all!(Outer: Clone, Debug, Send, Sync);
assert_impl_all!(Outer: Service<Request<Full<Bytes>>, Response = Response<Full<Bytes>>, Error = Infallible, Future = Answered>);
assert_impl_all!(Outer: Service<Request<Empty<Bytes>>>, Service<Request<axum::body::Body>>);
// Neither body nor its error have to be `Sync`.
assert_impl_all!(Outer: Service<Request<http_body_util::combinators::UnsyncBoxBody<Bytes, Box<dyn Error>>>>);
assert_impl_all!(Outer: Service<Request<BoxBody<std::collections::VecDeque<u8>, Infallible>>>);
assert_impl_all!(Answered: Debug, Send, Unpin, Future<Output = Result<Response<Full<Bytes>>, Infallible>>);
assert_impl_all!(Undrained: Copy, Debug, Error, PartialEq, Send, Sync);
// A response that cannot be sent on is refused where it is made, and not later.
assert_not_impl_any!(ResponseFuture<std::rc::Rc<u8>, Infallible>: Clone, Copy);

fn is_static<T: 'static>(_: &T) {}

// Futures and services outlive the request that they are for.
#[tokio::test(start_paused = true)]
async fn nothing_is_borrowed() {
    let mut service = {
        let layer = layer();
        layer.layer(Seen::default().service::<_, Full<Bytes>>())
    };
    std::future::poll_fn(|cx| Service::<Request<Full<Bytes>>>::poll_ready(&mut service, cx)).await.unwrap();
    let response = {
        let request = delivery(ID);
        service.call(request)
    };
    is_static(&service);
    is_static(&response);
    drop(service);
    assert_eq!(within(response).await.unwrap().status(), 200);
}

// D3: what they show is of use, and no secret.
#[tokio::test(start_paused = true)]
async fn debug_output() {
    let layer = layer();
    let mut service = layer.layer(Seen::default().service::<_, Full<Bytes>>());
    let shown = format!("{layer:?} {service:?}");
    for expected in ["WebhookLayer {", "Webhook {", "Strict {", "body_limit: 263168", "running: 0"] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    assert!(!shown.contains(SECRET) && !shown.contains("whsec_"), "{shown}");
    std::future::poll_fn(|cx| Service::<Request<Full<Bytes>>>::poll_ready(&mut service, cx)).await.unwrap();
    assert_eq!(format!("{:?}", service.call(delivery(ID))), "ResponseFuture");
}
