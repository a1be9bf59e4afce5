//! Why a store on a database cannot be opened.

use core::{error::Error, fmt};

/// Why a store cannot be opened, in words that say what to mend.
#[derive(Debug)]
pub struct OpenError {
    told: String,
    cause: Option<Box<dyn Error + Send + Sync>>,
}

impl OpenError {
    /// What failed, and why.
    pub(crate) fn of(what: impl fmt::Display, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let cause = cause.into();
        Self { told: format!("{what}: {cause}"), cause: Some(cause) }
    }

    pub(crate) fn told(words: impl Into<String>) -> Self {
        Self { told: words.into(), cause: None }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told)
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.cause.as_deref()?)
    }
}
