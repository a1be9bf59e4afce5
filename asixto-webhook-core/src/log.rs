//! One log line a delivery: which one, what became of it, and never a secret, a MAC or the body.

use alloc::{
    borrow::Cow,
    string::{String, ToString},
};
use core::{
    error::Error,
    fmt::{self, Display},
};

use crate::{outcome::Outcome, provider::Glimpse};

/// The target of every event that this workspace logs.
pub(crate) const TARGET: &str = "asixto_webhook";

/// A sender's text for a log: its first 255 characters, with everything unprintable escaped.
///
/// To be recorded as a text, which subscribers quote, and not for display: a blank and an equals sign in it would read
/// as another field.
pub(crate) fn cut(text: &str) -> String {
    text.chars().take(255).flat_map(char::escape_debug).collect()
}

/// What an error says, which may quote a tenant's name that a sender made up: escaped likewise, and cut further out.
pub(crate) fn reason(error: &dyn Display) -> String {
    let mut escaped = String::new();
    for char in error.to_string().chars().take(1000) {
        if char.is_control() { escaped.extend(char.escape_debug()) } else { escaped.push(char) }
    }
    escaped
}

/// An error and all its causes, in one line.
pub(crate) struct Chain<'a>(pub(crate) &'a dyn Error);

impl Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

/// What is known of a delivery when its fate is logged.
#[derive(Default)]
pub(crate) struct Line<'a> {
    pub(crate) provider: &'static str,
    pub(crate) scope: &'a str,
    pub(crate) status: u16,
    /// Id and type, once the signature holds.
    pub(crate) verified: Glimpse<'a>,
    /// Id and type, before.
    pub(crate) unverified: Glimpse<'a>,
    pub(crate) secret: Option<&'a str>,
    pub(crate) skew_seconds: Option<i64>,
    pub(crate) reason: Option<&'a dyn Display>,
}

impl Line<'_> {
    /// Expected outcomes are information, refusals a warning, and what somebody has to look into an error.
    pub(crate) fn write(&self, outcome: Outcome) {
        let known = |text: &Option<Cow<'_, str>>| text.as_deref().map(cut);
        macro_rules! event {
            ($level:ident) => {
                tracing::event!(
                    target: TARGET,
                    tracing::Level::$level,
                    outcome = outcome.code(),
                    status = self.status,
                    provider = self.provider,
                    scope = cut(self.scope),
                    event_id = known(&self.verified.id),
                    event_type = known(&self.verified.event_type),
                    unverified_id = known(&self.unverified.id),
                    unverified_type = known(&self.unverified.event_type),
                    secret = self.secret,
                    skew_seconds = self.skew_seconds,
                    reason = self.reason.map(reason),
                    "webhook delivery"
                )
            };
        }
        match outcome {
            Outcome::Processed | Outcome::Stored | Outcome::Duplicate | Outcome::InFlight => event!(INFO),
            Outcome::Conflict | Outcome::HandlerFailed | Outcome::StoreUnavailable | Outcome::NoSecret => event!(ERROR),
            _ => event!(WARN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// K10: cut first, then escaped, so that a line stays a line and an escape stays whole.
    #[test]
    fn cut_then_escaped() {
        assert_eq!(cut("a\nb\u{1b}[31m\"\u{202e}ñ"), r#"a\nb\u{1b}[31m\"\u{202e}ñ"#);
        assert_eq!(cut(&"\n".repeat(300)), "\\n".repeat(255));
        assert_eq!(cut(&"ñ".repeat(256)), "ñ".repeat(255));
        assert_eq!(cut(""), "");
    }

    /// K10: what an error says is a line as well, whatever it quotes.
    #[test]
    fn a_reason_is_one_line() {
        assert_eq!(reason(&"no tenant \"a\"\n2026 INFO \u{1b}[31m"), r#"no tenant "a"\n2026 INFO \u{1b}[31m"#);
        assert_eq!(reason(&"é".repeat(2000)), "é".repeat(1000));
    }
}
