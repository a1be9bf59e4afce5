//! Header lines as a receiver needs them: bytes, by name, and how many there are.

use core::fmt;

/// The header lines of one request, whatever type the HTTP stack keeps them in.
pub trait HeaderLines: Sync {
    /// The value of the line number `index` (from 0, as received) among those called `name`.
    ///
    /// `name` comes in lower case and stands for every casing. A line that a proxy repeated must be
    /// visible as a line of its own: an implementation never joins two.
    fn line(&self, name: &str, index: usize) -> Option<&[u8]>;

    /// The one line called `name`. Worth writing where a look-up has its price: this asks twice.
    ///
    /// # Errors
    /// [`HeaderFault::Missing`] without such a line, [`HeaderFault::Repeated`] with several, equal or not.
    fn one(&self, name: &str) -> Result<&[u8], HeaderFault> {
        only([0, 1].into_iter().map_while(|index| self.line(name, index)))
    }
}

/// The one of these lines.
///
/// # Errors
/// As [`HeaderLines::one`].
pub fn only<'h>(mut lines: impl Iterator<Item = &'h [u8]>) -> Result<&'h [u8], HeaderFault> {
    match (lines.next(), lines.next()) {
        (Some(line), None) => Ok(line),
        (None, _) => Err(HeaderFault::Missing),
        (Some(_), Some(_)) => Err(HeaderFault::Repeated),
    }
}

/// Pairs of name and value, for tests and for stacks that keep plain lists.
impl<N: AsRef<str> + Sync, V: AsRef<[u8]> + Sync> HeaderLines for [(N, V)] {
    fn line(&self, name: &str, index: usize) -> Option<&[u8]> {
        named(self, name).nth(index)
    }

    fn one(&self, name: &str) -> Result<&[u8], HeaderFault> {
        only(named(self, name))
    }
}

fn named<'h, N: AsRef<str>, V: AsRef<[u8]>>(lines: &'h [(N, V)], name: &str) -> impl Iterator<Item = &'h [u8]> {
    lines.iter().filter(move |(key, _)| key.as_ref().eq_ignore_ascii_case(name)).map(|(_, value)| value.as_ref())
}

impl<N: AsRef<str> + Sync, V: AsRef<[u8]> + Sync, const LEN: usize> HeaderLines for [(N, V); LEN] {
    fn line(&self, name: &str, index: usize) -> Option<&[u8]> {
        self.as_slice().line(name, index)
    }

    fn one(&self, name: &str) -> Result<&[u8], HeaderFault> {
        self.as_slice().one(name)
    }
}

impl<N: AsRef<str> + Sync, V: AsRef<[u8]> + Sync> HeaderLines for alloc::vec::Vec<(N, V)> {
    fn line(&self, name: &str, index: usize) -> Option<&[u8]> {
        self.as_slice().line(name, index)
    }

    fn one(&self, name: &str) -> Result<&[u8], HeaderFault> {
        self.as_slice().one(name)
    }
}

/// A borrowed view of a request's header lines.
#[derive(Clone, Copy)]
pub struct Headers<'h>(&'h dyn HeaderLines);

impl<'h> Headers<'h> {
    /// A view of `lines`.
    #[must_use]
    pub fn new(lines: &'h dyn HeaderLines) -> Self {
        Self(lines)
    }

    /// The one line called `name` (in lower case).
    ///
    /// # Errors
    /// [`HeaderFault::Missing`] without such a line, [`HeaderFault::Repeated`] with several, equal or not.
    pub fn one(self, name: &str) -> Result<&'h [u8], HeaderFault> {
        self.0.one(name)
    }
}

impl fmt::Debug for Headers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Headers(…)")
    }
}

/// Why no signature could be read from the headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HeaderFault {
    /// The header did not come.
    Missing,
    /// The header came more than once. The lines are never joined, and none is preferred.
    Repeated,
    /// The header came once, outside the sender's grammar.
    Malformed(Malformed),
}

/// What is wrong with a header that came once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Malformed {
    /// A byte that is neither visible ASCII, space nor tab.
    NotAscii,
    /// No timestamp.
    NoTimestamp,
    /// Two timestamps: what a proxy makes of a repeated header.
    SecondTimestamp,
    /// A timestamp that is not a positive decimal number without leading zeros.
    NotDecimal,
    /// No identifier or nonce, or one outside its alphabet.
    NoIdentifier,
    /// No signature of the version that this receiver knows.
    NoSignature,
}

impl fmt::Display for HeaderFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "expected one signature header, found none",
            Self::Repeated => "expected one signature header, found several lines of that name",
            Self::Malformed(Malformed::NotAscii) => "expected a signature header in visible ASCII, found another byte",
            Self::Malformed(Malformed::NoTimestamp) => "expected a timestamp in the signature header, found none",
            Self::Malformed(Malformed::SecondTimestamp) => {
                "expected one timestamp in the signature header, found two, as when a proxy joins a repeated header"
            }
            Self::Malformed(Malformed::NotDecimal) => {
                "expected the timestamp to be a positive decimal number, found another text"
            }
            Self::Malformed(Malformed::NoIdentifier) => {
                "expected an identifier or nonce in its header, found none, or one outside its alphabet"
            }
            Self::Malformed(Malformed::NoSignature) => {
                "expected a signature of a known version in the signature header, found none"
            }
        })
    }
}

impl core::error::Error for HeaderFault {}
