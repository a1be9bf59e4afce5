//! What a receiver has to accept.

use super::{TIMESTAMPED, processed, taken};
use crate::{
    Signer,
    kit::Kit,
    probe::{
        Point::{K1, K2, K4, K5, K7, K10},
        Probe,
        Senders::All,
        Step,
    },
};

const AS_IT_CAME: &str = "verify the bytes of the body as they came, before anything reads, decodes or rewrites them";
const EVERY_TYPE: &str = "accept every type of the catalogue, and answer 2xx also where there is nothing to do";
const TO_COME: &str = "ignore what you do not know: acknowledge types and fields that do not exist yet";
const TWO_SECRETS: &str = "try every signature against every secret; while a secret is rotated either one signs";
const GRAMMAR: &str = "split the header at commas, trim the parts, and read `t` and `v1` wherever they stand";

pub(super) const PROBES: &[Probe] = &[
    Probe::new("accept/job-succeeded", "F1", K1, "a job succeeded", EVERY_TYPE, |kit| of_type(kit, "job.succeeded"))
        .of(All),
    Probe::new("accept/job-failed", "F1", K1, "a job failed", EVERY_TYPE, |kit| of_type(kit, "job.failed")),
    Probe::new("accept/job-expired", "F2", K1, "a job expired", EVERY_TYPE, |kit| of_type(kit, "job.expired")),
    Probe::new("accept/credits-threshold", "F3", K1, "a credit threshold", EVERY_TYPE, |kit| {
        of_type(kit, "credits.threshold_reached")
    }),
    Probe::new("accept/credits-exhausted", "F3", K1, "no credits left", EVERY_TYPE, |kit| {
        of_type(kit, "credits.exhausted")
    }),
    Probe::new("accept/credits-cap", "F3", K1, "the spending cap", EVERY_TYPE, |kit| {
        of_type(kit, "credits.spending_cap_reached")
    }),
    Probe::new("accept/certification", "F4", K1, "a certification run", EVERY_TYPE, |kit| {
        of_type(kit, "certification.finished")
    }),
    Probe::new("accept/endpoint-disabled", "F5", K1, "another endpoint disabled", EVERY_TYPE, |kit| {
        of_type(kit, "webhook_endpoint.disabled")
    }),
    Probe::new("accept/tool-disabled", "F6", K1, "tools withdrawn", EVERY_TYPE, |kit| of_type(kit, "tool.disabled")),
    Probe::new("accept/handoff", "F7", K1, "a person asked for", EVERY_TYPE, |kit| {
        of_type(kit, "conversation.handoff_requested")
    }),
    Probe::new("accept/unknown-type", "A4", K10, "a type outside the catalogue", TO_COME, |kit| {
        taken(&kit.plain().edit(|body| body.replace("job.succeeded", "job.paused")))
    })
    .decided()
    .of(All),
    Probe::new("accept/unknown-fields", "A2", K10, "fields outside the envelope", TO_COME, |kit| {
        taken(&kit.plain().edit(|body| body.replacen('{', "{\"version\":2,\"x\":[[{}]],", 1)))
    })
    .decided()
    .of(All),
    Probe::new(
        "accept/odd-id",
        "A3",
        K10,
        "an id of quotes, blanks and emoji",
        "take any text for an id, as it is",
        |kit| {
            let id = format!("{}: 'a\\\"b'* 🚚", kit.fresh());
            let delivery = kit.plain();
            let quoted = format!("\"id\":\"{}\"", delivery.id());
            let odd = delivery.edit(|body| body.replacen(&quoted, &format!("\"id\":\"{id}\""), 1));
            processed(&id.replace("\\\"", "\""), odd.request())
        },
    )
    .decided(),
    Probe::new(
        "accept/long-id",
        "A3",
        K10,
        "an id of a thousand characters",
        "keep ids of any length, by a hash",
        |kit| {
            let delivery = kit.plain();
            let long = format!("{}-{}", delivery.id(), "x".repeat(1000));
            let odd = delivery.clone().edit(|body| body.replacen(delivery.id(), &long, 1));
            processed(&long, odd.request())
        },
    )
    .decided(),
    Probe::new("accept/deep-data", "A7", K10, "data at a depth of 100", "keep `data` raw until it is needed", |kit| {
        let nested = format!("\"metadata\":{{\"deep\":{}{},", "[".repeat(100), "]".repeat(100));
        taken(&kit.plain().edit(|body| body.replacen("\"metadata\":{", &nested, 1)))
    })
    .decided(),
    Probe::new("accept/replay", "G2", K7, "a replay is a delivery of its own", REPLAY, |kit| {
        let original = kit.plain();
        let replay = original.clone().replayed();
        [taken(&original), taken(&replay)].into_iter().flatten().collect()
    })
    .by_effects(),
    Probe::new("accept/replay-again", "G2", K7, "a second replay is another one", REPLAY, |kit| {
        let original = kit.plain();
        let first = original.clone().replayed();
        let second = first.clone().edit(|body| body.replacen(first.id(), &format!("{}:r2", original.id()), 1));
        let id = format!("{}:r2", original.id());
        [taken(&original), taken(&first), processed(&id, second.request())].into_iter().flatten().collect()
    })
    .by_effects(),
    Probe::new("accept/rotation-both", "D2", K2, "rotation: both secrets sign", TWO_SECRETS, |kit| taken(&kit.plain()))
        .with_secrets(2)
        .of(All),
    Probe::new("accept/rotation-old", "D1", K2, "rotation: the first secret alone signs", TWO_SECRETS, |kit| {
        taken(&kit.plain().signed_by([Signer::Known(0)]))
    })
    .with_secrets(2)
    .of(All),
    Probe::new("accept/rotation-new", "D1", K2, "rotation: the second secret alone signs", TWO_SECRETS, |kit| {
        taken(&kit.plain().signed_by([Signer::Known(1)]))
    })
    .with_secrets(2)
    .of(All),
    Probe::new("accept/stranger-first", "B5", K2, "a stranger's signature before the right one", TWO_SECRETS, |kit| {
        taken(&kit.plain().signed_by([Signer::Stranger, Signer::Known(0)]))
    })
    .of(SEVERAL),
    Probe::new("accept/stranger-last", "B5", K2, "a stranger's signature after the right one", TWO_SECRETS, |kit| {
        taken(&kit.plain().signed_by([Signer::Known(0), Signer::Stranger]))
    })
    .of(SEVERAL),
    Probe::new("accept/forty-wrong", "B5", K2, "the right signature behind forty wrong ones", TWO_SECRETS, |kit| {
        let delivery = kit.plain();
        let wrong = format!(",v1={}", "0".repeat(64)).repeat(40);
        processed(delivery.id(), delivery.resigned(|value| value.replacen(",v1=", &format!("{wrong},v1="), 1)))
    })
    .of(TIMESTAMPED),
    Probe::new("accept/malformed-first", "B8", K2, "the right signature behind a malformed one", TWO_SECRETS, |kit| {
        let delivery = kit.plain();
        processed(delivery.id(), delivery.resigned(|value| value.replacen(",v1=", ",v1=zz,v1=", 1)))
    })
    .of(TIMESTAMPED),
    Probe::new("accept/parts-reversed", "B1", K5, "the parts in another order", GRAMMAR, |kit| {
        let delivery = kit.plain();
        let reversed = delivery.resigned(|value| value.rsplit(',').collect::<Vec<_>>().join(","));
        processed(delivery.id(), reversed)
    })
    .of(TIMESTAMPED),
    Probe::new("accept/other-versions", "B9", K5, "parts of unknown versions", GRAMMAR, |kit| {
        let delivery = kit.plain();
        processed(delivery.id(), delivery.resigned(|value| format!("v0=00,{value},v2=ff")))
    })
    .of(TIMESTAMPED),
    Probe::new("accept/bare-part", "B8", K5, "a part without a value", "ignore a part without `=`", |kit| {
        let delivery = kit.plain();
        processed(delivery.id(), delivery.resigned(|value| value + ",flag"))
    })
    .decided()
    .of(TIMESTAMPED),
    Probe::new("accept/blanks", "B8", K5, "blanks and tabs around the parts", GRAMMAR, |kit| {
        let delivery = kit.plain();
        processed(delivery.id(), delivery.resigned(|value| value.replace(',', " \t, ")))
    })
    .decided()
    .of(TIMESTAMPED),
    Probe::new(
        "accept/header-case",
        "B6",
        K5,
        "the header's name in upper case",
        "names of headers have no case",
        |kit| {
            let delivery = kit.plain();
            let (name, value) = delivery.signature();
            processed(delivery.id(), delivery.without_signature().header(name.to_uppercase(), value))
        },
    )
    .of(All),
    Probe::new("accept/raw-bytes", "B10", K1, "line ends, escapes and blanks as signed", AS_IT_CAME, |kit| {
        taken(&kit.plain().edit(|body| format!("{}\r\n", body.replacen(':', " :\t", 2))))
    })
    .of(All),
    Probe::new("accept/big-numbers", "B10", K1, "numbers beyond what a float holds", AS_IT_CAME, |kit| {
        taken(
            &kit.plain().edit(|body| {
                body.replacen("\"metadata\":{", "\"metadata\":{\"n\":9007199254740993.10,\"m\":1E400,", 1)
            }),
        )
    })
    .of(All),
    Probe::new(
        "accept/chunked",
        "B10",
        K1,
        "a body in chunks",
        "read the body to its end, whatever its framing",
        |kit| {
            let delivery = kit.plain();
            let (head, tail) = (delivery.body().slice(..7), delivery.body().slice(7..));
            processed(delivery.id(), delivery.request().chunked(vec![head, tail]))
        },
    )
    .decided()
    .of(All),
    Probe::new(
        "accept/trailers",
        "B6",
        K1,
        "trailers are not headers",
        "read a body in chunks to its end, and leave what comes after it alone",
        |kit| {
            let delivery = kit.plain();
            let (name, value) = delivery.signature();
            let chunked = delivery.request().chunked(vec![delivery.body().clone()]);
            processed(delivery.id(), chunked.trailer(name, value))
        },
    )
    .decided()
    .of(All),
    Probe::new(
        "accept/content-type",
        "A1",
        K1,
        "another content type",
        "let nothing depend on the content type",
        |kit| taken(&kit.plain().as_content_type("text/plain; charset=latin1")),
    )
    .decided()
    .of(All),
    Probe::new("accept/content-encoding", "B10", K1, "a content encoding that is only claimed", AS_IT_CAME, |kit| {
        let delivery = kit.plain();
        processed(delivery.id(), delivery.request().header("Content-Encoding", "gzip"))
    })
    .of(All),
    Probe::new("accept/late", "C1", K4, "signed 290 s ago", WINDOW, |kit| taken(&kit.plain().signed_at(-290))).of(All),
    Probe::new("accept/early", "C1", K4, "signed 290 s in the future", WINDOW, |kit| {
        taken(&kit.plain().signed_at(290))
    })
    .of(All),
    Probe::new(
        "accept/largest",
        "H4",
        K1,
        "a body of 256 KiB",
        "raise the limit of the server, and of each proxy",
        |kit| {
            let delivery = kit.plain();
            let filler = "x".repeat((256 * 1024_usize).saturating_sub(delivery.body().len() + r#""x":"","#.len()));
            taken(&delivery.edit(|body| body.replacen(r#""result":{"#, &format!(r#""result":{{"x":"{filler}","#), 1)))
        },
    ),
    Probe::new("accept/late-body", "H8", K1, "a body that takes two seconds", "wait for a body for 5 s", |kit| {
        let delivery = kit.plain();
        let halting = delivery.request().pause_after(20, core::time::Duration::from_secs(2));
        processed(delivery.id(), halting)
    })
    .decided()
    .of(All),
];

const REPLAY: &str = "deduplicate by `id` alone; `replay_of` only tells which original it repeats";
const WINDOW: &str = "compare |now - t| with 300 s, and keep the clock right (NTP)";

/// Whose header has room for several signatures.
const SEVERAL: crate::probe::Senders = crate::probe::Senders::Only(&["asixto", "cloudevents", "standard"]);

fn of_type(kit: &Kit, event_type: &str) -> Vec<Step> {
    taken(&kit.delivery(event_type))
}
