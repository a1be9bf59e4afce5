//! `completions`: what a shell needs to complete the command line.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::{
    cli::Cli,
    console::{Console, Exit, Failure},
};

/// Print the completions for a shell
#[derive(clap::Args)]
pub(crate) struct Args {
    shell: Shell,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "asixto-webhook", &mut script);
    console.print(String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}
