//! `verify`: whether a delivery's signature holds.

use asixto_webhook_core::{UnixTime, VerifyError};
use serde::Serialize;

use crate::{
    console::{Console, Exit, Failure},
    input::{BodyArgs, headers::HeaderArgs, secrets::KeyArgs},
};

/// Say whether a delivery's signature holds, and which secret made it
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    body: BodyArgs,
    #[command(flatten)]
    headers: HeaderArgs,
    /// When the delivery arrived, in unix seconds [default: now]
    #[arg(long, value_name = "SECONDS")]
    now: Option<u64>,
    /// Print JSON: an object with `provider`, `verified`, `secret` (where it came from), `skew_seconds`
    /// (the arrival less the time of signing) and `error`; what is not known is null
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    keys: KeyArgs,
}

#[derive(Serialize)]
struct Report<'r> {
    provider: &'r str,
    verified: bool,
    secret: Option<&'r str>,
    skew_seconds: Option<i64>,
    error: Option<String>,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Exit, Failure> {
    let keys = args.keys.read(console)?;
    let headers = args.headers.read(console)?;
    let body = args.body.read(console)?;
    let now = args.now.map_or_else(UnixTime::now, UnixTime::from_secs);
    let verified = keys.verify(&headers, &body, now);

    if args.json {
        let (secret, skew_seconds) = match &verified {
            Ok(verified) => (Some(verified.secret()), Some(verified.skew_seconds())),
            Err(VerifyError::OutsideWindow { skew_seconds }) => (None, Some(*skew_seconds)),
            Err(_) => (None, None),
        };
        let (provider, error) = (args.keys.provider.name(), verified.as_ref().err().map(VerifyError::to_string));
        console.json(&Report { provider, verified: verified.is_ok(), secret, skew_seconds, error })?;
    } else {
        match &verified {
            Ok(verified) => {
                let when = match verified.skew_seconds() {
                    skew @ 0.. => format!("{skew} s ago"),
                    skew => format!("{} s in the future", skew.unsigned_abs()),
                };
                console.line(format_args!("verified: signed with {}, {when}", verified.secret()))?;
            }
            Err(error) => console.line(format_args!(
                "refused: {error}\nrun `asixto-webhook doctor` with the same arguments to find out why"
            ))?,
        }
    }
    Ok(if verified.is_ok() { Exit::Success } else { Exit::Refused })
}
