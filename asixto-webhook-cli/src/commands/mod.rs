//! A module per command: its arguments, and `run`.

pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod man;
pub(crate) mod secret;
pub(crate) mod send;
pub(crate) mod sign;
pub(crate) mod verify;
