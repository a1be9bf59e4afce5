//! The probes.

mod accept;
mod operation;
mod reject;
mod senders;
mod state;

use std::sync::LazyLock;

use asixto_webhook_core::Outcome;

use crate::{
    Request,
    kit::{Delivery, Kit},
    probe::{Expect, Probe, Senders, Step},
};

/// All of them: what a receiver has to accept, what to reject, what to remember, and how it has to work.
pub static PROBES: LazyLock<Vec<Probe>> = LazyLock::new(|| {
    let groups = [accept::PROBES, reject::PROBES, state::PROBES, senders::PROBES, operation::PROBES];
    groups.concat()
});

/// Those who send `t=…,v1=…` in one header.
const TIMESTAMPED: Senders = Senders::Only(&["asixto", "cloudevents"]);

/// A delivery that is processed, once.
fn processed(id: &str, request: Request) -> Vec<Step> {
    vec![Step::Send(request, Outcome::Processed.into()), Step::Effects(id.to_owned(), 1)]
}

/// A delivery that is processed as it is.
fn taken(delivery: &Delivery) -> Vec<Step> {
    processed(delivery.id(), delivery.request())
}

/// A request that is refused, and nothing else.
fn refused(request: Request, outcome: Outcome) -> Vec<Step> {
    vec![Step::Send(request, Expect::from(outcome))]
}

/// The same delivery with other bytes, and the same meaning.
fn respaced(delivery: Delivery) -> Delivery {
    delivery.edit(|body| body.replacen('{', "{ ", 1))
}

/// A signature that is wrong in its last digit.
fn flip_last_digit(mut value: String) -> String {
    let last = if value.pop() == Some('0') { '1' } else { '0' };
    value.push(last);
    value
}

/// A delivery signed by somebody else.
fn forged(kit: &Kit) -> Delivery {
    kit.plain().signed_by([crate::Signer::Stranger])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::probe::Point;

    #[test]
    fn every_probe_is_a_whole_one() {
        let contract = include_str!("../../../docs/contract.md");
        let mut ids = BTreeSet::new();
        for probe in PROBES.iter() {
            assert!(ids.insert(probe.id), "{} is there twice", probe.id);
            assert!(["accept", "reject", "state", "operation"].contains(&probe.group()), "{}", probe.id);
            assert!(contract.contains(&format!("- {} ", probe.clause)), "{}: {}", probe.id, probe.clause);
            assert!(!probe.title.is_empty() && probe.title.len() <= 52, "{}: {}", probe.id, probe.title);
            assert!(probe.fix.len() > 20 && !probe.fix.ends_with('.'), "{}: {}", probe.id, probe.fix);
        }
        assert!(ids.len() >= 80, "only {} probes", ids.len());
    }

    #[test]
    fn no_point_of_the_checklist_is_left_out() {
        for point in Point::ALL {
            assert!(PROBES.iter().any(|probe| probe.point == point), "{point}");
        }
        for provider in ["asixto", "standard", "cloudevents", "agent"] {
            let about = PROBES.iter().filter(|probe| probe.is_about(provider)).count();
            assert!(about >= 35, "{provider}: {about}");
        }
    }
}
