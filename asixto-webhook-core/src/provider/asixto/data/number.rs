//! Numbers that keep every digit they were sent with.

use alloc::boxed::Box;
use core::fmt;

use serde_json::value::RawValue;

use super::read::{Field, Found};
use crate::json::JsonKind;

/// A JSON integer of any size, exactly as it was sent.
///
/// Its text never passed through a float and was never cut. Equality is that of the text: `-0` is not
/// `0`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Integer(Box<str>);

impl Field for Integer {
    const KIND: &'static str = "an integer";

    /// `5.0` is refused like any other fraction: it says that the sender computed with floats.
    fn read(value: &RawValue) -> Result<Self, Found> {
        match JsonKind::of(value) {
            JsonKind::Integer => Ok(Self(value.get().into())),
            kind => Err(Found::Kind(kind)),
        }
    }
}

/// A JSON number, with or without a fraction, exactly as it was sent.
///
/// Equality is that of the text: `5.0` is not `5`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Number(Box<str>);

impl Number {
    /// The nearest float; `None` if the number is beyond the largest.
    ///
    /// Good for a percentage. For amounts that have to add up give [`as_str`](Self::as_str) to a decimal
    /// type.
    pub fn as_f64(&self) -> Option<f64> {
        self.0.parse().ok().filter(|float: &f64| float.is_finite())
    }
}

impl Field for Number {
    const KIND: &'static str = "a number";

    fn read(value: &RawValue) -> Result<Self, Found> {
        match JsonKind::of(value) {
            JsonKind::Integer | JsonKind::Number => Ok(Self(value.get().into())),
            kind => Err(Found::Kind(kind)),
        }
    }
}

macro_rules! exact {
    ($name:ident) => {
        impl $name {
            /// The text of the number, as it was sent.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The exact value; `None` if it is out of range, or written with a fraction or an exponent.
            pub fn as_i64(&self) -> Option<i64> {
                self.as_i128()?.try_into().ok()
            }

            /// The exact value; `None` if it is out of range, or written with a fraction or an exponent.
            pub fn as_u64(&self) -> Option<u64> {
                self.as_i128()?.try_into().ok()
            }

            /// The exact value; `None` if it is out of range, or written with a fraction or an exponent.
            pub fn as_i128(&self) -> Option<i128> {
                self.0.parse().ok()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&format_args!("{}", self.0)).finish()
            }
        }
    };
}

exact!(Integer);
exact!(Number);
