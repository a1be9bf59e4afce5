//! The seam between senders: what differs from one to the next, and nothing else.

mod agent;
mod asixto;
mod cloudevents;
mod glimpse;
mod standard;
mod timestamped;

use alloc::{borrow::Cow, string::String, vec::Vec};
use core::{fmt, time::Duration};

use bytes::Bytes;
/// What keeps a key, and wipes it: see [`Provider::key`].
#[doc(no_inline)]
pub use zeroize::Zeroizing;

pub use agent::{Agent, AgentEnvelope, Identity, Unidentified};
pub use asixto::*;
pub use cloudevents::{CloudEvent, CloudEvents, InvalidHeaderName};
use glimpse::glimpse;
pub use standard::{StandardEnvelope, StandardWebhooks};

use crate::{
    dedup::{DedupKey, Keys},
    headers::{HeaderFault, Headers},
    json::JsonKind,
    secret::{SecretError, SecretSet},
    signature::Signed,
    time::UnixTime,
};

/// A sender: how its deliveries are signed, what they contain, and what makes two of them the same.
///
/// An instance, since the name of a header can be a matter of configuration. Everything else about receiving
/// (the order of checks, the window, deduplication, answers) is the receiver's and the same for all.
pub trait Provider: fmt::Debug + Clone + Send + Sync + 'static {
    /// What a verified body contains.
    type Envelope: Envelope;

    /// A short name for logs, part of every deduplication key: changing it forgets every id.
    const NAME: &'static str;

    /// The figures of this sender's contract.
    const DEFAULTS: Defaults;

    /// The MAC key behind a secret's text: the text itself, unless a sender says otherwise.
    ///
    /// Empty, padded and quoted texts never get here.
    ///
    /// # Errors
    /// Where the text cannot be one of this sender's secrets.
    fn key(issued: &str) -> Result<Zeroizing<Vec<u8>>, SecretError> {
        Ok(Zeroizing::new(issued.as_bytes().to_vec()))
    }

    /// Reads the signature headers, without allocating.
    ///
    /// # Errors
    /// Where a header is missing, repeated or malformed.
    fn signed<'h>(&self, headers: Headers<'h>) -> Result<Signed<'h>, HeaderFault>;

    /// Opens a body whose signature holds, and says what makes it unique.
    ///
    /// # Errors
    /// Where the body is not an envelope of this sender.
    fn open(&self, headers: Headers<'_>, body: &Bytes, keys: Keys<'_>)
    -> Result<Opened<Self::Envelope>, EnvelopeFault>;

    /// Id and type as far as they can be read before the signature holds, for the log of a refusal.
    ///
    /// The default reads nothing, for senders whose contract forbids parsing first.
    fn glimpse<'b>(&self, headers: Headers<'b>, body: &'b [u8]) -> Glimpse<'b> {
        let _ = (headers, body);
        Glimpse::default()
    }

    /// The headers that this sender would put on a body, signed with every secret of the set.
    fn sign(&self, secrets: &SecretSet<Self>, message: Message<'_>) -> Vec<(Cow<'static, str>, String)>;
}

/// What every sender's envelope can say.
pub trait Envelope: fmt::Debug + Send + Sync + 'static {
    /// The identifier of the event or delivery, as sent.
    fn id(&self) -> &str;

    /// The type of the event, as sent.
    fn event_type(&self) -> &str;

    /// The environment it was made in, where the sender has such a thing.
    fn environment(&self) -> Option<&str> {
        None
    }
}

/// An envelope and what deduplicates it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Opened<E> {
    /// The envelope.
    pub envelope: E,
    /// The key that is claimed before the event is handed out.
    pub key: DedupKey,
    /// A key that is claimed before that, and may be used by this body alone within the window.
    pub nonce: Option<DedupKey>,
}

impl<E> Opened<E> {
    /// An envelope deduplicated by `key`.
    pub const fn new(envelope: E, key: DedupKey) -> Self {
        Self { envelope, key, nonce: None }
    }

    /// With a nonce of the sender's.
    #[must_use]
    pub fn with_nonce(mut self, nonce: DedupKey) -> Self {
        self.nonce = Some(nonce);
        self
    }
}

/// The figures of a sender's contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Defaults {
    /// The largest body in bytes that a receiver must take; its limit can be raised, not lowered.
    pub body_limit: usize,
    /// How far the time of signing may lie from the present one, before or after it.
    pub tolerance: Duration,
    /// The shortest time that an id must be remembered after it was committed.
    pub least_ttl: Duration,
    /// How many keys a delivery claims, one after the other: a second one for a nonce.
    pub claims: u32,
    /// The time for a body to arrive.
    pub body_timeout: Duration,
    /// The time from the request's arrival to the answer, within the sender's patience.
    pub answer_timeout: Duration,
    /// How long the sender waits for an answer.
    pub patience: Duration,
}

impl Defaults {
    /// What most senders can live with, for those whose contract is silent: 1 MiB, 300 s either way, ids for 7 days,
    /// and 10 seconds of patience, of which the body may take 5.
    ///
    /// ```
    /// use asixto_webhook_core::provider::Defaults;
    ///
    /// const DEFAULTS: Defaults = Defaults { body_limit: 64 * 1024, ..Defaults::COMMON };
    /// ```
    pub const COMMON: Self = Self {
        body_limit: 1024 * 1024,
        tolerance: Duration::from_secs(300),
        least_ttl: Duration::from_secs(7 * 24 * 60 * 60),
        claims: 1,
        body_timeout: Duration::from_secs(5),
        answer_timeout: Duration::from_secs(9),
        patience: Duration::from_secs(10),
    };
}

/// A message to sign.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Message<'m> {
    /// When it is signed.
    pub at: UnixTime,
    /// The raw body.
    pub body: &'m [u8],
    /// The identifier of the event, or the nonce of the delivery, for senders that put one into a header.
    pub id: &'m str,
}

impl<'m> Message<'m> {
    /// A body, signed at a time.
    #[must_use]
    pub const fn new(at: UnixTime, body: &'m [u8]) -> Self {
        Self { at, body, id: "" }
    }

    /// With the identifier or nonce that goes into a header.
    #[must_use]
    pub const fn with_id(mut self, id: &'m str) -> Self {
        self.id = id;
        self
    }
}

/// Without the body, which is the customer's.
impl fmt::Debug for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message").field("at", &self.at).finish_non_exhaustive()
    }
}

/// Id and type of a delivery whose signature does not hold (yet). Nothing but a log may use them.
#[derive(Debug, Clone, Default)]
pub struct Glimpse<'b> {
    /// What claims to be the id.
    pub id: Option<Cow<'b, str>>,
    /// What claims to be the type.
    pub event_type: Option<Cow<'b, str>>,
}

/// Why a signed body is not a valid envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EnvelopeFault {
    /// The body is not JSON.
    NotJson,
    /// The body is JSON, but no object.
    NotAnObject {
        /// What it is.
        found: JsonKind,
    },
    /// A name appears twice at the top level.
    RepeatedField,
    /// A required field is absent.
    MissingField {
        /// Its name.
        field: &'static str,
    },
    /// The user's function found no key of the event.
    Unidentified,
    /// The body is JSON, but not of the sender's shape.
    WrongShape {
        /// The shape.
        expected: &'static str,
    },
    /// A field is not what the contract says.
    WrongField {
        /// Its name.
        field: &'static str,
        /// What the contract says.
        expected: &'static str,
        /// The kind of value found.
        found: JsonKind,
    },
}

impl fmt::Display for EnvelopeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson => f.write_str("expected the body to be a JSON object, found bytes that are not JSON"),
            Self::NotAnObject { found } => write!(f, "expected the body to be a JSON object, found {found}"),
            Self::RepeatedField => {
                f.write_str("expected each top-level field of the envelope once, found one of them twice")
            }
            Self::Unidentified => f.write_str("expected a key of the event in the body, found none"),
            Self::WrongShape { expected } => write!(f, "expected the body to be {expected}, found another shape"),
            Self::MissingField { field } => write!(f, "expected a field `{field}` in the envelope, found none"),
            Self::WrongField { field, expected, found } if matches!(found, JsonKind::String | JsonKind::Integer) => {
                write!(f, "expected `{field}` to be {expected}, found {found} that is not")
            }
            Self::WrongField { field, expected, found } => {
                write!(f, "expected `{field}` to be {expected}, found {found}")
            }
        }
    }
}

impl core::error::Error for EnvelopeFault {}
