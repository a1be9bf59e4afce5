//! The test-only door, behind the feature `testing`: events that no signature vouches for, and a clock moved by hand.

use alloc::sync::Arc;
use core::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use bytes::Bytes;

use crate::{
    dedup::Keys,
    event::Event,
    headers::{HeaderLines, Headers},
    provider::{Asixto, EnvelopeFault, Provider},
    time::{Clock, UnixTime},
    verify::Verified,
};

/// An event of Asixto from its body alone, for the unit test of a handler.
///
/// ```
/// let event = asixto_webhook_core::testing::event(
///     r#"{"id":"1","type":"credits.exhausted","created":1787923200,"environment":"test","data":{"used_credits":100}}"#,
/// )?;
/// assert_eq!(event.event_type(), "credits.exhausted");
/// # Ok::<(), asixto_webhook_core::EnvelopeFault>(())
/// ```
///
/// # Errors
/// Where the body is no valid envelope.
pub fn event(body: impl Into<Bytes>) -> Result<Event, EnvelopeFault> {
    event_in("testing", body)
}

/// An event of Asixto for a tenant.
///
/// # Errors
/// Where the body is no valid envelope.
pub fn event_in(scope: &str, body: impl Into<Bytes>) -> Result<Event, EnvelopeFault> {
    let none: [(&str, &str); 0] = [];
    event_of(&Asixto, scope, &none, body)
}

/// An event of any provider from its headers and body, for the unit test of a handler.
///
/// # Errors
/// Where the body is no valid envelope.
pub fn event_of<P: Provider>(
    provider: &P,
    scope: &str,
    headers: &dyn HeaderLines,
    body: impl Into<Bytes>,
) -> Result<Event<P>, EnvelopeFault> {
    let body = body.into();
    let opened = provider.open(Headers::new(headers), &body, Keys::new(P::NAME, scope))?;
    Ok(Event::new(opened.envelope, body, scope, Verified { secret: "testing".into(), skew_seconds: 0 }))
}

/// A clock that stands still until it is moved. Clones are the same clock.
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// A clock that shows `now`.
    #[must_use]
    pub fn new(now: UnixTime) -> Self {
        let clock = Self(Arc::default());
        clock.set(now);
        clock
    }

    /// Shows `now` from here on.
    pub fn set(&self, now: UnixTime) {
        self.0.store(millis(now.saturating_since(UnixTime::from_secs(0))), Ordering::SeqCst);
    }

    /// Moves on by `by`, in whole milliseconds.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(millis(by), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> UnixTime {
        UnixTime::since_epoch(Duration::from_millis(self.0.load(Ordering::SeqCst)))
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
