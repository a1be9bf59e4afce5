//! One delivery from its body to its answer, and what goes on when the sender is gone.

use std::{
    fmt,
    future::{Future, pending, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use asixto_webhook_core::{
    Answer, Asixto, Authentic, BoxFuture, Bytes, Delivery, Event, Handled, HeaderLines, Held, Outcome, Placed,
    Receiver, Ticket, Timer, provider::Provider,
};
use tokio::{
    sync::oneshot::{self, error::TryRecvError},
    task::{JoinHandle, spawn_local, yield_now},
    time::{Instant, sleep, sleep_until, timeout, timeout_at},
};
use tokio_util::task::TaskTracker;
use tracing::{Instrument, Span};

use crate::body::Received;

/// How long a commit that failed is tried again. The sender has its 2xx and does not come back by itself, so that
/// what is at stake after this is one repeat.
const COMMIT_PATIENCE: Duration = Duration::from_secs(60 * 60);

/// A store, a secret source and a handler that panic are seen to.
const INTERRUPTED: &str = "the delivery was broken off: has a clock or a provider panicked?";

/// How long after the time for an answer its task is given up for stuck: it answers in time by itself if it can.
const STUCK_AFTER: Duration = Duration::from_millis(250);

/// A receiver with a runtime under it. All drivers of one receiver share what is running.
pub struct Driver<P: Provider = Asixto> {
    receiver: Receiver<P>,
    work: TaskTracker,
}

/// The head of a request, as a framework has it.
pub trait Request: HeaderLines {
    /// The method, in upper case.
    fn method(&self) -> &str;

    /// The tenant it is for, where that is not the receiver's own scope.
    fn scope(&self) -> Option<&str> {
        None
    }
}

/// How a delivery ended.
#[derive(Debug)]
#[must_use = "the sender waits for it"]
#[expect(clippy::exhaustive_structs, reason = "an adapter must deal with both")]
pub struct Reply<R> {
    /// The status, and the headers to set on whatever is sent.
    pub answer: Answer,
    /// The handler's response, where it is to be sent; otherwise the answer goes alone, without a body.
    pub response: Option<R>,
}

impl<P: Provider> Driver<P> {
    /// Drives `receiver`, whose secrets and stores are from now on awaited under their timeouts.
    #[must_use]
    pub fn new(receiver: &Receiver<P>) -> Self {
        // Shared, so that a drain misses nothing that another route of the receiver has begun.
        let work = receiver.companion(TaskTracker::new).as_deref().cloned().unwrap_or_default();
        Self { receiver: receiver.with_timer(Arc::new(TokioTimer)), work }
    }

    /// The receiver.
    #[must_use]
    pub fn receiver(&self) -> &Receiver<P> {
        &self.receiver
    }

    /// Asks a user's function for the scope of a request.
    ///
    /// # Errors
    /// The answer where it panics: a request that the function did not foresee comes from the sender.
    pub fn scope(&self, name: impl FnOnce() -> String) -> Result<String, Answer> {
        catch_unwind(AssertUnwindSafe(name))
            .map_err(|_| self.receiver.interrupted("the function that names the scope of a request panicked"))
    }

    /// Admits a delivery, runs its handler, and settles it.
    ///
    /// Until the signature holds, dropping the returned future stops everything, so that nobody can have work done by
    /// asking and hanging up. From then on it stops nothing: the event is claimed, handled and settled in tasks of its
    /// own. `status` says what a handler's response is worth.
    ///
    /// A handler that blocks its thread can hold up the runtime's timers and sockets, and with them answers and the
    /// renewal of claims, on however many threads it runs: blocking work belongs into `spawn_blocking`.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn run<Q, H, F, R>(
        &self,
        arrived: Instant,
        request: Q,
        body: Bytes,
        handler: H,
        status: fn(&R) -> u16,
    ) -> Reply<R>
    where
        Q: Request + Send + 'static,
        H: FnOnce(Q, Event<P>) -> F + Send + 'static,
        F: Future<Output = R> + Send + 'static,
        R: Send + 'static,
    {
        let authentic = match self.authenticate(&request, body).await {
            Ok(authentic) => authentic,
            Err(answer) => return Reply { answer, response: None },
        };
        // Called inside its task, so that a handler which panics before its first await is caught as well.
        let start = |event, span| tokio::spawn(async move { handler(request, event).await }.instrument(span));
        let (work, answer) = self.work(arrived, authentic, start, status);
        tokio::spawn(work);
        self.outcome(arrived, answer).await
    }

    /// [`run`](Self::run) for a framework whose handlers stay on their thread: nothing has to be `Send`.
    ///
    /// The tasks belong to the thread's `LocalSet` or `LocalRuntime`, and end with it whether they are done or not:
    /// [`drain`](Self::drain) before it goes.
    ///
    /// # Panics
    /// Outside of both.
    pub async fn run_local<Q, H, F, R>(
        &self,
        arrived: Instant,
        request: Q,
        body: Bytes,
        handler: H,
        status: fn(&R) -> u16,
    ) -> Reply<R>
    where
        Q: Request + 'static,
        H: FnOnce(Q, Event<P>) -> F + 'static,
        F: Future<Output = R> + 'static,
        R: 'static,
    {
        let authentic = match self.authenticate(&request, body).await {
            Ok(authentic) => authentic,
            Err(answer) => return Reply { answer, response: None },
        };
        let start = |event, span| spawn_local(async move { handler(request, event).await }.instrument(span));
        let (work, answer) = self.work(arrived, authentic, start, status);
        spawn_local(work);
        self.outcome(arrived, answer).await
    }

    /// Waits until every delivery that was admitted is settled, for a shutdown: after the server has stopped, or,
    /// where its threads take their tasks with them (see [`run_local`](Self::run_local)), before it stops.
    ///
    /// # Errors
    /// [`Undrained`] if some are still running after `limit`. Their claims end with their leases: the sender comes
    /// back for them.
    pub async fn drain(&self, limit: Duration) -> Result<(), Undrained> {
        self.work.close();
        timeout(limit, self.work.wait()).await.map_err(|_| Undrained { remaining: self.work.len(), limit })
    }

    /// Lets nothing but a signature that holds through.
    async fn authenticate(&self, request: &impl Request, body: Bytes) -> Result<Authentic<P>, Answer> {
        let received = Received::whole(self, request, body.clone());
        let mut delivery = Delivery::new(request.method(), request, body);
        if let Some(scope) = request.scope() {
            delivery = delivery.scope(scope);
        }
        let authentic = caught(self.receiver.authenticate(delivery)).await;
        received.end();
        authentic.unwrap_or_else(|| Err(self.receiver.interrupted(INTERRUPTED)))
    }

    /// The task of an authentic event, and where its answer comes from.
    fn work<S, R>(
        &self,
        arrived: Instant,
        authentic: Authentic<P>,
        start: S,
        status: fn(&R) -> u16,
    ) -> (impl Future<Output = ()> + use<P, S, R>, oneshot::Receiver<Reply<R>>)
    where
        S: FnOnce(Event<P>, Span) -> JoinHandle<R>,
    {
        let (reply, answer) = oneshot::channel();
        let work = self.clone().supervise(arrived, authentic, start, status, reply);
        (self.work.track_future(work.in_current_span()), answer)
    }

    /// Waits for the answer where the sender waits, since the task may have lost its thread to a seam that blocks.
    async fn outcome<R>(&self, arrived: Instant, mut answer: oneshot::Receiver<Reply<R>>) -> Reply<R> {
        let deadline = arrived + self.receiver.timeouts().answer + STUCK_AFTER;
        let interrupted = || Reply { answer: self.receiver.interrupted(INTERRUPTED), response: None };
        if let Ok(reply) = timeout_at(deadline, &mut answer).await {
            return reply.unwrap_or_else(|_| interrupted());
        }
        // Where everything was held up, the task's own timer has gone off as well, and has its turn first.
        yield_now().await;
        match answer.try_recv() {
            Ok(reply) => reply,
            Err(TryRecvError::Closed) => interrupted(),
            Err(TryRecvError::Empty) => Reply { answer: self.receiver.stuck(), response: None },
        }
    }

    async fn supervise<R>(
        self,
        arrived: Instant,
        authentic: Authentic<P>,
        start: impl FnOnce(Event<P>, Span) -> JoinHandle<R>,
        status: fn(&R) -> u16,
        reply: oneshot::Sender<Reply<R>>,
    ) {
        let (event, ticket) = match self.receiver.place(authentic).await {
            Placed::Process(event, ticket) => (event, ticket),
            Placed::Answer(answer, left) => {
                // An adapter may take back what its handler would have had.
                drop(start);
                send(reply, answer.clone(), None);
                if let Some(ticket) = left
                    && !self.receiver.settle_rest(&answer, &ticket).await
                {
                    self.commit_later(&ticket).await;
                }
                return;
            }
        };

        let mut sender = Sender { receiver: &self.receiver, ticket: &ticket, arrived, waiting: Some(reply) };
        let handler = start(event, self.receiver.span(&ticket));
        let response = sender.hold(self.attend(handler, &ticket)).await;
        let handled = response.as_ref().map_or(Handled::Panicked, |response| Handled::Answered(status(response)));
        let answer = self.receiver.finished(&ticket, handled);
        let processed = answer.outcome() == Outcome::Processed;
        if processed {
            let committed = sender.in_time(self.receiver.commit(&ticket)).await == Some(Held::Yes);
            sender.answer(answer, response);
            if !committed {
                self.commit_later(&ticket).await;
            }
        } else {
            let released = sender.in_time(self.receiver.release(&ticket)).await.is_some();
            sender.answer(answer, response);
            if !released {
                // Once more, with all of its time. Failing that, the claim ends with its lease.
                let _ = self.receiver.release(&ticket).await;
            }
        }
    }

    /// The handler's response, or `None` for a panic. Meanwhile the claim is renewed.
    async fn attend<R>(&self, mut handler: JoinHandle<R>, ticket: &Ticket<P>) -> Option<R> {
        let mut renewals = pin!(self.renew(ticket));
        poll_fn(|cx| {
            let ended = Pin::new(&mut handler).poll(cx);
            if ended.is_pending() {
                let _: Poll<()> = renewals.as_mut().poll(cx);
            }
            ended.map(Result::ok)
        })
        .await
    }

    /// Renews the claim three times a lease, so that one failure is no loss. Never ends.
    async fn renew(&self, ticket: &Ticket<P>) {
        let timeouts = self.receiver.timeouts();
        let end = Instant::now() + timeouts.handler;
        loop {
            sleep(timeouts.lease / 3).await;
            if Instant::now() >= end {
                self.receiver.overdue(ticket);
                break;
            }
            // Lost is not the end: whoever has taken the claim over may fail, or be a copy here.
            let _ = self.receiver.renew(ticket).await;
        }
        pending().await
    }

    /// Tries again until the store takes the commit, often enough to come before the next claim when it is back. The
    /// event counts as running here until then.
    async fn commit_later(&self, ticket: &Ticket<P>) {
        let most = self.receiver.timeouts().lease / 3;
        let end = Instant::now() + COMMIT_PATIENCE;
        let mut wait = Duration::from_millis(100);
        while Instant::now() < end {
            sleep(wait).await;
            if matches!(self.receiver.commit(ticket).await, Ok(Held::Yes)) {
                return;
            }
            wait = (wait * 2).min(most);
        }
        self.receiver.uncommitted(ticket);
    }
}

/// The sender of an admitted event, as long as it waits.
struct Sender<'a, P: Provider, R> {
    receiver: &'a Receiver<P>,
    ticket: &'a Ticket<P>,
    arrived: Instant,
    waiting: Option<oneshot::Sender<Reply<R>>>,
}

impl<P: Provider, R> Sender<'_, P, R> {
    /// Does `work`, however long it takes; a sender that has waited for as long as it will is told that it is slow.
    async fn hold<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let mut patience = pin!(sleep_until(self.deadline()));
        poll_fn(|cx| {
            let done = work.as_mut().poll(cx);
            if done.is_pending() && self.waiting.is_some() && patience.as_mut().poll(cx).is_ready() {
                self.answer(self.receiver.slow(self.ticket), None);
            }
            done
        })
        .await
    }

    /// Takes a last step, but keeps a sender that still waits no longer than it waits. `None` where that failed.
    async fn in_time<T, E>(&self, step: impl Future<Output = Result<T, E>>) -> Option<T> {
        let done = match self.waiting {
            Some(_) => timeout_at(self.deadline(), step).await.ok()?,
            None => step.await,
        };
        done.ok()
    }

    fn deadline(&self) -> Instant {
        self.arrived + self.receiver.timeouts().answer
    }

    fn answer(&mut self, answer: Answer, response: Option<R>) {
        if let Some(reply) = self.waiting.take() {
            send(reply, answer, response);
        }
    }
}

/// `None` for a panic: of a provider of the user's own, say, for which a connection should not have to pay.
async fn caught<T>(work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
        Ok(work) => work.map(Some),
        Err(_) => Poll::Ready(None),
    })
    .await
}

/// To whoever still waits for it.
fn send<R>(reply: oneshot::Sender<Reply<R>>, answer: Answer, response: Option<R>) {
    let response = response.filter(|_| answer.keeps_response());
    // An error means that the sender is gone.
    let _ = reply.send(Reply { answer, response });
}

impl<P: Provider> Clone for Driver<P> {
    fn clone(&self) -> Self {
        Self { receiver: self.receiver.clone(), work: self.work.clone() }
    }
}

impl<P: Provider> fmt::Debug for Driver<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("receiver", &self.receiver).field("running", &self.work.len()).finish()
    }
}

/// Measures timeouts with tokio's clock.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct TokioTimer;

impl Timer for TokioTimer {
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(sleep(duration))
    }
}

/// Some deliveries were still running at the end of a drain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Undrained {
    /// How many.
    pub remaining: usize,
    /// How long was waited for them.
    pub limit: Duration,
}

impl fmt::Display for Undrained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected every delivery to end within {:?}, found {} still running", self.limit, self.remaining)
    }
}

impl std::error::Error for Undrained {}
