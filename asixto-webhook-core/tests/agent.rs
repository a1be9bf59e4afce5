//! Agent webhooks: three headers, and a message whose parts have nothing between them.
#![cfg(test)]

mod common;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use asixto_webhook_core::{
    BodyFault, Bytes, ConfigError, Delivery, Encoding, EnvelopeFault, HeaderFault, Malformed, Outcome, Receiver,
    Secret, SecretError, SecretSet, UnixTime, Verifier, VerifyError,
    provider::{Agent, Identity, Provider, Unidentified},
    testing,
};
use common::{
    MARKER, NOW, answered, builder_of,
    capture::{captured, delivery_line},
    fakes::{FakeStore, Found, Says},
    headers_at, outcome, post, processed, secrets_of,
};
use pollster::block_on;

const ISSUED: &str = "partner-api-secret-4Kq8";
const NONCE: &str = "9f-86_Ab3";
const BODY: &str = r#"{"eventId":"evt_7","agentOrderNo":"ord_19","status":"SUCCEEDED","amount":1.50}"#;

/// Header lines that need not be text.
type Raw = Vec<(&'static str, Vec<u8>)>;

/// What a user of this library would write.
fn agent() -> Agent {
    Agent::new(|body| {
        let order: serde_json::Value = serde_json::from_str(body.get()).map_err(|_| Unidentified)?;
        let text = |field: &str| order.get(field).and_then(|value| value.as_str()).ok_or(Unidentified);
        let identity = Identity::new(text("eventId")?).event_type(text("status").unwrap_or_default());
        Ok(text("agentOrderNo").map_or(identity.clone(), |order| identity.order(order)))
    })
}

fn known() -> SecretSet<Agent> {
    secrets_of("current", ISSUED)
}

fn over(agent: &Agent, store: &FakeStore) -> Receiver<Agent> {
    builder_of(agent, &known()).dedup(store.clone()).build().unwrap()
}

/// A receiver that asks its store for nothing.
fn storeless() -> Receiver<Agent> {
    over(&agent(), &FakeStore::untouched())
}

/// A receiver of one new delivery.
fn fresh() -> Receiver<Agent> {
    over(&agent(), &FakeStore::fresh().claim(Says::This(Found::Nothing)))
}

fn mac(seconds: &[u8], nonce: &[u8], body: &[u8]) -> String {
    Secret::<Agent>::issued("current", ISSUED).unwrap().sign(&[seconds, nonce], body, Encoding::HexLower)
}

/// Three headers, each as given.
fn raw(seconds: &[u8], nonce: &[u8], signature: &[u8]) -> Raw {
    vec![
        ("X-Agent-Timestamp", seconds.to_vec()),
        ("X-Agent-Nonce", nonce.to_vec()),
        ("X-Agent-Signature", signature.to_vec()),
    ]
}

/// The headers of `body`, signed now.
fn signed(body: impl AsRef<[u8]>) -> Raw {
    let (now, body) = (NOW.to_string(), body.as_ref());
    raw(now.as_bytes(), NONCE.as_bytes(), mac(now.as_bytes(), NONCE.as_bytes(), body).as_bytes())
}

fn verifier() -> Verifier<Agent> {
    Verifier::of(agent(), known())
}

/// What a verifier says, having found it to be the same however the body comes.
#[track_caller]
fn verify(verifier: &Verifier<Agent>, headers: &Raw, body: &[u8]) -> Result<(), VerifyError> {
    let now = UnixTime::from_secs(NOW);
    let once = verifier.verify(headers, body, now).map(drop);
    for size in [1, 7, body.len().max(1)] {
        let chunked = verifier.begin(headers).and_then(|mut check| {
            check.update(b"");
            for chunk in body.chunks(size) {
                check.update(chunk);
                check.update(b"");
            }
            check.finish(now)
        });
        assert_eq!(chunked.map(drop), once, "in chunks of {size}: {}", body.escape_ascii());
    }
    once
}

// N1, N2: timestamp, nonce and body, in lower-case hex; the event is what the user's function says.
#[test]
fn a_delivery() {
    let headers = headers_at(&agent(), &known(), NOW, NONCE, BODY);
    let expected = [
        ("x-agent-timestamp", NOW.to_string()),
        ("x-agent-nonce", NONCE.to_owned()),
        ("x-agent-signature", mac(NOW.to_string().as_bytes(), NONCE.as_bytes(), BODY.as_bytes())),
    ];
    assert_eq!(headers, expected.map(|(name, value)| (name.to_owned(), value)));
    let (event, _) = processed(post(&fresh(), &headers, BODY));
    assert_eq!((event.id(), event.event_type(), event.order()), ("evt_7", "SUCCEEDED", Some("ord_19")));
    assert_eq!(event.payload().get(), BODY);
    assert_eq!(event.body(), BODY.as_bytes());
    assert_eq!(event.verified().secret(), "current");
}

// N1: either spelling, and not both at once.
#[test]
fn both_spellings_of_the_nonce() {
    let spelt = |names: &[&'static str]| -> Raw {
        let mut headers = signed(BODY);
        let (_, nonce) = headers.remove(1);
        headers.extend(names.iter().map(|name| (*name, nonce.clone())));
        headers
    };
    for name in ["X-Agent-Nonce", "x-agent-nonce", "X-Agente-Nonce", "X-AGENTE-NONCE"] {
        assert_eq!(verify(&verifier(), &spelt(&[name]), BODY.as_bytes()), Ok(()), "{name}");
        drop(processed(post(&fresh(), &spelt(&[name]), BODY)));
    }
    for names in [
        &["X-Agent-Nonce", "X-Agente-Nonce"][..],
        &["X-Agente-Nonce", "X-Agent-Nonce"],
        &["X-Agent-Nonce", "X-Agent-Nonce"],
        &["X-Agente-Nonce", "x-agente-nonce"],
        &["X-Agent-Nonce", "X-Agent-Nonce", "X-Agente-Nonce"],
        &["X-Agent-Nonce", "X-Agente-Nonce", "X-Agente-Nonce"],
    ] {
        assert_eq!(outcome(post(&storeless(), &spelt(names), BODY)), (Outcome::RepeatedHeader, 400), "{names:?}");
    }
    for names in [&[][..], &["X-Agents-Nonce"], &["Agent-Nonce"], &["X-Agent-Timestamp-Nonce"]] {
        assert_eq!(outcome(post(&storeless(), &spelt(names), BODY)), (Outcome::MissingHeader, 400), "{names:?}");
    }
}

// N1, N2, B6, B7, B8: each header missing, repeated or malformed, with the outcome and the status of each.
#[test]
fn the_grammar_of_the_headers() {
    let mut cases: Vec<(String, Raw, HeaderFault)> = vec![("none".into(), Raw::new(), HeaderFault::Missing)];
    for place in 0..3 {
        let mut missing = signed(BODY);
        let (name, value) = missing.remove(place);
        cases.push((format!("no {name}"), missing, HeaderFault::Missing));
        for second in [value, b"1".to_vec(), Vec::new()] {
            let mut twice = signed(BODY);
            twice.push((["x-agent-timestamp", "x-agent-nonce", "x-agent-signature"][place], second));
            cases.push((format!("two of {name}"), twice, HeaderFault::Repeated));
        }
        for stray in [&b"\x80"[..], b"\0", b"\n", b"\r", b"\x7f", "ñ".as_bytes()] {
            let mut spoilt = signed(BODY);
            spoilt[place].1.extend(stray);
            cases.push((format!("{name} with {stray:?}"), spoilt, HeaderFault::Malformed(Malformed::NotAscii)));
        }
    }
    let sign = |seconds: &[u8], nonce: &[u8]| raw(seconds, nonce, mac(seconds, nonce, BODY.as_bytes()).as_bytes());
    let now = NOW.to_string();
    for seconds in ["", "0", "01", "+1", "-1", " 1", "1 ", "1.0", "1e9", "0x1", "1_0", "now"] {
        let headers = sign(seconds.as_bytes(), NONCE.as_bytes());
        cases.push((format!("at {seconds:?}"), headers, HeaderFault::Malformed(Malformed::NotDecimal)));
    }
    // N2: the alphabet of the nonce, every byte of it and no other.
    for byte in 0..=u8::MAX {
        let headers = sign(now.as_bytes(), &[b'a', byte, b'z']);
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
            assert_eq!(verify(&verifier(), &headers, BODY.as_bytes()), Ok(()), "{}", byte.escape_ascii());
            continue;
        }
        let visible = byte == b' ' || byte == b'\t' || byte.is_ascii_graphic();
        let fault = if visible { Malformed::NoIdentifier } else { Malformed::NotAscii };
        cases.push((format!("nonce with {}", byte.escape_ascii()), headers, HeaderFault::Malformed(fault)));
    }
    let empty = sign(now.as_bytes(), b"");
    cases.push(("empty nonce".into(), empty, HeaderFault::Malformed(Malformed::NoIdentifier)));
    let unsigned = raw(now.as_bytes(), NONCE.as_bytes(), b"");
    cases.push(("empty signature".into(), unsigned, HeaderFault::Malformed(Malformed::NoSignature)));

    for (title, headers, fault) in cases {
        assert_eq!(verify(&verifier(), &headers, BODY.as_bytes()), Err(VerifyError::Header(fault)), "{title}");
        let expected = match fault {
            HeaderFault::Missing => Outcome::MissingHeader,
            HeaderFault::Repeated => Outcome::RepeatedHeader,
            _ => Outcome::MalformedHeader,
        };
        assert_eq!(outcome(post(&storeless(), &headers, BODY)), (expected, 400), "{title}");
    }
    // B8: any length, and any number.
    for nonce in ["0", "-", "_", &"a".repeat(10_000)] {
        assert_eq!(verify(&verifier(), &sign(now.as_bytes(), nonce.as_bytes()), BODY.as_bytes()), Ok(()), "{nonce}");
    }
    for seconds in ["18446744073709551616", &"9".repeat(60)] {
        let headers = sign(seconds.as_bytes(), NONCE.as_bytes());
        assert_eq!(outcome(post(&storeless(), &headers, BODY)), (Outcome::OutsideWindow, 400), "{seconds}");
    }
}

// N2, B4: one spelling of the one MAC; the header is no list.
#[test]
fn the_signature() {
    let now = NOW.to_string();
    let good = mac(now.as_bytes(), NONCE.as_bytes(), BODY.as_bytes());
    let forged = "0".repeat(64);
    for signature in [
        &*good.to_uppercase(),
        &good[..63],
        &format!("{good}0"),
        &format!("0{good}"),
        &format!("sha256={good}"),
        &format!("v1={good}"),
        &format!("{good},{good}"),
        &format!("{forged} {good}"),
        &format!("{good},{forged}"),
        &forged,
        "x",
    ] {
        let headers = raw(now.as_bytes(), NONCE.as_bytes(), signature.as_bytes());
        assert_eq!(verify(&verifier(), &headers, BODY.as_bytes()), Err(VerifyError::SignatureMismatch), "{signature}");
        assert_eq!(outcome(post(&storeless(), &headers, BODY)), (Outcome::SignatureMismatch, 400), "{signature}");
    }
}

// N2: wherever the same bytes are cut under the same MAC, only the cut that was signed is accepted.
#[test]
fn bytes_that_change_places() {
    let (now, body) = (NOW.to_string(), r#"{"eventId":"{1"}"#);
    for nonce in ["Ab3", "7", "00-1", "1787923200", "a-1_"] {
        let message = format!("{now}{nonce}{body}");
        let signature = mac(now.as_bytes(), nonce.as_bytes(), body.as_bytes());
        let genuine = (now.len(), now.len() + nonce.len());
        let mut refused = [0; 3];
        for second in 0..=message.len() {
            for first in 0..=second {
                let (seconds, rest) = message.split_at(first);
                let (moved, body) = rest.split_at(second - first);
                let headers = raw(seconds.as_bytes(), moved.as_bytes(), signature.as_bytes());
                let verdict = verify(&verifier(), &headers, body.as_bytes());
                if (first, second) == genuine {
                    assert_eq!(verdict, Ok(()));
                    continue;
                }
                let expected = match verdict {
                    Err(VerifyError::Header(HeaderFault::Malformed(_))) => {
                        refused[0] += 1;
                        Outcome::MalformedHeader
                    }
                    Err(VerifyError::SignatureMismatch) => {
                        refused[1] += 1;
                        Outcome::SignatureMismatch
                    }
                    // A digit more or less is ten times the time, or a tenth of it.
                    Err(VerifyError::OutsideWindow { skew_seconds }) => {
                        assert!(second == genuine.1 && skew_seconds.unsigned_abs() > NOW / 2, "{seconds} {moved}");
                        refused[2] += 1;
                        Outcome::OutsideWindow
                    }
                    other => panic!("{seconds:?} {moved:?} {body:?}: {other:?}"),
                };
                let admission = post(&storeless(), &headers, body.to_owned());
                assert_eq!(outcome(admission), (expected, 400), "{seconds:?} {moved:?} {body:?}");
            }
        }
        // Each of the three ways was tried.
        assert!(refused.iter().all(|count| *count > 0), "{nonce}: {refused:?}");
    }
}

// N2: a body that begins with anything else is refused, whoever signed it.
#[test]
fn the_body_begins_with_a_brace() {
    for body in ["", " {}", "\n{}", "\t{}", "\u{feff}{}", "[]", "[{}]", "\"{}\"", "null", "7", "a{}", "}", "\0{}"] {
        let headers = signed(body);
        assert_eq!(verify(&verifier(), &headers, body.as_bytes()), Err(VerifyError::SignatureMismatch), "{body:?}");
        assert_eq!(outcome(post(&storeless(), &headers, body)), (Outcome::SignatureMismatch, 400), "{body:?}");
    }
    for body in ["{", "{}", "{} \n", "{\0"] {
        assert_eq!(verify(&verifier(), &signed(body), body.as_bytes()), Ok(()), "{body:?}");
    }
}

// D1, D4: two secrets are received; what is sent has room for one.
#[test]
fn two_secrets() {
    let both = SecretSet::<Agent>::from_issued(["old-secret", "new-secret"]).unwrap();
    for (place, issued) in [("1", "old-secret"), ("2", "new-secret")] {
        let headers = headers_at(&agent(), &secrets_of("x", issued), NOW, NONCE, BODY);
        let verified =
            Verifier::of(agent(), both.clone()).verify(&headers, BODY.as_bytes(), UnixTime::from_secs(NOW)).unwrap();
        assert_eq!(verified.secret(), place);
    }
    let sent = headers_at(&agent(), &both, NOW, NONCE, BODY);
    assert_eq!(sent, headers_at(&agent(), &secrets_of("x", "old-secret"), NOW, NONCE, BODY));
}

// N2, D3: the secret is its text; what no secret looks like is refused.
#[test]
fn the_key_is_the_text() {
    for issued in ["x", ISSUED, "whsec_Zm9v", "clave-ñ"] {
        assert_eq!(Agent::key(issued).unwrap().as_slice(), issued.as_bytes());
    }
    let refusal = |issued: &str| Secret::<Agent>::issued("current", issued).expect_err(issued);
    assert_eq!(
        ["", "\t", " x", "'x'"].map(refusal),
        [SecretError::Empty, SecretError::Padded, SecretError::Padded, SecretError::Quoted]
    );
}

// N3, C1
#[test]
fn the_window() {
    let headers = |at: u64| headers_at(&agent(), &known(), at, NONCE, BODY);
    for at in [NOW - 300, NOW, NOW + 300] {
        drop(processed(post(&fresh(), &headers(at), BODY)));
    }
    for at in [NOW - 301, NOW + 301] {
        assert_eq!(outcome(post(&storeless(), &headers(at), BODY)), (Outcome::OutsideWindow, 400));
    }
}

// N5: without a key there is no event: the function's error and its empty text are the same.
#[test]
fn the_function_that_identifies() {
    let with = |identify: fn() -> Result<Identity, Unidentified>| Agent::new(move |_| identify());
    for unidentified in [
        with(|| Err(Unidentified)),
        with(|| Ok(Identity::new(""))),
        with(|| Ok(Identity::new("").order("ord_19").event_type("SUCCEEDED"))),
    ] {
        let opened = testing::event_of(&unidentified, "testing", &signed(BODY), BODY);
        assert_eq!(opened.unwrap_err(), EnvelopeFault::Unidentified);
        let receiver = over(&unidentified, &FakeStore::untouched());
        assert_eq!(outcome(post(&receiver, &signed(BODY), BODY)), (Outcome::InvalidEnvelope, 400));
    }
    for body in ["{}", r#"{"eventId":null}"#, r#"{"eventId":7}"#, r#"{"eventId":""}"#, r#"{"EVENTID":"evt_7"}"#] {
        assert_eq!(outcome(post(&storeless(), &signed(body), body)), (Outcome::InvalidEnvelope, 400), "{body}");
    }
    // What it need not say.
    let event = testing::event_of(&with(|| Ok(Identity::new("k"))), "testing", &signed(BODY), BODY).unwrap();
    assert_eq!((event.id(), event.event_type(), event.order()), ("k", "", None));
}

// N3, N4: nothing is parsed before signature and freshness hold, and the function sees whole objects only.
#[test]
fn nothing_is_parsed_too_early() {
    let called = Arc::new(AtomicUsize::new(0));
    let counting = Agent::new({
        let called = called.clone();
        move |body| {
            called.fetch_add(1, Ordering::SeqCst);
            assert!(body.get().starts_with('{') && body.get().ends_with('}'));
            Ok(Identity::new("k"))
        }
    });
    let storeless = over(&counting, &FakeStore::untouched());
    let other = headers_at(&agent(), &secrets_of("other", "another"), NOW, NONCE, BODY);
    let stale = headers_at(&agent(), &known(), NOW - 301, NONCE, BODY);
    assert_eq!(outcome(post(&storeless, &other, BODY)).0, Outcome::SignatureMismatch);
    assert_eq!(outcome(post(&storeless, &stale, BODY)).0, Outcome::OutsideWindow);
    assert_eq!(outcome(post(&storeless, &Raw::new(), BODY)).0, Outcome::MissingHeader);
    for body in ["{", "{]", "{}}", "{} {}", r#"{"a":}"#, "{\u{1}}", "{\"\u{1}\":1}", "{'a':1}"] {
        assert_eq!(outcome(post(&storeless, &signed(body), body)), (Outcome::InvalidEnvelope, 400), "{body}");
    }
    assert_eq!(called.load(Ordering::SeqCst), 0);

    let store = FakeStore::fresh().claim(Says::This(Found::Nothing));
    let body = "{\"a\" : [1.0] }\n ";
    let (event, _) = processed(post(&over(&counting, &store), &signed(body), body));
    assert_eq!(called.load(Ordering::SeqCst), 1);
    assert_eq!((event.payload().get(), event.body().as_ref()), (body.trim_end(), body.as_bytes()));
}

// K10, N4, N9: nothing of the body in the log before the signature holds, and never the nonce's or the secret's bytes.
#[test]
fn what_is_logged() {
    let body = BODY.replace("1.50", &format!("\"{MARKER}\""));
    let good = signed(&body);
    let fields = |run: &dyn Fn()| {
        let ((), lines) = captured(run);
        let text = format!("{lines:?}");
        for secret in [ISSUED, MARKER, &mac(NOW.to_string().as_bytes(), NONCE.as_bytes(), body.as_bytes())] {
            assert!(!text.contains(secret), "{text}");
        }
        let line = delivery_line(&lines);
        assert_eq!(line.field("provider"), Some("agent"));
        ["event_id", "event_type", "unverified_id", "unverified_type"].map(|name| line.field(name).map(str::to_owned))
    };
    let refused = |headers: &Raw| fields(&|| _ = answered(post(&storeless(), headers, body.clone())));
    let none = [None, None, None, None];

    assert_eq!(refused(&Raw::new()), none);
    assert_eq!(refused(&[good.clone(), good.clone()].concat()), none);
    assert_eq!(refused(&signed(BODY)), none);
    for fault in [BodyFault::TooLarge, BodyFault::Timeout, BodyFault::Aborted] {
        assert_eq!(fields(&|| _ = storeless().broken_body(None, &good, body.as_bytes(), fault)), none);
    }
    let put = || {
        let body = Bytes::from(body.clone());
        _ = answered(block_on(storeless().admit(Delivery::new("PUT", &good, body))));
    };
    assert_eq!(fields(&put), none);
    // Genuine, but stale or without a key: there is nothing that was read.
    let stale = (NOW - 301).to_string();
    let signature = mac(stale.as_bytes(), NONCE.as_bytes(), body.as_bytes());
    assert_eq!(refused(&raw(stale.as_bytes(), NONCE.as_bytes(), signature.as_bytes())), none);
    let unidentified = over(&Agent::new(|_| Err(Unidentified)), &FakeStore::untouched());
    assert_eq!(fields(&|| _ = answered(post(&unidentified, &good, body.clone()))), none);

    let done = over(&agent(), &FakeStore::default().claim(Says::This(Found::Done)));
    let verified = [Some("evt_7".to_owned()), Some("SUCCEEDED".to_owned()), None, None];
    assert_eq!(fields(&|| _ = answered(post(&done, &good, body.clone()))), verified);
}

// N9: nor does `Debug` show any of it.
#[test]
fn debug_shows_nothing() {
    let body = BODY.replace("1.50", &format!("\"{MARKER}\""));
    let headers = signed(&body);
    let (event, ticket) = processed(post(&fresh(), &headers, body.clone()));
    let signature = mac(NOW.to_string().as_bytes(), NONCE.as_bytes(), body.as_bytes());
    let shown = format!(
        "{:?} {event:?} {ticket:?} {:?} {:?} {:?}",
        agent(),
        event.envelope(),
        verifier(),
        verifier().begin(&headers).unwrap()
    );
    assert!(shown.contains("evt_7") && shown.contains("Agent"), "{shown}");
    for secret in [ISSUED, MARKER, &*signature] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

// N7: a repeat may come late, so that a key is kept for 30 days at least.
#[test]
fn keys_are_kept_for_30_days() {
    const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);
    let build = |ttl| builder_of(&agent(), &known()).dedup(FakeStore::untouched()).ttl(ttl).build();
    let error = build(MONTH - Duration::from_secs(1)).unwrap_err();
    assert!(matches!(error, ConfigError::OutOfRange { setting: "ttl", least: MONTH, .. }), "{error}");
    assert!(build(MONTH).is_ok());
}
