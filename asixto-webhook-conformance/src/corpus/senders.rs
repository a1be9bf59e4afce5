//! What is particular to the other senders.

use asixto_webhook_core::Outcome;

use super::{processed, refused, respaced, taken};
use crate::{
    kit::Kit,
    probe::{
        Point::{K2, K5, K6},
        Probe, Senders, Step,
    },
};

const STANDARD: Senders = Senders::Only(&["standard"]);
const CLOUDEVENTS: Senders = Senders::Only(&["cloudevents"]);
const AGENT: Senders = Senders::Only(&["agent"]);

const SPACES: &str = "split the signatures at spaces, and ignore versions that you do not know";
const PAIR: &str = "an event is known by `source` and `id` together";
const NONCE: &str = "remember nonces for the window, with the body that they came with";

pub(super) const PROBES: &[Probe] = &[
    Probe::new("accept/standard-versions", "L10", K2, "signatures of other versions beside it", SPACES, |kit| {
        let delivery = kit.plain();
        processed(delivery.id(), delivery.resigned(|value| format!("v1a,AAAA v2,AAAA {value} v9,AAAA")))
    })
    .of(STANDARD),
    Probe::new(
        "accept/standard-forty-wrong",
        "L10",
        K2,
        "the right signature behind forty wrong ones",
        SPACES,
        |kit| {
            let delivery = kit.plain();
            let wrong = format!("v1,{}= ", "A".repeat(43)).repeat(40);
            processed(delivery.id(), delivery.resigned(|value| format!("{wrong}{value}")))
        },
    )
    .of(STANDARD),
    Probe::new("reject/standard-hex", "L10", K5, "a signature without its version", SPACES, |kit| {
        refused(kit.plain().resigned(|value| value.replace("v1,", "")), Outcome::MalformedHeader)
    })
    .of(STANDARD),
    Probe::new("reject/standard-other-id", "L10", K6, "a message id that was not signed", MESSAGE_ID, |kit| {
        let (delivery, (name, signature)) = (kit.plain(), kit.plain().signature());
        refused(delivery.without_signature().header(name, signature), Outcome::SignatureMismatch)
    })
    .of(STANDARD),
    Probe::new("reject/no-headers", "B7", K5, "none of the sender's headers", "refuse what has no signature", |kit| {
        refused(kit.plain().unsigned(), Outcome::MissingHeader)
    })
    .of(Senders::Only(&["standard", "agent"])),
    Probe::new("state/cloudevents-source", "M4", K6, "the same id from another source", PAIR, |kit| {
        let delivery = kit.plain();
        let other = delivery.clone().edit(|body| body.replacen("\"/fixtures\"", "\"/others\"", 1));
        vec![
            Step::Send(delivery.request(), Outcome::Processed.into()),
            Step::Send(other.request(), Outcome::Processed.into()),
            Step::Effects(delivery.id().to_owned(), 2),
        ]
    })
    .of(CLOUDEVENTS),
    Probe::new("reject/cloudevents-no-source", "M1", K5, "signed, but without a source", PAIR, |kit| {
        let without = kit.plain().edit(|body| body.replacen("\"source\"", "\"sauce\"", 1));
        refused(without.request(), Outcome::InvalidEnvelope)
    })
    .decided()
    .of(CLOUDEVENTS),
    Probe::new("state/agent-nonce", "N3", K6, "the nonce of another body", NONCE, |kit| {
        let delivery = kit.plain();
        let reused = respaced(kit.plain()).with_message_id(nonce_of(&delivery));
        let mut steps = taken(&delivery);
        steps.push(Step::Send(reused.request(), Outcome::NonceReused.into()));
        steps.push(Step::Effects(reused.id().to_owned(), 0));
        steps
    })
    .of(AGENT),
    Probe::new("state/agent-new-nonce", "N3", K6, "the same event under a new nonce", NONCE, |kit| {
        let delivery = kit.plain();
        let again = delivery.clone().with_message_id(kit.fresh());
        let mut steps = taken(&delivery);
        steps.push(Step::Send(again.request(), Outcome::Duplicate.into()));
        steps.push(Step::Effects(delivery.id().to_owned(), 1));
        steps
    })
    .of(AGENT),
    Probe::new("reject/agent-two-nonces", "N1", K5, "the nonce in both spellings", BOTH_SPELLINGS, |kit| {
        let delivery = kit.plain();
        let twice = delivery.request().header("X-Agente-Nonce", nonce_of(&delivery));
        refused(twice, Outcome::RepeatedHeader)
    })
    .decided()
    .of(AGENT),
    Probe::new("reject/agent-moved-bytes", "N2", K5, "a byte moved from the nonce to the body", PARTS, moved).of(AGENT),
];

const MESSAGE_ID: &str = "the message id is signed with time and body; verify all three";
const BOTH_SPELLINGS: &str = "take `X-Agent-Nonce` or `X-Agente-Nonce`, and refuse both at once";
const PARTS: &str = "there is no separator between nonce and body: a body has to begin with `{`";

fn nonce_of(delivery: &crate::Delivery) -> String {
    delivery.message_id().to_owned()
}

/// The MAC covers the parts one after the other, and so holds for another cut between them as well.
fn moved(kit: &Kit) -> Vec<Step> {
    let delivery = kit.plain();
    let nonce = nonce_of(&delivery);
    let (kept, moved) = nonce.split_at(nonce.len() - 1);
    let (name, signature) = delivery.signature();
    let body = [moved.as_bytes(), delivery.body()].concat();
    let request = delivery.clone().with_message_id(kept).with_body(body).without_signature();
    refused(request.header(name, signature), Outcome::SignatureMismatch)
}
