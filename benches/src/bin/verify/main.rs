//! What verification costs beside a bare HMAC and beside other libraries: `cargo xtask bench verify`.
//!
//! All contenders verify the same deliveries in one run and take turns, so that their ratios hold where their times do
//! not: on another machine, or on one that is busy.

mod contenders;
mod delivery;
mod race;
mod report;
mod targets;

use std::{env, process::ExitCode};

use contenders::{Contender, FLOOR};
use delivery::{Cell, Delivery, KIB, Verdict};
use race::Effort;
use report::Row;

const USAGE: &str = "\
usage: verify [--quick] [--check] [--json]

  --quick   a few calls of every contender: that shows that all run, and its figures mean nothing
  --check   fail where a target is missed
  --json    one JSON object instead of the table
";

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let flags: Vec<String> = env::args().skip(1).collect();
    let has = |flag: &str| flags.iter().any(|given| given == flag);
    if !flags.iter().all(|flag| ["--quick", "--check", "--json"].contains(&flag.as_str())) {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    }
    let (effort, largest) = if has("--quick") { (Effort::QUICK, 2 * KIB * KIB) } else { (Effort::FULL, usize::MAX) };
    // A peer hashes the body for every signature.
    let cells = Cell::all().into_iter().filter(|cell| cell.size * cell.candidates <= largest);
    let rows = match cells.map(|cell| measure(cell, effort)).collect::<Result<Vec<_>>>() {
        Ok(rows) => rows,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let targets = targets::judge(&rows);
    if has("--json") {
        println!("{}", report::json(&rows, &targets));
    } else {
        report::tables(&rows);
        report::targets(&targets);
        report::lines(&rows, &targets);
    }
    if has("--check") && !targets.iter().all(targets::Target::is_met) {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn measure(cell: Cell, effort: Effort) -> Result<Row> {
    let (delivery, single) = (Delivery::new(cell)?, Delivery::new(cell.with_one_candidate())?);
    let contenders = contenders::all(&delivery, &single)?;
    for Contender { name, accepts } in &contenders {
        // The floor knows no time.
        let accepted = cell.verdict == Verdict::Good || (cell.verdict == Verdict::Stale && *name == FLOOR);
        if accepts() != accepted {
            return Err(format!("expected {name} to find {cell} as it is named, found otherwise").into());
        }
    }
    let calls: Vec<_> = contenders.iter().map(|contender| &*contender.accepts).collect();
    let names = contenders.iter().map(|contender| contender.name);
    Ok(Row { cell, nanoseconds: names.zip(race::race(&calls, effort)).collect() })
}
