//! The proof of the checker: receivers that are wrong in one thing each, and what it says of them.

#![cfg(test)]

mod envelope;
mod environment;
mod flaw;
mod http;
mod matrix;
mod memory;
mod receiver;
mod senders;
mod signature;
