//! One thread that writes: what comes while it is at work shares its next transaction.

use core::num::NonZeroUsize;
use std::{
    error::Error,
    io, iter,
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
};

use asixto_webhook_core::StoreError;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::oneshot;

/// How many steps share a transaction at most, so that the first of them does not wait for ever.
const BATCH: usize = 512;

/// What the thread does for its callers.
pub(super) trait Work: Send + 'static {
    type Step: Send;
    type Done: Send;

    /// Takes one step. An error undoes all steps of the transaction.
    fn step(&self, transaction: &Transaction<'_>, step: &Self::Step) -> rusqlite::Result<Self::Done>;

    /// Ends a transaction of these steps.
    fn finish(&self, transaction: &Transaction<'_>, steps: &[&Self::Step]) -> rusqlite::Result<()>;
}

/// The way to the thread. It ends with the last of its clones.
pub(super) struct Writer<W: Work>(SyncSender<Job<W>>);

struct Job<W: Work> {
    step: W::Step,
    reply: oneshot::Sender<Result<W::Done, Arc<rusqlite::Error>>>,
}

impl<W: Work> Writer<W> {
    pub(super) fn start(connection: Connection, work: W, queue: NonZeroUsize) -> io::Result<Self> {
        let (jobs, received) = sync_channel(queue.get());
        thread::Builder::new()
            .name("asixto-webhook-sqlite".to_owned())
            .spawn(move || run(connection, &work, &received))?;
        Ok(Self(jobs))
    }

    /// Takes a step, which is on the disk when this returns.
    pub(super) async fn take(&self, step: W::Step) -> Result<W::Done, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.0.try_send(Job { step, reply }).map_err(|error| match error {
            TrySendError::Full(_) => StoreError::unavailable("expected room in the queue to the disk, found it full"),
            TrySendError::Disconnected(_) => ended(),
        })?;
        match answer.await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => Err(StoreError::unavailable(Box::<dyn Error + Send + Sync>::from(error))),
            Err(_) => Err(ended()),
        }
    }
}

fn ended() -> StoreError {
    StoreError::unavailable("the thread that writes has ended")
}

fn run<W: Work>(mut connection: Connection, work: &W, jobs: &Receiver<Job<W>>) {
    while let Ok(first) = jobs.recv() {
        let batch = iter::once(first).chain(jobs.try_iter()).take(BATCH).collect();
        write(&mut connection, work, batch);
    }
}

fn write<W: Work>(connection: &mut Connection, work: &W, mut batch: Vec<Job<W>>) {
    match transact(connection, work, &mut batch) {
        Ok(done) => {
            for (job, done) in batch.into_iter().zip(done) {
                // It is written; whoever is gone comes back for it.
                _ = job.reply.send(Ok(done));
            }
        }
        Err(error) => {
            let error = Arc::new(error);
            for job in batch {
                _ = job.reply.send(Err(error.clone()));
            }
        }
    }
}

/// What became of the steps that are left in the batch.
fn transact<W: Work>(connection: &mut Connection, work: &W, batch: &mut Vec<Job<W>>) -> rusqlite::Result<Vec<W::Done>> {
    // Dropped at an error, it undoes itself.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // That may have taken its time: for whoever does not wait any more, nothing is claimed.
    batch.retain(|job| !job.reply.is_closed());
    let done = batch.iter().map(|job| work.step(&transaction, &job.step)).collect::<rusqlite::Result<Vec<_>>>()?;
    work.finish(&transaction, &batch.iter().map(|job| &job.step).collect::<Vec<_>>())?;
    transaction.commit()?;
    Ok(done)
}
