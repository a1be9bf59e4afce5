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
        parts(self.value, self.separator).filter_map(move |part| {
            let (tag, text) = part.split_at_checked(self.tag.len())?;
            tag.iter().eq(self.tag).then_some(text)
        })
    }
}

impl fmt::Debug for Candidates<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Candidates(…)")
    }
}

/// `value` cut at `separator`, each part trimmed of spaces and tabs at its ends only.
pub fn parts(value: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(value);
    core::iter::from_fn(move || {
        let value = rest?;
        let part = match find(value, separator).and_then(|at| value.split_at_checked(at)) {
            Some((part, tail)) => {
                rest = tail.get(1..);
                part
            }
            None => rest.take()?,
        };
        Some(trim(part))
    })
}

/// Where `byte` first stands. A header may have a hundred long parts: they are passed by in blocks, for which a loop
/// without an early exit becomes vector code, and then in words.
#[inline]
fn find(value: &[u8], byte: u8) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    let lacks_it = |block: &&[u8; 32]| block.iter().fold(0, |found, other| found | u8::from(*other == byte)) == 0;
    let (blocks, _) = value.as_chunks();
    let mut passed = blocks.iter().take_while(lacks_it).count() * 32;
    let (words, rest) = value.get(passed..)?.as_chunks();
    for word in words {
        let difference = u64::from_le_bytes(*word) ^ (ONES * u64::from(byte));
        // The high bit of the first byte that is zero, and of none before it.
        let zeros = difference.wrapping_sub(ONES) & !difference & (ONES << 7);
        if zeros != 0 {
            return Some(passed + zeros.trailing_zeros() as usize / 8);
        }
        passed += 8;
    }
    rest.iter().position(|other| *other == byte).map(|at| passed + at)
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
            let digits = text.iter().map(|digit| u64::from(digit - b'0'));
            // So many digits fit, whatever they are.
            Some(if text.len() < 20 {
                digits.fold(0, |sum, digit| sum * 10 + digit)
            } else {
                digits.fold(0, |sum: u64, digit| sum.saturating_mul(10).saturating_add(digit))
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use alloc::{vec, vec::Vec};

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

    /// B8: wherever a separator stands, and among bytes that differ from it in one bit.
    #[test]
    fn long_parts() {
        for other in [b'-', b'l', b',' | 0x80, 0, 0xff] {
            for length in 1..100 {
                for at in 0..length {
                    let mut value = vec![other; length];
                    value[at] = b',';
                    value[length / 2] = b',';
                    let expected: Vec<_> = value.split(|byte| *byte == b',').collect();
                    assert_eq!(parts(&value, b',').collect::<Vec<_>>(), expected);
                }
            }
        }
    }
}
