//! Which probes see which flaw.

use std::{collections::BTreeSet, env, fmt::Write, fs, net::SocketAddr, path::Path};

use asixto_webhook_conformance::{Check, Kit, PROBES, Report, Selection, Target, Verdict, Version};
use tokio::{
    runtime::Handle,
    sync::{Semaphore, SemaphorePermit},
    task::block_in_place,
};

use crate::{
    flaw::{Flaw, Flawed},
    receiver,
    senders::Sender,
};

/// Set it to have the matrix written anew.
const REWRITE: &str = "ASIXTO_WEBHOOK_REWRITE_MATRIX";

const HEAD: &str = "\
# What a check says of receivers that are wrong in one thing each, and right in all others: see `flaw.rs`.
# Written by a run of the test with ASIXTO_WEBHOOK_REWRITE_MATRIX=1.
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_flaw_is_seen_and_every_probe_sees_one() {
    let checks: Vec<_> =
        Flaw::ALL.iter().map(|(flaw, says)| (says, tokio::spawn(check(Flawed(Some(*flaw), Sender::Asixto))))).collect();
    let (mut matrix, mut unseen, mut seeing) = (HEAD.to_owned(), Vec::new(), BTreeSet::new());
    for (says, check) in checks {
        let report = check.await.unwrap();
        let row = row(&report);
        if row.is_empty() {
            unseen.push(says);
        }
        _ = write!(matrix, "\n{says}\n{row}");
        seeing.extend(report.findings.iter().filter(|it| it.verdict > Verdict::Pass).map(|it| it.probe.id));
    }
    compare(&matrix);

    assert!(unseen.is_empty(), "expected a probe that sees each flaw, found none that sees: {unseen:#?}");
    let blind: Vec<_> = PROBES.iter().map(|probe| probe.id).filter(|id| !seeing.contains(id)).collect();
    assert!(blind.is_empty(), "expected a flaw for each probe, found none for: {blind:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_receiver_passes_every_probe() {
    let checks = Sender::ALL.map(|sender| (sender, tokio::spawn(check(Flawed(None, sender)))));
    for (sender, check) in checks {
        let report = check.await.unwrap();
        assert_eq!(row(&report), "", "{sender:?}");
        assert_eq!(report.count(Verdict::Pass), report.findings.len());
    }
}

/// Checks a receiver with this flaw.
async fn check(flawed: Flawed) -> Report {
    let (address, _) = receiver::start(flawed).await;
    let (target, kit) = aimed_at(address, flawed.sender());
    let mut check = Check::new(&target, &kit);
    // Where nearly every probe would wait, for minutes, few do.
    check = match flawed.0 {
        Some(Flaw::Stalls) => check.only(Selection::Probe("operation/acknowledge")),
        Some(Flaw::DedupByJob) => {
            ["accept/job-succeeded", "accept/rotation-both"].map(Selection::Probe).into_iter().fold(check, Check::only)
        }
        _ => check,
    };
    let mut turn = None;
    check
        .run(|_, probe| {
            turn.take();
            turn = MANY_AT_ONCE.contains(&probe.id).then(|| block_in_place(|| Handle::current().block_on(turns())));
        })
        .await
}

pub(crate) fn aimed_at(address: SocketAddr, sender: Sender) -> (Target, Kit) {
    (Target::new(address, Version::Http1).observed_at("/events"), sender.kit())
}

/// Probes that open many connections at once. A process may have a thousand, and both ends are in this one.
const MANY_AT_ONCE: [&str; 2] = ["state/copies", "operation/burst"];

async fn turns() -> SemaphorePermit<'static> {
    static TURNS: Semaphore = Semaphore::const_new(6);
    TURNS.acquire().await.unwrap()
}

/// What is said of a receiver, save where it is right.
fn row(report: &Report) -> String {
    let mut row = String::new();
    if let Some(reason) = &report.environment {
        _ = writeln!(row, "    {:<12}  {reason}", Verdict::Environment);
        return row;
    }
    for finding in report.findings.iter().filter(|finding| finding.verdict > Verdict::Pass) {
        _ = writeln!(row, "    {:<12}  {}", finding.verdict, finding.probe.id);
    }
    row
}

/// With the matrix as it is checked in.
fn compare(found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/flawed/matrix.txt");
    if env::var_os(REWRITE).is_some() {
        fs::write(path, found).unwrap();
        return;
    }
    let expected = fs::read_to_string(path).unwrap();
    let differences = differences(&expected, found);
    assert!(differences.is_empty(), "the matrix has changed; {REWRITE}=1 writes it anew:\n{differences}");
}

/// The lines of one text that are not in the other, flaw by flaw.
fn differences(expected: &str, found: &str) -> String {
    let lines = |text: &str| {
        let mut flaw = String::new();
        let named = text.lines().map(|line| {
            if !line.starts_with(' ') {
                flaw = line.to_owned();
            }
            (flaw.clone(), line.to_owned())
        });
        named.collect::<BTreeSet<_>>()
    };
    let (expected, found) = (lines(expected), lines(found));
    let gone = expected.difference(&found).map(|line| ('-', line));
    let new = found.difference(&expected).map(|line| ('+', line));
    gone.chain(new).map(|(sign, (flaw, line))| format!("{sign} {flaw}: {}\n", line.trim())).collect()
}
