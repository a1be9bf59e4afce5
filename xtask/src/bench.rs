//! Benchmarks: ratios, measured in one run.

use crate::shell::{Result, cargo, run};

pub(crate) fn verify(flags: &[&str]) -> Result {
    let mut verify = cargo(&["run", "--release", "--package", "benches", "--bin", "verify"]);
    if flags.contains(&"--json") {
        verify.arg("--quiet");
    }
    verify.arg("--").args(flags);
    run(verify)
}
