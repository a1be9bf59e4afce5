//! Which signed bodies are envelopes, and does what a handler sees agree with what was sent?
#![cfg(test)]

mod common;

use asixto_webhook_core::{Bytes, Data, Environment, Event, Outcome};
use common::{
    ID, answered, builder,
    capture::captured,
    deliver, envelope, envelope_in,
    fakes::{FakeStore, Says},
    processed,
};
use tracing::Level;

/// Delivers a signed body that has to be processed.
#[track_caller]
fn accept(body: impl Into<Bytes>) -> Event {
    processed(deliver(&builder().dedup(FakeStore::fresh()).build().unwrap(), body)).0
}

/// Delivers a signed body that has to be refused before the store hears of it.
#[track_caller]
fn refuse(body: impl Into<Bytes>) {
    let answer = answered(deliver(&builder().dedup(FakeStore::untouched()).build().unwrap(), body));
    assert_eq!((answer.outcome(), answer.status()), (Outcome::InvalidEnvelope, 400));
}

/// An envelope with the members given, as JSON.
fn of(members: &[(&str, &str)]) -> String {
    let members: Vec<_> = members.iter().map(|(name, value)| format!("{name}:{value}")).collect();
    format!("{{{}}}", members.join(","))
}

const VALID: [(&str, &str); 5] = [
    (r#""id""#, r#""evt_1""#),
    (r#""type""#, r#""job.expired""#),
    (r#""created""#, "1787923100"),
    (r#""environment""#, r#""live""#),
    (r#""data""#, r#"{"job_id":"j1"}"#),
];

/// [`VALID`] with one member's value in place of its own.
fn with(name: &str, value: &str) -> String {
    let quoted = format!("\"{name}\"");
    let mut members = VALID.to_vec();
    match members.iter_mut().find(|(known, _)| *known == quoted) {
        Some(member) => member.1 = value,
        None => members.push((&quoted, value)),
    }
    of(&members)
}

// A2, A4: a string is a string, and what is inside is the sender's affair.
#[test]
fn empty_texts() {
    assert_eq!(accept(with("type", r#""""#)).event_type(), "");
    assert_eq!(accept(with("replay_of", r#""""#)).replay_of(), Some(""));
}

// A2
#[test]
fn five_fields() {
    let body = of(&VALID);
    let event = accept(body.clone());
    assert_eq!(event.id(), "evt_1");
    assert_eq!(event.event_type(), "job.expired");
    assert_eq!(event.created().as_secs(), 1_787_923_100);
    assert_eq!(event.environment(), Environment::Live);
    assert_eq!(event.raw_data().get(), r#"{"job_id":"j1"}"#);
    assert_eq!(event.replay_of(), None);
    assert_eq!(event.body(), body.as_bytes());
}

// A2: all five, in any order.
#[test]
fn each_field_is_required() {
    for at in 0..VALID.len() {
        let mut members = VALID.to_vec();
        members.remove(at);
        refuse(of(&members));

        let mut members = VALID.to_vec();
        members.rotate_left(at);
        assert_eq!(accept(of(&members)).id(), "evt_1");
    }
}

// A2: a sixth on a manual replay, which is then a string; G2: it is not what is deduplicated.
#[test]
fn a_replay() {
    let event = accept(with("replay_of", r#""evt_0""#));
    assert_eq!(event.replay_of(), Some("evt_0"));
    assert_eq!(event.id(), "evt_1");
    for wrong in ["7", "true", "{}", r#"["evt_0"]"#] {
        refuse(with("replay_of", wrong));
    }
}

// A2: null reads as absent, with a warning.
#[test]
fn replay_of_null() {
    let (event, lines) = captured(|| accept(with("replay_of", "null")));
    assert_eq!(event.replay_of(), None);
    let warnings: Vec<_> = lines.iter().filter(|line| line.level == Level::WARN).collect();
    assert_eq!(warnings.len(), 1, "{lines:#?}");
    assert!(warnings[0].message().contains("replay_of"), "{lines:#?}");
    assert_eq!(warnings[0].field("event_id"), Some("evt_1"));

    let (_, lines) = captured(|| accept(of(&VALID)));
    assert!(lines.iter().all(|line| line.level != Level::WARN), "{lines:#?}");
}

// A2: extra fields are ignored, whatever is in them.
#[test]
fn extra_fields() {
    for value in ["null", "1", r#"{"id":"other"}"#, r#"[[["deep"]]]"#, r#""\ud800""#, "1e999"] {
        assert_eq!(accept(with("version", value)).id(), "evt_1", "{value}");
    }
    // Names are compared as they are.
    for name in ["ID", "Id", "id ", "i\u{301}d", "", "replayOf"] {
        assert_eq!(accept(with(name, r#""other""#)).id(), "evt_1", "{name:?}");
    }
}

// A3: any non-empty string; everything else is refused, and nothing reaches the store.
#[test]
fn an_id_is_a_string_with_something_in_it() {
    for wrong in [r#""""#, "null", "0", "1", "true", "[]", r#"["evt_1"]"#, "{}", r#"{"id":"evt_1"}"#] {
        refuse(with("id", wrong));
    }
}

// A3: opaque, of any length and with anything in it; the event keeps it as sent.
#[test]
fn odd_ids() {
    let long = "x".repeat(100_000);
    let ids = [
        "\"",
        "'; DROP TABLE events; --",
        "\\",
        "\n",
        "\0",
        " ",
        "🦀",
        "\u{202e}",
        "é",
        "e\u{301}",
        "null",
        "0",
        &long,
    ];
    let mut keys = Vec::new();
    for id in ids {
        let store = FakeStore::fresh();
        let receiver = builder().dedup(store.clone()).build().unwrap();
        let (event, _) = processed(deliver(&receiver, with("id", &serde_json::to_string(id).unwrap())));
        assert_eq!(event.id(), id);
        keys.push(store.claimed().0);
    }
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), ids.len(), "two of them share a key");
}

// A3: the same text is the same id, however it was escaped.
#[test]
fn an_escaped_id_is_the_same_id() {
    let key = |id: &str| {
        let store = FakeStore::fresh();
        let receiver = builder().dedup(store.clone()).build().unwrap();
        let (event, _) = processed(deliver(&receiver, with("id", id)));
        assert_eq!(event.id(), "a/🦀");
        store.claimed().0
    };
    assert_eq!(key(r#""a/🦀""#), key(r#""\u0061\/\ud83e\udd80""#));
}

// A4: a type outside the catalogue is delivered, with its raw data.
#[test]
fn an_unknown_type() {
    for event_type in ["job.paused", "JOB.SUCCEEDED", "nothing", "🦀"] {
        let event = accept(with("type", &format!("\"{event_type}\"")));
        assert_eq!(event.event_type(), event_type);
        assert!(matches!(event.data(), Ok(Data::Unknown)));
        assert_eq!(event.raw_data().get(), r#"{"job_id":"j1"}"#);
    }
    for wrong in ["null", "1", r#"["job.expired"]"#, "{}", "false"] {
        refuse(with("type", wrong));
    }
}

// A5: a non-negative integer of unix seconds.
#[test]
fn created() {
    for (text, seconds) in [("0", 0), ("1", 1), ("4294967296", 1 << 32), ("18446744073709551615", u64::MAX)] {
        assert_eq!(accept(with("created", text)).created().as_secs(), seconds);
    }
    for wrong in ["-1", "1.5", "1787923100.0", "1e9", "null", r#""1787923100""#, "true", "[1787923100]", "{}"] {
        refuse(with("created", wrong));
    }
    // Never cut to what fits.
    refuse(with("created", "18446744073709551616"));
    refuse(with("created", "340282366920938463463374607431768211456"));
}

// A6: one of two words.
#[test]
fn the_environment() {
    assert_eq!(accept(with("environment", r#""live""#)).environment(), Environment::Live);
    assert_eq!(accept(with("environment", r#""test""#)).environment(), Environment::Test);
    for wrong in [r#""Live""#, r#""production""#, r#""live ""#, r#""""#, "null", "1", "true", r#"["live"]"#] {
        refuse(with("environment", wrong));
    }
}

// A6: a receiver that declares its own refuses the other, with a code for it and before the store.
#[test]
fn the_declared_environment() {
    for (declared, other) in [(Environment::Live, "test"), (Environment::Test, "live")] {
        let receiver = |store: &FakeStore| builder().dedup(store.clone()).environment(declared).build().unwrap();
        let store = FakeStore::untouched();
        let answer = answered(deliver(&receiver(&store), envelope_in(other, ID)));
        assert_eq!((answer.outcome(), answer.status()), (Outcome::WrongEnvironment, 400));
        assert_eq!(store.asked(), []);
        drop(processed(deliver(&receiver(&FakeStore::fresh()), envelope_in(declared.as_str(), ID))));
    }
}

// A7: any JSON value, byte for byte.
#[test]
fn data_of_any_kind() {
    for data in [
        "null",
        "true",
        "0",
        "-0",
        "1e400",
        "0.10",
        "12345678901234567890123456789",
        r#""text \u00e9 \ud800""#,
        "[]",
        "[1, 2 ,3]",
        "{}",
        r#"{"b":1, "a":2,"a":3}"#,
        "{\n  \"k\"\t: \"v\\/\"\r\n}",
    ] {
        let body = with("data", data);
        let event = accept(body.clone());
        assert_eq!(event.raw_data().get(), data);
        assert_eq!(event.body(), body.as_bytes());
    }
}

// A7: at any depth that the body limit allows, without overflowing the stack.
#[test]
fn depth_costs_no_stack() {
    let depth = 100_000;
    let arrays = "[".repeat(depth) + &"]".repeat(depth);
    let objects = r#"{"a":"#.repeat(depth / 3) + "0" + &"}".repeat(depth / 3);
    for deep in [&arrays, &objects] {
        let event = accept(with("data", deep));
        assert_eq!(event.raw_data().get(), deep);
        assert!(event.data().is_err() || deep.starts_with('{'));
        drop(event);

        accept(with("extra", deep));
        // Where a field has to be something else, and where the body is nothing else.
        refuse(with("id", deep));
        refuse(deep.clone());
        // Broken off, so that it is not JSON.
        refuse(deep[..deep.len() - 1].to_owned());
    }
}

// A7, K10: nor does a forged one that is only glanced at.
#[test]
fn depth_costs_no_stack_before_the_signature_holds() {
    let deep = "[".repeat(200_000);
    for body in
        [deep.clone(), format!(r#"{{"data":{deep}"#), format!(r#"{{"id":{deep}"#), format!(r#"{{"x":1,"type":{deep}"#)]
    {
        let receiver = builder().dedup(FakeStore::untouched()).build().unwrap();
        let answer = answered(common::post(&receiver, &common::Lines::new(), body));
        assert_eq!(answer.outcome(), Outcome::MissingHeader);
    }
}

// A8: a name that appears twice at the top level, in whichever spelling and with whichever value.
#[test]
fn a_repeated_name() {
    let spellings = [
        (r#""id""#, r#""\u0069d""#),
        (r#""type""#, r#""typ\u0065""#),
        (r#""created""#, r#""\u0063reated""#),
        (r#""environment""#, r#""environmen\u0074""#),
        (r#""data""#, r#""\u0064\u0061\u0074\u0061""#),
    ];
    for (at, (plain, escaped)) in spellings.into_iter().enumerate() {
        let (name, value) = VALID[at];
        assert_eq!(name, plain);
        // The escaped spelling alone is as good.
        let mut members = VALID.to_vec();
        members[at].0 = escaped;
        accept(of(&members));

        for second in [plain, escaped] {
            for value in [value, "null"] {
                for place in [0, VALID.len()] {
                    let mut members = VALID.to_vec();
                    members.insert(place, (second, value));
                    refuse(of(&members));
                }
            }
        }
    }
    // Any name: also one that is optional, ignored, empty, or no text at all.
    for name in [r#""replay_of""#, r#""x""#, r#""""#, r#""\ud800""#] {
        let twice = [VALID.to_vec(), vec![(name, r#""1""#), (name, r#""1""#)]].concat();
        refuse(of(&twice));
        accept(of(&twice[..VALID.len() + 1]));
    }
    // Two names that are not the same.
    let halves = [VALID.to_vec(), vec![(r#""\ud800""#, "1"), (r#""\udbff""#, "1"), ("\"\u{fffd}\"", "1")]].concat();
    accept(of(&halves));
}

// A8: inside `data` it is the user's affair.
#[test]
fn a_repeated_name_inside_data() {
    let data = r#"{"id":"1","id":"2","job_id":"j1","job_id":"j2"}"#;
    assert_eq!(accept(with("data", data)).raw_data().get(), data);
}

// B11, A2: what is signed can still be no envelope.
#[test]
fn not_an_object() {
    for body in [
        "",
        " ",
        "null",
        "true",
        "1",
        "\"evt_1\"",
        "[]",
        "{",
        "}",
        "{}",
        "{]",
        "nul",
        "id=evt_1&type=job.expired",
        "{'id':'evt_1'}",
        "<xml/>",
    ] {
        refuse(body);
    }
    let valid = of(&VALID);
    accept(format!(" \r\n\t{valid}\n "));
    for broken in [
        format!("{valid}x"),
        format!("{valid}{valid}"),
        format!("{valid},"),
        valid.replace("\"data\":", "\"data\":,"),
        valid.replacen('{', "{,", 1),
        format!("[{valid}]"),
        // Comments, trailing commas and single quotes are not JSON.
        format!("{valid}//"),
        valid.replace("}}", "},}"),
        valid.replace("\"evt_1\"", "'evt_1'"),
        valid.replace("1787923100", "01787923100"),
        valid.replace("1787923100", "+1787923100"),
        valid.replace("1787923100", "NaN"),
        // A raw control character in a string.
        valid.replace("evt_1", "evt\n1"),
    ] {
        assert_ne!(broken, valid);
        refuse(broken);
    }
}

// A1, B10: a byte order mark is signed like any byte, and is not JSON.
#[test]
fn a_byte_order_mark() {
    refuse(format!("\u{feff}{}", of(&VALID)));
}

// B10: no UTF-8 step before the signature; behind it the body has to be JSON, which is UTF-8.
#[test]
fn not_utf8() {
    let valid = of(&VALID);
    for (wrong, inside) in [(&b"\xff"[..], "evt_1"), (b"\xed\xa0\x80", "evt_1"), (b"\xc3", "j1"), (b"\xe9", "j1")] {
        let at = valid.find(inside).unwrap();
        let body = [&valid.as_bytes()[..at], wrong, &valid.as_bytes()[at..]].concat();
        refuse(body);
    }
    let wide: Vec<u8> = valid.encode_utf16().flat_map(u16::to_le_bytes).collect();
    refuse(wide);
}

// H4: nothing in a large envelope is cut.
#[test]
fn a_large_envelope_is_kept_whole() {
    let data = format!("\"{}\"", "d".repeat(260_000));
    let body = with("data", &data);
    let event = accept(body.clone());
    assert_eq!(event.raw_data().get().len(), 260_002);
    assert_eq!(event.body(), body.as_bytes());
}

// A3, E7: what is no envelope is refused also where the store would not answer.
#[test]
fn a_store_that_is_down_hears_of_no_invalid_envelope() {
    let store = FakeStore::default().claim(Says::Fails);
    let receiver = builder().dedup(store.clone()).build().unwrap();
    let answer = answered(deliver(&receiver, envelope("")));
    assert_eq!(answer.outcome(), Outcome::InvalidEnvelope);
    assert_eq!(store.asked(), []);
}
