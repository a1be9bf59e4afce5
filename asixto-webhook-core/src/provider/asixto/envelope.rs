//! The envelope: five fields, a sixth on a manual replay, and `data` left as it came.

use alloc::{
    borrow::{Cow, ToOwned},
    boxed::Box,
    string::String,
};
use core::fmt;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::super::{Envelope, EnvelopeFault};
use super::{Data, DataError};
use crate::{
    json::{self, Fields, JsonKind},
    time::UnixTime,
};

/// An envelope of Asixto.
pub struct AsixtoEnvelope {
    id: String,
    event_type: String,
    created: u64,
    environment: Environment,
    replay_of: Option<String>,
    data: Box<RawValue>,
}

impl AsixtoEnvelope {
    pub(super) fn parse(body: &Bytes) -> Result<Self, EnvelopeFault> {
        let fields = Fields::envelope(body)?;
        let envelope = Self {
            id: text(&fields, "id", "a non-empty string", |id| !id.is_empty())?,
            event_type: text(&fields, "type", "a string", |_| true)?,
            created: created(required(&fields, "created")?)?,
            environment: environment(required(&fields, "environment")?)?,
            replay_of: match fields.get("replay_of") {
                None => None,
                Some(value) if JsonKind::of(value) == JsonKind::Null => None,
                Some(_) => Some(text(&fields, "replay_of", "a string", |_| true)?),
            },
            data: required(&fields, "data")?.to_owned(),
        };
        if envelope.replay_of.is_none() && fields.get("replay_of").is_some() {
            tracing::warn!(
                target: crate::log::TARGET,
                event_id = crate::log::cut(&envelope.id),
                "`replay_of` came as null, which reads as absent: the contract leaves it out"
            );
        }
        Ok(envelope)
    }

    pub(crate) fn created(&self) -> UnixTime {
        UnixTime::from_secs(self.created)
    }

    pub(crate) fn kind(&self) -> Environment {
        self.environment
    }

    pub(crate) fn replay_of(&self) -> Option<&str> {
        self.replay_of.as_deref()
    }

    pub(crate) fn raw_data(&self) -> &RawValue {
        &self.data
    }

    pub(crate) fn data(&self) -> Result<Data, DataError> {
        Data::read(&self.event_type, &self.data)
    }
}

impl Envelope for AsixtoEnvelope {
    fn id(&self) -> &str {
        &self.id
    }

    fn event_type(&self) -> &str {
        &self.event_type
    }

    fn environment(&self) -> Option<&str> {
        Some(self.environment.as_str())
    }
}

/// Without `data`, which is the customer's.
impl fmt::Debug for AsixtoEnvelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsixtoEnvelope")
            .field("id", &self.id)
            .field("type", &self.event_type)
            .field("created", &self.created)
            .field("environment", &self.environment)
            .field("replay_of", &self.replay_of)
            .finish_non_exhaustive()
    }
}

/// The two worlds of Asixto; an endpoint belongs to one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a third one would be another contract")]
pub enum Environment {
    /// Production.
    Live,
    /// Trials.
    Test,
}

impl Environment {
    /// The word in the envelope.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Test => "test",
        }
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl core::str::FromStr for Environment {
    type Err = UnknownEnvironment;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Live, Self::Test].into_iter().find(|known| known.as_str() == text).ok_or(UnknownEnvironment)
    }
}

/// A text that names no environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownEnvironment;

impl fmt::Display for UnknownEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected `live` or `test`, found another text")
    }
}

impl core::error::Error for UnknownEnvironment {}

fn required<'a>(fields: &Fields<'a>, field: &'static str) -> Result<&'a RawValue, EnvelopeFault> {
    fields.get(field).ok_or(EnvelopeFault::MissingField { field })
}

fn text(
    fields: &Fields<'_>,
    field: &'static str,
    expected: &'static str,
    allowed: fn(&str) -> bool,
) -> Result<String, EnvelopeFault> {
    let value = required(fields, field)?;
    json::text(value).filter(|text| allowed(text)).map(Cow::into_owned).ok_or(EnvelopeFault::WrongField {
        field,
        expected,
        found: JsonKind::of(value),
    })
}

fn created(value: &RawValue) -> Result<u64, EnvelopeFault> {
    // Rust also parses a sign and leading zeros, but JSON has let neither `+1` nor `01` through.
    value.get().parse().map_err(|_| EnvelopeFault::WrongField {
        field: "created",
        expected: "a non-negative integer of unix seconds",
        found: JsonKind::of(value),
    })
}

fn environment(value: &RawValue) -> Result<Environment, EnvelopeFault> {
    json::text(value).and_then(|text| text.parse().ok()).ok_or(EnvelopeFault::WrongField {
        field: "environment",
        expected: "`live` or `test`",
        found: JsonKind::of(value),
    })
}
