//! What else the signer may have made its MAC of, and where it may have put it.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};

use super::{
    clock,
    headers::{MOST_CANDIDATES, Offer, View, is_hex, words},
    report::Row,
};
use crate::{
    mac::Encoding,
    signature::{Signed, decimal},
};

/// What a MAC may have been made of instead, by the pieces ahead of the body.
type Layout = fn(&[&[u8]]) -> Vec<u8>;

pub(super) static ROWS: [(Row, Layout); 3] = [
    (
        Row {
            code: "body_signed_alone",
            seen: "with the body signed alone, without the time",
            fix: "have the signer sign the time of signing with the body, as this sender's documentation says",
        },
        |_| vec![],
    ),
    (
        Row {
            code: "signature_in_another_form",
            seen: "with a MAC that stands in the headers in another form than this sender's",
            fix: "have the signer write the signature header as this sender's documentation says",
        },
        |pieces| pieces.concat(),
    ),
    (
        Row {
            code: "separator_left_out",
            seen: "with nothing between what is signed ahead of the body and the body",
            fix: "have the signer put the separator into the message, as this sender's documentation says",
        },
        |pieces| {
            let says_something = |piece: &&&[u8]| piece.iter().any(u8::is_ascii_alphanumeric);
            pieces.iter().filter(says_something).copied().collect::<Vec<_>>().concat()
        },
    ),
];

/// Any MAC and any time in the headers, in the layouts that signers come up with.
pub(super) fn offers(view: &View, signed: Option<&Signed<'_>>) -> Vec<Offer> {
    let hex: Vec<_> =
        view.all().flat_map(words).filter(|word| is_hex(word, 64)).map(<[u8]>::to_ascii_lowercase).collect();
    let base64: Vec<_> = view.all().flat_map(base64_macs).map(<[u8]>::to_vec).collect();
    let times: Vec<_> = view.all().flat_map(words).filter(|word| is_time(word)).take(2).collect();
    let guesses = times.iter().map(|time| vec![*time, b"."]);
    let messages: Vec<_> = match signed {
        Some(signed) => vec![signed.prefix.to_vec()],
        // Without a time there is still the body alone.
        None if times.is_empty() => vec![vec![]],
        None => guesses.collect(),
    };
    let mut offers = Vec::new();
    for (row, layout) in &ROWS {
        for pieces in &messages {
            let prefix = layout(pieces);
            let time = pieces.iter().find(|piece| is_time(piece)).filter(|_| !prefix.is_empty());
            for (macs, encoding) in [(&hex, Encoding::HexLower), (&base64, Encoding::Base64)] {
                offers.push(Offer {
                    cause: Some((row, String::new())),
                    scheme: 0,
                    prefix: prefix.clone(),
                    timestamp: time.and_then(|time| decimal(time)),
                    body_begins: signed.and_then(|signed| signed.body_begins),
                    macs: macs.iter().take(MOST_CANDIDATES + 1).cloned().collect(),
                    encoding,
                });
            }
        }
    }
    offers.retain(|offer| !offer.macs.is_empty());
    offers
}

pub(super) static TWO_UNITS: Row = Row {
    code: "timestamp_in_two_units",
    seen: "with the time of signing in {} in the header",
    fix: "have the signer sign and send the same time, in whole seconds since the Unix epoch",
};

/// With the MAC made over the time in another unit than the one in the header.
pub(super) fn in_another_unit(signed: &Signed<'_>) -> Option<Offer> {
    let unit = clock::UNITS.iter().rev().find(|(least, ..)| signed.timestamp >= *least);
    let (time, detail) = match unit {
        Some((_, unit, per_second)) => (signed.timestamp / per_second, format!("seconds under the MAC, and in {unit}")),
        None => (signed.timestamp.saturating_mul(1000), "milliseconds under the MAC, and in seconds".to_owned()),
    };
    let (sent, other) = (signed.timestamp.to_string(), time.to_string());
    let place = signed.prefix.iter().rposition(|piece| *piece == sent.as_bytes())?;
    let mut prefix = signed.prefix;
    *prefix.get_mut(place)? = other.as_bytes();
    let timestamp = signed.timestamp.min(time);
    Some(Offer::of(Some((&TWO_UNITS, detail)), 0, &Signed { prefix, timestamp, ..*signed }))
}

/// Unix seconds or milliseconds, of this century.
fn is_time(word: &[u8]) -> bool {
    matches!(word.len(), 10 | 13) && word.iter().all(u8::is_ascii_digit)
}

/// What is as long as a MAC in base64, at the end of a part.
fn base64_macs(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/".contains(byte);
    let parts = value.split(|byte| b", ;\"".contains(byte));
    parts
        .filter_map(|part| part.last_chunk::<44>().map(<[u8; 44]>::as_slice))
        .filter(move |text| text.strip_suffix(b"=").is_some_and(|text| text.iter().all(is_base64)))
}
