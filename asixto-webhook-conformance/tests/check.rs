//! Whole checks, of servers that are no receivers.
#![cfg(test)]

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use asixto_webhook_conformance::{Check, Kit, Report, Selection, Target, Trust, Verdict, Version};
use asixto_webhook_core::{Environment, SecretSet};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

const SECRETS: [&str; 2] = ["whsec_dGhlIG9sZCBzZWNyZXQ", "whsec_dGhlIG5ldyBzZWNyZXQ"];

/// A server that answers its first requests with a status and a body, and no others.
async fn server(most: usize, status: u16, headers: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        for _ in 0..most {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(answer(stream, status, headers));
        }
    });
    address
}

async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, status: u16, headers: &'static str) {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if stream.read_buf(&mut request).await.is_ok_and(|read| read > 0) {
            continue;
        }
        return;
    }
    let head = format!("HTTP/1.1 {status} Whatever\r\n{headers}connection: close\r\ncontent-length: 3\r\n\r\n<b>");
    // The client may have heard enough.
    _ = stream.write_all(head.as_bytes()).await;
    _ = stream.shutdown().await;
    // A close before everything is read would be a reset, which may overtake the answer.
    _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
}

fn kit(path: &str) -> Kit {
    Kit::new(path, SecretSet::from_issued(SECRETS).unwrap(), Environment::Test)
}

async fn check(address: SocketAddr, parts: &[&str]) -> Report {
    let (target, kit) = (Target::new(address, Version::Http1), kit("/hook?a=<b>"));
    let check = Check::new(&target, &kit);
    parts.iter().fold(check, |check, part| check.only(Selection::parse(part).unwrap())).run(|_, _| {}).await
}

/// Whoever refuses a valid delivery has refused nothing else rightly.
#[tokio::test]
async fn a_valid_delivery_comes_first() {
    for (status, headers, hint) in [
        (401, "", "found 401: is the secret the receiver's"),
        (404, "", "found 404: is this the path"),
        (301, "location: /hook/\r\n", "found 301: a redirect is never followed"),
        (400, "date: Thu, 01 Jan 1970 00:00:00 GMT\r\n", "found 400: its clock is wrong"),
        (500, "", "found 500: its log"),
    ] {
        let report = check(server(1, status, headers).await, &["reject"]).await;
        let reason = report.environment.as_deref().unwrap();
        assert!(reason.contains(hint), "{reason}");
        assert_eq!((report.findings.len(), report.verdict(), report.exit_code(false)), (0, Verdict::Environment, 3));
    }
    let nobody = server(0, 200, "").await;
    let report = check(nobody, &[]).await;
    assert!(report.environment.unwrap().contains("is it running"));
}

/// And one comes last, and after whatever was left unanswered: a receiver that is gone has passed nothing.
#[tokio::test]
async fn a_receiver_that_goes_in_between() {
    for most in [2, 4, 7] {
        let report = check(server(most, 200, "").await, &["accept/job-succeeded", "K5"]).await;
        assert!(report.environment.as_deref().unwrap().contains("got no answer"), "{most}");
        assert!(report.findings.iter().all(|finding| finding.verdict == Verdict::Environment), "{most}");
        assert!(!report.findings.is_empty() && report.exit_code(false) == 3, "{most}");
    }
    // One that is told only by the last.
    let report = check(server(2, 200, "").await, &["accept/job-succeeded"]).await;
    assert_eq!((report.findings.len(), report.exit_code(true)), (1, 3));
}

/// A receiver that takes everything fails, and the reports say how.
#[tokio::test]
async fn one_that_takes_everything() {
    let report = check(server(usize::MAX, 200, "").await, &["accept/late", "reject", "K7"]).await;
    assert_eq!((report.environment.as_deref(), report.exit_code(false)), (None, 1));
    let verdict = |id: &str| report.findings.iter().find(|finding| finding.probe.id == id).unwrap().verdict;
    assert_eq!(verdict("accept/late"), Verdict::Pass);
    assert_eq!(verdict("reject/forged"), Verdict::Fail);
    // What the contract leaves open is advice.
    assert_eq!(verdict("reject/joined"), Verdict::Advisory);
    assert!(!report.ours && report.evidence() == "statuses alone");

    let table = report.table(false);
    assert!(table.contains("fail         K5  "), "{table}");
    assert!(table.contains("expected 400 signature_mismatch\n") && table.contains("got      200\n"), "{table}");
    assert!(table.contains("to mend it: verify before anything else") && table.contains("curl -i -H"), "{table}");
    assert!(report.table(true).contains("\x1b[31mfail"));

    let json = report.json();
    assert_eq!((json["verdict"].as_str(), json["provider"].as_str()), (Some("fail"), Some("asixto")));
    let probes = json["probes"].as_array().unwrap();
    let forged = probes.iter().find(|probe| probe["id"] == "reject/forged").unwrap();
    assert_eq!((forged["verdict"].as_str(), forged["point"].as_str()), (Some("fail"), Some("K3")));
    assert_eq!(probes.len(), report.findings.len());

    let junit = report.junit().unwrap();
    let failures = format!("failures=\"{}\"", report.count(Verdict::Fail));
    assert!(junit.contains(&failures) && junit.contains("<testcase name=\"reject/forged\""), "{junit}");
    assert!(junit.contains("/hook?a=&lt;b>") || junit.contains("/hook?a=&lt;b&gt;"), "{junit}");

    let page = report.html();
    assert!(page.starts_with("<!doctype html>") && page.contains("reject/forged"), "{page}");
    assert!(page.contains("/hook?a=&lt;b&gt;") && !page.contains("<b>"), "{page}");
    assert!(!page.contains("src=") && !page.contains("href="), "{page}");
}

/// The handler's second run is seen by whoever observes it, and else cannot be told.
#[tokio::test]
async fn what_a_status_does_not_prove() {
    let address = server(usize::MAX, 200, "").await;
    let report = check(address, &["state/duplicate"]).await;
    assert_eq!((report.verdict(), report.exit_code(false), report.exit_code(true)), (Verdict::Inconclusive, 0, 4));
    // A receiver that takes a delivery for a repeat answers it alike.
    let unproved = [
        "accept/replay",
        "accept/replay-again",
        "state/replay-of-nothing",
        "state/aborted-first",
        "state/earlier-later",
    ];
    let report = check(address, &unproved).await;
    assert_eq!(report.count(Verdict::Inconclusive), unproved.len());
    // What is not 400 is not called so.
    let report = check(address, &["operation/no-detail"]).await;
    assert_eq!(report.findings.first().unwrap().got, "200, whatever the reason");
    let observed = Target::new(address, Version::Http1).observed_at("/events");
    let kit = kit("/hook");
    // It answers with something that is no list.
    let report = Check::new(&observed, &kit).only(Selection::parse("state/duplicate").unwrap()).run(|_, _| {}).await;
    assert_eq!(report.verdict(), Verdict::Environment);
    assert!(report.environment.unwrap().starts_with("not observed: expected a JSON list"));
}

/// By TLS too, as long as the certificate is trusted.
#[tokio::test]
async fn https() {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(signing_key.serialize_der().into());
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let (acceptor, spoken) = (TlsAcceptor::from(Arc::new(config)), Arc::new(AtomicUsize::new(0)));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}/hook", listener.local_addr().unwrap().port());
    let counted = spoken.clone();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            if let Ok(stream) = acceptor.accept(stream).await {
                assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
                counted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(answer(stream, 200, ""));
            }
        }
    });

    let trusted = Trust::Pem(cert.pem().into_bytes());
    let (target, path) = Target::resolve(&url, Version::Http1, &trusted).await.unwrap();
    let kit = kit(&path);
    let only = Selection::parse("accept/late").unwrap();
    let report = Check::new(&target, &kit).only(only.clone()).run(|_, _| {}).await;
    assert_eq!((report.verdict(), report.origin.as_str()), (Verdict::Pass, &url[..url.len() - "/hook".len()]));
    // Two controls and a probe.
    assert_eq!(spoken.load(Ordering::SeqCst), 3);

    let stranger = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let others = Trust::Pem(stranger.cert.pem().into_bytes());
    let (target, _) = Target::resolve(&url, Version::Http1, &others).await.unwrap();
    let report = Check::new(&target, &kit).only(only).run(|_, _| {}).await;
    assert_eq!((report.verdict(), spoken.load(Ordering::SeqCst)), (Verdict::Environment, 3));
    let nothing = Target::resolve(&url, Version::Http1, &Trust::Pem(b"no certificate".to_vec())).await.unwrap_err();
    assert_eq!(nothing.to_string(), "expected certificates of authorities to trust, found none");
}

#[tokio::test]
async fn urls() {
    for (url, expected) in [
        ("127.0.0.1:80/hook", "a text that is none"),
        ("/hook", "a URL without scheme and host"),
        ("ftp://127.0.0.1/hook", "another scheme"),
        ("http://user:word@127.0.0.1/hook", "a URL with a user in it"),
        ("http://a b/", "a text that is none"),
    ] {
        let error = Target::resolve(url, Version::Http1, &Trust::System).await.unwrap_err().to_string();
        assert!(error.ends_with(&format!("found {expected}")) && !error.contains("word"), "{error}");
    }
    let (target, path) = Target::resolve("http://[::1]:8080/a?b=c", Version::Http1, &Trust::System).await.unwrap();
    assert_eq!((target.peer.addresses()[0].to_string().as_str(), path.as_str()), ("[::1]:8080", "/a?b=c"));
    let (target, path) = Target::resolve("http://127.0.0.1", Version::Http1, &Trust::System).await.unwrap();
    assert_eq!((target.peer.addresses()[0].port(), path.as_str()), (80, "/"));
}
