//! How a receiver has to work.

use asixto_webhook_core::Outcome;

use super::{forged, taken};
use crate::{
    Delivery,
    probe::{
        Expect,
        Point::{K5, K8},
        Probe,
        Senders::All,
        Step,
    },
};

const QUEUE: &str = "write the delivery down, answer 2xx, and work on it in a queue of your own";

pub(super) const PROBES: &[Probe] = &[
    Probe::new(
        "operation/no-detail",
        "B7",
        K5,
        "no answer tells why",
        "answer 400 and nothing else, whatever is wrong",
        |kit| {
            let refusals = vec![
                kit.plain().without_signature(),
                kit.plain().resigned(|_| "nonsense".to_owned()),
                forged(kit).request(),
                kit.plain().signed_at(-5000).request(),
            ];
            vec![Step::Alike(refusals, Expect::from(Outcome::SignatureMismatch))]
        },
    )
    .decided()
    .of(All),
    Probe::new("operation/slash", "H1", K8, "with or without a slash at the end", NO_REDIRECT, |kit| {
        let delivery = kit.plain();
        vec![Step::Anything(delivery.request().at(|path| match path.split_once('?') {
            Some((path, query)) => format!("{}?{query}", other_end(path)),
            None => other_end(path),
        }))]
    })
    .decided()
    .of(All),
    Probe::new("operation/unknown-path", "H7", K8, "a path that is not there", NO_FAREWELL, |kit| {
        vec![Step::Anything(kit.plain().request().at(|path| format!("{path}-not-there")))]
    })
    .decided()
    .of(All),
    Probe::new("operation/one-by-one", "E4", K8, "a slow delivery holds up no other", PARALLEL, |kit| {
        let (slow, quick) = (kit.plain(), kit.plain());
        vec![
            Step::Beside(slow.request().pause_after(20, core::time::Duration::from_millis(800)), quick.request()),
            Step::Effects(slow.id().to_owned(), 1),
            Step::Effects(quick.id().to_owned(), 1),
        ]
    })
    .of(All),
    Probe::new("operation/burst", "H6", K8, "50 different deliveries at once", QUEUE, |kit| {
        let deliveries: Vec<_> = (0..50).map(|_| kit.plain()).collect();
        let mut steps = vec![Step::Burst(requests(&deliveries), Outcome::Processed.into())];
        steps.extend(deliveries.iter().map(|delivery| Step::Effects(delivery.id().to_owned(), 1)));
        steps
    })
    .of(All),
    Probe::new("operation/acknowledge", "H1", K8, "50 deliveries, one after the other", QUEUE, |kit| {
        let deliveries: Vec<_> = (0..50).map(|_| kit.plain()).collect();
        vec![Step::Timed(requests(&deliveries))]
    })
    .of(All),
    Probe::new(
        "operation/again",
        "H5",
        K8,
        "after all that, a delivery",
        "keep what one delivery costs away from the next",
        |kit| taken(&kit.plain()),
    )
    .of(All),
];

const NO_REDIRECT: &str = "answer under the path that was registered; a redirect is a failure, and never followed";
const NO_FAREWELL: &str = "answer 404: a 410 tells the sender to give the delivery up";
const PARALLEL: &str = "read and handle deliveries in parallel";

fn requests(deliveries: &[Delivery]) -> Vec<crate::Request> {
    deliveries.iter().map(Delivery::request).collect()
}

/// A path with a slash at its end, or without.
fn other_end(path: &str) -> String {
    path.strip_suffix('/')
        .map_or_else(|| format!("{path}/"), |path| if path.is_empty() { "/" } else { path }.to_owned())
}
