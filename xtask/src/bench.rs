//! Benchmarks: ratios, measured in one run.

use std::env;

use crate::shell::{Result, cargo, run};

/// With all peers: the heavy one is behind a `cfg`, since a feature would be built by every `--all-features`.
pub(crate) fn verify(flags: &[&str]) -> Result {
    let mut verify = cargo(&["run", "--release", "--package", "benches", "--bin", "verify"]);
    if flags.contains(&"--json") {
        verify.arg("--quiet");
    }
    verify.arg("--").args(flags);
    verify.env("RUSTFLAGS", env::var("RUSTFLAGS").unwrap_or_default() + " --cfg bench_svix");
    run(verify)
}
