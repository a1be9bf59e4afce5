//! The command line as a whole; each command's own arguments stand with the command.

use clap::{Parser, Subcommand};

use crate::commands::{check, completions, doctor, man, secret, send, sign, verify};

const EXIT_CODES: &str = "\
Exit codes:
  0  done: every delivery was acknowledged, the signature holds
  1  not: a delivery was not acknowledged, the signature does not hold, the output was closed early
  2  not even tried: the arguments, a secret, a file";

/// Send, sign and verify webhooks, find out why a signature does not match, and check receivers
#[derive(Parser)]
#[command(name = "asixto-webhook", version, disable_help_subcommand = true, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    #[command(after_help = format!("{}\n\n{EXIT_CODES}", send::HOW))]
    Send(Box<send::Args>),
    #[command(after_help = EXIT_CODES)]
    Sign(sign::Args),
    #[command(after_help = EXIT_CODES)]
    Verify(verify::Args),
    #[command(after_help = format!("{}\n\n{EXIT_CODES}", doctor::HOW))]
    Doctor(Box<doctor::Args>),
    #[command(after_help = check::HOW)]
    Check(Box<check::Args>),
    Secret(secret::Args),
    Completions(completions::Args),
    Man(man::Args),
}
