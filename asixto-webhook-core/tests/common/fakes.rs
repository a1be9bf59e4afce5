//! Stores, inboxes, secret sources and timers that say what a test tells them, and remember what they were asked.

use std::{
    collections::VecDeque,
    future::{pending, ready},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::Duration,
};

use asixto_webhook_core::{
    Accepted, BoxFuture, Bytes, Claim, Claimed, DedupKey, DedupStore, Fingerprint, Held, Inbox, Record, SecretSet,
    SecretSource, StoreError, Timer, Token, Unavailable, UnixTime,
};

/// What a fake does when it is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Says<T> {
    /// It answers at once.
    This(T),
    /// It answers when it is polled for the second time.
    Later(T),
    /// It cannot.
    Fails,
    /// It has no room.
    IsFull,
    /// It never answers.
    Hangs,
}

/// What a store finds when it is asked for a claim.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Found {
    Nothing,
    InFlight(Duration),
    Done,
    Conflict,
}

/// What a store was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Claim { key: DedupKey, fingerprint: Fingerprint, lease: Duration },
    Extend { fence: u64, lease: Duration },
    Commit { fence: u64, ttl: Duration },
    Release { fence: u64 },
}

/// A store that follows a script, step by step, and panics when it is asked for a step that is not in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct FakeStore(Arc<Mutex<StoreScript>>);

#[derive(Debug, Default)]
struct StoreScript {
    claims: VecDeque<Says<Found>>,
    extends: VecDeque<Says<Held>>,
    commits: VecDeque<Says<Held>>,
    releases: VecDeque<Says<Held>>,
    asked: Vec<Asked>,
    fence: u64,
}

impl FakeStore {
    /// A store that nobody may ask anything.
    pub(crate) fn untouched() -> Self {
        Self::default()
    }

    /// A store that has never seen the first id it is asked for.
    pub(crate) fn fresh() -> Self {
        Self::default().claim(Says::This(Found::Nothing))
    }

    pub(crate) fn claim(self, says: Says<Found>) -> Self {
        self.0.lock().unwrap().claims.push_back(says);
        self
    }

    pub(crate) fn extend(self, says: Says<Held>) -> Self {
        self.0.lock().unwrap().extends.push_back(says);
        self
    }

    pub(crate) fn commit(self, says: Says<Held>) -> Self {
        self.0.lock().unwrap().commits.push_back(says);
        self
    }

    pub(crate) fn release(self, says: Says<Held>) -> Self {
        self.0.lock().unwrap().releases.push_back(says);
        self
    }

    /// Everything it was asked, in order.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.0.lock().unwrap().asked.clone()
    }

    /// The one claim it was asked for.
    pub(crate) fn claimed(&self) -> (DedupKey, Fingerprint, Duration) {
        match self.asked()[..] {
            [Asked::Claim { key, fingerprint, lease }, ..] => (key, fingerprint, lease),
            ref other => panic!("no claim first: {other:?}"),
        }
    }
}

impl DedupStore for FakeStore {
    fn claim<'a>(&'a self, claim: Claim<'a>) -> BoxFuture<'a, Result<Claimed, StoreError>> {
        let mut script = self.0.lock().unwrap();
        let Claim { key, fingerprint, lease, .. } = claim;
        script.asked.push(Asked::Claim { key: *key, fingerprint, lease });
        script.fence += 1;
        let token = Token::new(*key, script.fence);
        let says = script.claims.pop_front().expect("an unexpected claim");
        perform(says, move |found| match found {
            Found::Nothing => Claimed::Fresh(token),
            Found::InFlight(remaining) => Claimed::InFlight { remaining },
            Found::Done => Claimed::Done,
            Found::Conflict => Claimed::Conflict,
        })
    }

    fn extend<'a>(&'a self, token: &'a Token, lease: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        let mut script = self.0.lock().unwrap();
        script.asked.push(Asked::Extend { fence: token.fence(), lease });
        perform(script.extends.pop_front().expect("an unexpected extension"), |held| held)
    }

    fn commit<'a>(&'a self, token: &'a Token, ttl: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        let mut script = self.0.lock().unwrap();
        script.asked.push(Asked::Commit { fence: token.fence(), ttl });
        perform(script.commits.pop_front().expect("an unexpected commit"), |held| held)
    }

    fn release<'a>(&'a self, token: &'a Token) -> BoxFuture<'a, Result<Held, StoreError>> {
        let mut script = self.0.lock().unwrap();
        script.asked.push(Asked::Release { fence: token.fence() });
        perform(script.releases.pop_front().expect("an unexpected release"), |held| held)
    }
}

/// What an inbox was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) key: DedupKey,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) nonce: Option<(DedupKey, Duration)>,
    pub(crate) provider: String,
    pub(crate) scope: String,
    pub(crate) id: String,
    pub(crate) event_type: String,
    pub(crate) body: Bytes,
    pub(crate) received: UnixTime,
    pub(crate) ttl: Duration,
}

/// An inbox that follows a script.
#[derive(Debug, Clone)]
pub(crate) struct FakeInbox {
    says: Says<Accepted>,
    written: Arc<Mutex<Vec<Written>>>,
}

impl FakeInbox {
    pub(crate) fn new(says: Says<Accepted>) -> Self {
        Self { says, written: Arc::default() }
    }

    pub(crate) fn written(&self) -> Vec<Written> {
        self.written.lock().unwrap().clone()
    }
}

impl Inbox for FakeInbox {
    fn accept<'a>(&'a self, record: Record<'a>) -> BoxFuture<'a, Result<Accepted, StoreError>> {
        self.written.lock().unwrap().push(Written {
            key: *record.key,
            fingerprint: record.fingerprint,
            nonce: record.nonce.map(|(key, ttl)| (*key, ttl)),
            provider: record.provider.into(),
            scope: record.scope.into(),
            id: record.id.into(),
            event_type: record.event_type.into(),
            body: record.body.clone(),
            received: record.received,
            ttl: record.ttl,
        });
        perform(self.says, |accepted| accepted)
    }
}

fn perform<T, R>(says: Says<T>, make: impl FnOnce(T) -> R + Send + 'static) -> BoxFuture<'static, Result<R, StoreError>>
where
    T: Send + 'static,
    R: Send + 'static,
{
    match says {
        Says::This(answer) => Box::pin(ready(Ok(make(answer)))),
        Says::Later(answer) => Box::pin(async move {
            second_poll().await;
            Ok(make(answer))
        }),
        Says::Fails => Box::pin(ready(Err(StoreError::unavailable("connection refused")))),
        Says::IsFull => Box::pin(ready(Err(StoreError::full()))),
        Says::Hangs => Box::pin(pending()),
    }
}

async fn second_poll() {
    let mut polled = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut polled, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A secret source that answers the same to every scope, and remembers the scopes.
#[derive(Clone)]
pub(crate) struct FakeSource {
    says: Says<Option<SecretSet>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl FakeSource {
    pub(crate) fn new(says: Says<Option<SecretSet>>) -> Self {
        Self { says, asked: Arc::default() }
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl SecretSource for FakeSource {
    fn secrets<'a>(&'a self, scope: &'a str) -> BoxFuture<'a, Result<Option<SecretSet>, Unavailable>> {
        self.asked.lock().unwrap().push(scope.into());
        match self.says.clone() {
            Says::This(found) => Box::pin(ready(Ok(found))),
            Says::Later(found) => Box::pin(async move {
                second_poll().await;
                Ok(found)
            }),
            Says::Fails | Says::IsFull => Box::pin(ready(Err(Unavailable::new("the vault is sealed")))),
            Says::Hangs => Box::pin(pending()),
        }
    }
}

/// A timer whose time is up at once, or never; it remembers what it was asked to measure.
#[derive(Debug, Clone, Default)]
pub(crate) struct FakeTimer {
    stopped: Arc<AtomicBool>,
    asked: Arc<Mutex<Vec<Duration>>>,
}

impl FakeTimer {
    /// From here on no time passes.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    pub(crate) fn asked(&self) -> Vec<Duration> {
        self.asked.lock().unwrap().clone()
    }
}

impl Timer for FakeTimer {
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.asked.lock().unwrap().push(duration);
        if self.stopped.load(Ordering::SeqCst) { Box::pin(pending()) } else { Box::pin(ready(())) }
    }
}
