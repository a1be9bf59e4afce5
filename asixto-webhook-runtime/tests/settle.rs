//! What becomes of an event by what its handler makes of it: committed, or released for the next attempt.
#![cfg(test)]

mod common;

use std::{
    future::{Future, ready},
    pin::Pin,
};

use asixto_webhook_runtime::{
    Driver,
    core::{BoxFuture, Event, Outcome},
};
use common::{
    DUPLICATE, Effects, Head, ID, NOW, PANICKED, PROCESSED, builder, deliver, envelope, headers, known, over, secs,
    sent,
    store::{Scripted, Step},
    within,
};
use testkit::Log;
use tokio::time::{Instant, sleep};

// E5: claimed before the work, committed after it, and the handler's own response goes out.
#[tokio::test(start_paused = true)]
async fn a_2xx_commits() {
    for status in [200, 201, 202, 204, 299] {
        let (store, log) = (Scripted::new(), Log::start());
        let driver = over(&store);
        let steps = store.clone();
        let reply =
            within(deliver(&driver, ID, move |_| ready(if steps.steps() == [Step::Claim] { status } else { 500 })))
                .await;
        assert_eq!(sent(&reply), (Outcome::Processed, status, Some(status)));
        assert!(reply.answer.keeps_response());
        assert_eq!(headers(&reply.answer), []);
        assert_eq!(store.steps(), [Step::Claim, Step::Commit]);
        assert_eq!((log.delivery().field("outcome"), log.delivery().field("event_id")), (Some("processed"), Some(ID)));
        assert_eq!(sent(&within(deliver(&driver, ID, |_| ready(500))).await), DUPLICATE);
    }
}

// E5: a failed handler loses nothing: its claim is released at once, and the next attempt runs.
#[tokio::test(start_paused = true)]
async fn another_status_releases() {
    for status in [400, 404, 409, 422, 429, 500, 503] {
        let (store, effects) = (Scripted::new(), Effects::default());
        let driver = over(&store);
        let reply = within(deliver(&driver, ID, move |_| ready(status))).await;
        assert_eq!(sent(&reply), (Outcome::HandlerFailed, status, Some(status)));
        assert_eq!(store.steps(), [Step::Claim, Step::Release]);
        assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), PROCESSED);
        assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), DUPLICATE);
        assert_eq!(effects.ids(), [ID]);
    }
}

// H7: what would end or redirect the delivery becomes 500, and the handler's response does not go out with it.
#[tokio::test(start_paused = true)]
async fn a_harmful_status_does_not_go_out() {
    for status in [100, 101, 199, 300, 301, 302, 304, 399, 410] {
        let store = Scripted::new();
        let reply = within(deliver(&over(&store), ID, move |_| ready(status))).await;
        assert_eq!(sent(&reply), (Outcome::HandlerFailed, 500, None), "{status}");
        assert_eq!(store.steps(), [Step::Claim, Step::Release]);

        let driver = Driver::new(&builder().dedup(Scripted::new()).forward_any_status(true).build().unwrap());
        let reply = within(deliver(&driver, ID, move |_| ready(status))).await;
        let expected = if status < 200 { (500, None) } else { (status, Some(status)) };
        assert_eq!(sent(&reply), (Outcome::HandlerFailed, expected.0, expected.1));
    }
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the handler panics as it is dropped");
    }
}

/// Panics when it is polled for the first time.
struct FirstPoll;

impl Future for FirstPoll {
    type Output = u16;

    fn poll(self: Pin<&mut Self>, _: &mut std::task::Context<'_>) -> std::task::Poll<u16> {
        panic!("the handler panics in its first poll");
    }
}

// E5: a panic is a failure like another, wherever it comes: 500, released at once, and the next attempt runs.
#[tokio::test(start_paused = true)]
async fn a_panic_releases() {
    type Handler = fn(Event) -> BoxFuture<'static, u16>;
    let handlers: [(&str, Handler); 5] = [
        ("in the closure itself", |_| panic!("the handler panics before there is a future")),
        ("in the first poll", |_| Box::pin(FirstPoll)),
        ("before the first await", |_| {
            Box::pin(async {
                if true {
                    panic!("the handler panics before its first await");
                }
                ready(200).await
            })
        }),
        ("after an await", |_| {
            Box::pin(async {
                sleep(secs(1)).await;
                panic!("the handler panics after an await")
            })
        }),
        ("at its very end", |_| {
            Box::pin(async {
                let _bomb = Bomb;
                200
            })
        }),
    ];
    for (place, handler) in handlers {
        let (store, effects, log) = (Scripted::new(), Effects::default(), Log::start());
        let driver = over(&store);
        let reply = within(deliver(&driver, ID, handler)).await;
        assert_eq!(sent(&reply), PANICKED, "{place}");
        assert_eq!(store.steps(), [Step::Claim, Step::Release], "{place}");
        let line = log.delivery();
        assert_eq!((line.field("outcome"), line.field("event_id")), (Some("handler_failed"), Some(ID)), "{place}");
        assert_eq!(sent(&within(deliver(&driver, ID, effects.handler())).await), PROCESSED, "{place}");
        assert_eq!(effects.ids(), [ID]);
        assert_eq!(within(driver.drain(secs(0))).await, Ok(()), "{place}");
    }
}

// K1, B10: the handler gets the request as it came, and the very bytes that were verified.
#[tokio::test(start_paused = true)]
async fn the_handler_gets_what_came() {
    let body = envelope(ID);
    let mut head = Head::of(&body);
    head.lines.push(("X-Trace".into(), "7".into()));
    let (expected, at) = (head.clone(), body.as_ptr() as usize);
    let handler = move |head: Head, event: Event| {
        assert_eq!((head.method, head.lines, head.scope), (expected.method, expected.lines, expected.scope));
        assert_eq!((event.id(), event.scope(), event.verified().secret()), (ID, "default", "current"));
        assert_eq!(event.body().as_ptr() as usize, at);
        ready(200)
    };
    let reply = over(&Scripted::new()).run(Instant::now(), head, body, handler, |status| *status).await;
    assert_eq!(sent(&reply), PROCESSED);
}

// E1: ids are unique within a tenant, and a tenant is what the request says it is.
#[tokio::test(start_paused = true)]
async fn a_scope_of_its_own() {
    let driver = over(&Scripted::new());
    for (scope, expected) in
        [(None, PROCESSED), (Some("acme"), PROCESSED), (Some("acme"), DUPLICATE), (Some("b"), PROCESSED)]
    {
        let body = envelope(ID);
        let head = Head { scope: scope.map(Into::into), ..Head::of(&body) };
        let handler = move |_, event: Event| ready(if event.scope() == scope.unwrap_or("default") { 200 } else { 500 });
        let reply = within(driver.run(Instant::now(), head, body, handler, |status| *status)).await;
        assert_eq!(sent(&reply), expected, "{scope:?}");
    }
}

// B7: no handler runs for what does not verify, and no store hears of it.
#[tokio::test(start_paused = true)]
async fn a_refusal_runs_nothing() {
    let body = envelope(ID);
    let none = Head { lines: vec![], ..Head::of(&body) };
    let forged = Head::of(&envelope("another"));
    let twice = Head { lines: [Head::of(&body).lines, Head::of(&body).lines].concat(), ..Head::of(&body) };
    let get = Head { method: "GET", ..Head::of(&body) };
    for (head, outcome) in [
        (none, Outcome::MissingHeader),
        (forged, Outcome::SignatureMismatch),
        (twice, Outcome::RepeatedHeader),
        (get, Outcome::MethodNotAllowed),
    ] {
        let (store, effects) = (Scripted::new(), Effects::default());
        let (driver, handler) = (over(&store), effects.handler());
        let run = driver.run(Instant::now(), head, body.clone(), move |_, event| handler(event), |status| *status);
        assert_eq!(sent(&within(run).await), (outcome, outcome.status(), None));
        assert_eq!((effects.count(), store.steps()), (0, vec![]), "{outcome}");
        assert_eq!(driver.drain(secs(0)).await, Ok(()), "{outcome}");
    }
}

// D3, K10: a driver shows neither secrets nor bodies.
#[tokio::test(start_paused = true)]
async fn debug_output() {
    let driver = over(&Scripted::new());
    assert!(format!("{driver:?}").starts_with("Driver { receiver: Receiver {"), "{driver:?}");
    let reply =
        deliver(&driver, ID, |event| ready(if format!("{event:?}").contains("data\":") { 500 } else { 200 })).await;
    assert_eq!(sent(&reply), PROCESSED);
    let mac = asixto_webhook_runtime::core::sign(
        &known(),
        asixto_webhook_runtime::core::UnixTime::from_secs(NOW),
        &envelope(ID),
    );
    let mac = mac.rsplit('=').next().unwrap();
    let shown = format!("{driver:?} {reply:?}");
    assert!(!shown.contains("whsec_") && !shown.contains(mac), "{shown}");
}
