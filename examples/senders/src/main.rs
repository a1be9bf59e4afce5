//! Receives from four kinds of senders on one server: `cargo run -p example-senders`.

use std::{env, process::ExitCode};

use example_senders::Senders;
use example_support::{Error, listen, run, stop_signal};

#[tokio::main]
async fn main() -> ExitCode {
    run(serve()).await
}

async fn serve() -> Result<(), Error> {
    let senders = Senders::new(|name| env::var(name).ok())?;
    let listener = listen()?;
    println!("listening on http://{}/", listener.local_addr()?);
    example_support::serve(listener, senders.router(), stop_signal()).await?;
    senders.drain().await
}
