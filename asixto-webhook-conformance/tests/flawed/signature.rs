//! The signature and the window, written from the document alone.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::{
    flaw::{Flaw, Flawed},
    http::Headers,
};

/// C1
const TOLERANCE: u64 = 300;

/// Why a delivery is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    Missing,
    Repeated,
    NotAscii,
    NotANumber,
    Malformed,
    Signature,
    Window,
}

/// Whether one of the secrets signed the body, not too far from now.
pub(crate) fn verify(
    name: &str,
    headers: &Headers,
    body: &[u8],
    secrets: &[&str],
    flawed: Flawed,
) -> Result<(), Refusal> {
    if flawed.has(Flaw::Trusts) {
        return Ok(());
    }
    let header = match header(headers, name, flawed) {
        Err(Refusal::Missing) if flawed.has(Flaw::MissingPasses) => return Ok(()),
        header => header?,
    };
    let (time, candidates) = parts(&header, flawed)?;

    let message = message(time, body, flawed);
    let signed_by = |secret: &&str| {
        let expected = hex(&mac(&key(secret, flawed), &message));
        candidates.iter().any(|found| same(found, &expected, flawed))
    };
    let signed = match flawed.0 {
        Some(Flaw::FirstSecret) => secrets.first().is_some_and(signed_by),
        Some(Flaw::LastSecret) => secrets.last().is_some_and(signed_by),
        Some(Flaw::AllSecrets) => secrets.iter().all(signed_by),
        _ => secrets.iter().any(signed_by),
    };
    if !signed {
        return Err(Refusal::Signature);
    }

    if inside(time, flawed) { Ok(()) } else { Err(Refusal::Window) }
}

/// C1
pub(crate) fn inside(time: &str, flawed: Flawed) -> bool {
    // What does not fit is as far away as what does.
    let time = time.parse().unwrap_or(u64::MAX);
    let now = flawed.now().as_second().unsigned_abs();
    match flawed.0 {
        Some(Flaw::NoWindow) => true,
        Some(Flaw::OneSidedWindow) => now.saturating_sub(time) <= TOLERANCE,
        Some(Flaw::NarrowWindow) => now.abs_diff(time) <= 30,
        Some(Flaw::WideWindow) => now.abs_diff(time) <= 3600,
        Some(Flaw::Milliseconds) => now.abs_diff(time).min(now.abs_diff(time / 1000)) <= TOLERANCE,
        _ => now.abs_diff(time) <= TOLERANCE,
    }
}

/// The one value of the header, which is ASCII. B6, B8
pub(crate) fn header(headers: &Headers, name: &str, flawed: Flawed) -> Result<String, Refusal> {
    let is_it = |found: &str| match flawed.0 {
        Some(Flaw::ExactName) => found == name,
        _ => found.eq_ignore_ascii_case(name),
    };
    let values: Vec<_> = headers.iter().filter(|(found, _)| is_it(found)).map(|(_, value)| value.as_slice()).collect();
    let value = match (values.as_slice(), flawed.0) {
        ([], _) => return Err(Refusal::Missing),
        ([value], _) | ([value, ..], Some(Flaw::FirstHeader)) | ([.., value], Some(Flaw::LastHeader)) => value.to_vec(),
        (_, Some(Flaw::JoinsHeaders)) => values.join(&b", "[..]),
        _ => return Err(Refusal::Repeated),
    };
    let visible = |byte: &u8| matches!(byte, b'\t' | b' '..=b'~');
    match value.iter().all(visible) || flawed.has(Flaw::ReadsAnyByte) {
        true => Ok(String::from_utf8_lossy(&value).into_owned()),
        false => Err(Refusal::NotAscii),
    }
}

/// The timestamp and the signatures. B8, B9
fn parts(header: &str, flawed: Flawed) -> Result<(&str, Vec<&str>), Refusal> {
    let (mut time, mut candidates) = (None, Vec::new());
    for (place, part) in header.split(',').enumerate() {
        let part = if flawed.has(Flaw::KeepsBlanks) { part } else { part.trim_matches([' ', '\t']) };
        match part.split_once('=') {
            None if flawed.has(Flaw::RefusesBareParts) => return Err(Refusal::Malformed),
            None => {}
            Some(("t", _)) if place > 0 && flawed.has(Flaw::FixedOrder) => return Err(Refusal::Malformed),
            Some(("t", value)) if time.is_none() => time = Some(value),
            // Where headers are joined, a second timestamp is what has to be expected.
            Some(("t", _)) if matches!(flawed.0, Some(Flaw::OneTimestampOfMany | Flaw::JoinsHeaders)) => {}
            Some(("t", _)) => return Err(Refusal::Malformed),
            Some(("v1", "")) => {}
            Some(("v1", value)) => candidates.push(value),
            Some((version, value)) if version.starts_with('v') && flawed.has(Flaw::AnyVersion) => {
                candidates.push(value);
            }
            Some(_) if flawed.has(Flaw::RefusesOtherParts) => return Err(Refusal::Malformed),
            Some(_) => {}
        }
    }
    let time = time.ok_or(Refusal::Malformed)?;
    if time.parse::<u64>().is_err() && flawed.has(Flaw::CrashesOnNumbers) {
        return Err(Refusal::NotANumber);
    }
    let digits = !time.is_empty() && time.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || time.starts_with('0') && !flawed.has(Flaw::ReformatsTimestamp) {
        return Err(Refusal::Malformed);
    }
    let whole = |found: &&str| found.len() == 64 && found.bytes().all(|byte| byte.is_ascii_hexdigit());
    match flawed.0 {
        Some(Flaw::FewCandidates) if candidates.len() > 10 => return Err(Refusal::Malformed),
        Some(Flaw::SpoiltByOne) if !candidates.iter().all(whole) => return Err(Refusal::Malformed),
        Some(Flaw::FirstCandidate) => candidates.truncate(1),
        Some(Flaw::LastCandidate) => candidates = candidates.split_off(candidates.len().saturating_sub(1)),
        _ => {}
    }
    if candidates.is_empty() { Err(Refusal::Malformed) } else { Ok((time, candidates)) }
}

/// B2, B3
fn message(time: &str, body: &[u8], flawed: Flawed) -> Vec<u8> {
    match flawed.0 {
        Some(Flaw::ReformatsTimestamp) => {
            let number: u64 = time.parse().unwrap_or_default();
            [number.to_string().as_bytes(), b".", body].concat()
        }
        Some(Flaw::Reserialises) => {
            let value: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
            [time.as_bytes(), b".", value.to_string().as_bytes()].concat()
        }
        _ => [time.as_bytes(), b".", body].concat(),
    }
}

/// The text as issued. B2
fn key(secret: &str, flawed: Flawed) -> Vec<u8> {
    match secret.strip_prefix("whsec_") {
        Some(rest) if flawed.has(Flaw::StripsPrefix) => rest.into(),
        _ => secret.into(),
    }
}

pub(crate) fn hex(mac: &[u8]) -> String {
    mac.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn mac(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

/// B4, save the constant time, which no probe can see.
fn same(found: &str, expected: &str, flawed: Flawed) -> bool {
    match flawed.0 {
        Some(Flaw::AnyCase) => found.eq_ignore_ascii_case(expected),
        Some(Flaw::Prefix) => expected.starts_with(found),
        Some(Flaw::FirstDigits) => found.get(..16) == expected.get(..16),
        _ => found == expected,
    }
}
