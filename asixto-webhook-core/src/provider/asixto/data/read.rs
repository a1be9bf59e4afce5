//! One field at a time out of `data`, with an error that names the field and quotes nothing.

use alloc::{borrow::ToOwned, boxed::Box, string::String, vec::Vec};
use core::fmt;

use serde_json::value::RawValue;

use crate::json::{Fields, JsonKind, elements, text_lossy};

/// `data`, which is an object in every type of the catalogue.
pub(super) struct Object<'a>(Fields<'a>);

impl<'a> Object<'a> {
    pub(super) fn of(data: &'a RawValue) -> Result<Self, DataError> {
        Fields::of(data).map(Self).map_err(|kind| DataError {
            field: "data",
            expected: "an object",
            or_null: false,
            found: Found::Kind(kind),
        })
    }

    /// A field that is always there and never null.
    pub(super) fn required<T: Field>(&self, field: &'static str) -> Result<T, DataError> {
        let read = self.0.get(field).map_or(Err(Found::Nothing), T::read);
        read.map_err(|found| DataError { field, expected: T::KIND, or_null: false, found })
    }

    /// A field that comes as null when it has no value. An absent one reads the same.
    pub(super) fn nullable<T: Field>(&self, field: &'static str) -> Result<Option<T>, DataError> {
        self.unless_null(field, true)
    }

    /// A field that is left out when it has no value. A null reads the same.
    pub(super) fn optional<T: Field>(&self, field: &'static str) -> Result<Option<T>, DataError> {
        self.unless_null(field, false)
    }

    fn unless_null<T: Field>(&self, field: &'static str, or_null: bool) -> Result<Option<T>, DataError> {
        match self.0.get(field) {
            None => Ok(None),
            Some(value) if JsonKind::of(value) == JsonKind::Null => Ok(None),
            Some(value) => {
                T::read(value).map(Some).map_err(|found| DataError { field, expected: T::KIND, or_null, found })
            }
        }
    }
}

/// What a field can be read as.
pub(super) trait Field: Sized {
    /// What has to be there, for the error.
    const KIND: &'static str;

    fn read(value: &RawValue) -> Result<Self, Found>;
}

impl Field for String {
    const KIND: &'static str = "a string";

    /// Half a surrogate pair becomes `U+FFFD`: a sender that cuts text by UTF-16 units can leave one, and
    /// that must not cost the event.
    fn read(value: &RawValue) -> Result<Self, Found> {
        text_lossy(value).ok_or(Found::kind_of(value))
    }
}

impl Field for bool {
    const KIND: &'static str = "a boolean";

    fn read(value: &RawValue) -> Result<Self, Found> {
        match value.get() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(Found::kind_of(value)),
        }
    }
}

impl Field for Vec<String> {
    const KIND: &'static str = "an array of strings";

    fn read(value: &RawValue) -> Result<Self, Found> {
        let elements = elements(value).ok_or(Found::kind_of(value))?;
        let text = |element| text_lossy(element).ok_or(Found::Element(JsonKind::of(element)));
        elements.into_iter().map(text).collect()
    }
}

/// An object, untouched.
impl Field for Box<RawValue> {
    const KIND: &'static str = "an object";

    fn read(value: &RawValue) -> Result<Self, Found> {
        match JsonKind::of(value) {
            JsonKind::Object => Ok(value.to_owned()),
            kind => Err(Found::Kind(kind)),
        }
    }
}

/// Why `data` could not be typed. The event is genuine all the same, and its envelope and its raw data
/// stay usable.
///
/// The sentence names the field and the kinds of JSON involved; it never quotes what was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DataError {
    field: &'static str,
    expected: &'static str,
    or_null: bool,
    found: Found,
}

impl DataError {
    /// The name of the field at fault; `data` where that is no object.
    pub fn field(&self) -> &'static str {
        self.field
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, expected, or_null, found } = self;
        let or_null = if *or_null { " or null" } else { "" };
        write!(f, "expected `{field}` to be {expected}{or_null}, found ")?;
        match found {
            Found::Nothing => f.write_str("no such field"),
            Found::Kind(kind) => write!(f, "{kind}"),
            Found::Element(kind) => write!(f, "an array with {kind} in it"),
        }
    }
}

impl core::error::Error for DataError {}

/// What was there instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Found {
    Nothing,
    Kind(JsonKind),
    /// An array, of which one element has this kind.
    Element(JsonKind),
}

impl Found {
    pub(super) fn kind_of(value: &RawValue) -> Self {
        Self::Kind(JsonKind::of(value))
    }
}
