//! Does a second run of an event ever begin beside the first, whatever the store says?
#![cfg(test)]

mod common;

use std::time::Duration;

use asixto_webhook_core::{Admission, Event, Held, NoDedup, Outcome, Receiver, Ticket, UnixTime, testing::ManualClock};
use asixto_webhook_store::MemoryStore;
use common::{
    ID, NOW, answered, block_on, builder, deliver, envelope,
    fakes::{Asked, FakeStore, Found, Says},
    headers, processed,
};

const LEASE: Duration = Duration::from_secs(30);

fn over(store: &FakeStore) -> Receiver {
    builder().dedup(store.clone()).build().unwrap()
}

fn begin(receiver: &Receiver, id: &str) -> (Event, Ticket) {
    processed(deliver(receiver, envelope(id)))
}

/// The steps about claims, without the claims themselves.
fn steps(store: &FakeStore) -> Vec<Asked> {
    store.asked().into_iter().filter(|asked| !matches!(asked, Asked::Claim { .. })).collect()
}

// E5: the claim has lapsed under its handler, and the store gives it to a copy: the copy waits, and the first run has
// the new claim.
#[test]
fn a_claim_that_lapsed_is_still_the_runs_own() {
    let store = FakeStore::fresh()
        .claim(Says::This(Found::Nothing))
        .extend(Says::This(Held::Yes))
        .commit(Says::This(Held::Yes))
        .claim(Says::This(Found::Done));
    let receiver = over(&store);
    let (_, ticket) = begin(&receiver, ID);

    let copy = answered(deliver(&receiver, envelope(ID)));
    assert_eq!((copy.outcome(), copy.status()), (Outcome::InFlight, 503));
    assert_eq!(headers(&copy), [("retry-after", "30".to_owned())]);

    assert_eq!(block_on(receiver.renew(&ticket)), Held::Yes);
    assert_eq!(block_on(receiver.settle(ticket, 200)).answer.outcome(), Outcome::Processed);
    let [Asked::Extend { fence: 2, .. }, Asked::Commit { fence: 2, .. }] = steps(&store)[..] else {
        panic!("{:?}", store.asked())
    };
    assert_eq!(answered(deliver(&receiver, envelope(ID))).outcome(), Outcome::Duplicate);
}

// E6: a copy with another body is in flight as well, but its claim is not the run's: what is committed is what has run.
#[test]
fn another_body_under_a_claim_that_lapsed() {
    let clock = ManualClock::new(UnixTime::from_secs(NOW));
    let store = MemoryStore::default().with_clock(clock.clone());
    let receiver = builder().dedup(store).refuse_conflicts(true).build().unwrap();
    let (_, ticket) = begin(&receiver, ID);
    let other = || envelope(ID).replace("live", "test");
    clock.advance(LEASE);
    assert_eq!(answered(deliver(&receiver, other())).outcome(), Outcome::InFlight);
    assert!(block_on(receiver.settle(ticket, 200)).uncommitted.is_none());
    assert_eq!(answered(deliver(&receiver, envelope(ID))).outcome(), Outcome::Duplicate);
    assert_eq!(answered(deliver(&receiver, other())).outcome(), Outcome::Conflict);
}

// E5: a run past its time is over even where nobody could say so, as when its task has lost its thread.
#[test]
fn a_run_that_nobody_ends() {
    let clock = ManualClock::new(UnixTime::from_secs(NOW));
    let store = MemoryStore::default().with_clock(clock.clone());
    let limit = Duration::from_secs(60);
    let receiver = builder().clock(clock.clone()).dedup(store).handler_limit(limit).build().unwrap();
    let (_, stuck) = begin(&receiver, ID);
    clock.advance(LEASE);
    assert_eq!(answered(deliver(&receiver, envelope(ID))).outcome(), Outcome::InFlight);
    clock.advance(LEASE);
    let (_, next) = begin(&receiver, ID);
    drop((stuck, next));
}

// E7: a run that is done counts as running until its commit is taken, long after its handler's time, and even where it
// had been given up by then.
#[test]
fn a_commit_that_is_owed() {
    for was_given_up in [false, true] {
        let clock = ManualClock::new(UnixTime::from_secs(NOW));
        let store = FakeStore::fresh()
            .commit(Says::Fails)
            .claim(Says::This(Found::Nothing))
            .commit(Says::This(Held::Yes))
            .claim(Says::This(Found::Done));
        let limit = Duration::from_secs(60);
        let receiver = builder().clock(clock.clone()).dedup(store).handler_limit(limit).build().unwrap();
        let (_, ticket) = begin(&receiver, ID);
        if was_given_up {
            receiver.overdue(&ticket);
        }
        let owed = block_on(receiver.settle(ticket, 200)).uncommitted.unwrap();
        clock.advance(limit + LEASE);
        assert_eq!(answered(deliver(&receiver, envelope(ID))).outcome(), Outcome::InFlight);
        assert_eq!(block_on(receiver.commit(&owed)).unwrap(), Held::Yes);
        drop(owed);
        assert_eq!(answered(deliver(&receiver, envelope(ID))).outcome(), Outcome::Duplicate);
    }
}

// E5: the same for a run that fails, and after it the next attempt is a run of its own.
#[test]
fn a_run_that_fails_gives_the_newest_claim_back() {
    let store = FakeStore::fresh()
        .claim(Says::This(Found::Nothing))
        .release(Says::This(Held::Yes))
        .claim(Says::This(Found::Nothing));
    let receiver = over(&store);
    let (_, ticket) = begin(&receiver, ID);
    assert_eq!(answered(deliver(&receiver, envelope(ID))).outcome(), Outcome::InFlight);
    _ = block_on(receiver.settle(ticket, 500));
    assert_eq!(steps(&store), [Asked::Release { fence: 2 }]);
    drop(begin(&receiver, ID));
}

// E5: clones of a receiver, and the one with a timer, know of each other's runs; another receiver does not.
#[test]
fn who_knows_of_a_run() {
    let store = FakeStore::fresh().claim(Says::This(Found::Nothing)).claim(Says::This(Found::Nothing));
    let receiver = over(&store);
    let (_, first) = begin(&receiver, ID);
    assert_eq!(answered(deliver(&receiver.clone(), envelope(ID))).outcome(), Outcome::InFlight);
    // As another process, whose store has handed the claim over.
    let (_, elsewhere) = begin(&over(&store), ID);
    drop((first, elsewhere));
}

// E5: other events are no business of a run.
#[test]
fn other_events_run_meanwhile() {
    let store = FakeStore::fresh().claim(Says::This(Found::Nothing));
    let receiver = over(&store);
    let (_, first) = begin(&receiver, "a");
    let (_, second) = begin(&receiver, "b");
    drop((first, second));
}

// E5: a ticket that is dropped ends its run, as a crash would, and leaves the rest to the store.
#[test]
fn a_dropped_ticket_ends_the_run() {
    let store = FakeStore::fresh().claim(Says::This(Found::Nothing));
    let receiver = over(&store);
    drop(begin(&receiver, ID));
    drop(begin(&receiver, ID));
}

// E5, rules of the house: a handler past its budget keeps nobody out any more; each run then has its own claim.
#[test]
fn a_run_past_its_budget() {
    let store = FakeStore::fresh()
        .claim(Says::This(Found::Nothing))
        .commit(Says::This(Held::Lost))
        .claim(Says::This(Found::InFlight(LEASE)))
        .claim(Says::This(Found::Nothing))
        .commit(Says::This(Held::Yes));
    let receiver = over(&store);
    let (_, first) = begin(&receiver, ID);
    receiver.overdue(&first);
    let (_, second) = begin(&receiver, ID);
    // The end of the first takes nothing from the second.
    _ = block_on(receiver.settle(first, 200));
    assert_eq!(answered(deliver(&receiver, envelope(ID))).outcome(), Outcome::InFlight);
    _ = block_on(receiver.settle(second, 200));
    let [Asked::Commit { fence: 1, .. }, Asked::Commit { fence: 4, .. }] = steps(&store)[..] else {
        panic!("{:?}", store.asked())
    };
}

// E8: what another process has taken over is lost all the same, and asked for once.
#[test]
fn a_claim_that_is_lost_elsewhere() {
    let elsewhere = Says::This(Found::InFlight(LEASE));
    let store = FakeStore::fresh()
        .extend(Says::This(Held::Lost))
        .claim(elsewhere)
        .commit(Says::This(Held::Lost))
        .claim(elsewhere);
    let receiver = over(&store);
    let (_, ticket) = begin(&receiver, ID);
    assert_eq!(block_on(receiver.renew(&ticket)), Held::Lost);
    assert_eq!(block_on(receiver.commit(&ticket)).unwrap(), Held::Lost);
}

// Whoever names `NoDedup` has copies run beside each other, and in any order of their ends.
#[test]
fn without_deduplication() {
    let receiver = builder().dedup(NoDedup).build().unwrap();
    for backwards in [false, true] {
        let mut tickets: Vec<_> = (0..3).map(|_| begin(&receiver, ID).1).collect();
        if backwards {
            tickets.reverse();
        }
        for ticket in tickets {
            assert_eq!(block_on(receiver.settle(ticket, 200)).answer.outcome(), Outcome::Processed);
            assert!(matches!(deliver(&receiver, envelope(ID)), Admission::Process(..)));
        }
    }
}
