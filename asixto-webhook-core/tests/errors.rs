//! Every sentence with which this crate refuses something, word for word; and is every mistake refused that has one?
#![cfg(test)]

mod common;

use std::{collections::HashSet, fmt::Display, mem, path::Path, time::Duration};

use asixto_webhook_core::{
    Asixto, ConfigError, DataError, EnvelopeFault, Environment, HeaderFault, JsonKind, Malformed, NoDedup, Receiver,
    ReceiverBuilder, SecretError, SecretSet, StoreError, Unavailable, UnknownEnvironment, VerifyError,
    provider::{Agent, CloudEvents, StandardWebhooks, Unidentified},
    testing,
};
use common::{
    builder, clock,
    fakes::{FakeInbox, Says},
    known,
};
use insta::assert_snapshot;

/// The sentences, a line each, after a look at their style: lower case at the start, no full stop at the end.
#[track_caller]
fn sentences<E: Display>(errors: impl IntoIterator<Item = E>) -> String {
    let sentences: Vec<_> = errors.into_iter().map(|error| error.to_string()).collect();
    for sentence in &sentences {
        assert!(sentence.starts_with(|first: char| first.is_lowercase() || first == '`'), "{sentence}");
        assert!(!sentence.ends_with(['.', '!', ' ']), "{sentence}");
        assert!(!sentence.contains(['\n', '\t']) && !sentence.contains("  "), "{sentence}");
    }
    sentences.join("\n")
}

/// Fails where a variant of an enum has no sentence among those given: a new one shall be added here.
#[track_caller]
fn assert_complete<E>(file: &str, name: &str, seen: &[E]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
    let source = std::fs::read_to_string(path).unwrap();
    let (_, body) = source.split_once(&format!("pub enum {name} {{\n")).unwrap();
    let (body, _) = body.split_once("\n}\n").unwrap();
    let variants: Vec<_> = body
        .lines()
        .filter_map(|line| line.strip_prefix("    "))
        .filter(|line| line.starts_with(|first: char| first.is_ascii_uppercase()))
        .map(|line| line.split(|char: char| !char.is_ascii_alphanumeric()).next().unwrap())
        .collect();
    assert!(variants.len() > 1, "{name} was not found in {file}");
    let seen: HashSet<_> = seen.iter().map(mem::discriminant).collect();
    assert_eq!(seen.len(), variants.len(), "one of {name}'s {variants:?} is missing");
}

const MALFORMED: [Malformed; 6] = [
    Malformed::NotAscii,
    Malformed::NoTimestamp,
    Malformed::SecondTimestamp,
    Malformed::NotDecimal,
    Malformed::NoIdentifier,
    Malformed::NoSignature,
];

fn header_faults() -> Vec<HeaderFault> {
    let once = [HeaderFault::Missing, HeaderFault::Repeated];
    once.into_iter().chain(MALFORMED.map(HeaderFault::Malformed)).collect()
}

// B6, B7, B8, L10, N2
#[test]
fn header_fault() {
    assert_complete("headers.rs", "HeaderFault", &header_faults());
    assert_complete("headers.rs", "Malformed", &MALFORMED);
    assert_snapshot!(sentences(header_faults()), @r"
    expected one signature header, found none
    expected one signature header, found several lines of that name
    expected a signature header in visible ASCII, found another byte
    expected a timestamp in the signature header, found none
    expected one timestamp in the signature header, found two, as when a proxy joins a repeated header
    expected the timestamp to be a positive decimal number, found another text
    expected an identifier or nonce in its header, found none, or one outside its alphabet
    expected a signature of a known version in the signature header, found none
    ");
}

// B7, C2
#[test]
fn verify_error() {
    let errors = [
        VerifyError::Header(HeaderFault::Missing),
        VerifyError::SignatureMismatch,
        VerifyError::OutsideWindow { skew_seconds: 301 },
        VerifyError::OutsideWindow { skew_seconds: -301 },
        VerifyError::OutsideWindow { skew_seconds: i64::MAX },
        VerifyError::OutsideWindow { skew_seconds: i64::MIN },
    ];
    assert_complete("verify.rs", "VerifyError", &errors);
    assert_snapshot!(sentences(errors), @r"
    expected one signature header, found none
    expected a signature by a known secret, found none that matches
    expected a delivery signed about now, found one signed 301 s ago
    expected a delivery signed about now, found one signed 301 s in the future
    expected a delivery signed about now, found one signed 9223372036854775807 s ago
    expected a delivery signed about now, found one signed 9223372036854775808 s in the future
    ");
    // A header's fault is said in the header's own words.
    for fault in header_faults() {
        assert_eq!(VerifyError::from(fault).to_string(), fault.to_string());
    }
}

// D1, D3, L10
#[test]
fn secret_error() {
    let errors = [
        SecretError::Empty,
        SecretError::Padded,
        SecretError::Quoted,
        SecretError::WrongPrefix { expected: "whsec_" },
        SecretError::Several,
        SecretError::NotAscii,
        SecretError::PrefixOnly { prefix: "whsec_" },
        SecretError::NotBase64 { prefix: "whsec_" },
        SecretError::NoLabel,
        SecretError::LabelShowsSecret,
        SecretError::NoSecrets,
        SecretError::RepeatedLabel,
        SecretError::RepeatedSecret,
    ];
    assert_complete("secret.rs", "SecretError", &errors);
    assert_snapshot!(sentences(errors), @r"
    expected a secret, found an empty text: is the variable set?
    expected the secret alone, found white space at one of its ends: trim the newline or blank
    expected the secret alone, found a quote at one of its ends: remove the quotes
    expected a secret that starts with `whsec_`, found another beginning: use it as issued, prefix included
    expected one secret, found a comma, white space or a control character inside it: are these several secrets? give each one by itself
    expected the secret in ASCII, as issued, found another character: was it copied from a formatted text, with a typographic quote or an invisible blank?
    expected a secret after `whsec_`, found nothing behind the prefix
    expected base64 after `whsec_`, found another text: is it a secret of another provider?
    expected a label for the secret, found an empty text
    expected a label that logs may show, found one that contains a part of the secret
    expected at least one secret, found none
    expected a label of its own for every secret, found the same label twice
    expected different secrets, found the same one twice
    ");
    let list = |issued: &[&str]| SecretSet::<Asixto>::from_issued(issued).unwrap_err();
    assert_snapshot!(sentences([list(&["whsec_a", "changeme"]), list(&[])]), @r"
    secret 2: expected a secret that starts with `whsec_`, found another beginning: use it as issued, prefix included
    expected at least one secret, found none
    ");
}

const KINDS: [JsonKind; 7] = [
    JsonKind::Null,
    JsonKind::Boolean,
    JsonKind::Integer,
    JsonKind::Number,
    JsonKind::String,
    JsonKind::Array,
    JsonKind::Object,
];

// F
#[test]
fn json_kind() {
    assert_complete("json.rs", "JsonKind", &KINDS);
    assert_snapshot!(sentences(KINDS), @r"
    null
    a boolean
    an integer
    a number with a fraction or an exponent
    a string
    an array
    an object
    ");
}

fn envelope_fault(body: &str) -> EnvelopeFault {
    testing::event(body.to_owned()).unwrap_err()
}

/// An envelope with one member changed.
fn with(name: &str, value: &str) -> String {
    let mut members = [
        ("id", r#""evt_1""#),
        ("type", r#""x.y""#),
        ("created", "1"),
        ("environment", r#""live""#),
        ("data", "{}"),
        ("replay_of", r#""evt_0""#),
    ];
    members.iter_mut().find(|(known, _)| *known == name).unwrap().1 = value;
    let members: Vec<_> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

// A2, A3, A5, A6, A8: as real bodies cause them.
#[test]
fn envelope_faults() {
    let mut bodies = vec![
        "{".to_owned(),
        "\u{feff}{}".to_owned(),
        "[]".to_owned(),
        "null".to_owned(),
        "{}".to_owned(),
        r#"{"id":"1","id":"1"}"#.to_owned(),
    ];
    for name in ["id", "type", "created", "environment", "data"] {
        bodies.push(with(name, "0").replace(&format!("\"{name}\":"), "\"renamed\":"));
    }
    bodies.extend([with("id", "\"\""), with("id", "null"), with("id", "1.5"), with("type", "[]")]);
    bodies.extend([with("created", "-1"), with("created", "1.5"), with("created", "\"1\"")]);
    bodies.extend([with("environment", "\"prod\""), with("environment", "true"), with("replay_of", "{}")]);
    let mut faults: Vec<_> = bodies.iter().map(|body| envelope_fault(body)).collect();
    // L10, M1, N5: what only other providers find.
    let headers = [("webhook-id", "msg_1")];
    faults.push(testing::event_of(&StandardWebhooks, "t", &headers, r#"{"id":"msg_2"}"#).unwrap_err());
    faults.push(testing::event_of(&StandardWebhooks, "t", &headers, r#"{"type":7}"#).unwrap_err());
    let cloudevents = CloudEvents::new("Acme-Signature").unwrap();
    faults.push(testing::event_of(&cloudevents, "t", &headers, r#"{"specversion":"0.3"}"#).unwrap_err());
    faults.push(testing::event_of(&Agent::new(|_| Err(Unidentified)), "t", &headers, "{}").unwrap_err());
    // What a sender of the user's own says.
    faults.push(EnvelopeFault::WrongShape { expected: "an order" });
    assert_complete("provider/mod.rs", "EnvelopeFault", &faults);
    assert_snapshot!(sentences(faults), @r"
    expected the body to be a JSON object, found bytes that are not JSON
    expected the body to be a JSON object, found bytes that are not JSON
    expected the body to be a JSON object, found an array
    expected the body to be a JSON object, found null
    expected a field `id` in the envelope, found none
    expected each top-level field of the envelope once, found one of them twice
    expected a field `id` in the envelope, found none
    expected a field `type` in the envelope, found none
    expected a field `created` in the envelope, found none
    expected a field `environment` in the envelope, found none
    expected a field `data` in the envelope, found none
    expected `id` to be a non-empty string, found a string that is not
    expected `id` to be a non-empty string, found null
    expected `id` to be a non-empty string, found a number with a fraction or an exponent
    expected `type` to be a string, found an array
    expected `created` to be a non-negative integer of unix seconds, found an integer that is not
    expected `created` to be a non-negative integer of unix seconds, found a number with a fraction or an exponent
    expected `created` to be a non-negative integer of unix seconds, found a string that is not
    expected `environment` to be `live` or `test`, found a string that is not
    expected `environment` to be `live` or `test`, found a boolean
    expected `replay_of` to be a string, found an object
    expected `id` to be the identifier in the header, found a string that is not
    expected `type` to be a string, found an integer that is not
    expected `specversion` to be `1.0`, found a string that is not
    expected a key of the event in the body, found none
    expected the body to be an order, found another shape
    ");
}

// M2, N5
#[test]
fn errors_of_the_providers() {
    assert_snapshot!(sentences([CloudEvents::new("").unwrap_err()]), @"expected the name of a header, such as `Acme-Signature`, found another text");
    assert_snapshot!(sentences([Unidentified]), @"expected a key of the event in the body, found none");
}

fn data_error(event_type: &str, data: &str) -> DataError {
    let body = with("data", data).replace("x.y", event_type);
    testing::event(body).unwrap().data().unwrap_err()
}

// F: as real data causes them.
#[test]
fn data_errors() {
    let job = |more: &str| {
        let data = format!(r#"{{"job_id":"j1","operation":"chat","status":"succeeded"{more}}}"#);
        data_error("job.succeeded", &data)
    };
    let errors = [
        data_error("job.succeeded", "null"),
        data_error("job.succeeded", "{}"),
        data_error("job.succeeded", r#"{"job_id":7}"#),
        job(r#","credits_charged":1.0"#),
        job(r#","error_code":{}"#),
        job(r#","result":[]"#),
        job(r#","metadata":"""#),
        job(r#","metadata_omitted":"true""#),
        data_error("credits.exhausted", r#"{"usage_percent":"80"}"#),
        data_error("tool.disabled", r#"{"server":"s","capability":"c","tools":"t"}"#),
        data_error("tool.disabled", r#"{"server":"s","capability":"c","tools":["t",null]}"#),
    ];
    assert_snapshot!(sentences(errors), @r"
    expected `data` to be an object, found null
    expected `job_id` to be a string, found no such field
    expected `job_id` to be a string, found an integer
    expected `credits_charged` to be an integer or null, found a number with a fraction or an exponent
    expected `error_code` to be a string or null, found an object
    expected `result` to be an object or null, found an array
    expected `metadata` to be an object, found a string
    expected `metadata_omitted` to be a boolean, found a string
    expected `usage_percent` to be a number, found a string
    expected `tools` to be an array of strings, found a string
    expected `tools` to be an array of strings, found an array with null in it
    ");
}

/// What a builder, complete but for what `change` does to it, says when it is built.
#[track_caller]
fn refused(change: impl FnOnce(ReceiverBuilder) -> ReceiverBuilder) -> ConfigError {
    change(builder().dedup(NoDedup)).build().unwrap_err()
}

const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

// C1, E1, E5, H4, H8, rules of the house: each mistake is refused when the receiver is built.
#[test]
fn config_errors() {
    let (second, nothing) = (Duration::from_secs(1), Duration::ZERO);
    let errors = [
        Receiver::builder().dedup(NoDedup).build().unwrap_err(),
        builder().build().unwrap_err(),
        refused(|builder| builder.inbox(FakeInbox::new(Says::Fails))),
        ConfigError::NoClock,
        refused(|builder| builder.scope("")),
        builder().dedup(NoDedup).build().unwrap().check_scopes().unwrap_err(),
        refused(|builder| builder.body_limit(263_167)),
        refused(|builder| builder.body_limit(0)),
        refused(|builder| builder.tolerance(nothing)),
        refused(|builder| builder.tolerance(Duration::from_millis(300_500))),
        refused(|builder| builder.tolerance(Duration::from_millis(500))),
        refused(|builder| builder.tolerance(Duration::from_secs(86_401))),
        refused(|builder| builder.tolerance(Duration::from_secs(u64::MAX))),
        refused(|builder| builder.ttl(WEEK - Duration::from_nanos(1))),
        refused(|builder| builder.ttl(nothing)),
        refused(|builder| builder.lease(nothing)),
        refused(|builder| builder.lease(Duration::MAX)),
        refused(|builder| builder.lease(Duration::from_millis(5_999))),
        refused(|builder| builder.body_timeout(nothing)),
        refused(|builder| builder.secrets_timeout(nothing)),
        refused(|builder| builder.store_timeout(nothing)),
        refused(|builder| builder.answer_timeout(Duration::from_secs(4))),
        refused(|builder| builder.body_timeout(9 * second + second)),
        refused(|builder| builder.answer_timeout(11 * second)),
        refused(|builder| builder.handler_limit(8 * second)),
    ];
    assert_complete("mistakes.rs", "ConfigError", &errors);
    assert_snapshot!(sentences(errors), @r"
    expected the endpoint's secrets, found none: call `secrets`
    expected a place for events, found none: call `dedup` with a store such as `MemoryStore::default()` (or with `NoDedup`, if the handler is idempotent by itself), or call `inbox` with an `Inbox` of your own
    expected one place for events, found two: call either `dedup`, to run a handler, or `inbox`, which deduplicates by itself
    expected a clock, found none: call `clock`, or turn on the feature `std` for the system's
    expected a name for the endpoint, found an empty text: leave `scope` out for the default
    expected secrets that are looked up for each scope, found one set for all of them, under which a delivery to one scope would be a new event in every other: call `secrets` with `lookup`
    expected `body_limit` to be at least 263168 bytes, which the sender may send, found 263167
    expected `body_limit` to be at least 263168 bytes, which the sender may send, found 0
    expected `tolerance` to be between 1s and 86400s, found 0ns
    expected `tolerance` to be whole seconds, found 300.5s
    expected `tolerance` to be whole seconds, found 500ms
    expected `tolerance` to be between 1s and 86400s, found 86401s
    expected `tolerance` to be between 1s and 86400s, found 18446744073709551615s
    expected `ttl` to be between 604800s and 3153600000s, found 604799.999999999s
    expected `ttl` to be between 604800s and 3153600000s, found 0ns
    expected `lease` to be between 1s and 3600s, found 0ns
    expected `lease` to be between 1s and 3600s, found 18446744073709551615.999999999s
    expected `lease` to be at least 6s, so that it can be renewed in time while the store takes `store_timeout` each time, found 5.999s
    expected `body_timeout` to be between 1ms and 3600s, found 0ns
    expected `secrets_timeout` to be between 1ms and 3600s, found 0ns
    expected `store_timeout` to be between 1ms and 3600s, found 0ns
    expected `body_timeout`, `secrets_timeout` and `store_timeout` (for each claim) to be at most 4s together, the time for the answer, found 9s
    expected `body_timeout`, `secrets_timeout` and `store_timeout` (for each claim) to be at most 9s together, the time for the answer, found 14s
    expected `answer_timeout` to be between 1ms and 9.5s, found 11s
    expected `handler_limit` to be between 9s and 86400s, found 8s
    ");
}

// Rules of the house: the system's clock comes with `std`, and is missed without.
#[test]
fn the_default_clock() {
    let receiver = Receiver::builder().secrets(known()).dedup(NoDedup).build();
    assert_eq!(receiver.err(), (!cfg!(feature = "std")).then_some(ConfigError::NoClock));
}

// C1, E1, H4: what is at the edge of a setting is taken.
#[test]
fn the_edges_of_a_configuration() {
    let second = Duration::from_secs(1);
    let taken: [fn(ReceiverBuilder) -> ReceiverBuilder; 7] = [
        |builder| builder,
        |builder| builder.body_limit(263_168),
        |builder| builder.body_limit(usize::MAX),
        |builder| builder.ttl(WEEK),
        |builder| builder.tolerance(Duration::from_secs(86_400)),
        |builder| builder.lease(Duration::from_secs(3600)),
        |builder| builder.answer_timeout(Duration::from_secs(9)),
    ];
    for (place, change) in taken.into_iter().enumerate() {
        assert!(change(builder().dedup(NoDedup)).build().is_ok(), "{place}");
    }
    assert!(builder().dedup(NoDedup).tolerance(second).lease(6 * second).build().is_ok());
    // The order of the calls is no matter: it is the whole that is judged.
    let receiver = Receiver::builder().clock(clock()).inbox(FakeInbox::new(Says::Fails)).secrets(known()).build();
    assert!(receiver.is_ok());
}

// E7, E9
#[test]
fn store_error() {
    let errors = [StoreError::unavailable("connection refused"), StoreError::full(), StoreError::timed_out()];
    assert_complete("dedup.rs", "StoreErrorKind", &errors.each_ref().map(StoreError::kind));
    assert_snapshot!(sentences(&errors), @r"
    the store is unavailable
    the store is full, and forgets no id before its time
    the store did not answer in time
    ");
    // The cause is the error's source, for whoever reports chains.
    let cause = |error: &StoreError| std::error::Error::source(error).map(ToString::to_string);
    assert_eq!(errors.each_ref().map(cause), [Some("connection refused".to_owned()), None, None]);
}

// D3, K
#[test]
fn unavailable() {
    let errors = [Unavailable::new("connection refused"), Unavailable::from(SecretError::Empty)];
    assert_snapshot!(sentences(errors), @r"
    the secrets are unavailable: connection refused
    the secrets are unavailable: expected a secret, found an empty text: is the variable set?
    ");
}

// A6
#[test]
fn unknown_environment() {
    assert_snapshot!(sentences(["".parse::<Environment>().unwrap_err()]), @"expected `live` or `test`, found another text");
    assert_eq!("live".parse(), Ok(Environment::Live));
    assert_eq!("test".parse(), Ok(Environment::Test));
    for wrong in ["", "Live", "TEST", "live ", "production"] {
        assert!(matches!(wrong.parse::<Environment>(), Err(UnknownEnvironment { .. })), "{wrong:?}");
    }
}

// F5
#[cfg(feature = "jiff")]
#[test]
fn time_error() {
    let data = r#"{"job_id":"j1","requested_at":"tomorrow"}"#;
    let body = with("data", data).replace("x.y", "conversation.handoff_requested");
    let Ok(asixto_webhook_core::Data::ConversationHandoffRequested(handoff)) = testing::event(body).unwrap().data()
    else {
        panic!("not a request for a person")
    };
    assert_snapshot!(sentences([handoff.requested_at.to_jiff().unwrap_err()]), @"expected an ISO 8601 time with an offset from UTC, found other text");
}
