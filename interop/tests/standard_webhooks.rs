//! Standard Webhooks, against the reference library: what either signs the other verifies, and both refuse the same.
#![cfg(test)]

mod common;

use asixto_webhook_core::{
    Admission, Secret, SecretError, SecretSet, SystemClock, UnixTime, Verifier,
    provider::{Provider, StandardWebhooks},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use common::{Lines, admit, header_map, lines};
use standardwebhooks::Webhook;

const SECRETS: [&str; 3] = [
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    // Padded, and with every character of the alphabet that the others lack.
    "whsec_RdvaYFYUXuIFuEbvZHwMfYFhUf7aMYjYcmM24+Aj40c=",
    "whsec_/+8AAQIDBAUGBwgJCgsMDQ4PEBESExQVFhc4OTo7PD0+Pw==",
];

const IDS: [&str; 5] = ["msg_p5jXN8AQM9LWM0D4loKWxJek", "1", "evt-7:r2", "with.full.stops", "with blank"];

const TIMES: [i64; 5] = [1, 1_614_265_330, 1_787_923_200, 4_102_444_800, i64::MAX];

fn bodies() -> Vec<String> {
    vec![
        r#"{"test": 2432232314}"#.into(),
        "{}".into(),
        String::new(),
        "not JSON, v1,and a comma".into(),
        "{\"text\":\"ñ 🦀 \u{feff}\u{2028}\",\r\n\t\"nul\":\"\\u0000\"}\n".into(),
        "\0".into(),
        format!("{{\"data\":\"{}\"}}", "0123456789abcdef".repeat(2_000)),
    ]
}

fn theirs(secret: &str) -> Webhook {
    Webhook::new(secret).unwrap()
}

fn ours(secrets: &[&str]) -> SecretSet<StandardWebhooks> {
    SecretSet::from_issued(secrets).unwrap()
}

/// Their headers. The library makes the value of one only.
fn signed_by_them(secret: &str, id: &str, at: i64, body: &str) -> Lines {
    lines([
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", at.to_string()),
        ("webhook-signature", theirs(secret).sign(id, at, body.as_bytes()).unwrap()),
    ])
}

fn signed_by_us(secrets: &[&str], id: &str, at: u64, body: &str) -> Lines {
    common::signed(&StandardWebhooks, &ours(secrets), id, at, body)
}

fn we_verify(secrets: &[&str], headers: &Lines, body: &str, now: u64) -> bool {
    Verifier::of(StandardWebhooks, ours(secrets)).verify(headers, body.as_bytes(), UnixTime::from_secs(now)).is_ok()
}

/// By the system's clock: theirs cannot be handed the time.
fn now() -> u64 {
    use asixto_webhook_core::Clock;
    SystemClock.now().as_secs()
}

// L10: the same value for every secret, identifier, time and body.
#[test]
fn the_same_signature() {
    for secret in SECRETS {
        for id in IDS {
            for at in TIMES {
                for body in bodies() {
                    let headers = signed_by_them(secret, id, at, &body);
                    assert_eq!(signed_by_us(&[secret], id, at.unsigned_abs(), &body), headers, "{id} {at}");
                    assert!(we_verify(&[secret], &headers, &body, at.unsigned_abs()), "{id} {at}");
                    assert!(!we_verify(&[secret], &headers, &(body + " "), at.unsigned_abs()), "{id} {at}");
                }
            }
        }
    }
}

// L10: what they sign is an event here.
#[test]
fn what_they_sign_is_received() {
    let at = now();
    for body in [r#"{"type":"sale.paid","data":{"amount":4900}}"#, "{}", r#"{"id":"msg_1","more":[1,2]}"#] {
        let headers = signed_by_them(SECRETS[0], "msg_1", at.cast_signed(), body);
        let Admission::Process(event, _) = admit(&StandardWebhooks, &ours(&SECRETS[..2]), &headers, body, at) else {
            panic!("refused: {body}")
        };
        assert_eq!((event.id(), event.body().as_ref()), ("msg_1", body.as_bytes()));
        assert_eq!(event.verified().secret(), "1");
    }
}

// L10: what we sign verifies there, also with a signature for each of two secrets.
#[test]
fn what_we_sign_verifies_there() {
    for body in bodies() {
        for id in IDS {
            let headers = header_map(&signed_by_us(&SECRETS[..2], id, now(), &body));
            for secret in &SECRETS[..2] {
                theirs(secret).verify(body.as_bytes(), &headers).unwrap();
            }
            assert!(theirs(SECRETS[2]).verify(body.as_bytes(), &headers).is_err());
            assert!(theirs(SECRETS[0]).verify((body.clone() + " ").as_bytes(), &headers).is_err());
        }
    }
}

// L10, C1: both refuse the same headers.
#[test]
fn the_same_refusals() {
    let (body, at) = (r#"{"type":"sale.paid"}"#, now());
    let good = signed_by_us(&SECRETS[..1], "msg_1", at, body);
    let value = |place: usize| good[place].1.clone();
    let with = |place: usize, value: String| {
        let mut headers = good.clone();
        headers[place].1 = value;
        headers
    };
    let without = |place: usize| {
        let mut headers = good.clone();
        headers.remove(place);
        headers
    };
    let signature = value(2);
    let encoded = signature.strip_prefix("v1,").unwrap();
    let raw = BASE64_STANDARD.decode(encoded).unwrap();
    let agreed = |headers: &Lines| {
        let (here, there) = (
            we_verify(&SECRETS[..1], headers, body, now()),
            theirs(SECRETS[0]).verify(body.as_bytes(), &header_map(headers)).is_ok(),
        );
        assert_eq!(here, there, "{headers:?}");
        here
    };
    for taken in [
        good.clone(),
        with(2, format!("v1,AAAA {signature}")),
        with(2, format!("{signature} v1a,{encoded}")),
        with(2, format!("v2,x {signature} v1,")),
        with(2, format!("  {signature}")),
        signed_by_us(&SECRETS[..1], "msg_1", at - 290, body),
        signed_by_us(&SECRETS[..1], "msg_1", at + 290, body),
    ] {
        assert!(agreed(&taken), "{taken:?}");
    }
    for refused in [
        without(0),
        without(1),
        without(2),
        with(0, "msg_2".into()),
        with(0, String::new()),
        with(1, (at + 1).to_string()),
        with(1, String::new()),
        with(1, "now".into()),
        with(1, format!("{at}.0")),
        with(1, "99999999999999999999".into()),
        with(2, String::new()),
        with(2, encoded.to_owned()),
        with(2, format!("v1a,{encoded}")),
        with(2, format!("v2,{encoded}")),
        with(2, format!("V1,{encoded}")),
        with(2, format!("v1={encoded}")),
        with(2, encoded.trim_end_matches('=').to_owned()),
        with(2, format!("v1,{}", BASE64_STANDARD.encode(&raw[..31]))),
        with(2, format!("v1,{}", encoded.to_ascii_lowercase())),
        with(2, format!("{signature}=")),
        signed_by_us(&SECRETS[1..2], "msg_1", at, body),
        signed_by_us(&SECRETS[..1], "msg_1", at - 320, body),
        signed_by_us(&SECRETS[..1], "msg_1", at + 320, body),
    ] {
        assert!(!agreed(&refused), "{refused:?}");
    }
}

// L10, D3: the same secrets; and where we differ it is on the safe side, or no difference in the key.
#[test]
fn the_same_secrets() {
    let accepted = |issued: &str| {
        (Secret::<StandardWebhooks>::issued("current", issued).map(drop), Webhook::new(issued).map(drop).is_ok())
    };
    for issued in SECRETS {
        assert_eq!(accepted(issued), (Ok(()), true), "{issued}");
    }
    let not_base64 = Err(SecretError::NotBase64 { prefix: "whsec_" });
    for issued in ["whsec_=", "whsec_Zm9v=", "whsec_Zm-v", "whsec_Zm9vYh==", "whsec_Zm 9v", "whsec_Zm9vY", "whsec_ñ"] {
        assert_eq!(accepted(issued), (not_base64, false), "{issued}");
    }
    // An empty key is everybody's.
    assert_eq!(accepted("whsec_"), (Err(SecretError::PrefixOnly { prefix: "whsec_" }), true));
    assert_eq!(accepted(""), (Err(SecretError::Empty), true));
    // Without its prefix it could be another provider's.
    assert_eq!(accepted("Zm9v"), (Err(SecretError::WrongPrefix { expected: "whsec_" }), true));
    // Without its padding it is the same key, and they ask for the padding.
    assert_eq!(accepted("whsec_Zm9vYg"), (Ok(()), false));
    assert_eq!(StandardWebhooks::key("whsec_Zm9vYg").unwrap(), StandardWebhooks::key("whsec_Zm9vYg==").unwrap());
}
