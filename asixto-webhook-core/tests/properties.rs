//! What holds for any input: signatures, windows, headers, envelopes and data that nobody thought of.
#![cfg(test)]

mod common;

use asixto_webhook_core::{
    Asixto, EVENT_TYPES, Encoding, HeaderFault, Headers, Provider, Secret, SecretSet, UnixTime, Verifier, VerifyError,
    sign, testing,
};
use common::{Lines, NOW, SECRET, known, signed};
use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select, subsequence},
    test_runner::Config,
};

fn config() -> Config {
    Config { failure_persistence: None, ..Config::with_cases(256) }
}

/// One to three secrets that differ, labelled `0`, `1`, `2`.
fn issued() -> impl Strategy<Value = Vec<String>> {
    vec("[A-Za-z0-9+/_-]{0,90}", 1..=3)
        .prop_map(|rests| rests.iter().enumerate().map(|(place, rest)| format!("whsec_{place}{rest}")).collect())
}

fn set(issued: &[(usize, String)]) -> SecretSet {
    let secret = |(place, text): &(usize, String)| Secret::new(&place.to_string(), text).unwrap();
    SecretSet::new(issued.iter().map(secret)).unwrap()
}

/// Any time that a header can carry, the first and the last ones most of all.
fn time() -> impl Strategy<Value = u64> {
    prop_oneof![1..=1000_u64, NOW - 1000..=NOW + 1000, u64::MAX - 1000..=u64::MAX, 1..=u64::MAX]
}

/// Any present time, including one at which a window reaches below 0.
fn now() -> impl Strategy<Value = u64> {
    prop_oneof![1 => Just(0), 9 => time()]
}

fn lines(value: impl Into<String>) -> Lines {
    vec![("asixto-signature".into(), value.into())]
}

proptest! {
    #![proptest_config(config())]

    // B1, B2, B5, D1, D2: what is made with some secrets is taken by whoever has one of them, and says which.
    #[test]
    fn what_sign_makes_verify_takes(
        issued in issued(),
        receivers in any::<[Index; 3]>(),
        body in vec(any::<u8>(), 0..2000),
        at in time(),
    ) {
        let all: Vec<_> = issued.into_iter().enumerate().collect();
        let header = lines(sign(&set(&all), UnixTime::from_secs(at), &body));
        for index in receivers {
            let mine = index.get(&all);
            let verifier = Verifier::new(set(std::slice::from_ref(mine)));
            let verified = verifier.verify(&header, &body, UnixTime::from_secs(at)).unwrap();
            prop_assert_eq!(verified.secret(), mine.0.to_string());
            prop_assert_eq!(verified.skew_seconds(), 0);
        }
        let verified = Verifier::new(set(&all)).verify(&header, &body, UnixTime::from_secs(at)).unwrap();
        prop_assert_eq!(verified.secret(), "0");
    }

    // B7: what is made with other secrets is not.
    #[test]
    fn other_secrets_do_not_verify(issued in issued(), body in vec(any::<u8>(), 0..500), at in time()) {
        let theirs: Vec<_> = issued.iter().map(|text| format!("{text}x")).enumerate().collect();
        let mine: Vec<_> = issued.into_iter().enumerate().collect();
        let header = lines(sign(&set(&theirs), UnixTime::from_secs(at), &body));
        let result = Verifier::new(set(&mine)).verify(&header, &body, UnixTime::from_secs(at));
        prop_assert_eq!(result, Err(VerifyError::SignatureMismatch));
    }

    // B2, B10: one bit of the body, anywhere.
    #[test]
    fn a_flipped_bit_of_the_body(
        mut body in vec(any::<u8>(), 1..2000),
        place in any::<Index>(),
        bit in 0..8_u8,
    ) {
        let header = signed(&known(), &body);
        let place = place.index(body.len());
        body[place] ^= 1 << bit;
        let result = Verifier::new(known()).verify(&header, &body, UnixTime::from_secs(NOW));
        prop_assert_eq!(result, Err(VerifyError::SignatureMismatch));
    }

    // B2, B10: a body that is longer, shorter or in another order.
    #[test]
    fn a_body_of_another_length(body in vec(any::<u8>(), 0..500), more in vec(any::<u8>(), 1..100)) {
        let header = signed(&known(), &body);
        for other in [[&body[..], &more].concat(), [&more[..], &body].concat()] {
            let verify = |header: &Lines, body: &[u8]| Verifier::new(known()).verify(header, body, UnixTime::from_secs(NOW));
            prop_assert_eq!(verify(&header, &other), Err(VerifyError::SignatureMismatch));
            prop_assert_eq!(verify(&signed(&known(), &other), &body), Err(VerifyError::SignatureMismatch));
        }
    }

    // B10: however the body is cut into chunks, good or bad.
    #[test]
    fn incremental_is_one_shot(
        body in vec(any::<u8>(), 0..2000),
        cuts in vec(any::<Index>(), 0..12),
        tampered in any::<bool>(),
        now in prop_oneof![Just(NOW), Just(NOW + 300), Just(NOW - 301)],
        header in prop_oneof![4 => Just(None), 1 => "[tv0-9=, a-f]{0,80}".prop_map(Some)],
    ) {
        let mut header = header.map_or_else(|| signed(&known(), &body), lines);
        if tampered {
            header[0].1.push('0');
        }
        let verifier = Verifier::new(known());
        let now = UnixTime::from_secs(now);

        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
        cuts.extend([0, body.len()]);
        cuts.sort_unstable();
        let chunked = verifier.begin(&header).and_then(|mut check| {
            for between in cuts.windows(2) {
                check.update(&body[between[0]..between[1]]);
            }
            check.finish(now)
        });
        prop_assert_eq!(chunked, verifier.verify(&header, &body, now));
    }

    // C1: by the absolute difference alone, at any time, and the same when the clocks are exchanged.
    #[test]
    fn the_window_is_symmetric(at in time(), now in now(), apart in prop_oneof![Just(300_u64), Just(301), 0..=600_u64]) {
        for now in [now, at.saturating_add(apart), at.saturating_sub(apart)] {
            let verify = |at: u64, now: u64| {
                let header = lines(sign(&known(), UnixTime::from_secs(at), b"{}"));
                Verifier::new(known()).verify(&header, b"{}", UnixTime::from_secs(now))
            };
            let result = verify(at, now);
            let skew = i128::from(now) - i128::from(at);
            if skew.abs() <= 300 {
                prop_assert_eq!(i128::from(result.unwrap().skew_seconds()), skew);
            } else {
                // What does not fit is the most that does.
                let reported = skew.clamp(-i128::from(i64::MAX), i64::MAX.into());
                let Err(VerifyError::OutsideWindow { skew_seconds }) = result else { panic!("{result:?}") };
                prop_assert_eq!(i128::from(skew_seconds), reported);
            }
            if now > 0 {
                prop_assert_eq!(verify(now, at).is_ok(), skew.abs() <= 300);
            }
        }
    }

    // B8: a time past 64 bits is outside the window, genuine or not, and is not cut to the bits that fit.
    #[test]
    fn a_time_past_64_bits(digits in "[1-9][0-9]{20,60}", upper in 1..=u64::MAX, now in 0..u64::MAX - 300) {
        let secret = Secret::new("current", SECRET).unwrap();
        let verifier = Verifier::new(secret.clone());
        for t in [digits, ((u128::from(upper) << 64) + u128::from(now)).to_string()] {
            let mac = secret.sign(&[t.as_bytes(), b"."], b"{}", Encoding::HexLower);
            let result = verifier.verify(&lines(format!("t={t},v1={mac}")), b"{}", UnixTime::from_secs(now));
            prop_assert!(matches!(result, Err(VerifyError::OutsideWindow { .. })), "{result:?}");
        }
    }

    // B8: any bytes, and bytes that look like a header, are read as the grammar says.
    #[test]
    fn the_grammar_of_the_header(value in prop_oneof![1 => vec(any::<u8>(), 0..200), 4 => almost_a_header()]) {
        let header = [("Asixto-Signature", &value)];
        let read = Asixto.signed(Headers::new(&header));
        prop_assert_eq!(read.map(|signed| signed.prefix.concat()).ok(), grammar(&value));
    }

    // B6: two lines are never one, whatever they say.
    #[test]
    fn two_lines_are_refused(first in almost_a_header(), second in almost_a_header()) {
        let twice = [("Asixto-Signature", first), ("x", Vec::new()), ("asixto-signature", second)];
        prop_assert_eq!(Asixto.signed(Headers::new(&twice)).err(), Some(HeaderFault::Repeated));
    }

    // A2, A3: any bytes, any JSON.
    #[test]
    fn no_body_makes_the_envelope_panic(bytes in vec(any::<u8>(), 0..300), json in json()) {
        prop_assert!(testing::event(bytes).is_err(), "random bytes are no envelope");
        if let Ok(event) = testing::event(json) {
            prop_assert!(!event.id().is_empty());
        }
    }

    // A2, A3, A5, A6, A8: an envelope in any order, with a few members changed, dropped, doubled or added.
    #[test]
    fn almost_an_envelope(mut members in Just(envelope_members()).prop_shuffle(), changes in vec(change(), 0..4)) {
        for (place, change) in changes {
            let place = place.index(members.len() + 1).min(members.len() - 1);
            match change {
                Change::Value(value) => members[place].1 = value,
                Change::Name(name) => members[place].0 = name,
                Change::Drop if members.len() > 1 => _ = members.remove(place),
                Change::Drop => {}
                Change::Double => members.push(members[place].clone()),
                Change::Add(name, value) => members.push((name, value)),
            }
        }
        let body = object(&members);
        let mut names: Vec<String> = members.iter().map(|(name, _)| serde_json::from_str(name).unwrap()).collect();
        let value = |wanted: &str| {
            let place = names.iter().position(|name| name == wanted);
            place.map(|place| members[place].1.as_str())
        };
        let text = |json: Option<&str>| json.and_then(|json| serde_json::from_str::<String>(json).ok());
        let expected = (
            text(value("id")).filter(|id| !id.is_empty()),
            text(value("type")),
            value("created").and_then(|json| json.parse::<u64>().ok()),
            text(value("environment")).filter(|word| ["live", "test"].contains(&word.as_str())),
            value("data").map(str::to_owned),
            text(value("replay_of")),
        );
        let replay_of_is_text_or_null = value("replay_of").is_none_or(|json| json == "null" || expected.5.is_some());
        names.sort_unstable();
        let distinct = names.windows(2).all(|pair| pair[0] != pair[1]);

        match testing::event(body.clone()) {
            Ok(event) => {
                prop_assert!(distinct, "{}", body);
                prop_assert!(replay_of_is_text_or_null, "{}", body);
                let seen = (
                    Some(event.id().to_owned()),
                    Some(event.event_type().to_owned()),
                    Some(event.created().as_secs()),
                    Some(event.environment().to_string()),
                    Some(event.raw_data().get().to_owned()),
                    event.replay_of().map(str::to_owned),
                );
                prop_assert_eq!(seen, expected, "{}", body);
            }
            Err(fault) => {
                let complete = expected.0.is_some()
                    // Whether an empty type or original is one, the contract does not say.
                    && expected.1.is_some_and(|text| !text.is_empty())
                    && expected.2.is_some()
                    && expected.3.is_some()
                    && expected.4.is_some()
                    && expected.5 != Some(String::new());
                prop_assert!(!(complete && distinct && replay_of_is_text_or_null), "{}: {}", fault, body);
            }
        }
    }

    // A7: raw data and raw body, byte for byte, whatever is around them.
    #[test]
    fn raw_data_byte_for_byte(data in json(), around in "[ \t\r\n]{0,3}") {
        let body = format!(
            r#"{around}{{"id":"1","data":{around}{data}{around},"type":"x.y","created":1,"environment":"test"}}{around}"#
        );
        let event = testing::event(body.clone()).unwrap();
        prop_assert_eq!(event.raw_data().get(), data);
        prop_assert_eq!(event.body(), body.as_bytes());
    }

    // F: wrong data panics never, spoils nothing else, and its error quotes nothing of it.
    #[test]
    fn a_data_error_never_contains_the_value(
        event_type in select(EVENT_TYPES.to_vec()),
        fields in subsequence(FIELDS.to_vec(), 0..FIELDS.len()),
        values in vec(prop_oneof![1 => json(), 3 => Just(String::new())], FIELDS.len()),
        bare in prop_oneof![9 => Just(None), 1 => json().prop_map(Some)],
    ) {
        let members: Vec<_> = fields
            .iter()
            .zip(values)
            .map(|((name, usual), value)| (format!("\"{name}\""), if value.is_empty() { (*usual).to_owned() } else { value }))
            .collect();
        let data = bare.unwrap_or_else(|| object(&members));
        let event = testing::event(format!(
            r#"{{"id":"1","type":"{event_type}","created":1,"environment":"live","data":{data}}}"#
        ))
        .unwrap();
        if let Err(error) = event.data() {
            for said in [error.to_string(), format!("{error:?}")] {
                for planted in [PLANTED_TEXT, PLANTED_NUMBER] {
                    prop_assert!(!said.contains(planted), "{}", said);
                }
            }
            prop_assert!(error.field() == "data" || FIELDS.iter().any(|(name, _)| *name == error.field()));
        }
        prop_assert_eq!(event.raw_data().get(), data);
    }
}

// B4, B8: any one bit of the header, the digits of `t` and of the MAC among them.
#[test]
fn a_flipped_bit_of_the_header() {
    let body = common::envelope(common::ID);
    let header = signed(&known(), &body).remove(0).1;
    let verify = |value: &[u8]| {
        Verifier::new(known()).verify(&[("asixto-signature", value)], body.as_bytes(), UnixTime::from_secs(NOW))
    };
    assert!(verify(header.as_bytes()).is_ok());
    let mut flips = 0;
    for place in 0..header.len() {
        for bit in 0..8 {
            let mut value = header.clone().into_bytes();
            value[place] ^= 1 << bit;
            assert!(verify(&value).is_err(), "bit {bit} of {place}: {:?}", value.escape_ascii().to_string());
            flips += 1;
        }
    }
    assert_eq!(flips, 8 * ("t=".len() + 10 + ",v1=".len() + 64));
}

// B8: near misses of every kind, with what is right among them.
fn almost_a_header() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        4 => "t=[0-9]{1,22}".boxed(),
        4 => "v1=[0-9a-f]{0,66}".boxed(),
        1 => "[ \t]{0,2}t=[1-9][0-9]{0,10}[ \t]{0,2}".boxed(),
        1 => "(T|t|v0|v1|v2|v10|V1|tt|) ?=?.{0,4}".boxed(),
        1 => "[ -~\t]{0,10}".boxed(),
    ];
    (vec(part, 0..5), prop_oneof![9 => Just(None), 1 => (any::<Index>(), any::<u8>()).prop_map(Some)]).prop_map(
        |(parts, spoilt)| {
            let mut value = parts.join(",").into_bytes();
            if let (Some((place, byte)), false) = (spoilt, value.is_empty()) {
                let place = place.index(value.len());
                value[place] = byte;
            }
            value
        },
    )
}

/// The grammar of the contract, in the words of the contract: what is signed ahead of the body, if it is one.
fn grammar(value: &[u8]) -> Option<Vec<u8>> {
    let text = str::from_utf8(value).ok()?;
    if !text.chars().all(|char| char.is_ascii_graphic() || char == ' ' || char == '\t') {
        return None;
    }
    let parts: Vec<_> = text.split(',').map(|part| part.trim_matches([' ', '\t'])).collect();
    let times: Vec<_> = parts.iter().filter_map(|part| part.strip_prefix("t=")).collect();
    let [t] = times[..] else { return None };
    if t.is_empty() || t.starts_with('0') || !t.chars().all(|char| char.is_ascii_digit()) {
        return None;
    }
    let signed = parts.iter().any(|part| part.strip_prefix("v1=").is_some_and(|mac| !mac.is_empty()));
    signed.then(|| format!("{t}.").into_bytes())
}

const PLANTED_TEXT: &str = "planted-text";
const PLANTED_NUMBER: &str = "987654321";

/// Any JSON, as text: with every kind of value, escapes, halves of surrogate pairs, repeated names and blanks.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        select(vec!["null", "true", "false", "0", "-0", "1e400", "1.0", "-7", r#""""#, r#""\ud800""#, r#""\u0000""#])
            .prop_map(str::to_owned),
        Just(PLANTED_NUMBER.to_owned()),
        Just(format!("-{PLANTED_NUMBER}.5e3")),
        Just(format!("\"{PLANTED_TEXT}\"")),
        any::<i64>().prop_map(|number| number.to_string()),
        "-?[1-9][0-9]{0,40}(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?",
        any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            (vec(inner.clone(), 0..6), "[ \n\t\r]{0,2}")
                .prop_map(|(values, blank)| format!("[{blank}{}{blank}]", values.join(&format!("{blank},")))),
            vec((member(), inner), 0..6).prop_map(|members| object(&members)),
        ]
    })
}

/// A name of a member, quoted.
fn member() -> impl Strategy<Value = String> {
    prop_oneof![
        9 => select(vec!["id", "type", "created", "environment", "data", "replay_of"]).prop_map(|name| format!("\"{name}\"")),
        1 => any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
    ]
}

fn envelope_members() -> Vec<(String, String)> {
    [
        (r#""id""#, r#""evt_1""#),
        (r#""type""#, r#""job.expired""#),
        (r#""created""#, "1787923100"),
        (r#""environment""#, r#""test""#),
        (r#""data""#, "{}"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

/// What can happen to one member of an envelope.
#[derive(Debug, Clone)]
enum Change {
    Value(String),
    Name(String),
    Drop,
    Double,
    Add(String, String),
}

fn change() -> impl Strategy<Value = (Index, Change)> {
    let change = prop_oneof![
        4 => json().prop_map(Change::Value),
        1 => member().prop_map(Change::Name),
        1 => Just(Change::Drop),
        1 => Just(Change::Double),
        4 => (member(), json()).prop_map(|(name, value)| Change::Add(name, value)),
    ];
    (any::<Index>(), change)
}

fn object(members: &[(String, String)]) -> String {
    let members: Vec<_> = members.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    format!("{{{}}}", members.join(", "))
}

/// Every field of the catalogue, with a value that it can have.
const FIELDS: [(&str, &str); 28] = [
    ("job_id", r#""planted-text""#),
    ("operation", r#""planted-text""#),
    ("status", r#""succeeded""#),
    ("credits_charged", "987654321"),
    ("error_code", r#""planted-text""#),
    ("result", "{}"),
    ("metadata", r#"{"planted-text":987654321}"#),
    ("metadata_omitted", "true"),
    ("usage_percent", "80.5"),
    ("used_credits", "987654321"),
    ("total_available", "987654321"),
    ("overage_credits", "0"),
    ("overage_spending_cap", "0"),
    ("run_id", r#""planted-text""#),
    ("server", r#""planted-text""#),
    ("failed_blocking_checks", r#"["planted-text"]"#),
    ("suspended", "false"),
    ("retired_tools", "0"),
    ("endpoint_id", r#""planted-text""#),
    ("url", r#""https://planted-text.example""#),
    ("reason", r#""planted-text""#),
    ("consecutive_failures", "5"),
    ("last_success_at", "null"),
    ("capability", r#""planted-text""#),
    ("tools", r#"["planted-text"]"#),
    ("conversation_id", "null"),
    ("requested_at", r#""2026-08-28T10:00:00Z""#),
    ("unknown", r#""planted-text""#),
];
