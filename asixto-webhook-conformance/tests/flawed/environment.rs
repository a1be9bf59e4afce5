//! A receiver that is not there has neither passed nor failed.

use asixto_webhook_conformance::{Check, Report, Verdict};

use crate::{flaw::Flawed, matrix::aimed_at, receiver, senders::Sender};

#[tokio::test]
async fn a_receiver_that_is_dead_is_not_judged() {
    let (address, receiver) = receiver::start(Flawed(None, Sender::Asixto)).await;
    receiver.abort();
    // The port is free once the task has ended.
    while !receiver.is_finished() {
        tokio::task::yield_now().await;
    }
    let (target, kit) = aimed_at(address, Sender::Asixto);
    let report = Check::new(&target, &kit).run(|_, probe| unreachable!("{}", probe.id)).await;
    not_judged(&report);
    assert!(report.findings.is_empty());
}

#[tokio::test]
async fn a_receiver_that_dies_half_way_is_not_judged() {
    let (address, receiver) = receiver::start(Flawed(None, Sender::Asixto)).await;
    let (target, kit) = aimed_at(address, Sender::Asixto);
    let report = Check::new(&target, &kit)
        .run(|_, probe| {
            if probe.id == "reject/stale" {
                receiver.abort();
            }
        })
        .await;
    not_judged(&report);
    assert_eq!(report.findings.last().map(|finding| finding.probe.id), Some("reject/stale"));
}

fn not_judged(report: &Report) {
    let reason = report.environment.as_deref().unwrap_or_default();
    assert!(reason.ends_with("is it running, and reachable from here?"), "{reason}");
    assert_eq!(report.count(Verdict::Environment), report.findings.len());
    assert_eq!(report.exit_code(false), 3);
}
