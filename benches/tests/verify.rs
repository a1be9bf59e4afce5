//! The benchmark runs: every contender finds every delivery as it is, and each target has its figure.
#![cfg(test)]

use std::process::{Command, Output};

fn verify(flags: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_verify")).args(flags).output().unwrap()
}

#[test]
fn a_quick_run_has_every_figure() {
    let output = verify(&["--quick", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();

    let deliveries = report["deliveries"].as_array().unwrap();
    let of = |peer: &str| deliveries.iter().filter(|row| row["nanoseconds"][peer].as_f64() > Some(0.0)).count();
    assert_eq!((deliveries.len(), of("core"), of("floor"), of("single")), (42, 42, 42, 42));
    assert_eq!((of("webhook-verify"), of("standardwebhooks"), of("svix")), (21, 21, 21));
    // Where there is one signature: of several it reads the last.
    assert_eq!(of("hook0-client"), 7);

    let targets: Vec<_> = report["targets"].as_array().unwrap().iter().map(|target| &target["name"]).collect();
    let expected = [
        "core_over_floor.1KiB",
        "core_over_floor.256KiB",
        "hundred_over_one.1KiB",
        "hundred_over_one.16KiB",
        "webhook-verify_over_core.16KiB.c100",
        "webhook-verify_over_core.least",
        "hook0-client_over_core.least",
        "standardwebhooks_over_core.least",
        "svix_over_core.least",
    ];
    assert_eq!(targets, expected);
}

#[test]
fn the_table_ends_in_names_and_values() {
    let output = verify(&["--quick"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let (_, lines) = text.split_once("\nsha256_instructions=").unwrap();
    assert!(
        lines.lines().skip(1).all(|line| line.split_once('=').is_some_and(|(_, value)| value.parse::<f64>().is_ok()))
    );
    assert!(lines.contains("\ntarget.core_over_floor.1KiB="));
}

#[test]
fn an_unknown_flag_is_refused() {
    assert_eq!(verify(&["--fast"]).status.code(), Some(2));
}
