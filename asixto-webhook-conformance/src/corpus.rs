//! The probes, by what they show.

use core::time::Duration;

use asixto_webhook_core::{Bytes, Outcome, Secret, SecretSet};

use crate::{
    kit::Kit,
    probe::{Expect, Probe, Step},
};

/// Every probe, in the order of a run.
pub const PROBES: &[Probe] = &[
    Probe::new("accept/job-succeeded", "F1", "a job succeeded", |kit| accepted(kit, "job.succeeded")),
    Probe::new("accept/job-failed", "F1", "a job failed", |kit| accepted(kit, "job.failed")),
    Probe::new("accept/job-expired", "F2", "a job expired", |kit| accepted(kit, "job.expired")),
    Probe::new("accept/credits-threshold", "F3", "a credit threshold", |kit| {
        accepted(kit, "credits.threshold_reached")
    }),
    Probe::new("accept/credits-exhausted", "F3", "no credits left", |kit| accepted(kit, "credits.exhausted")),
    Probe::new("accept/credits-cap", "F3", "the spending cap", |kit| accepted(kit, "credits.spending_cap_reached")),
    Probe::new("accept/certification", "F4", "a certification run", |kit| accepted(kit, "certification.finished")),
    Probe::new("accept/endpoint-disabled", "F5", "another endpoint disabled", |kit| {
        accepted(kit, "webhook_endpoint.disabled")
    }),
    Probe::new("accept/tool-disabled", "F6", "tools withdrawn", |kit| accepted(kit, "tool.disabled")),
    Probe::new("accept/handoff", "F7", "a person asked for", |kit| accepted(kit, "conversation.handoff_requested")),
    Probe::new("accept/unknown-type", "A4", "a type outside the catalogue", |kit| {
        let delivery = kit.plain().edit(|body| body.replace("job.succeeded", "job.paused"));
        processed(delivery.id(), delivery.request())
    }),
    Probe::new("accept/unknown-fields", "A2", "fields outside the envelope", |kit| {
        let delivery = kit.plain().edit(|body| body.replacen('{', "{\"version\":2,\"x\":[[{}]],", 1));
        processed(delivery.id(), delivery.request())
    }),
    Probe::new("accept/replay", "G2", "a replay is a delivery of its own", |kit| {
        let original = kit.plain();
        let replay = original.clone().replayed();
        let mut steps = processed(original.id(), original.request());
        steps.extend(processed(replay.id(), replay.request()));
        steps
    }),
    Probe::new("accept/rotation-both", "D2", "rotation: both secrets sign", |kit| {
        let delivery = kit.plain();
        processed(delivery.id(), delivery.request())
    })
    .with_secrets(2),
    Probe::new("accept/rotation-old", "D1", "rotation: the first secret alone signs", |kit| rotation(kit, 0))
        .with_secrets(2),
    Probe::new("accept/rotation-new", "D1", "rotation: the second secret alone signs", |kit| rotation(kit, 1))
        .with_secrets(2),
    Probe::new("accept/parts-reversed", "B1", "the parts in another order", |kit| {
        let delivery = kit.plain();
        let reversed = delivery.resigned(|value| value.rsplit(',').collect::<Vec<_>>().join(","));
        processed(delivery.id(), reversed)
    }),
    Probe::new("accept/other-versions", "B9", "parts of unknown versions", |kit| {
        let delivery = kit.plain();
        let header = delivery.resigned(|value| format!("v0=00,{value},v2=ff,flag"));
        processed(delivery.id(), header)
    }),
    Probe::new("accept/forty-wrong", "B5", "the right signature behind forty wrong ones", |kit| {
        let delivery = kit.plain();
        let wrong = format!(",v1={}", "0".repeat(64)).repeat(40);
        let header = delivery.resigned(|value| value.replacen(",v1=", &format!("{wrong},v1="), 1));
        processed(delivery.id(), header)
    }),
    Probe::new("accept/blanks", "B8", "blanks and tabs around the parts", |kit| {
        let delivery = kit.plain();
        processed(delivery.id(), delivery.resigned(|value| value.replace(',', " \t, ")))
    }),
    Probe::new("accept/raw-bytes", "B10", "line ends, escapes and blanks as they were signed", |kit| {
        let delivery = kit.plain().edit(|body| format!("\r\n {}\r\n", body.replacen(':', " :\t", 2)));
        processed(delivery.id(), delivery.request())
    }),
    Probe::new("accept/chunked", "B10", "a body in chunks", |kit| {
        let delivery = kit.plain();
        let (head, tail) = (delivery.body().slice(..7), delivery.body().slice(7..));
        processed(delivery.id(), delivery.request().chunked(vec![head, tail]))
    }),
    Probe::new("accept/trailers", "B6", "trailers are not headers", |kit| {
        let delivery = kit.plain();
        let (name, value) = delivery.signature();
        let chunked = delivery.request().chunked(vec![delivery.body().clone()]);
        processed(delivery.id(), chunked.trailer(name, value))
    }),
    Probe::new("accept/header-case", "B6", "the header's name in upper case", |kit| {
        let delivery = kit.plain();
        let (name, value) = delivery.signature();
        processed(delivery.id(), delivery.unsigned().header(name.to_uppercase(), value))
    }),
    Probe::new("accept/content-type", "A1", "another content type", |kit| {
        let delivery = kit.plain();
        processed(delivery.id(), delivery.request().header("Content-Type", "text/plain; charset=latin1"))
    }),
    Probe::new("accept/content-encoding", "B10", "a content encoding that is only claimed", |kit| {
        let delivery = kit.plain();
        processed(delivery.id(), delivery.request().header("Content-Encoding", "gzip"))
    }),
    Probe::new("accept/late", "C1", "signed 290 s ago", |kit| {
        let delivery = kit.plain().signed_at(-290);
        processed(delivery.id(), delivery.request())
    }),
    Probe::new("accept/early", "C1", "signed 290 s in the future", |kit| {
        let delivery = kit.plain().signed_at(290);
        processed(delivery.id(), delivery.request())
    }),
    Probe::new("accept/largest", "H4", "a body of 256 KiB", |kit| {
        let delivery = kit.plain();
        let filler = "x".repeat((256 * 1024_usize).saturating_sub(delivery.body().len() + r#""x":"","#.len()));
        let delivery = delivery.edit(|body| body.replacen('{', &format!(r#"{{"x":"{filler}","#), 1));
        processed(delivery.id(), delivery.request())
    }),
    Probe::new("reject/get", "A1", "another method", |kit| {
        refused(kit.plain().request().method("GET"), Outcome::MethodNotAllowed)
    }),
    Probe::new("reject/missing", "B7", "no signature header", |kit| {
        refused(kit.plain().unsigned(), Outcome::MissingHeader)
    }),
    Probe::new("reject/repeated", "B6", "the header twice, equal", |kit| {
        let delivery = kit.plain();
        let (name, value) = delivery.signature();
        refused(delivery.request().header(name, value), Outcome::RepeatedHeader)
    }),
    Probe::new("reject/repeated-case", "B6", "the header twice, in two casings", |kit| {
        let delivery = kit.plain();
        let (name, value) = delivery.signature();
        refused(delivery.request().header(name.to_uppercase(), value), Outcome::RepeatedHeader)
    }),
    Probe::new("reject/repeated-good-last", "B6", "the header twice, the good one last", |kit| {
        let delivery = kit.plain();
        let (name, value) = delivery.signature();
        let bad = flip_last_digit(value.clone());
        refused(delivery.unsigned().header(name.clone(), bad).header(name, value), Outcome::RepeatedHeader)
    }),
    Probe::new("reject/joined", "B8", "two headers joined by a proxy", |kit| {
        refused(kit.plain().resigned(|value| format!("{value}, {value}")), Outcome::MalformedHeader)
    }),
    Probe::new("reject/no-timestamp", "B8", "no timestamp", |kit| {
        refused(kit.plain().resigned(|value| value.replacen("t=", "x=", 1)), Outcome::MalformedHeader)
    }),
    Probe::new("reject/odd-timestamp", "B8", "a timestamp with a leading zero", |kit| {
        refused(kit.plain().resigned(|value| value.replacen("t=", "t=0", 1)), Outcome::MalformedHeader)
    }),
    Probe::new("reject/no-signature", "B8", "no signature of a known version", |kit| {
        refused(kit.plain().resigned(|value| value.replace("v1=", "v2=")), Outcome::MalformedHeader)
    }),
    Probe::new("reject/not-ascii", "B8", "a byte outside ASCII in the header", |kit| {
        refused(kit.plain().resigned(|value| value + ",x=\u{e9}"), Outcome::MalformedHeader)
    }),
    Probe::new("reject/forged", "B7", "signed with an unknown secret", |kit| {
        refused(kit.plain().signed_with(stranger()).request(), Outcome::SignatureMismatch)
    }),
    Probe::new("reject/altered", "B2", "a body altered after signing", |kit| {
        let delivery = kit.plain();
        let altered = delivery.clone().edit(|body| body.replacen(':', ": ", 1));
        refused(delivery.request().body(altered.body().clone()), Outcome::SignatureMismatch)
    }),
    Probe::new("reject/upper-case", "B4", "a signature in upper case", |kit| {
        let request = kit.plain().resigned(|value| value.to_uppercase().replace("T=", "t=").replace("V1=", "v1="));
        refused(request, Outcome::SignatureMismatch)
    }),
    Probe::new("reject/stale", "C1", "signed 310 s ago", |kit| {
        refused(kit.plain().signed_at(-310).request(), Outcome::OutsideWindow)
    }),
    Probe::new("reject/future", "C1", "signed 310 s in the future", |kit| {
        refused(kit.plain().signed_at(310).request(), Outcome::OutsideWindow)
    }),
    Probe::new("reject/milliseconds", "C2", "a timestamp in milliseconds", |kit| {
        refused(kit.plain().with_timestamp(|now| now * 1000).request(), Outcome::OutsideWindow)
    }),
    Probe::new("reject/stale-forged", "C2", "stale and forged", |kit| {
        refused(kit.plain().signed_at(-5000).signed_with(stranger()).request(), Outcome::SignatureMismatch)
    }),
    Probe::new("reject/not-json", "A3", "signed, but not JSON", |kit| {
        refused(kit.plain().with_body("{\"id\":").request(), Outcome::InvalidEnvelope)
    }),
    Probe::new("reject/no-id", "A3", "signed, but without an id", |kit| {
        refused(kit.plain().edit(|body| body.replacen("\"id\"", "\"di\"", 1)).request(), Outcome::InvalidEnvelope)
    }),
    Probe::new("reject/two-ids", "A8", "signed, with the id spelled twice", |kit| {
        let twice = kit.plain().edit(|body| body.replacen('{', r#"{"\u0069d":"another","#, 1));
        refused(twice.request(), Outcome::InvalidEnvelope)
    }),
    Probe::new("reject/compressed", "B10", "compressed bytes are not inflated", |kit| {
        // The gzip form of `{}`: what is signed and what is read are these bytes.
        const GZIP: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xab\xae\x05\0\x43\xbf\xa6\xa3\x02\0\0\0";
        let compressed = kit.plain().with_body(Bytes::from_static(GZIP)).request().header("Content-Encoding", "gzip");
        refused(compressed, Outcome::InvalidEnvelope)
    }),
    Probe::new("reject/too-large", "H4", "a body over the limit, announced", |kit| {
        refused(kit.plain().with_body(vec![b' '; 263_169]).request(), Outcome::BodyTooLarge)
    }),
    Probe::new("reject/too-large-chunked", "H4", "a body over the limit, in chunks", |kit| {
        let oversized = kit.plain().with_body(vec![b' '; 263_169]);
        refused(oversized.request().chunked(vec![oversized.body().clone()]), Outcome::BodyTooLarge)
    }),
    Probe::new("reject/one-tebibyte", "H4", "one TiB announced", |kit| {
        refused(kit.plain().request().announce(1 << 40).stop_after(5), Outcome::BodyTooLarge)
    }),
    Probe::new("reject/slow-body", "H8", "a body that stops half-way", |kit| {
        refused(kit.plain().request().stop_after(20), Outcome::BodyTimeout)
    }),
    Probe::new("state/duplicate", "E2", "the same delivery again, signed anew", |kit| {
        let delivery = kit.plain();
        let mut steps = processed(delivery.id(), delivery.request());
        steps.push(Step::Send(delivery.clone().signed_at(-1).request(), Outcome::Duplicate.into()));
        steps.push(Step::Effects(delivery.id().to_owned(), 1));
        steps
    }),
    Probe::new("state/copies", "E5", "20 copies at once", |kit| {
        let delivery = kit.plain();
        let copies = vec![delivery.request(); 20];
        const REST: &[Outcome] = &[Outcome::Duplicate, Outcome::InFlight];
        vec![Step::Together(copies, Outcome::Processed.into(), REST), Step::Effects(delivery.id().to_owned(), 1)]
    }),
    Probe::new("state/conflict", "E6", "the same id with another body", |kit| {
        let delivery = kit.plain();
        let other = delivery.clone().edit(|body| body.replacen("\"created\":", "\"created\": ", 1));
        let mut steps = processed(delivery.id(), delivery.request());
        steps.push(Step::Send(other.request(), Outcome::Conflict.into()));
        steps.push(Step::Effects(delivery.id().to_owned(), 1));
        steps
    }),
    Probe::new("state/forged-first", "E5", "a forgery does not use up the id", |kit| {
        let delivery = kit.plain();
        let mut steps = refused(delivery.clone().signed_with(stranger()).request(), Outcome::SignatureMismatch);
        steps.extend(processed(delivery.id(), delivery.request()));
        steps
    }),
    Probe::new("state/stale-first", "E5", "a stale delivery does not use up the id", |kit| {
        let delivery = kit.plain();
        let mut steps = refused(delivery.clone().signed_at(-310).request(), Outcome::OutsideWindow);
        steps.extend(processed(delivery.id(), delivery.request()));
        steps
    }),
    Probe::new("state/aborted-first", "E5", "a delivery that broke off, and its retry", |kit| {
        let delivery = kit.plain();
        let mut steps = vec![Step::HangUp(delivery.request().abort_after(delivery.body().len() / 2))];
        steps.extend(processed(delivery.id(), delivery.request()));
        steps
    }),
];

/// How long a probe waits for an answer: longer than a receiver may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(12);

fn accepted(kit: &Kit, event_type: &str) -> Vec<Step> {
    let delivery = kit.delivery(event_type);
    processed(delivery.id(), delivery.request())
}

fn processed(id: &str, request: crate::Request) -> Vec<Step> {
    vec![Step::Send(request, Outcome::Processed.into()), Step::Effects(id.to_owned(), 1)]
}

fn refused(request: crate::Request, outcome: Outcome) -> Vec<Step> {
    vec![Step::Send(request, Expect::from(outcome))]
}

/// Signed by a stranger and by one of the receiver's secrets.
fn rotation(kit: &Kit, which: usize) -> Vec<Step> {
    let known = kit.secrets().iter().nth(which).cloned();
    let signers = SecretSet::new(stranger().iter().cloned().chain(known));
    let delivery = kit.plain();
    let delivery = match signers {
        Ok(signers) => delivery.signed_with(signers),
        Err(_) => delivery,
    };
    processed(delivery.id(), delivery.request())
}

#[expect(clippy::expect_used, reason = "a constant that is one")]
fn stranger() -> SecretSet {
    Secret::new("stranger", "whsec_bm90IGEgc2VjcmV0IG9mIHRoaXMgcmVjZWl2ZXI").expect("a secret").into()
}

fn flip_last_digit(mut value: String) -> String {
    let last = if value.pop() == Some('0') { '1' } else { '0' };
    value.push(last);
    value
}
