//! One log line a delivery: which one, what became of it, and never a secret, a MAC or the body.

use alloc::borrow::Cow;
use core::{
    error::Error,
    fmt::{self, Display, Write},
};

use crate::{outcome::Outcome, provider::Glimpse};

/// The target of every event that this workspace logs.
pub(crate) const TARGET: &str = "asixto_webhook";

/// A sender's text for a log: its first 255 characters, with everything unprintable escaped.
pub(crate) struct Cut<'a>(pub(crate) &'a str);

impl Display for Cut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().take(255).flat_map(char::escape_debug).try_for_each(|char| f.write_char(char))
    }
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

impl<'a> Line<'a> {
    /// Expected outcomes are information, refusals a warning, and what somebody has to look into an error.
    pub(crate) fn write(&'a self, outcome: Outcome) {
        let cut = |text: &'a Option<Cow<'a, str>>| text.as_deref().map(|text| tracing::field::display(Cut(text)));
        macro_rules! event {
            ($level:ident) => {
                tracing::event!(
                    target: TARGET,
                    tracing::Level::$level,
                    outcome = outcome.code(),
                    status = self.status,
                    provider = self.provider,
                    scope = %Cut(self.scope),
                    event_id = cut(&self.verified.id),
                    event_type = cut(&self.verified.event_type),
                    unverified_id = cut(&self.unverified.id),
                    unverified_type = cut(&self.unverified.event_type),
                    secret = self.secret,
                    skew_seconds = self.skew_seconds,
                    reason = self.reason.map(tracing::field::display),
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
    use alloc::{format, string::ToString};

    use super::*;

    /// K10: cut first, then escaped, so that a line stays a line and an escape stays whole.
    #[test]
    fn cut_then_escaped() {
        assert_eq!(Cut("a\nb\u{1b}[31m\"\u{202e}ñ").to_string(), r#"a\nb\u{1b}[31m\"\u{202e}ñ"#);
        assert_eq!(Cut(&"\n".repeat(300)).to_string(), "\\n".repeat(255));
        assert_eq!(Cut(&"ñ".repeat(256)).to_string(), "ñ".repeat(255));
        assert_eq!(format!("{}", Cut("")), "");
    }
}
