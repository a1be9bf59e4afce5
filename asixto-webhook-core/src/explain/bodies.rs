//! What the signer may have signed instead of the bytes that are here. A row is a change that happens on the way, or a
//! mistake of the signer's; its `read` undoes it.

use alloc::{borrow::Cow, format, vec, vec::Vec};

use super::{
    encodings::{base64, form_encoded, latin_1_as_utf8, line_ends, mojibake_undone, percent_decoded, unchunked},
    json::{self, Strings, Style, rewrite},
    report::Row,
    search::Budget,
};
use crate::json::{Fields, JsonKind};

/// A larger body is only tried as it is, in bytes.
const MOST_READ: usize = 1 << 20;

/// How much all readings may take, in bytes: white space can make a large body out of a small one.
const MOST_HELD: usize = 64 << 20;

/// The body in another form.
pub(super) struct Reading<'a> {
    /// Why it may be what was signed, and which variant; `None` for the body as it is.
    pub(super) cause: Option<(&'static Row, Cow<'a, str>)>,
    pub(super) bytes: Cow<'a, [u8]>,
}

/// The body as it is, and then every other form, none of them twice.
pub(super) fn readings<'a>(body: &'a [u8], given: &[(&'a str, &'a [u8])], budget: &mut Budget) -> Vec<Reading<'a>> {
    let mut readings = vec![Reading { cause: None, bytes: Cow::Borrowed(body) }];
    let mut held = 0_usize;
    let mut add = |row, detail, bytes: Cow<'a, [u8]>| {
        held = held.saturating_add(bytes.len());
        if held > MOST_HELD {
            budget.leave_out();
        } else if readings.iter().all(|other: &Reading<'_>| other.bytes != bytes) {
            readings.push(Reading { cause: Some((row, detail)), bytes });
        }
    };
    for (name, bytes) in given {
        add(&GIVEN, Cow::Borrowed(*name), Cow::Borrowed(*bytes));
    }
    if body.len() <= MOST_READ {
        for (row, read) in ROWS {
            for (detail, bytes) in read(body) {
                add(row, detail, Cow::Owned(bytes));
            }
        }
    } else {
        budget.leave_out();
    }
    // The least likely come last, which is where a search may have to end.
    readings.sort_by_key(|reading| reading.cause.as_ref().is_some_and(|(_, detail)| detail.ends_with(LINE_END)));
    readings
}

/// The variants of a reading, each with the detail to say of it.
type Read = fn(&[u8]) -> Variants;
type Variants = Vec<(Cow<'static, str>, Vec<u8>)>;

pub(super) static GIVEN: Row = Row {
    code: "body_read_otherwise",
    seen: "with the reading `{}` of the body, as it was handed in",
    fix: "verify those bytes: look for what compresses, inflates or replaces the body between the signer and here",
};

pub(super) static BEGINS_OTHERWISE: Row = Row {
    code: "body_begins_otherwise",
    seen: "over a body that does not begin with `{}`, as every body of this sender does",
    fix: "have the signer send, and sign, a body that begins so: no byte order mark or blank before it, and no other JSON",
};

const RAW: &str = "verify the raw bytes of the request, before a JSON parser or middleware reads and writes them anew";

pub(super) static ROWS: &[(Row, Read)] = &[
    (
        Row {
            code: "body_newline_lost",
            seen: "with {} added at the end of the body",
            fix: "keep the last line end of the body: read the file or the request in binary, and do not trim it",
        },
        |body| named([("a line feed", Some([body, b"\n"].concat())), ("a CR LF", Some([body, b"\r\n"].concat()))]),
    ),
    (
        Row {
            code: "body_newline_added",
            seen: "without the line end at the end of the body",
            fix: "add nothing to the body: no `echo` without `-n`, no print function or editor that ends with a line",
        },
        |body| {
            let shorter = body.strip_suffix(b"\n").map(|body| body.strip_suffix(b"\r").unwrap_or(body));
            one(shorter.map(<[u8]>::to_vec))
        },
    ),
    (
        Row {
            code: "body_bom_added",
            seen: "without the byte order mark at the start of the body",
            fix: "store and read the body as bytes: a text writer put U+FEFF before it",
        },
        |body| one(body.strip_prefix(BOM).map(<[u8]>::to_vec)),
    ),
    (
        Row {
            code: "body_bom_lost",
            seen: "with a byte order mark added at the start of the body",
            fix: "read the body as bytes: a text reader took U+FEFF away from its start",
        },
        |body| one((!body.starts_with(BOM)).then(|| [BOM, body].concat())),
    ),
    (
        Row {
            code: "body_white_space_added",
            seen: "without the white space around the body",
            fix: "hand over the body as it came: something put blanks or lines around it",
        },
        |body| one(Some(body.trim_ascii().to_vec())),
    ),
    (
        Row {
            code: "body_line_ends_changed",
            seen: "with {} between the lines of the body",
            fix: "treat the body as bytes: a text mode, an editor or a version control system changed its line ends",
        },
        |body| {
            let with = |line_end| body.contains(&b'\n').then(|| line_ends(body, line_end));
            named([("CR LF", with(b"\r\n")), ("line feeds", with(b"\n"))])
        },
    ),
    (
        Row {
            code: "body_nul_padded",
            seen: "without the NUL bytes at the end of the body",
            fix: "verify as many bytes as were read, not the whole buffer",
        },
        |body| {
            let end = body.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
            one(body.get(..end).map(<[u8]>::to_vec))
        },
    ),
    (
        Row {
            code: "body_chunked",
            seen: "with the chunk sizes taken out of the body",
            fix: "let the HTTP library undo `transfer-encoding: chunked` before the body is verified",
        },
        |body| one(unchunked(body)),
    ),
    (
        Row {
            code: "body_base64",
            seen: "with the body decoded from base64",
            fix: "decode the body before it is verified where the platform says that it is base64 (`isBase64Encoded`)",
        },
        |body| one(base64(body)),
    ),
    (Row { code: "body_reserialised", seen: "with the body written as JSON {}", fix: RAW }, reserialised),
    (
        Row {
            code: "body_form_encoded",
            seen: "with the body decoded from a form's encoding",
            fix: "have the sender post `application/json`, or undo the form's encoding before verification",
        },
        |body| {
            let is_name =
                |name: &[u8]| name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
            let mut at = body.splitn(2, |byte| *byte == b'=');
            let value = at.next().filter(|name| is_name(name)).and_then(|_| at.next());
            named([value, Some(body)].map(|text| ("", text.and_then(|text| percent_decoded(text, true)))))
        },
    ),
    (
        Row {
            code: "body_form_decoded",
            seen: "with the body encoded as a form{}",
            fix: "verify the raw bytes of the request, before the form in them is decoded",
        },
        |body| {
            let fields: [(_, &[u8]); 4] = [
                ("", b""),
                ("'s field `payload`", b"payload="),
                ("'s field `body`", b"body="),
                ("'s field `data`", b"data="),
            ];
            // Text only: nobody puts anything else into a form like this.
            let is_text = core::str::from_utf8(body).is_ok();
            named(fields.map(|(detail, name)| (detail, is_text.then(|| form_encoded(name, body)))))
        },
    ),
    (
        Row {
            code: "body_in_a_json_string",
            seen: "with the body taken out of the JSON string that it stands in",
            fix: "hand over the bytes of the request: they were encoded as JSON once more on the way",
        },
        |body| one(json::text(body).map(|text| text.into_owned().into_bytes())),
    ),
    (
        Row {
            code: "signer_encoded_twice",
            seen: "with the body put into a JSON string",
            fix: "have the signer sign the bytes that it sends: it encoded a text that was JSON already",
        },
        |body| {
            let quoted = core::str::from_utf8(body).ok().and_then(|text| serde_json::to_vec(text).ok());
            one(quoted)
        },
    ),
    (
        Row {
            code: "body_mistaken_charset",
            seen: "with the body read as {}",
            fix: "treat the body as bytes: something decoded it with a charset that it is not in, and encoded it anew",
        },
        |body| {
            named([
                ("UTF-8 that was taken for Latin-1 or Windows-1252", mojibake_undone(body)),
                ("Latin-1", latin_1_as_utf8(body)),
            ])
        },
    ),
    (
        Row {
            code: "signer_signed_a_part",
            seen: "with one member of the body's JSON object in the place of the whole body",
            fix: "have the signer sign the whole body, byte for byte, and send the same bytes",
        },
        |body| {
            let nested = |value: &&serde_json::value::RawValue| {
                matches!(JsonKind::of(value), JsonKind::Object | JsonKind::Array)
            };
            let fields = Fields::parse(body);
            let members = fields.iter().flat_map(Fields::iter).map(|(_, value)| value).filter(nested);
            members.take(4).map(|value| (Cow::Borrowed(""), value.get().as_bytes().to_vec())).collect()
        },
    ),
    (
        Row {
            code: "signer_signed_nothing",
            seen: "with an empty body",
            fix: "have the signer sign the bytes that it sends: it signed before it had a body, or after it was read",
        },
        |_| one(Some(vec![])),
    ),
];

const BOM: &[u8] = "\u{feff}".as_bytes();

fn one(bytes: Option<Vec<u8>>) -> Variants {
    named([("", bytes)])
}

fn named(variants: impl IntoIterator<Item = (&'static str, Option<Vec<u8>>)>) -> Variants {
    variants.into_iter().filter_map(|(detail, bytes)| Some((Cow::Borrowed(detail), bytes?))).collect()
}

/// In the styles of common serializers, those that change least first.
fn reserialised(body: &[u8]) -> Variants {
    let Some(document) = json::document(body) else { return vec![] };
    // Lines of blanks could make a large body out of a deep one.
    let most = body.len().saturating_mul(8).saturating_add(64 << 10);
    // Most documents hold nothing that serializers write in different ways.
    let is_plain = |byte: u8| byte.is_ascii() && !b"\\/<>&'+`".contains(&byte);
    let styles = if body.iter().copied().all(is_plain) { 1 } else { STRINGS.len() };
    let (mut written, mut held) = (Vec::new(), 0);
    // A file ends with a line, and a parser takes no notice of it.
    for (end, line_end) in [("", &b""[..]), (LINE_END, b"\n")] {
        for (escapes, strings) in STRINGS.into_iter().take(styles) {
            for (layout, style) in LAYOUTS {
                let Some(mut bytes) = rewrite(document, Style { strings, ..style }, most) else { continue };
                bytes.extend_from_slice(line_end);
                held += bytes.len();
                written.push((Cow::Owned(format!("{layout}{escapes}{end}")), bytes));
                // More than can be kept.
                if held > MOST_HELD {
                    return written;
                }
            }
        }
    }
    written
}

const LINE_END: &str = ", and with a line feed at its end";

const LAYOUTS: [(&str, Style); 6] = [
    ("on one line without blanks, as `JSON.stringify` does", Style::COMPACT),
    ("on one line with blanks, as Python's `json.dumps` does", Style { comma: b", ", colon: b": ", ..Style::COMPACT }),
    ("with two blanks a level", Style { indent: Some(b"  "), colon: b": ", ..Style::COMPACT }),
    ("with four blanks a level", Style { indent: Some(b"    "), colon: b": ", ..Style::COMPACT }),
    ("with a tab a level", Style { indent: Some(b"\t"), colon: b": ", ..Style::COMPACT }),
    (
        "with two blanks a level and lists on one line, as Jackson does",
        Style { indent: Some(b"  "), colon: b" : ", lists_inline: true, ..Style::COMPACT },
    ),
];

const STRINGS: [(&str, Strings); 7] = [
    ("", Strings::Kept),
    (", and with no escape that JSON does not need", escaping(false, false, false)),
    (", and with everything outside ASCII escaped", escaping(true, false, false)),
    (", and with slashes and everything outside ASCII escaped, as PHP does", escaping(true, true, false)),
    (", and with slashes escaped", escaping(false, true, false)),
    (", and with `<`, `>` and `&` escaped, as Go does", escaping(false, false, true)),
    (
        ", and with everything outside ASCII and all that HTML could take for markup escaped, as .NET does",
        Strings::DotNet,
    ),
];

const fn escaping(non_ascii: bool, slash: bool, html: bool) -> Strings {
    Strings::Escaping { non_ascii, slash, html }
}
