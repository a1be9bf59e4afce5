//! What the wire and other servers do to a delivery.

use std::{io::Write, net::TcpListener};

use asixto_webhook_core::{SecretSet, UnixTime, Verifier};
use serde_json::Value;

use crate::harness::{Canned, SECRETS, Server, file, nobody, program, was_called};

/// The one delivery of a report that ended so.
fn delivery(to: &str, more: &[&str], code: i32) -> Value {
    let report = program(&[&["send", "--type", "job.failed", "--json", "--to", to], more].concat()).run().json(code);
    assert_eq!(report["deliveries"].as_array().unwrap().len(), 1);
    report["deliveries"][0].clone()
}

fn error(to: &str, more: &[&str]) -> String {
    let delivery = delivery(to, more, 1);
    assert_eq!((&delivery["status"], &delivery["acknowledged"]), (&Value::Null, &Value::Bool(false)));
    delivery["error"].as_str().unwrap().to_owned()
}

// A1, B1, B2, D2
#[test]
fn what_is_on_the_wire() {
    let server = Canned::start("HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
    let sent = delivery(&format!("http://{}/hook?a=b%20c", server.address), &["--id", "1"], 0);
    assert_eq!((sent["status"].as_u64(), &sent["outcome"], &sent["error"]), (Some(204), &Value::Null, &Value::Null));

    let requests = server.requests();
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    let mut lines = head.split("\r\n");
    assert_eq!(lines.next(), Some("POST /hook?a=b%20c HTTP/1.1"));
    let headers: Vec<_> = lines.map(|line| line.split_once(": ").unwrap()).collect();
    let mut names: Vec<_> = headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
    names.sort_unstable();
    let expected = ["accept", "asixto-signature", "content-length", "content-type", "host", "user-agent"];
    assert_eq!(names, expected);
    assert!(headers.contains(&("content-type", "application/json")), "{headers:?}");
    let (_, signature) = headers.iter().find(|(name, _)| *name == "asixto-signature").unwrap();
    assert_eq!(signature.matches(",v1=").count(), 2);
    for secret in SECRETS {
        let verifier = Verifier::new(SecretSet::from_issued([secret]).unwrap());
        verifier.verify(&headers, body.as_bytes(), UnixTime::now()).unwrap();
    }
}

// H1
#[test]
fn no_redirect_is_followed() {
    for status in [301, 302, 303, 307, 308] {
        let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
        let location = elsewhere.local_addr().unwrap();
        let server = Canned::start(format!(
            "HTTP/1.1 {status} Elsewhere\r\nlocation: http://{location}/\r\ncontent-length: 0\r\n\r\n"
        ));
        let sent = delivery(&format!("http://{}/", server.address), &[], 1);
        assert_eq!((sent["status"].as_u64(), &sent["error"]), (Some(status), &Value::Null));
        assert_eq!(server.requests().len(), 1);
        assert!(!was_called(&elsewhere), "{status}");
    }
}

#[test]
fn no_proxy_is_asked() {
    let (server, proxy) = (Server::asixto(), TcpListener::bind("127.0.0.1:0").unwrap());
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let mut run = program(&["send", "--type", "job.failed", "--to", &server.url]);
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        run = run.env(name, &address);
    }
    run.run().out(0);
    assert_eq!(server.ids().len(), 1);
    assert!(!was_called(&proxy));
}

#[test]
fn why_no_answer_came() {
    let nobody = nobody();
    let address = nobody.local_addr().unwrap();
    assert_eq!(
        error(&format!("http://{address}/"), &[]),
        format!("expected a receiver at {address}, found nothing that listens: connection refused")
    );

    // It takes the connection, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_url = format!("http://{}/", silent.local_addr().unwrap());
    assert_eq!(error(&silent_url, &["--timeout", "1"]), "expected an answer within 1 s, found none");

    let told = error("http://nowhere.invalid/", &[]);
    assert!(told.starts_with("expected to reach nowhere.invalid, found: failed to lookup address"), "{told}");

    let hangs_up = Canned::start("");
    assert_eq!(
        error(&format!("http://{}/", hangs_up.address), &[]),
        "expected an answer, found the connection closed before one"
    );

    let other = Canned::start("220 mail.example ESMTP\r\n\r\n");
    assert_eq!(
        error(&format!("http://{}/", other.address), &[]),
        "expected an answer in HTTP/1.1, found another; is it https?"
    );
}

/// Whoever answers may write anything into the header.
#[test]
fn a_strange_outcome() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\nasixto-webhook-outcome: ";
    for (header, outcome) in [
        ("x".repeat(70), Value::from("x".repeat(64))),
        ("\u{1b}[31mred".to_owned(), Value::Null),
        ("señal".to_owned(), Value::Null),
    ] {
        let server = Canned::start(format!("{head}{header}\r\n\r\n"));
        let url = format!("http://{}/", server.address);
        let run = program(&["send", "--type", "job.failed", "--json", "--to", &url]).run();
        let report: Value = serde_json::from_str(&run.out).unwrap();
        let delivery = &report["deliveries"][0];
        // A client may also refuse the whole answer.
        assert!(delivery["outcome"] == outcome || !delivery["error"].is_null(), "{delivery}");
        assert!(!run.out.contains('\u{1b}'));
    }
}

// H4: the answer is had although the body is not taken, and a body that is taken arrives whole.
#[test]
fn a_body_over_the_limit() {
    let server = Server::asixto();
    let path = file("large.json", format!("\"{}\"", "x".repeat(8_000_000)));
    let sent = delivery(&server.url, &["--data", &path], 1);
    assert_eq!((sent["status"].as_u64(), sent["outcome"].as_str()), (Some(413), Some("body_too_large")));

    let taking = Canned::start("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    let path = file("larger.json", format!("\"{}\"", "x".repeat(300_000)));
    delivery(&format!("http://{}/", taking.address), &["--data", &path], 0);
    let request = taking.requests().remove(0);
    assert!(request.contains("\r\nexpect: 100-continue\r\n") && request.len() > 300_000);
}

/// Some deliveries fail, others do not: all are sent, and the failure is not forgotten.
#[test]
fn one_failure_of_many() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let run = program(&["send", "--type", "job.failed", "--count", "3", "--json", "--to", &url]).start();
    for status in ["200 OK", "500 Oh", "202 Accepted"] {
        let (mut stream, _) = listener.accept().unwrap();
        crate::harness::request(&mut stream);
        write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").unwrap();
    }
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((report["sent"].as_u64(), report["acknowledged"].as_u64()), (Some(3), Some(2)));
}
