//! `secret new`: one of the two commands that print something secret.

use clap::Subcommand;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::{
    console::{Console, Exit, Failure},
    provider::Choice,
};

/// Make a secret
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    New(NewArgs),
}

/// Print a new secret: 32 bytes of the system's randomness, in the provider's form
#[derive(clap::Args)]
struct NewArgs {
    /// Whose secret: `asixto`, `standard`, `cloudevents:<header>` or `agent`
    #[arg(long, value_name = "PROVIDER", default_value = "asixto")]
    provider: Choice,
    /// Print JSON: an object with `provider` and `secret`
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report<'r> {
    provider: &'r str,
    secret: &'r str,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Exit, Failure> {
    let Action::New(NewArgs { provider, json }) = &args.action;
    let mut random = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *random).map_err(|error| Failure::new(format!("the system gives no randomness: {error}")))?;
    let secret = provider.secret(&*random).map_err(|error| Failure::new(error.to_string()))?;
    if *json {
        console.json(&Report { provider: provider.name(), secret: &secret })?;
    } else {
        console.line(&*secret)?;
    }
    Ok(Exit::Success)
}
