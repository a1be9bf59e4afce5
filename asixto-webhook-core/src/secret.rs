//! Signing secrets: labelled, prepared once, and never shown again.

use alloc::{
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};
use core::{fmt, marker::PhantomData};

use zeroize::Zeroizing;

use crate::{
    mac::{Encoding, Keyed},
    provider::{Asixto, Provider},
};

/// One signing secret under a label.
///
/// The secret's text is turned into a keyed MAC and forgotten; the MAC's state is wiped when the last clone
/// is dropped. Neither `Debug` nor an error shows anything but the label. `secret.into()` is the [`SecretSet`] of it
/// alone.
///
/// ```
/// use asixto_webhook_core::Secret;
///
/// let secret = Secret::new("2026-11", "whsec_Zm9vYmFyYmF6cXV4")?;
/// assert_eq!(secret.label(), "2026-11");
/// # Ok::<(), asixto_webhook_core::SecretError>(())
/// ```
pub struct Secret<P: Provider = Asixto> {
    label: Arc<str>,
    mac: Keyed,
    provider: PhantomData<fn() -> P>,
}

impl Secret<Asixto> {
    /// A secret of Asixto, exactly as issued, under a label that logs may show.
    ///
    /// # Errors
    /// A [`SecretError`] that says what is wrong with the text, and never shows it.
    pub fn new(label: &str, issued: &str) -> Result<Self, SecretError> {
        Self::issued(label, issued)
    }
}

impl<P: Provider> Secret<P> {
    /// A secret of the provider `P`, exactly as issued, under a label that logs may show.
    ///
    /// # Errors
    /// A [`SecretError`] that says what is wrong with the text, and never shows it.
    pub fn issued(label: &str, issued: &str) -> Result<Self, SecretError> {
        check_text(issued)?;
        let key = P::key(issued)?;
        if label.trim().is_empty() {
            return Err(SecretError::NoLabel);
        }
        if shows(label, issued) {
            return Err(SecretError::LabelShowsSecret);
        }
        Ok(Self { label: label.into(), mac: Keyed::new(&key), provider: PhantomData })
    }

    /// What the provider's secrets start with, which it says where it is missing; empty where they start with anything.
    #[must_use]
    pub fn prefix() -> &'static str {
        match P::key("-") {
            Err(SecretError::WrongPrefix { expected }) => expected,
            _ => "",
        }
    }

    /// The name by which logs and results call this secret.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The MAC over `prefix` and `body` as text: what a sender puts into its header.
    #[must_use]
    pub fn sign(&self, prefix: &[&[u8]], body: &[u8], encoding: Encoding) -> String {
        let mut mac = self.mac.begin(prefix);
        mac.update(body);
        mac.finish(encoding).into_text()
    }

    /// A secret that no text stands for, to see what a provider makes of any.
    #[cfg(feature = "explain")]
    pub(crate) fn of_key(key: &[u8]) -> Self {
        Self { label: "".into(), mac: Keyed::new(key), provider: PhantomData }
    }

    pub(crate) fn shared_label(&self) -> Arc<str> {
        Arc::clone(&self.label)
    }

    pub(crate) fn mac(&self) -> &Keyed {
        &self.mac
    }

    fn equals(&self, other: &Self) -> bool {
        let tag = |secret: &Self| secret.mac.begin(&[]).finish(Encoding::HexLower);
        tag(self).matches(&Zeroizing::new(tag(other).into_text().into_bytes()))
    }
}

/// Whether a label gives away a part of the secret that is worth having.
pub(crate) fn shows(label: &str, issued: &str) -> bool {
    const PART: usize = 8;
    let secret = issued.as_bytes();
    label.as_bytes().windows(secret.len().min(PART)).any(|part| secret.windows(part.len()).any(|known| known == part))
}

/// What no provider's secret looks like.
pub(crate) fn check_text(issued: &str) -> Result<(), SecretError> {
    const QUOTES: [char; 3] = ['"', '\'', '`'];
    if issued.is_empty() {
        Err(SecretError::Empty)
    } else if issued.trim() != issued {
        Err(SecretError::Padded)
    } else if issued.starts_with(QUOTES) || issued.ends_with(QUOTES) {
        Err(SecretError::Quoted)
    } else {
        Ok(())
    }
}

impl<P: Provider> Clone for Secret<P> {
    fn clone(&self) -> Self {
        Self { label: self.shared_label(), mac: self.mac.clone(), provider: PhantomData }
    }
}

impl<P: Provider> fmt::Debug for Secret<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("label", &self.label).finish_non_exhaustive()
    }
}

/// The secrets that are valid at one moment: one, or several while a rotation is under way.
///
/// A delivery is accepted when any of its signatures matches any of them. Cloning is cheap.
pub struct SecretSet<P: Provider = Asixto> {
    secrets: Arc<[Secret<P>]>,
    scope: Option<Arc<str>>,
}

impl<P: Provider> SecretSet<P> {
    /// A set of one or more secrets, the most used one first.
    ///
    /// # Errors
    /// [`SecretError::NoSecrets`], or [`SecretError::RepeatedLabel`] / [`SecretError::RepeatedSecret`] where
    /// the label in a log would not tell which secret matched.
    pub fn new(secrets: impl IntoIterator<Item = Secret<P>>) -> Result<Self, SecretError> {
        let secrets: Vec<_> = secrets.into_iter().collect();
        if secrets.is_empty() {
            return Err(SecretError::NoSecrets);
        }
        for (at, secret) in secrets.iter().enumerate() {
            let before = || secrets.iter().take(at);
            if before().any(|other| other.label == secret.label) {
                return Err(SecretError::RepeatedLabel);
            }
            if before().any(|other| other.equals(secret)) {
                return Err(SecretError::RepeatedSecret);
            }
        }
        Ok(Self { secrets: secrets.into(), scope: None })
    }

    /// A set of the secrets in `issued`, labelled by their place: `1`, `2`, …
    ///
    /// A place is another secret's after a rotation. Where a log has to say which one matched, make a [`Secret`] of each,
    /// with a label that stays.
    ///
    /// # Errors
    /// As [`Secret::issued`] and [`SecretSet::new`], with the place of a text that was refused.
    pub fn from_issued<T: AsRef<str>>(issued: impl IntoIterator<Item = T>) -> Result<Self, SecretSetError> {
        let secrets: Result<Vec<_>, _> = issued
            .into_iter()
            .zip(1_usize..)
            .map(|(text, place)| {
                Secret::issued(&place.to_string(), text.as_ref())
                    .map_err(|error| SecretSetError { place: Some(place), error })
            })
            .collect();
        Self::new(secrets?).map_err(|error| SecretSetError { place: None, error })
    }

    /// Says which scope these secrets belong to, in its one spelling, for a [`lookup`](crate::lookup) that finds the
    /// same tenant under several (`acme` and `ACME`, say).
    ///
    /// Ids are unique within a scope: without this a delivery would be a new event under each spelling that finds it.
    #[must_use]
    pub fn for_scope(mut self, scope: impl Into<Arc<str>>) -> Self {
        self.scope = Some(scope.into());
        self
    }

    pub(crate) fn scope(&self) -> Option<&Arc<str>> {
        self.scope.as_ref()
    }

    /// The secrets, in the order given.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Secret<P>> {
        self.secrets.iter()
    }
}

impl<P: Provider> From<Secret<P>> for SecretSet<P> {
    fn from(secret: Secret<P>) -> Self {
        Self { secrets: Arc::new([secret]), scope: None }
    }
}

impl<P: Provider> Clone for SecretSet<P> {
    fn clone(&self) -> Self {
        Self { secrets: Arc::clone(&self.secrets), scope: self.scope.clone() }
    }
}

impl<P: Provider> fmt::Debug for SecretSet<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Why a secret, or a set of them, was refused. Never shows a secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SecretError {
    /// The text is empty.
    Empty,
    /// The text has white space at an end.
    Padded,
    /// The text stands in quotes, or has one at an end.
    Quoted,
    /// The text lacks the prefix that this provider's secrets start with.
    WrongPrefix {
        /// The prefix.
        expected: &'static str,
    },
    /// The text has a comma, white space or a control character inside.
    Several,
    /// The text has a character that is not ASCII.
    NotAscii,
    /// The text is the prefix and nothing else.
    PrefixOnly {
        /// The prefix.
        prefix: &'static str,
    },
    /// The text behind the prefix is not base64, as this provider's secrets are.
    NotBase64 {
        /// The prefix.
        prefix: &'static str,
    },
    /// The label is empty.
    NoLabel,
    /// The label contains the secret, or eight characters of it: logs would show them.
    LabelShowsSecret,
    /// A set without secrets.
    NoSecrets,
    /// Two secrets of a set have one label.
    RepeatedLabel,
    /// A set holds the same secret twice.
    RepeatedSecret,
}

/// The sentence: what `main` prints of an error, and `unwrap` of a panic, is this.
impl fmt::Debug for SecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for SecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("expected a secret, found an empty text: is the variable set?"),
            Self::Padded => f.write_str(
                "expected the secret alone, found white space at one of its ends: trim the newline or blank",
            ),
            Self::Quoted => {
                f.write_str("expected the secret alone, found a quote at one of its ends: remove the quotes")
            }
            Self::WrongPrefix { expected } => write!(
                f,
                "expected a secret that starts with `{expected}`, found another beginning: \
                 use it as issued, prefix included"
            ),
            Self::Several => f.write_str(
                "expected one secret, found a comma, white space or a control character inside it: \
                 are these several secrets? give each one by itself",
            ),
            Self::NotAscii => f.write_str(
                "expected the secret in ASCII, as issued, found another character: \
                 was it copied from a formatted text, with a typographic quote or an invisible blank?",
            ),
            Self::PrefixOnly { prefix } => {
                write!(f, "expected a secret after `{prefix}`, found nothing behind the prefix")
            }
            Self::NotBase64 { prefix } => {
                write!(f, "expected base64 after `{prefix}`, found another text: is it a secret of another provider?")
            }
            Self::NoLabel => f.write_str("expected a label for the secret, found an empty text"),
            Self::LabelShowsSecret => {
                f.write_str("expected a label that logs may show, found one that contains a part of the secret")
            }
            Self::NoSecrets => f.write_str("expected at least one secret, found none"),
            Self::RepeatedLabel => {
                f.write_str("expected a label of its own for every secret, found the same label twice")
            }
            Self::RepeatedSecret => f.write_str("expected different secrets, found the same one twice"),
        }
    }
}

impl core::error::Error for SecretError {}

/// Why a list of secrets was refused, and which of them. Never shows a secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SecretSetError {
    place: Option<usize>,
    error: SecretError,
}

impl SecretSetError {
    /// The place in the list of the text that was refused, from 1; `None` where the list as a whole was.
    #[must_use]
    pub const fn place(&self) -> Option<usize> {
        self.place
    }

    /// What is wrong with it.
    #[must_use]
    pub const fn error(&self) -> SecretError {
        self.error
    }
}

/// The sentence, as that of [`SecretError`].
impl fmt::Debug for SecretSetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for SecretSetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.place {
            write!(f, "secret {place}: ")?;
        }
        self.error.fmt(f)
    }
}

impl core::error::Error for SecretSetError {}
