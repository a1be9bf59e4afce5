//! The other senders: their signatures and envelopes, written from their documents.

use asixto_webhook_conformance::{Kit, fixtures};
use asixto_webhook_core::{
    Environment, SecretSet,
    provider::{CloudEvents, StandardWebhooks},
};
use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD},
};
use serde_json::value::RawValue;

use crate::{
    envelope::{Envelope, Members},
    flaw::{Flaw, Flawed},
    http::Head,
    memory::Memory,
    receiver::{PATH, SECRETS},
    signature::{header, hex, inside, mac, verify},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    Asixto,
    Standard,
    CloudEvents,
    Agent,
}

impl Sender {
    pub(crate) const ALL: [Self; 4] = [Self::Asixto, Self::Standard, Self::CloudEvents, Self::Agent];

    /// What its deliveries are made of.
    pub(crate) fn kit(self) -> Kit {
        let environment = Environment::Live;
        match self {
            Self::Asixto => Kit::new(PATH, SecretSet::from_issued(SECRETS).unwrap(), environment),
            Self::Standard => Kit::of(StandardWebhooks, PATH, SecretSet::from_issued(SECRETS).unwrap(), environment),
            Self::CloudEvents => {
                let provider = CloudEvents::new("Acme-Signature").unwrap();
                Kit::of(provider, PATH, SecretSet::from_issued(SECRETS).unwrap(), environment)
            }
            Self::Agent => Kit::of(fixtures::agent(), PATH, SecretSet::from_issued(SECRETS).unwrap(), environment),
        }
    }
}

/// The event of a delivery and its key, if it is one that its sender signed.
pub(crate) fn admit(head: &Head, body: &[u8], memory: &Memory, flawed: Flawed) -> Option<(String, Envelope)> {
    let (key, id) = match flawed.sender() {
        Sender::Asixto => return None,
        Sender::Standard => standard(head, body, flawed)?,
        Sender::CloudEvents => cloudevents(head, body, flawed)?,
        Sender::Agent => agent(head, body, memory, flawed)?,
    };
    Some((key, Envelope { id, ..Envelope::default() }))
}

/// L10
fn standard(head: &Head, body: &[u8], flawed: Flawed) -> Option<(String, String)> {
    let value = |name| header(&head.headers, name, flawed).ok();
    if !flawed.has(Flaw::StandardTrusts) {
        let (id, time) = (value("webhook-id")?, value("webhook-timestamp")?);
        let message = [id.as_bytes(), b".", time.as_bytes(), b".", body].concat();
        let key = |secret: &str| BASE64_STANDARD_NO_PAD.decode(&secret["whsec_".len()..]).unwrap();
        let expected = SECRETS.map(|secret| BASE64_STANDARD.encode(mac(&key(secret), &message)));
        let candidates = value("webhook-signature")?;
        let mut candidates = candidates.split(' ').map(|found| match found.split_once(',') {
            Some(("v1", found)) => found,
            None if flawed.has(Flaw::StandardBare) => found,
            _ => "",
        });
        let right = |found: &str| expected.iter().any(|expected| expected == found);
        let signed =
            if flawed.has(Flaw::StandardFirst) { candidates.next().is_some_and(right) } else { candidates.any(right) };
        if !signed || !inside(&time, flawed) {
            return None;
        }
    }
    let members = members(body)?;
    let id = match value("webhook-id") {
        Some(id) => id,
        None => text(&members, "id")?,
    };
    text(&members, "type")?;
    Some((id.clone(), id))
}

/// M1 to M5
fn cloudevents(head: &Head, body: &[u8], flawed: Flawed) -> Option<(String, String)> {
    verify("Acme-Signature", &head.headers, body, &SECRETS, flawed).ok()?;
    let members = members(body)?;
    let (id, source) = (text(&members, "id")?, text(&members, "source"));
    let source = if flawed.has(Flaw::CloudEventsSource) { source.unwrap_or_default() } else { source? };
    let key = if flawed.has(Flaw::CloudEventsId) { id.clone() } else { format!("{source:?} {id:?}") };
    Some((key, id))
}

/// N1 to N4
fn agent(head: &Head, body: &[u8], memory: &Memory, flawed: Flawed) -> Option<(String, String)> {
    let value = |name| header(&head.headers, name, flawed).ok();
    let nonces = (value("X-Agent-Nonce"), value("X-Agente-Nonce"));
    let nonce = match nonces {
        (Some(nonce), None) | (None, Some(nonce)) => nonce,
        (Some(nonce), Some(_)) if flawed.has(Flaw::AgentTwoNonces) => nonce,
        _ => return None,
    };
    let time = value("X-Agent-Timestamp")?;
    let message = [time.as_bytes(), nonce.as_bytes(), body].concat();
    let signature = value("X-Agent-Signature")?;
    let signed = SECRETS.iter().any(|secret| hex(&mac(secret.as_bytes(), &message)) == signature);
    let digits =
        time.starts_with(|first: char| ('1'..='9').contains(&first)) && time.bytes().all(|byte| byte.is_ascii_digit());
    let begins = body.starts_with(b"{") || flawed.has(Flaw::AgentAnyStart);
    if !signed || !digits || !begins || !inside(&time, flawed) {
        return None;
    }
    // A body that is no JSON uses no nonce up.
    let json = &body[body.iter().position(|byte| *byte == b'{')?..];
    let id = text(&members(json)?, "event_id")?;
    if !memory.takes_nonce(&nonce, body) && !flawed.has(Flaw::AgentForgets) {
        return None;
    }
    Some((if flawed.has(Flaw::AgentDedupsNonces) { nonce } else { id.clone() }, id))
}

fn members(body: &[u8]) -> Option<Vec<(String, Box<RawValue>)>> {
    serde_json::from_slice(body).ok().map(|Members(members)| members)
}

fn text(members: &[(String, Box<RawValue>)], name: &str) -> Option<String> {
    let (_, value) = members.iter().find(|(known, _)| known == name)?;
    serde_json::from_str(value.get()).ok()
}
