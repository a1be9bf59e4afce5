//! Tracing spans: what is logged of a delivery, and by its handler, stands in the span of its request.
#![cfg(test)]

mod common;

use std::{future::ready, sync::mpsc};

use common::{ID, PROCESSED, deliver, over, sent, store::Scripted, within};
use testkit::Log;
use tracing::{Instrument, Span, info_span};

// K10: an operator finds a delivery's lines by those of its request, although it is a task of its own.
#[tokio::test(start_paused = true)]
async fn a_handler_is_inside_the_span_of_its_request() {
    let log = Log::start();
    let (tell, told) = mpsc::channel();
    let span = info_span!("request");
    let handler = move |_| {
        let called = Span::current().id();
        async move {
            tokio::task::yield_now().await;
            tell.send([called, Span::current().id()]).unwrap();
            200
        }
    };
    let driver = over(&Scripted::new());
    assert_eq!(sent(&within(deliver(&driver, ID, handler).instrument(span.clone())).await), PROCESSED);
    assert!(span.id().is_some());
    assert_eq!(told.recv().unwrap(), [span.id(), span.id()]);
    assert_eq!(log.delivery().span, Some("request"));
}

// And outside of any it is in none.
#[tokio::test(start_paused = true)]
async fn without_a_span() {
    let log = Log::start();
    assert_eq!(sent(&within(deliver(&over(&Scripted::new()), ID, |_| ready(200))).await), PROCESSED);
    assert_eq!(log.delivery().span, None);
}
