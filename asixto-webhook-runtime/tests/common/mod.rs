//! What the tests of this crate share: signed deliveries, a store that is told what to do, and a log that is read back.
#![allow(dead_code, reason = "each test file is a crate of its own and uses a part of this")]

pub(crate) mod store;

use std::{
    future::Future,
    sync::{Arc, Mutex},
    time::Duration,
};

use asixto_webhook_runtime::{
    Driver, Reply, Request,
    core::{
        Answer, Bytes, DedupStore, Event, HeaderLines, Outcome, Receiver, ReceiverBuilder, Secret, SecretSet, UnixTime,
        sign, testing::ManualClock,
    },
};
use tokio::time::{Instant, timeout};

/// The receiver's present time: it stands still, so that a delivery signed now stays inside the window.
pub(crate) const NOW: u64 = 1_787_923_200;

pub(crate) const ID: &str = "evt_3f1c9a70-4e0b";
pub(crate) const TYPE: &str = "job.succeeded";

pub(crate) const LEASE: Duration = Duration::from_secs(30);

pub(crate) const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) const fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

pub(crate) fn known() -> SecretSet {
    Secret::new("current", "whsec_Qx7Lr2Vn9TbKd4Wm8HsYc3Jf6PzGa1Ue").unwrap().into()
}

/// A valid envelope.
pub(crate) fn envelope(id: &str) -> Bytes {
    format!(r#"{{"id":"{id}","type":"{TYPE}","created":1787923100,"environment":"live","data":{{}}}}"#).into()
}

/// The head of a request.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) method: &'static str,
    pub(crate) lines: Vec<(String, String)>,
    pub(crate) scope: Option<String>,
}

impl Head {
    /// A POST of `body`, properly signed.
    pub(crate) fn of(body: &[u8]) -> Self {
        let signature = sign(&known(), UnixTime::from_secs(NOW), body);
        Self { method: "POST", lines: vec![("Asixto-Signature".into(), signature)], scope: None }
    }
}

impl HeaderLines for Head {
    fn line(&self, name: &str, index: usize) -> Option<&[u8]> {
        self.lines.line(name, index)
    }
}

impl Request for Head {
    fn method(&self) -> &str {
        self.method
    }

    fn scope(&self) -> Option<&str> {
        self.scope.as_deref()
    }
}

/// A receiver of [`known`] secrets: a place for its events is yet to be given.
pub(crate) fn builder() -> ReceiverBuilder {
    Receiver::builder().secrets(known()).clock(ManualClock::new(UnixTime::from_secs(NOW)))
}

pub(crate) fn over(store: &(impl DedupStore + Clone + 'static)) -> Driver {
    Driver::new(&builder().dedup(store.clone()).build().unwrap())
}

/// Runs a delivery of `id` that arrives now.
pub(crate) async fn deliver<F>(
    driver: &Driver,
    id: &str,
    handler: impl FnOnce(Event) -> F + Send + 'static,
) -> Reply<u16>
where
    F: Future<Output = u16> + Send + 'static,
{
    arrived(driver, Instant::now(), id, handler).await
}

/// Runs a delivery of `id` that arrived then.
pub(crate) async fn arrived<F>(
    driver: &Driver,
    arrived: Instant,
    id: &str,
    handler: impl FnOnce(Event) -> F + Send + 'static,
) -> Reply<u16>
where
    F: Future<Output = u16> + Send + 'static,
{
    let body = envelope(id);
    driver.run(arrived, Head::of(&body), body, |_, event| handler(event), |status| *status).await
}

/// Outcome and status of the answer, and whether the handler's response goes out.
pub(crate) fn sent(reply: &Reply<u16>) -> (Outcome, u16, Option<u16>) {
    (reply.answer.outcome(), reply.answer.status(), reply.response)
}

pub(crate) const PROCESSED: (Outcome, u16, Option<u16>) = (Outcome::Processed, 200, Some(200));
pub(crate) const PANICKED: (Outcome, u16, Option<u16>) = (Outcome::HandlerFailed, 500, None);
pub(crate) const SLOW: (Outcome, u16, Option<u16>) = (Outcome::HandlerSlow, 503, None);
pub(crate) const IN_FLIGHT: (Outcome, u16, Option<u16>) = (Outcome::InFlight, 503, None);
pub(crate) const STORE_UNAVAILABLE: (Outcome, u16, Option<u16>) = (Outcome::StoreUnavailable, 503, None);
pub(crate) const DUPLICATE: (Outcome, u16, Option<u16>) = (Outcome::Duplicate, 200, None);

/// An answer's headers, in a form that is easy to compare.
pub(crate) fn headers(answer: &Answer) -> Vec<(&'static str, String)> {
    answer.headers().map(|(name, value)| (name, value.into_owned())).collect()
}

/// What handlers did: the ids of the events, in the order in which they were done.
#[derive(Debug, Clone, Default)]
pub(crate) struct Effects(Arc<Mutex<Vec<String>>>);

impl Effects {
    pub(crate) fn of(&self, event: &Event) {
        self.0.lock().unwrap().push(event.id().to_owned());
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// A handler that is done at once.
    pub(crate) fn handler(&self) -> impl FnOnce(Event) -> std::future::Ready<u16> + Send + use<> {
        let effects = self.clone();
        move |event| {
            effects.of(&event);
            std::future::ready(200)
        }
    }

    /// A handler that needs `time`, and has its effect at the end of it.
    pub(crate) fn after(
        &self,
        time: Duration,
    ) -> impl FnOnce(Event) -> asixto_webhook_runtime::core::BoxFuture<'static, u16> + Send + use<> {
        let effects = self.clone();
        move |event| {
            Box::pin(async move {
                tokio::time::sleep(time).await;
                effects.of(&event);
                200
            })
        }
    }
}

/// Fails a test that waits for what never comes. With a paused clock the time passes at once.
#[track_caller]
pub(crate) fn within<T>(work: impl Future<Output = T>) -> impl Future<Output = T> {
    within_of(secs(60), work)
}

/// The same with another limit, for a test in which more time than that passes.
#[track_caller]
pub(crate) fn within_of<T>(limit: Duration, work: impl Future<Output = T>) -> impl Future<Output = T> {
    let place = std::panic::Location::caller();
    async move {
        match timeout(limit, work).await {
            Ok(value) => value,
            Err(_) => panic!("{place}: still waiting after {limit:?}"),
        }
    }
}
