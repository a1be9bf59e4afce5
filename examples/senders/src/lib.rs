//! Four kinds of senders on one server. Each has its route, its secrets and its handler, and nothing else of its own.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use asixto_webhook_axum::{
    Asixto, Event, MemoryStore, Receiver, SecretSet, VerifiedEvent, WebhookLayer,
    core::{
        Provider, RawValue,
        provider::{Agent, CloudEvents, Identity, StandardWebhooks, Unidentified},
    },
};
use axum::{
    Json, Router,
    extract::State,
    routing::{MethodRouter, get, post},
};
use example_support::Error;
use serde::{Deserialize, Serialize};
use tracing::info;

/// A receiver for each sender that there are secrets of.
#[derive(Debug)]
pub struct Senders {
    asixto: Option<WebhookLayer>,
    standard: Option<WebhookLayer<StandardWebhooks>>,
    cloudevents: Option<WebhookLayer<CloudEvents>>,
    agent: Option<WebhookLayer<Agent>>,
}

impl Senders {
    /// The receivers that these variables describe.
    ///
    /// # Errors
    /// Where none has secrets, and for a value that cannot be; both say which variable to mend.
    pub fn new(variable: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let header = variable("CLOUDEVENTS_HEADER").unwrap_or_else(|| "Acme-Signature".to_owned());
        let cloudevents = CloudEvents::new(&header).map_err(|error| format!("CLOUDEVENTS_HEADER: {error}"))?;
        let senders = Self {
            asixto: layer(Asixto, &variable, "ASIXTO_WEBHOOK_SECRETS")?,
            standard: layer(StandardWebhooks, &variable, "STANDARD_WEBHOOKS_SECRETS")?,
            cloudevents: layer(cloudevents, &variable, "CLOUDEVENTS_SECRETS")?,
            agent: layer(Agent::new(identify), &variable, "AGENT_SECRETS")?,
        };
        if let Self { asixto: None, standard: None, cloudevents: None, agent: None } = senders {
            return Err("no secrets: set one or more of ASIXTO_WEBHOOK_SECRETS, STANDARD_WEBHOOKS_SECRETS, \
                        CLOUDEVENTS_SECRETS and AGENT_SECRETS, each to a secret or to several with commas between them"
                .into());
        }
        Ok(senders)
    }

    /// A route for each of them, and `GET /events` for what their handlers ran for.
    pub fn router(&self) -> Router {
        let app = Router::new().route("/events", get(events));
        let app = route(app, self.asixto.as_ref(), post(asixto));
        let app = route(app, self.standard.as_ref(), post(standard));
        let app = route(app, self.cloudevents.as_ref(), post(cloudevents));
        route(app, self.agent.as_ref(), post(agent)).with_state(Handled::default())
    }

    /// Waits for the handlers that are still at work, once the server has stopped.
    ///
    /// # Errors
    /// Where some are at work after half a minute.
    pub async fn drain(self) -> Result<(), Error> {
        drain(self.asixto).await?;
        drain(self.standard).await?;
        drain(self.cloudevents).await?;
        drain(self.agent).await
    }
}

/// The layer for a sender, where there are secrets of it.
fn layer<P: Provider>(
    provider: P,
    variable: impl Fn(&str) -> Option<String>,
    name: &str,
) -> Result<Option<WebhookLayer<P>>, Error> {
    let Some(secrets) = variable(name) else { return Ok(None) };
    let secrets =
        SecretSet::from_issued(secrets.split(',').map(str::trim)).map_err(|error| format!("{name}: {error}"))?;
    let diagnostics = match variable("ASIXTO_WEBHOOK_DIAGNOSTICS").as_deref() {
        Some("1") => true,
        Some("0" | "") | None => false,
        Some(_) => return Err("ASIXTO_WEBHOOK_DIAGNOSTICS: expected `1` or `0`, found another text".into()),
    };
    let receiver = Receiver::builder_for(provider)
        .secrets(secrets)
        .scope("example")
        .dedup(MemoryStore::default())
        .diagnostics(diagnostics)
        .build()?;
    Ok(Some(WebhookLayer::new(&receiver)))
}

/// Gives a sender its route.
fn route<P: Provider>(
    app: Router<Handled>,
    layer: Option<&WebhookLayer<P>>,
    handler: MethodRouter<Handled>,
) -> Router<Handled> {
    let Some(layer) = layer else { return app };
    let path = format!("/webhooks/{}", P::NAME);
    info!("receiving at {path}");
    app.route(&path, handler.layer(layer.clone()))
}

async fn drain<P: Provider>(layer: Option<WebhookLayer<P>>) -> Result<(), Error> {
    let Some(layer) = layer else { return Ok(()) };
    Ok(layer.drain(Duration::from_secs(30)).await?)
}

type Handled = Arc<Mutex<Vec<Entry>>>;

#[derive(Clone, Serialize)]
struct Entry {
    sender: &'static str,
    id: String,
    r#type: String,
    times: u32,
}

async fn asixto(State(handled): State<Handled>, VerifiedEvent(event): VerifiedEvent) {
    info!(created = event.created().as_secs(), environment = event.environment().as_str(), "happened");
    note(&handled, &event);
}

async fn standard(State(handled): State<Handled>, VerifiedEvent(event): VerifiedEvent<StandardWebhooks>) {
    info!(bytes = event.raw_data().map(|data| data.get().len()), "data");
    note(&handled, &event);
}

async fn cloudevents(State(handled): State<Handled>, VerifiedEvent(event): VerifiedEvent<CloudEvents>) {
    info!(source = event.source(), attempt = event.delivery_attempt(), "delivered");
    note(&handled, &event);
}

async fn agent(State(handled): State<Handled>, VerifiedEvent(event): VerifiedEvent<Agent>) {
    info!(order = event.order(), "answered");
    note(&handled, &event);
}

/// Where an Agent's partner puts what tells its events apart: the sender leaves that to the two of them.
fn identify(body: &RawValue) -> Result<Identity, Unidentified> {
    #[derive(Deserialize)]
    struct Body {
        event_id: String,
        order: String,
        r#type: String,
    }
    let body: Body = serde_json::from_str(body.get()).map_err(|_| Unidentified)?;
    Ok(Identity::new(body.event_id).order(body.order).event_type(body.r#type))
}

fn note<P: Provider>(handled: &Handled, event: &Event<P>) {
    let mut handled = handled.lock().unwrap_or_else(PoisonError::into_inner);
    match handled.iter_mut().find(|entry| (entry.sender, &*entry.id) == (P::NAME, event.id())) {
        Some(entry) => entry.times += 1,
        None => {
            let (id, r#type) = (event.id().to_owned(), event.event_type().to_owned());
            handled.push(Entry { sender: P::NAME, id, r#type, times: 1 });
        }
    }
}

async fn events(State(handled): State<Handled>) -> Json<Vec<Entry>> {
    Json(handled.lock().unwrap_or_else(PoisonError::into_inner).clone())
}
