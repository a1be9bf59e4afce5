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
pub(super) const UNITS: [(u64, &str, u64); 3] = [
    (100_000_000_000, "milliseconds", 1_000),
    (100_000_000_000_000, "microseconds", 1_000_000),
    (100_000_000_000_000_000, "nanoseconds", 1_000_000_000),
];

/// How far time zones lie from UTC where that is no whole number of hours, in minutes. Whole hours go up to 14.
const ODD_ZONES: [u64; 12] = [150, 210, 270, 330, 345, 390, 510, 525, 570, 630, 765, 825];
const WHOLE_ZONES: core::ops::RangeInclusive<u64> = 1..=14;

/// The zone that lies nearest, in minutes and in words.
fn zone(distance: u64) -> Option<(u64, String)> {
    let whole = WHOLE_ZONES.map(|hours| hours * 60);
    let minutes = whole.chain(ODD_ZONES).min_by_key(|minutes| distance.abs_diff(minutes * 60))?;
    let words = match (minutes / 60, minutes % 60) {
        (1, 0) => "one hour".into(),
        (hours, 0) => format!("{hours} whole hours"),
        (hours, minutes) => format!("{hours} hours and {minutes} minutes"),
    };
    Some((minutes, words))
}

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
    let is_near = |minutes: u64| distance.abs_diff(minutes * 60) <= tolerance.as_secs().min(900);
    if let Some((_, detail)) = zone(distance).filter(|(minutes, _)| is_near(*minutes)) {
        causes.push(Cause::of(&TIME_ZONE, Certainty::Suspected, TIME_ZONE.seen(&detail)));
    }
    causes
}
