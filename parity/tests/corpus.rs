//! A–H, K–N: the whole corpus of every sender, on every framework and over both versions of HTTP.
#![cfg(test)]

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use asixto_webhook_conformance::{Check, Kit, Observer, Target, Version, fixtures};
use asixto_webhook_core::{
    Asixto, Environment, Event, Receiver, SecretSet,
    provider::{CloudEvents, Envelope, StandardWebhooks},
};
use asixto_webhook_tower::MemoryStore;
use parity::{Framework, SECOND, SECRET, Server, Service, everywhere};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

everywhere!(asixto, standard, cloudevents, agent);

async fn asixto(framework: Framework) {
    passes(framework, Asixto).await;
}

async fn standard(framework: Framework) {
    passes(framework, StandardWebhooks).await;
}

async fn cloudevents(framework: Framework) {
    passes(framework, CloudEvents::new("Acme-Signature").unwrap()).await;
}

async fn agent(framework: Framework) {
    passes(framework, fixtures::agent()).await;
}

async fn passes<P: fixtures::Sender>(framework: Framework, provider: P) {
    let secrets = SecretSet::from_issued([SECRET, SECOND]).unwrap();
    let receiver = Receiver::builder_for(provider.clone()).secrets(secrets.clone()).dedup(MemoryStore::default());
    let seen = Seen::default();
    let counted = seen.clone();
    let service = Service::new(receiver.diagnostics(true).build().unwrap(), move |event: Event<P>| {
        *counted.lock().unwrap().entry(event.envelope().id().to_owned()).or_default() += 1;
        async {}
    });
    let server = Server::serve(framework, service).await;
    let observer = observer(seen).await;
    let over = async |version| {
        let target = Target::new(server.address(), version).observed_by(observer.clone());
        let kit = Kit::of(provider.clone(), "/hook", secrets.clone(), Environment::Live);
        let check = Check::new(&target, &kit);
        let probes = check.probes().len();
        let report = check.run(|_, _| {}).await;
        assert_eq!(
            (report.environment.as_deref(), report.findings.len()),
            (None, probes),
            "{framework} over {version}"
        );
        let failures = report.findings.iter().filter(|finding| !finding.passed());
        let failures: Vec<_> = failures
            .map(|finding| format!("{}: expected {}, got {}", finding.probe.id, finding.expected, finding.got))
            .collect();
        assert!(failures.is_empty(), "{framework} over {version}:\n{}", failures.join("\n"));
        assert_eq!(report.exit_code(true), 0);
    };
    // Both at once: some probes take their time.
    tokio::join!(over(Version::Http1), over(Version::Http2));
}

type Seen = Arc<Mutex<HashMap<String, u32>>>;

/// Tells what the handler ran for, at an address of its own: the receiver serves every path.
async fn observer(seen: Seen) -> Observer {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let entries = seen.lock().unwrap().clone().into_iter();
            let list: Vec<_> = entries.map(|(id, times)| serde_json::json!({ "id": id, "times": times })).collect();
            let list = serde_json::to_string(&list).unwrap();
            _ = stream.read(&mut [0; 1024]).await;
            let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", list.len());
            _ = stream.write_all((head + &list).as_bytes()).await;
        }
    });
    Observer::Server(address.into(), "/".to_owned())
}
