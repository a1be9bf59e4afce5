//! Words from a list that is known today and may grow.

use alloc::string::String;
use core::fmt;

use serde_json::value::RawValue;

use super::read::{Field, Found};

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$word_doc])* $variant,)*
            /// A word that this version does not know, as it was sent.
            Other(String),
        }

        impl $name {
            /// The word, as it was sent.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Other(word) => word,
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl Field for $name {
            const KIND: &'static str = String::KIND;

            fn read(value: &RawValue) -> Result<Self, Found> {
                let word = String::read(value)?;
                Ok(match word.as_str() {
                    $($word => Self::$variant,)*
                    _ => Self::Other(word),
                })
            }
        }
    };
}

words! {
    /// How a job ended.
    JobStatus {
        /// `succeeded`
        Succeeded = "succeeded",
        /// `failed`
        Failed = "failed",
        /// `expired`: it ran out of time. That is not a failure: ask for the job again.
        Expired = "expired",
    }
}

words! {
    /// The verdict of a certification run.
    Verdict {
        /// `passed`
        Passed = "passed",
        /// `failed`
        Failed = "failed",
        /// `inconclusive`: the server could not be checked. That is not a failure of the server.
        Inconclusive = "inconclusive",
    }
}

words! {
    /// Why something was switched off.
    DisabledReason {
        /// `sustained_failures`: deliveries to a webhook endpoint kept failing.
        SustainedFailures = "sustained_failures",
        /// `sustained_outage`: an MCP server did not answer for long.
        SustainedOutage = "sustained_outage",
    }
}
