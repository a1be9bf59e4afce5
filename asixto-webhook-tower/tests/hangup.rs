//! A sender that hangs up: the handler that has begun runs to its end, and has its effect once.
#![cfg(test)]
#![cfg(feature = "memory")]

mod common;

use std::{
    convert::Infallible,
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

use asixto_webhook_tower::core::Outcome;
use bytes::Bytes;
use common::{
    ID, Seen, begin,
    body::{Scripted, Step},
    delivery, envelope, layer, post, row, secs, send, strict, told, within,
};
use http::{Request, Response};
use http_body_util::Full;
use testkit::Log;
use tokio::time::{Instant, sleep};
use tower::Layer;

/// Polls a response once, and drops it.
async fn abandoned(response: impl Future) {
    let mut response = pin!(response);
    assert!(poll_fn(|cx| Poll::Ready(response.as_mut().poll(cx).is_pending())).await);
}

// E5: one effect; the claim holds until the handler ends, and is committed then.
#[tokio::test(start_paused = true)]
async fn while_the_handler_runs() {
    for time in [3, 40] {
        let (seen, layer, start) = (Seen::default(), layer(), Instant::now());
        let effects = seen.clone();
        let mut service = layer.layer(strict(move |request: Request<Full<Bytes>>| {
            let effects = effects.clone();
            async move {
                sleep(secs(time)).await;
                effects.note(request).await;
                Ok::<_, Infallible>(Response::<Full<Bytes>>::default())
            }
        }));
        abandoned(begin(&mut service, delivery(ID)).await).await;
        sleep(secs(1)).await;
        assert_eq!(told(&send(&service, delivery(ID)).await), row(Outcome::InFlight));
        assert_eq!(seen.ids(), [""; 0]);

        assert_eq!(within(layer.drain(secs(50))).await, Ok(()));
        assert_eq!((seen.ids(), start.elapsed()), (vec![ID.to_owned()], secs(time)));
        assert_eq!(told(&send(&service, delivery(ID)).await), row(Outcome::Duplicate));
        assert_eq!(seen.ids(), [ID]);
    }
}

// E5: what a handler answers to a sender who is gone decides all the same.
#[tokio::test(start_paused = true)]
async fn from_a_handler_that_fails() {
    let layer = layer();
    let mut service = layer.layer(strict(|request: Request<Full<Bytes>>| async move {
        sleep(secs(3)).await;
        let status = if request.headers().contains_key("retry") { 200 } else { 500 };
        Response::builder().status(status).body(Full::<Bytes>::default())
    }));
    abandoned(begin(&mut service, delivery(ID)).await).await;
    assert_eq!(within(layer.drain(secs(50))).await, Ok(()));
    let mut retry = delivery(ID);
    retry.headers_mut().insert("retry", "1".parse().unwrap());
    assert_eq!(told(&send(&service, retry).await), row(Outcome::Processed));
}

// K10, E5: before its body is complete: nothing runs, nothing is claimed, and one line tells of it.
#[tokio::test(start_paused = true)]
async fn before_the_body_is_complete() {
    let (seen, layer, log) = (Seen::default(), layer(), Log::start());
    let mut service = layer.layer(seen.service::<_, Full<Bytes>>());
    let body = Scripted::new([Step::Data(envelope(ID)), Step::Never]);
    abandoned(begin(&mut service, post(&envelope(ID), body)).await).await;
    let line = log.delivery();
    assert_eq!((line.field("outcome"), line.field("unverified_id")), (Some("body_aborted"), Some(ID)));
    assert_eq!(within(layer.drain(secs(0))).await, Ok(()));
    assert_eq!(told(&send(&service, delivery(ID)).await), row(Outcome::Processed));
    assert_eq!(seen.ids(), [ID]);
}

// And before anything has begun.
#[tokio::test(start_paused = true)]
async fn before_anything_has_begun() {
    let (seen, layer) = (Seen::default(), layer());
    let mut service = layer.layer(seen.service::<_, Full<Bytes>>());
    drop(begin(&mut service, delivery(ID)).await);
    assert_eq!(within(layer.drain(secs(0))).await, Ok(()));
    assert_eq!(told(&send(&service, delivery(ID)).await), row(Outcome::Processed));
    assert_eq!(seen.ids(), [ID]);
}

// A shutdown waits for a handler whose sender is gone, and says so where it does not.
#[tokio::test(start_paused = true)]
async fn and_a_shutdown() {
    let (seen, layer) = (Seen::default(), layer());
    let effects = seen.clone();
    let mut service = layer.clone().layer(strict(move |request: Request<Full<Bytes>>| {
        let effects = effects.clone();
        async move {
            sleep(secs(20)).await;
            effects.note(request).await;
            Ok::<_, Infallible>(Response::<Full<Bytes>>::default())
        }
    }));
    abandoned(begin(&mut service, delivery(ID)).await).await;
    drop(service);
    let undrained = within(layer.clone().drain(secs(15))).await.unwrap_err();
    assert_eq!((undrained.remaining, undrained.limit), (1, secs(15)));
    assert_eq!(within(layer.drain(secs(15))).await, Ok(()));
    assert_eq!(seen.ids(), [ID]);
}
