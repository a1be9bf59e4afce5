//! Nothing secret in logs and responses.
#![cfg(test)]

use asixto_webhook_conformance::{PROBES, run};
use parity::{BOTH, Captured, Framework, SECOND, SECRET, Server, builder, everywhere};

everywhere!(no_secret_no_mac_no_body);

/// D3: neither a secret, nor a MAC, nor the body in a log at TRACE or in a response, over the whole corpus and with
/// handlers that fail and panic.
async fn no_secret_no_mac_no_body(framework: Framework) {
    let captured = Captured::start();
    let marker = "a-customer-nobody-may-read-about";
    let good = Server::start(framework, builder(), async |_| ()).await;
    let failing = Server::start(framework, builder(), async |_| 502).await;
    let panicking =
        Server::start(framework, builder(), async |_| assert!(std::env::args().len() > 1000, "a handler that panics"))
            .await;
    let mut macs = Vec::new();
    for version in BOTH {
        for probe in PROBES.iter().filter(|probe| probe.id != "reject/slow-body") {
            _ = run(&good.target(version), &good.kit, probe).await;
        }
        for server in [&good, &failing, &panicking] {
            let delivery = server
                .kit
                .plain()
                .edit(|body| body.replacen("\"operation\":\"", &format!("\"operation\":\"{marker}"), 1));
            let (_, signature) = delivery.signature();
            macs.extend(signature.split("v1=").skip(1).map(|mac| mac.trim_end_matches(',').to_owned()));
            let response = server.send(version, &delivery.request()).await.unwrap();
            assert!(response.body.is_empty());
            let headers = format!("{:?}", response.headers);
            assert!(macs.iter().all(|mac| !headers.contains(&mac[..16])));
            assert!(!headers.contains(&SECRET[..20]));
        }
    }
    let text = captured.text();
    assert!(
        text.contains("outcome=\"processed\"") && text.contains("outcome=\"handler_failed\""),
        "nothing was captured"
    );
    assert_eq!(macs.len(), 2 * 2 * 3);
    for mac in macs {
        assert!(!text.contains(&mac[..16]), "a MAC was logged");
    }
    for secret in [SECRET, SECOND] {
        assert!(!text.contains(&secret[6..20]), "a secret was logged");
    }
    assert!(!text.contains(marker), "a body was logged");
}
