//! Asixto: everything that is on the wire of its deliveries, and nowhere else in this crate.

mod data;
mod envelope;

use alloc::{borrow::Cow, string::String, vec, vec::Vec};
use core::time::Duration;

use bytes::Bytes;
use zeroize::Zeroizing;

pub use data::*;
pub use envelope::{AsixtoEnvelope, Environment, UnknownEnvironment};

use super::{Defaults, EnvelopeFault, Glimpse, Message, Opened, Provider, timestamped};
use crate::{
    dedup::Keys,
    headers::{HeaderFault, Headers},
    secret::{SecretError, SecretSet},
    signature::Signed,
    time::UnixTime,
};

/// Deliveries of Asixto.
///
/// # On the wire
///
/// A `POST` whose body is a JSON envelope, and one header line:
///
/// ```text
/// Asixto-Signature: t=1787923200,v1=5f3c…(64 lower-case hexadecimal digits)[,v1=…]
///
/// {"id":"9f1c…","type":"job.succeeded","created":1787923140,"environment":"live","data":{…}}
/// ```
///
/// * `t` is the time of signing in unix seconds, at most 300 s from the receiver's clock, before or after it.
/// * `v1` is HMAC-SHA256 over the text of `t`, a dot, and the body's bytes as sent. The key is the **whole text** of
///   the secret, `whsec_` included: nothing is decoded from base64. While a secret is rotated there is one `v1` for
///   each; one that matches is enough.
/// * Parts are separated by commas and stand in any order; blanks around them, and parts with other names, are
///   ignored. A second `t` is what a proxy makes of a repeated header, and is refused.
/// * `created` is the time of the event in unix seconds, the same on every attempt; `environment` is `live` or
///   `test`; a manual replay has a new `id`, and the original's in `replay_of`.
///
/// A delivery by hand, for a receiver that runs locally:
///
/// ```sh
/// body='{"id":"1","type":"job.succeeded","created":1787923140,"environment":"test","data":{"job_id":"job_1",
///     "operation":"agent.turn","status":"succeeded","credits_charged":12,"error_code":null,"result":{"text":"Done"}}}'
/// t=$(date +%s)
/// mac=$(printf '%s.%s' "$t" "$body" | openssl dgst -sha256 -hmac "$secret" -r | cut -d' ' -f1)
/// curl -i -H "Asixto-Signature: t=$t,v1=$mac" --data-binary "$body" http://127.0.0.1:3000/webhooks/asixto
/// ```
///
/// The command line of this project does the same for every one of the [`EVENT_TYPES`]: `asixto-webhook send --type
/// job.succeeded --to …`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asixto;

const SIGNATURE: &str = "asixto-signature";
const SECRET_PREFIX: &str = "whsec_";

impl Provider for Asixto {
    type Envelope = AsixtoEnvelope;

    const NAME: &'static str = "asixto";

    const DEFAULTS: Defaults = Defaults {
        // The sender stops at 256 KiB; a replay adds its own id and `replay_of`.
        body_limit: 256 * 1024 + 1024,
        tolerance: Duration::from_secs(300),
        least_ttl: Duration::from_secs(7 * 24 * 60 * 60),
        claims: 1,
        body_timeout: Duration::from_secs(5),
        answer_timeout: Duration::from_secs(9),
        patience: Duration::from_secs(10),
    };

    fn key(issued: &str) -> Result<Zeroizing<Vec<u8>>, SecretError> {
        match issued.strip_prefix(SECRET_PREFIX) {
            None => Err(SecretError::WrongPrefix { expected: SECRET_PREFIX }),
            Some(_) if issued.contains(|char: char| char == ',' || char.is_whitespace() || char.is_control()) => {
                Err(SecretError::Several)
            }
            Some(_) if !issued.is_ascii() => Err(SecretError::NotAscii),
            Some("") => Err(SecretError::PrefixOnly { prefix: SECRET_PREFIX }),
            // The whole text is the key, prefix included and nothing decoded.
            Some(_) => Ok(Zeroizing::new(issued.as_bytes().to_vec())),
        }
    }

    fn signed<'h>(&self, headers: Headers<'h>) -> Result<Signed<'h>, HeaderFault> {
        timestamped::parse(headers.one(SIGNATURE)?).map_err(HeaderFault::Malformed)
    }

    fn open(&self, _: Headers<'_>, body: &Bytes, keys: Keys<'_>) -> Result<Opened<AsixtoEnvelope>, EnvelopeFault> {
        let envelope = AsixtoEnvelope::parse(body)?;
        let key = keys.event(&[super::Envelope::id(&envelope)]);
        Ok(Opened::new(envelope, key))
    }

    fn glimpse<'b>(&self, _: Headers<'b>, body: &'b [u8]) -> Glimpse<'b> {
        super::glimpse(body, Some("id"), "type")
    }

    fn sign(&self, secrets: &SecretSet, message: Message<'_>) -> Vec<(Cow<'static, str>, String)> {
        vec![(Cow::Borrowed("Asixto-Signature"), sign(secrets, message.at, message.body))]
    }
}

/// The value of `Asixto-Signature` for a body: one signature per secret, in the order of the set.
///
/// This is the sender's half, for tests and tools: it makes a header that every receiver with one of the secrets
/// accepts.
#[must_use]
pub fn sign(secrets: &SecretSet, at: UnixTime, body: &[u8]) -> String {
    timestamped::write(secrets, at.as_secs(), body)
}
