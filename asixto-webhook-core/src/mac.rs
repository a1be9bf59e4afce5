//! HMAC-SHA256 under a key that is prepared once, and its comparison in constant time.

use alloc::string::String;
use core::{fmt, hint::black_box};

use base64ct::{Base64, Encoding as _};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;
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
    #[inline(always)]
    pub(crate) fn begin(&self, prefix: &[&[u8]]) -> Self {
        let mut running = self.clone();
        for part in prefix.iter().filter(|part| !part.is_empty()) {
            running.update(part);
        }
        running
    }

    #[inline]
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    #[inline(always)]
    pub(crate) fn finish(self, encoding: Encoding) -> Tag {
        // Encoded where it stands: it is wiped there.
        Tag::encode(self.0.finalize().as_bytes(), encoding)
    }
}

impl fmt::Debug for Keyed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keyed(…)")
    }
}

/// The longest text of a MAC in any [`Encoding`], in words.
const LONGEST: usize = HEX;
const HEX: usize = 64 / 4;
const BASE64: usize = 44 / 4;

/// The text of a valid MAC: as secret as the key for the message at hand.
///
/// It is kept in words of four characters, so that it is written, compared and wiped by the word: a header may carry
/// a hundred candidates.
pub(crate) struct Tag {
    text: Zeroizing<[u32; LONGEST]>,
    encoding: Encoding,
}

impl Tag {
    #[inline(always)]
    fn encode(mac: &[u8], encoding: Encoding) -> Self {
        let mut text = Zeroizing::new([0; LONGEST]);
        match encoding {
            Encoding::HexLower => {
                let (pairs, _) = mac.as_chunks();
                for (word, pair) in text.iter_mut().zip(pairs) {
                    *word = hex(*pair);
                }
            }
            Encoding::Base64 => {
                let mut bytes = Zeroizing::new([0; BASE64 * 4]);
                // In constant time, as the hexadecimal above. The buffer is large enough.
                let _ = Base64::encode(mac, bytes.as_mut_slice());
                let (chunks, _) = bytes.as_chunks();
                for (word, chunk) in text.iter_mut().zip(chunks) {
                    *word = u32::from_le_bytes(*chunk);
                }
            }
        }
        Self { text, encoding }
    }

    /// Whether one of `candidates` is this text. All are compared, each in constant time but for its length, which is
    /// public: neither the place of a match nor that of a difference takes time.
    #[inline]
    pub(crate) fn is_among<'c, C: Iterator<Item = &'c [u8]>>(&self, candidates: C) -> bool {
        let differences = candidates.map(|candidate| match self.encoding {
            Encoding::HexLower => self.difference::<HEX>(candidate),
            Encoding::Base64 => self.difference::<BASE64>(candidate),
        });
        // 1 for a difference of 0, in arithmetic that has no branch; hidden, so that the compiler makes none of it.
        let is_zero = |difference: u32| !(difference | difference.wrapping_neg()) >> 31;
        differences.fold(0, |found, difference| found | is_zero(black_box(difference))).ct_eq(&1).into()
    }

    /// Whether `candidate` is this text.
    pub(crate) fn matches(&self, candidate: &[u8]) -> bool {
        self.is_among(core::iter::once(candidate))
    }

    fn difference<const WORDS: usize>(&self, candidate: &[u8]) -> u32 {
        let (words, rest) = candidate.as_chunks::<4>();
        match (self.text.first_chunk::<WORDS>(), <&[[u8; 4]; WORDS]>::try_from(words)) {
            (Some(expected), Ok(found)) if rest.is_empty() => {
                expected.iter().zip(found).fold(0, |sum, (a, b)| sum | (a ^ u32::from_le_bytes(*b)))
            }
            _ => 1,
        }
    }

    /// The text, for a sender.
    pub(crate) fn into_text(self) -> String {
        let words = match self.encoding {
            Encoding::HexLower => HEX,
            Encoding::Base64 => BASE64,
        };
        self.text.iter().take(words).flat_map(|word| word.to_le_bytes()).map(char::from).collect()
    }
}

/// The four digits of two bytes, the first one lowest. Without a table: a look-up would leave the MAC in the timing of
/// the cache.
const fn hex([first, second]: [u8; 2]) -> u32 {
    let bytes = first as u32 | (second as u32) << 16;
    let digits = ((bytes >> 4) & 0x000f_000f) | ((bytes & 0x000f_000f) << 8);
    let letters = ((digits + 0x0606_0606) >> 4) & 0x0101_0101;
    // What lies between '9' and 'a' is 39: for each letter, without a multiplication.
    let gap = (letters << 5) | (letters << 2) | (letters << 1) | letters;
    digits + 0x3030_3030 + gap
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
        for encoding in [Encoding::HexLower, Encoding::Base64] {
            let tag = || Keyed::new(b"key").begin(&[]).finish(encoding);
            let text = tag().into_text().into_bytes();
            let matches = |candidate: &[u8]| tag().matches(candidate);
            assert!(matches(&text));
            assert!(!matches(&[&text[..], b"0"].concat()));
            for at in 0..text.len() {
                let mut wrong = text.clone();
                wrong[at] ^= 1;
                assert!(!matches(&wrong), "character {at}");
                assert!(!matches(&text[..at]), "length {at}");
            }
        }
    }
}
