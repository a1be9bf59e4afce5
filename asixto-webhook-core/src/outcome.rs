//! What can become of a delivery: one table from outcome to code and status.

use alloc::{borrow::Cow, string::ToString};
use core::{fmt, time::Duration};

/// How one delivery ended.
///
/// The [code](Outcome::code) is the same word everywhere: in logs, as a metric's label, in the diagnostics header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// The handler ran and answered 2xx.
    Processed,
    /// The event is in the inbox.
    Stored,
    /// The event was done before.
    Duplicate,
    /// Its id was done before, with another body.
    Conflict,
    /// Another delivery of the event is being processed.
    InFlight,
    /// The signature header did not come.
    MissingHeader,
    /// The signature header came more than once.
    RepeatedHeader,
    /// The signature header does not follow its grammar.
    MalformedHeader,
    /// No secret matches.
    SignatureMismatch,
    /// Genuine, but signed too long ago or in the future.
    OutsideWindow,
    /// Signed, but not an envelope.
    InvalidEnvelope,
    /// Signed, for the other environment.
    WrongEnvironment,
    /// Signed, with a nonce that another body has used.
    NonceReused,
    /// The method is not POST.
    MethodNotAllowed,
    /// The body did not arrive in time.
    BodyTimeout,
    /// The body broke off.
    BodyAborted,
    /// The body is over the limit.
    BodyTooLarge,
    /// The handler answered other than 2xx, or panicked.
    HandlerFailed,
    /// The handler is still running; it goes on, and is committed if it succeeds.
    HandlerSlow,
    /// The store cannot be reached, or is full.
    StoreUnavailable,
    /// The secrets cannot be had.
    NoSecret,
}

impl Outcome {
    /// The header that tells a sender the code, where a receiver was built with diagnostics.
    pub const HEADER: &'static str = "asixto-webhook-outcome";

    /// Every outcome, in the order in which a delivery meets them.
    pub const ALL: [Self; 21] = [
        Self::MethodNotAllowed,
        Self::BodyTooLarge,
        Self::BodyTimeout,
        Self::BodyAborted,
        Self::MissingHeader,
        Self::RepeatedHeader,
        Self::MalformedHeader,
        Self::NoSecret,
        Self::SignatureMismatch,
        Self::OutsideWindow,
        Self::InvalidEnvelope,
        Self::WrongEnvironment,
        Self::StoreUnavailable,
        Self::NonceReused,
        Self::Stored,
        Self::Duplicate,
        Self::Conflict,
        Self::InFlight,
        Self::Processed,
        Self::HandlerFailed,
        Self::HandlerSlow,
    ];

    /// The word for logs, metrics and diagnostics.
    #[must_use]
    pub const fn code(self) -> &'static str {
        self.row().0
    }

    /// The usual status. A handler that ran gives its own, and a receiver may be set to refuse a conflict.
    #[must_use]
    pub const fn status(self) -> u16 {
        self.row().1
    }

    const fn row(self) -> (&'static str, u16) {
        match self {
            Self::Processed => ("processed", 200),
            Self::Stored => ("stored", 200),
            Self::Duplicate => ("duplicate", 200),
            Self::Conflict => ("conflict", 200),
            Self::InFlight => ("in_flight", 503),
            Self::MissingHeader => ("missing_header", 400),
            Self::RepeatedHeader => ("repeated_header", 400),
            Self::MalformedHeader => ("malformed_header", 400),
            Self::SignatureMismatch => ("signature_mismatch", 400),
            Self::OutsideWindow => ("outside_window", 400),
            Self::InvalidEnvelope => ("invalid_envelope", 400),
            Self::WrongEnvironment => ("wrong_environment", 400),
            Self::NonceReused => ("nonce_reused", 400),
            Self::MethodNotAllowed => ("method_not_allowed", 405),
            Self::BodyTimeout => ("body_timeout", 408),
            Self::BodyAborted => ("body_aborted", 400),
            Self::BodyTooLarge => ("body_too_large", 413),
            Self::HandlerFailed => ("handler_failed", 500),
            Self::HandlerSlow => ("handler_slow", 503),
            Self::StoreUnavailable => ("store_unavailable", 503),
            Self::NoSecret => ("no_secret", 503),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// The status with which a receiver refuses a conflict, where it is set to.
pub(crate) const CONFLICT_REFUSED: u16 = 409;

/// Sent with 503 where nothing says when it will be better. Short: a sender's own schedule is longer.
pub(crate) const RETRY_SOON: Duration = Duration::from_secs(5);

/// What to answer a sender. The body is empty: it learns the status, and not why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the sender waits for it"]
pub struct Answer {
    outcome: Outcome,
    status: u16,
    retry_after: Option<Duration>,
    keeps_response: bool,
    diagnostics: bool,
}

impl Answer {
    pub(crate) const fn new(outcome: Outcome, diagnostics: bool) -> Self {
        Self { outcome, status: outcome.status(), retry_after: None, keeps_response: false, diagnostics }
    }

    pub(crate) const fn status_is(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    pub(crate) const fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// The handler's response goes out, with the headers of this answer added.
    pub(crate) const fn keeping_response(mut self) -> Self {
        self.keeps_response = true;
        self
    }

    /// How the delivery ended.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The status of the response.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// Whether the handler's own response is to be sent. Otherwise the response is this answer alone, without a body.
    #[must_use]
    pub const fn keeps_response(&self) -> bool {
        self.keeps_response
    }

    /// The headers to set, their names in lower case.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, Cow<'static, str>)> {
        let retry_after = self.retry_after.map(|wait| {
            // Rounded up, and never 0: a sender that comes back at once meets the same answer.
            let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0));
            ("retry-after", Cow::Owned(seconds.max(1).to_string()))
        });
        let allow = (self.outcome == Outcome::MethodNotAllowed).then_some(("allow", Cow::Borrowed("POST")));
        let outcome = self.diagnostics.then_some((Outcome::HEADER, Cow::Borrowed(self.outcome.code())));
        [retry_after, allow, outcome].into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn every_outcome_has_its_own_code() {
        let mut codes: Vec<_> = Outcome::ALL.iter().map(|outcome| outcome.code()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), Outcome::ALL.len());
    }

    /// E5: what is left, in whole seconds, at least 1.
    #[test]
    fn retry_after_is_rounded_up() {
        for (millis, header) in [(0, "1"), (1, "1"), (1000, "1"), (1001, "2"), (29_999, "30")] {
            let answer = Answer::new(Outcome::InFlight, false).retry_after(Duration::from_millis(millis));
            let headers: Vec<_> = answer.headers().collect();
            assert_eq!(headers, [("retry-after", Cow::Borrowed(header))]);
        }
    }

    /// No oracle: without diagnostics a refusal has no header of its own.
    #[test]
    fn diagnostics_are_opt_in() {
        assert_eq!(Answer::new(Outcome::SignatureMismatch, false).headers().count(), 0);
        let headers: Vec<_> = Answer::new(Outcome::SignatureMismatch, true).headers().collect();
        assert_eq!(headers, [("asixto-webhook-outcome", Cow::Borrowed("signature_mismatch"))]);
    }
}
