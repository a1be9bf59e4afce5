//! The envelope: what is read of it, and what is refused.

use std::fmt;

use asixto_webhook_conformance::fixtures::EVENT_TYPES;
use serde::{Deserialize, Deserializer, de};
use serde_json::value::RawValue;

use crate::flaw::{Flaw, Flawed};

#[derive(Debug, Default)]
pub(crate) struct Envelope {
    pub(crate) id: String,
    pub(crate) event_type: String,
    pub(crate) created: u64,
    pub(crate) replay_of: Option<String>,
    pub(crate) job: Option<String>,
}

/// A2, A3, A5, A6, A8
pub(crate) fn open(body: &[u8], flawed: Flawed) -> Option<Envelope> {
    let members = match serde_json::from_slice(body) {
        Ok(Members(members)) => members,
        Err(_) if flawed.has(Flaw::NoEnvelope) => Vec::new(),
        Err(_) => return None,
    };
    let named = |name: &'static str| members.iter().filter(move |(known, _)| known == name).map(|(_, value)| value);

    let id = if flawed.has(Flaw::LastId) { named("id").next_back() } else { named("id").next() };
    let id = id.and_then(|id| read::<String>(id)).filter(|id| !id.is_empty() || flawed.has(Flaw::EmptyIds));
    let created = named("created").next().and_then(|created| read(created));
    let text = |name| named(name).next().and_then(|value| read::<String>(value));
    let data: Option<Members> = named("data").next().and_then(|data| read(data));
    let inner = |name| data.as_ref()?.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.get());
    let (replay_of, job) = (text("replay_of"), inner("job_id").map(str::to_owned));
    let event_type = text("type");

    let made_up = || String::from_utf8_lossy(body).into_owned();
    if flawed.has(Flaw::NoEnvelope) {
        let id = id.unwrap_or_else(made_up);
        let (event_type, created) = (event_type.unwrap_or_default(), created.unwrap_or_default());
        return Some(Envelope { id, event_type, created, replay_of, job });
    }
    let id = if flawed.has(Flaw::MakesUpIds) { id.unwrap_or_else(made_up) } else { id? };
    let (created, event_type, environment) = (created?, event_type?, text("environment")?);

    let known = ["id", "type", "created", "environment", "data", "replay_of"];
    let twice = known.iter().any(|name| named(name).count() > 1);
    let of_a_job = event_type.starts_with("job.");
    let odd = match flawed.0 {
        Some(Flaw::FirstId | Flaw::LastId) => environment != "live",
        Some(Flaw::AnyEnvironment) => twice,
        _ => twice || environment != "live",
    };
    let refused = match flawed.0 {
        Some(Flaw::StrictFields) => members.iter().any(|(name, _)| !known.contains(&&**name)),
        Some(Flaw::StrictTypes) => !EVENT_TYPES.contains(&&*event_type),
        Some(Flaw::NeedsResult) => of_a_job && inner("result").is_none_or(|result| !result.starts_with('{')),
        Some(Flaw::PlainIds) => !id.chars().all(|char| char.is_ascii_alphanumeric() || ":-".contains(char)),
        Some(Flaw::ShortIds) => id.len() > 255,
        Some(Flaw::Floats) => serde_json::from_slice::<serde_json::Value>(body).is_err(),
        Some(Flaw::ShallowData) => depth(body) > 64,
        _ => false,
    };
    (data.is_some() && !odd && !refused).then_some(Envelope { id, event_type, created, replay_of, job })
}

fn read<'b, T: Deserialize<'b>>(value: &'b RawValue) -> Option<T> {
    serde_json::from_str(value.get()).ok()
}

/// Good enough for bodies that have no brackets in their texts.
fn depth(body: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in body {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// The members of an object in their order, all of them.
pub(crate) struct Members(pub(crate) Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Visitor)
    }
}

struct Visitor;

impl<'de> de::Visitor<'de> for Visitor {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: de::MapAccess<'de>>(self, mut map: M) -> Result<Members, M::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}
