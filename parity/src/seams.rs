//! What stands in for a user's store and log, and counts.

use std::{
    fmt::{self, Write},
    future::pending,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use asixto_webhook_core::{BoxFuture, Claim, Claimed, DedupStore, Held, StoreError, Token};
use tracing::field::{Field, Visit};
use tracing_subscriber::{Layer, layer::Context, prelude::*, registry::Registry};

/// Counts what a handler did.
#[derive(Debug, Clone, Default)]
pub struct Effects(Arc<AtomicUsize>);

impl Effects {
    /// One more; says how many there are.
    pub fn happen(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Awaits a condition, for ten seconds at most.
pub async fn until(what: &str, condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let came = tokio::time::timeout(Duration::from_secs(10), waiting).await;
    assert!(came.is_ok(), "never came: {what}");
}

/// A store that claims every id, as far as it works.
pub struct Scripted<F>(pub F);

/// How a store takes one step.
#[derive(Debug, Clone, Copy)]
pub enum Works {
    /// It does.
    Well,
    /// It fails.
    NotAtAll,
    /// It never answers.
    ForEver,
}

impl<F> fmt::Debug for Scripted<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scripted")
    }
}

impl<F: Fn(&'static str) -> Works + Send + Sync> Scripted<F> {
    fn step<'a, T: Send + 'a>(&'a self, name: &'static str, good: T) -> BoxFuture<'a, Result<T, StoreError>> {
        Box::pin(async move {
            match (self.0)(name) {
                Works::Well => Ok(good),
                Works::NotAtAll => Err(StoreError::unavailable("connection refused")),
                Works::ForEver => pending().await,
            }
        })
    }
}

impl<F: Fn(&'static str) -> Works + Send + Sync> DedupStore for Scripted<F> {
    fn claim<'a>(&'a self, claim: Claim<'a>) -> BoxFuture<'a, Result<Claimed, StoreError>> {
        self.step("claim", Claimed::Fresh(Token::new(*claim.key, 1)))
    }

    fn extend<'a>(&'a self, _: &'a Token, _: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        self.step("extend", Held::Yes)
    }

    fn commit<'a>(&'a self, _: &'a Token, _: Duration) -> BoxFuture<'a, Result<Held, StoreError>> {
        self.step("commit", Held::Yes)
    }

    fn release<'a>(&'a self, _: &'a Token) -> BoxFuture<'a, Result<Held, StoreError>> {
        self.step("release", Held::Yes)
    }
}

/// Everything that is logged in this process, at every level and by every crate.
#[derive(Debug, Clone)]
pub struct Captured(Arc<Mutex<String>>);

impl Captured {
    /// Begins, or goes on.
    #[must_use]
    pub fn start() -> Self {
        static ALL: OnceLock<Captured> = OnceLock::new();
        ALL.get_or_init(|| {
            let captured = Self(Arc::default());
            tracing::subscriber::set_global_default(Registry::default().with(captured.clone())).unwrap();
            captured
        })
        .clone()
    }

    /// What there is so far.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

impl<S: tracing::Subscriber> Layer<S> for Captured {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let mut text = self.0.lock().unwrap();
        write!(text, "{}", event.metadata().target()).unwrap();
        event.record(&mut Writing(&mut text));
        text.push('\n');
    }

    fn on_new_span(&self, span: &tracing::span::Attributes<'_>, _: &tracing::span::Id, _: Context<'_, S>) {
        span.record(&mut Writing(&mut self.0.lock().unwrap()));
    }
}

struct Writing<'a>(&'a mut String);

impl Visit for Writing<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, " {}={value:?}", field.name()).unwrap();
    }
}
