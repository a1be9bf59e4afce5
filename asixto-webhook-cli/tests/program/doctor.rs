//! Is what is wrong with a delivery called by its name, whichever way it was handed in? The engine's own table is in the
//! core: here is what only the program does, and some of each kind.

use std::io::{BufReader, Read, repeat};

use base64ct::{Base64, Encoding};
use flate2::{
    Compression,
    bufread::{DeflateEncoder, GzEncoder, ZlibEncoder},
};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{
    arrival::{AT, Arrival, BODY, PROVEN, SUSPECTED, unique},
    harness::{Canned, PROVIDERS, SECRETS, VARIABLE, file, program},
};

const OLD: &str = SECRETS[0];
const NEW: &str = SECRETS[1];

fn read(mut encoder: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    encoder.read_to_end(&mut bytes).unwrap();
    bytes
}

fn gzip(body: &[u8]) -> Vec<u8> {
    read(GzEncoder::new(body, Compression::default()))
}

/// As an editor lays it out.
fn pretty() -> String {
    let lines = BODY.replace("\":", "\": ").replace(',', ",\n  ").replace("data\": {}}", "data\": {}\n}");
    lines.replacen('{', "{\n  ", 1)
}

/// Small on the wire, and what it says of its size is small as well.
fn bomb() -> Vec<u8> {
    let blanks = BufReader::new(repeat(b' ').take(8 << 20));
    let mut bomb = read(GzEncoder::new(blanks, Compression::fast()));
    let size = bomb.len() - 4;
    bomb[size..].copy_from_slice(&[1, 0, 0, 0]);
    bomb
}

#[test]
fn secrets_as_their_sources_have_them() {
    let wrong = |arrival: Arrival, code| arrival.is_wrong(&[(code, PROVEN)]);
    let delivery = Arrival::asixto;
    wrong(delivery().file(format!("{OLD}\n")), "secret_padded");
    wrong(delivery().file(format!("{OLD}\r\n")), "secret_padded");
    wrong(delivery().file(format!("\u{feff}{OLD}\r\n")), "secret_padded");
    wrong(delivery().file(format!("\"{OLD}\"\n")), "secret_quoted");
    wrong(delivery().file(format!("export ASIXTO_WEBHOOK_SECRET='{OLD}'\n")), "secret_with_its_name");
    wrong(delivery().file(format!("{NEW}\n{OLD}\n")), "secret_several");
    wrong(delivery().secret_by_input(&format!("{OLD}\n")), "secret_padded");
    wrong(delivery().variable(format!("'{OLD}'")), "secret_quoted");
    wrong(delivery().variable(format!("{OLD} ")), "secret_padded");
    wrong(delivery().variable(format!("Bearer {OLD}")), "secret_with_bearer");
    wrong(delivery().variable(OLD.trim_start_matches("whsec_")), "secret_prefix_lost");
    // A list is taken apart in a variable, part by part as it is, and nowhere else.
    wrong(delivery().variable(format!("{NEW}, {OLD}")), "secret_padded");
    wrong(delivery().variable(format!("\"{NEW},{OLD}\"")), "secret_quoted");
    wrong(delivery().file(format!("{NEW},{OLD}")), "secret_several");
    wrong(delivery().secret_by_input(&format!("{NEW},{OLD}")), "secret_several");
    delivery().variable("").is_wrong(&[("secret_empty", SUSPECTED)]);
    delivery().variable("changeme").is_wrong(&[("secret_refused", SUSPECTED)]);
}

/// A newline that the receiver may trim hides nothing.
#[test]
fn a_newline_is_left_out_where_nothing_else_helps() {
    // The layout is the same, and such a sender takes any text.
    let signer = Arrival::of(("cloudevents:Asixto-Signature", [OLD.trim_start_matches("whsec_"), ""]));
    let dropped = Arrival::asixto().headers(|_| signer.headers).file(format!("{OLD}\r\n"));
    dropped.is_wrong(&[("signer_dropped_prefix", PROVEN)]);
    let note = "a newline at the end of a file or of standard input was left out: where the receiver does not trim it, \
                that is a fault as well";
    assert_eq!(dropped.json(1)["notes"], json!([note]));

    let other = Arrival::of(PROVIDERS[1]);
    let other = Arrival::asixto().headers(|_| other.headers).secret_by_input(&format!("{}\n", PROVIDERS[1].1[0]));
    other.is_wrong(&[("other_sender", PROVEN)]);
    let stranger = Arrival::asixto().file(format!("{NEW}\n"));
    stranger.is_wrong(&[("secret_refused", SUSPECTED)]);
    assert_eq!(stranger.json(1)["notes"], json!([]));
}

#[test]
fn secrets_of_elsewhere() {
    let staging = unique("staging", format!("{NEW}\n"));
    let delivery = || Arrival::asixto().signed(NEW, BODY);
    delivery().is_wrong(&[]);
    delivery().with(&["--elsewhere-file", &staging]).is_wrong(&[("secret_of_elsewhere", PROVEN)]);
    let listed = |list: &str| delivery().with(&["--elsewhere-env", "STAGING"]).doctor(&["--json"]).env("STAGING", list);
    let report = listed(&format!("whsec_b3RoZXI,{NEW}")).run().json(1);
    assert_eq!(report["causes"][0]["code"], "secret_of_elsewhere");
    assert!(report["causes"][0]["evidence"].as_str().unwrap().contains("`STAGING #2`"), "{report}");
}

#[test]
fn bodies_as_they_came() {
    let wrong = |arrival: Arrival, code| arrival.is_wrong(&[(code, PROVEN)]);
    let delivery = Arrival::asixto;
    wrong(delivery().came(format!("{BODY}\n")), "body_newline_added");
    wrong(delivery().came(format!("{BODY}\r\n")).body_by_input(), "body_newline_added");
    wrong(delivery().signed(OLD, format!("{BODY}\n")).body_by_input(), "body_newline_lost");
    wrong(delivery().signed(OLD, pretty()).came(pretty().replace('\n', "\r\n")), "body_line_ends_changed");
    wrong(delivery().came(pretty()), "body_reserialised");
    wrong(delivery().signed(OLD, pretty()), "body_reserialised");
    wrong(delivery().came(format!("{:x}\r\n{BODY}\r\n0\r\n\r\n", BODY.len())), "body_chunked");
    wrong(delivery().came(format!("\u{feff}{BODY}")), "body_bom_added");
    delivery().came("").is_wrong(&[("body_empty", SUSPECTED)]);
    delivery().came(&BODY[..40]).is_wrong(&[("body_cut", SUSPECTED)]);
    // Compressed after it was signed, and inflated after.
    let level = Compression::default();
    for (coding, compressed) in [
        ("gzip", gzip(BODY.as_bytes())),
        ("deflate", read(ZlibEncoder::new(BODY.as_bytes(), level))),
        ("deflate", read(DeflateEncoder::new(BODY.as_bytes(), level))),
    ] {
        let header = format!("content-encoding: {coding}");
        wrong(delivery().came(compressed.clone()), "body_read_otherwise");
        wrong(delivery().came(compressed.clone()).line(&header), "body_read_otherwise");
        delivery().signed(OLD, compressed).line(&header).is_wrong(&[("body_inflated", SUSPECTED)]);
    }
}

#[test]
fn header_lines_as_they_came() {
    let wrong = |arrival: Arrival, code| arrival.is_wrong(&[(code, PROVEN)]);
    let delivery = Arrival::asixto;
    let crlf = |headers: String| format!("POST /hook HTTP/1.1\r\nhost: x\r\nX-{}\r\n\r\n", headers.trim_end());
    wrong(delivery().headers(crlf), "header_renamed");
    wrong(delivery().headers(|lines| lines.replace("Asixto-", "HTTP_ASIXTO_")), "header_renamed");
    wrong(delivery().headers(|lines| lines.repeat(2)), "header_repeated");
    let value = |lines: &str| lines.split_once(": ").unwrap().1.trim_end().to_owned();
    wrong(delivery().headers(|lines| format!("{},{}\n", lines.trim_end(), value(&lines))), "header_joined");
    let upper = |lines: String| lines.to_ascii_uppercase().replace("T=", "t=").replace("V1=", "v1=");
    wrong(delivery().headers(upper), "header_upper_case");
    wrong(delivery().headers(|lines| lines.replace("t=", "\"t=").replace('\n', "\"\n")), "header_quoted");
    delivery().headers(|_| "host: example.com\n".into()).is_wrong(&[("header_missing", SUSPECTED)]);
    delivery().headers(|lines| lines[..60].to_owned()).is_wrong(&[("signature_cut", SUSPECTED)]);
    // On the command line, before those of the file.
    let repeated = delivery().with(&["--header", "asixto-signature: t=1,v1=00"]);
    wrong(repeated, "header_repeated");
}

#[test]
fn times() {
    let stale = |now| Arrival::asixto().at(now);
    stale(AT + 301).is_wrong(&[("signed_too_long_ago", PROVEN)]);
    stale(AT - 1500).is_wrong(&[("signed_in_the_future", PROVEN)]);
    stale(AT + 7203).is_wrong(&[("signed_too_long_ago", PROVEN), ("time_zone", SUSPECTED)]);
    stale(AT + 11).with(&["--tolerance", "10"]).is_wrong(&[("signed_too_long_ago", PROVEN)]);
    stale(AT + 10).with(&["--tolerance", "10"]).is_healthy();
    stale(AT + 301).with(&["--tolerance", "301"]).is_healthy();
}

#[test]
fn every_provider() {
    for provider in PROVIDERS {
        let delivery = || Arrival::of(provider);
        let [old, new] = provider.1;
        delivery().is_healthy();
        delivery().body_by_input().is_healthy();
        delivery().file(old).is_healthy();
        delivery().variable(provider.1.join(",")).signed(new, BODY).is_healthy();
        delivery().variable(new).is_wrong(&[]);
        delivery().file(format!("{old}\r\n")).is_wrong(&[("secret_padded", PROVEN)]);
        delivery().variable(format!("\"{old}\"")).is_wrong(&[("secret_quoted", PROVEN)]);
        delivery().came(pretty()).is_wrong(&[("body_reserialised", PROVEN)]);
        delivery().came(gzip(BODY.as_bytes())).is_wrong(&[("body_read_otherwise", PROVEN)]);
        delivery().at(AT + 400).is_wrong(&[("signed_too_long_ago", PROVEN)]);
        let both = delivery().file(format!("{old}\n")).came(format!("{BODY}\n"));
        both.is_wrong(&[("secret_padded", PROVEN), ("body_newline_added", PROVEN)]);
    }
    for stranger in &PROVIDERS[1..] {
        let headers = Arrival::of(*stranger).headers;
        let taken = Arrival::asixto().headers(|_| headers).variable(stranger.1[0]);
        taken.is_wrong(&[("other_sender", PROVEN)]);
    }
}

/// What only looks wrong.
#[test]
fn the_healthy_are_left_alone() {
    let delivery = Arrival::asixto;
    let body = format!("{}\r\n", pretty().replace('\n', "\r\n"));
    delivery().signed(OLD, &body).came(body).body_by_input().is_healthy();
    // B10: what is on the wire is signed.
    let compressed = gzip(BODY.as_bytes());
    delivery().signed(OLD, &compressed).came(compressed).line("Content-Encoding: gzip").is_healthy();
    delivery().signed(OLD, bomb()).came(bomb()).is_healthy();
    delivery().headers(|lines| format!("POST / HTTP/1.1\r\nhost: x\r\n{}\r\n\r\n", lines.trim_end())).is_healthy();
    delivery().variable(format!("{NEW},{OLD}")).with(&["--elsewhere-env", VARIABLE]).is_healthy();
    delivery().secret_by_input(OLD).is_healthy();
    // A secret with a comma, which comes from a file.
    let acme = Arrival::of(PROVIDERS[2]);
    let signer = unique("comma", "one, and another");
    let sign = ["sign", "--provider", acme.provider, "--at", "1787923200", "--secret-file", &signer];
    let headers = program(&sign).input(BODY).run().out(0);
    acme.headers(|_| headers).file("one, and another").is_healthy();
}

/// Bounded, whatever is announced, and without an end in sight.
#[test]
fn hostile_bodies() {
    for body in
        [bomb(), gzip(&bomb()), gzip(BODY.as_bytes())[..30].to_vec(), gzip(&[b' '; 5 << 20]), b"\x1f\x8b\x08".to_vec()]
    {
        let report = Arrival::asixto().came(body.clone()).json(1);
        assert_eq!(report["verdict"], "unexplained", "{report}");
        let codes: Vec<_> = report["causes"].as_array().unwrap().iter().map(|cause| &cause["code"]).collect();
        // One that becomes another was inflated, and that is all that is known of it.
        let expected = if body == gzip(&bomb()) { vec![] } else { vec!["body_compressed"] };
        assert_eq!(codes, expected);
    }
    let strange = Arrival::asixto().came(vec![0x8b; 2000]).line("content-encoding: gzip, br");
    strange.is_wrong(&[]);
    assert!(strange.text(1).ends_with("diagnose that as well\n"));
}

/// What was too large to be read in other ways may be just what is wrong.
#[test]
fn what_was_not_tried_is_told() {
    let large = format!("{{\"id\": \"{}\"}}", "1".repeat(1 << 20));
    let delivery = || Arrival::asixto().signed(NEW, &large).came(large.clone());
    let report = delivery().json(1);
    assert_eq!((&report["verdict"], &report["complete"]), (&json!("unexplained"), &json!(false)));
    assert!(delivery().text(1).contains("\n\nnote: not everything was tried: "));
    let healthy = Arrival::asixto().signed(OLD, &large).came(large);
    assert_eq!(healthy.json(0)["complete"], true);
}

/// Kubernetes shows its secrets in base64, and a MAC does not say who is wrong.
#[test]
fn secrets_in_base64() {
    let encoded = |text: &str| Base64::encode_string(text.as_bytes());
    Arrival::asixto().file(encoded(OLD)).is_wrong(&[("secret_encoded", PROVEN)]);
    Arrival::asixto().variable(encoded(&format!("{OLD}\n"))).is_wrong(&[("secret_encoded", PROVEN)]);
}

#[test]
fn what_a_person_reads() {
    file("person.secret", format!("{OLD}\n"));
    let doctor =
        |arrival: Arrival| Arrival { variable: None, ..arrival.with(&["--secret-file", "person.secret"]) }.text(1);
    assert_snapshot!(doctor(Arrival::asixto().came(pretty())), @r"
    explained: the signature does not match as the delivery is

    secret_padded (proven)
      the signature matches under secret `person.secret` without the white space at the ends of the secret's text, and with the body written as JSON on one line without blanks, as `JSON.stringify` does
      fix: trim the secret where it is read: files end with a line, and so does much that is pasted

    body_reserialised (proven)
      the signature matches under secret `person.secret` with the body written as JSON on one line without blanks, as `JSON.stringify` does, and without the white space at the ends of the secret's text
      fix: verify the raw bytes of the request, before a JSON parser or middleware reads and writes them anew

    note: a newline at the end of a file or of standard input counts here: where the receiver trims it, as `verify` does, `secret_padded` is no fault
    ");
    assert_snapshot!(Arrival::asixto().at(AT + 3).text(0), @"healthy: the signature matches under secret `ASIXTO_WEBHOOK_SECRETS`, and the clocks differ by 3 s");
    assert_snapshot!(Arrival::asixto().at(AT + 3).variable(format!("{NEW},{OLD}")).text(0), @r"
    healthy: the signature matches under secret `ASIXTO_WEBHOOK_SECRETS #2`, and the clocks differ by 3 s

    note: a variable with commas was taken for several secrets: where the receiver takes it for one, give it by --secret-file or --secret-stdin
    ");
    assert_snapshot!(Arrival::asixto().at(AT + 400).text(1), @r"
    stale: the signature matches under secret `ASIXTO_WEBHOOK_SECRETS`, but its time lies outside the window

    signed_too_long_ago (proven)
      the signature was made 400 s before the receiver's present time
      fix: if this is a recording, verify it with the time of its arrival; otherwise look for a queue before the receiver, a repeated old delivery, or a clock that is wrong
    ");
    assert_snapshot!(Arrival::asixto().variable(NEW).text(1), @r"
    unexplained: the signature matches under nothing that was tried; most often another secret signed it

    note: secrets that may have signed it instead, such as those of the other environment, can be given by --elsewhere-env or --elsewhere-file
    ");
    assert_snapshot!(Arrival::asixto().came(gzip(BODY.as_bytes())).text(1), @r"
    explained: the signature does not match as the delivery is

    body_read_otherwise (proven)
      the signature matches under secret `ASIXTO_WEBHOOK_SECRETS` with the reading `inflated from gzip` of the body, as it was handed in
      fix: verify those bytes: look for what compresses, inflates or replaces the body between the signer and here

    note: the sender signs the body before it is compressed: inflate it, and verify what comes out
    ");
    assert_snapshot!(Arrival::asixto().came(bomb()).text(1), @r"
    unexplained: the signature matches under nothing that was tried; most often another secret signed it

    body_compressed (suspected)
      the body is compressed
      fix: diagnose it once more with the inflated body as a reading: the signer may sign before it compresses

    note: the body could not be inflated here: it is damaged, or becomes larger than 4 MiB
    ");

    // By the clock of the system.
    let header = Arrival::asixto().headers;
    let recorded = ["doctor", "--header", header.trim_end()];
    let text = program(&recorded).env(VARIABLE, OLD).input(BODY).run().out(1);
    assert!(
        text.ends_with("\n\nnote: the delivery was taken to arrive now: for a recorded one give --now\n"),
        "{text}"
    );
}

#[test]
fn json_has_what_the_help_says() {
    let report = |verdict: &str, secret: Option<&str>, skew: Option<i64>, causes: Value, notes: &[&str], macs: u64| {
        json!({
            "provider": "asixto", "verdict": verdict, "secret": secret, "skew_seconds": skew, "causes": causes,
            "notes": notes, "complete": true, "macs": macs,
        })
    };
    let healthy = Arrival::asixto().at(AT - 1).json(0);
    assert_eq!(healthy, report("healthy", Some(VARIABLE), Some(-1), json!([]), &[], 1));
    let stale = Arrival::asixto().at(AT + 301).json(1);
    let cause = &stale["causes"][0];
    let expected = json!([{
        "code": "signed_too_long_ago",
        "certainty": "proven",
        "evidence": "the signature was made 301 s before the receiver's present time",
        "fix": cause["fix"].as_str().filter(|fix| fix.starts_with("if this is a recording, ")).unwrap(),
    }]);
    assert_eq!(stale, report("stale", Some(VARIABLE), Some(301), expected, &[], 1));
    let unexplained = Arrival::asixto().variable(NEW).json(1);
    let macs = unexplained["macs"].as_u64().unwrap();
    let note = unexplained["notes"][0].as_str().filter(|note| note.contains("--elsewhere-env")).unwrap();
    assert_eq!(unexplained, report("unexplained", None, None, json!([]), &[note], macs));
    assert!(macs > 10, "{macs}");
    let explained = Arrival::asixto().file(format!("{OLD}\n")).json(1);
    assert_eq!((&explained["verdict"], &explained["secret"]), (&json!("explained"), &Value::Null));
    assert_eq!(explained["notes"].as_array().unwrap().len(), 1);
}

#[test]
fn what_is_missing_is_told() {
    let header = Arrival::asixto().headers;
    let with = |arguments: &[&str]| program(&[&["doctor"], arguments].concat());
    assert_snapshot!(with(&[]).input("{}").run().told(), @"error: expected the header lines of the delivery, found none: give them with --header or --headers-file");
    assert_snapshot!(with(&["--header", header.trim_end()]).run().told(), @"error: expected the body of the delivery, found nothing on standard input: give a file with it, or `-` if it was empty");
    assert_snapshot!(with(&["--header", header.trim_end()]).without(VARIABLE).input("{}").run().told(), @"error: expected a secret, found no variable ASIXTO_WEBHOOK_SECRETS: set it, or give --secret-file, --secret-env or --secret-stdin; `asixto-webhook secret new` makes one");
    assert_snapshot!(with(&["--header", "a: b", "--secret-stdin"]).run().told(), @"error: expected one thing from standard input, found two, a secret and the body: give one of them as a file");
    assert_snapshot!(with(&["--elsewhere-env", "hunter2hunter2"]).run().told(), @"error: --elsewhere-env: expected the name of a variable with a secret, found none that is set");
    assert_snapshot!(with(&["--elsewhere-file", "hunter2hunter2"]).run().told(), @"error: --elsewhere-file: expected a file with a secret, found none that can be read: No such file or directory (os error 2)");
    assert_snapshot!(with(&["--body", "a.json", "b.json"]).run().told(), @r"
    error: the argument '--body <FILE>' cannot be used with '[BODY]'

    Usage: asixto-webhook doctor --body <FILE> [BODY]

    For more information, try '--help'.
    ");
    let latin_1 = unique("latin-1", b"whsec_\xf1\xf1\xf1\xf1");
    let told = with(&["--secret-file", &latin_1]).run().told();
    assert!(told.ends_with(": expected text, found other bytes\n"), "{told}");
    // The same, by name; and one that is known to have been empty.
    let body = unique("body", BODY);
    let doctor = ["--header", header.trim_end(), "--now", "1787923200", "--body"];
    with(&[&doctor[..], &[&body]].concat()).run().out(0);
    let empty = with(&[&doctor[..], &["-"]].concat()).run().out(1);
    assert!(empty.contains("\n\nbody_empty (suspected)\n"), "{empty}");
}

/// What `verify` refuses is handed on.
#[test]
fn verify_leads_here() {
    let delivery = Arrival::asixto().came(format!("{BODY}\n"));
    let (body, header) = (unique("body", &delivery.body), delivery.headers.trim_end());
    let arguments = [&*body, "--header", header, "--now", "1787923200"];
    let refused = program(&[&["verify"], &arguments[..]].concat()).run().out(1);
    assert_snapshot!(refused, @r"
    refused: expected a signature by a known secret, found none that matches
    run `asixto-webhook doctor` with the same arguments to find out why
    ");
    let text = program(&[&["doctor"], &arguments[..]].concat()).run().out(1);
    assert!(text.contains("body_newline_added (proven)"), "{text}");
}

/// What a receiver refuses as well, unless it says that the signature is not the reason.
#[test]
fn send_leads_here() {
    let send = |outcome: &str| {
        let answer = format!("HTTP/1.1 400 No\r\n{outcome}content-length: 0\r\nconnection: close\r\n\r\n");
        let server = Canned::start(answer);
        let url = format!("http://{}/", server.address);
        program(&["send", "--to", &url, "--type", "job.failed"]).run().out(1)
    };
    for (outcome, leads) in [("", true), ("signature_mismatch", true), ("invalid_envelope", false)] {
        let header = if outcome.is_empty() { String::new() } else { format!("asixto-webhook-outcome: {outcome}\r\n") };
        assert_eq!(send(&header).contains("`asixto-webhook doctor`"), leads, "{outcome}");
    }
}
