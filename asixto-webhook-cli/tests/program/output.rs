//! Where the output goes, and where it does not.

use std::process::Stdio;

use crate::harness::{Ended, Server, program};

/// Somebody who has read enough: no panic, no word, and no delivery more.
#[test]
fn a_closed_output_is_the_end() {
    let server = Server::asixto();
    for arguments in [
        &["send", "--to", &server.url, "--type", "job.failed", "--count", "1000"][..],
        &["sign"],
        &["verify", "--header", "a: b"],
        &["doctor", "--header", "a: b"],
        &["secret", "new"],
        &["completions", "bash"],
        &["man"],
    ] {
        let mut child = program(arguments).input("{}").start();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{arguments:?}");
        // A program that was done before counts as done.
        assert!([Some(0), Some(1)].contains(&output.status.code()), "{arguments:?}: {:?}", output.status);
    }
    assert!(server.events().len() < 1000, "{}", server.events().len());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = std::process::Command::new(crate::harness::BINARY)
        .args(["secret", "new"])
        .stdout(Stdio::from(full))
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(told.starts_with("error: the output cannot be written: "), "{told}");
}

/// Progress is for terminals.
#[test]
fn nothing_is_told_of_what_goes_well() {
    let server = Server::asixto();
    let send = ["send", "--to", &server.url, "--type", "all", "--count", "3"];
    let Ended { code, told, .. } = program(&send).run();
    assert_eq!((code, told.as_str()), (Some(0), ""));
}
