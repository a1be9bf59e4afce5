//! What commands are given: bodies, header lines and secrets.

pub(crate) mod headers;
pub(crate) mod secrets;

use std::path::PathBuf;

use clap::Args;

use crate::console::{Console, Failure};

#[derive(Args)]
pub(crate) struct BodyArgs {
    /// File with the body, byte for byte; `-` is standard input
    #[arg(value_name = "BODY", default_value = "-")]
    body: PathBuf,
}

impl BodyArgs {
    pub(crate) fn read(&self, console: &mut Console) -> Result<Vec<u8>, Failure> {
        console.read(&self.body, "the body")
    }
}
