//! Whether a delivery is genuine: header, secrets, MAC, window, envelope, environment, in this order.

use alloc::sync::Arc;
use core::fmt;

use super::{Authentic, Delivery, Receiver, place::Marks, wait::Silence};
use crate::{
    dedup::Keys,
    event::Event,
    headers::HeaderFault,
    log::Line,
    outcome::{Answer, Outcome},
    provider::{Envelope, EnvelopeFault, Environment, Opened, Provider},
    source::Unavailable,
    verify::{self, Verified},
};

/// As many MACs are spent on a forgery, whether its scope has one secret, two while they are rotated, or does not exist.
const USUAL_SECRETS: usize = 2;

impl<P: Provider> Receiver<P> {
    /// Header, secrets, MAC, window. With the scope as its secrets spell it, where they do.
    pub(super) async fn verify(
        &self,
        asked: &str,
        delivery: &Delivery<'_>,
    ) -> Result<(Verified, Option<Arc<str>>), Answer> {
        let Delivery { headers, body, .. } = delivery;
        let unverified =
            || Line { scope: asked, unverified: self.0.provider.glimpse(*headers, body), ..Line::default() };
        let signed = self.0.provider.signed(*headers).map_err(|fault| {
            let outcome = match fault {
                HeaderFault::Missing => Outcome::MissingHeader,
                HeaderFault::Repeated => Outcome::RepeatedHeader,
                HeaderFault::Malformed(_) => Outcome::MalformedHeader,
            };
            self.conclude(outcome, Line { reason: Some(&fault), ..unverified() })
        })?;

        let answer = self.within(self.0.settings.secrets_timeout, || self.0.secrets.secrets(asked)).await;
        let answer = answer.unwrap_or_else(|silence| {
            Err(Unavailable::new(match silence {
                Silence::TimedOut => "the source did not answer in time",
                Silence::Panicked => "the source panicked",
            }))
        });
        let found =
            answer.map_err(|error| self.conclude(Outcome::NoSecret, Line { reason: Some(&error), ..unverified() }))?;
        // An empty scope is a mistake of whoever named it, and nobody's.
        let Some(secrets) = found.filter(|_| !asked.is_empty()) else {
            verify::decoy(&signed, body, USUAL_SECRETS);
            let reason =
                if asked.is_empty() { "the scope is empty" } else { "the secret source does not know the scope" };
            return Err(self.conclude(Outcome::SignatureMismatch, Line { reason: Some(&reason), ..unverified() }));
        };
        let Some(secret) = verify::matching(&secrets, &signed, body) else {
            verify::decoy(&signed, body, USUAL_SECRETS.saturating_sub(secrets.iter().len()));
            return Err(self.conclude(Outcome::SignatureMismatch, unverified()));
        };

        let skew_seconds = verify::skew(&signed, self.0.clock.now());
        let verified = Verified { secret: secret.shared_label(), skew_seconds };
        let scope = secrets.scope();
        match verified.within(self.0.settings.tolerance) {
            Ok(()) => Ok((verified, scope.cloned())),
            Err(error) => Err(self.refuse_genuine(
                Outcome::OutsideWindow,
                scope.map_or(asked, AsRef::as_ref),
                delivery,
                &verified,
                &error,
            )),
        }
    }

    /// Envelope and environment.
    pub(super) fn open(
        &self,
        scope: &str,
        delivery: &Delivery<'_>,
        verified: Verified,
    ) -> Result<Authentic<P>, Answer> {
        let Delivery { headers, body, .. } = delivery;
        let opened = self.0.provider.open(*headers, body, Keys::new(P::NAME, scope));
        let Opened { envelope, key, nonce } = opened
            .map_err(|fault| self.refuse_genuine(Outcome::InvalidEnvelope, scope, delivery, &verified, &fault))?;
        if envelope.id().is_empty() {
            // It would be the id of every event that has none.
            return Err(self.refuse_genuine(
                Outcome::InvalidEnvelope,
                scope,
                delivery,
                &verified,
                &EnvelopeFault::Unidentified,
            ));
        }
        let event: Event<P> = Event::new(envelope, body.clone(), scope, verified);
        let declared = self.0.settings.environment.map(Environment::as_str);
        if declared.is_some() && declared != event.envelope().environment() {
            return Err(self.conclude(Outcome::WrongEnvironment, self.line(&event)));
        }
        Ok(Authentic { event, marks: Marks { key, nonce } })
    }

    /// Refuses what a known secret signed: what it says of itself is the sender's word, as far as it can be read.
    fn refuse_genuine(
        &self,
        outcome: Outcome,
        scope: &str,
        delivery: &Delivery<'_>,
        verified: &Verified,
        reason: &dyn fmt::Display,
    ) -> Answer {
        let line = Line {
            scope,
            verified: self.0.provider.glimpse(delivery.headers, &delivery.body),
            secret: Some(verified.secret()),
            skew_seconds: Some(verified.skew_seconds()),
            reason: Some(reason),
            ..Line::default()
        };
        self.conclude(outcome, line)
    }
}
