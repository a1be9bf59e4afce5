//! The other senders, whose headers and secrets go wrong in ways of their own.

use asixto_webhook_core::{
    Provider,
    explain::{Certainty, Diagnosis},
    provider::{CloudEvents, StandardWebhooks},
};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD},
};

use crate::{
    causes,
    common::{Lines, NOW, SECRET, headers_at, secrets_of},
    deliveries::{BODY, Broken, DECODABLE_STANDARD, PROVEN, TEXT, agent, mac, tag},
};

const PARTNER: &str = "partner-secret";
/// In both cases, as identifiers are.
const ID: &str = "Id-1";

fn agents(body: &str) -> Broken {
    Broken::by(&[]).lines(headers_at(&agent(), &secrets_of(".", PARTNER), NOW, ID, body)).has(PARTNER).came(body)
}

fn standards(issued: &str) -> Broken {
    Broken::by(&[]).lines(headers_at(&StandardWebhooks, &secrets_of(".", issued), NOW, ID, BODY)).has(issued)
}

/// Each of the header lines in another form.
fn rewritten(broken: Broken, rewrite: impl Fn(&str, &str) -> (String, String)) -> Broken {
    let lines: Lines = broken.lines.iter().map(|(name, value)| rewrite(name, value)).collect();
    broken.lines(lines)
}

/// Those values in another form whose line ends with `name`.
fn values(broken: Broken, name: &str, rewrite: impl Fn(&str) -> String) -> Broken {
    rewritten(broken, |other, value| {
        let value = if other.ends_with(name) { rewrite(value) } else { value.to_owned() };
        (other.to_owned(), value)
    })
}

fn proven(codes: &[&'static str]) -> Vec<(&'static str, Certainty)> {
    codes.iter().map(|code| (*code, PROVEN)).collect()
}

#[track_caller]
fn assert_proven(codes: &[&'static str], diagnosis: &Diagnosis) {
    assert_eq!(causes(diagnosis), proven(codes), "{diagnosis}");
}

// The MAC matches, and no rewriting of the headers that changes nothing is why.
#[test]
fn bodies_that_begin_otherwise() {
    for body in ["\u{feff}{}", " {}", "\n{}", "[1]", "", "text"] {
        let delivery = || agents(body);
        assert_proven(&["body_begins_otherwise"], &delivery().diagnose_as(agent()));
        let padded = delivery().has(format!("{PARTNER}\n"));
        assert_proven(&["secret_padded", "body_begins_otherwise"], &padded.diagnose_as(agent()));
    }
    // What was signed begins as it should: what came before it is to blame.
    assert_proven(&["body_bom_added"], &agents(BODY).came(format!("\u{feff}{BODY}")).diagnose_as(agent()));
}

#[test]
fn a_nonce_keeps_its_case() {
    let upper = values(agents(BODY), "signature", str::to_ascii_uppercase);
    assert_proven(&["header_upper_case"], &upper.diagnose_as(agent()));
}

#[test]
fn joined_lines() {
    for (name, comma, times) in [("", ", ", 2), ("", ",", 3), ("signature", ",", 2), ("signature", ",", 4)] {
        let joined = |value: &str| vec![value; times].join(comma);
        assert_proven(&["header_joined"], &values(agents(BODY), name, joined).diagnose_as(agent()));
        let standard = values(standards(DECODABLE_STANDARD), name, joined);
        assert_proven(&["header_joined"], &standard.diagnose_as(StandardWebhooks));
    }
    // Not the same twice, and the good one is the second.
    let stale = values(standards(DECODABLE_STANDARD), "timestamp", |value| format!("1787923100,{value}"));
    let stale = values(stale, "signature", |value| format!("v1,{},{value}", STANDARD.encode([7; 32])));
    assert_proven(&["header_joined"], &stale.diagnose_as(StandardWebhooks));
}

#[test]
fn lines_of_another_family() {
    for (family, shown) in [("svix-", "svix-signature"), ("Acme-Hook-", "acme-hook-signature")] {
        let renamed = rewritten(standards(DECODABLE_STANDARD), |name, value| {
            (name.replace("webhook-", family), value.to_owned())
        });
        let diagnosis = renamed.diagnose_as(StandardWebhooks);
        assert_proven(&["header_renamed"], &diagnosis);
        assert!(diagnosis.causes()[0].evidence().contains(shown), "{diagnosis}");
    }
}

#[test]
fn secrets_here_in_another_form() {
    let standard = |text: String| standards(DECODABLE_STANDARD).has(text).diagnose_as(StandardWebhooks);
    assert_proven(&["secret_encoded"], &standard(STANDARD.encode(DECODABLE_STANDARD)));
    assert_proven(&["secret_encoded"], &standard(STANDARD_NO_PAD.encode(format!("{DECODABLE_STANDARD}\n"))));
    let text =
        |text: String| standards(&format!("whsec_{}", STANDARD.encode(TEXT))).has(text).diagnose_as(StandardWebhooks);
    assert_proven(&["secret_decoded"], &text(TEXT.into()));
    assert_proven(&["secret_decoded"], &text(format!("whsec_{TEXT}")));
    // A text that is good as it is was not decoded here.
    let message = format!("{ID}.{NOW}.{BODY}");
    let dropped = tag(&DECODABLE_STANDARD["whsec_".len()..], message.as_bytes());
    let dropped = values(standards(DECODABLE_STANDARD), "signature", |_| format!("v1,{}", STANDARD.encode(&dropped)));
    assert_proven(&["signer_dropped_prefix"], &dropped.diagnose_as(StandardWebhooks));
    // Without a prefix nothing tells which side is wrong.
    let encoded = agents(BODY).has(STANDARD.encode(PARTNER)).diagnose_as(agent());
    assert_proven(&["signer_decoded_secret"], &encoded);
    assert!(encoded.causes()[0].fix().contains("or the text here"), "{encoded}");
}

/// A time on its way, and another one in the MAC.
#[test]
fn two_units() {
    fn check<P: Provider>(provider: &P, issued: &str) {
        let delivery = |seconds: u64| {
            Broken::by(&[]).lines(headers_at(provider, &secrets_of(".", issued), seconds, ID, BODY)).has(issued)
        };
        let sent = |signed: u64, sent: u64| {
            let rewrite = |value: &str| value.replace(&signed.to_string(), &sent.to_string());
            values(delivery(signed), "", rewrite).diagnose_as(provider.clone())
        };
        assert_proven(&["timestamp_in_two_units"], &sent(NOW, NOW * 1000 + 123));
        assert_proven(&["timestamp_in_two_units"], &sent(NOW * 1000, NOW));
    }
    check(&CloudEvents::new("Acme-Signature").unwrap(), "acme-secret");
    check(&StandardWebhooks, DECODABLE_STANDARD);
    check(&agent(), PARTNER);
}

// A secret of a sender that has no prefix is no other text than what it is.
#[test]
fn the_unexplained_stays_so() {
    let strange = values(agents(BODY), "signature", |_| mac(SECRET, b"other"));
    let diagnosis = strange.diagnose_as(agent());
    assert!(diagnosis.causes().is_empty() && diagnosis.is_complete(), "{diagnosis}");
}
