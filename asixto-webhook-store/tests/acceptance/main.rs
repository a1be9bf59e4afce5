//! The suite, passed by the memory store and failed by stores that are wrong in one way each.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests assert by panicking")]

mod faulty;

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use asixto_webhook_core::{BoxFuture, DedupStore, UnixTime, testing::ManualClock};
use asixto_webhook_store::{
    MemoryStore,
    acceptance::{self, CASES, Harness},
};

use self::faulty::{Fault, Faulty};

fn clock() -> ManualClock {
    ManualClock::new(UnixTime::from_secs(1_760_000_000))
}

fn share(store: MemoryStore) -> Arc<dyn DedupStore> {
    Arc::new(store)
}

#[derive(Debug)]
struct Memory(ManualClock);

impl Harness for Memory {
    fn store(&self) -> BoxFuture<'_, Arc<dyn DedupStore>> {
        Box::pin(async { share(MemoryStore::default().with_clock(self.0.clone())) })
    }

    fn bounded(&self, capacity: NonZeroUsize) -> Option<BoxFuture<'_, Arc<dyn DedupStore>>> {
        Some(Box::pin(async move { share(MemoryStore::new(capacity).with_clock(self.0.clone())) }))
    }

    fn advance(&self, by: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move { self.0.advance(by) })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_memory_store_passes() {
    acceptance::run(&Memory(clock())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cases_can_be_run_one_by_one() {
    for case in CASES {
        assert_eq!(case.check(&Memory(clock())).await.map_err(|broken| broken.to_string()), Ok(()));
    }
}

/// Each fault, and the case that has to find it.
const FAULTS: &[(Fault, &str)] = &[
    (Fault::LosesEvents, "first_claim_is_fresh"),
    (Fault::ChecksThenWrites, "one_claim_wins_a_race"),
    (Fault::ChecksThenTakesOver, "one_takeover_wins_a_race"),
    (Fault::ChecksThenCommits, "late_commit_and_takeover_exclude_each_other"),
    (Fault::EvictsDone, "full_store_says_so"),
    (Fault::EvictsClaims, "full_store_says_so"),
    (Fault::FullIsDone, "full_store_says_so"),
    (Fault::FullTakesNothingOver, "takeover_needs_no_room"),
    (Fault::KeepsRoom, "room_comes_back"),
    (Fault::ReleaseKeepsRoom, "full_store_serves_its_ids"),
    (Fault::Overbooks, "room_is_not_overbooked"),
    (Fault::ForgetsEarly, "done_is_remembered_for_the_ttl"),
    (Fault::NeverForgets, "done_is_remembered_for_the_ttl"),
    (Fault::TtlFromClaim, "done_is_remembered_for_the_ttl"),
    (Fault::CommitIsNotFenced, "late_owner_is_fenced_off"),
    (Fault::CommitIsNotFenced, "late_owner_cannot_undo_a_commit"),
    (Fault::ReleaseIsNotFenced, "late_owner_is_fenced_off"),
    (Fault::ExtendIsNotFenced, "late_owner_is_fenced_off"),
    (Fault::OneFence, "fences_differ"),
    (Fault::FencesStartAnew, "fences_differ"),
    (Fault::InFlightIsDone, "second_claim_is_in_flight"),
    (Fault::InFlightConflicts, "second_claim_is_in_flight"),
    (Fault::IgnoresBody, "committed_id_is_done"),
    (Fault::LastBodyCounts, "body_is_that_of_the_commit"),
    (Fault::FirstBodyCounts, "body_is_that_of_the_commit"),
    (Fault::ReleaseForgetsDone, "committed_id_cannot_be_reopened"),
    (Fault::ExtendReopensDone, "committed_id_cannot_be_reopened"),
    (Fault::LeaseNeverEnds, "lease_ends_by_itself"),
    (Fault::LateOwnerIsLost, "late_owner_may_settle"),
    (Fault::ExtendDoesNothing, "lease_can_be_extended"),
    (Fault::ExtendAdds, "lease_can_be_extended"),
    (Fault::CommitDoesNothing, "committed_id_is_done"),
    (Fault::ReleaseDoesNothing, "released_id_is_fresh"),
    (Fault::CommitsOnce, "commit_can_be_repeated"),
    (Fault::CommitShortens, "commit_can_be_repeated"),
    (Fault::RemainingIsLease, "second_claim_is_in_flight"),
    (Fault::HalfKeys, "ids_are_independent"),
    (Fault::FearsLongDurations, "any_duration_will_do"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn without_a_fault_the_faulty_store_passes() {
    acceptance::run(&Faulty(Fault::None, clock())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_fault_is_found_by_its_case() {
    for (fault, name) in FAULTS {
        let case = CASES.iter().find(|case| case.name() == *name).expect("a case of this name");
        let run = tokio::spawn(case_against(*case, *fault));
        let panic = run.await.expect_err(&format!("{fault:?} passed {name}")).into_panic();
        let message = panic.downcast::<String>().expect("a panic with a message");
        assert!(message.starts_with(&format!("`{name}` failed: {}, but ", case.rule())), "{fault:?}: {message}");
    }
}

async fn case_against(case: acceptance::Case, fault: Fault) {
    case.run(&Faulty(fault, clock())).await;
}

/// No case is there for nothing.
#[test]
fn every_case_has_a_fault_to_find() {
    for case in CASES {
        assert!(FAULTS.iter().any(|(_, name)| *name == case.name()), "{}", case.name());
    }
}
