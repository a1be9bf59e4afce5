//! HMAC-SHA256 under a key that is prepared once, and its comparison in constant time.

use alloc::string::String;
use core::{fmt, hint::black_box};

use base64ct::{Base64, Encoding as _};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq};
use zeroize::Zeroizing;

/// How a sender writes a MAC as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Encoding {
    /// 64 lower-case hexadecimal digits.
    HexLower,
    /// 44 characters of padded base64, in the standard alphabet.
    Base64,
}

/// A key whose two HMAC blocks are already hashed: a message costs a clone, not a key schedule.
#[derive(Clone)]
pub(crate) struct Keyed(Hmac<Sha256>);

impl Keyed {
    #[expect(clippy::expect_used, reason = "HMAC is defined for keys of any length")]
    pub(crate) fn new(key: &[u8]) -> Self {
        Self(Hmac::new_from_slice(key).expect("HMAC takes a key of any length"))
    }

    /// A MAC over `prefix`, ready for the body.
    pub(crate) fn begin(&self, prefix: &[&[u8]]) -> Self {
        let mut running = self.clone();
        for part in prefix {
            running.update(part);
        }
        running
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self, encoding: Encoding) -> Tag {
        Tag::encode(&Zeroizing::new(self.0.finalize().into_bytes().into()), encoding)
    }
}

impl fmt::Debug for Keyed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keyed(…)")
    }
}

/// The longest text of a MAC in any [`Encoding`].
const LONGEST: usize = 64;

/// The text of a valid MAC: as secret as the key for the message at hand.
pub(crate) struct Tag {
    text: Zeroizing<[u8; LONGEST]>,
    length: usize,
}

impl Tag {
    fn encode(mac: &[u8; 32], encoding: Encoding) -> Self {
        let mut text = Zeroizing::new([0; LONGEST]);
        let length = match encoding {
            Encoding::HexLower => {
                for (byte, digits) in mac.iter().zip(text.chunks_exact_mut(2)) {
                    digits.copy_from_slice(&[hex_digit(byte >> 4), hex_digit(byte & 0xf)]);
                }
                64
            }
            Encoding::Base64 => {
                // In constant time, as the hexadecimal above. The buffer is large enough.
                Base64::encode(mac, text.as_mut_slice()).map_or(0, str::len)
            }
        };
        Self { text, length }
    }

    fn as_slice(&self) -> &[u8] {
        self.text.get(..self.length).unwrap_or_default()
    }

    /// Whether `candidate` is this text. Its length is public, its content is compared in constant time:
    /// word by word, since a header may carry a hundred candidates.
    pub(crate) fn matches(&self, candidate: &[u8]) -> Choice {
        let expected = self.as_slice();
        if candidate.len() != expected.len() {
            return Choice::from(0);
        }
        // Both lengths are a multiple of four.
        let (expected, _) = expected.as_chunks::<4>();
        let (candidate, _) = candidate.as_chunks::<4>();
        let difference = expected
            .iter()
            .zip(candidate)
            .fold(0, |sum, (a, b)| sum | (u32::from_ne_bytes(*a) ^ u32::from_ne_bytes(*b)));
        black_box(difference).ct_eq(&0)
    }

    /// The text, for a sender.
    pub(crate) fn into_text(self) -> String {
        self.as_slice().iter().copied().map(char::from).collect()
    }
}

/// Without a table: a look-up would leave the MAC in the timing of the cache.
const fn hex_digit(nibble: u8) -> u8 {
    let letter = (9_u8.wrapping_sub(nibble)) >> 7;
    b'0' + nibble + letter * (b'a' - b'0' - 10)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    /// B2: RFC 4231, test cases 1 and 2, and 6 with a key longer than a block.
    #[test]
    fn published_vectors() {
        for (key, message, mac) in [
            (vec![0x0b; 20], "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
            (
                b"Jefe".to_vec(),
                "what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                vec![0xaa; 131],
                "Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            let (head, tail) = message.as_bytes().split_at(3);
            let mut running = Keyed::new(&key).begin(&[head]);
            running.update(tail);
            assert_eq!(running.finish(Encoding::HexLower).into_text(), mac);
        }
    }

    /// B4: every single wrong character is seen, wherever it stands.
    #[test]
    fn one_wrong_character() {
        let tag = Keyed::new(b"key").begin(&[]).finish(Encoding::HexLower);
        let text = Keyed::new(b"key").begin(&[]).finish(Encoding::HexLower).into_text().into_bytes();
        assert!(bool::from(tag.matches(&text)));
        for at in 0..text.len() {
            let mut wrong = text.clone();
            wrong[at] ^= 1;
            assert!(!bool::from(tag.matches(&wrong)), "character {at}");
            assert!(!bool::from(tag.matches(&text[..at])), "length {at}");
        }
    }
}
