//! What the examples share: their variables, their log, `GET /events`, and the signal to stop.
//!
//! What an example is to show stands in the example: the receiver, the handler, and the framework around them.

mod config;
mod handled;
mod run;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "suite")]
pub mod suite;

#[cfg(feature = "serve")]
pub use crate::serve::serve;
pub use crate::{
    config::{listen, receiver, store},
    handled::{Entry, Handled},
    run::{run, stop_signal},
};

/// What ends an example: a sentence that says what to mend.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
