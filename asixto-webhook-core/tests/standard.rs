//! Standard Webhooks: three headers, base64, a decoded key, and an identifier that stands in a header and in the body.
#![cfg(test)]

mod common;

use std::time::Duration;

use asixto_webhook_core::{
    ConfigError, DedupKey, Encoding, EnvelopeFault, HeaderFault, Held, JsonKind, Malformed, Outcome, Receiver, Secret,
    SecretError, SecretSet, UnixTime, Verifier, VerifyError,
    provider::{Provider, StandardWebhooks},
    testing,
};
use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE},
};
use common::{
    Lines, NOW, answered, builder_of,
    capture::{captured, delivery_line},
    fakes::{Asked, FakeStore, Found, Says},
    headers_at, outcome, post, processed, secrets_of,
};
use pollster::block_on;
use serde_json::Value;

const ISSUED: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OTHER: &str = "whsec_plJ3nmyCDGBKInavdOK15jsl";
const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const BODY: &str = r#"{"type":"sale.paid","timestamp":"2026-08-28T10:00:00Z","data":{"amount":4900}}"#;

/// Header lines that need not be text.
type Raw = Vec<(&'static str, Vec<u8>)>;

fn known() -> SecretSet<StandardWebhooks> {
    secrets_of("current", ISSUED)
}

/// A receiver that asks its store for nothing.
fn storeless() -> Receiver<StandardWebhooks> {
    over(&FakeStore::untouched())
}

fn over(store: &FakeStore) -> Receiver<StandardWebhooks> {
    builder_of(&StandardWebhooks, &known()).dedup(store.clone()).build().unwrap()
}

/// The headers of `body`, signed now.
fn signed(id: &str, body: impl AsRef<[u8]>) -> Lines {
    headers_at(&StandardWebhooks, &known(), NOW, id, body)
}

/// The base64 of the MAC over whatever stands in the first two headers.
fn mac(id: &[u8], seconds: &[u8], body: &[u8]) -> String {
    Secret::<StandardWebhooks>::issued("current", ISSUED).unwrap().sign(
        &[id, b".", seconds, b"."],
        body,
        Encoding::Base64,
    )
}

/// Three headers, each as given, over [`BODY`].
fn raw(id: &[u8], seconds: &[u8], signature: &[u8]) -> Raw {
    vec![
        ("webhook-id", id.to_vec()),
        ("webhook-timestamp", seconds.to_vec()),
        ("webhook-signature", signature.to_vec()),
    ]
}

/// Headers that are right in all but what `signature` says.
fn with_signature(signature: impl AsRef<[u8]>) -> Raw {
    raw(ID.as_bytes(), NOW.to_string().as_bytes(), signature.as_ref())
}

fn good() -> String {
    mac(ID.as_bytes(), NOW.to_string().as_bytes(), BODY.as_bytes())
}

fn verify(headers: &Raw) -> Result<(), VerifyError> {
    let verified = Verifier::of(StandardWebhooks, known()).verify(headers, BODY.as_bytes(), UnixTime::from_secs(NOW));
    verified.map(drop)
}

struct Vector {
    title: String,
    secrets: SecretSet<StandardWebhooks>,
    id: String,
    at: u64,
    payload: String,
    signature: String,
    signed: String,
    is_envelope: bool,
}

fn vectors() -> Vec<Vector> {
    let corpus: Value = serde_json::from_str(include_str!("data/standard-webhooks.json")).unwrap();
    let cases = corpus["cases"].as_array().unwrap().iter();
    let read = |(index, case): (usize, &Value)| {
        let text = |name: &str| case[name].as_str().unwrap().to_owned();
        Vector {
            title: format!("case {index}, {}", text("source")),
            secrets: secrets_of("published", &text("secret")),
            id: text("id"),
            at: case["timestamp"].as_u64().unwrap(),
            payload: text("payload"),
            signature: text("signature"),
            signed: text("signed"),
            is_envelope: case["envelope"].as_bool().unwrap(),
        }
    };
    cases.enumerate().map(read).collect()
}

// L10: what was published verifies, within the window and nowhere else, and is what we would send.
#[test]
fn published_vectors() {
    let vectors = vectors();
    assert_eq!(vectors.len(), 4);
    for Vector { title, secrets, id, at, payload, signature, signed, is_envelope } in vectors {
        let ours = headers_at(&StandardWebhooks, &secrets, at, &id, &payload);
        let expected = [("webhook-id", &*id), ("webhook-timestamp", &at.to_string()), ("webhook-signature", &signed)];
        assert_eq!(ours, expected.map(|(name, value)| (name.to_owned(), value.to_owned())), "{title}");

        let headers = raw(id.as_bytes(), at.to_string().as_bytes(), signature.as_bytes());
        let verifier = Verifier::of(StandardWebhooks, secrets.clone());
        let verify = |body: &str, now: u64| verifier.verify(&headers, body.as_bytes(), UnixTime::from_secs(now));
        for now in [at - 300, at, at + 300] {
            assert_eq!(verify(&payload, now).unwrap().secret(), "published", "{title}");
        }
        for now in [at - 301, at + 301] {
            assert!(matches!(verify(&payload, now), Err(VerifyError::OutsideWindow { .. })), "{title}");
        }
        assert_eq!(verify(&(payload.clone() + " "), at), Err(VerifyError::SignatureMismatch), "{title}");

        let event = testing::event_of(&StandardWebhooks, "testing", &headers, payload);
        assert_eq!(event.is_ok(), is_envelope, "{title}");
        if let Ok(event) = event {
            assert_eq!(event.id(), id, "{title}");
        }
    }
}

// L10, B6, B7, B8: each header missing, repeated or malformed, with the outcome and the status of each.
#[test]
fn the_grammar_of_the_headers() {
    let now = NOW.to_string();
    let (id, now, good) = (ID.as_bytes(), now.as_bytes(), "v1,".to_owned() + &good());
    let complete = || raw(id, now, good.as_bytes());
    assert_eq!(verify(&complete()), Ok(()));

    let mut cases: Vec<(String, Raw, HeaderFault)> = vec![("none".into(), Raw::new(), HeaderFault::Missing)];
    for place in 0..3 {
        let mut missing = complete();
        let (name, value) = missing.remove(place);
        cases.push((format!("no {name}"), missing, HeaderFault::Missing));
        for second in [value.clone(), b"other".to_vec(), Vec::new()] {
            let mut twice = complete();
            twice.push((["Webhook-Id", "WEBHOOK-TIMESTAMP", "Webhook-signature"][place], second));
            cases.push((format!("two of {name}"), twice, HeaderFault::Repeated));
        }
        for stray in [&b"\x80"[..], b"\0", b"\n", b"\r", b"\x1b", b"\x7f", "ñ".as_bytes()] {
            let mut spoilt = complete();
            spoilt[place].1.extend(stray);
            cases.push((format!("{name} with {stray:?}"), spoilt, HeaderFault::Malformed(Malformed::NotAscii)));
        }
    }
    cases.push(("no identifier".into(), raw(b"", now, &[]), HeaderFault::Malformed(Malformed::NoIdentifier)));
    for seconds in ["", "0", "01", "+1", "-1", " 1787923200", "1787923200 ", "1787923200.0", "1e9", "0x1", "now"] {
        let signature = "v1,".to_owned() + &mac(id, seconds.as_bytes(), BODY.as_bytes());
        let headers = raw(id, seconds.as_bytes(), signature.as_bytes());
        cases.push((format!("at {seconds:?}"), headers, HeaderFault::Malformed(Malformed::NotDecimal)));
    }
    for signature in
        ["", " ", "v1", "v1,", "v1, v1,", "v1=", "V1,abc", "v1a,abc", "v2,abc", "v11,abc", "v1 ,abc", ",abc"]
    {
        let headers = with_signature(signature);
        cases.push((format!("by {signature:?}"), headers, HeaderFault::Malformed(Malformed::NoSignature)));
    }

    for (title, headers, fault) in cases {
        assert_eq!(verify(&headers), Err(VerifyError::Header(fault)), "{title}");
        let expected = match fault {
            HeaderFault::Missing => (Outcome::MissingHeader, 400),
            HeaderFault::Repeated => (Outcome::RepeatedHeader, 400),
            _ => (Outcome::MalformedHeader, 400),
        };
        assert_eq!(outcome(post(&storeless(), &headers, BODY)), expected, "{title}");
    }
}

// L10, B8: a time past 64 bits is outside the window.
#[test]
fn a_time_past_64_bits() {
    for seconds in [&b"18446744073709551615"[..], b"18446744073709551616", &[b'9'; 60]] {
        let headers =
            raw(ID.as_bytes(), seconds, ("v1,".to_owned() + &mac(ID.as_bytes(), seconds, BODY.as_bytes())).as_bytes());
        assert_eq!(outcome(post(&storeless(), &headers, BODY)), (Outcome::OutsideWindow, 400));
    }
}

// L10, B5: any one of the signatures is enough, wherever it stands; what else is there changes nothing.
#[test]
fn several_signatures() {
    let good = "v1,".to_owned() + &good();
    let forged = "v1,".to_owned() + &BASE64_STANDARD.encode([7; 32]);
    let asymmetric = "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==";
    for taken in [
        good.clone(),
        format!("{good} {good}"),
        format!("{forged} {good}"),
        format!("{good} {forged}"),
        format!("{asymmetric} {good}"),
        format!("{good} {asymmetric}"),
        format!("v1, v1 v2,x v1,?? v1,{} {good} ,", "A".repeat(5000)),
        format!("  {forged}   {good}\t "),
        forged.clone() + &format!(" {forged}").repeat(99) + " " + &good,
    ] {
        assert_eq!(verify(&with_signature(&taken)), Ok(()), "{taken}");
    }
    for refused in [
        forged.clone(),
        format!("{forged} {asymmetric}"),
        // L10: an asymmetric signature is none of ours, even where its text would match.
        format!("{forged} {}", good.replace("v1,", "v1a,")),
        format!("{forged} {}", good.replace("v1,", "v2,")),
        format!("{forged} {}", good.replace("v1,", "V1,")),
        format!("{forged},{good}"),
        format!("{forged};{good}"),
        format!("{forged} {}", good.replace("v1,", "v1, ")),
        good.replace("v1,", "v1,v1,"),
    ] {
        assert_eq!(verify(&with_signature(&refused)), Err(VerifyError::SignatureMismatch), "{refused}");
    }
}

// L10, D1, D2: one signature per secret, and either secret is enough.
#[test]
fn two_secrets() {
    let both = SecretSet::<StandardWebhooks>::from_issued([ISSUED, OTHER]).unwrap();
    let headers = headers_at(&StandardWebhooks, &both, NOW, ID, BODY);
    assert_eq!(headers[2].1.split(' ').count(), 2);
    for (label, issued) in [("old", ISSUED), ("new", OTHER)] {
        let verifier = Verifier::of(StandardWebhooks, secrets_of(label, issued));
        let verified = verifier.verify(&headers, BODY.as_bytes(), UnixTime::from_secs(NOW)).unwrap();
        assert_eq!(verified.secret(), label);
    }
    // The other way round: signed by one, received by both.
    let alone = headers_at(&StandardWebhooks, &secrets_of("new", OTHER), NOW, ID, BODY);
    let verified = Verifier::of(StandardWebhooks, both).verify(&alone, BODY.as_bytes(), UnixTime::from_secs(NOW));
    assert_eq!(verified.unwrap().secret(), "2");
}

// L10, B4: one spelling of the MAC matches, as in the published libraries.
#[test]
fn other_spellings_of_base64() {
    // A MAC in which the two alphabets differ.
    let (id, seconds) = (0..)
        .map(|number: u32| format!("msg_{number}"))
        .map(|id| (mac(id.as_bytes(), NOW.to_string().as_bytes(), BODY.as_bytes()), id))
        .find_map(|(mac, id)| mac.contains('+').then_some((id, NOW.to_string())))
        .unwrap();
    let mac = mac(id.as_bytes(), seconds.as_bytes(), BODY.as_bytes());
    let bytes = BASE64_STANDARD.decode(&mac).unwrap();
    let verify = |text: &str| verify(&raw(id.as_bytes(), seconds.as_bytes(), format!("v1,{text}").as_bytes()));
    assert_eq!(verify(&mac), Ok(()));

    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    // The last character before the padding carries four bits that mean nothing.
    let mut loose = mac.clone().into_bytes();
    loose[42] += 1;
    for other in [
        BASE64_STANDARD_NO_PAD.encode(&bytes),
        BASE64_URL_SAFE.encode(&bytes),
        String::from_utf8(loose).unwrap(),
        mac.to_ascii_lowercase(),
        mac.replace('=', "%3D"),
        format!("{mac}="),
        format!("{mac}A"),
        format!("A{mac}"),
        mac[..40].to_owned(),
        format!("\"{mac}\""),
        BASE64_STANDARD.encode(&bytes[..31]),
        BASE64_STANDARD.encode([&bytes[..], b"x"].concat()),
        hex,
    ] {
        assert_eq!(verify(&other), Err(VerifyError::SignatureMismatch), "{other}");
    }
}

// L10: the key is what stands behind the prefix, decoded; padded or not, it is the same key.
#[test]
fn the_key_is_decoded() {
    let key = |issued: &str| StandardWebhooks::key(issued).map(|key| key.to_vec());
    for length in 1..=64 {
        let bytes: Vec<u8> = (0..length).map(|byte: u8| byte.wrapping_mul(37).wrapping_add(250)).collect();
        for encoded in [BASE64_STANDARD.encode(&bytes), BASE64_STANDARD_NO_PAD.encode(&bytes)] {
            assert_eq!(key(&format!("whsec_{encoded}")).as_deref(), Ok(&bytes[..]), "{encoded}");
        }
    }
    assert_eq!(key("whsec_Zm9v").as_deref(), Ok(&b"foo"[..]));
    // D1: two spellings of one secret are one secret.
    let twice = SecretSet::<StandardWebhooks>::from_issued(["whsec_Zm9vYg==", "whsec_Zm9vYg"]);
    assert_eq!(
        twice.map(drop).map_err(|error| (error.place(), error.error())),
        Err((None, SecretError::RepeatedSecret))
    );
}

// L10, D3: what is no secret of this kind is refused, and above all what would leave no key.
#[test]
fn keys_that_are_none() {
    let refusal = |issued: &str| Secret::<StandardWebhooks>::issued("current", issued).expect_err(issued);
    for issued in [
        // Nothing but padding: a key that everybody knows.
        "whsec_=",
        "whsec_==",
        "whsec_===",
        "whsec_====",
        "whsec_Zm9vYg=",
        "whsec_Zm9vYg===",
        "whsec_Zm9v=",
        "whsec_Zm9v====",
        "whsec_Z",
        "whsec_Zm9vY",
        // Bits beyond the last byte.
        "whsec_Zm9vYh==",
        "whsec_Zm9vYh",
        // Another alphabet, or none.
        "whsec_Zm-v",
        "whsec_Zm_v",
        "whsec_Zm 9v",
        "whsec_Zm9v\nZm9v",
        "whsec_Zm=9",
        "whsec_Zm9ñ",
        "whsec_whsec_Zm9v",
        // D3: Asixto's secrets look alike, and are not base64 at all.
        "whsec_Qx7Lr2Vn9TbKd4Wm8HsYc3Jf6PzGa1Uex",
        "whsec_live-2026_08",
    ] {
        assert_eq!(refusal(issued), SecretError::NotBase64 { prefix: "whsec_" }, "{issued}");
    }
    assert_eq!(refusal(""), SecretError::Empty);
    assert_eq!(refusal("whsec_"), SecretError::PrefixOnly { prefix: "whsec_" });
    assert_eq!(refusal("whsec_Zm9v "), SecretError::Padded);
    assert_eq!(refusal("'whsec_Zm9v'"), SecretError::Quoted);
    for issued in ["Zm9v", "whpk_Zm9v", "whsk_Zm9v", "v1,whsec_Zm9v"] {
        assert_eq!(refusal(issued), SecretError::WrongPrefix { expected: "whsec_" }, "{issued}");
    }
}

// L10, B2: the opposite of Asixto's key, so that a secret used for the wrong sender verifies nothing.
#[test]
fn the_same_text_is_another_key_for_asixto() {
    let asixto = Secret::new("current", ISSUED).unwrap();
    let prefix = [ID.as_bytes(), b".", b"1787923200", b"."];
    assert_eq!(NOW, 1_787_923_200);
    let forged = "v1,".to_owned() + &asixto.sign(&prefix, BODY.as_bytes(), Encoding::Base64);
    assert_eq!(verify(&with_signature(forged)), Err(VerifyError::SignatureMismatch));
}

// L10: the header's identifier is the event's; the body's may be absent, but is no other one.
#[test]
fn the_identifier() {
    let fault = |expected, found| Err(EnvelopeFault::WrongField { field: "id", expected, found });
    for (body, expected) in [
        ("{}".to_owned(), Ok(())),
        (BODY.to_owned(), Ok(())),
        (format!(r#"{{"id":"{ID}"}}"#), Ok(())),
        (format!(r#"{{"\u0069d":"\u006d{}"}}"#, &ID[1..]), Ok(())),
        (format!(r#"{{"data":{{"id":"inner"}},"id":"{ID}"}}"#), Ok(())),
        (format!(r#"{{"id":"{ID}x"}}"#), fault("the identifier in the header", JsonKind::String)),
        (format!(r#"{{"id":"{}"}}"#, ID.to_lowercase()), fault("the identifier in the header", JsonKind::String)),
        (r#"{"id":""}"#.to_owned(), fault("the identifier in the header", JsonKind::String)),
        (r#"{"id":7}"#.to_owned(), fault("a string", JsonKind::Integer)),
        (r#"{"id":null}"#.to_owned(), fault("a string", JsonKind::Null)),
        (r#"{"id":"\ud800"}"#.to_owned(), fault("a string", JsonKind::String)),
        // A8: which of two would it be?
        (format!(r#"{{"id":"{ID}","id":"{ID}"}}"#), Err(EnvelopeFault::RepeatedField)),
        (format!(r#"{{"id":"{ID}","\u0069d":"other"}}"#), Err(EnvelopeFault::RepeatedField)),
    ] {
        let headers = signed(ID, &body);
        let opened = testing::event_of(&StandardWebhooks, "testing", &headers, body.clone());
        assert_eq!(opened.as_ref().map(|event| assert_eq!(event.id(), ID)).map_err(|fault| *fault), expected, "{body}");
        let store = FakeStore::fresh();
        match expected {
            Ok(()) => assert_eq!(processed(post(&over(&store), &headers, body)).0.id(), ID),
            Err(_) => {
                assert_eq!(
                    outcome(post(&storeless(), &headers, body.clone())),
                    (Outcome::InvalidEnvelope, 400),
                    "{body}"
                );
            }
        }
    }
}

// L10: a body need not have the recommended shape; what it has is at hand, byte for byte.
#[test]
fn the_body() {
    let open = |body: &str| testing::event_of(&StandardWebhooks, "testing", &signed(ID, body), body.to_owned());
    let event = open(r#"{ "data" : {"a":1.0, "a":[ ]} ,"timestamp":"\u0032026","type":"sale.paid","more":1}"#).unwrap();
    assert_eq!(event.event_type(), "sale.paid");
    assert_eq!(event.timestamp(), Some("2026"));
    assert_eq!(event.raw_data().unwrap().get(), r#"{"a":1.0, "a":[ ]}"#);
    assert_eq!(event.scope(), "testing");

    let event = open("{}").unwrap();
    assert_eq!((event.event_type(), event.timestamp(), event.raw_data().is_none()), ("", None, true));
    assert_eq!(open(r#"{"data":null}"#).unwrap().raw_data().unwrap().get(), "null");
    // The specification has no type for the time, and senders differ.
    for odd in ["1787923200", "1787923200123", "null", "{}", r#""\ud800""#] {
        let event = open(&format!(r#"{{"type":"user.created","timestamp":{odd}}}"#)).unwrap();
        assert_eq!((event.event_type(), event.timestamp()), ("user.created", None), "{odd}");
    }
    for (body, fault) in [
        ("", EnvelopeFault::NotJson),
        ("{", EnvelopeFault::NotJson),
        ("{} {}", EnvelopeFault::NotJson),
        ("\u{feff}{}", EnvelopeFault::NotJson),
    ] {
        assert_eq!(open(body).unwrap_err(), fault, "{body}");
    }
    for body in ["[]", "null", "\"text\"", "7", r#"[{"type":"sale.paid"}]"#] {
        assert!(matches!(open(body), Err(EnvelopeFault::NotAnObject { .. })), "{body}");
    }
    for body in [r#"{"type":7}"#, r#"{"type":null}"#, r#"{"type":["sale.paid"]}"#] {
        let fault = open(body).unwrap_err();
        assert!(matches!(fault, EnvelopeFault::WrongField { field: "type", expected: "a string", .. }), "{body}");
    }
    // A7: any depth that the limit lets through.
    let deep = format!(r#"{{"data":{}{}}}"#, "[".repeat(400_000), "]".repeat(400_000));
    assert!(open(&deep).is_ok());
}

/// The key under which a delivery is claimed.
fn key(id: &str, at: u64, body: &str, scope: &'static str) -> DedupKey {
    let store = FakeStore::fresh();
    let receiver = builder_of(&StandardWebhooks, &known()).dedup(store.clone()).scope(scope).build().unwrap();
    drop(processed(post(&receiver, &headers_at(&StandardWebhooks, &known(), at, id, body), body.to_owned())));
    store.claimed().0
}

// L10, L8: the header's identifier deduplicates, whatever else differs between two attempts or resends.
#[test]
fn the_identifier_deduplicates() {
    let first = key("msg_1", NOW, BODY, "sales");
    assert_eq!(key("msg_1", NOW + 300, BODY, "sales"), first);
    assert_eq!(key("msg_1", NOW, "{}", "sales"), first);
    assert_eq!(key("msg_1", NOW, r#"{"id":"msg_1"}"#, "sales"), first);
    assert_ne!(key("msg_2", NOW, BODY, "sales"), first);
    assert_ne!(key("MSG_1", NOW, BODY, "sales"), first);
    assert_ne!(key("msg_1", NOW, BODY, "other"), first);

    for (found, expected) in [(Found::Done, (Outcome::Duplicate, 200)), (Found::Conflict, (Outcome::Conflict, 200))] {
        let store = FakeStore::default().claim(Says::This(found));
        assert_eq!(outcome(post(&over(&store), &signed(ID, BODY), BODY)), expected);
    }
}

// L10, L8: resends repeat an identifier for 30 days, so it is kept for no less.
#[test]
fn identifiers_are_kept_for_30_days() {
    const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);
    let builder = || builder_of(&StandardWebhooks, &known()).dedup(FakeStore::untouched());
    assert_eq!(StandardWebhooks::DEFAULTS.least_ttl, MONTH);
    for short in [MONTH - Duration::from_nanos(1), Duration::from_secs(7 * 24 * 60 * 60)] {
        let error = builder().ttl(short).build().unwrap_err();
        assert!(matches!(error, ConfigError::OutOfRange { setting: "ttl", least: MONTH, .. }), "{error}");
    }
    assert!(builder().ttl(MONTH).build().is_ok());
    // And by default.
    let store = FakeStore::fresh().commit(Says::This(Held::Yes));
    let receiver = over(&store);
    let (_, ticket) = processed(post(&receiver, &signed(ID, BODY), BODY));
    assert_eq!(block_on(receiver.settle(ticket, 200)).answer.outcome(), Outcome::Processed);
    assert_eq!(store.asked()[1], Asked::Commit { fence: 1, ttl: MONTH });
}

// L10: a full stop in an identifier lets bytes change places under one MAC. None of it is a delivery.
#[test]
fn bytes_that_change_places() {
    let admit = |id: &str, seconds: &str, body: &str, signature: &str| {
        let headers = raw(id.as_bytes(), seconds.as_bytes(), signature.as_bytes());
        outcome(post(&storeless(), &headers, body.to_owned()))
    };
    let now = NOW.to_string();
    // From the identifier into time and body.
    let id = format!("msg.{now}");
    let signature = "v1,".to_owned() + &mac(id.as_bytes(), now.as_bytes(), BODY.as_bytes());
    assert_eq!(admit("msg", &now, &format!("{now}.{BODY}"), &signature), (Outcome::InvalidEnvelope, 400));
    // From time and body into the identifier.
    let body = format!("{now}.{BODY}");
    let signature = "v1,".to_owned() + &mac(b"msg", now.as_bytes(), body.as_bytes());
    assert_eq!(admit("msg", &now, &body, &signature), (Outcome::InvalidEnvelope, 400));
    // The scheme itself cannot tell this from an identifier with a full stop. It takes a sender that signs what is no
    // JSON.
    let headers = raw(id.as_bytes(), now.as_bytes(), signature.as_bytes());
    let (event, _) = processed(post(&over(&FakeStore::fresh()), &headers, BODY));
    assert_eq!(event.id(), id);
    // Digits between identifier and time.
    let signature = "v1,".to_owned() + &good();
    for (id, seconds) in [(format!("{ID}.{}", &now[..1]), &now[1..]), (ID[..ID.len() - 1].to_owned(), &*now)] {
        assert_eq!(admit(&id, seconds, BODY, &signature), (Outcome::SignatureMismatch, 400));
    }
}

// K10: before the MAC holds, the identifier is read from its header and the type from the body.
#[test]
fn what_is_logged() {
    let refused = |headers: &Raw, body: &str| {
        let (_, lines) = captured(|| answered(post(&storeless(), headers, body.to_owned())));
        let line = delivery_line(&lines).clone();
        assert_eq!(line.field("provider"), Some("standard"));
        ["event_id", "event_type", "unverified_id", "unverified_type"].map(|name| line.field(name).map(str::to_owned))
    };
    let forged = with_signature("v1,forged");
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(refused(&forged, BODY), [None, None, some(ID), some("sale.paid")]);
    // What the body says of its identifier is no matter.
    assert_eq!(refused(&forged, r#"{"id":"other","type":"x""#), [None, None, some(ID), some("x")]);
    assert_eq!(refused(&forged, "not JSON"), [None, None, some(ID), None]);
    assert_eq!(refused(&forged[1..].to_vec(), BODY), [None, None, None, some("sale.paid")]);
    let twice = [forged.clone(), forged[..1].to_vec()].concat();
    assert_eq!(refused(&twice, BODY), [None, None, None, some("sale.paid")]);
    let odd = raw(b"a\n\xff", b"1", b"v1,forged");
    assert_eq!(refused(&odd, "{}"), [None, None, some("a\\n\u{fffd}"), None]);

    // Once it holds they are verified, even where the delivery is refused.
    let signed_raw = |body: &str| {
        with_signature("v1,".to_owned() + &mac(ID.as_bytes(), NOW.to_string().as_bytes(), body.as_bytes()))
    };
    let body = r#"{"id":"other","type":"sale.paid"}"#;
    assert_eq!(refused(&signed_raw(body), body), [some(ID), some("sale.paid"), None, None]);
    assert_eq!(refused(&signed_raw("[]"), "[]"), [some(ID), None, None, None]);
    let seconds = (NOW - 301).to_string();
    let stale = "v1,".to_owned() + &mac(ID.as_bytes(), seconds.as_bytes(), BODY.as_bytes());
    let stale = raw(ID.as_bytes(), seconds.as_bytes(), stale.as_bytes());
    assert_eq!(refused(&stale, BODY), [some(ID), some("sale.paid"), None, None]);
}

// C2, B11: the signature first, then the window, then the body.
#[test]
fn the_order_of_the_checks() {
    let stale = headers_at(&StandardWebhooks, &known(), NOW - 301, ID, "[]");
    assert_eq!(outcome(post(&storeless(), &stale, "[]")), (Outcome::OutsideWindow, 400));
    let forged = headers_at(&StandardWebhooks, &secrets_of("other", OTHER), NOW - 301, ID, "[]");
    assert_eq!(outcome(post(&storeless(), &forged, "[]")), (Outcome::SignatureMismatch, 400));
}
