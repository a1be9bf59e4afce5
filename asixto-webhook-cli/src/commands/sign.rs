//! `sign`: the headers that a sender would put on a body.

use std::collections::BTreeMap;

use asixto_webhook_conformance::fixtures::MessageId;
use asixto_webhook_core::{UnixTime, provider::Message};
use serde::Serialize;

use crate::{
    console::{Console, Exit, Failure},
    input::{BodyArgs, secrets::KeyArgs},
};

/// Print the headers that a sender would put on a body
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    body: BodyArgs,
    /// When it is signed, in unix seconds [default: now]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    at: Option<u64>,
    /// Identifier (standard) or nonce (agent): needed, since these sign it
    #[arg(long)]
    id: Option<String>,
    /// Print JSON: an object with `provider` and `headers`, an object of values by name
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    keys: KeyArgs,
}

#[derive(Serialize)]
struct Report<'r> {
    provider: &'r str,
    headers: BTreeMap<String, String>,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Exit, Failure> {
    let provider = args.keys.provider.name();
    let keys = args.keys.read(console)?;
    let id = match (keys.message_id(), &args.id) {
        (MessageId::None, None) => "",
        (MessageId::Event | MessageId::Nonce, Some(id)) => id,
        (MessageId::None, Some(_)) => {
            return Err(Failure::new(format!("expected no --id, since {provider} signs none but that in the body")));
        }
        (MessageId::Event, None) => {
            return Err(Failure::new(format!("expected --id with the id of the event, which {provider} signs")));
        }
        (MessageId::Nonce, None) => {
            return Err(Failure::new(format!("expected --id with a nonce, which {provider} signs")));
        }
    };
    let body = args.body.read(console)?;
    let at = args.at.map_or_else(UnixTime::now, UnixTime::from_secs);
    let headers = keys.sign(Message::new(at, &body).with_id(id))?;
    if args.json {
        console.json(&Report { provider, headers: headers.into_iter().collect() })?;
    } else {
        for (name, value) in headers {
            console.line(format_args!("{name}: {value}"))?;
        }
    }
    Ok(Exit::Success)
}
