//! What an answer is worth.

use core::{fmt, time::Duration};

use asixto_webhook_core::Outcome;

use crate::{ExchangeError, Response, probe::Expect};

/// How long a probe waits for an answer: longer than a sender does.
pub(crate) const PATIENCE: Duration = Duration::from_secs(12);

/// What a probe says of a receiver. The later ones weigh more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a report has to deal with each of them")]
pub enum Verdict {
    /// It was not tried, since it takes something that is not there.
    Skipped,
    /// The receiver does it.
    Pass,
    /// What it does cannot be told from outside.
    Inconclusive,
    /// The receiver does it otherwise than it has decided itself, or than is advised where its contract is silent.
    Advisory,
    /// The receiver does it, if not as it should.
    Warn,
    /// The receiver does not do it.
    Fail,
    /// Nothing is known, since the receiver could not be reached, or takes no valid delivery.
    Environment,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Skipped, Self::Pass, Self::Inconclusive, Self::Advisory, Self::Warn, Self::Fail, Self::Environment];

    /// A word for it.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Pass => "pass",
            Self::Inconclusive => "inconclusive",
            Self::Advisory => "advisory",
            Self::Warn => "warn",
            Self::Fail => "fail",
            Self::Environment => "environment",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

/// What came back, in words: a status, and the outcome where the receiver tells it.
pub(crate) fn told(answer: &Result<Response, ExchangeError>) -> String {
    match answer {
        Ok(response) => match response.header(Outcome::HEADER) {
            Some(code) => format!("{} {}", response.status, plain(code)),
            None => response.status.to_string(),
        },
        Err(ExchangeError::TimedOut { after }) => format!("no answer within {after:?}"),
        Err(ExchangeError::Closed { .. }) => "no answer: the connection was closed".to_owned(),
        Err(error) => format!("no answer: {error}"),
    }
}

/// Whatever a receiver writes, as far as a terminal does not take it for commands, and a line holds it.
fn plain(code: &str) -> String {
    code.chars().filter(char::is_ascii_graphic).take(40).collect()
}

/// What an answer is worth where `expect` had to come, and what it was.
pub(crate) fn judge(expect: Expect, answer: &Result<Response, ExchangeError>) -> (Verdict, String) {
    match answer {
        Ok(response) if response.header(Outcome::HEADER).is_some() => by_outcome(expect, response, told(answer)),
        Ok(response) => (by_status(expect.outcome, response.status), told(answer)),
        Err(error) => (by_silence(expect.outcome, error), told(answer)),
    }
}

/// Of a receiver that says how each delivery ended, all is known.
fn by_outcome(expect: Expect, response: &Response, mut told: String) -> (Verdict, String) {
    let fits = told == expect.to_string();
    let mut verdict = if fits { Verdict::Pass } else { Verdict::Fail };
    if let Some((name, value)) = expect.header.filter(|_| fits) {
        let found = response.header(name);
        if found.is_none() || value.is_some() && found != value {
            told += &format!(" with {name}: {}", found.unwrap_or("none"));
            verdict = Verdict::Fail;
        }
    }
    if !is_success(response.status) && !response.body.is_empty() {
        told += " with a body that tells why";
        verdict = Verdict::Fail;
    }
    (verdict, told)
}

/// Of any other the status alone is known: what matters is what the sender makes of it (H1).
fn by_status(expected: Outcome, status: u16) -> Verdict {
    let (accepts, refuses) = (is_success(status), (400..500).contains(&status) && status != 410);
    let right = match expected {
        Outcome::Processed | Outcome::Stored | Outcome::Duplicate => accepts,
        Outcome::Conflict => accepts || status == 409,
        // It is not demanded of others to say 413, or 408.
        Outcome::BodyTooLarge | Outcome::BodyTimeout => refuses,
        expected => status == expected.status(),
    };
    match expected.status() {
        _ if right => Verdict::Pass,
        // Whoever counts requests has verified nothing.
        400..500 if status == 429 => Verdict::Inconclusive,
        // Refused is refused: the sender comes back as it does for a 400.
        400..500 if refuses => Verdict::Warn,
        _ => Verdict::Fail,
    }
}

/// A server that has heard enough may hang up. Whether it is still there is asked next.
fn by_silence(expected: Outcome, error: &ExchangeError) -> Verdict {
    let heard_enough = matches!(expected, Outcome::BodyTooLarge | Outcome::BodyTimeout);
    match error {
        ExchangeError::Closed { .. } | ExchangeError::Http2 { .. } if heard_enough => Verdict::Warn,
        // What this version of HTTP cannot say, nobody can send.
        ExchangeError::Unsendable { .. } => Verdict::Skipped,
        _ => Verdict::Fail,
    }
}

pub(crate) fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Result<Response, ExchangeError> {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect();
        Ok(Response { status, headers, body: body.into() })
    }

    fn verdict(expected: Outcome, answer: &Result<Response, ExchangeError>) -> Verdict {
        judge(expected.into(), answer).0
    }

    // H1, H7, K5
    #[test]
    fn a_status_is_worth_what_the_sender_makes_of_it() {
        use Outcome::{
            BodyTimeout, BodyTooLarge, Conflict, Duplicate, MalformedHeader, MethodNotAllowed, Processed,
            SignatureMismatch,
        };
        use Verdict::{Fail, Inconclusive, Pass, Warn};
        for (expected, status, verdict_of_it) in [
            (Processed, 200, Pass),
            (Processed, 204, Pass),
            (Processed, 202, Pass),
            (Processed, 400, Fail),
            (Processed, 302, Fail),
            (Processed, 503, Fail),
            (Duplicate, 200, Pass),
            (Duplicate, 409, Fail),
            (Conflict, 200, Pass),
            (Conflict, 409, Pass),
            (Conflict, 500, Fail),
            (SignatureMismatch, 400, Pass),
            (SignatureMismatch, 401, Warn),
            (SignatureMismatch, 403, Warn),
            (SignatureMismatch, 200, Fail),
            (SignatureMismatch, 301, Fail),
            (SignatureMismatch, 410, Fail),
            (SignatureMismatch, 500, Fail),
            (MalformedHeader, 422, Warn),
            (SignatureMismatch, 429, Inconclusive),
            (MethodNotAllowed, 405, Pass),
            (MethodNotAllowed, 404, Warn),
            (MethodNotAllowed, 200, Fail),
            (BodyTooLarge, 413, Pass),
            (BodyTooLarge, 400, Pass),
            (BodyTooLarge, 200, Fail),
            (BodyTimeout, 408, Pass),
            (BodyTimeout, 400, Pass),
            (BodyTimeout, 500, Fail),
        ] {
            assert_eq!(verdict(expected, &answer(status, &[], "No.")), verdict_of_it, "{expected} {status}");
        }
    }

    #[test]
    fn an_outcome_has_to_be_the_one() {
        let diagnosed = |code| [(Outcome::HEADER, code)];
        let refused = Outcome::SignatureMismatch;
        assert_eq!(verdict(refused, &answer(400, &diagnosed("signature_mismatch"), "")), Verdict::Pass);
        assert_eq!(verdict(refused, &answer(400, &diagnosed("missing_header"), "")), Verdict::Fail);
        assert_eq!(verdict(refused, &answer(401, &diagnosed("signature_mismatch"), "")), Verdict::Fail);
        // No oracle.
        let (judged, told) = judge(refused.into(), &answer(400, &diagnosed("signature_mismatch"), "expected t"));
        assert_eq!((judged, &*told), (Verdict::Fail, "400 signature_mismatch with a body that tells why"));
        let (judged, told) = judge(Outcome::InFlight.into(), &answer(503, &diagnosed("in_flight"), ""));
        assert_eq!((judged, &*told), (Verdict::Fail, "503 in_flight with retry-after: none"));
        let allow = [(Outcome::HEADER, "method_not_allowed"), ("allow", "GET")];
        assert_eq!(verdict(Outcome::MethodNotAllowed, &answer(405, &allow, "")), Verdict::Fail);
    }

    #[test]
    fn what_a_receiver_writes_is_no_command() {
        let code = "\u{1b}[2J\u{7}".to_owned() + &"x".repeat(100);
        let answer = answer(200, &[(Outcome::HEADER, &code)], "");
        assert_eq!(told(&answer), "200 [2J".to_owned() + &"x".repeat(37));
    }

    #[test]
    fn silence_is_no_refusal() {
        let closed = Err(ExchangeError::Closed { received: 0, source: None });
        let http2 = Err(ExchangeError::Http2 { code: Some(8), source: Arc::new(fmt::Error) });
        let late = Err(ExchangeError::TimedOut { after: PATIENCE });
        for expected in [Outcome::MalformedHeader, Outcome::SignatureMismatch, Outcome::MissingHeader] {
            for answer in [&closed, &http2, &late] {
                assert_eq!(verdict(expected, answer), Verdict::Fail, "{expected}");
            }
        }
        for expected in [Outcome::BodyTooLarge, Outcome::BodyTimeout] {
            assert_eq!(verdict(expected, &closed), Verdict::Warn);
            assert_eq!(verdict(expected, &http2), Verdict::Warn);
            assert_eq!(verdict(expected, &late), Verdict::Fail);
        }
        let unsendable = Err(ExchangeError::Unsendable { reason: "a header line".to_owned() });
        assert_eq!(verdict(Outcome::MalformedHeader, &unsendable), Verdict::Skipped);
    }

    #[test]
    fn the_worst_comes_last() {
        assert!(Verdict::ALL.is_sorted());
        assert_eq!(format!("{:>6}|", Verdict::Pass), "  pass|");
    }
}
