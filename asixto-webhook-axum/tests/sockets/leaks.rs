//! Nothing secret in logs and responses.

use std::{
    fmt::Write,
    sync::{Arc, Mutex, OnceLock},
};

use asixto_webhook_conformance::PROBES;
use axum::http::StatusCode;
use tracing::field::{Field, Visit};
use tracing_subscriber::{Layer, layer::Context, prelude::*, registry::Registry};

use crate::server::{BOTH, SECOND, SECRET, Server, builder};

/// Everything that is logged in this process, at every level and by every crate.
#[derive(Clone)]
pub(crate) struct Captured(Arc<Mutex<String>>);

impl Captured {
    pub(crate) fn start() -> Self {
        static ALL: OnceLock<Captured> = OnceLock::new();
        ALL.get_or_init(|| {
            let captured = Self(Arc::default());
            tracing::subscriber::set_global_default(Registry::default().with(captured.clone())).unwrap();
            captured
        })
        .clone()
    }

    pub(crate) fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

impl<S: tracing::Subscriber> Layer<S> for Captured {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let mut text = self.0.lock().unwrap();
        write!(text, "{}", event.metadata().target()).unwrap();
        event.record(&mut Writing(&mut text));
        text.push('\n');
    }

    fn on_new_span(&self, span: &tracing::span::Attributes<'_>, _: &tracing::span::Id, _: Context<'_, S>) {
        span.record(&mut Writing(&mut self.0.lock().unwrap()));
    }
}

struct Writing<'a>(&'a mut String);

impl Visit for Writing<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, " {}={value:?}", field.name()).unwrap();
    }
}

/// D3: neither a secret, nor a MAC, nor the body in a log at TRACE or in a response, over the whole corpus and with
/// handlers that fail and panic.
#[tokio::test(flavor = "multi_thread")]
async fn no_secret_no_mac_no_body() {
    let captured = Captured::start();
    let marker = "a-customer-nobody-may-read-about";
    let good = Server::start(builder(), async |_| ()).await;
    let failing = Server::start(builder(), async |_| StatusCode::BAD_GATEWAY).await;
    let panicking =
        Server::start(builder(), async |_| assert!(std::env::args().len() > 1000, "a handler that panics")).await;
    let mut macs = Vec::new();
    for version in BOTH {
        for probe in PROBES.iter().filter(|probe| probe.id != "reject/slow-body") {
            asixto_webhook_conformance::run(&good.target(version), &good.kit, probe).await.unwrap();
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
