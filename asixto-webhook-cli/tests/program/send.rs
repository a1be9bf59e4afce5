//! `send` to receivers of every provider.

use asixto_webhook_conformance::fixtures::{EVENT_TYPES, data};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::harness::{PROVIDERS, Program, SECRETS, Server, VARIABLE, file, program};

fn send(server: &Server, arguments: &[&str]) -> Program {
    program(&[&["send", "--to", &server.url], arguments].concat())
}

/// A column of the report in JSON.
fn column(report: &Value, name: &str) -> Vec<String> {
    let deliveries = report["deliveries"].as_array().unwrap().iter();
    deliveries.map(|delivery| delivery[name].as_str().unwrap().to_owned()).collect()
}

/// The table without what is another each time: how long a delivery took.
fn table(output: &str) -> String {
    let row = |line: &str| match line.split_once(" ms  ") {
        Some((before, after)) => format!("{}  <time>  {after}", before.rsplit_once(' ').unwrap().0.trim_end()),
        None => line.to_owned(),
    };
    output.lines().map(row).collect::<Vec<_>>().join("\n")
}

// F, K2, L10, M1, N1: what a receiver of each provider makes of each type, under two secrets.
#[test]
fn every_type_to_every_provider() {
    for provider in PROVIDERS {
        let server = Server::start(provider);
        let report = send(&server, &["--type", "all", "--json"]).of(provider).run().json(0);
        assert_eq!((report["sent"].as_u64(), report["acknowledged"].as_u64()), (Some(10), Some(10)), "{report}");
        assert_eq!(column(&report, "outcome"), ["processed"; 10], "{provider:?}");
        assert_eq!(column(&report, "type"), EVENT_TYPES);
        assert_eq!(column(&report, "id"), server.ids());
        for ([_, event_type, body], expected) in server.events().iter().zip(EVENT_TYPES) {
            assert_eq!(event_type, expected);
            assert!(body.contains(data(event_type).unwrap()), "{body}");
        }
    }
}

// E2, N3
#[test]
fn a_duplicate_has_one_effect() {
    for provider in PROVIDERS {
        let server = Server::start(provider);
        let report = send(&server, &["--type", "job.failed", "--duplicate", "3", "--json"]).of(provider).run().json(0);
        assert_eq!(column(&report, "outcome"), ["processed", "duplicate", "duplicate"]);
        assert_eq!(server.ids(), [column(&report, "id").remove(0)]);
    }
}

#[test]
fn the_table() {
    let server = Server::asixto();
    let arguments = ["--type", "job.failed", "--duplicate", "2", "--seed", "7"];
    assert_snapshot!(table(&send(&server, &arguments).run().out(0)), @r"
    type        id                    status        time  outcome
    job.failed  evt_63cbe1e459320dd7  200  <time>  processed
    job.failed  evt_63cbe1e459320dd7  200  <time>  duplicate

    2 sent, 2 acknowledged: 1 processed, 1 duplicate
    ");
    // E6: a body of another time.
    let arguments = ["--type", "all", "--seed", "7", "--created", "1787923201"];
    assert_snapshot!(table(&send(&server, &arguments).run().out(0)), @r"
    type                            id                    status        time  outcome
    job.succeeded                   evt_63cbe1e459320dd7  200  <time>  conflict
    job.failed                      evt_044c3cd7f43c661c  200  <time>  processed
    job.expired                     evt_e6984080bab12a02  200  <time>  processed
    credits.threshold_reached       evt_953aeb70673e29cb  200  <time>  processed
    credits.exhausted               evt_73d33b666a1e21da  200  <time>  processed
    credits.spending_cap_reached    evt_3fdabe86cbbeaa11  200  <time>  processed
    certification.finished          evt_77cbc4a133c2d0f6  200  <time>  processed
    webhook_endpoint.disabled       evt_53fcd6513d02befe  200  <time>  processed
    tool.disabled                   evt_225ec07a99506761  200  <time>  processed
    conversation.handoff_requested  evt_69c3a27688795369  200  <time>  processed

    10 sent, 10 acknowledged: 1 conflict, 9 processed
    ");
    let arguments = ["--type", "job.failed", "--id", "a\n\u{1b}[31m", "--unset", "created"];
    assert_snapshot!(table(&send(&server, &arguments).run().out(1)), @r"
    type        id             status        time  outcome
    job.failed  a\n\u{1b}[31m  400  <time>  invalid_envelope

    1 sent, 0 acknowledged: 1 invalid_envelope
    ");
}

#[test]
fn json_has_what_the_help_says() {
    let server = Server::asixto();
    let mut report = send(&server, &["--type", "job.failed", "--id", "1", "--json"]).run().json(0);
    assert!(report["deliveries"][0]["milliseconds"].take().as_f64().unwrap() > 0.0);
    let delivery = json!({
        "type": "job.failed", "id": "1", "status": 200, "outcome": "processed", "error": null,
        "acknowledged": true, "milliseconds": null,
    });
    assert_eq!(report, json!({ "sent": 1, "acknowledged": 1, "deliveries": [delivery] }));
}

#[test]
fn a_seed_repeats_ids_order_and_bodies() {
    let arguments = ["--type", "all", "--count", "2", "--shuffle", "--json"];
    let seeded = |seed| {
        let server = Server::asixto();
        let report = send(&server, &[&arguments[..], &["--seed", seed]].concat()).run().json(0);
        assert_eq!(column(&report, "id"), server.ids());
        server.events()
    };
    let first = seeded("7");
    assert_eq!(first, seeded("7"));
    assert_ne!(first, seeded("8"));
    assert_eq!(first.len(), 20);
    // Shuffled, and complete.
    let mut types: Vec<_> = first.iter().map(|[_, event_type, _]| event_type.as_str()).collect();
    assert_ne!(types[..10], EVENT_TYPES);
    types.sort_unstable();
    let mut expected = EVENT_TYPES.repeat(2);
    expected.sort_unstable();
    assert_eq!(types, expected);
    // Of this program, in whatever version.
    assert!(first.iter().any(|[id, ..]| id == "evt_63cbe1e459320dd7"), "{first:?}");
}

#[test]
fn without_a_seed_every_id_is_new() {
    let server = Server::asixto();
    for _ in 0..2 {
        send(&server, &["--type", "job.failed", "--count", "20"]).run().out(0);
    }
    let mut ids = server.ids();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 40);
}

/// Duplicates are shuffled too, and none is lost.
#[test]
fn shuffled_duplicates() {
    let server = Server::asixto();
    let arguments = ["--type", "job.failed", "--count", "5", "--duplicate", "4", "--shuffle", "--seed", "1", "--json"];
    let report = send(&server, &arguments).run().json(0);
    let outcomes = column(&report, "outcome");
    let count = |outcome| outcomes.iter().filter(|found| *found == outcome).count();
    assert_eq!((count("processed"), count("duplicate"), server.ids().len()), (5, 15, 5));
    let mut together = column(&report, "id");
    together.dedup();
    assert!(together.len() > 5, "{together:?}");
}

// D2
#[test]
fn each_of_two_secrets_is_enough() {
    for secret in SECRETS {
        let server = Server::serve(asixto_webhook_core::Asixto, &[secret]);
        let report = send(&server, &["--type", "job.failed", "--json"]).run().json(0);
        assert_eq!(column(&report, "outcome"), ["processed"]);
    }
    let server = Server::serve(asixto_webhook_core::Asixto, &["whsec_YW5vdGhlcg"]);
    let report = send(&server, &["--type", "job.failed", "--json"]).run().json(1);
    assert_eq!(column(&report, "outcome"), ["signature_mismatch"]);
}

// A2, A6, F1
#[test]
fn the_body_is_changed_as_told() {
    let server = Server::asixto();
    let changed = [
        "--type=job.succeeded",
        "--id=1",
        "--created=5",
        "--environment=live",
        "--set=data.credits_charged=9007199254740993",
        "--set=data.result=done, not \"so\" well",
        "--set=data.metadata.importe=1.10",
        "--set=data.metadata.lista=[1.0,{\"b\":1,\"a\":2}]",
        "--unset=data.metadata.cliente",
        "--unset=data.error_code",
    ];
    send(&server, &changed).run().out(0);
    assert_snapshot!(server.events()[0][2], @r#"{"id":"1","type":"job.succeeded","created":5,"environment":"live","data":{"job_id":"job_01k3qz7v9m4t2x8c5n6b","operation":"agent.turn","status":"succeeded","credits_charged":9007199254740993,"result":"done, not \"so\" well","metadata":{"expediente":"2026-004417","folio":9007199254740993,"importe":1.10,"canal":"whatsapp","agente":null,"lista":[1.0,{"b":1,"a":2}]}}}"#);
    // What is sent is what is reported.
    let renamed = ["--type", "job.failed", "--set", "type=user.created", "--json"];
    assert_eq!(column(&send(&server, &renamed).run().json(0), "type"), ["user.created"]);
    // To see what a receiver makes of what is wrong.
    for (wrong, outcome) in [
        ("--set=environment=prod", "invalid_envelope"),
        ("--set=created=-1", "invalid_envelope"),
        ("--set=id=", "invalid_envelope"),
        ("--set=type=job.paused", "processed"),
        ("--set=data=null", "processed"),
    ] {
        let report = send(&server, &["--type", "job.failed", wrong, "--json"]).run();
        let report: Value = serde_json::from_str(&report.out).unwrap();
        assert_eq!(column(&report, "outcome"), [outcome], "{wrong}");
    }
}

// A7
#[test]
fn data_is_sent_as_it_is() {
    const DATA: &str = "{ \"n\" : 1.10,\r\n\t\"n\":1e400, \"\\u0061\":\"\\u00f1\" }";
    let path = file("data.json", format!("{DATA}\n"));
    for provider in PROVIDERS {
        let server = Server::start(provider);
        send(&server, &["--type", "job.succeeded", "--data", &path]).of(provider).run().out(0);
        send(&server, &["--type", "job.succeeded", "--data", "-"]).of(provider).input(DATA).run().out(0);
        for [_, _, body] in server.events() {
            assert!(body.ends_with(&format!("\"data\":{DATA}}}")), "{body}");
        }
        assert_eq!(server.events().len(), 2);
    }
}

// G1, G4
#[test]
fn a_replay() {
    let server = Server::asixto();
    let original = ["--type", "job.expired", "--id", "evt_1", "--created", "1787923200"];
    send(&server, &original).run().out(0);
    let replays = ["--type", "job.expired", "--replay-of", "evt_1", "--created", "1787923200", "--count", "2"];
    send(&server, &replays).run().out(0);
    send(&server, &[&replays[..6], &["--id", "other"]].concat()).run().out(0);
    assert_eq!(server.ids(), ["evt_1", "evt_1:r1", "evt_1:r2", "other"]);
    let [[_, _, first], rest @ ..] = &server.events()[..] else { unreachable!("four events") };
    for [id, _, body] in rest {
        let expected = first.replacen(r#""evt_1""#, &format!("\"{id}\""), 1);
        assert_eq!(*body, format!(r#"{},"replay_of":"evt_1"}}"#, &expected[..expected.len() - 1]));
    }
}

// D3: from wherever they come.
#[test]
fn secrets_from_every_source() {
    let [old, new] = SECRETS;
    let files = [file("old.secret", format!("{old}\n")), file("new.secret", format!("{new}\r\n"))];
    for secret in [old, new] {
        let server = Server::serve(asixto_webhook_core::Asixto, &[secret]);
        let plain = ["--type", "job.failed"];
        let with = |more: &[&str]| send(&server, &[&plain[..], more].concat()).without(VARIABLE);
        with(&["--secret-file", &files[0], "--secret-file", &files[1]]).run().out(0);
        with(&["--secret-env", "HOOK"]).env("HOOK", &SECRETS.join(",")).run().out(0);
        with(&["--secret-env", "OLD", "--secret-env", "NEW"]).env("OLD", old).env("NEW", new).run().out(0);
        with(&["--secret-stdin"]).input(format!("{secret}\n")).run().out(0);
        with(&["--secret-file", &files[0], "--secret-stdin"]).input(new).run().out(0);
        let told = with(&["--secret", old, "--secret", new]).run();
        assert_eq!(told.code, Some(0));
        let warning = "warning: a secret on the command line is seen by other users and kept in the shell's history; \
                       use --secret-file or --secret-env\n";
        assert_eq!(told.told, warning);
        // The usual variable is left alone where another source is given.
        let other = with(&["--secret-stdin"]).input("whsec_b3RoZXI").env(VARIABLE, secret).run();
        assert_eq!(other.code, Some(1));
    }
}
