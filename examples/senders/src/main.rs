//! Receives from four kinds of senders on one server: `cargo run -p example-senders`.
//!
//! Each has its route, its secrets and its handler, and nothing else of its own.

use std::{
    env,
    error::Error,
    io::{IsTerminal, stderr},
    net::TcpListener,
    process::ExitCode,
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
use axum_server::Handle;
use hyper_util::rt::TokioTimer;
use serde::{Deserialize, Serialize};
use tokio::signal;
use tracing::{info, level_filters::LevelFilter};
use tracing_subscriber::EnvFilter;

type Handled = Arc<Mutex<Vec<Entry>>>;

#[derive(Clone, Serialize)]
struct Entry {
    sender: &'static str,
    id: String,
    r#type: String,
    times: u32,
}

async fn asixto(State(handled): State<Handled>, VerifiedEvent(event): VerifiedEvent) {
    info!(created = event.created().as_secs(), "{}", event.environment());
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

/// The layer for a sender, where the environment has secrets of it.
fn layer<P: Provider>(provider: P, variable: &str) -> Result<Option<WebhookLayer<P>>, Box<dyn Error>> {
    let Ok(secrets) = env::var(variable) else { return Ok(None) };
    let secrets = SecretSet::from_issued(secrets.split(',')).map_err(|error| format!("{variable}: {error}"))?;
    let receiver = Receiver::builder_for(provider)
        .secrets(secrets)
        .scope("example")
        .dedup(MemoryStore::default())
        .diagnostics(env::var("ASIXTO_WEBHOOK_DIAGNOSTICS").is_ok_and(|on| on == "1"))
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

async fn drain<P: Provider>(layer: Option<WebhookLayer<P>>) -> Result<(), Box<dyn Error>> {
    let Some(layer) = layer else { return Ok(()) };
    Ok(layer.drain(Duration::from_secs(30)).await?)
}

#[tokio::main]
async fn main() -> ExitCode {
    let level = EnvFilter::builder().with_default_directive(LevelFilter::INFO.into()).from_env_lossy();
    tracing_subscriber::fmt().with_env_filter(level).with_ansi(stderr().is_terminal()).with_writer(stderr).init();
    let Err(error) = run().await else { return ExitCode::SUCCESS };
    eprintln!("error: {error}");
    ExitCode::from(2)
}

async fn run() -> Result<(), Box<dyn Error>> {
    let header = env::var("CLOUDEVENTS_HEADER").unwrap_or_else(|_| "Acme-Signature".to_owned());
    let of_asixto = layer(Asixto, "ASIXTO_WEBHOOK_SECRETS")?;
    let of_standard = layer(StandardWebhooks, "STANDARD_WEBHOOKS_SECRETS")?;
    let of_cloudevents = layer(CloudEvents::new(&header)?, "CLOUDEVENTS_SECRETS")?;
    let of_agent = layer(Agent::new(identify), "AGENT_SECRETS")?;
    if of_asixto.is_none() && of_standard.is_none() && of_cloudevents.is_none() && of_agent.is_none() {
        return Err("no secrets: set one or more of ASIXTO_WEBHOOK_SECRETS, STANDARD_WEBHOOKS_SECRETS, \
                    CLOUDEVENTS_SECRETS and AGENT_SECRETS, each a secret or several with commas between them"
            .into());
    }

    let app = Router::new().route("/events", get(events));
    let app = route(app, of_asixto.as_ref(), post(asixto));
    let app = route(app, of_standard.as_ref(), post(standard));
    let app = route(app, of_cloudevents.as_ref(), post(cloudevents));
    let app = route(app, of_agent.as_ref(), post(agent)).with_state(Handled::default());

    let listen = env::var("ASIXTO_WEBHOOK_LISTEN").unwrap_or_else(|_| "127.0.0.1:3000".to_owned());
    let listener = TcpListener::bind(&listen).map_err(|error| format!("ASIXTO_WEBHOOK_LISTEN={listen}: {error}"))?;
    println!("listening on http://{}/", listener.local_addr()?);
    let handle = Handle::new();
    let mut server = axum_server::from_tcp(listener)?.handle(handle.clone());
    // Without it a sender could hold a connection open and never send a request.
    server.http_builder().http1().timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(5));
    let server = server.first_request_timeout(Duration::from_secs(10));
    tokio::spawn(async move {
        // Where there is no such signal to wait for, the server runs on.
        if signal::ctrl_c().await.is_ok() {
            handle.graceful_shutdown(Some(Duration::from_secs(15)));
        }
    });
    server.serve(app.into_make_service()).await?;
    drain(of_asixto).await?;
    drain(of_standard).await?;
    drain(of_cloudevents).await?;
    drain(of_agent).await
}
