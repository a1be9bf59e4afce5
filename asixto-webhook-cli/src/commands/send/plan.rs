//! What is to be sent, and in which order: decided before the first delivery leaves.

use asixto_webhook_conformance::fixtures::{self, EVENT_TYPES, Fixture, MessageId};
use asixto_webhook_core::{Environment, RawValue, UnixTime, provider::Message};

use super::{ALL, Args, random::Random};
use crate::{
    console::{Console, Failure},
    provider::{Choice, Keys},
};

/// When every seeded event happened.
const SEEDED: u64 = 1_787_923_200;
/// So that a slip of the finger does not fill the memory.
const MOST: u64 = 1_000_000;

/// Events, and the order in which they are delivered, some of them more than once.
pub(super) struct Plan<'a> {
    args: &'a Args,
    keys: &'a dyn Keys,
    created: u64,
    data: Option<Box<RawValue>>,
    events: Vec<Event>,
    /// The places of events, and a nonce for each delivery.
    order: Vec<(usize, u64)>,
}

/// One event.
pub(super) struct Event {
    fixture: &'static str,
    /// As it is sent.
    pub(super) event_type: String,
    pub(super) id: String,
}

/// One delivery of an event.
pub(super) struct Delivery<'p> {
    pub(super) event: &'p Event,
    nonce: String,
}

/// What is posted.
pub(super) struct Request {
    pub(super) content_type: &'static str,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl<'a> Plan<'a> {
    pub(super) fn new(args: &'a Args, keys: &'a dyn Keys, console: &mut Console) -> Result<Self, Failure> {
        let types: Vec<_> = EVENT_TYPES.into_iter().filter(|name| [name, ALL].contains(&&*args.event_type)).collect();
        check_arguments(args, types.len())?;
        let Args { body, times, .. } = args;
        let sent_as = body.set.iter().rev().find_map(|edit| edit.text("type"));
        let mut random = Random::new(times.seed.map_or_else(new_seed, Ok)?);
        let events: Vec<_> = (1..=times.count)
            .flat_map(|round| types.iter().map(move |event_type| (round, *event_type)))
            .map(|(round, event_type)| {
                let id = match (&body.id, &body.replay_of) {
                    (Some(id), _) => id.clone(),
                    // As the gateway names a replay, G4.
                    (None, Some(original)) => format!("{original}:r{round}"),
                    (None, None) => format!("evt_{:016x}", random.next()),
                };
                Event { fixture: event_type, event_type: sent_as.clone().unwrap_or_else(|| event_type.to_owned()), id }
            })
            .collect();
        let copies = |event| (0..times.duplicate).map(move |_| event);
        let mut order: Vec<_> = (0..events.len()).flat_map(copies).map(|event| (event, random.next())).collect();
        if times.shuffle {
            random.shuffle(&mut order);
        }
        let usual = || if times.seed.is_some() { SEEDED } else { UnixTime::now().as_secs() };
        Ok(Self { args, keys, created: body.created.unwrap_or_else(usual), data: data(args, console)?, events, order })
    }

    /// Every event, once.
    pub(super) fn events(&self) -> &[Event] {
        &self.events
    }

    /// How many deliveries there are.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// Every delivery, in its order.
    pub(super) fn deliveries(&self) -> impl Iterator<Item = Delivery<'_>> {
        self.order.iter().filter_map(|(place, nonce)| {
            Some(Delivery { event: self.events.get(*place)?, nonce: format!("{nonce:016x}") })
        })
    }

    /// Whether one delivery of each type can be made: what is wrong with one is wrong with all.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let types = EVENT_TYPES.len().min(self.events.len());
        self.events.iter().take(types).try_for_each(|event| {
            let nonce = "0".to_owned();
            self.request(&Delivery { event, nonce }).map(|_| ())
        })
    }

    /// A delivery, signed now: time and signature are made anew for every attempt, H5.
    pub(super) fn request(&self, Delivery { event, nonce }: &Delivery<'_>) -> Result<Request, Failure> {
        let body = self.body(event)?;
        let message_id = match self.keys.message_id() {
            MessageId::None => "",
            MessageId::Event => &event.id,
            MessageId::Nonce => nonce,
        };
        let headers = self.keys.sign(Message::new(UnixTime::now(), body.as_bytes()).with_id(message_id))?;
        Ok(Request { content_type: self.keys.content_type(), headers, body })
    }

    fn body(&self, event: &Event) -> Result<String, Failure> {
        let body = &self.args.body;
        let data = self.data.as_deref().map(RawValue::get).or_else(|| fixtures::data(event.fixture));
        let original = self.keys.body(&Fixture {
            event_type: event.fixture,
            id: body.replay_of.as_ref().unwrap_or(&event.id),
            created: self.created,
            environment: body.environment.unwrap_or(Environment::Test).as_str(),
            data: data.unwrap_or("{}"),
        });
        let delivered = match body.replay_of {
            Some(_) => fixtures::replay(&original, &event.id).unwrap_or(original),
            None => original,
        };
        body.set.iter().chain(&body.unset).try_fold(delivered, |json, edit| edit.apply(&json))
    }
}

/// What the arguments allow each by itself, and not together.
fn check_arguments(args: &Args, types: usize) -> Result<(), Failure> {
    let Args { body, times, keys, .. } = args;
    let refuse = |words: &str| Err(Failure::new(words));
    if keys.provider != Choice::Asixto && (body.environment.is_some() || body.replay_of.is_some()) {
        return refuse("expected --environment and --replay-of with the provider asixto, found another provider");
    }
    if body.id.is_some() && (types > 1 || times.count > 1) {
        return refuse("expected --id with one event, found several: use --duplicate to deliver one again");
    }
    if body.replay_of.is_some() && types > 1 {
        return refuse("expected --replay-of with the type of that delivery, found --type all");
    }
    let deliveries = types as u64 * u64::from(times.count) * u64::from(times.duplicate);
    if deliveries > MOST {
        return Err(Failure::new(format!(
            "expected at most {MOST} deliveries, found {deliveries}: send them in turns"
        )));
    }
    Ok(())
}

fn data(args: &Args, console: &mut Console) -> Result<Option<Box<RawValue>>, Failure> {
    let Some(path) = &args.body.data else { return Ok(None) };
    let bytes = console.read(path, "the data")?;
    let data = serde_json::from_slice(&bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        Failure::new(format!("--data: expected one JSON value, found other text at line {line}, column {column}"))
    })?;
    Ok(Some(data))
}

fn new_seed() -> Result<u64, Failure> {
    getrandom::u64().map_err(|error| Failure::new(format!("the system gives no randomness: {error}")))
}
