//! A nonce is claimed with its event, used by one body only, and forgotten when its window is over.
#![cfg(test)]

mod common;

use std::{sync::Arc, time::Duration};

use asixto_webhook_core::{
    Accepted, Admission, DedupKey, Fingerprint, Held, Outcome, Receiver, ReceiverBuilder, SecretSet, UnixTime,
    provider::{Agent, Identity, Unidentified},
    testing::ManualClock,
};
use asixto_webhook_store::MemoryStore;
use common::{
    Lines, NOW, answered, builder_of,
    fakes::{Asked, FakeInbox, FakeStore, FakeTimer, Found, Says},
    headers, headers_at, outcome, post, processed, secrets_of,
};
use pollster::block_on;

const LEASE: Duration = Duration::from_secs(30);
const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The event's key is the body's `id`.
fn agent() -> Agent {
    Agent::new(|body| {
        let body: serde_json::Value = serde_json::from_str(body.get()).map_err(|_| Unidentified)?;
        Ok(Identity::new(body["id"].as_str().ok_or(Unidentified)?))
    })
}

fn known() -> SecretSet<Agent> {
    secrets_of("current", "partner-api-secret")
}

fn body(id: &str, amount: u32) -> String {
    format!(r#"{{"id":"{id}","amount":{amount}}}"#)
}

/// A receiver and a store by one clock.
struct World {
    clock: ManualClock,
    store: MemoryStore,
    receiver: Receiver<Agent>,
}

impl World {
    fn new() -> Self {
        Self::with(|builder| builder)
    }

    fn with(configure: impl FnOnce(ReceiverBuilder<Agent>) -> ReceiverBuilder<Agent>) -> Self {
        let clock = ManualClock::new(UnixTime::from_secs(NOW));
        let store = MemoryStore::default().with_clock(clock.clone());
        let builder = builder_of(&agent(), &known()).clock(clock.clone()).dedup(store.clone());
        Self { clock, store, receiver: configure(builder).build().unwrap() }
    }

    /// A delivery that was signed at `at`.
    fn signed_at(&self, at: u64, nonce: &str, body: &str) -> Admission<Agent> {
        post(&self.receiver, &headers_at(&agent(), &known(), at, nonce, body), body.to_owned())
    }

    fn deliver(&self, nonce: &str, body: &str) -> Admission<Agent> {
        self.signed_at(NOW, nonce, body)
    }

    /// A delivery to another process with the same store.
    fn elsewhere(&self, nonce: &str, body: &str) -> Admission<Agent> {
        let builder = builder_of(&agent(), &known()).clock(self.clock.clone()).dedup(self.store.clone());
        let other = Self { clock: self.clock.clone(), store: self.store.clone(), receiver: builder.build().unwrap() };
        other.deliver(nonce, body)
    }

    /// A delivery that is processed, and whose handler answers `status`.
    #[track_caller]
    fn handled(&self, nonce: &str, body: &str, status: u16) {
        let (_, ticket) = processed(self.deliver(nonce, body));
        let settled = block_on(self.receiver.settle(ticket, status));
        assert_eq!((settled.answer.status(), settled.uncommitted.is_none()), (status, true));
    }

    /// What is answered to a delivery that is not processed.
    #[track_caller]
    fn refused(&self, nonce: &str, body: &str) -> (Outcome, u16) {
        outcome(self.deliver(nonce, body))
    }

    fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }
}

const DUPLICATE: (Outcome, u16) = (Outcome::Duplicate, 200);
const IN_FLIGHT: (Outcome, u16) = (Outcome::InFlight, 503);
const REUSED: (Outcome, u16) = (Outcome::NonceReused, 400);

// N3, E2: the same nonce with the same body is a repeat, and gets the result that is known.
#[test]
fn the_same_delivery_again() {
    let world = World::new();
    world.handled("n1", &body("e1", 1), 204);
    for _ in 0..3 {
        assert_eq!(world.refused("n1", &body("e1", 1)), DUPLICATE);
    }
    // As long as it passes the window, and not a second longer.
    world.advance(300);
    assert_eq!(world.refused("n1", &body("e1", 1)), DUPLICATE);
    world.advance(1);
    assert_eq!(world.refused("n1", &body("e1", 1)), (Outcome::OutsideWindow, 400));
}

// N3: with another body it is refused, and the event of that body is none the worse for it.
#[test]
fn another_body_under_a_used_nonce() {
    let world = World::new();
    world.handled("n1", &body("e1", 1), 200);
    assert_eq!(world.refused("n1", &body("e1", 2)), REUSED);
    assert_eq!(world.refused("n1", &body("e2", 1)), REUSED);
    // One byte, wherever it stands.
    assert_eq!(world.refused("n1", &(body("e1", 1) + " ")), REUSED);
    assert_eq!(world.refused("n1", &body("e1", 1)), DUPLICATE);
    world.handled("n2", &body("e2", 1), 200);
    // Under another time of signing it is the same nonce.
    assert_eq!(outcome(world.signed_at(NOW + 60, "n1", &body("e3", 1))), REUSED);
    assert_eq!(outcome(world.signed_at(NOW + 60, "n1", &body("e1", 1))), DUPLICATE);
}

// N3: released when the handler fails, for the next attempt and for any other body.
#[test]
fn a_failed_handler_releases_both() {
    let world = World::new();
    for status in [500, 409, 404] {
        world.handled("n1", &body("e1", 1), status);
        assert!(world.store.is_empty());
    }
    world.handled("n1", &body("e2", 7), 503);
    world.handled("n1", &body("e1", 1), 200);
    assert_eq!(world.refused("n1", &body("e1", 1)), DUPLICATE);
}

// N3, E5: while the first is in flight everything under its nonce has to wait, whatever its body.
#[test]
fn a_nonce_in_flight() {
    let world = World::new();
    let (_, ticket) = processed(world.deliver("n1", &body("e1", 1)));
    world.advance(10);
    for other in [body("e1", 1), body("e1", 2), body("e2", 1)] {
        let answer = answered(world.deliver("n1", &other));
        assert_eq!((answer.outcome(), answer.status()), IN_FLIGHT);
        assert_eq!(headers(&answer), [("retry-after", "20".to_owned())]);
    }
    assert_eq!(block_on(world.receiver.settle(ticket, 200)).answer.status(), 200);
    assert_eq!(world.refused("n1", &body("e1", 1)), DUPLICATE);
    assert_eq!(world.refused("n1", &body("e1", 2)), REUSED);
}

// N3, N7: a new nonce makes no new event, and is used up by it.
#[test]
fn a_new_nonce_for_an_event_that_is_done() {
    let world = World::new();
    world.handled("n1", &body("e1", 1), 200);
    assert_eq!(world.refused("n2", &body("e1", 1)), DUPLICATE);
    assert_eq!(world.store.len(), 3);
    assert_eq!(world.refused("n2", &body("e2", 1)), REUSED);
    assert_eq!(world.refused("n2", &body("e1", 1)), DUPLICATE);
}

// N3, E5: one for an event that is in flight is not: its sender comes back with it.
#[test]
fn a_new_nonce_for_an_event_in_flight() {
    let world = World::new();
    let (_, ticket) = processed(world.deliver("n1", &body("e1", 1)));
    assert_eq!(world.refused("n2", &body("e1", 1)), IN_FLIGHT);
    assert_eq!(world.store.len(), 2);
    // It can be used for anything at once.
    world.handled("n2", &body("e2", 1), 200);
    assert_eq!(block_on(world.receiver.settle(ticket, 500)).answer.status(), 500);
    world.handled("n3", &body("e1", 1), 200);
}

// N5, E6: an event that was done with another body is a conflict, under whichever new nonce.
#[test]
fn a_conflict() {
    let world = World::new();
    world.handled("n1", &body("e1", 1), 200);
    assert_eq!(world.refused("n2", &body("e1", 2)), (Outcome::Conflict, 200));
    // It was acknowledged, so its nonce is used up, and a repeat is acknowledged as well.
    assert_eq!(world.refused("n2", &body("e1", 2)), DUPLICATE);
    assert_eq!(world.refused("n2", &body("e2", 1)), REUSED);
}

// N3, E6: a conflict that is refused is refused again: its repeat is no duplicate, which the sender would take for done.
#[test]
fn a_refused_conflict() {
    let world = World::with(|builder| builder.refuse_conflicts(true));
    world.handled("n1", &body("e1", 1), 200);
    for _ in 0..3 {
        assert_eq!(world.refused("n2", &body("e1", 2)), (Outcome::Conflict, 409));
        assert_eq!(world.store.len(), 2);
    }
    assert_eq!(world.refused("n1", &body("e1", 1)), DUPLICATE);
}

// N3: what a nonce costs is bounded by the window; the event stays for its own time.
#[test]
fn nonces_are_forgotten() {
    let world = World::new();
    for number in 0..100 {
        world.handled(&format!("n{number}"), &body("e", number).replace("\"e\"", &format!("\"e{number}\"")), 200);
    }
    assert_eq!(world.store.len(), 200);
    world.advance(300);
    assert_eq!(world.store.len(), 200);
    world.advance(1);
    assert_eq!(world.store.len(), 100);
    // A nonce that is over is as good as new.
    let (_, ticket) = processed(world.signed_at(NOW + 301, "n1", &body("e-new", 1)));
    assert_eq!(block_on(world.receiver.settle(ticket, 200)).answer.status(), 200);
    world.clock.advance(MONTH);
    assert_eq!(world.store.len(), 0);
}

// N3, E1: the same nonce at another endpoint is another one.
#[test]
fn nonces_have_a_scope() {
    let world = World::new();
    world.handled("n1", &body("e1", 1), 200);
    let other = World { receiver: world_over(&world.store, "other"), ..World::new() };
    other.handled("n1", &body("e2", 1), 200);
    assert_eq!(world.refused("n1", &body("e2", 1)), REUSED);
    assert_eq!(other.refused("n1", &body("e1", 1)), REUSED);
}

fn world_over(store: &MemoryStore, scope: &'static str) -> Receiver<Agent> {
    builder_of(&agent(), &known()).dedup(store.clone()).scope(scope).build().unwrap()
}

// N1: a nonce is one nonce in either spelling, and no event's key.
#[test]
fn a_nonce_is_a_nonce_in_either_spelling() {
    let world = World::new();
    world.handled("n1", &body("n1", 1), 200);
    let spelt = |body: &str| -> Lines {
        let headers = headers_at(&agent(), &known(), NOW, "n1", body);
        headers.into_iter().map(|(name, value)| (name.replace("agent-nonce", "agente-nonce"), value)).collect()
    };
    assert!(spelt("{}").iter().any(|(name, _)| name == "x-agente-nonce"));
    let same = body("n1", 1);
    assert_eq!(outcome(post(&world.receiver, &spelt(&same), same)), DUPLICATE);
    let other = body("n1", 2);
    assert_eq!(outcome(post(&world.receiver, &spelt(&other), other)), REUSED);
}

// E8: who comes late with an event that another has taken over settles what is still its own, and nothing else.
#[test]
fn a_late_owner_of_the_nonce_alone() {
    for late in [200, 500] {
        let world = World::new();
        let (_, first) = processed(world.deliver("n1", &body("e1", 1)));
        world.advance(30);
        let (_, second) = processed(world.elsewhere("n2", &body("e1", 1)));
        assert_eq!(block_on(world.receiver.renew(&first)), Held::Lost);
        assert_eq!(block_on(world.receiver.renew(&second)), Held::Yes);
        let settled = block_on(world.receiver.settle(first, late));
        assert_eq!((settled.answer.status(), settled.uncommitted.is_none()), (late, late == 500));
        // The second still holds its claim.
        assert_eq!(world.refused("n3", &body("e1", 1)), IN_FLIGHT);
        let expected = if late == 200 { DUPLICATE } else { IN_FLIGHT };
        assert_eq!(world.refused("n1", &body("e1", 1)), expected);
        assert!(block_on(world.receiver.settle(second, 200)).uncommitted.is_none());
        assert_eq!(world.refused("n1", &body("e1", 1)), DUPLICATE);
        assert_eq!(world.refused("n3", &body("e1", 1)), DUPLICATE);
    }
}

// E8: nor does it undo both, where the next attempt has taken both over.
#[test]
fn a_late_owner_of_neither() {
    for late in [200, 500] {
        let world = World::new();
        let (_, first) = processed(world.deliver("n1", &body("e1", 1)));
        world.advance(30);
        let (_, second) = processed(world.elsewhere("n1", &body("e1", 1)));
        assert_eq!(block_on(world.receiver.renew(&first)), Held::Lost);
        _ = block_on(world.receiver.settle(first, late));
        assert_eq!(world.refused("n1", &body("e1", 1)), IN_FLIGHT);
        assert_eq!(world.refused("n2", &body("e1", 1)), IN_FLIGHT);
        assert!(block_on(world.receiver.settle(second, 200)).uncommitted.is_none());
        assert_eq!(world.refused("n1", &body("e1", 1)), DUPLICATE);
    }
}

/// What another's claim looks like.
const IN_LEASE: Found = Found::InFlight(LEASE);

/// A store that has seen neither the first nonce nor the first event it is asked for.
fn fresh() -> FakeStore {
    FakeStore::fresh().claim(Says::This(Found::Nothing))
}

fn over(store: &FakeStore) -> Receiver<Agent> {
    builder_of(&agent(), &known()).dedup(store.clone()).build().unwrap()
}

fn deliver_at(receiver: &Receiver<Agent>, at: u64) -> Admission<Agent> {
    let body = body("e1", 1);
    post(receiver, &headers_at(&agent(), &known(), at, "n1", &body), body)
}

fn deliver(receiver: &Receiver<Agent>) -> Admission<Agent> {
    deliver_at(receiver, NOW)
}

/// The claims that were asked for, and what else, without them.
fn split(store: &FakeStore) -> (Vec<DedupKey>, Vec<Asked>) {
    let (mut keys, mut rest) = (Vec::new(), Vec::new());
    for asked in store.asked() {
        match asked {
            Asked::Claim { key, fingerprint, lease } => {
                assert_eq!((fingerprint, lease), (Fingerprint::of(body("e1", 1).as_bytes()), LEASE));
                keys.push(key);
            }
            other => rest.push(other),
        }
    }
    (keys, rest)
}

const NONCE_TTL: Duration = Duration::from_secs(301);

// N3, E5: the nonce first, then the event; the event is committed first, each for its own time.
#[test]
fn both_are_claimed_renewed_and_committed() {
    let yes = Says::This(Held::Yes);
    let store = fresh().extend(yes).extend(yes).commit(yes).commit(yes);
    let receiver = over(&store);
    let (_, ticket) = processed(deliver(&receiver));
    assert_eq!(block_on(receiver.renew(&ticket)), Held::Yes);
    assert!(block_on(receiver.settle(ticket, 200)).uncommitted.is_none());
    let (keys, rest) = split(&store);
    assert!(keys.len() == 2 && keys[0] != keys[1]);
    let expected = [
        Asked::Extend { fence: 2, lease: LEASE },
        Asked::Extend { fence: 1, lease: LEASE },
        Asked::Commit { fence: 2, ttl: MONTH },
        Asked::Commit { fence: 1, ttl: NONCE_TTL },
    ];
    assert_eq!(rest, expected);

    // The event's key is the user's, so that another nonce claims the same one.
    let store = fresh();
    let body = body("e1", 1);
    drop(processed(post(&over(&store), &headers_at(&agent(), &known(), NOW, "n2", &body), body)));
    let (others, _) = split(&store);
    assert_ne!(others[0], keys[0]);
    assert_eq!(others[1], keys[1]);
}

// N3: kept for what is left until timestamp + 300 s, and a second more, since both ends are whole seconds.
#[test]
fn how_long_a_nonce_is_remembered() {
    let yes = Says::This(Held::Yes);
    for (tolerance, at, ttl) in [
        (300, NOW, 301),
        (300, NOW - 1, 300),
        (300, NOW - 299, 2),
        (300, NOW - 300, 1),
        (300, NOW + 1, 302),
        (300, NOW + 300, 601),
        (10, NOW - 10, 1),
        (10, NOW + 10, 21),
        (86_400, NOW + 86_400, 172_801),
    ] {
        let tolerance = Duration::from_secs(tolerance);
        let store = fresh().commit(yes).commit(yes);
        let receiver = builder_of(&agent(), &known()).dedup(store.clone()).tolerance(tolerance).build().unwrap();
        let (_, ticket) = processed(deliver_at(&receiver, at));
        assert!(block_on(receiver.settle(ticket, 200)).uncommitted.is_none());
        let ttl = Duration::from_secs(ttl);
        assert_eq!(split(&store).1[1], Asked::Commit { fence: 1, ttl }, "{tolerance:?} {at}");

        let inbox = FakeInbox::new(Says::This(Accepted::Stored));
        let receiver = builder_of(&agent(), &known()).inbox(inbox.clone()).tolerance(tolerance).build().unwrap();
        assert_eq!(outcome(deliver_at(&receiver, at)), (Outcome::Stored, 200));
        let [written] = &inbox.written()[..] else { panic!("one record") };
        assert_eq!(written.nonce, Some((split(&store).0[0], ttl)));
        assert_eq!((written.key, written.ttl), (split(&store).0[1], MONTH));
    }
}

// N3: an inbox answers for nonces as a store does.
#[test]
fn an_inbox_that_knows_the_nonce() {
    for (accepted, expected) in [
        (Accepted::NonceReused, REUSED),
        (Accepted::Duplicate, DUPLICATE),
        (Accepted::Conflict, (Outcome::Conflict, 200)),
    ] {
        let inbox = FakeInbox::new(Says::This(accepted));
        let receiver = builder_of(&agent(), &known()).inbox(inbox).build().unwrap();
        assert_eq!(outcome(deliver(&receiver)), expected);
    }
}

// N3: each thing that can be found under a nonce ends the delivery there.
#[test]
fn a_nonce_that_is_taken_touches_no_event() {
    for (says, expected) in [
        (Says::This(Found::Done), DUPLICATE),
        (Says::This(Found::Conflict), REUSED),
        (Says::This(Found::InFlight(LEASE)), IN_FLIGHT),
        (Says::Fails, (Outcome::StoreUnavailable, 503)),
        (Says::IsFull, (Outcome::StoreUnavailable, 503)),
    ] {
        let store = FakeStore::default().claim(says);
        assert_eq!(outcome(deliver(&over(&store))), expected);
        assert_eq!((split(&store).0.len(), split(&store).1.len()), (1, 0));
    }
}

// N3, E7: a store that fails between the two claims keeps neither.
#[test]
fn a_store_that_fails_at_the_second_claim() {
    for second in [Says::Fails, Says::IsFull, Says::Hangs] {
        for release in [Says::This(Held::Yes), Says::This(Held::Lost), Says::Fails, Says::Hangs] {
            let store = FakeStore::fresh().claim(second).release(release);
            let receiver = over(&store).with_timer(Arc::new(FakeTimer::default()));
            let answer = answered(deliver(&receiver));
            assert_eq!((answer.outcome(), answer.status()), (Outcome::StoreUnavailable, 503));
            assert_eq!(headers(&answer), [("retry-after", "5".to_owned())]);
            assert_eq!(split(&store).0.len(), 2);
            assert_eq!(split(&store).1, [Asked::Release { fence: 1 }]);
        }
    }
}

// N3: the nonce of a repeat is committed; a store that cannot is no reason to deny what is known.
#[test]
fn a_store_that_fails_after_a_repeat() {
    for commit in [Says::This(Held::Yes), Says::This(Held::Lost), Says::Fails, Says::Hangs] {
        let store = FakeStore::fresh().claim(Says::This(Found::Done)).commit(commit).claim(Says::This(IN_LEASE));
        let receiver = over(&store).with_timer(Arc::new(FakeTimer::default()));
        assert_eq!(outcome(deliver(&receiver)), DUPLICATE);
        assert_eq!(split(&store).1, [Asked::Commit { fence: 1, ttl: NONCE_TTL }]);
    }
}

// E5, E8: either one that is lost is lost; a store that fails says nothing about either.
#[test]
fn renewing_both() {
    let (yes, lost) = (Says::This(Held::Yes), Says::This(Held::Lost));
    for (event, nonce, expected) in [
        (yes, yes, Held::Yes),
        (lost, yes, Held::Lost),
        (yes, lost, Held::Lost),
        (lost, lost, Held::Lost),
        (Says::Fails, yes, Held::Yes),
        (yes, Says::Fails, Held::Yes),
        (Says::Fails, lost, Held::Lost),
        (Says::Hangs, yes, Held::Yes),
    ] {
        // Looked for after each loss.
        let store = fresh().extend(event).extend(nonce).claim(Says::This(IN_LEASE)).claim(Says::This(IN_LEASE));
        let receiver = over(&store).with_timer(Arc::new(FakeTimer::default()));
        let (_, ticket) = processed(deliver(&receiver));
        assert_eq!(block_on(receiver.renew(&ticket)), expected, "{event:?} {nonce:?}");
        assert_eq!(split(&store).1.len(), 2);
    }
}

// E7: a commit that is owed is owed for both, and is tried until both are taken.
#[test]
fn a_commit_that_fails() {
    let yes = Says::This(Held::Yes);
    let (event, nonce) = (Asked::Commit { fence: 2, ttl: MONTH }, Asked::Commit { fence: 1, ttl: NONCE_TTL });
    for (commits, asked) in [
        (&[Says::Fails, yes, yes][..], &[event, event, nonce][..]),
        (&[Says::Hangs, yes, yes], &[event, event, nonce]),
        (&[yes, Says::Fails, yes, yes], &[event, nonce, event, nonce]),
    ] {
        let store = commits.iter().fold(fresh(), |store, says| store.commit(*says));
        let receiver = over(&store).with_timer(Arc::new(FakeTimer::default()));
        let (_, ticket) = processed(deliver(&receiver));
        let settled = block_on(receiver.settle(ticket, 200));
        assert_eq!((settled.answer.outcome(), settled.answer.status()), (Outcome::Processed, 200));
        let owed = settled.uncommitted.expect("a commit is owed");
        assert_eq!(block_on(receiver.commit(&owed)).unwrap(), Held::Yes);
        assert_eq!(split(&store).1, asked);
    }
    // E8: one that another has taken over is no reason to leave the other one.
    for (commits, held) in [([Says::This(Held::Lost), yes], Held::Lost), ([yes, Says::This(Held::Lost)], Held::Lost)] {
        let store = commits.iter().fold(fresh(), |store, says| store.commit(*says)).claim(Says::This(IN_LEASE));
        let receiver = over(&store);
        let (_, ticket) = processed(deliver(&receiver));
        assert_eq!(block_on(receiver.commit(&ticket)).unwrap(), held);
        assert_eq!(split(&store).1, [event, nonce]);
    }
}

// N3, E5: both are given back, the second too where the first cannot be.
#[test]
fn a_release_covers_both() {
    let answers = [Says::This(Held::Yes), Says::This(Held::Lost), Says::Fails, Says::Hangs];
    for event in answers {
        for nonce in answers {
            let store = fresh().release(event).release(nonce);
            let receiver = over(&store).with_timer(Arc::new(FakeTimer::default()));
            let (_, ticket) = processed(deliver(&receiver));
            let settled = block_on(receiver.settle(ticket, 500));
            assert_eq!((settled.answer.outcome(), settled.uncommitted.is_none()), (Outcome::HandlerFailed, true));
            assert_eq!(split(&store).1, [Asked::Release { fence: 2 }, Asked::Release { fence: 1 }]);
        }
    }
}
