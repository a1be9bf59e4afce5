//! What every command shares with the terminal: standard input, output, and the words of a failure.

use std::{
    fmt::{self, Display},
    fs::File,
    io::{self, IsTerminal, Read, StdoutLock, Write},
    path::Path,
};

use asixto_webhook_core::{Asixto, Secret};
use serde::Serialize;

/// How a command ended that could be run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Success,
    /// Not acknowledged, not verified.
    Refused,
    /// A receiver was checked: the code says what was found.
    Judged(u8),
}

/// Why a command could not be run.
pub(crate) enum Failure {
    /// In words that say how to mend it, without a secret.
    Told(String),
    /// The output cannot be written.
    Output(io::Error),
}

impl Failure {
    pub(crate) fn new(words: impl Into<String>) -> Self {
        Self::Told(words.into())
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Told(words) => f.write_str(words),
            Self::Output(error) => write!(f, "the output cannot be written: {error}"),
        }
    }
}

/// Standard output, locked for the whole run, and standard input, which can be read once.
pub(crate) struct Console {
    output: StdoutLock<'static>,
    input_is: Option<&'static str>,
}

impl Console {
    pub(crate) fn new() -> Self {
        Self { output: io::stdout().lock(), input_is: None }
    }

    pub(crate) fn print(&mut self, text: impl Display) -> Result<(), Failure> {
        write!(self.output, "{text}").and_then(|()| self.output.flush()).map_err(Failure::Output)
    }

    pub(crate) fn line(&mut self, text: impl Display) -> Result<(), Failure> {
        self.print(format_args!("{text}\n"))
    }

    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value).map_err(|error| Failure::Output(error.into()))?;
        self.line(text)
    }

    /// Whether progress is to be shown: somebody watches, and does not see the output itself.
    pub(crate) fn is_watched(&self) -> bool {
        io::stderr().is_terminal() && !self.output.is_terminal()
    }

    /// The bytes of a file, or of standard input where the path is `-`. `what` says what they are.
    pub(crate) fn read(&mut self, path: &Path, what: &'static str) -> Result<Vec<u8>, Failure> {
        if path == Path::new("-") {
            return self.read_input(what);
        }
        File::open(path)
            .and_then(bounded)
            .map_err(|error| Failure::new(format!("{}, for {what}: {error}", shown(path))))
    }

    pub(crate) fn read_input(&mut self, what: &'static str) -> Result<Vec<u8>, Failure> {
        if let Some(first) = self.input_is.replace(what) {
            return Err(Failure::new(format!(
                "expected one thing from standard input, found two, {first} and {what}: give one of them as a file"
            )));
        }
        if io::stdin().is_terminal() {
            tell(format_args!("type {what}; ctrl-d ends it\n"));
        }
        bounded(io::stdin().lock()).map_err(|error| Failure::new(format!("standard input, for {what}: {error}")))
    }
}

/// All that there is, as long as it is no more than any webhook.
fn bounded(source: impl Read) -> io::Result<Vec<u8>> {
    const MOST: u64 = 256 << 20;
    let mut bytes = Vec::new();
    source.take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "expected at most 256 MiB, found more"));
    }
    Ok(bytes)
}

/// A path for people: a name of a file may hold anything, and the terminal would take it for commands.
pub(crate) fn shown(path: &Path) -> String {
    let mut shown = String::new();
    for char in path.to_string_lossy().chars() {
        if char.is_control() { shown.extend(char.escape_debug()) } else { shown.push(char) }
    }
    shown
}

/// Says something on standard error; where that is closed, to nobody.
///
/// What looks like a secret of Asixto's is left out: people give one where a file or a name belongs.
pub(crate) fn tell(text: impl Display) {
    let _ = write!(io::stderr(), "{}", without_secrets(&text.to_string()));
}

fn without_secrets(text: &str) -> String {
    let prefix = Secret::<Asixto>::prefix();
    let mut parts = text.split(prefix);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |told, rest| {
        let ends = |char: char| char.is_whitespace() || "'\"`,".contains(char);
        let (secret, rest) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
        told + prefix + if secret.is_empty() { "" } else { "…" } + rest
    })
}

#[cfg(test)]
mod tests {
    use super::without_secrets;

    // D3
    #[test]
    fn what_looks_like_a_secret_is_not_told() {
        for (text, told) in [
            ("nothing here", "nothing here"),
            ("unexpected argument 'whsec_Zm9v' found", "unexpected argument 'whsec_…' found"),
            ("whsec_Zm9v,whsec_YmFy: no such file", "whsec_…,whsec_… no such file"),
            ("keys/whsec_Zm9v", "keys/whsec_…"),
            ("a secret that starts with `whsec_`, found", "a secret that starts with `whsec_`, found"),
        ] {
            assert_eq!(without_secrets(text), told);
        }
    }
}
