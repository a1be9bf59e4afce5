//! What the tests share: headers as lines, and a receiver that has seen nothing yet.
#![allow(dead_code, reason = "each test file is a crate of its own and uses a part of this")]

use asixto_webhook_core::{
    Admission, Bytes, Delivery, NoDedup, Receiver, SecretSet, UnixTime,
    provider::{Message, Provider},
    testing::ManualClock,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use pollster::block_on;
use ring::hmac;

pub(crate) type Lines = Vec<(String, String)>;

pub(crate) fn lines<const LENGTH: usize>(headers: [(&str, String); LENGTH]) -> Lines {
    headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

pub(crate) fn header_map(lines: &Lines) -> HeaderMap {
    let parsed = |(name, value): &(String, String)| {
        (HeaderName::try_from(name.as_str()).unwrap(), HeaderValue::try_from(value.as_str()).unwrap())
    };
    lines.iter().map(parsed).collect()
}

/// The headers that `provider` puts on `body`.
pub(crate) fn signed<P: Provider>(
    provider: &P,
    secrets: &SecretSet<P>,
    id: &str,
    at: u64,
    body: impl AsRef<[u8]>,
) -> Lines {
    let message = Message::new(UnixTime::from_secs(at), body.as_ref()).with_id(id);
    provider.sign(secrets, message).into_iter().map(|(name, value)| (name.into_owned(), value)).collect()
}

/// What a receiver makes of a delivery at `now`.
pub(crate) fn admit<P: Provider>(
    provider: &P,
    secrets: &SecretSet<P>,
    headers: &Lines,
    body: impl Into<Vec<u8>>,
    now: u64,
) -> Admission<P> {
    let receiver = Receiver::builder_for(provider.clone())
        .secrets(secrets.clone())
        .dedup(NoDedup)
        .clock(ManualClock::new(UnixTime::from_secs(now)))
        .build()
        .unwrap();
    block_on(receiver.admit(Delivery::new("POST", headers, Bytes::from(body.into()))))
}

/// HMAC-SHA256 by another implementation.
pub(crate) fn mac(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
    parts.iter().for_each(|part| context.update(part));
    context.sign().as_ref().to_vec()
}

/// Whether another implementation finds that `mac` holds.
pub(crate) fn holds(key: &[u8], parts: &[&[u8]], mac: &[u8]) -> bool {
    hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, key), &parts.concat(), mac).is_ok()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn unhex(text: &str) -> Vec<u8> {
    let pair = |place| u8::from_str_radix(&text[place..place + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(pair).collect()
}
