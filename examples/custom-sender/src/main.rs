//! Receives Acme's orders: `ACME_SECRET=… cargo run -p example-custom-sender`.

use std::{env, error::Error};

use asixto_webhook_axum::{MemoryStore, Receiver, SecretSet, VerifiedEvent, WebhookLayer};
use axum::{Router, routing::post};
use example_custom_sender::Acme;
use tokio::net::TcpListener;

async fn hook(VerifiedEvent(event): VerifiedEvent<Acme>) {
    let order = event.envelope();
    println!("order {:?} is {:?}: {} cents", order.number, order.state, order.amount);
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let secret = env::var("ACME_SECRET").map_err(|_| "ACME_SECRET is not set")?;
    let receiver =
        Receiver::builder_for(Acme).secrets(SecretSet::from_issued([secret])?).dedup(MemoryStore::default()).build()?;
    let app = Router::new().route("/webhooks/acme", post(hook).layer(WebhookLayer::new(&receiver)));
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    println!("listening on http://{}/webhooks/acme", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}
