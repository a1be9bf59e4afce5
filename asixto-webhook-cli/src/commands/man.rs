//! `man`: the manual, a page per command.

use clap::CommandFactory;

use crate::{
    cli::Cli,
    console::{Console, Exit, Failure},
};

/// Print a page of the manual, in roff
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The command that the page is about, such as `send` or `secret new`; the program itself without
    command: Vec<String>,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Exit, Failure> {
    let mut program = Cli::command();
    // Gives every command its full name.
    program.build();
    let mut command = &program;
    for name in &args.command {
        command = command.find_subcommand(name).ok_or_else(|| {
            let known: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
            Failure::new(format!("expected a command with a page, one of {}; found `{name}`", known.join(", ")))
        })?;
    }
    let source = concat!("asixto-webhook ", env!("CARGO_PKG_VERSION"));
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).source(source).render(&mut page).map_err(Failure::Output)?;
    console.print(String::from_utf8_lossy(&page))?;
    Ok(Exit::Success)
}
