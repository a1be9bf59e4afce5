//! Points in time, kept as text.

use alloc::string::String;
use core::fmt;

use serde_json::value::RawValue;

use super::read::{Field, Found};

/// A point in time, as the sender wrote it in ISO 8601.
///
/// The text is not checked: a time that cannot be read must not cost the event. With the feature `jiff`
/// the method `to_jiff` reads it. Equality is that of the text, not of the instant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Time(String);

impl Time {
    /// The text, as it was sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The instant.
    ///
    /// # Errors
    /// The text is no ISO 8601 time, or has no offset from UTC and so names no instant.
    #[cfg(feature = "jiff")]
    pub fn to_jiff(&self) -> Result<jiff::Timestamp, TimeError> {
        self.0.parse().map_err(|_| TimeError(()))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Field for Time {
    const KIND: &'static str = String::KIND;

    fn read(value: &RawValue) -> Result<Self, Found> {
        String::read(value).map(Self)
    }
}

/// A [`Time`] that names no instant. It does not quote the text.
#[cfg(feature = "jiff")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeError(());

#[cfg(feature = "jiff")]
impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected an ISO 8601 time with an offset from UTC, found other text")
    }
}

#[cfg(feature = "jiff")]
impl core::error::Error for TimeError {}
