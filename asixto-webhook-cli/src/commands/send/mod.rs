//! `send`: deliveries as a gateway makes them, to a receiver.

mod edit;
mod plan;
mod post;
mod random;
mod report;

use std::path::PathBuf;

use asixto_webhook_conformance::fixtures::EVENT_TYPES;
use asixto_webhook_core::Environment;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser};

use self::{edit::Edit, plan::Plan, post::Target, report::Report};
use crate::{
    console::{Console, Exit, Failure},
    input::secrets::KeyArgs,
};

/// Each event of every type.
const ALL: &str = "all";

/// What the help says at its end.
pub(crate) const HOW: &str = "\
Every delivery has a connection of its own, goes past any proxy, and follows no redirect. Its outcome is known of \
receivers with diagnostics.";

/// Send realistic deliveries to a receiver, signed as the provider signs them
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where the receiver listens, such as http://127.0.0.1:3000/webhooks/asixto
    #[arg(long, value_name = "URL")]
    to: String,
    /// Type of the event, or `all` for one of each. Another sender's own type goes into its field, as in
    /// --provider standard --type job.failed --set type=user.created
    #[arg(
        long = "type",
        value_name = "TYPE",
        value_parser = PossibleValuesParser::new(EVENT_TYPES.into_iter().chain([ALL]))
    )]
    event_type: String,
    /// PEM file with the authorities to trust for https, instead of the system's
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// How long to wait for an answer [default: as long as the provider does]
    #[arg(long, value_name = "SECONDS", value_parser = RangedU64ValueParser::<u64>::new().range(1..=3600))]
    timeout: Option<u64>,
    /// Print JSON: `deliveries`, a list of `type`, `id`, `status`, `outcome`, `error` (what is not known is null),
    /// `acknowledged` and `milliseconds`; and `sent` and `acknowledged`, which count them
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    body: Body,
    #[command(flatten)]
    times: Times,
    #[command(flatten)]
    keys: KeyArgs,
}

#[derive(clap::Args)]
#[command(next_help_heading = "The event")]
struct Body {
    /// Id of the event [default: a new one]
    #[arg(long)]
    id: Option<String>,
    /// When it happened, in unix seconds [default: now; with --seed a fixed time]
    #[arg(long, value_name = "SECONDS")]
    created: Option<u64>,
    /// `live` or `test` (asixto) [default: test]
    #[arg(long, value_name = "ENVIRONMENT")]
    environment: Option<Environment>,
    /// Make it a manual replay of the delivery with this id (asixto)
    #[arg(long, value_name = "ID")]
    replay_of: Option<String>,
    /// File with the data as JSON, sent as it is; `-` is standard input [default: a plausible example]
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Set a field of the body, such as data.credits_charged=5; what is no JSON is a string. May be repeated
    #[arg(long, value_name = "PATH=VALUE", value_parser = Edit::set)]
    set: Vec<Edit>,
    /// Remove a field of the body, such as data.metadata, after what is set. May be repeated
    #[arg(long, value_name = "PATH", value_parser = Edit::unset)]
    unset: Vec<Edit>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "How often")]
struct Times {
    /// How many events, or of `all` how many of each
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    count: u32,
    /// How often each event is delivered, with the same body; one after the other
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    duplicate: u32,
    /// In another order than that of their making
    #[arg(long)]
    shuffle: bool,
    /// Make the same ids and the same order again, and thereby the same bodies
    #[arg(long)]
    seed: Option<u64>,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Exit, Failure> {
    let keys = args.keys.read(console)?;
    let target = Target::new(args, keys.figures(), console)?;
    let plan = Plan::new(args, &*keys, console)?;
    // What no receiver could take is found before anything is sent.
    plan.check()?;

    let mut report = Report::new(&plan, args.json);
    report.begin(console)?;
    for delivery in plan.deliveries() {
        let answer = target.post(&plan.request(&delivery)?);
        report.add(delivery.event, answer, console)?;
    }
    report.end(console)
}
