//! A probe: what is sent, step by step, and what has to come back.

use core::fmt;

use asixto_webhook_core::Outcome;

use crate::{Request, kit::Kit};

/// One thing that a receiver has to do.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Probe {
    /// A short name, `group/what`.
    pub id: &'static str,
    /// The clause of the contract that demands it.
    pub clause: &'static str,
    /// The point of the receiver's checklist that it belongs to.
    pub point: Point,
    /// What it is, for a reader of the table.
    pub title: &'static str,
    /// What to do about a receiver that fails it.
    pub fix: &'static str,
    /// Who demands it.
    pub authority: Authority,
    /// How many of the receiver's secrets it takes.
    pub(crate) secrets: usize,
    pub(crate) senders: Senders,
    /// Whether a 2xx may as well mean "seen before", so that it proves nothing.
    pub(crate) by_effects: bool,
    pub(crate) script: fn(&Kit) -> Vec<Step>,
}

/// A point of the receiver's checklist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the checklist has ten points")]
pub enum Point {
    /// The raw body, before JSON.
    K1,
    /// Every signature, and two secrets.
    K2,
    /// Constant time: what can be seen of it from outside is that a MAC is compared as it is, and whole.
    K3,
    /// 300 seconds, either way.
    K4,
    /// 400 for a header that is missing, repeated or malformed.
    K5,
    /// One effect for one id.
    K6,
    /// A replay is an event of its own.
    K7,
    /// 2xx first.
    K8,
    /// The event's own order, whatever the order of arrival.
    K9,
    /// Whatever comes is a delivery that can be told apart: types and fields of tomorrow too.
    K10,
}

impl Point {
    /// All of them, in order.
    pub const ALL: [Self; 10] =
        [Self::K1, Self::K2, Self::K3, Self::K4, Self::K5, Self::K6, Self::K7, Self::K8, Self::K9, Self::K10];

    /// What it asks for.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::K1 => "the raw body is verified before JSON is parsed",
            Self::K2 => "every signature is tried, against two secrets and more",
            Self::K3 => "a MAC is compared whole, as it is, in constant time",
            Self::K4 => "±300 s, on the absolute difference",
            Self::K5 => "a missing, repeated or malformed header is answered 400",
            Self::K6 => "one id has one effect",
            Self::K7 => "a replay is an event of its own",
            Self::K8 => "2xx first, and in time",
            Self::K9 => "`created` orders events, not arrival",
            Self::K10 => "every delivery can be told apart, also of types to come",
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{self:?}"))
    }
}

/// Who demands what a probe checks, and so what it means not to do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no third one")]
pub enum Authority {
    /// The sender's published contract.
    Contract,
    /// A decision where that is silent, or where the published verifiers differ. A receiver with the diagnostics of
    /// this project has made it; any other is advised.
    Decision,
}

/// Whose deliveries a probe is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Senders {
    All,
    Only(&'static [&'static str]),
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probe").field("id", &self.id).field("clause", &self.clause).finish_non_exhaustive()
    }
}

impl Probe {
    pub(crate) const fn new(
        id: &'static str,
        clause: &'static str,
        point: Point,
        title: &'static str,
        fix: &'static str,
        script: fn(&Kit) -> Vec<Step>,
    ) -> Self {
        let (authority, senders) = (Authority::Contract, Senders::Only(&["asixto"]));
        Self { id, clause, point, title, fix, authority, secrets: 1, senders, by_effects: false, script }
    }

    /// Where the contract is silent.
    pub(crate) const fn decided(mut self) -> Self {
        self.authority = Authority::Decision;
        self
    }

    pub(crate) const fn with_secrets(mut self, secrets: usize) -> Self {
        self.secrets = secrets;
        self
    }

    /// Where a receiver that takes the delivery for a repeat answers the same.
    pub(crate) const fn by_effects(mut self) -> Self {
        self.by_effects = true;
        self
    }

    /// For the deliveries of these senders too.
    pub(crate) const fn of(mut self, senders: Senders) -> Self {
        self.senders = senders;
        self
    }

    /// The group, which is the first part of its id.
    #[must_use]
    pub fn group(&self) -> &'static str {
        self.id.split('/').next().unwrap_or_default()
    }

    /// Whether it is about the deliveries of this sender.
    #[must_use]
    pub fn is_about(&self, provider: &str) -> bool {
        match self.senders {
            Senders::All => true,
            Senders::Only(names) => names.contains(&provider),
        }
    }
}

/// One step of a probe.
#[derive(Debug)]
pub(crate) enum Step {
    /// Send a request, and get one of these.
    Send(Request, Expect),
    /// Send a request and hang up in the middle.
    HangUp(Request),
    /// Send a delivery again and again, until it is acknowledged.
    Insist(Request),
    /// Send requests at once: one gets the first outcome, the others any of the rest.
    Together(Vec<Request>, Expect, &'static [Outcome]),
    /// Send a slow delivery and a quick one: both are taken, and the quick one does not wait for the other.
    Beside(Request, Request),
    /// Send different deliveries at once: each gets this.
    Burst(Vec<Request>, Expect),
    /// Send requests, which are all refused: nothing may tell why.
    Alike(Vec<Request>, Expect),
    /// Send a request that may get anything, as long as that ends nothing and leads nowhere else.
    Anything(Request),
    /// Send deliveries one after the other, and time their answers.
    Timed(Vec<Request>),
    /// The handler has run so many times for this id. Looked up where the receiver can be observed.
    Effects(String, u32),
}

/// An outcome, and what else the response must have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expect {
    pub(crate) outcome: Outcome,
    /// A header that must be there with this value, or with any.
    pub(crate) header: Option<(&'static str, Option<&'static str>)>,
}

impl From<Outcome> for Expect {
    fn from(outcome: Outcome) -> Self {
        let header = match outcome {
            Outcome::MethodNotAllowed => Some(("allow", Some("POST"))),
            Outcome::InFlight | Outcome::StoreUnavailable | Outcome::NoSecret | Outcome::HandlerSlow => {
                Some(("retry-after", None))
            }
            _ => None,
        };
        Self { outcome, header }
    }
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.outcome.status(), self.outcome)
    }
}
