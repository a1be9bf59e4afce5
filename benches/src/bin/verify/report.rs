//! The figures, for people and for programs.

use serde_json::{Value, json};

use crate::{
    contenders::{CORE, FLOOR, SINGLE},
    delivery::{Cell, Scheme},
    targets::{Limit, Target},
};

/// What one kind of delivery costs each contender.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) cell: Cell,
    pub(crate) nanoseconds: Vec<(&'static str, f64)>,
}

impl Row {
    pub(crate) fn ratio(&self, over: &str, under: &str) -> Option<f64> {
        Some(self.of(over)? / self.of(under)?)
    }

    fn of(&self, contender: &str) -> Option<f64> {
        self.nanoseconds.iter().find(|(name, _)| *name == contender).map(|(_, nanoseconds)| *nanoseconds)
    }

    fn peers(&self) -> impl Iterator<Item = &'static str> {
        self.nanoseconds.iter().map(|(name, _)| *name).filter(|name| ![CORE, FLOOR, SINGLE].contains(name))
    }
}

/// One table for each scheme.
pub(crate) fn tables(rows: &[Row]) {
    println!("Processor with instructions for SHA-256: {}", if hashes_in_hardware() { "yes" } else { "no" });
    for (scheme, title) in [
        (Scheme::Timestamped, "t=…,v1=<hex> in one header: Asixto"),
        (Scheme::Standard, "v1,<base64> in three headers: Standard Webhooks"),
    ] {
        let rows: Vec<_> = rows.iter().filter(|row| row.cell.scheme == scheme).collect();
        let peers: Vec<_> = rows.first().map(|row| row.peers().collect()).unwrap_or_default();
        println!("\n{title}\n");
        print!("{:<34}{:>10}{:>9}{:>9}", "delivery", "core", "/ floor", "/ single");
        for peer in &peers {
            print!("{peer:>18}");
        }
        println!();
        for row in rows {
            print!("{:<34}{:>7.0} ns", row.cell.to_string(), row.of(CORE).unwrap_or_default());
            print!("{:>9}{:>9}", figure(row.ratio(CORE, FLOOR)), figure(row.ratio(CORE, SINGLE)));
            for peer in &peers {
                print!("{:>18}", figure(row.ratio(peer, CORE)));
            }
            println!();
        }
    }
    println!(
        "\nA delivery is scheme, body, signatures (c), secrets (s), and what it is. `floor` is a bare keyed HMAC with\n\
         one comparison, `single` the core given one signature. A peer's figure is its time over the core's."
    );
}

fn figure(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"))
}

pub(crate) fn targets(targets: &[Target]) {
    println!();
    for target in targets {
        let verdict = if target.is_met() { "met   " } else { "MISSED" };
        println!("{verdict} {:<40}{:>8.2}  {}", target.name, target.measured, target.limit);
    }
}

/// `name=value`, one a line.
pub(crate) fn lines(rows: &[Row], targets: &[Target]) {
    println!("\nsha256_instructions={}", hashes_in_hardware());
    for row in rows {
        let named = [("core_over_floor".to_owned(), row.ratio(CORE, FLOOR))];
        let peers = row.peers().map(|peer| (format!("{peer}_over_core"), row.ratio(peer, CORE)));
        for (name, ratio) in named.into_iter().chain(peers) {
            println!("{}.{name}={}", row.cell, figure(ratio));
        }
    }
    for target in targets {
        println!("target.{}={:.3}", target.name, target.measured);
    }
    println!("targets_missed={}", targets.iter().filter(|target| !target.is_met()).count());
}

pub(crate) fn json(rows: &[Row], targets: &[Target]) -> Value {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            let nanoseconds: serde_json::Map<_, _> =
                row.nanoseconds.iter().map(|(name, nanoseconds)| ((*name).to_owned(), json!(nanoseconds))).collect();
            json!({ "delivery": row.cell.to_string(), "nanoseconds": nanoseconds })
        })
        .collect();
    let targets: Vec<_> = targets
        .iter()
        .map(|target| {
            let (bound, limit) = match target.limit {
                Limit::AtMost(limit) => ("at_most", limit),
                Limit::AtLeast(limit) => ("at_least", limit),
            };
            json!({ "name": target.name, "measured": target.measured, bound: limit, "met": target.is_met() })
        })
        .collect();
    json!({ "sha256_instructions": hashes_in_hardware(), "deliveries": rows, "targets": targets })
}

fn hashes_in_hardware() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("sha");
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("sha2");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    false
}
