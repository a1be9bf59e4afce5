//! Mistakes in a configuration: each is refused where the thing is made, in words that say how to mend it.

use core::{fmt, ops::RangeInclusive, time::Duration};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Why a receiver was not built, and how to mend it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// No secrets were given.
    NoSecrets,
    /// Neither a deduplication store nor an inbox was given.
    NoSink,
    /// Both a deduplication store and an inbox were given.
    TwoSinks,
    /// Without the feature `std` there is no clock unless one is given.
    NoClock,
    /// The scope is empty.
    EmptyScope,
    /// Each request is to have its own scope, and all of them one set of secrets.
    SharedSecrets,
    /// The body limit is below what the sender may send.
    BodyLimit {
        /// The least, in bytes.
        least: usize,
        /// What was set.
        found: usize,
    },
    /// Signatures are judged in whole seconds.
    FractionalTolerance {
        /// What was set.
        found: Duration,
    },
    /// Body, secrets and store may take longer than the answer.
    SlowAdmission {
        /// The time for the answer.
        most: Duration,
        /// The sum of the three.
        found: Duration,
    },
    /// A claim could be over before the store has answered for it.
    ShortLease {
        /// The least, with the time that the store has to answer.
        least: Duration,
        /// What was set.
        found: Duration,
    },
    /// A time that cannot work.
    OutOfRange {
        /// The name of the builder's method.
        setting: &'static str,
        /// The least.
        least: Duration,
        /// The most.
        most: Duration,
        /// What was set.
        found: Duration,
    },
}

/// The sentence: what `main` prints of an error, and `unwrap` of a panic, is this.
impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSecrets => f.write_str("expected the endpoint's secrets, found none: call `secrets`"),
            Self::NoSink => f.write_str(
                "expected a place for events, found none: call `dedup` with a store such as `MemoryStore::default()` \
                 (or with `NoDedup`, if the handler is idempotent by itself), or call `inbox` with an `Inbox` of your own",
            ),
            Self::TwoSinks => f.write_str(
                "expected one place for events, found two: call either `dedup`, to run a handler, or `inbox`, \
                 which deduplicates by itself",
            ),
            Self::NoClock => {
                f.write_str("expected a clock, found none: call `clock`, or turn on the feature `std` for the system's")
            }
            Self::EmptyScope => {
                f.write_str("expected a name for the endpoint, found an empty text: leave `scope` out for the default")
            }
            Self::SharedSecrets => f.write_str(
                "expected secrets that are looked up for each scope, found one set for all of them, under which a delivery \
                 to one scope would be a new event in every other: call `secrets` with `lookup`",
            ),
            Self::BodyLimit { least, found } => write!(
                f,
                "expected `body_limit` to be at least {least} bytes, which the sender may send, found {found}"
            ),
            Self::FractionalTolerance { found } => {
                write!(f, "expected `tolerance` to be whole seconds, found {found:?}")
            }
            Self::SlowAdmission { most, found } => write!(
                f,
                "expected `body_timeout`, `secrets_timeout` and `store_timeout` (for each claim) to be at most {most:?} \
                 together, the time for the answer, found {found:?}"
            ),
            Self::ShortLease { least, found } => write!(
                f,
                "expected `lease` to be at least {least:?}, so that it can be renewed in time while the store takes \
                 `store_timeout` each time, found {found:?}"
            ),
            Self::OutOfRange { setting, least, most, found } => {
                write!(f, "expected `{setting}` to be between {least:?} and {most:?}, found {found:?}")
            }
        }
    }
}

impl core::error::Error for ConfigError {}

/// Signatures are judged in whole seconds.
pub(crate) fn check_tolerance(tolerance: Duration) -> Result<(), ConfigError> {
    if tolerance.subsec_nanos() != 0 {
        return Err(ConfigError::FractionalTolerance { found: tolerance });
    }
    in_range("tolerance", tolerance, &(SECOND..=DAY))
}

pub(crate) fn in_range(
    setting: &'static str,
    found: Duration,
    range: &RangeInclusive<Duration>,
) -> Result<(), ConfigError> {
    if range.contains(&found) {
        return Ok(());
    }
    Err(ConfigError::OutOfRange { setting, least: *range.start(), most: *range.end(), found })
}
