//! Every adapter takes every provider: a round trip over a real socket for each, HTTP/1.1 and HTTP/2.
#![cfg(test)]

use std::sync::{Arc, Mutex};

use asixto_webhook_conformance::{Request, Version};
use asixto_webhook_core::{
    Asixto, Clock, Event, RawValue, Receiver, SecretSet, SystemClock,
    provider::{Agent, CloudEvents, Identity, Message, Provider, StandardWebhooks, Unidentified},
};
use asixto_webhook_tower::MemoryStore;
use parity::{Framework, Server, Service, everywhere};

everywhere!(asixto, standard_webhooks, cloudevents, agent);

/// A receiver of one provider, and what its handler has seen.
struct Sender<P: Provider> {
    server: Server,
    provider: P,
    secrets: SecretSet<P>,
    seen: Arc<Mutex<Vec<Event<P>>>>,
}

impl<P: Provider> Sender<P> {
    async fn start(framework: Framework, provider: P, issued: &str) -> Self {
        let secrets = SecretSet::from_issued([issued]).unwrap();
        let receiver = Receiver::builder_for(provider.clone())
            .secrets(secrets.clone())
            .dedup(MemoryStore::default())
            .diagnostics(true)
            .build()
            .unwrap();
        let seen: Arc<Mutex<Vec<_>>> = Arc::default();
        let keep = seen.clone();
        let service = Service::new(receiver, move |event| {
            keep.lock().unwrap().push(event);
            async {}
        });
        Self { server: Server::serve(framework, service).await, provider, secrets, seen }
    }

    /// The request of a body, signed now.
    fn request(&self, id: &str, body: &'static str) -> Request {
        let message = Message::new(SystemClock.now(), body.as_bytes()).with_id(id);
        let headers = self.provider.sign(&self.secrets, message).into_iter();
        headers.fold(Request::post("/hook").body(body), |request, (name, value)| request.header(name, value))
    }

    async fn outcome(&self, version: Version, request: &Request) -> String {
        self.server.outcome(version, request).await
    }

    /// A delivery and its repeats, by either protocol, and what is none. Gives the event that the handler saw.
    async fn round_trip(&self, id: &str, body: &'static str) -> Event<P> {
        let request = self.request(id, body);
        assert_eq!(self.outcome(Version::Http1, &request).await, "200 processed", "{}", P::NAME);
        for version in [Version::Http1, Version::Http2] {
            assert_eq!(self.outcome(version, &request).await, "200 duplicate", "{}", P::NAME);
            // B7, N4: with another body, and without any header.
            let forged = request.clone().body("{}");
            assert_eq!(self.outcome(version, &forged).await, "400 signature_mismatch", "{}", P::NAME);
            let unsigned = Request::post("/hook").body(body);
            assert_eq!(self.outcome(version, &unsigned).await, "400 missing_header", "{}", P::NAME);
        }
        let mut seen = self.seen.lock().unwrap();
        assert_eq!((seen.len(), seen[0].body().as_ref()), (1, body.as_bytes()), "{}", P::NAME);
        seen.remove(0)
    }
}

// B, E2
async fn asixto(framework: Framework) {
    let body = r#"{"id":"evt_1","type":"job.expired","created":1787923100,"environment":"live","data":{}}"#;
    let sender = Sender::start(framework, Asixto, "whsec_c2VjcmV0IG9mIHRoZSBzb2NrZXQgdGVzdHM").await;
    let event = sender.round_trip("", body).await;
    assert_eq!((event.id(), event.event_type()), ("evt_1", "job.expired"));
}

// L10
async fn standard_webhooks(framework: Framework) {
    let sender = Sender::start(framework, StandardWebhooks, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").await;
    let event = sender.round_trip("msg_1", r#"{"type":"sale.paid","data":{"amount":4900}}"#).await;
    assert_eq!((event.id(), event.event_type()), ("msg_1", "sale.paid"));
    assert_eq!(event.raw_data().unwrap().get(), r#"{"amount":4900}"#);
}

// M1, M2, M3, M4
async fn cloudevents(framework: Framework) {
    let body = r#"{"specversion":"1.0","id":"evt_1","source":"/charges","type":"com.acme.charge.refunded"}"#;
    let sender = Sender::start(framework, CloudEvents::new("Acme-Signature").unwrap(), "acme-shared-secret").await;
    let event = sender.round_trip("", body).await;
    assert_eq!((event.id(), event.source(), event.delivery_attempt()), ("evt_1", "/charges", None));
    let second = sender.request("", body).header("Acme-Delivery-Attempt", "2");
    assert_eq!(sender.outcome(Version::Http1, &second).await, "200 duplicate");

    let other = r#"{"specversion":"1.0","id":"evt_1","source":"/refunds","type":"com.acme.charge.refunded"}"#;
    let second = sender.request("", other).header("Acme-Delivery-Attempt", "2");
    assert_eq!(sender.outcome(Version::Http2, &second).await, "200 processed");
    assert_eq!(sender.seen.lock().unwrap()[0].delivery_attempt(), Some(2));
}

// N1, N2, N3
async fn agent(framework: Framework) {
    let identify = |body: &RawValue| {
        let body: serde_json::Value = serde_json::from_str(body.get()).map_err(|_| Unidentified)?;
        Ok(Identity::new(body["eventId"].as_str().ok_or(Unidentified)?).order("ord_19"))
    };
    let sender = Sender::start(framework, Agent::new(identify), "partner-api-secret").await;
    let body = r#"{"eventId":"evt_7","status":"SUCCEEDED"}"#;
    let event = sender.round_trip("n1", body).await;
    assert_eq!((event.id(), event.order()), ("evt_7", Some("ord_19")));
    let reused = sender.request("n1", r#"{"eventId":"evt_8","status":"SUCCEEDED"}"#);
    assert_eq!(sender.outcome(Version::Http1, &reused).await, "400 nonce_reused");
    assert_eq!(sender.outcome(Version::Http2, &sender.request("n2", body)).await, "200 duplicate");
    let unidentified = sender.request("n3", r#"{"status":"SUCCEEDED"}"#);
    assert_eq!(sender.outcome(Version::Http2, &unidentified).await, "400 invalid_envelope");
}
