//! What the headers may have said before something changed them, and what else the signer may have made a MAC of.

use alloc::{borrow::ToOwned, string::String, vec, vec::Vec};

use super::{encodings::percent_decoded, report::Row, senders::Scheme};
use crate::{
    headers::{HeaderLines, Headers},
    mac::{Encoding, Keyed},
    signature::{Signed, decimal, parts},
};

/// How many of the sender's own header lines are read anew, and how many variants of one.
const MOST_LINES: usize = 16;

/// How many others.
const MOST_OTHERS: usize = 128;

/// A longer value is left out of all readings, in bytes.
const MOST_VALUE: usize = 8192;

/// How many MACs of one reading are compared.
const MOST_CANDIDATES: usize = 64;

/// A message's beginning and the MACs that may be its.
pub(super) struct Offer {
    /// Why it may be what the signer offered, and which variant; `None` for the headers as they are.
    pub(super) cause: Option<(&'static Row, String)>,
    /// The sender whose keys belong to it, by its place among the schemes.
    pub(super) scheme: usize,
    /// What is signed ahead of the body.
    pub(super) prefix: Vec<u8>,
    /// When it was signed, in unix seconds, where anything says so.
    pub(super) timestamp: Option<u64>,
    macs: Vec<Vec<u8>>,
    encoding: Encoding,
}

impl Offer {
    fn of(cause: Option<(&'static Row, String)>, scheme: usize, signed: &Signed<'_>) -> Self {
        Self {
            cause,
            scheme,
            prefix: signed.prefix.concat(),
            timestamp: Some(signed.timestamp),
            macs: signed.candidates.texts().take(MOST_CANDIDATES).map(<[u8]>::to_vec).collect(),
            encoding: signed.candidates.encoding(),
        }
    }

    /// Whether a finished MAC is among those offered.
    pub(super) fn has(&self, mac: &Keyed) -> bool {
        let tag = mac.clone().finish(self.encoding);
        self.macs.iter().any(|text| tag.matches(text))
    }
}

pub(super) type Line = (String, Vec<u8>);

/// The lines that matter, and the names that the sender gives its own.
pub(super) struct View {
    names: Vec<String>,
    own: Vec<Line>,
    others: Vec<Line>,
}

impl View {
    /// `names` come in lower case.
    pub(super) fn new(names: Vec<String>, lines: &[(&str, &[u8])]) -> Self {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for (name, value) in lines.iter().filter(|(_, value)| value.len() <= MOST_VALUE) {
            let name = name.to_ascii_lowercase();
            let (side, most) = if names.contains(&name) { (&mut own, MOST_LINES) } else { (&mut others, MOST_OTHERS) };
            if side.len() < most {
                side.push((name, value.to_vec()));
            }
        }
        Self { names, own, others }
    }

    /// The lines with other names.
    pub(super) fn others(&self) -> &[Line] {
        &self.others
    }

    /// The values of the sender's own lines.
    pub(super) fn values(&self) -> impl Iterator<Item = &[u8]> {
        self.own.iter().map(|(_, value)| value.as_slice())
    }

    fn each(&self, rewrite: fn(&[u8]) -> Option<Vec<u8>>) -> Vec<Rewritten> {
        let rewrite = |(name, value): &Line| Some((name.clone(), rewrite(value)?));
        self.own.iter().map(rewrite).collect::<Option<_>>().map(|lines| (String::new(), lines)).into_iter().collect()
    }
}

/// Every offer: the headers as they are, rewritten, of other senders, and in other layouts.
///
/// The first of the schemes is the sender's own.
pub(super) fn offers(view: &View, schemes: &[&dyn Scheme]) -> Vec<Offer> {
    let mut offers = Vec::new();
    let Some((own, rivals)) = schemes.split_first() else { return offers };
    let read = |scheme: &dyn Scheme, lines: &[Line], cause, place| {
        let lines = Lines(lines, &view.others);
        scheme.signed(Headers::new(&lines)).ok().map(|signed| Offer::of(cause, place, &signed))
    };
    offers.extend(read(*own, &view.own, None, 0));
    for (row, rewrite) in REWRITES {
        for (detail, lines) in rewrite(view, *own) {
            offers.extend(read(*own, &lines, Some((row, detail)), 0));
        }
    }
    for (rival, place) in rivals.iter().zip(1..) {
        offers.extend(read(*rival, &view.own, Some((&OTHER_SENDER, rival.describe())), place));
    }
    offers.extend(layouts(view, *own));
    offers
}

/// The sender's own lines, in whatever form, before all others. No name is among both.
struct Lines<'a>(&'a [Line], &'a [Line]);

impl HeaderLines for Lines<'_> {
    fn line(&self, name: &str, index: usize) -> Option<&[u8]> {
        self.0.line(name, index).or_else(|| self.1.line(name, index))
    }
}

/// A detail to say, and the sender's own lines.
type Rewritten = (String, Vec<Line>);
type Rewrite = fn(&View, &dyn Scheme) -> Vec<Rewritten>;

pub(super) static REWRITES: &[(Row, Rewrite)] = &[
    (
        Row {
            code: "header_repeated",
            seen: "with one of the repeated signature header lines taken by itself",
            fix: "send the header once: look for a proxy or client that adds a line of its own",
        },
        |view, _| {
            let line = |name: &String, place: usize| {
                let mut lines = view.own.iter().filter(|(other, _)| other == name);
                lines.clone().nth(place).or_else(|| lines.next_back()).cloned()
            };
            let variant = |place| view.names.iter().filter_map(|name| line(name, place)).collect::<Vec<_>>();
            let is_repeated = |name: &String| view.own.iter().filter(|(other, _)| other == name).count() > 1;
            let places = if view.names.iter().any(is_repeated) { view.own.len() } else { 0 };
            (0..places).map(|place| (String::new(), variant(place))).collect()
        },
    ),
    (
        Row {
            code: "header_joined",
            seen: "with one of the header values taken that a proxy joined with a comma",
            fix: "send the header once: look for the proxy that joins repeated lines, and for what repeats them",
        },
        |view, scheme| {
            let [(name, value)] = view.own.as_slice() else { return vec![] };
            segments(name, value, scheme).into_iter().map(|line| (String::new(), vec![line])).collect()
        },
    ),
    (
        Row {
            code: "header_upper_case",
            seen: "with the signature header in lower case",
            fix: "have the signer write hexadecimal in lower case",
        },
        |view, _| view.each(|value| Some(value.to_ascii_lowercase())),
    ),
    (
        Row {
            code: "header_quoted",
            seen: "without the quotes in the signature header",
            fix: "send the header's value without quotes",
        },
        |view, _| view.each(|value| Some(without(value, |byte| b"\"'`".contains(&byte)))),
    ),
    (
        Row {
            code: "header_white_space",
            seen: "without the white space in the signature header",
            fix: "send the header's value on one line and without blanks",
        },
        |view, _| view.each(|value| Some(without(value, |byte| byte.is_ascii_whitespace()))),
    ),
    (
        Row {
            code: "header_percent_encoded",
            seen: "with the signature header's percent-encoding undone",
            fix: "send the header as it is: only addresses and forms are percent-encoded",
        },
        |view, _| view.each(|value| percent_decoded(value, false)),
    ),
    (
        Row {
            code: "header_algorithm_named",
            seen: "without the name of an algorithm before the MAC",
            fix: "send the MAC alone: no `sha256=` before it",
        },
        |view, _| {
            view.each(|value| {
                let texts: Vec<_> = parts(value, b',').map(|part| replaced(part, b"sha256=")).collect();
                Some(texts.join(&b','))
            })
        },
    ),
    (
        Row {
            code: "header_renamed",
            seen: "with the header `{}` read as the signature header",
            fix: "look for the proxy or gateway that renames the header, and have it keep the name",
        },
        |view, _| {
            let missing = || view.names.iter().filter(|name| view.own.iter().all(|(own, _)| own != *name));
            let alike = |name: &&String| {
                let is_alike = |(other, _): &&Line| squashed(other).ends_with(&squashed(name));
                let (found, value) = view.others.iter().find(is_alike)?;
                Some((found.clone(), ((*name).clone(), value.clone())))
            };
            let (found, lines): (Vec<_>, Vec<_>) = missing().filter_map(|name| alike(&name)).unzip();
            match found.first() {
                Some(first) => vec![(shown(first), [&view.own[..], &lines].concat())],
                None => vec![],
            }
        },
    ),
];

pub(super) static OTHER_SENDER: Row = Row {
    code: "other_sender",
    seen: "read as a delivery of {}",
    fix: "receive this sender under its own provider and address",
};

/// The longest pieces between commas that are a header by themselves, where the whole value is none.
fn segments(name: &str, value: &[u8], scheme: &dyn Scheme) -> Vec<Line> {
    let is_header = |value: &[u8]| scheme.signed(Headers::new(&[(name, value)])).is_ok();
    let pieces: Vec<_> = value.split(|byte| *byte == b',').take(2 * MOST_LINES).collect();
    let mut found = Vec::new();
    let mut rest = if is_header(value) { &[] } else { pieces.as_slice() };
    while !rest.is_empty() && found.len() < MOST_LINES {
        let longest = (1..=rest.len()).rev().find_map(|length| {
            let (head, tail) = rest.split_at_checked(length)?;
            let joined = head.join(&b',');
            is_header(&joined).then_some((joined, tail))
        });
        let Some((joined, tail)) = longest else { break };
        found.push((name.to_owned(), joined));
        rest = tail;
    }
    found
}

fn without(value: &[u8], dropped: fn(u8) -> bool) -> Vec<u8> {
    value.iter().copied().filter(|byte| !dropped(*byte)).collect()
}

/// `part` without the first `word` in it.
fn replaced(part: &[u8], word: &[u8]) -> Vec<u8> {
    match part.windows(word.len()).position(|window| window == word).and_then(|at| part.split_at_checked(at)) {
        Some((before, rest)) => [before, rest.get(word.len()..).unwrap_or_default()].concat(),
        None => part.to_vec(),
    }
}

/// A name as far as gateways leave it alone.
fn squashed(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect()
}

/// A header's name as it may be shown.
pub(super) fn shown(name: &str) -> String {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if name.len() <= 64 && name.bytes().all(is_token) { name.to_owned() } else { "another one".to_owned() }
}

/// What a MAC may have been made of instead, by the pieces ahead of the body.
type Layout = fn(&[&[u8]]) -> Vec<u8>;

pub(super) static LAYOUTS: [(Row, Layout); 3] = [
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
fn layouts(view: &View, own: &dyn Scheme) -> Vec<Offer> {
    let values = || view.own.iter().chain(&view.others).map(|(_, value)| value.as_slice());
    let hex: Vec<_> =
        values().flat_map(words).filter(|word| is_hex(word, 64)).map(<[u8]>::to_ascii_lowercase).collect();
    let base64: Vec<_> = values().flat_map(base64_macs).map(<[u8]>::to_vec).collect();
    let lines = Lines(&view.own, &view.others);
    let signed = own.signed(Headers::new(&lines)).ok();
    let times: Vec<_> = values().flat_map(words).filter(|word| is_time(word)).take(2).collect();
    let guesses = times.iter().map(|time| vec![*time, b"."]);
    let messages: Vec<_> = match &signed {
        Some(signed) => vec![signed.prefix.to_vec()],
        // Without a time there is still the body alone.
        None if times.is_empty() => vec![vec![]],
        None => guesses.collect(),
    };
    let mut offers = Vec::new();
    for (row, layout) in &LAYOUTS {
        for pieces in &messages {
            let prefix = layout(pieces);
            let time = pieces.iter().find(|piece| is_time(piece)).filter(|_| !prefix.is_empty());
            for (macs, encoding) in [(&hex, Encoding::HexLower), (&base64, Encoding::Base64)] {
                offers.push(Offer {
                    cause: Some((row, String::new())),
                    scheme: 0,
                    prefix: prefix.clone(),
                    timestamp: time.and_then(|time| decimal(time)),
                    macs: macs.iter().take(MOST_CANDIDATES).cloned().collect(),
                    encoding,
                });
            }
        }
    }
    offers.retain(|offer| !offer.macs.is_empty());
    offers
}

pub(super) fn words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| !byte.is_ascii_alphanumeric())
}

pub(super) fn is_hex(word: &[u8], length: usize) -> bool {
    word.len() == length && word.iter().all(u8::is_ascii_hexdigit)
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
