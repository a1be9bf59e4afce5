//! What a probe gets back: the response, or what came in its place.

use core::{error::Error, fmt, net::SocketAddr, time::Duration};
use std::{io, sync::Arc};

use tokio::time::{Instant, timeout};

/// The most that is read of a response's head, interim responses and trailers included.
pub(crate) const HEAD_LIMIT: usize = 64 * 1024;

/// The most that is read of a response's body.
const BODY_LIMIT: usize = 1024 * 1024;

/// A whole response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The status of the final response, never an interim one.
    pub status: u16,
    /// The header lines in the order they came, with their names in lower case.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body, without its transfer coding.
    pub body: Vec<u8>,
}

impl Response {
    /// The one value of a header: `None` if it is missing, repeated or not text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let (_, value) = values.next()?;
        match values.next() {
            None => str::from_utf8(value).ok(),
            Some(_) => None,
        }
    }
}

/// Why there is no response.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ExchangeError {
    /// Nobody answers at the address.
    Connect {
        /// Where the receiver was expected.
        address: SocketAddr,
        /// What the operating system said.
        source: Arc<io::Error>,
    },
    /// The connection ended before the response was whole.
    Closed {
        /// How many bytes had come since the request began: in HTTP/2, of the body.
        received: usize,
        /// What the operating system said, if it was no orderly end.
        source: Option<Arc<io::Error>>,
    },
    /// The response was not whole in time.
    TimedOut {
        /// The deadline that passed.
        after: Duration,
    },
    /// What came is not HTTP, or more than is read of a response.
    Malformed {
        /// What was expected and what was found.
        reason: String,
    },
    /// HTTP/2 failed, for the stream or for the whole connection.
    Http2 {
        /// The error code on the wire, if one was sent.
        code: Option<u32>,
        /// What the protocol's implementation said.
        source: Arc<dyn Error + Send + Sync>,
    },
    /// The request is one that HTTP/2 has no way to say.
    Unsendable {
        /// What it cannot say.
        reason: String,
    },
    /// The request hung up, as it was told to.
    Aborted,
}

impl ExchangeError {
    pub(crate) fn malformed(reason: impl Into<String>) -> Self {
        Self::Malformed { reason: reason.into() }
    }

    pub(crate) fn closed(received: usize, source: io::Error) -> Self {
        Self::Closed { received, source: Some(Arc::new(source)) }
    }
}

impl fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect { address, source } => {
                write!(f, "expected a connection to {address}, found {}", source.kind())
            }
            Self::Closed { received, .. } => {
                write!(f, "expected a whole response, found the connection closed after {received} bytes")
            }
            Self::TimedOut { after } => {
                write!(f, "expected a whole response within {after:?}, found none")
            }
            Self::Malformed { reason } => f.write_str(reason),
            Self::Http2 { code: Some(code), .. } => write!(f, "expected a response, found HTTP/2 error code {code}"),
            Self::Http2 { code: None, .. } => f.write_str("expected a response, found a failure of HTTP/2"),
            Self::Unsendable { reason } => write!(f, "expected a request that HTTP/2 can carry, found {reason}"),
            Self::Aborted => f.write_str("expected a response, found a request that hangs up"),
        }
    }
}

impl Error for ExchangeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Connect { source, .. } | Self::Closed { source: Some(source), .. } => Some(&**source),
            Self::Http2 { source, .. } => Some(&**source),
            _ => None,
        }
    }
}

/// One deadline over the several steps of an exchange.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    after: Duration,
    start: Instant,
}

impl Deadline {
    pub(crate) fn new(after: Duration) -> Self {
        Self { after, start: Instant::now() }
    }

    /// Takes a step, in what is left of the time.
    pub(crate) async fn within<F: Future>(self, step: F) -> Result<F::Output, ExchangeError> {
        // What is left, not the end: a sum of instant and duration could overflow.
        let left = self.after.saturating_sub(self.start.elapsed());
        timeout(left, step).await.map_err(|_| ExchangeError::TimedOut { after: self.after })
    }
}

/// The size of a body, if that is not beyond what is read of one.
pub(crate) fn body_size(size: u64) -> Result<usize, ExchangeError> {
    usize::try_from(size).ok().filter(|size| *size <= BODY_LIMIT).ok_or_else(|| {
        let reason = format!("expected a body of at most {BODY_LIMIT} bytes, found {size}");
        ExchangeError::malformed(reason)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_found_by_any_casing_and_only_if_it_is_one_line_of_text() {
        let response = Response {
            status: 200,
            headers: vec![
                ("retry-after".into(), b"5".to_vec()),
                ("vary".into(), b"a".to_vec()),
                ("vary".into(), b"b".to_vec()),
                ("x-raw".into(), vec![0xff]),
            ],
            body: Vec::new(),
        };
        assert_eq!(response.header("Retry-After"), Some("5"));
        assert_eq!(response.header("vary"), None);
        assert_eq!(response.header("x-raw"), None);
        assert_eq!(response.header("missing"), None);
    }

    #[test]
    fn errors_say_what_was_expected_and_keep_their_source() {
        let refused = Arc::new(io::Error::from(io::ErrorKind::ConnectionRefused));
        let cases = [
            (
                ExchangeError::Connect { address: ([127, 0, 0, 1], 9).into(), source: refused.clone() },
                "expected a connection to 127.0.0.1:9, found connection refused",
                true,
            ),
            (
                ExchangeError::Closed { received: 12, source: None },
                "expected a whole response, found the connection closed after 12 bytes",
                false,
            ),
            (
                ExchangeError::Closed { received: 0, source: Some(refused.clone()) },
                "expected a whole response, found the connection closed after 0 bytes",
                true,
            ),
            (
                ExchangeError::TimedOut { after: Duration::from_millis(1500) },
                "expected a whole response within 1.5s, found none",
                false,
            ),
            (
                ExchangeError::malformed("expected a header line, found \"x\""),
                "expected a header line, found \"x\"",
                false,
            ),
            (
                ExchangeError::Http2 { code: Some(8), source: refused.clone() },
                "expected a response, found HTTP/2 error code 8",
                true,
            ),
            (
                ExchangeError::Http2 { code: None, source: refused },
                "expected a response, found a failure of HTTP/2",
                true,
            ),
            (
                ExchangeError::Unsendable { reason: "the method \"a b\"".into() },
                "expected a request that HTTP/2 can carry, found the method \"a b\"",
                false,
            ),
            (ExchangeError::Aborted, "expected a response, found a request that hangs up", false),
        ];
        for (error, text, from_io) in cases {
            assert_eq!(error.to_string(), text);
            assert_eq!(error.source().is_some_and(|source| source.is::<io::Error>()), from_io, "{text}");
        }
    }

    #[test]
    fn a_body_has_a_greatest_size() {
        assert_eq!(body_size(1_048_576).unwrap(), BODY_LIMIT);
        let reason = "expected a body of at most 1048576 bytes, found 1048577";
        assert_eq!(body_size(1_048_577).unwrap_err().to_string(), reason);
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_spans_all_its_steps() {
        let deadline = Deadline::new(Duration::from_secs(3));
        assert!(deadline.within(tokio::time::sleep(Duration::from_secs(2))).await.is_ok());
        let late = deadline.within(tokio::time::sleep(Duration::from_secs(2))).await;
        assert!(matches!(late, Err(ExchangeError::TimedOut { after }) if after == Duration::from_secs(3)));
        assert!(Deadline::new(Duration::MAX).within(core::future::ready(())).await.is_ok());
    }
}
