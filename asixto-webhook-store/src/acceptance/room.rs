//! Cases about a store whose room is bounded. One without a bound passes them.

use asixto_webhook_core::Held;

use super::{
    Harness, Outcome,
    door::{BODY, LEASE, MARGIN, OTHER, TTL, key, open_bounded},
};

pub(super) async fn full_store_says_so(harness: &dyn Harness) -> Outcome {
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

pub(super) async fn full_store_serves_its_ids(harness: &dyn Harness) -> Outcome {
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

pub(super) async fn room_comes_back(harness: &dyn Harness) -> Outcome {
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

pub(super) async fn takeover_needs_no_room(harness: &dyn Harness) -> Outcome {
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
