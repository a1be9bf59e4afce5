//! What the headers may have said before something changed them.

use alloc::{borrow::ToOwned, format, string::String, vec, vec::Vec};

use super::{encodings::percent_decoded, layouts, report::Row, search::Budget, senders::Scheme};
use crate::{
    headers::{HeaderLines, Headers},
    mac::{Encoding, Keyed},
    signature::{Signed, parts},
};

/// How many of the sender's own header lines are read anew, and how many variants of one.
const MOST_LINES: usize = 16;

/// How many others.
const MOST_OTHERS: usize = 128;

/// A longer value is not read in other ways, in bytes.
const MOST_VALUE: usize = 8192;

/// How many values that were joined into one are taken apart.
const MOST_JOINED: usize = 4;

/// How many MACs of one reading are compared. One more is kept, to tell that there are more.
pub(super) const MOST_CANDIDATES: usize = 64;

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
    /// What the body must begin with.
    pub(super) body_begins: Option<u8>,
    pub(super) macs: Vec<Vec<u8>>,
    pub(super) encoding: Encoding,
}

impl Offer {
    pub(super) fn of(cause: Option<(&'static Row, String)>, scheme: usize, signed: &Signed<'_>) -> Self {
        Self {
            cause,
            scheme,
            prefix: signed.prefix.concat(),
            timestamp: Some(signed.timestamp),
            macs: signed.candidates.texts().take(MOST_CANDIDATES + 1).map(<[u8]>::to_vec).collect(),
            encoding: signed.candidates.encoding(),
            body_begins: signed.body_begins,
        }
    }

    /// Whether it says no more than another.
    fn says_the_same(&self, other: &Self) -> bool {
        let says = |offer: &Self| (offer.scheme, offer.encoding);
        says(self) == says(other) && (&self.prefix, &self.macs) == (&other.prefix, &other.macs)
    }

    /// Whether a finished MAC is among those offered.
    pub(super) fn has(&self, mac: &Keyed) -> bool {
        let tag = mac.clone().finish(self.encoding);
        self.macs.iter().take(MOST_CANDIDATES).any(|text| tag.matches(text))
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
    pub(super) fn new(names: Vec<String>, lines: &[(&str, &[u8])], budget: &mut Budget) -> Self {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for (name, value) in lines {
            let name = name.to_ascii_lowercase();
            let (side, most) = if names.contains(&name) { (&mut own, MOST_LINES) } else { (&mut others, MOST_OTHERS) };
            // That a line came may be the cause, even where what it says is left out.
            let (is_room, is_read) = (side.len() < most, value.len() <= MOST_VALUE);
            if is_room {
                side.push((name, if is_read { value.to_vec() } else { vec![] }));
            }
            if !is_room || !is_read {
                budget.leave_out();
            }
        }
        Self { names, own, others }
    }

    /// The lines with other names.
    pub(super) fn others(&self) -> &[Line] {
        &self.others
    }

    /// The values of all lines, the sender's own first.
    pub(super) fn all(&self) -> impl Iterator<Item = &[u8]> {
        self.own.iter().chain(&self.others).map(|(_, value)| value.as_slice())
    }

    /// The values of the sender's own lines.
    pub(super) fn values(&self) -> impl Iterator<Item = &[u8]> {
        self.own.iter().map(|(_, value)| value.as_slice())
    }

    /// The sender's own lines, one of them with another value.
    fn with(&self, place: usize, value: Vec<u8>) -> Vec<Line> {
        let mut lines = self.own.clone();
        if let Some((_, old)) = lines.get_mut(place) {
            *old = value;
        }
        lines
    }

    fn each(&self, rewrite: fn(&[u8]) -> Option<Vec<u8>>) -> Vec<Rewritten> {
        let rewrite = |(name, value): &Line| Some((name.clone(), rewrite(value)?));
        self.own.iter().map(rewrite).collect::<Option<_>>().map(|lines| (String::new(), lines)).into_iter().collect()
    }
}

/// Every offer: the headers as they are, rewritten, of other senders, and in other layouts.
///
/// The first of the schemes is the sender's own.
pub(super) fn offers(view: &View, schemes: &[&dyn Scheme], budget: &mut Budget) -> Vec<Offer> {
    let mut offers = Vec::new();
    let Some((own, rivals)) = schemes.split_first() else { return offers };
    let read = |scheme: &dyn Scheme, lines: &[Line], cause, place| {
        let lines = Lines(lines, &view.others);
        scheme.signed(Headers::new(&lines)).ok().map(|signed| Offer::of(cause, place, &signed))
    };
    let as_it_is = read(*own, &view.own, None, 0);
    // What changes nothing proves nothing.
    let is_news = |offer: &Offer| as_it_is.as_ref().is_none_or(|other| !offer.says_the_same(other));
    for (row, rewrite) in REWRITES {
        for (detail, lines) in rewrite(view, *own) {
            offers.extend(read(*own, &lines, Some((row, detail)), 0).filter(is_news));
        }
    }
    let lines = Lines(&view.own, &view.others);
    let signed = own.signed(Headers::new(&lines)).ok();
    offers.extend(signed.as_ref().and_then(layouts::in_another_unit));
    for (rival, place) in rivals.iter().zip(1..) {
        offers.extend(read(*rival, &view.own, Some((&OTHER_SENDER, rival.describe())), place));
    }
    offers.extend(layouts::offers(view, signed.as_ref()).into_iter().filter(is_news));
    let offers: Vec<_> = as_it_is.into_iter().chain(offers).collect();
    if offers.iter().any(|offer| offer.macs.len() > MOST_CANDIDATES) {
        budget.leave_out();
    }
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
            let apart = match view.own.as_slice() {
                [(name, value)] => segments(name, value, scheme).into_iter().map(|line| vec![line]).collect(),
                _ => shares(view),
            };
            apart.into_iter().map(|lines| (String::new(), lines)).collect()
        },
    ),
    (
        Row {
            code: "header_upper_case",
            seen: "with the signature header in lower case",
            fix: "have the signer write hexadecimal in lower case",
        },
        // One line at a time: a nonce keeps its case.
        |view, _| {
            let has_mac = |value: &[u8]| words(value).any(|word| is_hex(word, 64));
            let lines = view.own.iter().enumerate().filter(|(_, (_, value))| has_mac(value));
            lines.map(|(place, (_, value))| (String::new(), view.with(place, value.to_ascii_lowercase()))).collect()
        },
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
            let alike: Vec<_> = missing().filter_map(|name| alike(&name)).collect();
            let rewritten = |found: Vec<(String, Line)>| {
                let (found, lines): (Vec<_>, Vec<_>) = found.into_iter().unzip();
                // The last one that a sender writes is the signature.
                Some((shown(found.last()?), [&view.own[..], &lines].concat()))
            };
            [alike, of_another_family(view)].into_iter().filter_map(rewritten).collect()
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

/// Of several header lines, each one the same share of what was joined, or of one of them alone.
fn shares(view: &View) -> Vec<Vec<Line>> {
    let share = |value: &[u8], count: usize, place: usize| {
        let pieces: Vec<_> = value.split(|byte| *byte == b',').collect();
        let length = pieces.len() / count;
        let is_joined = pieces.len() > 1 && pieces.len().is_multiple_of(count);
        let share = pieces.get(place * length..(place + 1) * length).filter(|_| is_joined)?;
        Some(share.join(&b',').trim_ascii().to_vec())
    };
    let mut found = Vec::new();
    for (count, place) in (2..=MOST_JOINED).flat_map(|count| (0..count).map(move |place| (count, place))) {
        let each = |(name, value): &Line| (name.clone(), share(value, count, place).unwrap_or_else(|| value.clone()));
        found.push(view.own.iter().map(each).collect());
        for (at, (_, value)) in view.own.iter().enumerate() {
            found.extend(share(value, count, place).map(|share| view.with(at, share)));
        }
    }
    found
}

/// The lines that others have in the place of the sender's own, where all its names begin alike, and theirs do: such as
/// `svix-id` for `webhook-id`. None of its own came.
fn of_another_family(view: &View) -> Vec<(String, Line)> {
    let family = |name: &String| name.rfind('-').map_or(0, |at| at + 1);
    let (Some(first), true) = (view.names.first(), view.own.is_empty() && view.names.len() > 1) else { return vec![] };
    let Some((beginning, _)) = first.split_at_checked(family(first)) else { return vec![] };
    let members: Option<Vec<_>> = view.names.iter().map(|name| Some((name, name.strip_prefix(beginning)?))).collect();
    let members = members.unwrap_or_default();
    let renamed = |other: &str| -> Option<Vec<_>> {
        let lines = members.iter().map(|(name, member)| {
            let found = format!("{other}{member}");
            let (_, value) = view.others.iter().find(|(name, _)| *name == found)?;
            Some((found, ((*name).clone(), value.clone())))
        });
        lines.collect()
    };
    let others = members
        .first()
        .into_iter()
        .flat_map(|(_, member)| view.others.iter().filter_map(move |(name, _)| name.strip_suffix(member)));
    others.filter(|other| other.ends_with(['-', '_'])).find_map(renamed).unwrap_or_default()
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

pub(super) fn words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| !byte.is_ascii_alphanumeric())
}

pub(super) fn is_hex(word: &[u8], length: usize) -> bool {
    word.len() == length && word.iter().all(u8::is_ascii_hexdigit)
}
