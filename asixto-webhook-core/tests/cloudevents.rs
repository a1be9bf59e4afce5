//! CloudEvents: a header of any name in the grammar of B, and an event that is known by its source and its id.
#![cfg(test)]

mod common;

use std::time::Duration;

use asixto_webhook_core::{
    ConfigError, DedupKey, EnvelopeFault, Event, HeaderFault, Held, JsonKind, Malformed, Outcome, Receiver, Secret,
    SecretError, SecretSet, UnixTime, Verifier, VerifyError,
    provider::{CloudEvents, InvalidHeaderName, Provider},
    testing,
};
use common::{
    NOW, answered, builder_of,
    capture::{captured, delivery_line},
    fakes::{Asked, FakeStore, Found, Says},
    headers_at, outcome, post, processed, secrets_of,
};
use pollster::block_on;

const ISSUED: &str = "acme-shared-secret";
/// The event of the sender's document.
const BODY: &str = r#"{
  "specversion": "1.0",
  "id": "evt_4410",
  "source": "https://api.acme.com/charges",
  "type": "com.acme.charge.refunded",
  "time": "2026-10-03T14:00:00Z",
  "data": { "charge_id": "ch_123", "amount": 4900 }
}"#;

/// Header lines that need not be text.
type Raw = Vec<(&'static str, Vec<u8>)>;

fn acme() -> CloudEvents {
    CloudEvents::new("Acme-Signature").unwrap()
}

fn known() -> SecretSet<CloudEvents> {
    secrets_of("current", ISSUED)
}

fn over(store: &FakeStore) -> Receiver<CloudEvents> {
    builder_of(&acme(), &known()).dedup(store.clone()).build().unwrap()
}

/// A receiver that asks its store for nothing.
fn storeless() -> Receiver<CloudEvents> {
    over(&FakeStore::untouched())
}

/// The value of the signature header of `body` at `at`.
fn value(at: u64, body: &str) -> String {
    headers_at(&acme(), &known(), at, "", body).remove(0).1
}

/// The one header of `body`, and what else is said.
fn signed(body: &str, more: &[(&'static str, &str)]) -> Raw {
    let more = more.iter().map(|(name, value)| (*name, value.as_bytes().to_vec()));
    [("Acme-Signature", value(NOW, body).into_bytes())].into_iter().chain(more).collect()
}

fn open(body: &str) -> Result<Event<CloudEvents>, EnvelopeFault> {
    testing::event_of(&acme(), "testing", &Raw::new(), body.to_owned())
}

/// An event with `members` besides what it must have.
fn event_with(members: &str) -> Event<CloudEvents> {
    open(&format!(r#"{{"specversion":"1.0","id":"1","source":"/s","type":"t"{members}}}"#)).unwrap()
}

// M1: every attribute of the document's event, and its data byte for byte.
#[test]
fn the_documents_event() {
    let (event, _) =
        processed(post(&over(&FakeStore::fresh()), &signed(BODY, &[("Acme-Delivery-Attempt", "2")]), BODY));
    assert_eq!((event.id(), event.event_type()), ("evt_4410", "com.acme.charge.refunded"));
    assert_eq!((event.specversion(), event.source()), ("1.0", "https://api.acme.com/charges"));
    assert_eq!((event.time(), event.subject()), (Some("2026-10-03T14:00:00Z"), None));
    assert_eq!((event.datacontenttype(), event.dataschema(), event.data_base64()), (None, None, None));
    assert_eq!(event.raw_data().unwrap().get(), r#"{ "charge_id": "ch_123", "amount": 4900 }"#);
    assert_eq!(event.extensions().count(), 0);
    assert_eq!(event.delivery_attempt(), Some(2));
    assert_eq!(event.body(), BODY.as_bytes());
}

// M1: what is optional, and what null means.
#[test]
fn attributes_and_extensions() {
    let event = event_with(
        r#","subject":"ch_123","datacontenttype":"application/xml","dataschema":"https://x.example/s",
           "data":"<a/>","traceparent":"00-4bf9","sampled":true,"weight":-7,"\u0070artition":"\u00e9""#,
    );
    assert_eq!((event.subject(), event.datacontenttype()), (Some("ch_123"), Some("application/xml")));
    assert_eq!(event.dataschema(), Some("https://x.example/s"));
    assert_eq!(event.raw_data().unwrap().get(), r#""<a/>""#);
    let extensions: Vec<_> = event.extensions().map(|(name, value)| (name, value.get())).collect();
    let expected =
        [("traceparent", r#""00-4bf9""#), ("sampled", "true"), ("weight", "-7"), ("partition", r#""\u00e9""#)];
    assert_eq!(extensions, expected);
    assert_eq!(event.extension("sampled").unwrap().get(), "true");
    assert!(event.extension("Sampled").is_none() && event.extension("id").is_none());

    // A null attribute is an unset one; null data is data.
    let event = event_with(
        r#","subject":null,"time":null,"datacontenttype":null,"dataschema":null,"data_base64":null,"trace":null,"data":null"#,
    );
    let unset = (event.subject(), event.time(), event.datacontenttype(), event.dataschema(), event.data_base64());
    assert_eq!(unset, (None, None, None, None, None));
    assert_eq!((event.extension("trace").is_none(), event.extensions().count()), (true, 0));
    assert_eq!(event.raw_data().unwrap().get(), "null");

    let event = event_with(r#","data_base64":"AP8=""#);
    assert_eq!((event.data_base64(), event.raw_data().is_none()), (Some("AP8="), true));
    assert_eq!(event_with(r#","data_base64":"""#).data_base64(), Some(""));
    assert!(event_with("").raw_data().is_none());
    // A7: byte for byte, to any depth.
    let deep = format!("{}1.00e2{}", "[".repeat(50_000), "]".repeat(50_000));
    assert_eq!(event_with(&format!(",\"data\":{deep}")).raw_data().unwrap().get(), deep);
}

// M1, A8: what is no CloudEvent 1.0.
#[test]
fn what_is_no_event() {
    let wrong = |field, found| EnvelopeFault::WrongField { field, expected: "a non-empty string", found };
    let version = EnvelopeFault::WrongField { field: "specversion", expected: "`1.0`", found: JsonKind::String };
    let missing = |field| EnvelopeFault::MissingField { field };
    let members = |id: &str| format!(r#""id":{id},"source":"/s","type":"t""#);
    let mut cases = vec![
        ("not JSON".to_owned(), EnvelopeFault::NotJson),
        (String::new(), EnvelopeFault::NotJson),
        (format!(r#"{{"specversion":"1.0",{}}} x"#, members("\"1\"")), EnvelopeFault::NotJson),
        // A batch is several events in one delivery: it has no id of its own.
        (format!("[{BODY}]"), EnvelopeFault::NotAnObject { found: JsonKind::Array }),
        ("null".to_owned(), EnvelopeFault::NotAnObject { found: JsonKind::Null }),
        (format!("{{{}}}", members("\"1\"")), missing("specversion")),
        (format!(r#"{{"specversion":1.0,{}}}"#, members("\"1\"")), wrong("specversion", JsonKind::Number)),
        (format!(r#"{{"specversion":null,{}}}"#, members("\"1\"")), missing("specversion")),
    ];
    for other in ["0.3", "1", "1.0.0", "1.0.2", "1.1", "2.0", " 1.0", "1.0 ", "v1.0"] {
        cases.push((format!(r#"{{"specversion":"{other}",{}}}"#, members("\"1\"")), version));
    }
    for field in ["id", "source", "type"] {
        let good = r#"{"specversion":"1.0","id":"1","source":"1","type":"1"}"#;
        let with = |value: &str| good.replace(&format!("\"{field}\":\"1\""), &format!("\"{field}\":{value}"));
        cases.push((good.replace(&format!("\"{field}\""), &format!("\"{}\"", field.to_uppercase())), missing(field)));
        for (value, fault) in [
            ("null", missing(field)),
            ("\"\"", wrong(field, JsonKind::String)),
            ("1", wrong(field, JsonKind::Integer)),
            ("true", wrong(field, JsonKind::Boolean)),
            ("[\"1\"]", wrong(field, JsonKind::Array)),
            (r#""\ud800""#, wrong(field, JsonKind::String)),
        ] {
            cases.push((with(value), fault));
        }
        // A8: which of two would it be?
        cases.push((with(&format!(r#""1","{field}":"1""#)), EnvelopeFault::RepeatedField));
        let escaped = format!("\\u{:04x}{}", field.as_bytes()[0], &field[1..]);
        cases.push((with(&format!(r#""1","{escaped}":"2""#)), EnvelopeFault::RepeatedField));
    }
    for (value, found) in [("7", JsonKind::Integer), ("[]", JsonKind::Array), (r#""\udc00""#, JsonKind::String)] {
        let body = format!(r#"{{"specversion":"1.0",{},"data_base64":{value}}}"#, members("\"1\""));
        cases.push((body, EnvelopeFault::WrongField { field: "data_base64", expected: "a string", found }));
    }
    for field in ["subject", "time", "datacontenttype", "dataschema"] {
        for (value, found) in [("\"\"", JsonKind::String), ("7", JsonKind::Integer), ("{}", JsonKind::Object)] {
            let body = format!(r#"{{"specversion":"1.0",{},"{field}":{value}}}"#, members("\"1\""));
            cases.push((body, wrong(field, found)));
        }
    }
    for twice in ["\"data\":1,\"data\":1", "\"trace\":\"a\",\"trace\":\"b\"", "\"specversion\":\"0.3\""] {
        cases.push((format!(r#"{{"specversion":"1.0",{},{twice}}}"#, members("\"1\"")), EnvelopeFault::RepeatedField));
    }
    for (body, fault) in cases {
        assert_eq!(open(&body).unwrap_err(), fault, "{body}");
        assert_eq!(
            outcome(post(&storeless(), &signed(&body, &[]), body.clone())),
            (Outcome::InvalidEnvelope, 400),
            "{body}"
        );
    }
}

// M2: the header's name is the sender's, in any casing.
#[test]
fn the_name_of_the_header() {
    for name in ["Acme-Signature", "acme-signature", "X-Hook", "x_hook.2!", "-Signature", "Signature"] {
        let provider = CloudEvents::new(name).unwrap();
        let [(sent, value)] = &headers_at(&provider, &known(), NOW, "", BODY)[..] else { panic!("one header") };
        assert!(sent.eq_ignore_ascii_case(name));
        let verifier = Verifier::of(provider, known());
        let verify = |name: &str| verifier.verify(&[(name, value)], BODY.as_bytes(), UnixTime::from_secs(NOW));
        for known in [name.to_owned(), name.to_uppercase(), name.to_lowercase()] {
            assert!(verify(&known).is_ok(), "{known}");
        }
        for other in ["Asixto-Signature", "Acme-Signature2", "Acme_Signature"] {
            assert_eq!(verify(other), Err(VerifyError::Header(HeaderFault::Missing)), "{other}");
        }
    }
    for wrong in [
        "Host",
        "content-length",
        "Transfer-Encoding",
        "",
        " ",
        "Acme Signature",
        "Acme-Signature:",
        "Acme-Signature\n",
        "Acmé-Signature",
        "a/b",
        "(a)",
        "\"a\"",
    ] {
        assert!(matches!(CloudEvents::new(wrong), Err(InvalidHeaderName { .. })), "{wrong:?}");
    }
}

// M2, B6, B7, B8: missing, repeated or malformed, with the outcome and the status of each.
#[test]
fn the_grammar_of_the_header() {
    let good = value(NOW, BODY);
    let mac = good.split_once("v1=").unwrap().1;
    let lines = |values: &[&str]| -> Raw {
        let names = ["Acme-Signature", "acme-signature", "ACME-SIGNATURE"];
        names.into_iter().zip(values).map(|(name, value)| (name, value.as_bytes().to_vec())).collect()
    };
    let malformed = HeaderFault::Malformed;
    for (values, fault) in [
        (&[][..], HeaderFault::Missing),
        (&[&*good, &good], HeaderFault::Repeated),
        (&[&*good, ""], HeaderFault::Repeated),
        (&["", "", ""], HeaderFault::Repeated),
        (&[&*format!("{good},{good}")], malformed(Malformed::SecondTimestamp)),
        (&[""], malformed(Malformed::NoTimestamp)),
        (&[&*format!("v1={mac}")], malformed(Malformed::NoTimestamp)),
        (&[&*format!("T={NOW},v1={mac}")], malformed(Malformed::NoTimestamp)),
        (&[&*format!("t={NOW}.0,v1={mac}")], malformed(Malformed::NotDecimal)),
        (&[&*format!("t=0{NOW},v1={mac}")], malformed(Malformed::NotDecimal)),
        (&[&*format!("t={NOW}")], malformed(Malformed::NoSignature)),
        (&[&*format!("t={NOW},v1=,v0={mac}")], malformed(Malformed::NoSignature)),
        (&[&*format!("t={NOW};v1={mac}")], malformed(Malformed::NotDecimal)),
        (&[&*format!("{good},ñ")], malformed(Malformed::NotAscii)),
        (&[&*format!("{good}\n")], malformed(Malformed::NotAscii)),
    ] {
        let headers = lines(values);
        let verifier = Verifier::of(acme(), known());
        let result = verifier.verify(&headers, BODY.as_bytes(), UnixTime::from_secs(NOW));
        assert_eq!(result, Err(VerifyError::Header(fault)), "{values:?}");
        let expected = match fault {
            HeaderFault::Missing => Outcome::MissingHeader,
            HeaderFault::Repeated => Outcome::RepeatedHeader,
            _ => Outcome::MalformedHeader,
        };
        assert_eq!(outcome(post(&storeless(), &headers, BODY)), (expected, 400), "{values:?}");
    }
    // B4, B5: one of several is enough, in lower case.
    let forged = "0".repeat(64);
    for taken in [
        format!("v1={mac},t={NOW}"),
        format!(" t={NOW} ,\tv1={forged}, v1={mac} "),
        format!("v2=x,t={NOW},v1=short,v1={mac},t"),
    ] {
        drop(processed(post(&over(&FakeStore::fresh()), &lines(&[&taken]), BODY)));
    }
    for refused in [
        format!("t={NOW},v1={}", mac.to_uppercase()),
        format!("t={NOW},v1={forged},v0={mac}"),
        format!("t={},v1={mac}", NOW + 1),
    ] {
        let headers = lines(&[&refused]);
        assert_eq!(outcome(post(&storeless(), &headers, BODY)), (Outcome::SignatureMismatch, 400), "{refused}");
    }
}

// M5, C1: old ones are refused, and those from the future.
#[test]
fn the_window() {
    let admit =
        |at: u64, receiver: &Receiver<CloudEvents>| post(receiver, &[("acme-signature", value(at, BODY))], BODY);
    for at in [NOW - 300, NOW + 300] {
        drop(processed(admit(at, &over(&FakeStore::fresh()))));
    }
    for at in [NOW - 301, NOW + 301] {
        assert_eq!(outcome(admit(at, &storeless())), (Outcome::OutsideWindow, 400));
    }
}

// M3: shown, and believed in nothing.
#[test]
fn the_number_of_the_attempt() {
    let attempt = |lines: &[(&'static str, &str)]| {
        let store = FakeStore::fresh();
        let (event, _) = processed(post(&over(&store), &signed(BODY, lines), BODY));
        (event.delivery_attempt(), store.claimed().0)
    };
    let (none, key) = attempt(&[]);
    assert_eq!(none, None);
    for (sent, expected) in [
        ("1", Some(1)),
        ("7", Some(7)),
        ("18446744073709551615", Some(u64::MAX)),
        ("", None),
        ("0", None),
        ("-1", None),
        ("+1", None),
        ("01", None),
        ("1.0", None),
        ("two", None),
        ("2, 3", None),
        ("\u{663}", None),
    ] {
        // Neither the key nor the acceptance depends on it.
        assert_eq!(attempt(&[("Acme-Delivery-Attempt", sent)]), (expected, key), "{sent}");
        assert_eq!(attempt(&[("ACME-DELIVERY-ATTEMPT", sent)]), (expected, key), "{sent}");
    }
    assert_eq!(attempt(&[("Acme-Delivery-Attempt", "1"), ("acme-delivery-attempt", "1")]), (None, key));
    assert_eq!(attempt(&[("X-Delivery-Attempt", "2"), ("Delivery-Attempt", "2")]), (None, key));
    // A header of another shape has no such sibling.
    let plain = CloudEvents::new("X-Hook").unwrap();
    let headers =
        [("x-hook", value(NOW, BODY)), ("x-hook-delivery-attempt", "2".into()), ("-delivery-attempt", "2".into())];
    assert_eq!(testing::event_of(&plain, "testing", &headers, BODY).unwrap().delivery_attempt(), None);
}

/// The key under which an event is claimed.
fn key_in(scope: &'static str, source: &str, id: &str, at: u64) -> DedupKey {
    let [source, id] = [source, id].map(|text| serde_json::to_string(text).unwrap());
    let body = format!(r#"{{"specversion":"1.0","id":{id},"source":{source},"type":"t","data":{at}}}"#);
    let store = FakeStore::fresh();
    let receiver = builder_of(&acme(), &known()).dedup(store.clone()).scope(scope).build().unwrap();
    drop(processed(post(&receiver, &[("acme-signature", value(at, &body))], body)));
    store.claimed().0
}

// M4: the pair, in which no byte can change sides, and nothing else.
#[test]
fn source_and_id_deduplicate() {
    let key = |source: &str, id: &str| key_in("default", source, id, NOW);
    assert_eq!(key("/charges", "evt_1"), key_in("default", "/charges", "evt_1", NOW + 9));
    assert_ne!(key("/charges", "evt_1"), key_in("other", "/charges", "evt_1", NOW));
    let pairs = [
        ("/charges", "evt_1"),
        ("/charges", "evt_2"),
        ("/refunds", "evt_1"),
        ("evt_1", "/charges"),
        ("/chargesevt", "_1"),
        ("/chargesevt_", "1"),
        ("/charge", "sevt_1"),
        ("/charges\0", "evt_1"),
        ("/charges", "\0evt_1"),
        ("/charges", "evt_1\0"),
        ("/charges\0evt_1", "\0"),
        ("/Charges", "evt_1"),
        ("/charges/", "evt_1"),
        ("a", "aa"),
        ("aa", "a"),
    ];
    for (place, pair) in pairs.iter().enumerate() {
        for other in &pairs[..place] {
            assert_ne!(key(pair.0, pair.1), key(other.0, other.1), "{pair:?} {other:?}");
        }
    }
    // An escape is the character that it stands for.
    let plain = testing_key(r#""id":"evt_1","source":"/charges""#);
    assert_eq!(testing_key(r#""\u0069d":"\u0065vt_1","source":"\/charges""#), plain);
}

fn testing_key(members: &str) -> DedupKey {
    let body = format!(r#"{{"specversion":"1.0","type":"t",{members}}}"#);
    let store = FakeStore::fresh();
    drop(processed(post(&over(&store), &signed(&body, &[]), body.clone())));
    store.claimed().0
}

// M4, E2, E6
#[test]
fn repeats() {
    for (found, expected) in [
        (Found::Done, (Outcome::Duplicate, 200)),
        (Found::Conflict, (Outcome::Conflict, 200)),
        (Found::InFlight(Duration::from_secs(3)), (Outcome::InFlight, 503)),
    ] {
        let store = FakeStore::default().claim(Says::This(found));
        assert_eq!(outcome(post(&over(&store), &signed(BODY, &[]), BODY)), expected);
    }
}

// E1: kept for 7 days at least.
#[test]
fn ids_are_kept_for_7_days() {
    const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);
    let error = builder_of(&acme(), &known()).dedup(FakeStore::untouched()).ttl(WEEK / 7).build().unwrap_err();
    assert!(matches!(error, ConfigError::OutOfRange { setting: "ttl", least: WEEK, .. }), "{error}");
    let store = FakeStore::fresh().commit(Says::This(Held::Yes));
    let receiver = over(&store);
    let (_, ticket) = processed(post(&receiver, &signed(BODY, &[]), BODY));
    assert_eq!(block_on(receiver.settle(ticket, 200)).answer.outcome(), Outcome::Processed);
    assert_eq!(store.asked()[1], Asked::Commit { fence: 1, ttl: WEEK });
}

// M2, D3: the secret is its text, whatever it looks like; what no secret looks like is refused.
#[test]
fn the_key_is_the_text() {
    for issued in ["x", ISSUED, "whsec_Zm9v", "whsec_", "clé-secrète", "two words"] {
        assert_eq!(CloudEvents::key(issued).unwrap().as_slice(), issued.as_bytes());
        assert!(Secret::<CloudEvents>::issued("current", issued).is_ok(), "{issued}");
    }
    let refusal = |issued: &str| Secret::<CloudEvents>::issued("current", issued).expect_err(issued);
    assert_eq!(refusal(""), SecretError::Empty);
    assert_eq!(refusal(" "), SecretError::Padded);
    assert_eq!(refusal("acme\n"), SecretError::Padded);
    assert_eq!(refusal("\"acme\""), SecretError::Quoted);
}

// K10: id and type from the body, as what they are.
#[test]
fn what_is_logged() {
    let refused = |headers: &Raw, body: &str| {
        let (_, lines) = captured(|| answered(post(&storeless(), headers, body.to_owned())));
        let line = delivery_line(&lines).clone();
        assert_eq!(line.field("provider"), Some("cloudevents"));
        ["event_id", "event_type", "unverified_id", "unverified_type"].map(|name| line.field(name).map(str::to_owned))
    };
    let some = |text: &str| Some(text.to_owned());
    let (id, kind) = (some("evt_4410"), some("com.acme.charge.refunded"));
    assert_eq!(refused(&Raw::new(), BODY), [None, None, id.clone(), kind.clone()]);
    assert_eq!(refused(&signed("{}", &[]), BODY), [None, None, id.clone(), kind.clone()]);
    let old = BODY.replace("1.0", "0.3");
    assert_eq!(refused(&signed(&old, &[]), &old), [id, kind, None, None]);
    assert_eq!(refused(&signed("[]", &[]), "[]"), [None, None, None, None]);
}
