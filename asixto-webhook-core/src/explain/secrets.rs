//! What the key may be instead of the one behind a text as it is. A row is a slip in how the text got here, or a mistake
//! of the signer's; its `read` gives the keys that it leads to.

use alloc::{format, sync::Arc, vec, vec::Vec};

use zeroize::Zeroizing;

use super::{encodings, report::Row, search::Budget, senders::Scheme};
use crate::{
    mac::Keyed,
    provider::Provider,
    secret::{self, Secret, SecretError},
};

/// A longer text is no secret, in bytes.
const MOST_TEXT: usize = 4096;

/// How many keys are tried, all texts together.
const MOST_KEYS: usize = 64;

/// A secret's text as its user has it.
pub(super) struct Text<'a> {
    pub(super) label: Arc<str>,
    pub(super) text: &'a str,
    /// Whether the receiver takes it, or only knows of it.
    pub(super) is_valid: bool,
}

/// A key that may have signed.
pub(super) struct Key {
    pub(super) label: Arc<str>,
    /// Why it may be the one; `None` for the key of a valid text.
    pub(super) cause: Option<&'static Row>,
    /// The sender whose keys are made like this, by its place among the schemes.
    pub(super) scheme: usize,
    pub(super) mac: Keyed,
}

type Bytes = Zeroizing<Vec<u8>>;

/// Every key that the texts lead to, those of valid texts first, none of them twice.
pub(super) fn keys<P: Provider>(texts: &[Text<'_>], schemes: &[&dyn Scheme], budget: &mut Budget) -> Vec<Key> {
    if texts.iter().any(|text| text.text.len() > MOST_TEXT) {
        budget.leave_out();
    }
    let mut found: Vec<(Bytes, Key)> = Vec::new();
    let mut add = |text: &Text<'_>, cause, scheme, bytes: Bytes| {
        let is_new = found.iter().all(|(other, key)| *other != bytes || key.scheme != scheme);
        if is_new && found.len() >= MOST_KEYS {
            budget.leave_out();
        } else if is_new {
            let key = Key { label: Arc::clone(&text.label), cause, scheme, mac: Keyed::new(&bytes) };
            found.push((bytes, key));
        }
    };
    let texts = || texts.iter().filter(|text| text.text.len() <= MOST_TEXT);
    let valid = || texts().filter(|text| text.is_valid);
    for text in valid() {
        if let Ok(bytes) = issued::<P>(text.text) {
            add(text, None, 0, bytes);
        }
    }
    for text in texts().filter(|text| !text.is_valid) {
        // How it came here is of no interest.
        if let Ok(bytes) = issued::<P>(unquoted(text.text)) {
            add(text, Some(&ELSEWHERE), 0, bytes);
        }
    }
    for text in valid() {
        for (row, read) in ROWS {
            for bytes in read(&Clue { text: text.text, prefix: Secret::<P>::prefix(), issued: issued::<P> }) {
                add(text, Some(row), 0, bytes);
            }
        }
    }
    for (place, scheme) in schemes.iter().enumerate().skip(1) {
        for text in texts() {
            let as_text = || Zeroizing::new(text.text.as_bytes().to_vec());
            let decoded = encodings::base64(text.text.as_bytes()).map(Zeroizing::new);
            for bytes in [Some(scheme.key(text.text).unwrap_or_else(as_text)), decoded].into_iter().flatten() {
                add(text, None, place, bytes);
            }
        }
    }
    found.into_iter().map(|(_, key)| key).collect()
}

/// The key of a text that the provider takes as it is, or why it does not.
pub(super) fn issued<P: Provider>(text: &str) -> Result<Bytes, SecretError> {
    secret::check_text(text).and_then(|()| P::key(text))
}

/// A text and what is known of secrets in general.
pub(super) struct Clue<'a> {
    text: &'a str,
    prefix: &'static str,
    issued: fn(&str) -> Result<Bytes, SecretError>,
}

impl<'a> Clue<'a> {
    fn issued(&self, text: impl AsRef<str>) -> Vec<Bytes> {
        (self.issued)(text.as_ref()).into_iter().collect()
    }

    /// What stands behind the prefix, or all of it.
    fn rest(&self) -> &'a str {
        self.text.strip_prefix(self.prefix).unwrap_or(self.text)
    }
}

type Read = fn(&Clue<'_>) -> Vec<Bytes>;

pub(super) static ELSEWHERE: Row = Row {
    code: "secret_of_elsewhere",
    seen: "from elsewhere, which this receiver does not take",
    fix: "give the receiver the secret of the endpoint and environment that it receives from",
};

pub(super) static ROWS: &[(Row, Read)] = &[
    (
        Row {
            code: "secret_padded",
            seen: "without the white space at the ends of the secret's text",
            fix: "trim the secret where it is read: files end with a line, and so does much that is pasted",
        },
        |clue| clue.issued(trimmed(clue.text)),
    ),
    (
        Row {
            code: "secret_quoted",
            seen: "without the quotes around the secret's text",
            fix: "remove the quotes: not everything that reads a variable or an `.env` file takes them away",
        },
        |clue| clue.issued(unquoted(clue.text)),
    ),
    (
        Row {
            code: "secret_with_its_name",
            seen: "without the name before the secret's text",
            fix: "use what stands behind the `=` or `:` alone",
        },
        |clue| {
            let text = trimmed(clue.text);
            let text = text.strip_prefix("export ").unwrap_or(text);
            let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
            let value = text.split_once(['=', ':']).filter(|(name, _)| is_name(unquoted(name)));
            value.map(|(_, value)| clue.issued(unquoted(value))).unwrap_or_default()
        },
    ),
    (
        Row {
            code: "secret_with_a_comment",
            seen: "without the comment behind the secret's text",
            fix: "take the comment away: not everything that reads an `.env` file does",
        },
        |clue| {
            let value = clue.text.split_once('#').filter(|(value, _)| value.ends_with(char::is_whitespace));
            value.map(|(value, _)| clue.issued(unquoted(value))).unwrap_or_default()
        },
    ),
    (
        Row {
            code: "secret_with_bearer",
            seen: "without the word `Bearer` before the secret's text",
            fix: "use what stands behind `Bearer` alone: a signing secret is no access token",
        },
        |clue| clue.text.strip_prefix("Bearer ").map(|rest| clue.issued(rest)).unwrap_or_default(),
    ),
    (
        Row {
            code: "secret_prefix_lost",
            seen: "with the prefix put before the secret's text",
            fix: "use the secret exactly as issued, prefix included",
        },
        |clue| clue.issued(&*Zeroizing::new(format!("{}{}", clue.prefix, trimmed(clue.text)))),
    ),
    (
        Row {
            code: "secret_prefix_doubled",
            seen: "with the prefix of the secret's text once instead of twice",
            fix: "use the secret exactly as issued: it has its prefix already",
        },
        |clue| if clue.prefix.is_empty() { vec![] } else { clue.issued(clue.rest()) },
    ),
    (
        Row {
            code: "secret_encoded",
            seen: "with the secret's text decoded, which then has the prefix",
            fix: "decode the text where it is read: it is the secret in base64 or hexadecimal, as Kubernetes keeps it",
        },
        |clue| {
            let text = unquoted(clue.text).as_bytes();
            let decoded = [encodings::base64(text), encodings::hex(text)].into_iter().flatten().map(Zeroizing::new);
            let is_whole = |text: &&str| !clue.prefix.is_empty() && text.starts_with(clue.prefix);
            let issued = |bytes: Bytes| {
                let text = core::str::from_utf8(&bytes).ok().map(trimmed).filter(is_whole);
                text.map(|text| clue.issued(text)).unwrap_or_default()
            };
            decoded.flat_map(issued).collect()
        },
    ),
    (
        Row {
            code: "secret_decoded",
            seen: "with the secret's text put into base64",
            fix: "use the secret exactly as issued, in base64, if that is how it was issued; otherwise have the signer make \
                  the key as this sender's documentation says",
        },
        |clue| {
            let rest = trimmed(clue.rest()).as_bytes();
            let texts = || encodings::in_base64(rest).into_iter();
            let whole = texts().map(|text| Zeroizing::new(format!("{}{}", clue.prefix, &*text)));
            // A sender that decodes its secrets takes any text like this: one that is good as it is was not decoded.
            let is_good = !clue.issued(unquoted(clue.text)).is_empty();
            whole
                .chain(texts())
                .flat_map(|text| clue.issued(&*text))
                .filter(|bytes| !is_good || **bytes != rest)
                .collect()
        },
    ),
    (
        Row {
            code: "secret_several",
            seen: "with one of several secrets in the secret's text",
            fix: "give each secret by itself, under a label of its own",
        },
        |clue| {
            let between = |char: char| char.is_whitespace() || matches!(char, ',' | ';' | '|');
            let parts = clue.text.split(between).filter(|part| !part.is_empty()).take(8);
            parts.flat_map(|part| clue.issued(unquoted(part))).collect()
        },
    ),
    (
        Row {
            code: "signer_had_no_secret",
            seen: "with an empty key in the place of the secret",
            fix: "give the signer its secret: it signs with an empty one, which anyone can do",
        },
        // First, so that an empty text leads here as well.
        |_| vec![key(b"")],
    ),
    (
        Row {
            code: "signer_padded_secret",
            seen: "with a line end behind the secret's text",
            fix: "trim the secret at the signer: its key is the text with a line end",
        },
        |clue| [&b"\n"[..], b"\r\n"].map(|end| Zeroizing::new([trimmed(clue.text).as_bytes(), end].concat())).into(),
    ),
    (
        Row {
            code: "signer_decoded_secret",
            seen: "with the secret's text behind the prefix decoded from base64",
            fix: DECODED,
        },
        |clue| encodings::base64(clue.rest().as_bytes()).map(Zeroizing::new).into_iter().collect(),
    ),
    (
        Row {
            code: "signer_dropped_prefix",
            seen: "without the prefix of the secret's text",
            fix: "either the signer leaves the prefix out: have it use the secret's whole text as the key; or here one was put \
                  before the secret: use it exactly as issued",
        },
        |clue| if clue.rest() == clue.text { vec![] } else { vec![key(clue.rest().as_bytes())] },
    ),
    (
        Row {
            code: "signer_decoded_hex",
            seen: "with the secret's text behind the prefix decoded from hexadecimal",
            fix: DECODED,
        },
        |clue| encodings::hex(clue.rest().as_bytes()).map(Zeroizing::new).into_iter().collect(),
    ),
    (
        Row {
            code: "signer_used_text",
            seen: "with the secret's whole text as the key",
            fix: "either the signer makes the key of the whole text: have it do as this sender's documentation says; or the \
                  text here is not the secret: use it exactly as issued",
        },
        |clue| vec![key(clue.text.as_bytes())],
    ),
];

const DECODED: &str = "either the signer decodes the secret: have it use the whole text as the key, as this sender's are \
                       not decoded; or the text here is an encoding of the secret: use it exactly as issued";

fn key(bytes: &[u8]) -> Bytes {
    Zeroizing::new(bytes.to_vec())
}

/// Without what is not seen at the ends of a text.
fn trimmed(text: &str) -> &str {
    text.trim_matches(|char: char| char.is_whitespace() || char.is_control() || matches!(char, '\u{feff}' | '\u{200b}'))
}

fn unquoted(text: &str) -> &str {
    trimmed(text).trim_matches(['"', '\'', '`', '“', '”', '‘', '’'])
}
