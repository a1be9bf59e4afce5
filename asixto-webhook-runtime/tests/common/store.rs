//! A memory store that fails when it is told to, and remembers what it was asked and when.

use std::{
    collections::VecDeque,
    future::pending,
    sync::{Arc, Mutex},
    time::Duration,
};

use asixto_webhook_runtime::core::{
    BoxFuture, Claim, Claimed, Clock, DedupStore, Held, StoreError, Token, UnixTime, testing::ManualClock,
};
use asixto_webhook_store::MemoryStore;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use super::{NOW, secs, within_of};

/// What a store can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Claim,
    Extend,
    Commit,
    Release,
}

/// What goes wrong with one step.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// It is refused.
    Fails,
    /// There is no room.
    Full,
    /// No answer ever comes.
    Hangs,
    /// The answer takes time.
    Takes(Duration),
    /// It panics when it is asked.
    Panics,
    /// It panics while its answer is awaited.
    PanicsLater,
}

/// A step that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) step: Step,
    /// Since the store was made.
    pub(crate) at: Duration,
    /// Of the claim that the step is about; 0 for a claim that is yet to be made.
    pub(crate) fence: u64,
}

/// Clones are the same store.
#[derive(Debug, Clone)]
pub(crate) struct Scripted(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Mutex<MemoryStore>,
    made: Instant,
    /// For the next times that a step is asked for, and for all times after them.
    faults: Mutex<Vec<(Step, VecDeque<Fault>, Fault)>>,
    asked: watch::Sender<Vec<Asked>>,
}

impl Scripted {
    /// A store without faults, whose leases end by tokio's clock.
    pub(crate) fn new() -> Self {
        Self::with_clock(TokioClock(Instant::now()))
    }

    /// A store without faults, whose leases never end: for a test in real time, which may be held up.
    pub(crate) fn timeless() -> Self {
        Self::with_clock(ManualClock::new(UnixTime::from_secs(NOW)))
    }

    fn with_clock(clock: impl Clock + 'static) -> Self {
        Self(Arc::new(Inner {
            store: Mutex::new(MemoryStore::default().with_clock(clock)),
            made: Instant::now(),
            faults: Mutex::default(),
            asked: watch::Sender::default(),
        }))
    }

    /// Loses everything, and counts from the beginning again.
    pub(crate) fn forget(&self) {
        *self.0.store.lock().unwrap() = MemoryStore::default().with_clock(TokioClock(Instant::now()));
    }

    fn memory(&self) -> MemoryStore {
        self.0.store.lock().unwrap().clone()
    }

    /// From now on `step` meets these faults, one after the other, and then none.
    pub(crate) fn then(self, step: Step, faults: impl IntoIterator<Item = Fault>) -> Self {
        self.script(step, faults.into_iter().collect(), Fault::None)
    }

    /// From now on `step` always meets this fault.
    pub(crate) fn always(self, step: Step, fault: Fault) -> Self {
        self.script(step, VecDeque::new(), fault)
    }

    fn script(self, step: Step, next: VecDeque<Fault>, last: Fault) -> Self {
        let mut faults = self.0.faults.lock().unwrap();
        faults.retain(|(scripted, ..)| *scripted != step);
        faults.push((step, next, last));
        drop(faults);
        self
    }

    /// Everything it was asked, in order.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.0.asked.borrow().clone()
    }

    /// The steps it was asked for, in order.
    pub(crate) fn steps(&self) -> Vec<Step> {
        self.asked().iter().map(|asked| asked.step).collect()
    }

    /// When it was asked for `step`, since it was made, in milliseconds.
    pub(crate) fn times(&self, step: Step) -> Vec<u128> {
        self.asked().iter().filter(|asked| asked.step == step).map(|asked| asked.at.as_millis()).collect()
    }

    /// Waits until it has been asked for `step` so many times.
    pub(crate) async fn until(&self, step: Step, times: usize) {
        let mut asked = self.0.asked.subscribe();
        let enough = asked.wait_for(|asked| asked.iter().filter(|asked| asked.step == step).count() >= times);
        drop(within_of(secs(2 * 60 * 60), enough).await.unwrap());
    }

    /// Does a step as the script says.
    fn perform<'a, T: Send + 'a>(
        &'a self,
        step: Step,
        fence: u64,
        real: BoxFuture<'a, Result<T, StoreError>>,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        self.0.asked.send_modify(|asked| asked.push(Asked { step, at: self.0.made.elapsed(), fence }));
        let fault = {
            let mut faults = self.0.faults.lock().unwrap();
            let script = faults.iter_mut().find(|(scripted, ..)| *scripted == step);
            script.map_or(Fault::None, |(_, next, last)| next.pop_front().unwrap_or(*last))
        };
        match fault {
            Fault::None => real,
            Fault::Fails => Box::pin(async { Err(StoreError::unavailable("connection refused")) }),
            Fault::Full => Box::pin(async { Err(StoreError::full()) }),
            Fault::Hangs => Box::pin(pending()),
            Fault::Takes(time) => Box::pin(async move {
                sleep(time).await;
                real.await
            }),
            Fault::Panics => panic!("the store panics, as this test wants it to"),
            Fault::PanicsLater => Box::pin(async {
                sleep(Duration::from_millis(1)).await;
                panic!("the store panics, as this test wants it to")
            }),
        }
    }
}

impl DedupStore for Scripted {
    fn claim<'a>(&'a self, claim: Claim<'a>) -> BoxFuture<'a, Result<Claimed, StoreError>> {
        let store = self.memory();
        self.perform(Step::Claim, 0, Box::pin(async move { store.claim(claim).await }))
    }

    fn extend<'a>(&'a self, token: &'a Token, lease: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        let store = self.memory();
        self.perform(Step::Extend, token.fence(), Box::pin(async move { store.extend(token, lease).await }))
    }

    fn commit<'a>(&'a self, token: &'a Token, ttl: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        let store = self.memory();
        self.perform(Step::Commit, token.fence(), Box::pin(async move { store.commit(token, ttl).await }))
    }

    fn release<'a>(&'a self, token: &'a Token) -> BoxFuture<'a, Result<Held, StoreError>> {
        let store = self.memory();
        self.perform(Step::Release, token.fence(), Box::pin(async move { store.release(token).await }))
    }
}

/// Tokio's clock, which tests pause, as a store's.
#[derive(Debug)]
struct TokioClock(Instant);

impl Clock for TokioClock {
    fn now(&self) -> UnixTime {
        UnixTime::from_secs(NOW).saturating_add(self.0.elapsed())
    }
}
