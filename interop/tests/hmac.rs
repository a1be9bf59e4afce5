//! The MAC of each provider, against an implementation that shares no code with the core's.
#![cfg(test)]

mod common;

use asixto_webhook_core::{
    Admission, Answer, Asixto, Outcome, SecretSet, UnixTime, Verifier,
    provider::{Agent, CloudEvents, Identity, Provider, StandardWebhooks, Unidentified},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use common::{Lines, admit, hex, holds, lines, mac, signed, unhex};

const TIMES: [u64; 3] = [1, 1_787_923_200, u64::MAX];

/// Texts of secrets shorter and longer than a block of the hash.
fn issued() -> [String; 3] {
    ["whsec_Zm9v".into(), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".into(), format!("whsec_{}", "QUJD".repeat(40))]
}

fn bodies() -> Vec<Vec<u8>> {
    vec![b"{}".to_vec(), b"{\"a\":\"\xc3\xb1\"}\n".to_vec(), (0..=255).collect(), vec![b'{'; 100_000], Vec::new()]
}

/// Whether a provider takes these headers.
fn verifies<P: Provider>(provider: &P, issued: &str, headers: &Lines, body: &[u8], at: u64) -> bool {
    let verifier = Verifier::of(provider.clone(), SecretSet::from_issued([issued]).unwrap());
    verifier.verify(headers, body, UnixTime::from_secs(at)).is_ok()
}

/// The signature that a provider puts into its last header, without what stands before it.
fn ours<P: Provider>(provider: &P, issued: &str, id: &str, at: u64, body: &[u8]) -> String {
    let headers = signed(provider, &SecretSet::from_issued([issued]).unwrap(), id, at, body);
    headers.last().unwrap().1.rsplit([',', '=']).find(|part| !part.is_empty()).unwrap().to_owned()
}

// B2, M2: the text of the secret over time, a full stop and the body, in lower-case hex.
#[test]
fn time_and_body() {
    let acme = CloudEvents::new("Acme-Signature").unwrap();
    for issued in issued() {
        for at in TIMES {
            for body in bodies() {
                let (t, parts) = (at.to_string(), [at.to_string().into_bytes(), b".".to_vec(), body.clone()]);
                let parts = parts.each_ref().map(Vec::as_slice);
                let value = format!("t={t},v1={}", hex(&mac(issued.as_bytes(), &parts)));
                assert!(verifies(&Asixto, &issued, &lines([("Asixto-Signature", value.clone())]), &body, at));
                assert!(verifies(&acme, &issued, &lines([("Acme-Signature", value)]), &body, at));
                assert!(holds(issued.as_bytes(), &parts, &unhex(&ours(&Asixto, &issued, "", at, &body))));
                assert!(holds(issued.as_bytes(), &parts, &unhex(&ours(&acme, &issued, "", at, &body))));
            }
        }
    }
}

// L10: the decoded secret over identifier, time and body with full stops between them, in base64.
#[test]
fn identifier_time_and_body() {
    for issued in issued() {
        let key = BASE64_STANDARD.decode(issued.strip_prefix("whsec_").unwrap()).unwrap();
        for at in TIMES {
            for body in bodies() {
                let t = at.to_string();
                let parts = [&b"msg_1"[..], b".", t.as_bytes(), b".", &body];
                let value = "v1,".to_owned() + &BASE64_STANDARD.encode(mac(&key, &parts));
                let headers = lines([
                    ("webhook-id", "msg_1".into()),
                    ("webhook-timestamp", t.clone()),
                    ("webhook-signature", value),
                ]);
                assert!(verifies(&StandardWebhooks, &issued, &headers, &body, at));
                let signed = signed(&StandardWebhooks, &SecretSet::from_issued([&issued]).unwrap(), "msg_1", at, &body);
                let encoded = signed[2].1.strip_prefix("v1,").unwrap();
                assert!(holds(&key, &parts, &BASE64_STANDARD.decode(encoded).unwrap()));
            }
        }
    }
}

fn agent() -> Agent {
    Agent::new(|body| {
        let body: serde_json::Value = serde_json::from_str(body.get()).map_err(|_| Unidentified)?;
        Ok(Identity::new(body["eventId"].as_str().ok_or(Unidentified)?))
    })
}

const SPELLINGS: [&str; 2] = ["X-Agent-Nonce", "X-Agente-Nonce"];

/// The headers of an Agent webhook, by the other implementation.
fn agent_headers(issued: &str, names: &[&str], nonce: &str, at: u64, body: &[u8]) -> Lines {
    let t = at.to_string();
    let mac = hex(&mac(issued.as_bytes(), &[t.as_bytes(), nonce.as_bytes(), body]));
    let mut headers = lines([("X-Agent-Timestamp", t), ("X-Agent-Signature", mac)]);
    headers.extend(names.iter().map(|name| ((*name).to_owned(), nonce.to_owned())));
    headers
}

// N1, N2: the text of the secret over time, nonce and body with nothing between them, in lower-case hex; the nonce
// in either spelling.
#[test]
fn time_nonce_and_body() {
    for issued in issued() {
        for at in TIMES {
            for nonce in ["n", "9f-86_Ab3", "1787923200", "-_-"] {
                for body in bodies().into_iter().filter(|body| body.starts_with(b"{")) {
                    for name in SPELLINGS {
                        let headers = agent_headers(&issued, &[name], nonce, at, &body);
                        assert!(verifies(&agent(), &issued, &headers, &body, at), "{name} {nonce} {at}");
                    }
                    let parts = [at.to_string().as_bytes(), nonce.as_bytes(), &body].concat();
                    let ours = unhex(&ours(&agent(), &issued, nonce, at, &body));
                    assert!(holds(issued.as_bytes(), &[&parts], &ours), "{nonce} {at}");
                }
            }
        }
    }
}

// N1: both at once are refused, in either order, and so is a nonce that came twice.
#[test]
fn both_spellings_at_once() {
    let (issued, body, at) = ("partner-api-secret", r#"{"eventId":"evt_7"}"#, 1_787_923_200);
    let secrets = SecretSet::from_issued([issued]).unwrap();
    let post = |names: &[&str]| {
        let headers = agent_headers(issued, names, "n1", at, body.as_bytes());
        admit(&agent(), &secrets, &headers, body, at)
    };
    for name in SPELLINGS {
        let Admission::Process(event, _) = post(&[name]) else { panic!("{name} is refused") };
        assert_eq!(event.id(), "evt_7");
    }
    let outcome = |admission| match admission {
        Admission::Answer(answer) => (Answer::outcome(&answer), answer.status()),
        Admission::<Agent>::Process(event, _) => panic!("{event:?} is processed"),
    };
    let [first, second] = SPELLINGS;
    for names in [[first, second], [second, first], [first, first], [second, second]] {
        assert_eq!(outcome(post(&names)), (Outcome::RepeatedHeader, 400), "{names:?}");
    }
    assert_eq!(outcome(post(&[])), (Outcome::MissingHeader, 400));
}
