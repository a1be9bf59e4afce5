//! What a call logs, at every level and from every crate.

pub(crate) use testkit::{Line, Log};

/// Runs something on this thread, and gives what it logged meanwhile.
pub(crate) fn captured<T>(run: impl FnOnce() -> T) -> (T, Vec<Line>) {
    let log = Log::start();
    let value = run();
    (value, log.lines())
}

/// The one line that a delivery has.
#[track_caller]
pub(crate) fn delivery_line(lines: &[Line]) -> &Line {
    let mut found = lines.iter().filter(|line| line.is_delivery());
    match (found.next(), found.next()) {
        (Some(line), None) => line,
        _ => panic!("not exactly one line of a delivery: {lines:#?}"),
    }
}
