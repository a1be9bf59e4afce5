//! Secrets and where they come from, which is what they are called by.

use std::{env, fs, path::PathBuf};

use asixto_webhook_core::{Secret, SecretError, provider::Provider};
use clap::Args;
use zeroize::Zeroizing;

use crate::{
    console::{Console, Failure, tell},
    provider::{Choice, Keys},
};

const VARIABLE: &str = "ASIXTO_WEBHOOK_SECRETS";

/// A sender and its secrets: those of the usual variable where none are given.
#[derive(Args)]
#[command(next_help_heading = "Provider and secrets")]
pub(crate) struct KeyArgs {
    /// Whose webhooks: `asixto`, `standard`, `cloudevents:<header>` or `agent`
    #[arg(long, value_name = "PROVIDER", default_value = "asixto")]
    pub(crate) provider: Choice,
    /// Environment variable with one secret, or several separated by commas [default:
    /// ASIXTO_WEBHOOK_SECRETS, where no secret is given in another way]
    #[arg(long = "secret-env", value_name = "NAME")]
    variables: Vec<String>,
    /// File with one secret; a newline at its end is left out. May be repeated
    #[arg(long = "secret-file", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Read one secret from standard input; a newline at its end is left out
    #[arg(long = "secret-stdin")]
    input: bool,
    /// The secret itself, which other users of the machine can see: for trials. May be repeated
    #[arg(long = "secret", value_name = "TEXT")]
    texts: Vec<String>,
}

impl KeyArgs {
    /// The sender with its secrets.
    pub(crate) fn read(&self, console: &mut Console) -> Result<Box<dyn Keys>, Failure> {
        self.provider.keys(&self.secrets(console)?)
    }

    fn secrets(&self, console: &mut Console) -> Result<Vec<Labelled>, Failure> {
        let mut secrets = Vec::new();
        let no_source = self.variables.is_empty() && self.files.is_empty() && !self.input && self.texts.is_empty();
        let usual = no_source.then(|| VARIABLE.to_owned());
        for name in self.variables.iter().chain(&usual) {
            let value = Zeroizing::new(variable(name)?);
            secrets.extend(numbered(name, &value.split(',').collect::<Vec<_>>()));
        }
        for path in &self.files {
            // Without the path: people give the secret where its file belongs.
            let text = fs::read(path).map_err(|error| {
                Failure::new(format!(
                    "--secret-file: expected a file with a secret, found none that can be read: {error}"
                ))
            });
            let label = path.display().to_string();
            let text = line(text?, &label)?;
            secrets.push(Labelled { label, text });
        }
        if self.input {
            let text = line(console.read_input("a secret")?, "standard input")?;
            secrets.push(Labelled { label: "stdin".to_owned(), text });
        }
        if !self.texts.is_empty() {
            tell(
                "warning: a secret on the command line is seen by other users and kept in the shell's history; \
                 use --secret-file or --secret-env\n",
            );
            secrets.extend(numbered("--secret", &self.texts.iter().map(String::as_str).collect::<Vec<_>>()));
        }
        Ok(secrets)
    }
}

/// A secret's text, and the name of the place that it comes from.
pub(crate) struct Labelled {
    label: String,
    text: Zeroizing<String>,
}

impl Labelled {
    /// The secret of a provider, at its place among all.
    pub(crate) fn secret<P: Provider>((labelled, place): (&Self, usize)) -> Result<Secret<P>, Failure> {
        let Self { label, text } = labelled;
        let secret = match Secret::issued(label, text) {
            // A file that is named after its secret. Not to be shown either.
            Err(SecretError::LabelShowsSecret) => Secret::issued(&format!("secret {place}"), text),
            secret => secret,
        };
        secret.map_err(|error| Failure::new(format!("{label}: {error}")))
    }
}

/// Called by their source, and where there are several by their number.
fn numbered(source: &str, texts: &[&str]) -> Vec<Labelled> {
    let label = |place| if texts.len() > 1 { format!("{source} #{place}") } else { source.to_owned() };
    let labelled = |(place, text): (usize, &&str)| Labelled { label: label(place + 1), text: owned(text) };
    texts.iter().enumerate().map(labelled).collect()
}

fn variable(name: &str) -> Result<String, Failure> {
    env::var(name).map_err(|error| match error {
        env::VarError::NotUnicode(_) => Failure::new(format!("{name}: expected text, found other bytes")),
        env::VarError::NotPresent if name == VARIABLE => Failure::new(format!(
            "expected a secret, found no variable {VARIABLE}: set it, or give --secret-file, --secret-env or \
             --secret-stdin; `asixto-webhook secret new` makes one"
        )),
        // Without the name, as above.
        env::VarError::NotPresent => {
            Failure::new("--secret-env: expected the name of a variable with a secret, found none that is set")
        }
    })
}

/// The text without the newline that editors and `echo` put at its end.
fn line(bytes: Vec<u8>, place: &str) -> Result<Zeroizing<String>, Failure> {
    let bytes = Zeroizing::new(bytes);
    let text =
        str::from_utf8(&bytes).map_err(|_| Failure::new(format!("{place}: expected text, found other bytes")))?;
    let text = text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text));
    Ok(owned(text))
}

fn owned(text: &str) -> Zeroizing<String> {
    Zeroizing::new(text.to_owned())
}
