//! The four senders, chosen by name, behind one object that signs, verifies and writes bodies.

use std::str::FromStr;

use asixto_webhook_conformance::{
    Kit,
    fixtures::{self, Fixture, MessageId, Sender},
};
use asixto_webhook_core::{
    Asixto, Environment, HeaderLines, Secret, SecretError, SecretSet, UnixTime, Verified, Verifier, VerifyError,
    provider::{Agent, CloudEvents, Defaults, Message, Provider, StandardWebhooks},
};
use base64ct::{Base64, Base64UrlUnpadded, Encoding};
use zeroize::Zeroizing;

use crate::{console::Failure, input::secrets::Labelled};

/// A sender, as `--provider` names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    Asixto,
    Standard,
    CloudEvents(CloudEvents),
    Agent,
}

impl Choice {
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Asixto => Asixto::NAME,
            Self::Standard => StandardWebhooks::NAME,
            Self::CloudEvents(_) => CloudEvents::NAME,
            Self::Agent => Agent::NAME,
        }
    }

    /// This sender with its secrets.
    pub(crate) fn keys(&self, secrets: &[Labelled]) -> Result<Box<dyn Keys>, Failure> {
        match self {
            Self::Asixto => Of::boxed(Asixto, secrets),
            Self::Standard => Of::boxed(StandardWebhooks, secrets),
            Self::CloudEvents(provider) => Of::boxed(provider.clone(), secrets),
            Self::Agent => Of::boxed(fixtures::agent(), secrets),
        }
    }

    /// A secret of this sender's kind around random bytes.
    pub(crate) fn secret(&self, random: &[u8]) -> Result<Zeroizing<String>, SecretError> {
        match self {
            Self::Asixto => secret::<Asixto, Base64UrlUnpadded>(random),
            // Its key is decoded, from this alphabet.
            Self::Standard => secret::<StandardWebhooks, Base64>(random),
            Self::CloudEvents(_) => secret::<CloudEvents, Base64UrlUnpadded>(random),
            Self::Agent => secret::<Agent, Base64UrlUnpadded>(random),
        }
    }
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, header) = text.split_once(':').map_or((text, None), |(name, header)| (name, Some(header)));
        match (name, header) {
            (Asixto::NAME, None) => Ok(Self::Asixto),
            (StandardWebhooks::NAME, None) => Ok(Self::Standard),
            (Agent::NAME, None) => Ok(Self::Agent),
            (CloudEvents::NAME, header) => {
                let provider = CloudEvents::new(header.unwrap_or_default());
                provider.map(Self::CloudEvents).map_err(|error| format!("{error}; write `{name}:Acme-Signature`"))
            }
            _ => Err("expected `asixto`, `standard`, `cloudevents:<header>` or `agent`".to_owned()),
        }
    }
}

fn secret<P: Provider, Alphabet: Encoding>(random: &[u8]) -> Result<Zeroizing<String>, SecretError> {
    let encoded = Zeroizing::new(Alphabet::encode_string(random));
    let text = Zeroizing::new([Secret::<P>::prefix(), &encoded].concat());
    Secret::<P>::issued("new", &text).map(|_| text)
}

/// A sender that holds its secrets.
pub(crate) trait Keys {
    /// What it signs besides time and body.
    fn message_id(&self) -> MessageId;

    /// The header lines that it puts on a body, where a receiver could take them.
    fn sign(&self, message: Message<'_>) -> Result<Vec<(String, String)>, Failure>;

    fn verify(&self, headers: &dyn HeaderLines, body: &[u8], now: UnixTime) -> Result<Verified, VerifyError>;

    /// The content type of its deliveries.
    fn content_type(&self) -> &'static str;

    /// An event in its envelope.
    fn body(&self, fixture: &Fixture<'_>) -> String;

    /// The figures of its contract.
    fn figures(&self) -> Defaults;

    /// What a receiver at this path is checked with.
    fn kit(&self, path: &str, environment: Environment) -> Kit;
}

struct Of<P: Provider> {
    provider: P,
    secrets: SecretSet<P>,
    verifier: Verifier<P>,
}

impl<P: Sender> Of<P> {
    fn boxed(provider: P, secrets: &[Labelled]) -> Result<Box<dyn Keys>, Failure> {
        let secrets: Result<Vec<_>, _> = secrets.iter().zip(1_usize..).map(Labelled::secret).collect();
        let secrets = SecretSet::new(secrets?).map_err(|error| Failure::new(error.to_string()))?;
        let verifier = Verifier::of(provider.clone(), secrets.clone());
        Ok(Box::new(Self { provider, secrets, verifier }))
    }
}

impl<P: Sender> Keys for Of<P> {
    fn message_id(&self) -> MessageId {
        P::MESSAGE_ID
    }

    fn sign(&self, message: Message<'_>) -> Result<Vec<(String, String)>, Failure> {
        let headers = self.provider.sign(&self.secrets, message).into_iter();
        let headers: Vec<_> = headers.map(|(name, value)| (name.into_owned(), value)).collect();
        match self.verify(&headers, message.body, message.at) {
            Ok(_) => Ok(headers),
            // Its own secrets do match.
            Err(VerifyError::SignatureMismatch) => Err(Failure::new(format!(
                "expected a body that {} can sign, found none that begins as its bodies do: a JSON object, no blank first",
                P::NAME
            ))),
            Err(error) => Err(Failure::new(format!("no receiver would take this: {error} (--id)"))),
        }
    }

    fn verify(&self, headers: &dyn HeaderLines, body: &[u8], now: UnixTime) -> Result<Verified, VerifyError> {
        self.verifier.verify(headers, body, now)
    }

    fn content_type(&self) -> &'static str {
        P::CONTENT_TYPE
    }

    fn body(&self, fixture: &Fixture<'_>) -> String {
        self.provider.body(fixture)
    }

    fn figures(&self) -> Defaults {
        P::DEFAULTS
    }

    fn kit(&self, path: &str, environment: Environment) -> Kit {
        Kit::of(self.provider.clone(), path, self.secrets.clone(), environment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_secret_is_of_the_providers_kind() {
        let secret = |name: &str| Choice::from_str(name).unwrap().secret(&[0xfb; 32]).unwrap();
        assert_eq!(*secret("asixto"), "whsec_-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_s");
        assert_eq!(*secret("standard"), "whsec_+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/s=");
        for name in ["agent", "cloudevents:Acme-Signature"] {
            assert_eq!(*secret(name), "-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_s");
        }
    }

    #[test]
    fn a_provider_is_named() {
        for name in ["asixto", "standard", "agent"] {
            assert_eq!(Choice::from_str(name).unwrap().name(), name);
        }
        assert_eq!(Choice::from_str("cloudevents:X-Y").unwrap(), Choice::CloudEvents(CloudEvents::new("x-y").unwrap()));
        for text in ["", "Asixto", "asixto:", "agent:x", "cloudevents", "cloudevents:", "cloudevents:a b"] {
            assert!(Choice::from_str(text).is_err(), "{text}");
        }
    }
}
