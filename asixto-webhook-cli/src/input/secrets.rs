//! Secrets and where they come from, which is what they are called by.

use std::{
    env, fs,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

use asixto_webhook_core::{Secret, SecretError, provider::Provider};
use clap::Args;
use zeroize::Zeroizing;

use crate::{
    console::{Console, Failure, shown, tell},
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
    /// The sender with its secrets, without the newline that editors and `echo` put at the end of one, nor the blanks
    /// that people put after commas.
    pub(crate) fn read(&self, console: &mut Console) -> Result<Box<dyn Keys>, Failure> {
        let mut secrets = self.texts(console)?;
        for secret in &mut secrets {
            secret.drop_newline();
            if secret.is_part() {
                secret.text = owned(secret.text.trim());
            }
        }
        self.provider.keys(&secrets)
    }

    /// The secrets, each text as its source has it.
    pub(crate) fn texts(&self, console: &mut Console) -> Result<Vec<Labelled>, Failure> {
        let mut secrets = Vec::new();
        let no_source = self.variables.is_empty() && self.files.is_empty() && !self.input && self.texts.is_empty();
        let usual = no_source.then(|| VARIABLE.to_owned());
        for name in self.variables.iter().chain(&usual) {
            secrets.extend(of_variable(name, "--secret-env")?);
        }
        for path in &self.files {
            secrets.push(of_file(path, "--secret-file")?);
        }
        if self.input {
            let mut secret = Labelled::line("stdin", console.read_input("a secret")?, "standard input")?;
            if io::stdin().is_terminal() {
                // That of the enter key.
                secret.drop_newline();
            }
            secrets.push(secret);
        }
        if !self.texts.is_empty() {
            tell(
                "warning: a secret on the command line is seen by other users and kept in the shell's history; \
                 use --secret-file or --secret-env\n",
            );
            let texts: Vec<_> = self.texts.iter().map(String::as_str).collect();
            secrets.extend(numbered("--secret", &texts, Stood::Alone));
        }
        Ok(secrets)
    }
}

/// Secrets that a receiver does not take.
#[derive(Args)]
pub(crate) struct ElsewhereArgs {
    /// Environment variable with secrets that the receiver does not take, such as those of the other environment,
    /// separated by commas. May be repeated
    #[arg(long = "elsewhere-env", value_name = "NAME")]
    elsewhere_variables: Vec<String>,
    /// File with one such secret. May be repeated
    #[arg(long = "elsewhere-file", value_name = "FILE")]
    elsewhere_files: Vec<PathBuf>,
}

impl ElsewhereArgs {
    /// As [`KeyArgs::texts`].
    pub(crate) fn texts(&self) -> Result<Vec<Labelled>, Failure> {
        let mut secrets = Vec::new();
        for name in &self.elsewhere_variables {
            secrets.extend(of_variable(name, "--elsewhere-env")?);
        }
        for path in &self.elsewhere_files {
            secrets.push(of_file(path, "--elsewhere-file")?);
        }
        Ok(secrets)
    }
}

/// A secret's text, and the name of the place that it comes from.
pub(crate) struct Labelled {
    pub(crate) label: String,
    pub(crate) text: Zeroizing<String>,
    stood: Stood,
}

/// How a text stood in its source.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stood {
    Alone,
    BetweenCommas,
    /// Where a newline at its end may be none of the secret's source.
    OnALine,
}

impl Labelled {
    /// The secret of a provider, at its place among all.
    pub(crate) fn secret<P: Provider>((labelled, place): (&Self, usize)) -> Result<Secret<P>, Failure> {
        let Self { label, text, .. } = labelled;
        let secret = match Secret::issued(label, text) {
            // A file that is named after its secret. Not to be shown either.
            Err(SecretError::LabelShowsSecret) => Secret::issued(&format!("secret {place}"), text),
            secret => secret,
        };
        secret.map_err(|error| Failure::new(format!("{label}: {error}")))
    }

    /// Whether it is one of several between commas.
    pub(crate) fn is_part(&self) -> bool {
        self.stood == Stood::BetweenCommas
    }

    /// Whether it has the newline that editors and `echo` put at the end.
    pub(crate) fn has_newline(&self) -> bool {
        self.stood == Stood::OnALine && self.text.ends_with('\n')
    }

    pub(crate) fn drop_newline(&mut self) {
        if self.has_newline() {
            self.text.pop();
            if self.text.ends_with('\r') {
                self.text.pop();
            }
        }
    }

    /// All of a file. `place` stands for it in an error.
    fn line(label: &str, bytes: Vec<u8>, place: &str) -> Result<Self, Failure> {
        let bytes = Zeroizing::new(bytes);
        let text =
            str::from_utf8(&bytes).map_err(|_| Failure::new(format!("{place}: expected text, found other bytes")))?;
        Ok(Self { label: label.to_owned(), text: owned(text), stood: Stood::OnALine })
    }
}

/// Called by their source, and where there are several by their number.
fn numbered(source: &str, texts: &[&str], stood: Stood) -> Vec<Labelled> {
    let label = |place| if texts.len() > 1 { format!("{source} #{place}") } else { source.to_owned() };
    let labelled = |(place, text): (usize, &&str)| Labelled { label: label(place + 1), text: owned(text), stood };
    texts.iter().enumerate().map(labelled).collect()
}

/// One secret, or several with commas between them. `option` is what named the variable.
fn of_variable(name: &str, option: &str) -> Result<Vec<Labelled>, Failure> {
    let value = env::var(name).map_err(|error| match error {
        env::VarError::NotUnicode(_) => Failure::new(format!("{name}: expected text, found other bytes")),
        env::VarError::NotPresent if name == VARIABLE => Failure::new(format!(
            "expected a secret, found no variable {VARIABLE}: set it, or give --secret-file, --secret-env or \
             --secret-stdin; `asixto-webhook secret new` makes one"
        )),
        // Without the name: people give the secret where its variable belongs.
        env::VarError::NotPresent => {
            Failure::new(format!("{option}: expected the name of a variable with a secret, found none that is set"))
        }
    });
    let value = Zeroizing::new(value?);
    let parts: Vec<_> = value.split(',').collect();
    Ok(numbered(name, &parts, if parts.len() > 1 { Stood::BetweenCommas } else { Stood::Alone }))
}

fn of_file(path: &Path, option: &str) -> Result<Labelled, Failure> {
    // Without the path, as above.
    let bytes = fs::read(path).map_err(|error| {
        Failure::new(format!("{option}: expected a file with a secret, found none that can be read: {error}"))
    });
    let label = shown(path);
    Labelled::line(&label, bytes?, &label)
}

fn owned(text: &str) -> Zeroizing<String> {
    Zeroizing::new(text.to_owned())
}
