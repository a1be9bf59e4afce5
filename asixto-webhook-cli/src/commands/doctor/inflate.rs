//! Compressed bodies, inflated: the sender may have signed before it compressed.

use std::io::Read;

use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// How large a body may become, in bytes: several times the limit of any sender.
pub(super) const MOST: usize = 4 << 20;

/// The body in every coding that it can be undone from, under a name for the report.
pub(super) fn readings(body: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let readings = [
        ("inflated from gzip", whole(MultiGzDecoder::new(body))),
        ("inflated from zlib", whole(ZlibDecoder::new(body))),
        ("inflated from raw deflate", whole(DeflateDecoder::new(body))),
    ];
    readings.into_iter().filter_map(|(name, bytes)| Some((name, bytes?))).collect()
}

/// All that a decoder gives, unless it is damaged, empty or too large. What is announced is not believed.
fn whole(decoder: impl Read) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    decoder.take(MOST as u64 + 1).read_to_end(&mut bytes).ok()?;
    (1..=MOST).contains(&bytes.len()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read, repeat};

    use flate2::{
        Compression,
        bufread::{DeflateEncoder, GzEncoder, ZlibEncoder},
    };

    use super::*;

    fn read(mut encoder: impl Read) -> Vec<u8> {
        let mut bytes = Vec::new();
        encoder.read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_was_compressed_comes_back() {
        let body = br#"{"id":"1","data":[1,2,3,1,2,3,1,2,3]}"#;
        let level = Compression::best();
        for (name, compressed) in [
            ("inflated from gzip", read(GzEncoder::new(&body[..], level))),
            ("inflated from zlib", read(ZlibEncoder::new(&body[..], level))),
            ("inflated from raw deflate", read(DeflateEncoder::new(&body[..], level))),
        ] {
            assert_eq!(readings(&compressed), [(name, body.to_vec())]);
            // Cut and changed anywhere: perhaps no reading, and no panic.
            for at in 0..compressed.len() {
                readings(&compressed[..at]);
                let mut changed = compressed.clone();
                changed[at] ^= 0xff;
                readings(&changed);
            }
        }
    }

    #[test]
    fn a_bomb_is_left_alone() {
        let most = MOST as u64;
        let zeros = |length| BufReader::new(repeat(0).take(length));
        let bomb = read(GzEncoder::new(zeros(4 * most), Compression::fast()));
        assert!(bomb.len() < 1 << 20);
        assert!(readings(&bomb).is_empty());
        // One that holds another, many members, and none with an end.
        assert!(
            readings(&read(GzEncoder::new(&bomb[..], Compression::best()))).iter().all(|(_, inner)| *inner == bomb)
        );
        let member = read(GzEncoder::new(zeros(most / 2), Compression::fast()));
        assert!(readings(&member.repeat(3)).is_empty());
        assert!(readings(&bomb[..bomb.len() / 2]).is_empty());

        let just = read(GzEncoder::new(zeros(most), Compression::fast()));
        assert_eq!(readings(&just).first().map(|(_, bytes)| bytes.len()), Some(MOST));
        assert!(readings(&read(GzEncoder::new(zeros(most + 1), Compression::fast()))).is_empty());
    }
}
