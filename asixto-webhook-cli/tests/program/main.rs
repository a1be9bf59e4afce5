//! The program as a user runs it: arguments, variables, files and real sockets.
#![cfg(test)]

mod arrival;
mod check;
mod doctor;
mod example;
mod harness;
mod help;
mod leaks;
mod network;
mod output;
#[cfg(unix)]
mod readme;
mod send;
mod sign_and_verify;
mod tls;
mod usage;
