//! One JSON object, taken apart without interpreting its values.
//!
//! The values stay text, so numbers keep every digit, depth costs no stack, and an error can name a
//! field and the kinds of JSON involved without ever quoting the sender's bytes.

use alloc::{borrow::Cow, string::String, vec::Vec};
use core::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::provider::EnvelopeFault;

/// The members of one object, in the order they were sent.
pub(crate) struct Fields<'a>(Vec<(Wtf8<'a>, &'a RawValue)>);

/// The input is not JSON (`None`), or JSON of another kind than an object.
pub(crate) struct NotAnObject(pub(crate) Option<JsonKind>);

impl<'a> Fields<'a> {
    pub(crate) fn parse(json: &'a [u8]) -> Result<Self, NotAnObject> {
        // Any JSON value first: it tells bad JSON from the wrong kind, without recursion.
        let value: &RawValue = serde_json::from_slice(json).map_err(|_| NotAnObject(None))?;
        Self::of(value).map_err(|kind| NotAnObject(Some(kind)))
    }

    /// The members of an envelope: an object in which no name stands twice, so that what deduplicates and what a
    /// handler sees cannot differ.
    pub(crate) fn envelope(json: &'a [u8]) -> Result<Self, EnvelopeFault> {
        let fields = Self::parse(json).map_err(|NotAnObject(kind)| match kind {
            None => EnvelopeFault::NotJson,
            Some(found) => EnvelopeFault::NotAnObject { found },
        })?;
        if fields.repeats_a_name() { Err(EnvelopeFault::RepeatedField) } else { Ok(fields) }
    }

    /// The members of `value`, or the kind that it has instead.
    pub(crate) fn of(value: &'a RawValue) -> Result<Self, JsonKind> {
        serde_json::from_str(value.get()).map_err(|_| JsonKind::of(value))
    }

    /// The value of `name`. The last one counts where a name is repeated, as it does in most JSON readers.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(key, _)| *key.0 == *name.as_bytes()).map(|(_, value)| *value)
    }

    /// Names, unescaped, and values in the order they were sent.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &'a RawValue)> {
        self.0.iter().map(|(name, value)| (&*name.0, *value))
    }

    /// Whether any name, unescaped, appears twice.
    fn repeats_a_name(&self) -> bool {
        let mut names: Vec<&[u8]> = self.0.iter().map(|(name, _)| &*name.0).collect();
        names.sort_unstable();
        names.windows(2).any(|pair| pair.first() == pair.last())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(member) = map.next_entry()? {
                    fields.push(member);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(Members)
    }
}

/// A string, borrowed unless it had to be unescaped.
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowing;

        impl<'de> Visitor<'de> for Borrowing {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.into())))
            }

            fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text)))
            }
        }

        deserializer.deserialize_str(Borrowing)
    }
}

/// The text of a JSON string, unescaped; `None` where `value` is none or holds half a surrogate pair.
pub(crate) fn text(value: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str(value.get()).ok().map(|Text(text)| text)
}

/// A string as bytes, borrowed unless it had to be unescaped. Unlike [`Text`] it takes every string that
/// the JSON grammar allows: half a surrogate pair, as a sender leaves one that cuts text in UTF-16, stays
/// in it as the three bytes that UTF-8 proper forbids.
pub(crate) struct Wtf8<'a>(pub(crate) Cow<'a, [u8]>);

impl<'de: 'a, 'a> Deserialize<'de> for Wtf8<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowing;

        impl<'de> Visitor<'de> for Borrowing {
            type Value = Wtf8<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
                Ok(Wtf8(Cow::Borrowed(bytes)))
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
                Ok(Wtf8(Cow::Owned(bytes.into())))
            }
        }

        deserializer.deserialize_bytes(Borrowing)
    }
}

/// The text of a JSON string, unescaped, with `U+FFFD` for each half of a surrogate pair; `None` where
/// `value` is no string.
pub(crate) fn text_lossy(value: &RawValue) -> Option<String> {
    // An array of numbers would do for bytes as well.
    if JsonKind::of(value) != JsonKind::String {
        return None;
    }
    let Wtf8(bytes) = serde_json::from_str(value.get()).ok()?;
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        // Half a pair is 0xED and two more bytes, each a chunk of its own: one mark for the three.
        if chunk.invalid().first() == Some(&0xED) {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
    Some(text)
}

/// The elements of a JSON array, untouched; `None` where `value` is none.
pub(crate) fn elements(value: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(value.get()).ok()
}

/// The kind of a JSON value, for errors that say what was found without quoting it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JsonKind {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// A number without fraction or exponent.
    Integer,
    /// A number with a fraction or an exponent.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl JsonKind {
    pub(crate) fn of(value: &RawValue) -> Self {
        let json = value.get();
        match json.as_bytes().first() {
            Some(b'n') => Self::Null,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'"') => Self::String,
            Some(b'[') => Self::Array,
            Some(b'{') => Self::Object,
            _ if json.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) => Self::Number,
            _ => Self::Integer,
        }
    }
}

impl fmt::Display for JsonKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Integer => "an integer",
            Self::Number => "a number with a fraction or an exponent",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        })
    }
}
