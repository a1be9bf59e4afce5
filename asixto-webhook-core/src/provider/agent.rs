//! Agent webhooks: timestamp, nonce and body in one message without separators.

use alloc::{
    borrow::{Cow, ToOwned},
    boxed::Box,
    string::{String, ToString},
    sync::Arc,
    vec,
    vec::Vec,
};
use core::{fmt, time::Duration};

use bytes::Bytes;
use serde_json::value::RawValue;

use super::{Defaults, Envelope, EnvelopeFault, Message, Opened, Provider};
use crate::{
    dedup::Keys,
    event::Event,
    headers::{HeaderFault, Headers, Malformed},
    mac::Encoding,
    secret::SecretSet,
    signature::{Candidates, Signed, decimal, is_field_text},
};

const TIMESTAMP: &str = "x-agent-timestamp";
/// The sender's document spells it in two ways.
const NONCE: [&str; 2] = ["x-agent-nonce", "x-agente-nonce"];
const SIGNATURE: &str = "x-agent-signature";

/// Agent webhooks: `X-Agent-Timestamp`, `X-Agent-Nonce`, `X-Agent-Signature`.
///
/// The body says nothing that identifies an event in the same way for every partner, so that [`Identity`] comes from
/// a function of yours. A nonce may be used by one body only: another one is refused as `nonce_reused`.
///
/// ```
/// use asixto_webhook_core::{NoDedup, Receiver, Secret, SecretSet, provider::{Agent, Identity, Unidentified}};
///
/// let agent = Agent::new(|body| {
///     let order: serde_json::Value = serde_json::from_str(body.get()).map_err(|_| Unidentified)?;
///     let text = |field: &str| order.get(field).and_then(|value| value.as_str()).ok_or(Unidentified);
///     Ok(Identity::new(text("eventId")?).order(text("agentOrderNo")?).event_type(text("status")?))
/// });
/// let secret = Secret::issued("current", "the secret that your partner gave you")?;
/// let receiver =
///     Receiver::builder_for(agent).secrets(SecretSet::from(secret)).dedup(NoDedup).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Agent {
    identify: Arc<Identify>,
}

type Identify = dyn Fn(&RawValue) -> Result<Identity, Unidentified> + Send + Sync;

impl Agent {
    /// For events that `identify` tells apart. It is called with a verified body, which is a JSON object.
    pub fn new(identify: impl Fn(&RawValue) -> Result<Identity, Unidentified> + Send + Sync + 'static) -> Self {
        Self { identify: Arc::new(identify) }
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").finish_non_exhaustive()
    }
}

/// What tells an event from all others, and what it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    key: String,
    order: Option<String>,
    event_type: String,
}

impl Identity {
    /// By the key of the event or of the business operation.
    pub fn new(key: impl Into<String>) -> Self {
        Self { key: key.into(), order: None, event_type: String::new() }
    }

    /// With the partner's order number.
    #[must_use]
    pub fn order(mut self, order: impl Into<String>) -> Self {
        self.order = Some(order.into());
        self
    }

    /// With what is to be read as the event's type.
    #[must_use]
    pub fn event_type(mut self, event_type: impl Into<String>) -> Self {
        self.event_type = event_type.into();
        self
    }
}

/// The body has no key: the delivery is answered as an invalid envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "made by the user's function")]
pub struct Unidentified;

impl fmt::Display for Unidentified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        EnvelopeFault::Unidentified.fmt(f)
    }
}

impl core::error::Error for Unidentified {}

impl Provider for Agent {
    type Envelope = AgentEnvelope;

    const NAME: &'static str = "agent";

    const DEFAULTS: Defaults = Defaults {
        body_limit: 256 * 1024,
        // A terminal action is never applied twice, however late its repeat.
        least_ttl: Duration::from_secs(30 * 24 * 60 * 60),
        claims: 2,
        // Less than elsewhere, since two claims have to fit in.
        body_timeout: Duration::from_secs(3),
        ..Defaults::COMMON
    };

    fn signed<'h>(&self, headers: Headers<'h>) -> Result<Signed<'h>, HeaderFault> {
        let (seconds, nonce, signature) = (headers.one(TIMESTAMP)?, nonce(headers)?, headers.one(SIGNATURE)?);
        let malformed = |fault| Err(HeaderFault::Malformed(fault));
        if [seconds, nonce, signature].iter().any(|value| !is_field_text(value)) {
            return malformed(Malformed::NotAscii);
        }
        let Some(timestamp) = decimal(seconds) else { return malformed(Malformed::NotDecimal) };
        // Neither this alphabet nor the digits before it contain what the body begins with, so that no byte can be
        // moved from one part to the next.
        if nonce.is_empty() || !nonce.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte)) {
            return malformed(Malformed::NoIdentifier);
        }
        if signature.is_empty() {
            return malformed(Malformed::NoSignature);
        }
        Ok(Signed {
            prefix: [seconds, nonce, b"", b""],
            timestamp,
            // The value is one signature: a line feed cannot be in it.
            candidates: Candidates::new(signature, b'\n', b"", Encoding::HexLower),
            body_begins: Some(b'{'),
        })
    }

    fn open(&self, headers: Headers<'_>, body: &Bytes, keys: Keys<'_>) -> Result<Opened<AgentEnvelope>, EnvelopeFault> {
        let payload: &RawValue = serde_json::from_slice(body).map_err(|_| EnvelopeFault::NotJson)?;
        let identity = (self.identify)(payload).map_err(|Unidentified| EnvelopeFault::Unidentified)?;
        if identity.key.is_empty() {
            return Err(EnvelopeFault::Unidentified);
        }
        // Read and found to be of its alphabet before the signature was.
        let nonce = nonce(headers).ok().and_then(|nonce| core::str::from_utf8(nonce).ok()).unwrap_or_default();
        let (key, nonce) = (keys.event(&[&identity.key]), keys.nonce(nonce));
        Ok(Opened::new(AgentEnvelope { identity, payload: payload.to_owned() }, key).with_nonce(nonce))
    }

    fn sign(&self, secrets: &SecretSet<Self>, message: Message<'_>) -> Vec<(Cow<'static, str>, String)> {
        let seconds = message.at.as_secs().to_string();
        let prefix = [seconds.as_bytes(), message.id.as_bytes()];
        // The header has room for one signature.
        let signature = secrets.iter().next().map(|secret| secret.sign(&prefix, message.body, Encoding::HexLower));
        let [nonce, _] = NONCE;
        vec![
            (Cow::Borrowed(TIMESTAMP), seconds),
            (Cow::Borrowed(nonce), message.id.to_owned()),
            (Cow::Borrowed(SIGNATURE), signature.unwrap_or_default()),
        ]
    }
}

/// The one nonce, in either spelling but not in both.
fn nonce(headers: Headers<'_>) -> Result<&[u8], HeaderFault> {
    match NONCE.map(|name| headers.one(name)) {
        [Ok(nonce), Err(HeaderFault::Missing)] | [Err(HeaderFault::Missing), Ok(nonce)] => Ok(nonce),
        [Err(HeaderFault::Missing), Err(HeaderFault::Missing)] => Err(HeaderFault::Missing),
        _ => Err(HeaderFault::Repeated),
    }
}

/// A verified body of an Agent webhook.
pub struct AgentEnvelope {
    identity: Identity,
    payload: Box<RawValue>,
}

impl Envelope for AgentEnvelope {
    fn id(&self) -> &str {
        &self.identity.key
    }

    fn event_type(&self) -> &str {
        &self.identity.event_type
    }
}

/// Without the payload, which is the customer's.
impl fmt::Debug for AgentEnvelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentEnvelope").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl Event<Agent> {
    /// The partner's order number, where the extractor gave one.
    #[must_use]
    pub fn order(&self) -> Option<&str> {
        self.envelope().identity.order.as_deref()
    }

    /// The body as JSON text, byte for byte.
    #[must_use]
    pub fn payload(&self) -> &RawValue {
        &self.envelope().payload
    }
}
