//! `check`: a receiver, judged from outside.

use std::fs;

use crate::harness::{Canned, PROVIDERS, SECRETS, Server, VARIABLE, file, nobody, program};

const REFUSES: &str = "HTTP/1.1 400 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
const TAKES: &str = "HTTP/1.1 200 Yes\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

// K1 to K10; L10, M, N: every receiver of this project passes as what it is.
#[test]
fn every_provider_passes() {
    for provider in PROVIDERS {
        let server = Server::start(provider);
        let arguments = ["check", "--json", "--only", "state", "--only", "K5", "--environment", "live", &server.url];
        let report = program(&arguments).of(provider).run().json(0);
        assert_eq!(report["verdict"], "pass", "{report}");
        assert_eq!(report["provider"], provider.0.split(':').next().unwrap());
        assert_eq!(report["evidence"]["diagnostics"], true);
        assert!(report["probes"].as_array().unwrap().len() >= 15, "{report}");
        assert!(!server.events().is_empty());
    }
}

#[test]
fn over_http2() {
    let server = Server::asixto();
    let report = program(&["check", "--json", "--http2", "--only", "accept/late", &server.url]).run().json(0);
    assert_eq!((&report["verdict"], &report["http"]), (&"pass".into(), &"HTTP/2".into()));
}

// H1: the exit code says what was found.
#[test]
fn exit_codes() {
    let (takes, refuses, nobody) = (Canned::start(TAKES), Canned::start(REFUSES), nobody());
    let url = |address| format!("http://{address}/hook");
    let [takes, refuses] = [url(takes.address), url(refuses.address)];
    let gone = url(nobody.local_addr().unwrap());
    let run = |arguments: &[&str]| program(&[&["check"], arguments].concat()).run();
    assert_eq!(run(&[&takes, "--only", "accept/late"]).code, Some(0));
    let failed = run(&[&takes, "--only", "reject/forged"]).out(1);
    assert!(failed.contains("fail         K3 ") && failed.contains("to mend it: verify before"), "{failed}");
    let reproduced = failed.lines().find(|line| line.trim_start().starts_with("curl ")).unwrap();
    assert!(reproduced.ends_with(&takes), "{reproduced}");
    assert_eq!(run(&[&refuses, "--only", "accept/late"]).code, Some(3));
    assert!(run(&[&gone]).out(3).contains("a valid delivery got no answer"));
    let repeated = ["--only", "state/duplicate"];
    assert_eq!(run(&[&[&*takes], &repeated[..]].concat()).code, Some(0));
    assert_eq!(run(&[&[&*takes, "--strict"], &repeated[..]].concat()).code, Some(4));
}

/// An observer that does not see what was acknowledged is another receiver's, or this one does not work.
#[test]
fn who_observes() {
    let (takes, list) = (Canned::start(TAKES), Canned::start("HTTP/1.1 200 Yes\r\ncontent-length: 2\r\n\r\n[]"));
    let [url, events] = [takes.address, list.address].map(|address| format!("http://{address}/hook"));
    let told = program(&["check", &url, "--only", "accept/late", "--observe", &events]).run().out(3);
    assert!(told.contains("the observer does not list it") && list.requests()[0].starts_with("GET /hook "), "{told}");
    let told = program(&["check", &url, "--only", "accept/late", "--observe", &url]).run().out(3);
    assert!(told.contains("not observed: expected a JSON list"), "{told}");
    if cfg!(unix) {
        let command = |command| program(&["check", &url, "--only", "accept/late", "--observe-cmd", command]);
        let told = command("exit 1").env("PATH", "/usr/bin:/bin").run().out(3);
        assert!(told.contains("not observed: the command failed"), "{told}");
    }
}

#[test]
fn every_format() {
    let server = Server::asixto();
    let written = |format: &str| {
        let path = file(&format!("check.{format}"), "");
        let arguments = ["check", "--only", "accept/late", "--format", format, "--out", &path, &server.url];
        assert_eq!(program(&arguments).run().out(0), "");
        fs::read_to_string(path).unwrap()
    };
    assert!(written("table").contains("pass         K4 "));
    assert!(written("json").contains("\"id\": \"accept/late\""));
    assert!(written("junit").contains("<testcase name=\"accept/late\""));
    assert!(written("html").starts_with("<!doctype html>"));
}

#[test]
fn wrong_arguments() {
    let empty = file("no-certificate.pem", "nothing");
    for (arguments, expected) in [
        (&["http://127.0.0.1:1/", "--only", "K11"][..], "expected a point such as `K5`"),
        (&["127.0.0.1:3000/hook"], "expected a whole URL, such as `https://example.com/webhooks/asixto`, found a text"),
        (&["ftp://127.0.0.1/"], "found another scheme"),
        (&["http://nobody.invalid/"], "expected an address of `nobody.invalid`, found none"),
        (&["http://127.0.0.1:1/", "--observe", "events"], "--observe: expected a whole URL"),
        (&["http://127.0.0.1:1/", "--observe", "http://127.0.0.1:1/", "--observe-cmd", "x"], "cannot be used with"),
        (&["https://127.0.0.1:1/", "--ca", &empty], "expected certificates of authorities to trust"),
        (
            &["http://127.0.0.1:1/", "--provider", "agent", "--only", "K9"],
            "expected a part of the deliveries of `agent`",
        ),
    ] {
        let told = program(&[&["check"], arguments].concat()).run().told();
        assert!(told.contains(expected), "{told}");
    }
    let unset = program(&["check", "http://127.0.0.1:1/"]).without(VARIABLE).run().told();
    assert!(unset.contains(VARIABLE), "{unset}");
}

// D3
#[test]
fn no_report_holds_a_secret() {
    let takes = Canned::start(TAKES);
    let url = format!("http://{}/hook", takes.address);
    for format in ["table", "json", "junit", "html"] {
        let ended = program(&["check", &url, "--only", "K5", "--format", format]).run();
        assert_eq!(ended.code, Some(1));
        for secret in SECRETS {
            assert!(!ended.out.contains(&secret[8..]) && !ended.told.contains(&secret[8..]), "{format}");
        }
    }
}
