//! The cases. E1 to E9 are clauses of Asixto's contract on deduplication.

use core::time::Duration;

use asixto_webhook_core::{DedupKey, Held, Token};

use super::{
    Case, Found, Harness, Outcome,
    door::{BODY, Door, LEASE, MARGIN, OTHER, TTL, key, open},
    races::{
        late_commit_and_takeover_exclude_each_other, one_claim_wins_a_race, one_takeover_wins_a_race,
        room_is_not_overbooked,
    },
    room::{full_store_says_so, full_store_serves_its_ids, room_comes_back, takeover_needs_no_room},
};

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
