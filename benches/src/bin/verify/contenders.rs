//! Who verifies a delivery: the floor, this core, and its peers, each through the interface that its users call, with all
//! that can be prepared once prepared outside the measurement.

use std::time::Duration;

use asixto_webhook_core::{
    Asixto, SecretSet, Verifier,
    provider::{Provider, StandardWebhooks},
};
use base64ct::{Base64, Encoding as _};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::delivery::{Delivery, Scheme};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Verifies one delivery, again and again.
pub(crate) struct Contender<'d> {
    pub(crate) name: &'static str,
    pub(crate) accepts: Box<dyn Fn() -> bool + 'd>,
}

impl<'d> Contender<'d> {
    fn new(name: &'static str, accepts: impl Fn() -> bool + 'd) -> Self {
        Self { name, accepts: Box::new(accepts) }
    }
}

pub(crate) const CORE: &str = "core";
pub(crate) const FLOOR: &str = "floor";
/// The core, given the same delivery with one signature.
pub(crate) const SINGLE: &str = "single";

/// Everyone who can verify this delivery. `single` is the same with one signature.
pub(crate) fn all<'d>(delivery: &'d Delivery, single: &'d Delivery) -> Result<Vec<Contender<'d>>> {
    let mut contenders = vec![floor(delivery)?, core(delivery)?, Contender { name: SINGLE, ..core(single)? }];
    match delivery.cell.scheme {
        Scheme::Timestamped => {
            contenders.push(webhook_verify(delivery));
            contenders.extend(hook0(delivery));
        }
        Scheme::Standard => {
            contenders.push(standardwebhooks(delivery)?);
            contenders.push(svix(delivery)?);
        }
    }
    Ok(contenders)
}

/// What can hardly be cheaper: the MAC under a prepared key, and one signature decoded and compared in constant time. It
/// looks for no header, reads no grammar, knows one secret and one signature, and asks for no window.
fn floor(delivery: &Delivery) -> Result<Contender<'_>> {
    let issued = delivery.secrets.last().ok_or("expected a secret, found none")?;
    Ok(match delivery.cell.scheme {
        Scheme::Timestamped => {
            let key = Hmac::<Sha256>::new_from_slice(issued.as_bytes())?;
            let header = delivery.value("asixto-signature");
            let (seconds, _) = header.trim_start_matches("t=").split_once(',').ok_or("expected a timestamp")?;
            let (_, offered) = header.rsplit_once('=').ok_or("expected a signature")?;
            Contender::new(FLOOR, move || {
                let mac = mac(&key, [seconds, ".", &delivery.body]);
                let mut bytes = [0; 32];
                base16ct::lower::decode(offered, &mut bytes).is_ok_and(|offered| mac.verify_slice(offered).is_ok())
            })
        }
        Scheme::Standard => {
            let key = Base64::decode_vec(issued.trim_start_matches("whsec_")).map_err(|error| error.to_string())?;
            let key = Hmac::<Sha256>::new_from_slice(&key)?;
            let (id, seconds) = (delivery.value("webhook-id"), delivery.value("webhook-timestamp"));
            let (_, offered) = delivery.value("webhook-signature").rsplit_once(',').ok_or("expected a signature")?;
            Contender::new(FLOOR, move || {
                let mac = mac(&key, [id, ".", seconds, ".", &delivery.body]);
                let mut bytes = [0; 33];
                Base64::decode(offered, &mut bytes).is_ok_and(|offered| mac.verify_slice(offered).is_ok())
            })
        }
    })
}

fn mac<const PARTS: usize>(key: &Hmac<Sha256>, message: [&str; PARTS]) -> Hmac<Sha256> {
    let mut mac = key.clone();
    for part in message {
        mac.update(part.as_bytes());
    }
    mac
}

/// This core, over a plain list of header lines.
fn core(delivery: &Delivery) -> Result<Contender<'_>> {
    fn of<P: Provider>(provider: P, delivery: &Delivery) -> Result<Contender<'_>> {
        let verifier = Verifier::of(provider, SecretSet::from_issued(&delivery.secrets)?);
        let Delivery { lines, body, now, .. } = delivery;
        Ok(Contender::new(CORE, move || verifier.verify(lines, body.as_bytes(), *now).is_ok()))
    }
    match delivery.cell.scheme {
        Scheme::Timestamped => of(Asixto, delivery),
        Scheme::Standard => of(StandardWebhooks, delivery),
    }
}

/// Its scheme for Stripe is Asixto's, under another name of the header.
fn webhook_verify(delivery: &Delivery) -> Contender<'_> {
    use webhook_verify::{Provider, Secret, VerifyOptions, verify_any};

    let mut lines = delivery.lines.clone();
    for (name, _) in &mut lines {
        *name = name.replace("Asixto-", "Stripe-");
    }
    let secrets: Vec<_> = delivery.secrets.iter().map(Secret::new).collect();
    Contender::new("webhook-verify", move || {
        verify_any(Provider::Stripe, &lines, delivery.body.as_bytes(), &secrets, VerifyOptions::default()).is_ok()
    })
}

/// Its `v0` is Asixto's `v1`. Of several it reads the last alone.
fn hook0(delivery: &Delivery) -> Option<Contender<'_>> {
    let now = chrono::DateTime::from_timestamp(delivery.now.as_secs().try_into().ok()?, 0)?;
    let signature = delivery.value("asixto-signature").replace("v1=", "v0=");
    let contender = Contender::new("hook0-client", move || {
        delivery.secrets.iter().any(|secret| {
            hook0_client::verify_webhook_signature_with_current_time(
                &signature,
                delivery.body.as_bytes(),
                &delivery.lines,
                secret,
                Duration::from_secs(300),
                now,
            )
            .is_ok()
        })
    });
    (delivery.cell.candidates == 1).then_some(contender)
}

fn standardwebhooks(delivery: &Delivery) -> Result<Contender<'_>> {
    let headers = delivery.header_map()?;
    let secrets = delivery.secrets.iter().map(|secret| standardwebhooks::Webhook::new(secret));
    let secrets = secrets.collect::<std::result::Result<Vec<_>, _>>()?;
    Ok(Contender::new("standardwebhooks", move || {
        secrets.iter().any(|secret| secret.verify(delivery.body.as_bytes(), &headers).is_ok())
    }))
}

fn svix(delivery: &Delivery) -> Result<Contender<'_>> {
    let headers = delivery.header_map()?;
    let secrets = delivery.secrets.iter().map(|secret| svix::webhooks::Webhook::new(secret));
    let secrets = secrets.collect::<std::result::Result<Vec<_>, _>>()?;
    Ok(Contender::new("svix", move || {
        secrets.iter().any(|secret| secret.verify(delivery.body.as_bytes(), &headers).is_ok())
    }))
}
