//! The grammar of `t=<unix seconds>,v1=<hex>[,v1=<hex>…]`, which more than one sender uses.

use alloc::string::{String, ToString};
use core::fmt::Write;

use super::Provider;
use crate::{
    headers::Malformed,
    mac::Encoding,
    secret::SecretSet,
    signature::{Candidates, Signed, decimal, is_field_text, parts},
};

const TIMESTAMP: &[u8] = b"t=";
const SIGNATURE: &[u8] = b"v1=";
const DOT: &[u8] = b".";

pub(super) fn parse(value: &[u8]) -> Result<Signed<'_>, Malformed> {
    if !is_field_text(value) {
        return Err(Malformed::NotAscii);
    }
    let mut timestamp = None;
    let mut signature = false;
    for part in parts(value, b',') {
        if let Some(text) = part.strip_prefix(TIMESTAMP) {
            if timestamp.replace(text).is_some() {
                return Err(Malformed::SecondTimestamp);
            }
        } else if let Some(text) = part.strip_prefix(SIGNATURE) {
            signature |= !text.is_empty();
        }
    }
    let text = timestamp.ok_or(Malformed::NoTimestamp)?;
    let seconds = decimal(text).ok_or(Malformed::NotDecimal)?;
    if !signature {
        return Err(Malformed::NoSignature);
    }
    Ok(Signed {
        // The text as it came, never reformatted.
        prefix: [text, DOT, b"", b""],
        timestamp: seconds,
        candidates: Candidates::new(value, b',', SIGNATURE, Encoding::HexLower),
        body_begins: None,
    })
}

pub(super) fn write<P: Provider>(secrets: &SecretSet<P>, seconds: u64, body: &[u8]) -> String {
    let seconds = seconds.to_string();
    let mut header = String::from("t=") + &seconds;
    for secret in secrets.iter() {
        let mac = secret.sign(&[seconds.as_bytes(), DOT], body, Encoding::HexLower);
        // Writing to a `String` cannot fail.
        let _ = write!(header, ",v1={mac}");
    }
    header
}
