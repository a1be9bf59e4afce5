//! What a receiver has to reject.

use asixto_webhook_core::{Bytes, Outcome};

use super::{TIMESTAMPED, flip_last_digit, forged, refused};
use crate::{
    kit::Kit,
    probe::{
        Point::{K1, K3, K4, K5, K8},
        Probe,
        Senders::All,
        Step,
    },
};

const BEFORE_ANYTHING: &str = "verify before anything else happens, and answer 400 where no signature matches";
const ONE_LINE: &str =
    "count the header's lines in any casing, and refuse more than one: never take the first, never join";
const GRAMMAR: &str = "answer 400 to a header that cannot be read, without an exception";
const ENVELOPE: &str = "check the envelope after the signature, and refuse what has no usable `id`";
const WINDOW: &str = "compare |now - t| with 300 s in whole seconds, past and future alike";
const EXACT: &str = "compare the whole text of the MAC, as it is, in constant time";
const BOUNDED: &str = "bound the body while it is read, whatever length was announced, and answer 413";

pub(super) const PROBES: &[Probe] = &[
    Probe::new("reject/get", "A1", K5, "another method", "answer 405 with `Allow: POST` to other methods", |kit| {
        refused(kit.plain().request().method("GET"), Outcome::MethodNotAllowed)
    })
    .decided()
    .of(All),
    Probe::new("reject/missing", "B7", K5, "no signature header", BEFORE_ANYTHING, |kit| {
        refused(kit.plain().without_signature(), Outcome::MissingHeader)
    })
    .of(All),
    Probe::new("reject/repeated", "B6", K5, "the header twice, equal", ONE_LINE, |kit| {
        let delivery = kit.plain();
        let (name, value) = delivery.signature();
        refused(delivery.request().header(name, value), Outcome::RepeatedHeader)
    })
    .of(All),
    Probe::new("reject/repeated-case", "B6", K5, "the header twice, in two casings", ONE_LINE, |kit| {
        let delivery = kit.plain();
        let (name, value) = delivery.signature();
        refused(delivery.request().header(name.to_uppercase(), value), Outcome::RepeatedHeader)
    })
    .of(All),
    Probe::new("reject/repeated-good-first", "B6", K5, "the header twice, the good one first", ONE_LINE, |kit| {
        let delivery = kit.plain();
        let (name, value) = delivery.signature();
        refused(delivery.request().header(name, flip_last_digit(value)), Outcome::RepeatedHeader)
    })
    .of(All),
    Probe::new("reject/repeated-good-last", "B6", K5, "the header twice, the good one last", ONE_LINE, |kit| {
        let delivery = kit.plain();
        let (name, value) = delivery.signature();
        let bad = delivery.without_signature().header(name.clone(), flip_last_digit(value.clone()));
        refused(bad.header(name, value), Outcome::RepeatedHeader)
    })
    .of(All),
    Probe::new("reject/empty", "B7", K5, "an empty header", GRAMMAR, |kit| {
        refused(kit.plain().resigned(|_| String::new()), Outcome::MalformedHeader)
    })
    .of(All),
    Probe::new(
        "reject/joined",
        "B8",
        K5,
        "two headers joined by a proxy",
        "refuse a header with a second `t`: a proxy has joined two",
        |kit| refused(kit.plain().resigned(|value| format!("{value}, {value}")), Outcome::MalformedHeader),
    )
    .decided()
    .of(TIMESTAMPED),
    Probe::new("reject/no-timestamp", "B8", K5, "no timestamp", GRAMMAR, |kit| {
        refused(kit.plain().resigned(|value| value.replacen("t=", "x=", 1)), Outcome::MalformedHeader)
    })
    .of(TIMESTAMPED),
    Probe::new("reject/text-timestamp", "B8", K5, "a timestamp that is no number", GRAMMAR, |kit| {
        refused(kit.plain().resigned(|value| value.replacen("t=", "t=now", 1)), Outcome::MalformedHeader)
    })
    .of(TIMESTAMPED),
    Probe::new(
        "reject/odd-timestamp",
        "B8",
        K5,
        "a timestamp with a leading zero",
        "take a timestamp of digits without a leading zero, and refuse any other",
        |kit| refused(kit.plain().resigned(|value| value.replacen("t=", "t=0", 1)), Outcome::MalformedHeader),
    )
    .decided()
    .of(TIMESTAMPED),
    Probe::new("reject/huge-timestamp", "B8", K5, "a timestamp of thirty digits", GRAMMAR, |kit| {
        let huge = format!("t={}", "9".repeat(30));
        refused(kit.plain().resigned(|value| value.replacen("t=", &huge, 1)), Outcome::SignatureMismatch)
    })
    .of(TIMESTAMPED),
    Probe::new("reject/no-signature", "B8", K5, "no signature of a known version", GRAMMAR, |kit| {
        refused(kit.plain().resigned(|value| value.replace("v1=", "v2=")), Outcome::MalformedHeader)
    })
    .of(TIMESTAMPED),
    Probe::new("reject/empty-signature", "B8", K5, "a signature without a value", GRAMMAR, |kit| {
        let empty = |value: String| value.split(',').next().unwrap_or_default().to_owned() + ",v1=";
        refused(kit.plain().resigned(empty), Outcome::MalformedHeader)
    })
    .of(TIMESTAMPED),
    Probe::new(
        "reject/not-ascii",
        "B8",
        K5,
        "a byte outside ASCII in the header",
        "take visible ASCII, blanks and tabs in the header, and refuse it otherwise",
        |kit| refused(kit.plain().resigned(|value| value + ",x=\u{e9}"), Outcome::MalformedHeader),
    )
    .decided()
    .of(TIMESTAMPED),
    Probe::new("reject/not-ascii-signature", "B8", K5, "a signature outside ASCII", GRAMMAR, |kit| {
        let odd = |value: String| value.split(',').next().unwrap_or_default().to_owned() + ",v1=\u{e9}\u{e9}";
        refused(kit.plain().resigned(odd), Outcome::MalformedHeader)
    })
    .decided()
    .of(TIMESTAMPED),
    Probe::new("reject/forged", "B7", K3, "signed with an unknown secret", BEFORE_ANYTHING, |kit| {
        refused(forged(kit).request(), Outcome::SignatureMismatch)
    })
    .of(All),
    Probe::new("reject/altered", "B2", K1, "a body altered after signing", BEFORE_ANYTHING, |kit| {
        let delivery = kit.plain();
        let altered = delivery.clone().edit(|body| body.replacen("succeeded", "failed", 1));
        refused(delivery.request().body(altered.body().clone()), Outcome::SignatureMismatch)
    })
    .of(All),
    Probe::new("reject/respaced", "B10", K1, "blanks added to the JSON after signing", RAW, |kit| {
        let delivery = kit.plain();
        let altered = delivery.clone().edit(|body| body.replacen(':', ": ", 1));
        refused(delivery.request().body(altered.body().clone()), Outcome::SignatureMismatch)
    })
    .of(All),
    Probe::new("reject/newline-added", "B10", K1, "a newline added to the body after signing", RAW, |kit| {
        let delivery = kit.plain();
        let altered = delivery.clone().edit(|body| body + "\n");
        refused(delivery.request().body(altered.body().clone()), Outcome::SignatureMismatch)
    })
    .of(All),
    Probe::new("reject/other-time", "B3", K4, "a timestamp changed after signing", TIME_SIGNED, |kit| {
        let delivery = kit.plain();
        let (_, later) = delivery.clone().signed_at(7).signature();
        let later = later.split(',').next().unwrap_or_default().to_owned();
        let changed = delivery.resigned(|value| {
            value.split_once(',').map_or_else(String::new, |(_, signatures)| format!("{later},{signatures}"))
        });
        refused(changed, Outcome::SignatureMismatch)
    })
    .of(TIMESTAMPED),
    Probe::new("reject/one-digit", "B4", K3, "a signature wrong in its last digit", EXACT, |kit| {
        refused(kit.plain().resigned(flip_each), Outcome::SignatureMismatch)
    })
    .of(TIMESTAMPED),
    Probe::new("reject/truncated", "B4", K3, "the first half of a signature", EXACT, |kit| {
        refused(kit.plain().resigned(|value| cut(&value, 32)), Outcome::SignatureMismatch)
    })
    .of(TIMESTAMPED),
    Probe::new("reject/upper-case", "B4", K3, "a signature in upper case", EXACT, |kit| {
        let request = kit.plain().resigned(|value| value.to_uppercase().replace("T=", "t=").replace("V1=", "v1="));
        refused(request, Outcome::SignatureMismatch)
    })
    .decided()
    .of(TIMESTAMPED),
    Probe::new("reject/stale", "C1", K4, "signed 310 s ago", WINDOW, |kit| {
        refused(kit.plain().signed_at(-310).request(), Outcome::OutsideWindow)
    })
    .of(All),
    Probe::new("reject/future", "C1", K4, "signed 310 s in the future", WINDOW, |kit| {
        refused(kit.plain().signed_at(310).request(), Outcome::OutsideWindow)
    })
    .of(All),
    Probe::new("reject/epoch", "C1", K4, "signed in 1970", WINDOW, |kit| {
        refused(kit.plain().with_timestamp(|_| 1).request(), Outcome::OutsideWindow)
    })
    .of(All),
    Probe::new("reject/milliseconds", "C1", K4, "a timestamp in milliseconds", WINDOW, |kit| {
        refused(kit.plain().with_timestamp(|now| now * 1000).request(), Outcome::OutsideWindow)
    })
    .of(All),
    Probe::new("reject/stale-forged", "C2", K4, "stale and forged", BEFORE_ANYTHING, |kit| {
        refused(forged(kit).signed_at(-5000).request(), Outcome::SignatureMismatch)
    })
    .of(All),
    Probe::new("reject/forged-not-json", "B11", K1, "forged, and not JSON", NOT_PARSED, |kit| {
        refused(forged(kit).with_body("{\"id\":").request(), Outcome::SignatureMismatch)
    })
    .of(All),
    Probe::new("reject/forged-no-id", "B11", K1, "forged, and without an id", NOT_PARSED, |kit| {
        refused(forged(kit).with_body("{}").request(), Outcome::SignatureMismatch)
    })
    .of(All),
    Probe::new("reject/not-json", "A3", K1, "signed, but not JSON", ENVELOPE, |kit| {
        refused(kit.plain().with_body("{\"id\":").request(), Outcome::InvalidEnvelope)
    })
    .decided()
    .of(All),
    Probe::new("reject/no-id", "A3", K1, "signed, but without an id", ENVELOPE, |kit| {
        refused(kit.plain().edit(|body| body.replacen("\"id\"", "\"di\"", 1)).request(), Outcome::InvalidEnvelope)
    })
    .decided(),
    Probe::new("reject/empty-id", "A3", K1, "signed, with an empty id", ENVELOPE, |kit| with_id(kit, "\"\"")).decided(),
    Probe::new("reject/number-id", "A3", K1, "signed, with a number for an id", ENVELOPE, |kit| with_id(kit, "17"))
        .decided(),
    Probe::new(
        "reject/two-ids",
        "A8",
        K1,
        "signed, with the id spelled twice",
        "refuse a body that has a key twice: one parser reads the first, another the last",
        |kit| {
            let twice = kit.plain().edit(|body| body.replacen('{', r#"{"\u0069d":"another","#, 1));
            refused(twice.request(), Outcome::InvalidEnvelope)
        },
    )
    .decided(),
    Probe::new(
        "reject/other-environment",
        "A6",
        K1,
        "signed, for no known environment",
        "refuse an `environment` that is neither `live` nor `test`",
        |kit| {
            let staging = kit.plain().edit(|body| {
                body.replacen("\"environment\":\"live\"", "\"environment\":\"staging\"", 1).replacen(
                    "\"environment\":\"test\"",
                    "\"environment\":\"staging\"",
                    1,
                )
            });
            refused(staging.request(), Outcome::InvalidEnvelope)
        },
    )
    .decided(),
    Probe::new("reject/compressed", "B10", K1, "compressed bytes are not inflated", RAW, |kit| {
        // The gzip form of `{}`: what is signed and what is read are these bytes.
        const GZIP: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xab\xae\x05\0\x43\xbf\xa6\xa3\x02\0\0\0";
        let compressed = forged(kit).with_body(Bytes::from_static(GZIP)).request();
        refused(compressed.header("Content-Encoding", "gzip"), Outcome::SignatureMismatch)
    })
    .of(All),
    Probe::new("reject/too-large", "H4", K8, "a body over the limit, announced", BOUNDED, |kit| {
        refused(large(kit).request(), Outcome::BodyTooLarge)
    })
    .decided(),
    Probe::new("reject/too-large-chunked", "H4", K8, "a body over the limit, in chunks", BOUNDED, |kit| {
        let oversized = large(kit);
        refused(oversized.request().chunked(vec![oversized.body().clone()]), Outcome::BodyTooLarge)
    })
    .decided(),
    Probe::new("reject/one-tebibyte", "H4", K8, "one TiB announced", BOUNDED, |kit| {
        refused(kit.plain().request().announce(1 << 40).stop_after(5), Outcome::BodyTooLarge)
    })
    .decided()
    .of(All),
    Probe::new("reject/slow-body", "H8", K8, "a body that stops half-way", "read the body under a deadline", |kit| {
        refused(kit.plain().request().stop_after(20), Outcome::BodyTimeout)
    })
    .decided()
    .of(All),
];

const RAW: &str = "verify the bytes as they came: no parser, no decompression, no new line comes before";
const NOT_PARSED: &str = "verify before the JSON is parsed: a forgery is answered 400 whatever its body";
const TIME_SIGNED: &str = "sign the text of `t` with the body, and not the body alone";

fn with_id(kit: &Kit, id: &str) -> Vec<Step> {
    let delivery = kit.plain();
    let sent = format!("\"id\":\"{}\"", delivery.id());
    let odd = delivery.edit(|body| body.replacen(&sent, &format!("\"id\":{id}"), 1));
    refused(odd.request(), Outcome::InvalidEnvelope)
}

/// One byte more than the limit, and right in all else: a receiver without a limit takes it.
fn large(kit: &Kit) -> crate::Delivery {
    let delivery = kit.plain();
    let blanks = " ".repeat(263_169_usize.saturating_sub(delivery.body().len()));
    delivery.edit(|body| body + &blanks)
}

/// Every signature, wrong in its last digit.
fn flip_each(value: String) -> String {
    let parts = value.split(',').map(|part| match part.starts_with("v1=") {
        true => flip_last_digit(part.to_owned()),
        false => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join(",")
}

/// Every signature, as far as its first digits.
fn cut(value: &str, digits: usize) -> String {
    let parts = value.split(',').map(|part| match part.strip_prefix("v1=") {
        Some(mac) => format!("v1={}", mac.chars().take(digits).collect::<String>()),
        None => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join(",")
}
