//! What the ratios should be.
//!
//! Those against peers assume a processor with instructions for SHA-256: without them, hashing outweighs everything
//! else, and all libraries hash alike.

use std::fmt;

use crate::{
    contenders::{CORE, FLOOR, SINGLE},
    delivery::{Cell, KIB, Scheme, Verdict},
    report::Row,
};

/// A ratio and its limit.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) measured: f64,
    pub(crate) limit: Limit,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl Target {
    pub(crate) fn is_met(&self) -> bool {
        match self.limit {
            Limit::AtMost(limit) => self.measured <= limit,
            Limit::AtLeast(limit) => self.measured >= limit,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(limit) => write!(f, "at most {limit:.2}"),
            Self::AtLeast(limit) => write!(f, "at least {limit:.2}"),
        }
    }
}

/// Every target for which there are figures.
pub(crate) fn judge(rows: &[Row]) -> Vec<Target> {
    let mut targets = Vec::new();
    let mut add = |name: &str, measured: Option<f64>, limit| {
        targets.extend(measured.map(|measured| Target { name: name.to_owned(), measured, limit }));
    };
    let at = |size, candidates, over, under| {
        let cell = Cell { scheme: Scheme::Timestamped, size, candidates, secrets: 1, verdict: Verdict::Good };
        rows.iter().find(|row| row.cell == cell)?.ratio(over, under)
    };
    add("core_over_floor.1KiB", at(KIB, 1, CORE, FLOOR), Limit::AtMost(1.10));
    add("core_over_floor.256KiB", at(256 * KIB, 1, CORE, FLOOR), Limit::AtMost(1.02));
    add("hundred_over_one.1KiB", at(KIB, 100, CORE, SINGLE), Limit::AtMost(4.0));
    add("hundred_over_one.16KiB", at(16 * KIB, 100, CORE, SINGLE), Limit::AtMost(1.5));
    add("webhook-verify_over_core.16KiB.c100", at(16 * KIB, 100, "webhook-verify", CORE), Limit::AtLeast(30.0));
    for (peer, limit) in [("webhook-verify", 1.0), ("hook0-client", 1.0), ("standardwebhooks", 4.0), ("svix", 4.0)] {
        let ratios = rows.iter().filter(|row| compares(row.cell)).filter_map(|row| row.ratio(peer, CORE));
        add(&format!("{peer}_over_core.least"), ratios.reduce(f64::min), Limit::AtLeast(limit));
    }
    targets
}

/// Whether the contenders do the same work. Peers of this scheme believe the timestamp before they know who wrote it: a
/// stale delivery costs them no MAC, and their users cannot tell it from a forged one.
fn compares(cell: Cell) -> bool {
    (cell.scheme, cell.verdict) != (Scheme::Standard, Verdict::Stale)
}
