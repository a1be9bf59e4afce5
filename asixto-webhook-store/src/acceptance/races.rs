//! Cases in which several go for the same thing at the same moment.

use core::{
    hint::spin_loop,
    sync::atomic::{AtomicUsize, Ordering},
};
use std::{panic::resume_unwind, sync::Arc, thread};

use asixto_webhook_core::{Claimed, DedupKey, Held, StoreError, Token};
use tokio::{
    runtime::Handle,
    task::{JoinError, yield_now},
};

use super::{
    Found, Harness, Outcome,
    door::{BODY, Door, LEASE, MARGIN, TTL, key, open, open_bounded},
};

/// Who races, and how often.
const RACES: [(Racers, usize); 2] = [(Racers::Tasks(100), 20), (Racers::Threads(2), 300)];

/// Tasks meet where a store awaits something, and threads, as long as each has a processor, wherever it does not.
#[derive(Debug, Clone, Copy)]
enum Racers {
    Tasks(usize),
    Threads(usize),
}

pub(super) async fn one_claim_wins_a_race(harness: &dyn Harness) -> Outcome {
    for (racers, heats) in RACES {
        let doors = open(harness).await;
        one_winner_each(claim_race(&doors, racers, &keys(heats)).await)?;
    }
    Ok(())
}

pub(super) async fn one_takeover_wins_a_race(harness: &dyn Harness) -> Outcome {
    for (racers, heats) in RACES {
        let (doors, ids) = (open(harness).await, keys(heats));
        let [store, peer] = &doors;
        let late = store.fresh_all(&ids).await?;
        harness.advance(LEASE + MARGIN).await;
        let owners = one_winner_each(claim_race(&doors, racers, &ids).await)?;
        for late in &late {
            store.commit(late, Held::Lost).await?;
        }
        for owner in &owners {
            peer.commit(owner, Held::Yes).await?;
        }
    }
    Ok(())
}

pub(super) async fn late_commit_and_takeover_exclude_each_other(harness: &dyn Harness) -> Outcome {
    for racers in [Racers::Tasks(2), Racers::Threads(2)] {
        let (doors, ids) = (open(harness).await, keys(300));
        let tokens = Arc::new(doors[0].fresh_all(&ids).await?);
        harness.advance(LEASE + MARGIN).await;

        let wins = race(&doors, racers, |racer, door, mut line| {
            let tokens = Arc::clone(&tokens);
            async move {
                let mut wins = Vec::new();
                for token in tokens.iter() {
                    line.start().await;
                    wins.push(match racer {
                        0 => door.try_commit(token).await? == Held::Yes,
                        _ => door.fresh_or_done(token.key()).await?,
                    });
                }
                Ok(wins)
            }
        });
        one_winner_per_heat(&wins.await.into_iter().collect::<Result<Vec<_>, _>>()?)?;
    }
    Ok(())
}

pub(super) async fn room_is_not_overbooked(harness: &dyn Harness) -> Outcome {
    for (racers, heats) in RACES {
        let Some(doors) = open_bounded(harness, 4).await else { return Ok(()) };
        for token in doors[0].fresh_all(&keys(4)).await? {
            doors[1].commit(&token, Held::Yes).await?;
        }
        // Room for one, at first that of an id which is over.
        harness.advance(TTL + MARGIN).await;
        doors[0].fresh_all(&keys(3)).await?;

        let wins = race(&doors, racers, |racer, door, mut line| async move {
            let (id, mut wins) = (key(format!("racer {racer}")), Vec::new());
            for _ in 0..heats {
                line.start().await;
                let token = door.fresh_or_full(&id).await?;
                line.start().await;
                if let Some(token) = &token {
                    door.release(token, Held::Yes).await?;
                }
                wins.push(token.is_some());
            }
            Ok(wins)
        });
        one_winner_per_heat(&wins.await.into_iter().collect::<Result<Vec<_>, _>>()?)?;
    }
    Ok(())
}

fn keys(count: usize) -> Arc<[DedupKey]> {
    (0..count).map(key).collect()
}

/// What came of the claims of each racer for each of `ids`.
async fn claim_race(doors: &[Door; 2], racers: Racers, ids: &Arc<[DedupKey]>) -> Vec<Vec<Result<Claimed, StoreError>>> {
    let claims = race(doors, racers, |_, door, mut line| {
        let ids = Arc::clone(ids);
        async move {
            let mut claims = Vec::new();
            for id in ids.iter() {
                line.start().await;
                claims.push(door.claim(id, &BODY, LEASE).await);
            }
            claims
        }
    });
    claims.await
}

/// Lets racers run, each behind a door, and gives what came of them.
async fn race<R, T>(doors: &[Door; 2], racers: Racers, racer: impl Fn(usize, Door, StartLine) -> R) -> Vec<T>
where
    R: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    let (Racers::Tasks(count) | Racers::Threads(count)) = racers;
    let arrived = Arc::default();
    let run = |(at, door): (usize, &Door)| {
        let line = StartLine { racer: at, racers: count, heats: 0, arrived: Arc::clone(&arrived) };
        let (racer, runtime) = (racer(at, door.clone(), line), Handle::current());
        match racers {
            Racers::Tasks(_) => runtime.spawn(racer),
            Racers::Threads(_) => runtime.clone().spawn_blocking(move || runtime.block_on(racer)),
        }
    };
    let running = doors.iter().cycle().take(count).enumerate().map(run).collect::<Vec<_>>();
    let mut results = Vec::new();
    for racer in running {
        results.push(joined(racer.await));
    }
    results
}

/// Where a racer waits for the others before every heat. They stay awake for it: those who are woken by another
/// start one by one, and too late.
#[derive(Debug)]
struct StartLine {
    racer: usize,
    racers: usize,
    heats: usize,
    arrived: Arc<AtomicUsize>,
}

impl StartLine {
    async fn start(&mut self) {
        self.heats += 1;
        self.arrived.fetch_add(1, Ordering::SeqCst);
        while !self.all_have_arrived() {
            // To the other tasks of this thread, and to the other threads of this processor.
            yield_now().await;
            thread::yield_now();
        }
        // In some heat this one is ahead by just as much as it takes to hit the gap.
        (0..self.heats * (self.racer + 1) % 64).for_each(|_| spin_loop());
    }

    /// Looks hard for a moment, which costs less time than to be called again.
    fn all_have_arrived(&self) -> bool {
        (0..200).any(|_| {
            spin_loop();
            self.arrived.load(Ordering::SeqCst) >= self.heats * self.racers
        })
    }
}

impl Drop for StartLine {
    /// Who gives up, or panics, keeps nobody waiting.
    fn drop(&mut self) {
        self.arrived.fetch_or(1 << (usize::BITS - 1), Ordering::SeqCst);
    }
}

/// What a task came to. If the store has panicked, so does the case.
fn joined<T>(result: Result<T, JoinError>) -> T {
    result.unwrap_or_else(|error| resume_unwind(error.into_panic()))
}

/// For each id the token of its only fresh claim, all others having met one in flight.
#[track_caller]
fn one_winner_each(racers: Vec<Vec<Result<Claimed, StoreError>>>) -> Result<Vec<Token>, Found> {
    let ids = racers.first().map_or(0, Vec::len);
    let mut winners = Vec::new();
    for claimed in racers.into_iter().flatten() {
        match claimed {
            Ok(Claimed::Fresh(token)) => winners.push(token),
            Ok(Claimed::InFlight { .. }) => {}
            other => return Err(Found::instead_of("a fresh claim or one in flight", &other)),
        }
    }
    let fresh = winners.len();
    winners.sort_by_key(|token| *token.key());
    winners.dedup_by_key(|token| *token.key());
    let expected = format!("exactly one fresh claim for each of {ids} ids");
    Found::unless((fresh, winners.len()) == (ids, ids), &expected, &fresh)?;
    Ok(winners)
}

#[track_caller]
fn one_winner_per_heat(racers: &[Vec<bool>]) -> Outcome {
    let heats = racers.first().map_or(0, Vec::len);
    (0..heats).try_for_each(|heat| {
        let winners = racers.iter().filter(|wins| wins.get(heat) == Some(&true)).count();
        Found::unless(winners == 1, "exactly one to win each race", &winners)
    })
}
