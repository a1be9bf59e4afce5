//! Standard Webhooks, against the library of Svix, whose scheme became the standard: what either signs the other verifies.
#![cfg(test)]

mod common;

use asixto_webhook_core::{Admission, Clock, SecretSet, SystemClock, UnixTime, Verifier, provider::StandardWebhooks};
use common::{admit, header_map, lines, signed};
use svix::webhooks::Webhook;

const SECRETS: [&str; 2] =
    ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_RdvaYFYUXuIFuEbvZHwMfYFhUf7aMYjYcmM24+Aj40c="];

const BODIES: [&str; 4] = [
    r#"{"test": 2432232314}"#,
    "{}",
    "{\"text\":\"ñ 🦀\",\r\n\t\"nul\":\"\\u0000\"}\n",
    r#"{"type":"sale.paid","data":{}}"#,
];

/// By the system's clock: theirs cannot be handed the time.
fn now() -> u64 {
    SystemClock.now().as_secs()
}

fn ours() -> SecretSet<StandardWebhooks> {
    SecretSet::from_issued(SECRETS).unwrap()
}

// L10
#[test]
fn what_they_sign_is_received() {
    for (secret, label) in SECRETS.into_iter().zip(["1", "2"]) {
        for body in BODIES {
            let (theirs, at) = (Webhook::new(secret).unwrap(), now());
            let headers = lines([
                ("webhook-id", "msg_1".to_owned()),
                ("webhook-timestamp", at.to_string()),
                ("webhook-signature", theirs.sign("msg_1", at.cast_signed(), body.as_bytes()).unwrap()),
            ]);
            let verifier = Verifier::of(StandardWebhooks, ours());
            let verified = verifier.verify(&headers, body.as_bytes(), UnixTime::from_secs(at)).unwrap();
            assert_eq!(verified.secret(), label);
            let Admission::Process(event, _) = admit(&StandardWebhooks, &ours(), &headers, body, at) else {
                panic!("refused: {body}")
            };
            assert_eq!((event.id(), event.body().as_ref()), ("msg_1", body.as_bytes()));
            let altered = body.to_owned() + " ";
            assert!(verifier.verify(&headers, altered.as_bytes(), UnixTime::from_secs(at)).is_err());
        }
    }
}

// L10, K2: each of our signatures is theirs.
#[test]
fn what_we_sign_verifies_there() {
    for body in BODIES {
        let headers = header_map(&signed(&StandardWebhooks, &ours(), "msg_1", now(), body));
        for secret in SECRETS {
            let theirs = Webhook::new(secret).unwrap();
            theirs.verify(body.as_bytes(), &headers).unwrap();
            assert!(theirs.verify((body.to_owned() + " ").as_bytes(), &headers).is_err());
        }
        let stranger = Webhook::new("whsec_/+8AAQIDBAUGBwgJCgsMDQ4PEBESExQVFhc4OTo7PD0+Pw==").unwrap();
        assert!(stranger.verify(body.as_bytes(), &headers).is_err());
    }
}
