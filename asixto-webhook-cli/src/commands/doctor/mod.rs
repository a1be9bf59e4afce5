//! `doctor`: why a delivery's signature does not match.

mod inflate;
mod report;

use std::{path::PathBuf, time::Duration};

use asixto_webhook_conformance::fixtures;
use asixto_webhook_core::{
    Asixto, UnixTime,
    explain::{Case, Diagnosis, Verdict},
    provider::{Provider, StandardWebhooks},
};

use crate::{
    console::{Console, Exit, Failure},
    input::{
        headers::HeaderArgs,
        secrets::{ElsewhereArgs, KeyArgs, Labelled},
    },
    provider::Choice,
};

/// What the help says at its end.
pub(crate) const HOW: &str = "\
A cause is proven where the signature matches under exactly what it says, and suspected otherwise. Secrets are tried as \
their sources have them: quotes, blanks and the newline at the end of a file are causes. Neither a secret nor a signature \
nor anything of the body is printed.";

const AS_IT_IS: &str = "File with one secret, taken to its last byte. May be repeated";
const INPUT_AS_IT_IS: &str = "Read one secret from standard input, to its last byte: use `printf %s` and not `echo`";

/// Find out why a delivery's signature does not match, and what to do about it
#[derive(clap::Args)]
#[command(mut_arg("files", |files| files.help(AS_IT_IS)), mut_arg("input", |input| input.help(INPUT_AS_IT_IS)))]
pub(crate) struct Args {
    /// File with the body as it arrived, byte for byte; `-` is standard input [default: -]
    #[arg(value_name = "BODY")]
    body: Option<PathBuf>,
    /// The same, by name
    #[arg(long = "body", value_name = "FILE", conflicts_with = "body")]
    named_body: Option<PathBuf>,
    #[command(flatten)]
    headers: HeaderArgs,
    /// When the delivery arrived, in unix seconds [default: now]
    #[arg(long, value_name = "SECONDS")]
    now: Option<u64>,
    /// How far the time of signing may be from that [default: as far as the provider says]
    #[arg(long, value_name = "SECONDS")]
    tolerance: Option<u64>,
    /// Print JSON: an object with `provider`, `verdict` (`healthy`, `stale`, `explained` or `unexplained`), `secret` and
    /// `skew_seconds` (null unless it matches as it is), `causes`, a list of `code`, `certainty` (`proven` or
    /// `suspected`), `evidence` and `fix`; `notes`, a list of sentences; `complete`, false where something was too
    /// large or too much to be tried; and `macs`, how many that took
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    keys: KeyArgs,
    #[command(flatten)]
    elsewhere: ElsewhereArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Exit, Failure> {
    let mut delivery = Delivery::read(args, console)?;
    let diagnosis = delivery.diagnose();
    report::print(args, &diagnosis, &delivery.notes(&diagnosis), console)?;
    Ok(if diagnosis.is_healthy() { Exit::Success } else { Exit::Refused })
}

/// What arrived, and the secrets on both sides of the fence.
struct Delivery<'a> {
    args: &'a Args,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    /// The body inflated, by the name of the coding.
    readings: Vec<(&'static str, Vec<u8>)>,
    secrets: Vec<Labelled>,
    elsewhere: Vec<Labelled>,
    /// Whether newlines at the end of secrets were left out, to find anything.
    is_trimmed: bool,
}

impl<'a> Delivery<'a> {
    fn read(args: &'a Args, console: &mut Console) -> Result<Self, Failure> {
        let (secrets, elsewhere) = (args.keys.texts(console)?, args.elsewhere.texts()?);
        let headers = args.headers.read(console)?;
        let body = match args.body.as_ref().or(args.named_body.as_ref()) {
            Some(path) => console.read(path, "the body")?,
            None => match console.read_input("the body")? {
                empty if empty.is_empty() => {
                    return Err(Failure::new(
                        "expected the body of the delivery, found nothing on standard input: give a file with it, or `-` \
                         if it was empty",
                    ));
                }
                body => body,
            },
        };
        Ok(Self { args, headers, readings: inflate::readings(&body), body, secrets, elsewhere, is_trimmed: false })
    }

    /// With the secrets as they are. Where that explains nothing, without their newlines: a receiver may well trim those, and
    /// then they must not hide what is wrong.
    fn diagnose(&mut self) -> Diagnosis {
        let as_it_is = self.diagnose_once();
        if *as_it_is.verdict() != Verdict::Unexplained || !self.secrets.iter().any(Labelled::has_newline) {
            return as_it_is;
        }
        self.secrets.iter_mut().for_each(Labelled::drop_newline);
        let trimmed = self.diagnose_once();
        self.is_trimmed = *trimmed.verdict() != Verdict::Unexplained;
        if self.is_trimmed { trimmed } else { as_it_is }
    }

    fn diagnose_once(&self) -> Diagnosis {
        match &self.args.keys.provider {
            Choice::Asixto => self.diagnose_as(Asixto),
            Choice::Standard => self.diagnose_as(StandardWebhooks),
            Choice::CloudEvents(provider) => self.diagnose_as(provider.clone()),
            Choice::Agent => self.diagnose_as(fixtures::agent()),
        }
    }

    fn diagnose_as<P: Provider>(&self, provider: P) -> Diagnosis {
        let now = self.args.now.map_or_else(UnixTime::now, UnixTime::from_secs);
        let headers = self.headers.iter().map(|(name, value)| (&**name, &**value));
        let mut case = Case::new(provider, now).headers(headers).body(&self.body);
        if let Some(seconds) = self.args.tolerance {
            case = case.tolerance(Duration::from_secs(seconds));
        }
        for Labelled { label, text, .. } in &self.secrets {
            case = case.secret(label, text);
        }
        for Labelled { label, text, .. } in &self.elsewhere {
            case = case.elsewhere(label, text);
        }
        for (name, bytes) in &self.readings {
            case = case.reading(name, bytes);
        }
        case.diagnose()
    }

    /// What the engine cannot know: how the delivery came to be handed in.
    fn notes(&self, diagnosis: &Diagnosis) -> Vec<&'static str> {
        let has = |code| diagnosis.causes().iter().any(|cause| cause.code() == code);
        let is_unexplained = *diagnosis.verdict() == Verdict::Unexplained;
        let notes = [
            (
                has("secret_padded") && self.secrets.iter().any(Labelled::has_newline),
                "a newline at the end of a file or of standard input counts here: where the receiver trims it, as `verify` \
                 does, `secret_padded` is no fault",
            ),
            (
                self.is_trimmed,
                "a newline at the end of a file or of standard input was left out: where the receiver does not trim it, that \
                 is a fault as well",
            ),
            (
                (is_unexplained || diagnosis.is_healthy()) && self.secrets.iter().any(Labelled::is_part),
                "a variable with commas was taken for several secrets: where the receiver takes it for one, give it by \
                 --secret-file or --secret-stdin",
            ),
            (
                is_unexplained && diagnosis.causes().is_empty() && self.elsewhere.is_empty(),
                "secrets that may have signed it instead, such as those of the other environment, can be given by \
                 --elsewhere-env or --elsewhere-file",
            ),
            (
                has("signed_too_long_ago") && self.args.now.is_none(),
                "the delivery was taken to arrive now: for a recorded one give --now",
            ),
            (
                has("body_read_otherwise"),
                "the sender signs the body before it is compressed: inflate it, and verify what comes out",
            ),
            (
                has("body_compressed"),
                "the body could not be inflated here: it is damaged, or becomes larger than 4 MiB",
            ),
            (
                !diagnosis.is_complete(),
                "not everything was tried: a body of more than 1 MiB is tried as it is, long secrets and headers likewise, \
                 and the number of tries has a limit: give fewer secrets at once, or a smaller delivery",
            ),
            (
                is_unexplained && self.is_in_a_strange_coding(),
                "only gzip, zlib and deflate are inflated here: inflate the body by other means, and diagnose that as well",
            ),
        ];
        notes.into_iter().filter(|(applies, _)| *applies).map(|(_, note)| note).collect()
    }

    fn is_in_a_strange_coding(&self) -> bool {
        let codings = self.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("content-encoding"));
        let is_known = |coding: &[u8]| {
            [&b"gzip"[..], b"x-gzip", b"deflate", b"identity", b""]
                .iter()
                .any(|known| coding.eq_ignore_ascii_case(known))
        };
        codings.flat_map(|(_, value)| value.split(|byte| *byte == b',')).any(|coding| !is_known(coding.trim_ascii()))
    }
}
