//! What probes are made of: realistic deliveries with fresh ids, signed with the receiver's secrets.

use std::{
    process,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use asixto_webhook_core::{
    Asixto, Bytes, Clock, Environment, SecretSet, SystemClock, UnixTime,
    provider::{Defaults, Message},
};

use crate::{
    Request,
    fixtures::{self, Fixture, MessageId, Sender},
    scheme::{Of, Scheme, Signer},
};

/// A receiver's secrets and path, and fresh ids for it.
#[derive(Debug)]
pub struct Kit {
    path: String,
    scheme: Arc<dyn Scheme>,
    environment: Environment,
    run: String,
    next: AtomicU32,
}

impl Kit {
    /// For a receiver of Asixto's deliveries at `path` that knows `secrets` and takes events of `environment`.
    #[must_use]
    pub fn new(path: impl Into<String>, secrets: SecretSet, environment: Environment) -> Self {
        Self::of(Asixto, path, secrets, environment)
    }

    /// For a receiver of another sender's deliveries.
    #[must_use]
    pub fn of<P: Sender>(
        provider: P,
        path: impl Into<String>,
        secrets: SecretSet<P>,
        environment: Environment,
    ) -> Self {
        let now = SystemClock.now().saturating_since(UnixTime::from_secs(0)).as_nanos();
        // Ids of two runs must not meet, even of two at the same time: the receiver remembers them for days.
        let run = format!("{now:x}-{:x}", process::id());
        let scheme = Arc::new(Of::new(provider, secrets));
        Self { path: path.into(), scheme, environment, run, next: AtomicU32::new(0) }
    }

    /// The short name of the sender.
    #[must_use]
    pub fn provider(&self) -> &'static str {
        self.scheme.name()
    }

    /// The path, and the query if there is one.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// How many secrets the receiver knows.
    #[must_use]
    pub fn secrets(&self) -> usize {
        self.scheme.secrets()
    }

    /// The figures of the sender's contract.
    #[must_use]
    pub fn defaults(&self) -> Defaults {
        self.scheme.defaults()
    }

    /// A delivery of this type, with an id of its own, signed now with every secret.
    ///
    /// # Panics
    /// For a type outside the catalogue.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a typo in a probe, which its first run shows")]
    pub fn delivery(&self, event_type: &str) -> Delivery {
        let id = self.fresh();
        let at = SystemClock.now().as_secs();
        let body = self.scheme.body(&Fixture {
            event_type,
            id: &id,
            created: at.saturating_sub(60),
            environment: self.environment.as_str(),
            data: fixtures::data(event_type).expect("a type of the catalogue"),
        });
        Delivery {
            path: self.path.clone(),
            scheme: self.scheme.clone(),
            signers: (0..self.secrets()).map(Signer::Known).collect(),
            message_id: match self.scheme.message_id() {
                MessageId::None => String::new(),
                MessageId::Event => id.clone(),
                MessageId::Nonce => self.fresh(),
            },
            content_type: self.scheme.content_type(),
            id,
            at,
            body: body.into(),
        }
    }

    /// A delivery of the most frequent type.
    #[must_use]
    pub fn plain(&self) -> Delivery {
        self.delivery("job.succeeded")
    }

    /// A text that no other delivery has.
    pub(crate) fn fresh(&self) -> String {
        format!("{}-{}", self.run, self.next.fetch_add(1, Ordering::Relaxed))
    }
}

/// One delivery, before it is signed.
#[derive(Debug, Clone)]
pub struct Delivery {
    path: String,
    scheme: Arc<dyn Scheme>,
    signers: Vec<Signer>,
    content_type: &'static str,
    id: String,
    message_id: String,
    at: u64,
    body: Bytes,
}

impl Delivery {
    /// The id in the envelope.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The message id, or the nonce, where the sender has such a thing.
    #[must_use]
    pub fn message_id(&self) -> &str {
        &self.message_id
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

    /// Signed by these and nobody else.
    #[must_use]
    pub fn signed_by(mut self, signers: impl IntoIterator<Item = Signer>) -> Self {
        self.signers = signers.into_iter().collect();
        self
    }

    /// Sent as another type of content.
    #[must_use]
    pub fn as_content_type(mut self, content_type: &'static str) -> Self {
        self.content_type = content_type;
        self
    }

    /// Sent under another message id, or another nonce, where the sender has such a thing.
    #[must_use]
    pub fn with_message_id(mut self, id: impl Into<String>) -> Self {
        self.message_id = id.into();
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

    /// The header with the signature: its name, and its value for this body.
    #[must_use]
    pub fn signature(&self) -> (String, String) {
        self.headers().pop().unwrap_or_default()
    }

    /// The request without any header that the sender signs with.
    pub fn unsigned(&self) -> Request {
        Request::post(&self.path).header("Content-Type", self.content_type).body(self.body.clone())
    }

    /// The request with its signature.
    pub fn request(&self) -> Request {
        self.resigned(|value| value)
    }

    /// The request with its signature changed.
    pub fn resigned(&self, edit: impl FnOnce(String) -> String) -> Request {
        let mut headers = self.headers();
        let signature = headers.pop().map(|(name, value)| (name, edit(value)));
        let lines = headers.into_iter().chain(signature);
        lines.fold(self.unsigned(), |request, (name, value)| request.header(name, value))
    }

    /// The request without its signature, and with all other headers.
    pub fn without_signature(&self) -> Request {
        let mut headers = self.headers();
        _ = headers.pop();
        headers.into_iter().fold(self.unsigned(), |request, (name, value)| request.header(name, value))
    }

    fn headers(&self) -> Vec<(String, String)> {
        let message = Message::new(UnixTime::from_secs(self.at), &self.body).with_id(&self.message_id);
        self.scheme.sign(&self.signers, message)
    }
}
