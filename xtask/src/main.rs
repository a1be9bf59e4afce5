//! The project's chores: `cargo xtask <task>`.

mod bench;
mod ci;
mod conformance;
mod demo;
mod examples;
mod shell;
mod test;

use std::{env, process::ExitCode};

use crate::examples::FRAMEWORKS;

const USAGE: &str = "\
usage: cargo xtask <task>

  demo [--framework axum|actix|warp|tower] [--http2] [--json]
                            start the framework's example (axum), send it good and bad deliveries, and show a table
  conformance [--json]      every probe against every framework's example, in one table
  bench verify [--quick] [--check] [--json]
                            what verification costs beside a bare HMAC and beside other libraries
  test [--all-services]     everything that proves the project, doc tests included; tests of what is not installed here
                            (Python, Node.js, PostgreSQL) are left out, or with the flag fail
  ci [--after-test]         format, lints, tests, docs, each feature alone, packages
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["demo", flags @ ..] if demo_flags(flags).is_some() => {
            demo::run(demo_flags(flags).unwrap_or_default(), flags.contains(&"--http2"), flags.contains(&"--json"))
        }
        ["conformance"] => conformance::run(false),
        ["conformance", "--json"] => conformance::run(true),
        ["bench", "verify", flags @ ..] if flags.iter().all(|flag| ["--quick", "--check", "--json"].contains(flag)) => {
            bench::verify(flags)
        }
        ["test"] => test::run(false),
        ["test", "--all-services"] => test::run(true),
        ["ci"] => test::run(false).and_then(|()| ci::run()),
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

/// The framework that is asked for. `None` for a flag that there is none of.
fn demo_flags<'f>(flags: &[&'f str]) -> Option<&'f str> {
    let mut framework = FRAMEWORKS[0];
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        match *flag {
            "--framework" => framework = flags.next().filter(|name| FRAMEWORKS.contains(name))?,
            "--http2" | "--json" => {}
            _ => return None,
        }
    }
    Some(framework)
}
