//! Time as an argument: the instants, the clock and the timer that the core is handed.

use core::{fmt, time::Duration};

use crate::BoxFuture;

/// An instant, as the time since the Unix epoch.
///
/// Signatures are judged in whole seconds, rounded down; leases keep the fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixTime(Duration);

impl UnixTime {
    /// The instant `seconds` after the Unix epoch.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// The instant `elapsed` after the Unix epoch.
    #[must_use]
    pub const fn since_epoch(elapsed: Duration) -> Self {
        Self(elapsed)
    }

    /// The present instant, by the clock of the operating system.
    #[cfg(feature = "std")]
    #[must_use]
    pub fn now() -> Self {
        SystemClock.now()
    }

    /// Whole seconds since the Unix epoch, rounded down.
    #[must_use]
    pub const fn as_secs(self) -> u64 {
        self.0.as_secs()
    }

    /// The time from `earlier` to this instant; zero where `earlier` is later.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// The instant `by` later, or the last one that can be written.
    #[must_use]
    pub const fn saturating_add(self, by: Duration) -> Self {
        Self(self.0.saturating_add(by))
    }
}

#[cfg(feature = "std")]
impl From<UnixTime> for std::time::SystemTime {
    fn from(time: UnixTime) -> Self {
        // A time that the operating system cannot write is the last one it can be sure of: the year 9999.
        std::time::UNIX_EPOCH
            .checked_add(time.0)
            .unwrap_or(std::time::UNIX_EPOCH + Duration::from_secs(253_402_300_799))
    }
}

/// Says what time it is. The core never asks the operating system itself.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The present instant.
    fn now(&self) -> UnixTime;
}

impl<C: Clock + ?Sized> Clock for alloc::sync::Arc<C> {
    fn now(&self) -> UnixTime {
        (**self).now()
    }
}

/// The clock of the operating system.
#[cfg(feature = "std")]
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

#[cfg(feature = "std")]
impl Clock for SystemClock {
    fn now(&self) -> UnixTime {
        // A clock set before 1970 reads as 1970: every signature is then outside the window.
        UnixTime(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default())
    }
}

/// Lets time pass, so that a database which hangs is a database that is down.
///
/// The core awaits secrets and stores only under a deadline that this seam measures. The runtime crate
/// brings the one for tokio; without any, nothing that is awaited has a deadline.
pub trait Timer: fmt::Debug + Send + Sync {
    /// Completes once `duration` has passed.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}
