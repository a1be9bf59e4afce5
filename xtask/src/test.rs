//! Everything that proves the project.

use std::process::{Command, Stdio};

use crate::{
    conformance,
    shell::{self, Result, cargo, has},
};

/// With `all_services`, what is missing on this machine is a failure, and else a test that is left out.
pub(crate) fn run(all_services: bool) -> Result {
    shell::run(cargo(&["build", "--workspace", "--all-features", "--all-targets"]))?;
    let mut tests = match has("nextest") {
        true => cargo(&["nextest", "run", "--workspace", "--all-features", "--no-fail-fast", "--status-level", "slow"]),
        false => cargo(&["test", "--workspace", "--all-features", "--all-targets", "--no-fail-fast"]),
    };
    if all_services {
        tests.env("ASIXTO_WEBHOOK_REQUIRE_ALL", "1");
    }
    shell::run(tests)?;
    if !all_services {
        left_out();
    }
    conformance::run(false)?;
    // Runners of tests leave out those in documentation.
    shell::run(cargo(&["test", "--workspace", "--all-features", "--doc", "--no-fail-fast"]))
}

/// Runners of tests do not show what a test says that passes.
fn left_out() {
    for program in ["python3", "node", "postgres"] {
        let mut probe = Command::new(program);
        probe.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        if probe.status().is_err() {
            eprintln!("\nleft out: the tests that take `{program}`, which is not installed");
        }
    }
}
