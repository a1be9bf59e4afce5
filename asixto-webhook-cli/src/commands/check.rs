//! `check`: whether a receiver does what the contract asks of it, point by point.

use std::{
    fs,
    io::{IsTerminal, stderr, stdout},
    path::PathBuf,
};

use asixto_webhook_conformance::{Check, Observer, Peer, Report, Selection, Target, Trust, Version};
use asixto_webhook_core::Environment;
use clap::ValueEnum;
use tokio::runtime;

use crate::{
    console::{Console, Exit, Failure, shown, tell},
    input::secrets::KeyArgs,
};

/// What the help says at its end.
pub(crate) const HOW: &str = "\
Every delivery that the receiver accepts is work for its handler: check one that may do it. Its secrets are needed, since \
deliveries are signed with them. Points, groups and probes are named in the report; what the sender's contract leaves open \
is advice, and no failure.

Exit codes of a check:
  0  the receiver passes
  1  it fails
  2  the arguments, a secret, a file
  3  it could not be judged: it does not answer, or takes no valid delivery
  4  with --strict: something could not be told from outside";

/// Check a receiver against the contract, point by point, whoever wrote it
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where the receiver listens, such as http://127.0.0.1:3000/webhooks/asixto
    url: String,
    /// Whether its events are of `live` or `test` (asixto)
    #[arg(long, value_name = "ENVIRONMENT", default_value = "test")]
    environment: Environment,
    /// URL that tells which events the handler ran for: a JSON list of objects with `id` and `times`, or of ids, each as
    /// often as it ran
    #[arg(long, value_name = "URL", conflicts_with = "observe_cmd")]
    observe: Option<String>,
    /// Command of the shell that prints the same
    #[arg(long, value_name = "COMMAND")]
    observe_cmd: Option<String>,
    /// Run a part only: a point (K1 to K10), a group (accept, reject, state, operation) or one probe, such as
    /// reject/forged. May be repeated
    #[arg(long, value_name = "PART", value_parser = part)]
    only: Vec<Selection>,
    /// Speak HTTP/2, without TLS by prior knowledge
    #[arg(long)]
    http2: bool,
    /// PEM file with the authorities to trust for https, instead of the system's
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// End with 4 where something could not be told from outside
    #[arg(long)]
    strict: bool,
    /// How the report is written: lines for a terminal, JSON, the XML that servers for tests read, or one page
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
    /// Print JSON, as --format json does: an object with `url`, `http`, `provider`, `verdict`, `environment` (why
    /// nothing could be judged), `evidence`, `clock_skew_seconds`, `latency`, and `probes`, a list of `id`, `clause`,
    /// `point`, `title`, `authority`, `verdict`, `expected`, `got`, `note`, `fix` and `curl`; what is not known is null
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// File that the report is written to, instead of the output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    keys: KeyArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
    Junit,
    Html,
}

fn part(text: &str) -> Result<Selection, String> {
    Selection::parse(text)
        .ok_or_else(|| "expected a point such as `K5`, a group such as `reject`, or a probe".to_owned())
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Exit, Failure> {
    let keys = args.keys.read(console)?;
    let trust = match &args.ca {
        Some(path) => Trust::Pem(console.read(path, "certificates")?),
        None => Trust::System,
    };
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("the check cannot begin: {error}")))?;
    let report = runtime.block_on(async {
        let version = if args.http2 { Version::Http2 } else { Version::Http1 };
        let told = |error: &dyn std::fmt::Display| Failure::new(error.to_string());
        let (mut target, path) = Target::resolve(&args.url, version, &trust).await.map_err(|error| told(&error))?;
        if let Some(url) = &args.observe {
            let (peer, path) =
                Peer::resolve(url, &trust).await.map_err(|error| told(&format!("--observe: {error}")))?;
            target = target.observed_by(Observer::Server(peer, path));
        }
        if let Some(command) = &args.observe_cmd {
            target = target.observed_by(Observer::Command(command.clone()));
        }
        let kit = keys.kit(&path, args.environment);
        let check = args.only.iter().cloned().fold(Check::new(&target, &kit), Check::only);
        let probes = check.probes().len();
        if probes == 0 {
            return Err(Failure::new(format!("expected a part of the deliveries of `{}`, found none", kit.provider())));
        }
        let watched = stderr().is_terminal();
        let report = check.run(|place, probe| {
            if watched {
                tell(format_args!("\r\x1b[K{:>3} of {probes}  {}", place + 1, probe.title));
            }
        });
        let report = report.await;
        if watched {
            tell("\r\x1b[K");
        }
        Ok(report)
    })?;

    let text = written(&report, args)?;
    match &args.out {
        Some(path) => fs::write(path, text).map_err(|error| Failure::new(format!("--out {}: {error}", shown(path))))?,
        None => console.print(text)?,
    }
    Ok(Exit::Judged(report.exit_code(args.strict)))
}

fn written(report: &Report, args: &Args) -> Result<String, Failure> {
    Ok(match if args.json { Format::Json } else { args.format } {
        Format::Table => report.table(args.out.is_none() && stdout().is_terminal()),
        Format::Json => format!("{:#}\n", report.json()),
        Format::Junit => {
            report.junit().map_err(|error| Failure::new(format!("the report cannot be written: {error}")))?
        }
        Format::Html => report.html(),
    })
}
