//! Acme, a sender that asixto-webhook does not know, in its own crate: see the guide in this folder's README.
//!
//! Acme signs `v0:<unix seconds>:<body>`, and sends two headers:
//!
//! ```text
//! X-Acme-Timestamp: 1787923200
//! X-Acme-Signature: v0=<lower-case hex>[,v0=<lower-case hex>…]
//! ```

use std::borrow::Cow;

use asixto_webhook_axum::core::{
    Bytes, Encoding, EnvelopeFault, HeaderFault, Headers, Keys, Malformed, SecretSet,
    provider::{Defaults, Envelope, Message, Opened, Provider},
    signature::{Candidates, Signed, decimal},
};
use serde::Deserialize;

/// What Acme sends.
#[derive(Debug, Deserialize)]
pub struct Order {
    /// The order's number, the same in every event about it.
    pub number: String,
    /// What became of it.
    pub state: String,
    /// In cents.
    pub amount: u64,
}

impl Order {
    fn is_told_apart(&self) -> bool {
        !self.number.is_empty() && !self.state.is_empty()
    }
}

impl Envelope for Order {
    fn id(&self) -> &str {
        &self.number
    }

    fn event_type(&self) -> &str {
        &self.state
    }
}

/// Acme's deliveries.
#[derive(Debug, Clone, Copy)]
pub struct Acme;

const TIMESTAMP: &str = "x-acme-timestamp";
const SIGNATURE: &str = "x-acme-signature";

impl Provider for Acme {
    type Envelope = Order;

    const NAME: &'static str = "acme";
    const DEFAULTS: Defaults = Defaults { body_limit: 64 * 1024, ..Defaults::COMMON };

    fn signed<'h>(&self, headers: Headers<'h>) -> Result<Signed<'h>, HeaderFault> {
        let (seconds, signatures) = (headers.one(TIMESTAMP)?, headers.one(SIGNATURE)?);
        Ok(Signed {
            prefix: [b"v0:", seconds, b":", b""],
            timestamp: decimal(seconds).ok_or(HeaderFault::Malformed(Malformed::NotDecimal))?,
            candidates: Candidates::new(signatures, b',', b"v0=", Encoding::HexLower),
            body_begins: None,
        })
    }

    fn open(&self, _: Headers<'_>, body: &Bytes, keys: Keys<'_>) -> Result<Opened<Order>, EnvelopeFault> {
        let order = serde_json::from_slice(body).ok().filter(Order::is_told_apart);
        let order = order.ok_or(EnvelopeFault::WrongShape { expected: "an order with its number and its state" })?;
        let key = keys.event(&[&order.number, &order.state]);
        Ok(Opened::new(order, key))
    }

    fn sign(&self, secrets: &SecretSet<Self>, message: Message<'_>) -> Vec<(Cow<'static, str>, String)> {
        let seconds = message.at.as_secs().to_string();
        let prefix = [b"v0:", seconds.as_bytes(), b":"];
        let signatures: Vec<_> = secrets
            .iter()
            .map(|secret| format!("v0={}", secret.sign(&prefix, message.body, Encoding::HexLower)))
            .collect();
        vec![(TIMESTAMP.into(), seconds), (SIGNATURE.into(), signatures.join(","))]
    }
}
