//! Awaiting a seam: under its time limit, and whatever it does to itself.

use core::{future::poll_fn, task::Poll, time::Duration};

use super::Receiver;
use crate::{BoxFuture, dedup::StoreError, provider::Provider};

/// Why a seam gave no answer.
pub(super) enum Silence {
    TimedOut,
    Panicked,
}

impl<P: Provider> Receiver<P> {
    /// Asks the store under its time limit: one that hangs is one that is down, and so is one that panics.
    pub(super) async fn ask<'s, T>(
        &self,
        question: impl FnOnce() -> BoxFuture<'s, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        match self.within(self.0.settings.store_timeout, question).await {
            Ok(answer) => answer,
            Err(Silence::TimedOut) => Err(StoreError::timed_out()),
            Err(Silence::Panicked) => Err(StoreError::unavailable("it panicked")),
        }
    }

    /// The time limit is kept by the timer, if there is one.
    pub(super) async fn within<'s, T>(
        &self,
        limit: Duration,
        question: impl FnOnce() -> BoxFuture<'s, T>,
    ) -> Result<T, Silence> {
        let mut answer = caught(question).ok_or(Silence::Panicked)?;
        let mut alarm = None;
        poll_fn(|cx| {
            match caught(|| answer.as_mut().poll(cx)) {
                Some(Poll::Ready(answer)) => return Poll::Ready(Ok(answer)),
                Some(Poll::Pending) => {}
                None => return Poll::Ready(Err(Silence::Panicked)),
            }
            let Some(timer) = &self.0.timer else { return Poll::Pending };
            // Made only now: what is ready at once costs no timer.
            alarm.get_or_insert_with(|| timer.sleep(limit)).as_mut().poll(cx).map(|()| Err(Silence::TimedOut))
        })
        .await
    }
}

/// `None` for a panic. A seam that panicked is dropped, and what it shares with later calls is its own affair.
#[cfg(feature = "std")]
fn caught<T>(step: impl FnOnce() -> T) -> Option<T> {
    std::panic::catch_unwind(core::panic::AssertUnwindSafe(step)).ok()
}

/// Panics are caught by the standard library only.
#[cfg(not(feature = "std"))]
fn caught<T>(step: impl FnOnce() -> T) -> Option<T> {
    Some(step())
}
