//! `asixto-webhook`: a sender, a signer, a verifier, a doctor and a checker for the command line.
//!
//! ```text
//!  arguments ──► commands/* ──► Exit (0, 1; check: 3, 4) or Failure (2)
//!                   │  ▲
//!                   │  └── input: body, header lines, secrets with their labels
//!                   ▼
//!                provider: one of four senders behind `Keys`, which signs, verifies and writes bodies
//! ```
//!
//! No logger is ever installed: the HTTP client would log the headers that it sends.

mod cli;
mod commands;
mod console;
mod input;
mod provider;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::Parser;

use crate::{
    cli::{Cli, Command},
    console::{Console, Exit, Failure},
};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // Help and the version are asked for.
        Err(answer) if !answer.use_stderr() => {
            // Where nobody reads it, nobody misses it.
            let _ = write!(io::stdout(), "{}", answer.render());
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            console::tell(error.render());
            return ExitCode::from(2);
        }
    };
    let mut console = Console::new();
    let ended = match &cli.command {
        Command::Send(arguments) => commands::send::run(arguments, &mut console),
        Command::Sign(arguments) => commands::sign::run(arguments, &mut console),
        Command::Verify(arguments) => commands::verify::run(arguments, &mut console),
        Command::Doctor(arguments) => commands::doctor::run(arguments, &mut console),
        Command::Check(arguments) => commands::check::run(arguments, &mut console),
        Command::Secret(arguments) => commands::secret::run(arguments, &mut console),
        Command::Completions(arguments) => commands::completions::run(arguments, &mut console),
        Command::Man(arguments) => commands::man::run(arguments, &mut console),
    };
    match ended {
        Ok(Exit::Success) => ExitCode::SUCCESS,
        Ok(Exit::Refused) => ExitCode::from(1),
        Ok(Exit::Judged(code)) => ExitCode::from(code),
        // Whoever read the output has seen enough: `asixto-webhook … | head`.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(1),
        Err(failure) => {
            console::tell(format_args!("error: {failure}\n"));
            ExitCode::from(2)
        }
    }
}
