//! What probes are made of: realistic deliveries with fresh ids, signed with the receiver's secrets.

use std::{
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use asixto_webhook_core::{
    Asixto, Bytes, Clock, Environment, SecretSet, SystemClock, UnixTime,
    provider::{Message, Provider},
};

use crate::{Request, fixtures};

/// A receiver's secrets and path, and fresh ids for it.
#[derive(Debug)]
pub struct Kit {
    path: String,
    secrets: SecretSet,
    environment: Environment,
    run: String,
    next: AtomicU32,
}

impl Kit {
    /// For a receiver at `path` that knows `secrets` and takes events of `environment`.
    pub fn new(path: impl Into<String>, secrets: SecretSet, environment: Environment) -> Self {
        let now = SystemClock.now().saturating_since(UnixTime::from_secs(0)).as_nanos();
        // Ids of two runs must not meet, even of two at the same time: the receiver remembers them for days.
        let run = format!("{now:x}-{:x}", process::id());
        Self { path: path.into(), secrets, environment, run, next: AtomicU32::new(0) }
    }

    /// The secrets that the receiver knows.
    pub fn secrets(&self) -> &SecretSet {
        &self.secrets
    }

    /// A delivery of this type, with an id of its own, signed now with every secret.
    ///
    /// # Panics
    /// For a type outside the catalogue.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a typo in a probe, which its first run shows")]
    pub fn delivery(&self, event_type: &str) -> Delivery {
        let id = format!("{}-{}", self.run, self.next.fetch_add(1, Ordering::Relaxed));
        let at = SystemClock.now().as_secs();
        let body = fixtures::envelope(event_type, &id, at.saturating_sub(60), self.environment.as_str())
            .expect("a type of the catalogue");
        Delivery { path: self.path.clone(), secrets: self.secrets.clone(), id, at, body: body.into() }
    }

    /// A delivery of the most frequent type.
    #[must_use]
    pub fn plain(&self) -> Delivery {
        self.delivery("job.succeeded")
    }
}

/// One delivery, before it is signed.
#[derive(Debug, Clone)]
pub struct Delivery {
    path: String,
    secrets: SecretSet,
    id: String,
    at: u64,
    body: Bytes,
}

impl Delivery {
    /// The id in the envelope.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The raw body.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// With other bytes for a body.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// With the body's text changed.
    #[must_use]
    pub fn edit(self, edit: impl FnOnce(String) -> String) -> Self {
        let text = String::from_utf8_lossy(&self.body).into_owned();
        self.with_body(edit(text))
    }

    /// Signed so many seconds from now; negative in the past.
    #[must_use]
    pub fn signed_at(self, seconds: i64) -> Self {
        self.with_timestamp(|now| now.saturating_add_signed(seconds))
    }

    /// Signed under another timestamp than the present one.
    #[must_use]
    pub fn with_timestamp(mut self, timestamp: impl FnOnce(u64) -> u64) -> Self {
        self.at = timestamp(self.at);
        self
    }

    /// Signed with other secrets.
    #[must_use]
    pub fn signed_with(mut self, secrets: SecretSet) -> Self {
        self.secrets = secrets;
        self
    }

    /// Manually replayed: a delivery of its own, with the original's data.
    ///
    /// # Panics
    /// Where the body is not an envelope any more.
    #[must_use]
    #[expect(clippy::expect_used, reason = "fixtures are envelopes")]
    pub fn replayed(mut self) -> Self {
        let original = String::from_utf8_lossy(&self.body).into_owned();
        self.id = format!("{}:r1", self.id);
        self.body = fixtures::replay(&original, &self.id).expect("an envelope").into();
        self
    }

    /// The signature header: its name, and its value for this body.
    #[must_use]
    pub fn signature(&self) -> (String, String) {
        let message = Message::new(UnixTime::from_secs(self.at), &self.body);
        let signed = Asixto.sign(&self.secrets, message).into_iter().next();
        signed.map(|(name, value)| (name.into_owned(), value)).unwrap_or_default()
    }

    /// The request without a signature.
    pub fn unsigned(&self) -> Request {
        Request::post(&self.path).header("Content-Type", "application/json").body(self.body.clone())
    }

    /// The request with its signature.
    pub fn request(&self) -> Request {
        let (name, value) = self.signature();
        self.unsigned().header(name, value)
    }

    /// The request with its signature changed.
    pub fn resigned(&self, edit: impl FnOnce(String) -> String) -> Request {
        let (name, value) = self.signature();
        self.unsigned().header(name, edit(value))
    }
}
