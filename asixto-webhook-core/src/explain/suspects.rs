//! What no MAC can show: signs of trouble, looked for when nothing was proven.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use super::{
    headers::{View, is_hex, words},
    json,
    report::{Cause, Certainty, Row},
    secrets::Text,
    senders::Scheme,
};
use crate::{
    headers::{HeaderFault, HeaderLines},
    secret::SecretError,
};

/// What there is to look at.
pub(super) struct Facts<'a> {
    pub(super) view: &'a View,
    pub(super) lines: &'a [(&'a str, &'a [u8])],
    pub(super) fault: Option<HeaderFault>,
    /// The other senders whose headers came.
    pub(super) rivals: &'a [&'a dyn Scheme],
    pub(super) body: &'a [u8],
    pub(super) has_readings: bool,
    pub(super) texts: &'a [Text<'a>],
    /// Why the provider refuses a text.
    pub(super) refusal: fn(&str) -> Option<SecretError>,
}

impl Facts<'_> {
    fn header(&self, name: &str) -> Option<&str> {
        self.lines.line(name, 0).and_then(|value| core::str::from_utf8(value).ok()).map(str::trim)
    }

    fn fault(&self, is_it: fn(HeaderFault) -> bool) -> Option<String> {
        self.fault.filter(|fault| is_it(*fault)).map(|fault| fault.to_string())
    }

    fn refused(&self, is_it: fn(SecretError) -> bool) -> Option<String> {
        self.texts.iter().filter(|text| text.is_valid).find_map(|text| {
            let refusal = (self.refusal)(text.text).filter(|refusal| is_it(*refusal))?;
            Some(alloc::format!("secret `{}` is refused: {refusal}", text.label))
        })
    }

    fn is_compressed(&self) -> bool {
        self.body.starts_with(&[0x1f, 0x8b])
    }
}

pub(super) fn causes(facts: &Facts<'_>) -> Vec<Cause> {
    ROWS.iter().filter_map(|(row, see)| Some(Cause::of(row, Certainty::Suspected, row.seen(&see(facts)?)))).collect()
}

/// The detail of the evidence, where there is any.
type See = fn(&Facts<'_>) -> Option<String>;

/// For evidence without a detail.
fn when(seen: bool) -> Option<String> {
    seen.then(String::new)
}

pub(super) static ROWS: &[(Row, See)] = &[
    (
        Row {
            code: "other_senders_headers",
            seen: "the headers are those of {}",
            fix: "receive this sender under its own provider and address, and with its own secret",
        },
        |facts| facts.fault.and(facts.rivals.first()).map(|rival| rival.describe()),
    ),
    (
        Row {
            code: "header_missing",
            seen: "{}",
            fix: "check the address and the sender, and look for a proxy that passes on only the headers that it knows",
        },
        |facts| facts.fault(|fault| fault == HeaderFault::Missing),
    ),
    (
        Row {
            code: "header_lines_repeated",
            seen: "{}",
            fix: "send the header once: look for a proxy or client that adds a line of its own",
        },
        |facts| facts.fault(|fault| fault == HeaderFault::Repeated),
    ),
    (
        Row {
            code: "header_malformed",
            seen: "{}",
            fix: "have the signer write the signature header as this sender's documentation says",
        },
        |facts| facts.fault(|fault| matches!(fault, HeaderFault::Malformed(_))),
    ),
    (
        Row {
            code: "signature_cut",
            seen: "the signature header holds a MAC of {} hexadecimal digits instead of 64",
            fix: "send and store the whole header: something cuts its value, such as a column that is too short",
        },
        |facts| {
            let whole = |value| words(value).any(|word| is_hex(word, 64));
            let values = || facts.view.values().filter(|value| !whole(value));
            let cut = |word: &&[u8]| (16..64).contains(&word.len()) && is_hex(word, word.len());
            values().flat_map(words).find(cut).map(|word| word.len().to_string())
        },
    ),
    (
        Row {
            code: "no_secret",
            seen: "there is no secret to verify with",
            fix: "give the receiver the secret of the endpoint",
        },
        |facts| when(!facts.texts.iter().any(|text| text.is_valid)),
    ),
    (Row { code: "secret_empty", seen: "{}", fix: "set the variable or file that the secret is read from" }, |facts| {
        facts.refused(|refusal| matches!(refusal, SecretError::Empty | SecretError::PrefixOnly { .. }))
    }),
    (Row { code: "secret_refused", seen: "{}", fix: "use the secret exactly as issued" }, |facts| {
        facts.refused(|refusal| !matches!(refusal, SecretError::Empty | SecretError::PrefixOnly { .. }))
    }),
    (
        Row {
            code: "body_empty",
            seen: "the body is empty",
            fix: "verify before anything else reads the body: a stream can be read once only",
        },
        |facts| when(facts.body.is_empty()),
    ),
    (
        Row {
            code: "body_cut",
            seen: "the body {}",
            fix: "verify the whole body: wait for its last chunk, and look for a limit that cuts instead of refusing",
        },
        |facts| {
            let announced = facts.header("content-length").and_then(|text| text.parse::<usize>().ok());
            let is_encoded = facts.header("content-encoding").is_some();
            match announced.filter(|announced| !is_encoded && *announced > facts.body.len()) {
                Some(announced) => {
                    Some(alloc::format!("has {} bytes, and `content-length` announced {announced}", facts.body.len()))
                }
                None => json::breaks_off(facts.body).then(|| "is JSON that breaks off".into()),
            }
        },
    ),
    (
        Row {
            code: "body_decoded_lossily",
            seen: "the body contains U+FFFD, which decoders put in the place of bytes that they cannot read",
            fix: "treat the body as bytes: no text decoder before verification",
        },
        |facts| when(facts.body.windows(3).any(|window| window == "\u{fffd}".as_bytes())),
    ),
    (
        Row {
            code: "body_inflated",
            seen: "`content-encoding` announces a compressed body, and the body is not compressed",
            fix: "verify the bytes that came over the wire: switch off the middleware that inflates bodies",
        },
        |facts| {
            let coding = facts.header("content-encoding").filter(|coding| !coding.eq_ignore_ascii_case("identity"));
            // Other codings have no mark of their own, and JSON is none of them.
            when(coding.is_some() && json::document(facts.body).is_some())
        },
    ),
    (
        Row {
            code: "body_compressed",
            seen: "the body is compressed",
            fix: "diagnose it once more with the inflated body as a reading: the signer may sign before it compresses",
        },
        |facts| when(facts.is_compressed() && !facts.has_readings),
    ),
    (
        Row {
            code: "body_keys_sorted",
            seen: "the names in the body's JSON stand in alphabetical order at every level, as few senders write them",
            fix: "verify the raw bytes of the request: a map that sorts its keys lost the order that was signed",
        },
        |facts| when(json::sorted(facts.body)),
    ),
];
