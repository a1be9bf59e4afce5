//! Tracing spans: what is logged of a delivery, and by its handler, stands in the span of its request.
#![cfg(test)]

mod common;

use std::{
    future::ready,
    sync::{Arc, Mutex},
};

use common::{ID, PROCESSED, TYPE, deliver, over, sent, store::Scripted, within};
use testkit::Log;
use tracing::{Instrument, Span, info_span};

// K10: an operator finds a delivery's lines by those of its request, although it is a task of its own, and a handler's by
// the event.
#[tokio::test(start_paused = true)]
async fn a_handler_is_inside_the_span_of_its_request() {
    let log = Log::start();
    let (span, seen) = (info_span!("request"), Arc::<Mutex<Vec<_>>>::default());
    let handler = {
        let seen = seen.clone();
        move |_| {
            let called = Span::current();
            async move {
                tokio::task::yield_now().await;
                seen.lock().unwrap().extend([called.id(), Span::current().id()]);
                200
            }
        }
    };
    let driver = over(&Scripted::new());
    assert_eq!(sent(&within(deliver(&driver, ID, handler).instrument(span.clone())).await), PROCESSED);
    let seen = seen.lock().unwrap().clone();
    assert!(seen[0].is_some() && seen[0] == seen[1], "{seen:?}");

    assert_eq!(log.delivery().span, Some("request"));
    let handlers = log.lines().into_iter().find(|line| line.span == Some("webhook")).unwrap();
    assert_eq!((handlers.parent, handlers.field("event_id")), (Some("request"), Some(ID)));
    assert_eq!((handlers.field("event_type"), handlers.field("scope")), (Some(TYPE), Some("default")));
}

// And outside of any it is in its own.
#[tokio::test(start_paused = true)]
async fn without_a_span() {
    let log = Log::start();
    let handler = |_| {
        tracing::info!("handled");
        ready(200)
    };
    assert_eq!(sent(&within(deliver(&over(&Scripted::new()), ID, handler)).await), PROCESSED);
    assert_eq!(log.delivery().span, None);
    let handled = log.lines().into_iter().find(|line| line.message() == "handled").unwrap();
    assert_eq!((handled.span, handled.parent), (Some("webhook"), None));
}
