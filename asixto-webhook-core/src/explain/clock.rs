//! What the time of signing says about clocks and delays, once a MAC has vouched for it.

use alloc::{format, string::String, vec, vec::Vec};
use core::time::Duration;

use super::report::{Cause, Certainty, Row};
use crate::time::UnixTime;

pub(super) static NOT_IN_SECONDS: Row = Row {
    code: "timestamp_not_in_seconds",
    seen: "the time of signing is in {}",
    fix: "have the signer sign and send whole seconds since the Unix epoch",
};

pub(super) static TOO_OLD: Row = Row {
    code: "signed_too_long_ago",
    seen: "the signature was made {} s before the receiver's present time",
    fix: "if this is a recording, verify it with the time of its arrival; otherwise look for a queue before the receiver, \
          a repeated old delivery, or a clock that is wrong",
};

pub(super) static IN_THE_FUTURE: Row = Row {
    code: "signed_in_the_future",
    seen: "the signature was made {} s after the receiver's present time",
    fix: "set the clocks: the receiver's is behind, or the sender's is ahead",
};

pub(super) static TIME_ZONE: Row = Row {
    code: "time_zone",
    seen: "the difference is {}, to within the tolerance",
    fix: "look for local time that is taken for UTC, where the time of signing or the receiver's clock comes from",
};

/// From where on a number is no time of this age in seconds but in a unit, and how many of it make a second.
const UNITS: [(u64, &str, u64); 3] = [
    (100_000_000_000, "milliseconds", 1_000),
    (100_000_000_000_000, "microseconds", 1_000_000),
    (100_000_000_000_000_000, "nanoseconds", 1_000_000_000),
];

/// The furthest that a time zone lies from UTC, in hours.
const ZONES: u64 = 14;

/// What is wrong with a genuine time; nothing where it lies within the window.
pub(super) fn causes(timestamp: u64, now: UnixTime, tolerance: Duration) -> Vec<Cause> {
    let distance = now.as_secs().abs_diff(timestamp);
    if distance <= tolerance.as_secs() {
        return vec![];
    }
    let proven = |row: &Row, detail: &str| Cause::of(row, Certainty::Proven, row.seen(detail));
    if let Some((_, unit, per_second)) = UNITS.iter().rev().find(|(least, ..)| timestamp >= *least) {
        return [vec![proven(&NOT_IN_SECONDS, unit)], causes(timestamp / per_second, now, tolerance)].concat();
    }
    let row = if timestamp > now.as_secs() { &IN_THE_FUTURE } else { &TOO_OLD };
    let mut causes = vec![proven(row, &format!("{distance}"))];
    let hours = (distance + 1800) / 3600;
    if (1..=ZONES).contains(&hours) && distance.abs_diff(hours * 3600) <= tolerance.as_secs().min(900) {
        let detail: String = if hours == 1 { "one hour".into() } else { format!("{hours} whole hours") };
        causes.push(Cause::of(&TIME_ZONE, Certainty::Suspected, TIME_ZONE.seen(&detail)));
    }
    causes
}
