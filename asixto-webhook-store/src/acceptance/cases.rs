//! The cases. E1 to E9 are clauses of Asixto's contract on deduplication.

use core::{
    hint::spin_loop,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};
use std::{panic::resume_unwind, sync::Arc, thread};

use asixto_webhook_core::{Claimed, DedupKey, Held, StoreError, Token};
use tokio::{
    runtime::Handle,
    task::{JoinError, yield_now},
};

use super::{
    Case, Found, Harness,
    door::{BODY, Door, LEASE, MARGIN, OTHER, TTL, key, open, open_bounded},
};

type Outcome = Result<(), Found>;

/// Who races, and how often.
const RACES: [(Racers, usize); 2] = [(Racers::Tasks(100), 20), (Racers::Threads(2), 1_000)];

/// Tasks meet where a store awaits something, and threads, as long as each has a processor, wherever it does not.
#[derive(Debug, Clone, Copy)]
enum Racers {
    Tasks(usize),
    Threads(usize),
}

macro_rules! cases {
    ($($name:ident: $rule:literal,)*) => {
        /// All of them, the plain ones first.
        pub const CASES: &[Case] = &[$(Case {
            name: stringify!($name),
            rule: $rule,
            check: |harness| Box::pin($name(harness)),
        }),*];
    };
}

cases! {
    first_claim_is_fresh: "an id that nobody has claimed is fresh (E5)",
    second_claim_is_in_flight: "a claimed id is in flight, whatever the body, for what is left of the lease (E5, E6)",
    committed_id_is_done: "a committed id is done, and a conflict under another body (E2, E6)",
    released_id_is_fresh: "a released id is fresh, and its old owner has nothing left to settle (E5)",
    lease_ends_by_itself: "a claim whose lease is over is the next one's (E5)",
    lease_can_be_extended: "an extended lease ends as long after the extension as that says (E5)",
    late_owner_may_settle: "a late owner whom nobody has replaced still holds its claim (E5)",
    late_owner_is_fenced_off: "a late owner who was replaced can settle nothing, and disturbs nobody (E8)",
    late_owner_cannot_undo_a_commit: "a late owner cannot touch what its successor committed (E8)",
    body_is_that_of_the_commit: "the body that counts is that of the claim which was committed (E6)",
    commit_can_be_repeated: "a commit that is sent twice is taken twice, and makes nothing shorter (E7)",
    committed_id_cannot_be_reopened: "a commit is final: it can be neither released nor extended (E5)",
    done_is_remembered_for_the_ttl: "an id is done for the whole time to live, from the commit (E1)",
    fences_differ: "no two claims of an id have the same fence (E8)",
    ids_are_independent: "no id has to do with any other (E1)",
    any_duration_will_do: "no lease and no time to live is too short or too long",
    one_claim_wins_a_race: "of many claims at once exactly one is fresh (E5)",
    one_takeover_wins_a_race: "of many takeovers at once exactly one is fresh (E5, E8)",
    late_commit_and_takeover_exclude_each_other: "either the late owner commits or another takes over (E8)",
    full_store_says_so: "a full store takes no new id, and forgets none (E9)",
    full_store_serves_its_ids: "a full store still settles and answers for the ids it has (E9)",
    room_comes_back: "the room of ids that are over or released is free (E9)",
    takeover_needs_no_room: "a claim whose lease is over can be taken over in a full store (E9)",
    room_is_not_overbooked: "many claims at once get the room there is, no more and no less (E9)",
}

async fn first_claim_is_fresh(harness: &dyn Harness) -> Outcome {
    let [store, peer] = open(harness).await;
    store.fresh(&key("a"), &BODY).await?;
    peer.fresh(&key("b"), &BODY).await?;
    Ok(())
}

async fn second_claim_is_in_flight(harness: &dyn Harness) -> Outcome {
    let [store, peer] = open(harness).await;
    let id = key("id");
    store.fresh(&id, &BODY).await?;
    for (door, body) in [(&peer, &BODY), (&store, &OTHER), (&peer, &OTHER)] {
        let remaining = door.in_flight(&id, body).await?;
        within(LEASE - MARGIN, remaining, LEASE)?;
    }
    harness.advance(LEASE - 2 * MARGIN).await;
    within(MARGIN, peer.in_flight(&id, &BODY).await?, 2 * MARGIN)
}

async fn committed_id_is_done(harness: &dyn Harness) -> Outcome {
    let [store, peer] = open(harness).await;
    let id = key("id");
    let token = store.fresh(&id, &BODY).await?;
    peer.commit(&token, Held::Yes).await?;
    for door in [&store, &peer, &store] {
        door.done(&id, &BODY).await?;
        door.conflict(&id, &OTHER).await?;
    }
    harness.advance(LEASE + MARGIN).await;
    peer.done(&id, &BODY).await?;
    peer.conflict(&id, &OTHER).await
}

async fn released_id_is_fresh(harness: &dyn Harness) -> Outcome {
    let [store, peer] = open(harness).await;
    let id = key("id");
    let token = store.fresh(&id, &BODY).await?;
    peer.release(&token, Held::Yes).await?;
    all_lost(&store, &token).await?;
    let next = store.fresh(&id, &OTHER).await?;
    all_lost(&peer, &token).await?;
    peer.in_flight(&id, &BODY).await?;
    store.commit(&next, Held::Yes).await
}

async fn lease_ends_by_itself(harness: &dyn Harness) -> Outcome {
    let [store, peer] = open(harness).await;
    let id = key("id");
    store.fresh(&id, &BODY).await?;
    harness.advance(LEASE - MARGIN).await;
    peer.in_flight(&id, &BODY).await?;
    harness.advance(2 * MARGIN).await;
    let next = peer.fresh(&id, &BODY).await?;
    within(LEASE - MARGIN, store.in_flight(&id, &BODY).await?, LEASE)?;
    peer.commit(&next, Held::Yes).await?;
    store.done(&id, &BODY).await
}

async fn lease_can_be_extended(harness: &dyn Harness) -> Outcome {
    let [store, peer] = open(harness).await;
    let id = key("id");
    let token = store.fresh(&id, &BODY).await?;
    for door in [&store, &peer, &store] {
        harness.advance(LEASE - MARGIN).await;
        door.extend(&token, LEASE, Held::Yes).await?;
        within(LEASE - MARGIN, peer.in_flight(&id, &BODY).await?, LEASE)?;
    }
    // From the extension, not from the end of the lease that it replaces.
    harness.advance(LEASE + MARGIN).await;
    peer.fresh(&id, &BODY).await?;
    Ok(())
}

async fn late_owner_may_settle(harness: &dyn Harness) -> Outcome {
    let [store, peer] = open(harness).await;
    let [committed, released, extended] = ["committed", "released", "extended"].map(key);
    let tokens = [
        store.fresh(&committed, &BODY).await?,
        store.fresh(&released, &BODY).await?,
        store.fresh(&extended, &BODY).await?,
    ];
    harness.advance(LEASE + MARGIN).await;
    // Others come and go meanwhile.
    peer.fresh(&key("other"), &BODY).await?;

    let [commit, release, extend] = &tokens;
    peer.commit(commit, Held::Yes).await?;
    store.done(&committed, &BODY).await?;
    store.conflict(&committed, &OTHER).await?;
    peer.release(release, Held::Yes).await?;
    store.fresh(&released, &BODY).await?;
    peer.extend(extend, LEASE, Held::Yes).await?;
    within(LEASE - MARGIN, store.in_flight(&extended, &BODY).await?, LEASE)?;
    store.commit(extend, Held::Yes).await
}

async fn late_owner_is_fenced_off(harness: &dyn Harness) -> Outcome {
    let [store, peer] = open(harness).await;
    let id = key("id");
    let late = store.fresh(&id, &BODY).await?;
    harness.advance(LEASE + MARGIN).await;
    let owner = peer.fresh(&id, &BODY).await?;

    store.commit(&late, Held::Lost).await?;
    peer.in_flight(&id, &BODY).await?;
    store.release(&late, Held::Lost).await?;
    peer.in_flight(&id, &BODY).await?;
    store.extend(&late, 10 * LEASE, Held::Lost).await?;
    within(LEASE - MARGIN, peer.in_flight(&id, &BODY).await?, LEASE)?;

    peer.extend(&owner, LEASE, Held::Yes).await?;
    peer.commit(&owner, Held::Yes).await?;
    store.done(&id, &BODY).await
}

async fn late_owner_cannot_undo_a_commit(harness: &dyn Harness) -> Outcome {
    let [store, peer] = open(harness).await;
    let id = key("id");
    let late = store.fresh(&id, &BODY).await?;
    harness.advance(LEASE + MARGIN).await;
    let owner = peer.fresh(&id, &OTHER).await?;
    peer.commit(&owner, Held::Yes).await?;
    all_lost(&store, &late).await?;
    store.done(&id, &OTHER).await?;
    peer.conflict(&id, &BODY).await
}

async fn body_is_that_of_the_commit(harness: &dyn Harness) -> Outcome {
    let [store, peer] = open(harness).await;
    let [released, taken_over] = ["released", "taken over"].map(key);
    let token = store.fresh(&released, &BODY).await?;
    store.fresh(&taken_over, &BODY).await?;
    store.release(&token, Held::Yes).await?;
    harness.advance(LEASE + MARGIN).await;

    for id in [&released, &taken_over] {
        let token = peer.fresh(id, &OTHER).await?;
        // What another asks meanwhile leaves no trace.
        store.in_flight(id, &BODY).await?;
        peer.commit(&token, Held::Yes).await?;
        store.done(id, &OTHER).await?;
        store.conflict(id, &BODY).await?;
        store.done(id, &OTHER).await?;
    }
    Ok(())
}

/// The first may have been taken although its answer was lost.
async fn commit_can_be_repeated(harness: &dyn Harness) -> Outcome {
    let [store, peer] = open(harness).await;
    let id = key("id");
    let token = store.fresh(&id, &BODY).await?;
    store.commit(&token, Held::Yes).await?;
    peer.commit(&token, Held::Yes).await?;
    peer.done(&id, &BODY).await?;
    peer.commit_for(&token, LEASE, Held::Yes).await?;
    harness.advance(LEASE + MARGIN).await;
    store.done(&id, &BODY).await?;
    store.conflict(&id, &OTHER).await
}

async fn committed_id_cannot_be_reopened(harness: &dyn Harness) -> Outcome {
    let [store, peer] = open(harness).await;
    let id = key("id");
    let token = store.fresh(&id, &BODY).await?;
    store.commit(&token, Held::Yes).await?;
    for door in [&peer, &store] {
        door.release(&token, Held::Lost).await?;
        door.done(&id, &BODY).await?;
        door.extend(&token, LEASE, Held::Lost).await?;
        door.done(&id, &BODY).await?;
    }
    harness.advance(LEASE + MARGIN).await;
    store.done(&id, &BODY).await
}

async fn done_is_remembered_for_the_ttl(harness: &dyn Harness) -> Outcome {
    let [store, peer] = open(harness).await;
    let id = key("id");
    // Long at work, so that counting from the claim would show.
    let token = store.fresh_for(&id, &BODY, 10 * LEASE).await?;
    harness.advance(8 * LEASE).await;
    store.commit(&token, Held::Yes).await?;
    harness.advance(TTL - MARGIN).await;
    peer.done(&id, &BODY).await?;
    peer.conflict(&id, &OTHER).await?;
    harness.advance(2 * MARGIN).await;
    let next = peer.fresh(&id, &OTHER).await?;
    store.in_flight(&id, &BODY).await?;
    peer.commit(&next, Held::Yes).await?;
    store.done(&id, &OTHER).await
}

async fn fences_differ(harness: &dyn Harness) -> Outcome {
    let [store, peer] = open(harness).await;
    let id = key("id");
    let mut fences = Vec::new();
    for turn in 0..12 {
        let (door, other) = if turn % 2 == 0 { (&store, &peer) } else { (&peer, &store) };
        let token = door.fresh(&id, &BODY).await?;
        let fence = token.fence();
        Found::unless(!fences.contains(&fence), "a fence that was not there before", &fence)?;
        fences.push(fence);
        match turn % 3 {
            0 => other.release(&token, Held::Yes).await?,
            1 => harness.advance(LEASE + MARGIN).await,
            _ => {
                other.commit_for(&token, LEASE, Held::Yes).await?;
                harness.advance(LEASE + MARGIN).await;
            }
        }
    }
    Ok(())
}

async fn ids_are_independent(harness: &dyn Harness) -> Outcome {
    let [store, peer] = open(harness).await;
    // Each differs from the first in a single bit, one in every byte, and two are as low and as high as can be.
    let first = *key("id").as_bytes();
    let alike = (0..first.len()).map(|at| {
        let mut bytes = first;
        bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1);
        bytes
    });
    let ids = [first, [0; 32], [0xff; 32]].into_iter().chain(alike).map(DedupKey::from_bytes).collect::<Vec<_>>();

    let mut tokens = Vec::new();
    for id in &ids {
        tokens.push(store.fresh(id, &BODY).await?);
    }
    for (at, token) in tokens.iter().enumerate() {
        match at % 3 {
            0 => peer.commit(token, Held::Yes).await?,
            1 => peer.release(token, Held::Yes).await?,
            _ => {}
        }
    }
    for (at, id) in ids.iter().enumerate() {
        match at % 3 {
            0 => store.done(id, &BODY).await?,
            1 => _ = store.fresh(id, &BODY).await?,
            _ => _ = store.in_flight(id, &BODY).await?,
        }
    }
    Ok(())
}

async fn any_duration_will_do(harness: &dyn Harness) -> Outcome {
    let [store, peer] = open(harness).await;
    let ever = key("ever");
    let token = store.fresh_for(&ever, &BODY, Duration::MAX).await?;
    let remaining = peer.in_flight(&ever, &BODY).await?;
    Found::unless(remaining >= TTL, "a remaining lease of more than a week", &remaining)?;
    store.extend(&token, Duration::MAX, Held::Yes).await?;
    peer.in_flight(&ever, &BODY).await?;
    store.commit_for(&token, Duration::MAX, Held::Yes).await?;
    harness.advance(TTL + MARGIN).await;
    peer.done(&ever, &BODY).await?;

    // A lease of nothing keeps nobody out, and an owner whom nobody has replaced may still commit.
    let never = key("never");
    let first = store.fresh_for(&never, &BODY, Duration::ZERO).await?;
    let second = peer.fresh_for(&never, &BODY, Duration::ZERO).await?;
    store.commit(&first, Held::Lost).await?;
    peer.commit_for(&second, Duration::ZERO, Held::Yes).await?;
    store.fresh(&never, &BODY).await?;
    Ok(())
}

async fn one_claim_wins_a_race(harness: &dyn Harness) -> Outcome {
    for (racers, heats) in RACES {
        let doors = open(harness).await;
        one_winner_each(claim_race(&doors, racers, &keys(heats)).await)?;
    }
    Ok(())
}

async fn one_takeover_wins_a_race(harness: &dyn Harness) -> Outcome {
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

async fn late_commit_and_takeover_exclude_each_other(harness: &dyn Harness) -> Outcome {
    for racers in [Racers::Tasks(2), Racers::Threads(2)] {
        let (doors, ids) = (open(harness).await, keys(1_000));
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

async fn full_store_says_so(harness: &dyn Harness) -> Outcome {
    let Some([store, peer]) = open_bounded(harness, 8).await else { return Ok(()) };
    let ids = (0..8).map(key).collect::<Vec<_>>();
    for (at, id) in ids.iter().enumerate() {
        let token = store.fresh(id, &BODY).await?;
        if at % 2 == 0 {
            peer.commit(&token, Held::Yes).await?;
        }
    }
    for one_more in 8..40 {
        peer.full(&key(one_more)).await?;
    }
    for (at, id) in ids.iter().enumerate() {
        match at % 2 {
            0 => store.done(id, &BODY).await?,
            _ => _ = store.in_flight(id, &BODY).await?,
        }
    }
    Ok(())
}

async fn full_store_serves_its_ids(harness: &dyn Harness) -> Outcome {
    let Some([store, peer]) = open_bounded(harness, 3).await else { return Ok(()) };
    let [first, second, third, other] = ["first", "second", "third", "other"].map(key);
    let token = store.fresh(&first, &BODY).await?;
    store.commit(&token, Held::Yes).await?;
    let token = store.fresh(&second, &BODY).await?;
    let released = store.fresh(&third, &BODY).await?;
    peer.full(&other).await?;

    peer.done(&first, &BODY).await?;
    peer.conflict(&first, &OTHER).await?;
    peer.in_flight(&second, &OTHER).await?;
    store.extend(&token, LEASE, Held::Yes).await?;
    store.commit(&token, Held::Yes).await?;
    peer.done(&second, &BODY).await?;
    peer.full(&other).await?;

    store.release(&released, Held::Yes).await?;
    peer.fresh(&other, &BODY).await?;
    store.full(&third).await
}

async fn room_comes_back(harness: &dyn Harness) -> Outcome {
    let Some([store, peer]) = open_bounded(harness, 6).await else { return Ok(()) };
    for at in 0..6 {
        let token = store.fresh(&key(at), &BODY).await?;
        if at < 4 {
            store.commit(&token, Held::Yes).await?;
        }
    }
    peer.full(&key("early")).await?;

    // Two leases are over.
    harness.advance(LEASE + MARGIN).await;
    for at in 6..8 {
        let token = peer.fresh(&key(at), &BODY).await?;
        peer.commit(&token, Held::Yes).await?;
    }
    store.full(&key("too many")).await?;
    for at in (0..4).chain(6..8) {
        store.done(&key(at), &BODY).await?;
    }

    // Four times to live are over, and the last two are not yet.
    harness.advance(TTL - LEASE).await;
    for at in 8..12 {
        store.fresh(&key(at), &BODY).await?;
    }
    peer.full(&key("too many")).await?;
    for at in 6..8 {
        peer.done(&key(at), &BODY).await?;
    }
    Ok(())
}

async fn takeover_needs_no_room(harness: &dyn Harness) -> Outcome {
    let Some([store, peer]) = open_bounded(harness, 1).await else { return Ok(()) };
    let id = key("id");
    store.fresh(&id, &BODY).await?;
    harness.advance(LEASE + MARGIN).await;
    let token = peer.fresh(&id, &BODY).await?;
    store.full(&key("other")).await?;
    peer.commit(&token, Held::Yes).await?;
    harness.advance(TTL + MARGIN).await;
    store.fresh(&id, &BODY).await?;
    Ok(())
}

async fn room_is_not_overbooked(harness: &dyn Harness) -> Outcome {
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

/// Nothing is left for the holder of `token` to do.
async fn all_lost(door: &Door, token: &Token) -> Outcome {
    door.commit(token, Held::Lost).await?;
    door.release(token, Held::Lost).await?;
    door.extend(token, LEASE, Held::Lost).await
}

#[track_caller]
fn within(least: Duration, remaining: Duration, most: Duration) -> Outcome {
    let expected = format!("a remaining lease of {least:?} to {most:?}");
    Found::unless(least <= remaining && remaining <= most, &expected, &remaining)
}
