//! What runs in this process: an event whose claim has lapsed under its handler is not run a second time beside it.
//!
//! A claim lapses when the store was away for a whole lease, or when handlers kept every thread from renewing it. The
//! store then gives the event to the next copy, which cannot know that the first run never ended. Here it can.

use crate::dedup::Token;

#[cfg(feature = "std")]
mod imp {
    use alloc::{collections::BTreeMap, sync::Arc};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use super::Token;
    use crate::dedup::DedupKey;

    /// The keys that are claimed, each with the token that holds it. Clones are the same list.
    #[derive(Clone, Default)]
    pub(in crate::receiver) struct Running(Arc<Mutex<BTreeMap<DedupKey, Arc<Mutex<Token>>>>>);

    impl Running {
        /// Puts a fresh claim on the list. Where its key is there already, `None`: whoever runs it has the newer claim
        /// from now on, and renews and commits that one.
        ///
        /// A store that gives out the same token twice, as [`NoDedup`](crate::NoDedup) does, keeps nothing apart, and
        /// neither is it done here.
        pub(in crate::receiver) fn begin(&self, token: Token) -> Option<Mark> {
            let mut running = lock(&self.0);
            let key = *token.key();
            let earlier = running.get(&key);
            if let Some(holder) = earlier.filter(|holder| *lock(holder) != token) {
                *lock(holder) = token;
                return None;
            }
            let first = earlier.is_none();
            let holder = Arc::new(Mutex::new(token));
            if first {
                running.insert(key, Arc::clone(&holder));
            }
            drop(running);
            Some(Mark { running: self.clone(), key, holder })
        }
    }

    /// A claim on the list, until it is dropped.
    pub(in crate::receiver) struct Mark {
        running: Running,
        key: DedupKey,
        holder: Arc<Mutex<Token>>,
    }

    impl Mark {
        /// The newest token of the claim.
        pub(in crate::receiver) fn token(&self) -> Token {
            lock(&self.holder).clone()
        }

        /// Takes the claim off the list: what the store says of its key counts again.
        pub(in crate::receiver) fn end(&self) {
            let mut running = lock(&self.running.0);
            if running.get(&self.key).is_some_and(|holder| Arc::ptr_eq(holder, &self.holder)) {
                running.remove(&self.key);
            }
        }
    }

    impl Drop for Mark {
        fn drop(&mut self) {
            self.end();
        }
    }

    /// Every change is one step, so a panic elsewhere cannot have left half of one behind the lock.
    fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Without a lock from the standard library there is no list, and the store alone decides.
#[cfg(not(feature = "std"))]
mod imp {
    use super::Token;

    #[derive(Clone, Default)]
    pub(in crate::receiver) struct Running;

    impl Running {
        pub(in crate::receiver) fn begin(&self, token: Token) -> Option<Mark> {
            Some(Mark(token))
        }
    }

    pub(in crate::receiver) struct Mark(Token);

    impl Mark {
        pub(in crate::receiver) fn token(&self) -> Token {
            self.0.clone()
        }

        pub(in crate::receiver) fn end(&self) {}
    }
}

pub(super) use imp::{Mark, Running};
