//! CloudEvents over HTTP, signed in a header whose name is the sender's.

use alloc::{
    borrow::{Cow, ToOwned},
    boxed::Box,
    string::String,
    sync::Arc,
    vec,
    vec::Vec,
};
use core::fmt;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::{Defaults, Envelope, EnvelopeFault, Glimpse, Message, Opened, Provider, timestamped};
use crate::{
    dedup::Keys,
    event::Event,
    headers::{HeaderFault, Headers},
    json::{self, Fields, JsonKind},
    secret::SecretSet,
    signature::{Signed, decimal},
};

const SIGNATURE: &str = "-signature";
const ATTEMPT: &str = "-delivery-attempt";
const SPECVERSION: &str = "1.0";

/// Senders of CloudEvents 1.0 in JSON, signed as `<Name>-Signature: t=…,v1=…`.
///
/// The key is the secret's text as issued. An event is identified by its `source` and `id` together.
///
/// ```
/// use asixto_webhook_core::{NoDedup, Receiver, Secret, SecretSet, provider::CloudEvents};
///
/// let secret = Secret::issued("current", "the secret that Acme gave you")?;
/// let receiver = Receiver::builder_for(CloudEvents::new("Acme-Signature")?)
///     .secrets(SecretSet::from(secret))
///     .dedup(NoDedup)
///     .build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudEvents {
    signature: Arc<str>,
    attempt: Option<Arc<str>>,
}

impl CloudEvents {
    /// For the sender whose signature comes in the header `signature`, such as `Acme-Signature`.
    ///
    /// Where the name ends in `-Signature`, the number of the attempt is read from `<Name>-Delivery-Attempt`.
    ///
    /// # Errors
    /// [`InvalidHeaderName`] for what cannot be the name of a header, and for those that HTTP itself needs.
    pub fn new(signature: &str) -> Result<Self, InvalidHeaderName> {
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let signature = signature.to_ascii_lowercase();
        let is_taken =
            ["connection", "content-length", "content-type", "host", "transfer-encoding"].contains(&&*signature);
        if signature.is_empty() || is_taken || !signature.bytes().all(is_token) {
            return Err(InvalidHeaderName);
        }
        let attempt = signature.strip_suffix(SIGNATURE).map(|name| Arc::from(name.to_owned() + ATTEMPT));
        Ok(Self { signature: signature.into(), attempt })
    }

    fn attempt(&self, headers: Headers<'_>) -> Option<u64> {
        headers.one(self.attempt.as_deref()?).ok().and_then(decimal)
    }
}

impl Provider for CloudEvents {
    type Envelope = CloudEvent;

    const NAME: &'static str = "cloudevents";

    const DEFAULTS: Defaults = Defaults {
        // The specification asks consumers to take 64 KiB at least, and senders often send more.
        body_limit: 256 * 1024,
        ..Defaults::COMMON
    };

    fn signed<'h>(&self, headers: Headers<'h>) -> Result<Signed<'h>, HeaderFault> {
        timestamped::parse(headers.one(&self.signature)?).map_err(HeaderFault::Malformed)
    }

    fn open(&self, headers: Headers<'_>, body: &Bytes, keys: Keys<'_>) -> Result<Opened<CloudEvent>, EnvelopeFault> {
        let event = CloudEvent::parse(body, self.attempt(headers))?;
        // The header too: senders that share a store each have one of their own, and choose their sources freely.
        let key = keys.event(&[&self.signature, &event.source, &event.id]);
        Ok(Opened::new(event, key))
    }

    fn glimpse<'b>(&self, _: Headers<'b>, body: &'b [u8]) -> Glimpse<'b> {
        super::glimpse(body, Some("id"), "type")
    }

    fn sign(&self, secrets: &SecretSet<Self>, message: Message<'_>) -> Vec<(Cow<'static, str>, String)> {
        let value = timestamped::write(secrets, message.at.as_secs(), message.body);
        vec![(Cow::Owned(String::from(&*self.signature)), value)]
    }
}

/// What cannot be the name of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidHeaderName;

impl fmt::Display for InvalidHeaderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected the name of a header, such as `Acme-Signature`, found another text")
    }
}

impl core::error::Error for InvalidHeaderName {}

/// A CloudEvent 1.0.
pub struct CloudEvent {
    id: String,
    source: String,
    event_type: String,
    subject: Option<String>,
    time: Option<String>,
    datacontenttype: Option<String>,
    dataschema: Option<String>,
    data: Option<Box<RawValue>>,
    data_base64: Option<String>,
    extensions: Vec<(String, Box<RawValue>)>,
    attempt: Option<u64>,
}

/// The attributes that are no extensions.
const ATTRIBUTES: [&str; 10] =
    ["specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema", "data", "data_base64"];

impl CloudEvent {
    fn parse(body: &[u8], attempt: Option<u64>) -> Result<Self, EnvelopeFault> {
        let fields = Fields::envelope(body)?;
        let string = |field, expected, is_right: fn(&str) -> bool| match fields
            .get(field)
            .filter(|value| JsonKind::of(value) != JsonKind::Null)
        {
            None => Ok(None),
            Some(value) => match json::text(value).filter(|text| is_right(text)) {
                Some(text) => Ok(Some(text.into_owned())),
                None => Err(EnvelopeFault::WrongField { field, expected, found: JsonKind::of(value) }),
            },
        };
        let optional = |field| string(field, "a non-empty string", |text| !text.is_empty());
        let required = |field| optional(field)?.ok_or(EnvelopeFault::MissingField { field });
        if required("specversion")? != SPECVERSION {
            return Err(EnvelopeFault::WrongField { field: "specversion", expected: "`1.0`", found: JsonKind::String });
        }
        let extensions = fields
            .iter()
            .filter_map(|(name, value)| Some((core::str::from_utf8(name).ok()?, value)))
            .filter(|(name, value)| !ATTRIBUTES.contains(name) && JsonKind::of(value) != JsonKind::Null)
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        Ok(Self {
            id: required("id")?,
            source: required("source")?,
            event_type: required("type")?,
            subject: optional("subject")?,
            time: optional("time")?,
            datacontenttype: optional("datacontenttype")?,
            dataschema: optional("dataschema")?,
            data: fields.get("data").map(ToOwned::to_owned),
            // No bytes are data as well.
            data_base64: string("data_base64", "a string", |_| true)?,
            extensions,
            attempt,
        })
    }
}

impl Envelope for CloudEvent {
    fn id(&self) -> &str {
        &self.id
    }

    fn event_type(&self) -> &str {
        &self.event_type
    }
}

/// Without the data, which is the customer's.
impl fmt::Debug for CloudEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CloudEvent")
            .field("id", &self.id)
            .field("source", &self.source)
            .field("type", &self.event_type)
            .field("time", &self.time)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

impl Event<CloudEvents> {
    /// The version of the specification: `1.0`, which is the only one taken.
    #[must_use]
    pub fn specversion(&self) -> &'static str {
        SPECVERSION
    }

    /// The context in which the event happened, a URI reference; with the id it identifies the event.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.envelope().source
    }

    /// The subject within the source.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        self.envelope().subject.as_deref()
    }

    /// When the event happened, in RFC 3339, as sent.
    #[must_use]
    pub fn time(&self) -> Option<&str> {
        self.envelope().time.as_deref()
    }

    /// The media type of the data.
    #[must_use]
    pub fn datacontenttype(&self) -> Option<&str> {
        self.envelope().datacontenttype.as_deref()
    }

    /// The schema that the data follows, a URI.
    #[must_use]
    pub fn dataschema(&self) -> Option<&str> {
        self.envelope().dataschema.as_deref()
    }

    /// The data as JSON text, byte for byte.
    #[must_use]
    pub fn raw_data(&self) -> Option<&RawValue> {
        self.envelope().data.as_deref()
    }

    /// Binary data, in base64 as sent.
    #[must_use]
    pub fn data_base64(&self) -> Option<&str> {
        self.envelope().data_base64.as_deref()
    }

    /// An extension attribute, as JSON text.
    #[must_use]
    pub fn extension(&self, name: &str) -> Option<&RawValue> {
        self.extensions().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The extension attributes, in the order sent. One that is null is unset, as the specification has it.
    pub fn extensions(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.envelope().extensions.iter().map(|(name, value)| (name.as_str(), &**value))
    }

    /// Which attempt this is, from 1, where the sender says so. For information: it is not signed.
    #[must_use]
    pub fn delivery_attempt(&self) -> Option<u64> {
        self.envelope().attempt
    }
}
