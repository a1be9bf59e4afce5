//! What a signature header says, without allocation: the signed message and the MACs offered for it.

use core::fmt;

use crate::mac::Encoding;

/// A parsed signature header: what the MAC covers, when it was made, and the MACs to try.
#[derive(Clone, Copy)]
pub struct Signed<'h> {
    /// The bytes signed ahead of the body, in pieces; unused pieces are empty.
    pub prefix: [&'h [u8]; 4],
    /// When it was signed, in unix seconds. A time past 64 bits is written as [`u64::MAX`].
    pub timestamp: u64,
    /// The MACs offered, of which one that matches is enough.
    pub candidates: Candidates<'h>,
    /// The byte that the body must begin with, for a message whose parts have no separator between them: without it
    /// bytes could move from one part to the next under the same MAC.
    pub body_begins: Option<u8>,
}

impl fmt::Debug for Signed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signed").field("timestamp", &self.timestamp).finish_non_exhaustive()
    }
}

/// The MACs in a header value: its parts that start with a tag, still as the sender's text.
#[derive(Clone, Copy)]
pub struct Candidates<'h> {
    value: &'h [u8],
    separator: u8,
    tag: &'static [u8],
    encoding: Encoding,
}

impl<'h> Candidates<'h> {
    /// The parts of `value`, cut at `separator` and trimmed of spaces and tabs, that start with `tag`.
    #[must_use]
    pub const fn new(value: &'h [u8], separator: u8, tag: &'static [u8], encoding: Encoding) -> Self {
        Self { value, separator, tag, encoding }
    }

    pub(crate) fn encoding(self) -> Encoding {
        self.encoding
    }

    /// The texts behind the tag, in the order sent.
    pub(crate) fn texts(self) -> impl Iterator<Item = &'h [u8]> {
        parts(self.value, self.separator).filter_map(move |part| part.strip_prefix(self.tag))
    }
}

impl fmt::Debug for Candidates<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Candidates(…)")
    }
}

/// `value` cut at `separator`, each part trimmed of spaces and tabs at its ends only.
pub fn parts(value: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    value.split(move |byte| *byte == separator).map(trim)
}

fn trim(mut part: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = part {
        part = rest;
    }
    part
}

/// Whether every byte is visible ASCII, space or tab.
#[must_use]
pub fn is_field_text(value: &[u8]) -> bool {
    // Without an early exit the loop becomes vector code.
    value.iter().fold(true, |so_far, byte| so_far & matches!(byte, b' '..=b'~' | b'\t'))
}

/// A positive decimal number without sign, blanks or leading zeros; past 64 bits it is [`u64::MAX`].
#[must_use]
pub fn decimal(text: &[u8]) -> Option<u64> {
    match text {
        [b'1'..=b'9', rest @ ..] if rest.iter().all(u8::is_ascii_digit) => {
            Some(text.iter().fold(0_u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0'))))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// B8: no sign, blank, leading zero or other digits; any length without overflow.
    #[test]
    fn decimals() {
        assert_eq!(decimal(b"1787923200"), Some(1_787_923_200));
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(decimal(b"18446744073709551616"), Some(u64::MAX));
        assert_eq!(decimal(&[b'9'; 5000]), Some(u64::MAX));
        for wrong in ["", "0", "01", "+1", "-1", " 1", "1 ", "1.0", "1e9", "0x1", "1_0", "١"] {
            assert_eq!(decimal(wrong.as_bytes()), None, "{wrong:?}");
        }
    }

    /// B8: trimmed around a part, nowhere else.
    #[test]
    fn trimmed_parts() {
        let found: Vec<_> = parts(b" \ta b\t ,,c, ", b',').collect();
        assert_eq!(found, [&b"a b"[..], b"", b"c", b""]);
    }
}
