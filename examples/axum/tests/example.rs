//! The example as a user runs it.
#![cfg(test)]

example_support::suite!("example-axum");
