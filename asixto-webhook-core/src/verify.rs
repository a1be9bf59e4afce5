//! The check itself: one MAC per secret, however many signatures came, then the window.

use alloc::{sync::Arc, vec::Vec};
use core::{fmt, time::Duration};

use crate::{
    headers::{HeaderFault, HeaderLines, Headers},
    mac::Keyed,
    mistakes::{ConfigError, check_tolerance},
    provider::{Asixto, Provider},
    secret::{Secret, SecretSet},
    signature::Signed,
    time::UnixTime,
};

/// Verifies signatures, and nothing else: no envelope, no deduplication.
///
/// A receiver does more, and adapters use that. This one is for queues, tests and stacks without an adapter.
///
/// ```
/// use asixto_webhook_core::{Asixto, Secret, SecretSet, UnixTime, Verifier, sign};
///
/// let secrets = SecretSet::from(Secret::new("current", "whsec_Zm9vYmFyYmF6cXV4")?);
/// let now = UnixTime::from_secs(1_787_923_200);
/// let body = br#"{"id":"1"}"#;
///
/// let header = sign(&secrets, now, body);
/// let verified = Verifier::new(secrets).verify(&[("Asixto-Signature", header)], body, now)?;
/// assert_eq!(verified.secret(), "current");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Verifier<P: Provider = Asixto> {
    provider: P,
    secrets: SecretSet<P>,
    tolerance: Duration,
}

impl Verifier<Asixto> {
    /// A verifier of Asixto's deliveries.
    pub fn new(secrets: impl Into<SecretSet>) -> Self {
        Self::of(Asixto, secrets)
    }
}

impl<P: Provider> Verifier<P> {
    /// A verifier of another provider's deliveries.
    pub fn of(provider: P, secrets: impl Into<SecretSet<P>>) -> Self {
        Self { provider, secrets: secrets.into(), tolerance: P::DEFAULTS.tolerance }
    }

    /// How far the time of signing may lie from the present one, before or after it, in whole seconds: a day at most.
    ///
    /// # Errors
    /// A [`ConfigError`] for another duration, as from [`ReceiverBuilder::build`](crate::ReceiverBuilder::build).
    pub fn tolerance(mut self, tolerance: Duration) -> Result<Self, ConfigError> {
        check_tolerance(tolerance)?;
        self.tolerance = tolerance;
        Ok(self)
    }

    /// Verifies `body` at once.
    ///
    /// # Errors
    /// A [`VerifyError`] for the header, the signature or the window, in this order.
    pub fn verify(&self, headers: &dyn HeaderLines, body: &[u8], now: UnixTime) -> Result<Verified, VerifyError> {
        let signed = self.provider.signed(Headers::new(headers))?;
        self.judge(matching(&self.secrets, &signed, body), &signed, now)
    }

    /// Begins with the headers alone, for a body that arrives in chunks.
    ///
    /// # Errors
    /// A [`VerifyError::Header`].
    pub fn begin<'a>(&'a self, headers: &'a dyn HeaderLines) -> Result<Check<'a, P>, VerifyError> {
        let signed = self.provider.signed(Headers::new(headers))?;
        let running = self.secrets.iter().map(|secret| secret.mac().begin(&signed.prefix)).collect();
        Ok(Check { verifier: self, signed, running, first: None })
    }

    fn judge(&self, secret: Option<&Secret<P>>, signed: &Signed<'_>, now: UnixTime) -> Result<Verified, VerifyError> {
        let secret = secret.ok_or(VerifyError::SignatureMismatch)?;
        let verified = Verified { secret: secret.shared_label(), skew_seconds: skew(signed, now) };
        verified.within(self.tolerance)?;
        Ok(verified)
    }
}

/// A verification under way, see [`Verifier::begin`].
///
/// ```
/// # use asixto_webhook_core::{Secret, SecretSet, UnixTime, Verifier, sign};
/// # let secrets = SecretSet::from(Secret::new("current", "whsec_Zm9vYmFyYmF6cXV4")?);
/// # let now = UnixTime::from_secs(1_787_923_200);
/// # let headers = [("asixto-signature", sign(&secrets, now, b"{}"))];
/// let verifier = Verifier::new(secrets);
/// let mut check = verifier.begin(&headers)?;
/// for chunk in [b"{", b"}"] {
///     check.update(chunk);
/// }
/// check.finish(now)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is verified before `finish`"]
pub struct Check<'a, P: Provider = Asixto> {
    verifier: &'a Verifier<P>,
    signed: Signed<'a>,
    running: Vec<Keyed>,
    /// The first byte of the body.
    first: Option<u8>,
}

impl<P: Provider> Check<'_, P> {
    /// Takes the next bytes of the body, as they came over the wire.
    pub fn update(&mut self, chunk: &[u8]) {
        self.first = self.first.or(chunk.first().copied());
        for mac in &mut self.running {
            mac.update(chunk);
        }
    }

    /// Verifies what has been taken.
    ///
    /// # Errors
    /// [`VerifyError::SignatureMismatch`], or for a genuine delivery [`VerifyError::OutsideWindow`].
    pub fn finish(self, now: UnixTime) -> Result<Verified, VerifyError> {
        let Self { verifier, signed, running, first } = self;
        let secret = verifier
            .secrets
            .iter()
            .zip(running)
            .find_map(|(secret, mac)| offered(&signed, mac, first).then_some(secret));
        verifier.judge(secret, &signed, now)
    }
}

impl<P: Provider> fmt::Debug for Check<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check").field("signed", &self.signed).finish_non_exhaustive()
    }
}

/// The first secret under which one of the offered MACs holds.
pub(crate) fn matching<'s, P: Provider>(
    secrets: &'s SecretSet<P>,
    signed: &Signed<'_>,
    body: &[u8],
) -> Option<&'s Secret<P>> {
    secrets.iter().find(|secret| {
        let mut mac = secret.mac().begin(&signed.prefix);
        mac.update(body);
        offered(signed, mac, body.first().copied())
    })
}

/// Spends what so many secrets that do not match cost.
pub(crate) fn decoy(signed: &Signed<'_>, body: &[u8], secrets: usize) {
    for _ in 0..secrets {
        let mut mac = Keyed::new(b"decoy").begin(&signed.prefix);
        mac.update(body);
        core::hint::black_box(offered(signed, mac, body.first().copied()));
    }
}

/// Whether the MAC is among the offered ones.
#[inline(always)]
fn offered(signed: &Signed<'_>, mac: Keyed, first: Option<u8>) -> bool {
    #[cfg(test)]
    tests::COMPARED.with(|count| count.set(count.get() + 1));
    let found = mac.finish(signed.candidates.encoding()).is_among(signed.candidates.texts());
    found && (signed.body_begins.is_none() || signed.body_begins == first)
}

pub(crate) fn skew(signed: &Signed<'_>, now: UnixTime) -> i64 {
    let distance = i64::try_from(now.as_secs().abs_diff(signed.timestamp)).unwrap_or(i64::MAX);
    if now.as_secs() >= signed.timestamp { distance } else { -distance }
}

/// Proof that a secret signed these bytes at about this time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    pub(crate) secret: Arc<str>,
    pub(crate) skew_seconds: i64,
}

impl Verified {
    /// The label of the secret that matched.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// The receiver's clock less the time of signing, in seconds: negative where the sender's is ahead.
    #[must_use]
    pub fn skew_seconds(&self) -> i64 {
        self.skew_seconds
    }

    pub(crate) fn within(&self, tolerance: Duration) -> Result<(), VerifyError> {
        if self.skew_seconds.unsigned_abs() <= tolerance.as_secs() {
            Ok(())
        } else {
            Err(VerifyError::OutsideWindow { skew_seconds: self.skew_seconds })
        }
    }
}

/// Why a delivery was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VerifyError {
    /// The header is missing, repeated or malformed.
    Header(HeaderFault),
    /// No secret matches any of the signatures.
    SignatureMismatch,
    /// The delivery is genuine, but too old, or signed in the future: a clock problem, or a replay.
    OutsideWindow {
        /// The receiver's clock less the time of signing, in seconds.
        skew_seconds: i64,
    },
}

impl From<HeaderFault> for VerifyError {
    fn from(fault: HeaderFault) -> Self {
        Self::Header(fault)
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(fault) => fault.fmt(f),
            Self::SignatureMismatch => f.write_str("expected a signature by a known secret, found none that matches"),
            Self::OutsideWindow { skew_seconds } if *skew_seconds < 0 => write!(
                f,
                "expected a delivery signed about now, found one signed {} s in the future",
                skew_seconds.unsigned_abs()
            ),
            Self::OutsideWindow { skew_seconds } => {
                write!(f, "expected a delivery signed about now, found one signed {skew_seconds} s ago")
            }
        }
    }
}

impl core::error::Error for VerifyError {}

#[cfg(test)]
mod tests {
    use alloc::format;
    use core::cell::Cell;

    use super::*;
    use crate::{Admission, Bytes, Delivery, NoDedup, Outcome, Receiver, lookup, sign};

    std::thread_local! {
        /// MACs compared on this thread.
        pub(super) static COMPARED: Cell<usize> = const { Cell::new(0) };
    }

    fn secrets(count: usize) -> SecretSet {
        SecretSet::from_issued((0..count).map(|at| format!("whsec_secret{at}"))).unwrap()
    }

    /// How many MACs a delivery costs that is signed with another secret, for a scope with so many secrets.
    fn cost(known: Option<usize>) -> usize {
        let source = lookup(move |_| core::future::ready(Ok(known.map(secrets))));
        let receiver = Receiver::builder().secrets(source).dedup(NoDedup).build().unwrap();
        let forger = SecretSet::from_issued(["whsec_forger"]).unwrap();
        let headers = [("asixto-signature", sign(&forger, UnixTime::from_secs(1), b"{}"))];
        COMPARED.set(0);
        let admission = pollster::block_on(receiver.admit(Delivery::new("POST", &headers, Bytes::from("{}"))));
        assert!(matches!(admission, Admission::Answer(answer) if answer.outcome() == Outcome::SignatureMismatch));
        COMPARED.get()
    }

    /// D1, D2: the time of a refusal does not tell whether a scope exists, nor whether its secret is being rotated.
    #[test]
    fn a_forgery_costs_the_same_everywhere() {
        assert_eq!([None, Some(1), Some(2)].map(cost), [2; 3]);
        assert_eq!(cost(Some(3)), 3);
    }

    /// B5: one MAC a secret, however many signatures came.
    #[test]
    fn one_mac_a_secret() {
        let (at, body) = (UnixTime::from_secs(1_787_923_200), b"{}");
        let header = sign(&secrets(1), at, body);
        let many = format!("{header}{}", format!(",v1={:064}", 0).repeat(100));
        for known in 1..=3 {
            COMPARED.set(0);
            let forged =
                Verifier::new(SecretSet::from_issued(["whsec_a", "whsec_b", "whsec_c"].iter().take(known)).unwrap());
            assert!(forged.verify(&[("asixto-signature", &many)], body, at).is_err());
            assert_eq!(COMPARED.get(), known);
        }
    }
}
