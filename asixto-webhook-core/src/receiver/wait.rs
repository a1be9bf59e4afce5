//! Awaiting a seam under its budget.

use core::{future::poll_fn, task::Poll, time::Duration};

use super::Receiver;
use crate::{BoxFuture, dedup::StoreError, provider::Provider};

impl<P: Provider> Receiver<P> {
    /// Asks the store, which has its own budget: one that hangs is one that is down.
    pub(super) async fn ask<T>(&self, question: BoxFuture<'_, Result<T, StoreError>>) -> Result<T, StoreError> {
        self.within(self.0.settings.store_timeout, question).await.unwrap_or_else(|| Err(StoreError::timed_out()))
    }

    /// `None` where the budget passed first, by the timer if there is one.
    pub(super) async fn within<T>(&self, budget: Duration, mut future: BoxFuture<'_, T>) -> Option<T> {
        let mut alarm = None;
        poll_fn(|cx| {
            if let Poll::Ready(value) = future.as_mut().poll(cx) {
                return Poll::Ready(Some(value));
            }
            let Some(timer) = &self.0.timer else { return Poll::Pending };
            // Made only now: what is ready at once costs no timer.
            alarm.get_or_insert_with(|| timer.sleep(budget)).as_mut().poll(cx).map(|()| None)
        })
        .await
    }
}
