//! The example as a user runs it.
#![cfg(test)]

// Not `silence`: to tell HTTP/2 from HTTP/1, actix waits for the first byte without a limit.
example_support::suite!("example-actix": events, environment, wrong_configuration, half_a_head, restart);
#[cfg(unix)]
example_support::suite!("example-actix": stop_in_mid_delivery, server);
