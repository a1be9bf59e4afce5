//! What comes out: a verdict, and causes in sentences that anyone may read.

use alloc::{string::String, sync::Arc, vec::Vec};
use core::fmt;

/// What a [`Case`](super::Case) came to.
///
/// It holds no secret, no MAC and nothing of the body, so that it can be printed, logged and pasted. `Display` writes it
/// for people, several lines long; [`Cause::code`] is for scripts.
#[derive(Debug, Clone)]
pub struct Diagnosis {
    pub(super) verdict: Verdict,
    pub(super) causes: Vec<Cause>,
    pub(super) is_complete: bool,
    pub(super) macs: usize,
}

impl Diagnosis {
    /// Whether the delivery verifies as it is.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        matches!(self.verdict, Verdict::Healthy { .. })
    }

    /// What it came to, in a word.
    #[must_use]
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// What is wrong, the certain before the likely. Empty for a healthy delivery.
    #[must_use]
    pub fn causes(&self) -> &[Cause] {
        &self.causes
    }

    /// Whether everything was tried that is known, or as much as it took. Not so for what stays unexplained where a body, a
    /// header or a secret is too large to be read in other ways, or where all of them together are too many.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// How many MACs were computed: never more than [`MOST_MACS`](super::MOST_MACS).
    #[must_use]
    pub fn macs(&self) -> usize {
        self.macs
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.verdict.fmt(f)?;
        for cause in &self.causes {
            write!(f, "\n{cause}")?;
        }
        if !self.is_complete {
            f.write_str("\nnot everything was tried: something is too large, or too much of it came")?;
        }
        Ok(())
    }
}

/// What a diagnosis came to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It verifies.
    Healthy {
        /// The label of the secret.
        secret: Arc<str>,
        /// The receiver's clock less the time of signing, in seconds: negative where the sender's is ahead.
        skew_seconds: i64,
    },
    /// It is genuine as it is, but its time lies outside the window: the causes say which way.
    Stale {
        /// The label of the secret.
        secret: Arc<str>,
        /// The receiver's clock less the time of signing, in seconds: negative where the sender's is ahead.
        skew_seconds: i64,
    },
    /// It does not verify as it is, and does under exactly what the proven causes say.
    Explained,
    /// Nothing that was tried verifies: some other secret, or some other change. Causes are suspicions.
    Unexplained,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Healthy { secret, skew_seconds } => {
                write!(
                    f,
                    "healthy: the signature matches under secret `{secret}`, and the clocks differ by {skew_seconds} s"
                )
            }
            Self::Stale { secret, .. } => {
                write!(f, "stale: the signature matches under secret `{secret}`, but its time lies outside the window")
            }
            Self::Explained => f.write_str("explained: the signature does not match as the delivery is"),
            Self::Unexplained => f.write_str(
                "unexplained: the signature matches under nothing that was tried; most often another secret signed it",
            ),
        }
    }
}

/// How sure a cause is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Certainty {
    /// A MAC matches under exactly this assumption, which chance does not do.
    Proven,
    /// No MAC can show it: there is evidence, and nothing better was found.
    Suspected,
}

impl fmt::Display for Certainty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Proven => "proven",
            Self::Suspected => "suspected",
        })
    }
}

/// One thing that is wrong with a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    pub(super) code: &'static str,
    pub(super) certainty: Certainty,
    pub(super) evidence: String,
    pub(super) fix: &'static str,
}

impl Cause {
    pub(super) fn of(row: &Row, certainty: Certainty, evidence: String) -> Self {
        Self { code: row.code, certainty, evidence, fix: row.fix }
    }

    /// A word for scripts, the same in every later version: one of [`codes`](super::codes).
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// How sure it is.
    #[must_use]
    pub fn certainty(&self) -> Certainty {
        self.certainty
    }

    /// What was found.
    #[must_use]
    pub fn evidence(&self) -> &str {
        &self.evidence
    }

    /// What to do about it.
    #[must_use]
    pub fn fix(&self) -> &'static str {
        self.fix
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}\n  fix: {}", self.code, self.certainty, self.evidence, self.fix)
    }
}

/// The words of a cause, one row of a table.
///
/// `seen` goes on where "the signature matches under secret `x`" ends, or stands by itself for what is only suspected. `{}`
/// in it is the detail of a reading.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) code: &'static str,
    pub(super) seen: &'static str,
    pub(super) fix: &'static str,
}

impl Row {
    pub(super) fn seen(&self, detail: &str) -> String {
        self.seen.replace("{}", detail)
    }
}
