//! Everything that proves the project.

use crate::{
    conformance,
    shell::{self, Result, cargo, has},
};

pub(crate) fn run() -> Result {
    shell::run(cargo(&["build", "--workspace", "--all-features", "--all-targets"]))?;
    if has("nextest") {
        shell::run(cargo(&[
            "nextest",
            "run",
            "--workspace",
            "--all-features",
            "--no-fail-fast",
            "--status-level",
            "slow",
        ]))?;
    } else {
        shell::run(cargo(&["test", "--workspace", "--all-features", "--all-targets", "--no-fail-fast"]))?;
    }
    conformance::run(false)?;
    // Runners of tests leave out those in documentation.
    shell::run(cargo(&["test", "--workspace", "--all-features", "--doc", "--no-fail-fast"]))
}
