//! What runs in this process: an event whose claim has lapsed under its handler is not run a second time beside it.
//!
//! A claim lapses when the store was away for a whole lease, or when handlers kept every thread from renewing it. The
//! store then gives the event to the next copy, which cannot know that the first run never ended. Here it can.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering};

pub(super) use self::list::Running;
use crate::{
    dedup::{DedupKey, Fingerprint, Token},
    time::UnixTime,
};

/// A claim of a run, until it is dropped.
pub(super) struct Mark {
    key: DedupKey,
    run: Arc<Run>,
    running: Running,
}

struct Run {
    /// Of the newest claim.
    fence: AtomicU64,
    fingerprint: Fingerprint,
    /// When its handler has had all of its time, in unix seconds, whether or not anybody was able to say so.
    until: AtomicU64,
}

/// What a fresh claim is for.
#[cfg_attr(not(feature = "std"), expect(dead_code, reason = "only the list tells runs apart"))]
pub(super) enum Begun {
    /// A run of its own.
    Run(Mark),
    /// The run that is under way, which renews and commits it from now on.
    Handed,
    /// Nobody: another body under the key is running.
    OtherBody(Token),
}

impl Mark {
    /// A run that is on no list, beside which others may run.
    pub(super) fn unlisted(token: &Token, fingerprint: Fingerprint, until: UnixTime) -> Self {
        Self::new(token, fingerprint, until, Running::default())
    }

    fn new(token: &Token, fingerprint: Fingerprint, until: UnixTime, running: Running) -> Self {
        let until = AtomicU64::new(until.as_secs());
        let run = Run { fence: AtomicU64::new(token.fence()), fingerprint, until };
        Self { key: *token.key(), run: Arc::new(run), running }
    }

    /// The newest token of the claim.
    pub(super) fn token(&self) -> Token {
        Token::new(self.key, self.run.fence.load(Ordering::SeqCst))
    }

    /// Goes on under another claim of the same key.
    pub(super) fn hold(&self, token: &Token) {
        self.run.fence.store(token.fence(), Ordering::SeqCst);
    }

    pub(super) fn fingerprint(&self) -> Fingerprint {
        self.run.fingerprint
    }

    /// Keeps the run on the list, or puts it there again, for as long as it takes: it is done, and its commit is owed.
    pub(super) fn owe(&self) {
        self.run.until.store(u64::MAX, Ordering::SeqCst);
        self.running.insert(self);
    }

    /// Takes the run off the list: what the store says of its key counts again.
    pub(super) fn end(&self) {
        self.running.remove(self);
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(feature = "std")]
mod list {
    use alloc::{collections::BTreeMap, sync::Arc};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use super::{Begun, DedupKey, Fingerprint, Mark, Ordering, Run, Token, UnixTime};

    /// The runs under way. Clones are the same list.
    #[derive(Clone, Default)]
    pub(in crate::receiver) struct Running(Arc<Mutex<BTreeMap<DedupKey, Arc<Run>>>>);

    impl Running {
        /// Begins a run that may take `until` then, unless one is under way.
        pub(in crate::receiver) fn begin(
            &self,
            token: Token,
            fingerprint: Fingerprint,
            now: UnixTime,
            until: UnixTime,
        ) -> Begun {
            let mut runs = self.lock();
            match runs.get(token.key()).filter(|run| now.as_secs() < run.until.load(Ordering::SeqCst)) {
                Some(run) if run.fingerprint != fingerprint => Begun::OtherBody(token),
                Some(run) => {
                    run.fence.store(token.fence(), Ordering::SeqCst);
                    Begun::Handed
                }
                None => {
                    let mark = Mark::new(&token, fingerprint, until, self.clone());
                    runs.insert(mark.key, Arc::clone(&mark.run));
                    Begun::Run(mark)
                }
            }
        }

        /// Unless another run of the key is there.
        pub(super) fn insert(&self, mark: &Mark) {
            self.lock().entry(mark.key).or_insert_with(|| Arc::clone(&mark.run));
        }

        pub(super) fn remove(&self, mark: &Mark) {
            let mut runs = self.lock();
            if runs.get(&mark.key).is_some_and(|run| Arc::ptr_eq(run, &mark.run)) {
                runs.remove(&mark.key);
            }
        }

        /// Every change is one step, so a panic elsewhere cannot have left half of one behind the lock.
        fn lock(&self) -> MutexGuard<'_, BTreeMap<DedupKey, Arc<Run>>> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}

/// Without a lock from the standard library there is no list, and the store alone decides.
#[cfg(not(feature = "std"))]
mod list {
    use super::{Begun, Fingerprint, Mark, Token, UnixTime};

    #[derive(Clone, Default)]
    pub(in crate::receiver) struct Running;

    impl Running {
        pub(in crate::receiver) fn begin(
            &self,
            token: Token,
            fingerprint: Fingerprint,
            _: UnixTime,
            until: UnixTime,
        ) -> Begun {
            Begun::Run(Mark::unlisted(&token, fingerprint, until))
        }

        pub(super) fn insert(&self, _: &Mark) {}

        pub(super) fn remove(&self, _: &Mark) {}
    }
}
