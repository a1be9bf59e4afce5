//! What a receiver has to remember, and what not.

use asixto_webhook_core::Outcome;

use super::{refused, respaced, taken};
use crate::{
    Signer,
    probe::{
        Point::{K6, K8, K9},
        Probe,
        Senders::All,
        Step,
    },
};

const ONCE: &str = "claim the id in one atomic step, and work only where the claim was new";
const CLAIM_LATE: &str = "claim an id only after the signature and the window hold";
const NOT_LOST: &str = "mark an id as done only when its work is: a delivery that broke off is sent again";

pub(super) const PROBES: &[Probe] = &[
    Probe::new("state/duplicate", "E2", K6, "the same delivery again, signed anew", ONCE, |kit| {
        let delivery = kit.plain();
        let mut steps = taken(&delivery);
        steps.push(Step::Send(delivery.clone().signed_at(-1).request(), Outcome::Duplicate.into()));
        steps.push(Step::Effects(delivery.id().to_owned(), 1));
        steps
    })
    .of(All),
    Probe::new("state/exact-duplicate", "E2", K6, "the same bytes again", ONCE, |kit| {
        let delivery = kit.plain();
        let mut steps = taken(&delivery);
        steps.push(Step::Send(delivery.request(), Outcome::Duplicate.into()));
        steps.push(Step::Effects(delivery.id().to_owned(), 1));
        steps
    })
    .of(All),
    Probe::new("state/copies", "E5", K6, "20 copies at once", ONCE, |kit| {
        const REST: &[Outcome] = &[Outcome::Duplicate, Outcome::InFlight];
        let delivery = kit.plain();
        let copies = vec![delivery.request(); 20];
        vec![Step::Together(copies, Outcome::Processed.into(), REST), Step::Effects(delivery.id().to_owned(), 1)]
    })
    .of(All),
    Probe::new("state/conflict", "E6", K6, "the same id with another body", "deduplicate by the id alone", |kit| {
        let delivery = kit.plain();
        // A nonce is good for one body.
        let other = respaced(delivery.clone());
        let other = if kit.provider() == "agent" { other.with_message_id(kit.fresh()) } else { other };
        let mut steps = taken(&delivery);
        steps.push(Step::Send(other.request(), Outcome::Conflict.into()));
        steps.push(Step::Effects(delivery.id().to_owned(), 1));
        steps
    })
    .decided()
    .of(All),
    Probe::new("state/replay-of-nothing", "G2", K6, "a replay before its original", REPLAY, |kit| {
        let original = kit.plain();
        let replay = original.clone().replayed();
        let mut steps = taken(&replay);
        steps.extend(taken(&original));
        steps
    })
    .by_effects(),
    Probe::new("state/replay-duplicate", "G2", K6, "the same replay again", REPLAY, |kit| {
        let replay = kit.plain().replayed();
        let mut steps = taken(&replay);
        steps.push(Step::Send(replay.clone().signed_at(-1).request(), Outcome::Duplicate.into()));
        steps.push(Step::Effects(replay.id().to_owned(), 1));
        steps
    }),
    Probe::new("state/forged-first", "E5", K6, "a forgery does not use up the id", CLAIM_LATE, |kit| {
        let delivery = kit.plain();
        let forgery = delivery.clone().signed_by([Signer::Stranger]);
        let mut steps = refused(forgery.request(), Outcome::SignatureMismatch);
        steps.extend(taken(&delivery));
        steps
    })
    .by_effects()
    .of(All),
    Probe::new("state/stale-first", "E5", K6, "a stale delivery does not use up the id", CLAIM_LATE, |kit| {
        let delivery = kit.plain();
        let mut steps = refused(delivery.clone().signed_at(-310).request(), Outcome::OutsideWindow);
        steps.extend(taken(&delivery));
        steps
    })
    .by_effects()
    .of(All),
    Probe::new("state/aborted-first", "E5", K8, "a delivery that broke off, and its retry", NOT_LOST, |kit| {
        let delivery = kit.plain();
        let half = delivery.body().len() / 2;
        // A reset may overtake what was sent: it is read first.
        let broken_off = delivery.request().pause_after(half, core::time::Duration::from_millis(50)).abort_after(half);
        let mut steps = vec![Step::HangUp(broken_off)];
        steps.extend(taken(&delivery));
        steps
    })
    .by_effects()
    .of(All),
    Probe::new("state/hung-up", "E5", K8, "a sender that hangs up, and comes back", NOT_LOST, |kit| {
        let delivery = kit.plain();
        let whole = delivery.body().len();
        // While the handler is at work, if it takes its time.
        let hung_up = delivery.request().pause_after(whole, core::time::Duration::from_millis(10)).abort_after(whole);
        vec![Step::HangUp(hung_up), Step::Insist(delivery.request()), Step::Effects(delivery.id().to_owned(), 1)]
    })
    .of(All),
    Probe::new("state/earlier-later", "E3", K9, "an earlier event after a later one", IN_DISORDER, |kit| {
        let (later, earlier) = (kit.plain(), kit.plain());
        let earlier = earlier.edit(|body| body.replacen("\"created\":1", "\"created\":", 1));
        let mut steps = taken(&later);
        steps.extend(taken(&earlier));
        steps
    })
    .by_effects(),
];

const REPLAY: &str = "a replay has an id of its own: remember that, and nothing of `replay_of`";
const IN_DISORDER: &str = "take events in any order: `created` says which is the later one";
