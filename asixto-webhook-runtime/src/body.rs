//! The raw body, under a limit and a deadline.

use std::{
    future::poll_fn,
    task::{Context, Poll},
};

use asixto_webhook_core::{Answer, BodyFault, Bytes, provider::Provider};
use bytes::BytesMut;
use tokio::{
    task::coop::consume_budget,
    time::{Instant, timeout_at},
};

use crate::driver::{Driver, Request};

impl<P: Provider> Driver<P> {
    /// Collects the bytes of a body as they came over the wire.
    ///
    /// `announced` is its length where the sender said one: over the limit it is refused before a byte is read, and
    /// otherwise nothing is allocated on its word. `poll_chunk` gives the next chunk, an error where the body broke
    /// off, and `None` at its end. Dropped before that, as when the sender hangs up, the delivery is logged as aborted.
    ///
    /// # Errors
    /// The answer to a wrong method, and to a body that is too large, too slow or broken.
    pub async fn collect<E>(
        &self,
        arrived: Instant,
        request: &impl Request,
        announced: Option<u64>,
        mut poll_chunk: impl FnMut(&mut Context<'_>) -> Poll<Option<Result<Bytes, E>>>,
    ) -> Result<Bytes, Answer> {
        let receiver = self.receiver();
        receiver.announced(request.scope(), request.method(), announced)?;
        let deadline = arrived + receiver.timeouts().body;
        let mut received = Received { driver: self, request, chunks: Chunks::default(), ended: false };
        loop {
            // A body that is always ready lets nothing else on this thread go on, unless it is made to.
            consume_budget().await;
            let next = timeout_at(deadline, poll_fn(&mut poll_chunk)).await;
            let fault = match next {
                Ok(None) => return Ok(received.end()),
                Ok(Some(Ok(chunk))) if received.chunks.len() + chunk.len() > receiver.body_limit() => {
                    BodyFault::TooLarge
                }
                // Nor does it let the timer speak.
                Ok(Some(Ok(_))) if Instant::now() >= deadline => BodyFault::Timeout,
                Ok(Some(Ok(chunk))) => {
                    received.chunks.push(chunk);
                    continue;
                }
                Ok(Some(Err(_))) => BodyFault::Aborted,
                Err(_) => BodyFault::Timeout,
            };
            return Err(received.broken(fault));
        }
    }
}

/// What has arrived so far; dropped before its end, as when the sender hangs up, it leaves a line in the log.
pub(crate) struct Received<'a, P: Provider, Q: Request> {
    driver: &'a Driver<P>,
    request: &'a Q,
    chunks: Chunks,
    ended: bool,
}

impl<'a, P: Provider, Q: Request> Received<'a, P, Q> {
    /// A body that is complete, as long as nothing is known of it yet.
    pub(crate) fn whole(driver: &'a Driver<P>, request: &'a Q, body: Bytes) -> Self {
        Self { driver, request, chunks: Chunks::One(body), ended: false }
    }

    /// Its delivery is logged otherwise.
    pub(crate) fn end(mut self) -> Bytes {
        self.ended = true;
        std::mem::take(&mut self.chunks).into_bytes()
    }

    fn broken(mut self, fault: BodyFault) -> Answer {
        self.ended = true;
        self.driver.receiver().broken_body(self.request.scope(), self.request, self.chunks.as_slice(), fault)
    }
}

impl<P: Provider, Q: Request> Drop for Received<'_, P, Q> {
    fn drop(&mut self) {
        if !self.ended {
            // Nobody is left to take the answer.
            let _ = self.driver.receiver().broken_body(
                self.request.scope(),
                self.request,
                self.chunks.as_slice(),
                BodyFault::Aborted,
            );
        }
    }
}

/// The chunks so far. A body in one piece, as most are, is never copied.
enum Chunks {
    One(Bytes),
    Several(BytesMut),
}

impl Default for Chunks {
    fn default() -> Self {
        Self::One(Bytes::new())
    }
}

impl Chunks {
    fn push(&mut self, chunk: Bytes) {
        match self {
            // As HTTP/2 ends a body: no second piece.
            _ if chunk.is_empty() => {}
            Self::One(first) if first.is_empty() => *first = chunk,
            Self::One(first) => {
                let mut all = BytesMut::with_capacity(first.len() + chunk.len());
                all.extend_from_slice(first);
                all.extend_from_slice(&chunk);
                *self = Self::Several(all);
            }
            Self::Several(all) => all.extend_from_slice(&chunk),
        }
    }

    fn as_slice(&self) -> &[u8] {
        match self {
            Self::One(first) => first,
            Self::Several(all) => all,
        }
    }

    fn len(&self) -> usize {
        self.as_slice().len()
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Self::One(first) => first,
            Self::Several(all) => all.freeze(),
        }
    }
}
