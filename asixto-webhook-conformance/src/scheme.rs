//! A sender and the receiver's secrets, behind one object whatever the sender.

use core::fmt;

use asixto_webhook_core::{
    Secret, SecretSet,
    provider::{Defaults, Message},
};

use crate::fixtures::{Fixture, MessageId, Sender};

/// Whose secret signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a receiver knows a secret or does not")]
pub enum Signer {
    /// The receiver knows it, as its first, second, … secret.
    Known(usize),
    /// The receiver does not know it.
    Stranger,
}

pub(crate) trait Scheme: fmt::Debug + Send + Sync {
    fn name(&self) -> &'static str;
    fn content_type(&self) -> &'static str;
    fn message_id(&self) -> MessageId;
    fn defaults(&self) -> Defaults;
    fn body(&self, fixture: &Fixture<'_>) -> String;
    /// How many secrets the receiver knows.
    fn secrets(&self) -> usize;
    /// The header lines of a body; the last of them is the one with the signature.
    fn sign(&self, signers: &[Signer], message: Message<'_>) -> Vec<(String, String)>;
}

#[derive(Debug)]
pub(crate) struct Of<P: Sender> {
    provider: P,
    secrets: SecretSet<P>,
    stranger: Secret<P>,
}

impl<P: Sender> Of<P> {
    #[expect(clippy::expect_used, reason = "a constant that every sender could have issued")]
    pub(crate) fn new(provider: P, secrets: SecretSet<P>) -> Self {
        let stranger = Secret::issued("stranger", "whsec_bm90IGEgc2VjcmV0IG9mIHRoaXMgcmVjZWl2ZXI").expect("a secret");
        Self { provider, secrets, stranger }
    }
}

impl<P: Sender> Scheme for Of<P> {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn content_type(&self) -> &'static str {
        P::CONTENT_TYPE
    }

    fn message_id(&self) -> MessageId {
        P::MESSAGE_ID
    }

    fn defaults(&self) -> Defaults {
        P::DEFAULTS
    }

    fn body(&self, fixture: &Fixture<'_>) -> String {
        self.provider.body(fixture)
    }

    fn secrets(&self) -> usize {
        self.secrets.iter().len()
    }

    fn sign(&self, signers: &[Signer], message: Message<'_>) -> Vec<(String, String)> {
        let secret = |signer: &Signer| match signer {
            Signer::Known(place) => self.secrets.iter().nth(*place).cloned(),
            Signer::Stranger => Some(self.stranger.clone()),
        };
        let Ok(secrets) = SecretSet::new(signers.iter().filter_map(secret)) else { return Vec::new() };
        let lines = self.provider.sign(&secrets, message).into_iter();
        lines.map(|(name, value)| (name.into_owned(), value)).collect()
    }
}
