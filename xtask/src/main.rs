//! The project's chores: `cargo xtask <task>`.

mod bench;
mod ci;
mod demo;
mod shell;
mod test;

use std::{env, process::ExitCode};

const USAGE: &str = "\
usage: cargo xtask <task>

  demo [--http2] [--json]   start the axum example, send it good and bad deliveries, and show a table
  bench verify [--quick] [--check] [--json]
                            what verification costs beside a bare HMAC and beside other libraries
  test                      everything that proves the project, doc tests included
  ci [--after-test]         format, lints, tests, docs, each feature alone, packages
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["demo", flags @ ..] if flags.iter().all(|flag| ["--http2", "--json"].contains(flag)) => {
            demo::run(flags.contains(&"--http2"), flags.contains(&"--json"))
        }
        ["bench", "verify", flags @ ..] if flags.iter().all(|flag| ["--quick", "--check", "--json"].contains(flag)) => {
            bench::verify(flags)
        }
        ["test"] => test::run(),
        ["ci"] => test::run().and_then(|()| ci::run()),
        ["ci", "--after-test"] => ci::run(),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(())
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
