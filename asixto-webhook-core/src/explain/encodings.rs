//! What comes between a sender and a receiver, undone: form fields, base64, chunks, mistaken charsets.

use alloc::{string::String, vec::Vec};

use base64ct::{Base64, Base64Unpadded, Base64Url, Base64UrlUnpadded, Encoding as _};
use zeroize::Zeroizing;

/// Base64 in either alphabet, padded or not.
pub(super) fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let text = core::str::from_utf8(text.trim_ascii()).ok()?;
    let bytes = Base64::decode_vec(text)
        .or_else(|_| Base64Unpadded::decode_vec(text))
        .or_else(|_| Base64Url::decode_vec(text))
        .or_else(|_| Base64UrlUnpadded::decode_vec(text));
    bytes.ok().filter(|bytes| !bytes.is_empty())
}

/// In base64, in either alphabet, padded or not.
pub(super) fn in_base64(bytes: &[u8]) -> [Zeroizing<String>; 4] {
    [
        Base64::encode_string(bytes),
        Base64Unpadded::encode_string(bytes),
        Base64Url::encode_string(bytes),
        Base64UrlUnpadded::encode_string(bytes),
    ]
    .map(Zeroizing::new)
}

/// Pairs of hexadecimal digits.
pub(super) fn hex(text: &[u8]) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |[high, low]: &[u8; 2]| u8::try_from((digit(*high)? << 4) | digit(*low)?).ok();
    if pairs.is_empty() || !rest.is_empty() { None } else { pairs.iter().map(byte).collect() }
}

/// `%XX` undone, and `+` where it stands for a blank; `None` where a `%` begins no escape.
pub(super) fn percent_decoded(text: &[u8], plus: bool) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        rest = tail;
        match first {
            b'%' => {
                let (escape, after) = tail.split_at_checked(2)?;
                out.extend(hex(escape)?);
                rest = after;
            }
            b'+' if plus => out.push(b' '),
            other => out.push(*other),
        }
    }
    Some(out)
}

/// As the value of a form's field is written.
pub(super) fn form_encoded(name: &[u8], value: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = name.to_vec();
    for byte in value {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'*' => out.push(*byte),
            b' ' => out.push(b'+'),
            other => {
                let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'0');
                out.extend([b'%', digit(other >> 4), digit(other & 0xf)]);
            }
        }
    }
    out
}

/// The content of chunks with their sizes still before them.
pub(super) fn unchunked(body: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = body;
    loop {
        let end = rest.iter().take(20).position(|byte| *byte == b'\r')?;
        let (line, after) = rest.split_at_checked(end)?;
        let size = usize::from_str_radix(core::str::from_utf8(line).ok()?, 16).ok()?;
        let (chunk, after) = after.strip_prefix(b"\r\n")?.split_at_checked(size)?;
        if size == 0 {
            return Some(out);
        }
        out.extend_from_slice(chunk);
        rest = after.strip_prefix(b"\r\n")?;
    }
}

/// What Windows-1252 has where Latin-1 has controls, from 0x80 on.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘', '’',
    '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// UTF-8 that was read as Latin-1 or Windows-1252 and written as UTF-8 again, undone.
pub(super) fn mojibake_undone(body: &[u8]) -> Option<Vec<u8>> {
    let text = core::str::from_utf8(body).ok()?;
    let byte = |char: char| {
        u8::try_from(u32::from(char)).ok().or_else(|| {
            let place = WINDOWS_1252.iter().position(|other| *other == char)?;
            u8::try_from(0x80 + place).ok()
        })
    };
    text.chars().map(byte).collect()
}

/// Latin-1 as UTF-8, for a body that is no UTF-8.
pub(super) fn latin_1_as_utf8(body: &[u8]) -> Option<Vec<u8>> {
    let is_utf8 = core::str::from_utf8(body).is_ok();
    (!is_utf8).then(|| body.iter().copied().map(char::from).collect::<String>().into_bytes())
}

/// `LF` and `CR LF` as `line_end`.
pub(super) fn line_ends(body: &[u8], line_end: &[u8]) -> Vec<u8> {
    let mut lines = body.split(|byte| *byte == b'\n').peekable();
    let mut out = Vec::with_capacity(body.len());
    while let Some(line) = lines.next() {
        if lines.peek().is_none() {
            out.extend_from_slice(line);
        } else {
            out.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
            out.extend_from_slice(line_end);
        }
    }
    out
}
