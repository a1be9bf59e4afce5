//! `secret new`, `sign` and `verify`, which fit together.

use std::time::{SystemTime, UNIX_EPOCH};

use insta::assert_snapshot;
use serde_json::json;

use crate::harness::{PROVIDERS, SECRETS, VARIABLE, file, program};

const BODY: &str = r#"{"id":"1","type":"job.paused","created":1787923140,"environment":"test","data":{}}"#;
const AT: &str = "1787923200";

/// What `sign` needs besides, by the provider's name.
fn id(provider: &str) -> &'static [&'static str] {
    if ["standard", "agent"].contains(&provider) { &["--id", "msg_1"] } else { &[] }
}

/// The header lines of a body.
fn signed((name, secrets): (&str, [&str; 2]), more: &[&str]) -> String {
    program(&[&["sign"], id(name), more].concat()).of((name, secrets)).input(BODY).run().out(0)
}

// B1, B2, L10, M2, N2
#[test]
fn headers_of_every_provider() {
    let [asixto, standard, cloudevents, agent] = PROVIDERS.map(|provider| signed(provider, &["--at", AT]));
    assert_snapshot!(asixto, @"Asixto-Signature: t=1787923200,v1=745048a7fa91e84f84b86cd6553d40c76267063cbafd37a8ee2926099c1257d1,v1=6164aaeddc715165fb3ef65fbf36bdca45ffb48e0e1e30458b62d22eb0d179e0");
    assert_snapshot!(standard, @r"
    webhook-id: msg_1
    webhook-timestamp: 1787923200
    webhook-signature: v1,EFlViudQuzGkur9HO2z1SlzB2dQBPAd+fmTa2V3D8tY= v1,hBIBPWzFgwS+vvgouauRD1RtilP10wkDsLn1H6NKm5M=
    ");
    assert_snapshot!(cloudevents, @"acme-signature: t=1787923200,v1=6b3b408cc5682a649606d9a6b20182389cd782e411b5df866249108f60752392,v1=c91ab303d87ea23fb0a8bfe8e9710c64210350111142245dc1abe5e91aa8a98f");
    assert_snapshot!(agent, @r"
    x-agent-timestamp: 1787923200
    x-agent-nonce: msg_1
    x-agent-signature: 7cfbc211fb71ea865ab3cc339ffe679f2fbf336cdbaa0f45c48f63c8c5818161
    ");
}

// Header lines as people record them.
#[test]
fn recorded_headers() {
    let headers = signed(PROVIDERS[0], &["--at", AT]);
    let records = [
        format!("\u{feff}{headers}"),
        format!("POST /hook HTTP/1.1\r\nHost: receiver.example\r\n{headers}\r\n\r\n"),
        format!("PUT http://receiver.example/ HTTP/1.1\n{headers}"),
        format!("* Connected to receiver.example\n> POST /hook HTTP/2\n> {headers}>\n"),
        format!(":method: POST\n:path: /hook\n{headers}"),
        format!("Upgrade: HTTP/2.0\n{headers}"),
    ];
    for record in records {
        let path = file("record.txt", &record);
        let run = program(&["verify", "--headers-file", &path, "--now", AT]).input(BODY).run();
        assert!(run.out(0).starts_with("verified: "), "{record}");
    }
}

// K2, K4
#[test]
fn what_is_signed_is_verified() {
    for provider in PROVIDERS {
        let headers = file(&format!("headers-{}.txt", provider.0.replace(':', "-")), signed(provider, &["--at", AT]));
        let verify = |body: &str, now: &str| {
            program(&["verify", "--headers-file", &headers, "--now", now]).of(provider).input(body).run()
        };
        assert_eq!(
            verify(BODY, "1787923203").out(0),
            "verified: signed with ASIXTO_WEBHOOK_SECRETS #1, 3 s ago\n",
            "{provider:?}"
        );
        assert!(verify(BODY, "1787923500").out(0).contains(", 300 s ago"));
        assert!(verify(BODY, "1787922900").out(0).contains(", 300 s in the future"));
        let refused = |body: &str, now| verify(body, now).out(1).lines().next().unwrap().to_owned();
        assert_eq!(
            refused(BODY, "1787923501"),
            "refused: expected a delivery signed about now, found one signed 301 s ago"
        );
        assert_eq!(
            refused(BODY, "1787922899"),
            "refused: expected a delivery signed about now, found one signed 301 s in the future"
        );
        assert_eq!(
            refused(&BODY.replace("test", "live"), AT),
            "refused: expected a signature by a known secret, found none that matches"
        );
        // By the clock of the system, and from standard input.
        let body = file(&format!("body-{}.json", provider.0.replace(':', "-")), BODY);
        let headers = signed(provider, &[]);
        let run = program(&["verify", &body, "--headers-file", "-"]).of(provider).input(headers).run();
        assert!(run.out(0).starts_with("verified: "));
    }
}

#[test]
fn the_time_is_that_of_the_system() {
    let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let header = signed(PROVIDERS[0], &[]);
    let after = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let seconds = header.split("t=").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    assert!((before..=after).contains(&seconds), "{before} {seconds} {after}");
}

#[test]
fn json_has_what_the_help_says() {
    let signed = program(&["sign", "--at", AT, "--json"]).input(BODY).run().json(0);
    let value = signed["headers"]["Asixto-Signature"].as_str().unwrap();
    assert_eq!(signed, json!({ "provider": "asixto", "headers": { "Asixto-Signature": value } }));

    let header = format!("asixto-signature:{value}");
    let verify =
        |now: &str, header: &str| program(&["verify", "--json", "--now", now, "--header", header]).input(BODY).run();
    let report = |verified, secret: Option<&str>, skew: Option<i64>, error: Option<&str>| {
        json!({
            "provider": "asixto", "verified": verified, "secret": secret, "skew_seconds": skew, "error": error,
        })
    };
    assert_eq!(verify("1787923199", &header).json(0), report(true, Some("ASIXTO_WEBHOOK_SECRETS #1"), Some(-1), None));
    let stale = "expected a delivery signed about now, found one signed 400 s ago";
    assert_eq!(verify("1787923600", &header).json(1), report(false, None, Some(400), Some(stale)));
    let missing = "expected one signature header, found none";
    assert_eq!(verify(AT, "content-type: application/json").json(1), report(false, None, None, Some(missing)));
}

/// D1: the label says where the secret came from.
#[test]
fn the_secret_that_matched_is_named() {
    let [old, new] = SECRETS;
    let path = file("named.secret", format!("{new}\n"));
    let body = file("named.json", BODY);
    let header = program(&["sign", &body, "--secret-stdin", "--at", AT]).input(new).run().out(0);
    let verify =
        |more: &[&str]| program(&[&["verify", &body, "--now", AT, "--header", header.trim_end()], more].concat());
    assert_eq!(verify(&[]).run().out(0), "verified: signed with ASIXTO_WEBHOOK_SECRETS #2, 0 s ago\n");
    let one = verify(&[]).env(VARIABLE, new).run();
    assert_eq!(one.out(0), "verified: signed with ASIXTO_WEBHOOK_SECRETS, 0 s ago\n");
    let file = verify(&["--secret-file", &path]).run();
    assert_eq!(file.out(0), format!("verified: signed with {path}, 0 s ago\n"));
    let input = verify(&["--secret-stdin"]).input(new).run();
    assert_eq!(input.out(0), "verified: signed with stdin, 0 s ago\n");
    assert!(verify(&["--secret-env", VARIABLE]).env(VARIABLE, old).run().out(1).starts_with("refused: "));
}

// B6, B8: as they come in logs, and what is wrong with them.
#[test]
fn header_lines_as_a_log_has_them() {
    let header = signed(PROVIDERS[0], &["--at", AT]);
    let body = file("logged.json", BODY);
    let verify = |lines: String| program(&["verify", &body, "--now", AT, "--headers-file", "-"]).input(lines).run();
    let value = header.split_once(": ").unwrap().1.trim_end();
    for lines in [
        format!("POST /hook HTTP/1.1\r\nhost: 127.0.0.1:3000\r\nASIXTO-SIGNATURE:\t{value} \r\n\r\n"),
        format!("\n\nasixto-signature:{value}\nempty:\n"),
    ] {
        verify(lines).out(0);
    }
    assert_snapshot!(verify(format!("{header}{header}")).out(1), @r"
    refused: expected one signature header, found several lines of that name
    run `asixto-webhook doctor` with the same arguments to find out why
    ");
    assert_snapshot!(verify("asixto-signature: t=1787923200\n".to_owned()).out(1), @r"
    refused: expected a signature of a known version in the signature header, found none
    run `asixto-webhook doctor` with the same arguments to find out why
    ");
    assert_snapshot!(verify(format!("{header}Asixto-Signature {value}\n")).told(), @"error: line 2 of the headers: expected `Name: value`, found another text");
}

#[test]
fn a_new_secret_signs() {
    for (name, _) in PROVIDERS {
        let new = || program(&["secret", "new", "--provider", name]).without(VARIABLE).run().out(0);
        let (secret, other) = (new(), new());
        assert_ne!(secret, other);
        let path = file(&format!("new-{}.secret", name.replace(':', "-")), &secret);
        let sign = [&["sign", "--provider", name, "--secret-file", &path], id(name)].concat();
        let headers = program(&sign).input(BODY).run().out(0);
        let body = file(&format!("new-{}.json", name.replace(':', "-")), BODY);
        let verify = ["verify", &body, "--provider", name, "--secret-file", &path, "--headers-file", "-"];
        program(&verify).input(headers).run().out(0);

        let json = program(&["secret", "new", "--json", "--provider", name]).run().json(0);
        let text = json["secret"].as_str().unwrap().to_owned();
        assert_eq!(json, json!({ "provider": name.split(':').next(), "secret": text }));
        assert_eq!(text.len(), secret.trim_end().len());
    }
    // 32 bytes in base64url.
    let secret = program(&["secret", "new"]).run().out(0);
    assert_eq!(secret.trim_end().strip_prefix("whsec_").unwrap().len(), 43);
}
