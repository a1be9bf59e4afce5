//! Is each way in which a signature fails to match called by its name, and nothing else?
#![cfg(test)]
#![cfg(feature = "explain")]

#[path = "../common/mod.rs"]
mod common;
mod deliveries;
mod senders;
mod sentences;

use std::collections::BTreeSet;

use asixto_webhook_core::{
    Asixto, Provider, UnixTime,
    explain::{Case, Certainty, Diagnosis, MOST_MACS, Verdict, codes},
    provider::{CloudEvents, StandardWebhooks},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use common::{FORGED_SECRET, Lines, MARKER, NEW_SECRET, NOW, SECRET, headers_at, secrets_of};
use deliveries::{
    BODY, Broken, DECODABLE, DECODABLE_STANDARD, HEX, PROVEN, SUSPECTED, agent, all, known, mac, message, pretty, tag,
};
use proptest::{prelude::*, test_runner::Config};

#[track_caller]
fn causes(diagnosis: &Diagnosis) -> Vec<(&'static str, Certainty)> {
    diagnosis.causes().iter().map(|cause| (cause.code(), cause.certainty())).collect()
}

// The table: exactly these causes, with this certainty, and the verdict that belongs to them.
#[test]
fn every_way_is_called_by_its_name() {
    let mut seen = BTreeSet::new();
    let mut complaints = Vec::new();
    for broken in all() {
        let diagnosis = broken.diagnose();
        if causes(&diagnosis) != broken.wrong {
            complaints.push(format!("expected {:?}, found {diagnosis}", broken.wrong));
        }
        let is_proven = broken.wrong.iter().any(|(_, certainty)| *certainty == PROVEN);
        assert!(!diagnosis.is_healthy() && diagnosis.macs() <= MOST_MACS);
        assert_eq!(matches!(diagnosis.verdict(), Verdict::Unexplained), !is_proven, "{diagnosis}");
        seen.extend(broken.wrong.iter().map(|(code, _)| *code));
    }
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n\n"));
    assert_eq!(seen, codes().collect(), "a code without a delivery, or the reverse");
}

#[test]
fn codes_are_words_and_documented() {
    let document = include_str!("../../src/explain/mod.rs");
    let mut seen = BTreeSet::new();
    for code in codes() {
        assert!(code.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'), "{code}");
        assert!(document.contains(&format!("`{code}`")), "{code} is not documented");
        assert!(seen.insert(code), "{code} stands for two things");
    }
}

/// A delivery that `provider` signs, taken as it is.
#[track_caller]
fn assert_healthy(secret: &str, diagnosis: &Diagnosis) {
    assert!(diagnosis.is_healthy() && diagnosis.causes().is_empty(), "{diagnosis}");
    assert_eq!(diagnosis.verdict(), &Verdict::Healthy { secret: secret.into(), skew_seconds: 0 });
    assert!(diagnosis.macs() <= 3);
}

// Nothing is wrong with what only looks as if.
#[test]
fn the_healthy_are_left_alone() {
    let in_order = || Broken::by(&[]);
    let rotation = || vec![("old", NEW_SECRET.to_owned()), ("production", SECRET.to_owned())];
    let odd = [
        format!("v0=1, t={NOW} ,\tv1={},v1={},,extra", mac(FORGED_SECRET, b""), known()),
        format!("v1={},t={NOW},v1=", known()),
    ];
    let mut healthy = vec![
        in_order(),
        in_order().signed(pretty()).came(pretty()),
        in_order().signed(format!("{BODY}\n")).came(format!("{BODY}\n")),
        in_order().signed(format!("\u{feff}{BODY}\u{fffd}")).came(format!("\u{feff}{BODY}\u{fffd}")),
        in_order().signed("").came(""),
        in_order().signed("a=1\0").came("a=1\0").line("Content-Encoding", "gzip").line("Content-Length", "9"),
        Broken { secrets: rotation(), ..in_order() },
        Broken { secrets: rotation(), ..in_order() }.value(format!(
            "t={NOW},v1={},v1={}",
            mac(FORGED_SECRET, b""),
            known()
        )),
        // A text that is refused, beside one that is right.
        Broken { secrets: [vec![("empty", String::new())], rotation()].concat(), ..in_order() },
        Broken { elsewhere: vec![("staging", SECRET.into())], ..in_order() },
    ];
    healthy.extend(odd.map(|value| in_order().value(value)));
    for delivery in &healthy {
        assert_healthy("production", &delivery.diagnose());
    }
    for skew_seconds in [-300, 300] {
        let diagnosis = in_order().at(NOW.checked_add_signed(skew_seconds).unwrap()).diagnose();
        assert_eq!(diagnosis.verdict(), &Verdict::Healthy { secret: "production".into(), skew_seconds });
    }
}

#[test]
fn every_provider() {
    fn check<P: Provider>(provider: &P, secret: &str, wrong: &str) {
        let lines = headers_at(provider, &secrets_of(".", secret), NOW, "id-1", BODY);
        let delivery = |text: &str, body: &str| {
            Broken::by(&[]).lines(lines.clone()).has(text).came(body).diagnose_as(provider.clone())
        };
        assert_healthy("production", &delivery(secret, BODY));
        assert_eq!(causes(&delivery(&format!("{secret}\n"), BODY)), [("secret_padded", PROVEN)]);
        assert_eq!(causes(&delivery(secret, &pretty())), [("body_reserialised", PROVEN)]);
        assert_eq!(causes(&delivery(wrong, BODY)), []);
        let renamed: Lines = lines.iter().map(|(name, value)| (format!("X-{name}"), value.clone())).collect();
        let renamed = Broken::by(&[]).lines(renamed).has(secret).diagnose_as(provider.clone());
        assert_eq!(causes(&renamed), [("header_renamed", PROVEN)]);
    }
    check(&Asixto, SECRET, FORGED_SECRET);
    check(&StandardWebhooks, DECODABLE_STANDARD, "whsec_plJ3nmyCDGBKInavdOK15jsl");
    check(&CloudEvents::new("Acme-Signature").unwrap(), "acme-secret", "other-secret");
    check(&agent(), "partner-secret", "other-secret");

    // N1: whichever way the header of the nonce is spelt.
    let lines = headers_at(&agent(), &secrets_of(".", "partner-secret"), NOW, "id-1", BODY);
    let respelt = lines.into_iter().map(|(name, value)| (name.replace("agent-nonce", "agente-nonce"), value)).collect();
    let respelt = Broken::by(&[]).lines(respelt).has("partner-secret").came(pretty()).diagnose_as(agent());
    assert_eq!(causes(&respelt), [("body_reserialised", PROVEN)]);

    // The one mistake that each makes with the other's secrets.
    let text = Broken::by(&[]).has(DECODABLE_STANDARD);
    let lines = |mac: Vec<u8>| {
        let of = |name: &str, value: String| (name.to_owned(), value);
        vec![
            of("webhook-id", "m".into()),
            of("webhook-timestamp", NOW.to_string()),
            of("webhook-signature", format!("v1,{}", STANDARD.encode(mac))),
        ]
    };
    let used_as_text = text.lines(lines(tag(DECODABLE_STANDARD, &[b"m.", &*message(BODY)].concat())));
    assert_eq!(causes(&used_as_text.diagnose_as(StandardWebhooks)), [("signer_used_text", PROVEN)]);
}

// A secret that nobody here knows: nothing is proven, and nothing invented.
#[test]
fn the_unexplained_stays_so() {
    for broken in [
        Broken::by(&[]).keyed(FORGED_SECRET),
        Broken::by(&[]).keyed(FORGED_SECRET).signed("another body altogether"),
        Broken::by(&[]).keyed(FORGED_SECRET).came(pretty()),
        Broken { elsewhere: vec![("staging", NEW_SECRET.into())], ..Broken::by(&[]) }.keyed(FORGED_SECRET),
        // One digit of the number is another.
        Broken::by(&[]).came(BODY.replace("1.50", "1.5")),
    ] {
        let diagnosis = broken.diagnose();
        assert_eq!(causes(&diagnosis), [], "{diagnosis}");
        assert_eq!(diagnosis.verdict(), &Verdict::Unexplained);
    }
}

// D3: neither a secret nor a MAC nor anything of the body, in whatever form a report takes.
#[test]
fn a_report_shows_nothing() {
    let pieces = |text: &str, length| -> Vec<String> {
        text.as_bytes().windows(length).map(|piece| String::from_utf8_lossy(piece).into_owned()).collect()
    };
    let mut forbidden: Vec<String> = [SECRET, NEW_SECRET, FORGED_SECRET, HEX, DECODABLE, DECODABLE_STANDARD]
        .iter()
        .flat_map(|secret| pieces(&secret["whsec_".len()..], 8))
        .collect();
    forbidden.extend(pieces(MARKER, 12));
    forbidden.push("no-secret-of-asixto".into());
    assert!(BODY.contains(MARKER));
    for mut broken in all() {
        // A label that gives its secret away is not shown either.
        let text = broken.secrets.first().map(|(_, text)| text.clone()).unwrap_or_default();
        let label: &'static str = text.leak();
        if let Some((first, _)) = broken.secrets.first_mut().filter(|_| label.len() > 8) {
            *first = label;
        }
        let diagnosis = broken.diagnose();
        let shown = format!("{diagnosis}\n{diagnosis:?}\n{diagnosis:#?}");
        let macs = broken.lines.iter().flat_map(|(_, value)| pieces(value, 16));
        for piece in forbidden.iter().cloned().chain(macs) {
            assert!(!shown.contains(&piece), "{piece} in {shown}");
        }
    }
    let case = Case::new(Asixto, UnixTime::from_secs(NOW)).secret(SECRET, SECRET).body(BODY).header("x", &SECRET);
    assert_eq!(format!("{case:?}"), r#"Case { provider: Asixto, secrets: ["1"], .. }"#);
}

/// A body with all that its readings differ in.
fn varied() -> String {
    let member = r#""na/me": ["é", "\u00fc", "<b>", 1.0, {"x": null}],"#;
    format!("{{{}\"end\": 0}}\n", member.repeat(100))
}

// The bound holds where everything is tried in vain, and is what ends the search.
#[test]
fn the_macs_are_counted() {
    let texts = [SECRET, NEW_SECRET, HEX].map(|text| ("production", format!(" \"{text}\"")));
    let mut broken = Broken { secrets: texts.to_vec(), ..Broken::by(&[]).keyed(FORGED_SECRET).came(varied()) };
    broken.elsewhere = vec![("staging", DECODABLE.into())];
    let diagnosis = broken.diagnose();
    assert_eq!(diagnosis.verdict(), &Verdict::Unexplained);
    assert!((500..=MOST_MACS).contains(&diagnosis.macs()), "{}", diagnosis.macs());
    // The usual case: the signer has another secret. All is tried, also where two are valid.
    let usual = Broken::by(&[]).keyed(FORGED_SECRET).diagnose();
    assert!(usual.is_complete() && usual.macs() < MOST_MACS * 2 / 3, "{}", usual.macs());
    let rotation =
        Broken { secrets: [SECRET, NEW_SECRET].map(|text| ("production", text.into())).to_vec(), ..Broken::by(&[]) };
    assert!(rotation.keyed(FORGED_SECRET).diagnose().is_complete());
    // Many secrets would take more than the bound: it ends the search.
    let many = (0..40).map(|place| ("production", format!("whsec_{}", STANDARD.encode(format!("secret {place}")))));
    let many = Broken { secrets: many.collect(), ..Broken::by(&[]).keyed(FORGED_SECRET) };
    let many = many.diagnose();
    assert_eq!((many.macs(), many.is_complete()), (MOST_MACS, false));
}

// What was left out is told, where it could matter.
#[test]
fn what_was_not_tried_is_told() {
    let strange = || Broken::by(&[]).keyed(FORGED_SECRET);
    let large = || format!("{{\"a\":\"{}\"}}", "x".repeat(1 << 20));
    let sentence = "not everything was tried";
    for (broken, is_complete) in [
        (strange(), true),
        (strange().came(large()), false),
        (strange().has(format!("whsec_{}", "x".repeat(4100))), false),
        (strange().line("x-long", &"x".repeat(9000)), false),
        ((0..200).fold(strange(), |broken, at| broken.line(&format!("x-{at}"), "x")), false),
        (strange().value(format!("t={NOW}{}", ",v1=00".repeat(100))), false),
        // Found, or in order: no more was needed.
        (Broken::by(&[]).came(large()).signed(large()), true),
        (Broken::by(&[]).came(large()).signed(large()).at(NOW + 301), true),
        (Broken::by(&[]).came(large()).signed(large()).has(format!("{SECRET}\n")), true),
    ] {
        let diagnosis = broken.diagnose();
        assert_eq!(diagnosis.is_complete(), is_complete, "{diagnosis}");
        assert_eq!(diagnosis.to_string().contains(sentence), !is_complete, "{diagnosis}");
    }
}

// Whatever a sender sends, the search ends soon, takes little, and finds nothing that is not there.
#[test]
fn hostile_deliveries() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let objects = "{\"a\":".repeat(20_000) + "1" + &"}".repeat(20_000);
    let strange = || Broken::by(&[]).keyed(FORGED_SECRET);
    // Read in every way, and no MAC to compute: that the MACs are counted is shown above.
    let unsigned = || Broken::by(&[]).lines(vec![]);
    let repeated = (0..1000).fold(strange(), |broken, _| broken.line("Asixto-Signature", "t=1,v1=00"));
    let words = format!("{} ", "0".repeat(64)).repeat(100);
    for broken in [
        strange().value(",".repeat(100_000)),
        strange().value(format!("t={NOW}{}", ",v1=00".repeat(20_000))),
        strange().value(format!("t={},v1=00", "9".repeat(100_000))),
        strange().value("t=1,v1=00,".repeat(800)),
        strange().value("%".repeat(8000)),
        strange().value(words),
        repeated,
        (0..1000)
            .fold(strange(), |broken, at| broken.line(&format!("x-{at}-signature"), &format!("t={NOW},v1={at:064}"))),
        unsigned().came(deep.clone()),
        unsigned().came(&deep[..150_000]),
        unsigned().came(objects),
        unsigned().came("\"\\u".repeat(10_000)),
        unsigned().came(vec![0xff; 20_000]),
        unsigned().came(format!("[{}1]", "1,".repeat(20_000))),
        unsigned().came(format!("{}\r\n", "f".repeat(16))),
        strange().has("=".repeat(100_000)),
        strange().has("a,".repeat(2000)),
    ] {
        let diagnosis = broken.diagnose();
        assert!(diagnosis.causes().iter().all(|cause| cause.certainty() == SUSPECTED), "{diagnosis}");
        assert!(diagnosis.macs() <= MOST_MACS);
    }
}

/// A document, one member a line, so that each style writes it in its own way.
fn document() -> impl Strategy<Value = serde_json::Value> {
    let text = "[a-c/<é\u{1}\"\\\\ ]{0,6}";
    let leaf = prop_oneof![any::<i64>().prop_map(serde_json::Value::from), text.prop_map(serde_json::Value::from)];
    let value =
        leaf.prop_recursive(3, 20, 4, |inner| prop::collection::vec(inner, 0..4).prop_map(serde_json::Value::from));
    prop::collection::btree_map("[a-f]{1,3}", value, 2..5).prop_map(|members| members.into_iter().collect())
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::with_cases(64) })]

    // Whatever is written anew is recognised, in either direction, and said to be nothing else.
    #[test]
    fn documents_written_anew(document in document(), is_compacted in any::<bool>()) {
        let (compact, pretty) = (document.to_string(), format!("{document:#}"));
        let (signed, came) = if is_compacted { (pretty, compact) } else { (compact, pretty) };
        let broken = Broken::by(&["body_reserialised"]).signed(signed).came(came);
        prop_assert_eq!(causes(&broken.diagnose()), broken.wrong);
    }

    // Whatever the bytes are, as they are they are healthy, and with one bit changed they are not.
    #[test]
    fn any_bytes(body in prop::collection::vec(any::<u8>(), 1..200), place in any::<prop::sample::Index>(), bit in 0..8_u8) {
        let broken = Broken::by(&[]).signed(&body);
        let mut changed = body.clone();
        changed[place.index(body.len())] ^= 1 << bit;
        assert_healthy("production", &broken.came(body.clone()).diagnose());
        let diagnosis = Broken::by(&[]).signed(&body).came(changed).diagnose();
        prop_assert!(!diagnosis.is_healthy());
    }
}
