//! Standard Webhooks: three headers, base64, and an identifier that is signed with the rest.

use alloc::{
    borrow::{Cow, ToOwned},
    boxed::Box,
    string::{String, ToString},
    vec,
    vec::Vec,
};
use core::{fmt, time::Duration};

use base64ct::{Base64, Base64Unpadded, Encoding as _};
use bytes::Bytes;
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use super::{Defaults, Envelope, EnvelopeFault, Glimpse, Message, Opened, Provider};
use crate::{
    dedup::Keys,
    event::Event,
    headers::{HeaderFault, Headers, Malformed},
    json::{self, Fields, JsonKind},
    mac::Encoding,
    secret::{SecretError, SecretSet},
    signature::{Candidates, Signed, decimal, is_field_text, parts},
};

const ID: &str = "webhook-id";
const TIMESTAMP: &str = "webhook-timestamp";
const SIGNATURE: &str = "webhook-signature";
const SECRET_PREFIX: &str = "whsec_";
const VERSION: &[u8] = b"v1,";
const DOT: &[u8] = b".";

/// Senders that follow Standard Webhooks: `webhook-id`, `webhook-timestamp`, `webhook-signature: v1,<base64>`.
///
/// The MAC covers identifier, timestamp and raw body. Its key is what stands behind `whsec_`, **decoded from base64**:
/// a secret of this kind is none of Asixto's, although it looks like one. Asymmetric signatures (`v1a`) are ignored.
/// Ids are remembered for 30 days at least, since manual resends repeat them for that long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "there is nothing to configure")]
pub struct StandardWebhooks;

impl Provider for StandardWebhooks {
    type Envelope = StandardEnvelope;

    const NAME: &'static str = "standard";

    const DEFAULTS: Defaults = Defaults {
        // For a body the specification sets no limit, and recommends far less than the common one.
        least_ttl: Duration::from_secs(30 * 24 * 60 * 60),
        answer_timeout: Duration::from_secs(14),
        patience: Duration::from_secs(15),
        ..Defaults::COMMON
    };

    fn key(issued: &str) -> Result<Zeroizing<Vec<u8>>, SecretError> {
        match issued.strip_prefix(SECRET_PREFIX) {
            None => Err(SecretError::WrongPrefix { expected: SECRET_PREFIX }),
            Some("") => Err(SecretError::PrefixOnly { prefix: SECRET_PREFIX }),
            Some(encoded) => decoded(encoded).ok_or(SecretError::NotBase64 { prefix: SECRET_PREFIX }),
        }
    }

    fn signed<'h>(&self, headers: Headers<'h>) -> Result<Signed<'h>, HeaderFault> {
        let (id, seconds, signature) = (headers.one(ID)?, headers.one(TIMESTAMP)?, headers.one(SIGNATURE)?);
        let malformed = |fault| Err(HeaderFault::Malformed(fault));
        if [id, seconds, signature].iter().any(|value| !is_field_text(value)) {
            return malformed(Malformed::NotAscii);
        }
        if id.is_empty() {
            return malformed(Malformed::NoIdentifier);
        }
        let Some(timestamp) = decimal(seconds) else { return malformed(Malformed::NotDecimal) };
        if !parts(signature, b' ').any(|part| part.strip_prefix(VERSION).is_some_and(|text| !text.is_empty())) {
            return malformed(Malformed::NoSignature);
        }
        Ok(Signed {
            prefix: [id, DOT, seconds, DOT],
            timestamp,
            candidates: Candidates::new(signature, b' ', VERSION, Encoding::Base64),
            body_begins: None,
        })
    }

    fn open(
        &self,
        headers: Headers<'_>,
        body: &Bytes,
        keys: Keys<'_>,
    ) -> Result<Opened<StandardEnvelope>, EnvelopeFault> {
        // Read and found to be ASCII before the signature was.
        let id = headers.one(ID).ok().and_then(|id| core::str::from_utf8(id).ok()).unwrap_or_default();
        let envelope = StandardEnvelope::parse(id, body)?;
        let key = keys.event(&[id]);
        Ok(Opened::new(envelope, key))
    }

    fn glimpse<'b>(&self, headers: Headers<'b>, body: &'b [u8]) -> Glimpse<'b> {
        let id = headers.one(ID).ok().map(String::from_utf8_lossy);
        Glimpse { id, ..super::glimpse(body, None, "type") }
    }

    fn sign(&self, secrets: &SecretSet<Self>, message: Message<'_>) -> Vec<(Cow<'static, str>, String)> {
        let seconds = message.at.as_secs().to_string();
        let prefix = [message.id.as_bytes(), DOT, seconds.as_bytes(), DOT];
        let signatures: Vec<_> = secrets
            .iter()
            .map(|secret| "v1,".to_owned() + &secret.sign(&prefix, message.body, Encoding::Base64))
            .collect();
        vec![
            (Cow::Borrowed(ID), message.id.to_owned()),
            (Cow::Borrowed(TIMESTAMP), seconds),
            (Cow::Borrowed(SIGNATURE), signatures.join(" ")),
        ]
    }
}

/// The bytes behind base64, padded or not. No bytes are no key: whoever knows that could sign.
fn decoded(encoded: &str) -> Option<Zeroizing<Vec<u8>>> {
    let padded = encoded.ends_with('=');
    let bytes = if padded { Base64::decode_vec(encoded) } else { Base64Unpadded::decode_vec(encoded) };
    bytes.ok().filter(|bytes| !bytes.is_empty()).map(Zeroizing::new)
}

/// An envelope of Standard Webhooks. Only the identifier is sure to be there: the rest is the sender's custom.
pub struct StandardEnvelope {
    id: String,
    event_type: String,
    timestamp: Option<String>,
    data: Option<Box<RawValue>>,
}

impl StandardEnvelope {
    fn parse(id: &str, body: &[u8]) -> Result<Self, EnvelopeFault> {
        let fields = Fields::envelope(body)?;
        let text = |field| match fields.get(field) {
            None => Ok(None),
            Some(value) => match json::text(value) {
                Some(text) => Ok(Some(text.into_owned())),
                None => Err(EnvelopeFault::WrongField { field, expected: "a string", found: JsonKind::of(value) }),
            },
        };
        if let Some(within) = text("id")?
            && within != id
        {
            let expected = "the identifier in the header";
            return Err(EnvelopeFault::WrongField { field: "id", expected, found: JsonKind::String });
        }
        Ok(Self {
            id: id.to_owned(),
            event_type: text("type")?.unwrap_or_default(),
            // Some send a number instead: no reason to refuse what is genuine.
            timestamp: fields.get("timestamp").and_then(json::text).map(Cow::into_owned),
            data: fields.get("data").map(ToOwned::to_owned),
        })
    }
}

impl Envelope for StandardEnvelope {
    fn id(&self) -> &str {
        &self.id
    }

    fn event_type(&self) -> &str {
        &self.event_type
    }
}

/// Without `data`, which is the customer's.
impl fmt::Debug for StandardEnvelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StandardEnvelope")
            .field("id", &self.id)
            .field("type", &self.event_type)
            .field("timestamp", &self.timestamp)
            .finish_non_exhaustive()
    }
}

impl Event<StandardWebhooks> {
    /// When the event happened, in the sender's words (ISO 8601 by the specification), where it says so in a string.
    #[must_use]
    pub fn timestamp(&self) -> Option<&str> {
        self.envelope().timestamp.as_deref()
    }

    /// The data as JSON text, byte for byte, where the sender follows the recommended shape of the body.
    #[must_use]
    pub fn raw_data(&self) -> Option<&RawValue> {
        self.envelope().data.as_deref()
    }
}
