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
    /// What it is, for a reader of the table.
    pub title: &'static str,
    /// How many of the receiver's secrets it takes.
    pub(crate) secrets: usize,
    pub(crate) script: fn(&Kit) -> Vec<Step>,
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
        title: &'static str,
        script: fn(&Kit) -> Vec<Step>,
    ) -> Self {
        Self { id, clause, title, secrets: 1, script }
    }

    pub(crate) const fn with_secrets(mut self, secrets: usize) -> Self {
        self.secrets = secrets;
        self
    }
}

/// One step of a probe.
#[derive(Debug)]
pub(crate) enum Step {
    /// Send a request, and get one of these.
    Send(Request, Expect),
    /// Send a request and hang up in the middle.
    HangUp(Request),
    /// Send requests at once: one gets the first outcome, the others any of the rest.
    Together(Vec<Request>, Expect, &'static [Outcome]),
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
