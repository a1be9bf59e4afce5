//! What a receiver is told once, and which of it is refused.

use alloc::sync::Arc;
#[cfg(feature = "std")]
use core::any::Any;
use core::{fmt, ops::RangeInclusive, time::Duration};

use super::{Receiver, Sink, running::Running};
use crate::{
    dedup::DedupStore,
    inbox::Inbox,
    mistakes::{ConfigError, DAY, SECOND, check_tolerance, in_range},
    provider::{Asixto, Environment, Provider},
    source::SecretSource,
    time::{Clock, Timer},
};

/// What a sender's patience has to leave for the way of an answer.
const MARGIN: Duration = Duration::from_millis(500);
const HOUR: Duration = Duration::from_secs(60 * 60);
const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

pub(super) struct Config<P: Provider> {
    pub(super) provider: P,
    pub(super) secrets: Arc<dyn SecretSource<P>>,
    pub(super) sink: Sink,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) timer: Option<Arc<dyn Timer>>,
    #[cfg(feature = "std")]
    pub(super) companion: Arc<std::sync::OnceLock<Arc<dyn Any + Send + Sync>>>,
    pub(super) running: Running,
    pub(super) settings: Settings,
}

impl<P: Provider> Clone for Config<P> {
    fn clone(&self) -> Self {
        Self {
            provider: self.provider.clone(),
            secrets: Arc::clone(&self.secrets),
            sink: self.sink.clone(),
            clock: Arc::clone(&self.clock),
            timer: self.timer.clone(),
            #[cfg(feature = "std")]
            companion: Arc::clone(&self.companion),
            running: self.running.clone(),
            settings: self.settings.clone(),
        }
    }
}

/// The plain values of a receiver's configuration.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) scope: Arc<str>,
    pub(super) environment: Option<Environment>,
    pub(super) tolerance: Duration,
    pub(super) body_limit: usize,
    pub(super) body_timeout: Duration,
    pub(super) answer_timeout: Duration,
    pub(super) handler_limit: Duration,
    pub(super) secrets_timeout: Duration,
    pub(super) store_timeout: Duration,
    pub(super) lease: Duration,
    pub(super) ttl: Duration,
    pub(super) refuse_conflicts: bool,
    pub(super) forward_any_status: bool,
    pub(super) diagnostics: bool,
}

/// Collects a receiver's configuration; [`build`](ReceiverBuilder::build) checks it.
#[must_use = "call `build` to get a receiver"]
pub struct ReceiverBuilder<P: Provider = Asixto> {
    provider: P,
    secrets: Option<Arc<dyn SecretSource<P>>>,
    dedup: Option<Arc<dyn DedupStore>>,
    inbox: Option<Arc<dyn Inbox>>,
    clock: Option<Arc<dyn Clock>>,
    settings: Settings,
}

impl ReceiverBuilder<Asixto> {
    /// Refuses signed events of the other environment (400). Without it both are taken.
    pub fn environment(mut self, environment: Environment) -> Self {
        self.settings.environment = Some(environment);
        self
    }
}

impl<P: Provider> ReceiverBuilder<P> {
    pub(super) fn new(provider: P) -> Self {
        Self {
            provider,
            secrets: None,
            dedup: None,
            inbox: None,
            #[cfg(feature = "std")]
            clock: Some(Arc::new(crate::time::SystemClock)),
            #[cfg(not(feature = "std"))]
            clock: None,
            settings: Settings {
                scope: "default".into(),
                environment: None,
                tolerance: P::DEFAULTS.tolerance,
                body_limit: P::DEFAULTS.body_limit,
                body_timeout: P::DEFAULTS.body_timeout,
                answer_timeout: P::DEFAULTS.answer_timeout,
                handler_limit: Duration::from_secs(5 * 60),
                secrets_timeout: 2 * SECOND,
                store_timeout: 2 * SECOND,
                lease: Duration::from_secs(30),
                ttl: P::DEFAULTS.least_ttl,
                refuse_conflicts: false,
                forward_any_status: false,
                diagnostics: false,
            },
        }
    }

    /// The secrets: a fixed set, [`RotatingSecrets`](crate::RotatingSecrets), or a [`lookup`](crate::lookup).
    pub fn secrets(mut self, source: impl SecretSource<P> + 'static) -> Self {
        self.secrets = Some(Arc::new(source));
        self
    }

    /// Deduplicates with `store`, and runs a handler for each event.
    pub fn dedup(mut self, store: impl DedupStore + 'static) -> Self {
        self.dedup = Some(Arc::new(store));
        self
    }

    /// Writes events to `inbox` and acknowledges at once; no handler runs at the time of the request.
    pub fn inbox(mut self, inbox: impl Inbox + 'static) -> Self {
        self.inbox = Some(Arc::new(inbox));
        self
    }

    /// The name of this endpoint, within which ids are unique; `default` unless it is set. Not its URL: that can
    /// change, and the ids would be forgotten.
    ///
    /// Endpoints that share a store need names of their own: under one name, an id that reaches both is one event.
    pub fn scope(mut self, scope: impl Into<Arc<str>>) -> Self {
        self.settings.scope = scope.into();
        self
    }

    /// How far the time of signing may lie from the present one, before or after it, in whole seconds: 300 s by default
    /// for every provider here, and a day at most.
    pub fn tolerance(mut self, tolerance: Duration) -> Self {
        self.settings.tolerance = tolerance;
        self
    }

    /// The largest body in bytes; at least what the sender may send, which is the default (263,168 for Asixto: 256 KiB,
    /// and room for what a replay adds).
    pub fn body_limit(mut self, bytes: usize) -> Self {
        self.settings.body_limit = bytes;
        self
    }

    /// The time for a body to arrive, 5 seconds by default for Asixto; then 408 is answered.
    pub fn body_timeout(mut self, timeout: Duration) -> Self {
        self.settings.body_timeout = timeout;
        self
    }

    /// The time from the request's arrival to the answer, 9 seconds by default for Asixto, whose patience is 10. A handler that needs longer runs on, and the sender is
    /// told 503 within its patience, which is the most. At least the time for the body, the secrets and the store together.
    pub fn answer_timeout(mut self, timeout: Duration) -> Self {
        self.settings.answer_timeout = timeout;
        self
    }

    /// How long a handler's claim is renewed in all, 5 minutes by default. The handler is not stopped then, but its
    /// event may be given to another attempt once the lease has ended.
    pub fn handler_limit(mut self, limit: Duration) -> Self {
        self.settings.handler_limit = limit;
        self
    }

    /// The time for the secret source to answer, 2 seconds by default; then 503 is answered.
    pub fn secrets_timeout(mut self, timeout: Duration) -> Self {
        self.settings.secrets_timeout = timeout;
        self
    }

    /// The time for the store to answer, 2 seconds by default; then 503 is answered.
    pub fn store_timeout(mut self, timeout: Duration) -> Self {
        self.settings.store_timeout = timeout;
        self
    }

    /// How long a claim outlives a receiver that crashed, 30 seconds by default. Renewed while a handler runs.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.settings.lease = lease;
        self
    }

    /// How long a finished id is remembered; at least what the sender's contract asks for, which is the default (7 days
    /// for Asixto).
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.settings.ttl = ttl;
        self
    }

    /// Answers 409 to an id that was processed with another body. By default it is acknowledged as a duplicate,
    /// and logged as an error either way.
    pub fn refuse_conflicts(mut self, refuse: bool) -> Self {
        self.settings.refuse_conflicts = refuse;
        self
    }

    /// Sends a handler's 3xx and 410 as they are. By default they become 500: a 410 would end the delivery for good, and
    /// redirects are never followed. A 1xx, which is no answer, becomes 500 either way.
    pub fn forward_any_status(mut self, forward: bool) -> Self {
        self.settings.forward_any_status = forward;
        self
    }

    /// Adds the header `asixto-webhook-outcome` ([`Outcome::HEADER`](crate::Outcome::HEADER)) to each response, with the
    /// word for how the delivery ended. For local use: it tells a forger what to mend.
    pub fn diagnostics(mut self, on: bool) -> Self {
        self.settings.diagnostics = on;
        self
    }

    /// The clock that signatures are judged by; the system's by default.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Checks the configuration.
    ///
    /// # Errors
    /// A [`ConfigError`] that says what to change.
    pub fn build(self) -> Result<Receiver<P>, ConfigError> {
        self.settings.check::<P>()?;
        let sink = match (self.dedup, self.inbox) {
            (Some(store), None) => Sink::Handler(store),
            (None, Some(inbox)) => Sink::Inbox(inbox),
            (None, None) => return Err(ConfigError::NoSink),
            (Some(_), Some(_)) => return Err(ConfigError::TwoSinks),
        };
        Ok(Receiver(Arc::new(Config {
            provider: self.provider,
            secrets: self.secrets.ok_or(ConfigError::NoSecrets)?,
            sink,
            clock: self.clock.ok_or(ConfigError::NoClock)?,
            timer: None,
            #[cfg(feature = "std")]
            companion: Arc::default(),
            running: Running::default(),
            settings: self.settings,
        })))
    }
}

impl Settings {
    fn check<P: Provider>(&self) -> Result<(), ConfigError> {
        if self.scope.is_empty() {
            return Err(ConfigError::EmptyScope);
        }
        if self.body_limit < P::DEFAULTS.body_limit {
            return Err(ConfigError::BodyLimit { least: P::DEFAULTS.body_limit, found: self.body_limit });
        }
        check_tolerance(self.tolerance)?;
        let millisecond = Duration::from_millis(1);
        // Each may take all of its time before a handler starts, and the answer has to come all the same.
        let claims = self.store_timeout.saturating_mul(P::DEFAULTS.claims);
        let found = self.body_timeout.saturating_add(self.secrets_timeout).saturating_add(claims);
        if found > self.answer_timeout {
            return Err(ConfigError::SlowAdmission { most: self.answer_timeout, found });
        }
        let bounds: [(&'static str, Duration, RangeInclusive<Duration>); 7] = [
            ("body_timeout", self.body_timeout, millisecond..=HOUR),
            ("secrets_timeout", self.secrets_timeout, millisecond..=HOUR),
            ("store_timeout", self.store_timeout, millisecond..=HOUR),
            ("answer_timeout", self.answer_timeout, millisecond..=P::DEFAULTS.patience.saturating_sub(MARGIN)),
            ("handler_limit", self.handler_limit, self.answer_timeout..=DAY),
            ("lease", self.lease, SECOND..=HOUR),
            ("ttl", self.ttl, P::DEFAULTS.least_ttl..=CENTURY),
        ];
        bounds.into_iter().try_for_each(|(setting, found, range)| in_range(setting, found, &range))?;
        // In the worst case the store takes all of its time to grant each claim of a delivery, then a third of the lease
        // passes, and then it takes all of its time again to extend each.
        let least = self.store_timeout.saturating_mul(3 * P::DEFAULTS.claims);
        if self.lease < least {
            return Err(ConfigError::ShortLease { least, found: self.lease });
        }
        Ok(())
    }
}

impl<P: Provider> fmt::Debug for ReceiverBuilder<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceiverBuilder").field("settings", &self.settings).finish_non_exhaustive()
    }
}
