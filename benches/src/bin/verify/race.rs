//! The stopwatch: contenders take turns, so that what disturbs the machine disturbs them alike.

use std::time::{Duration, Instant};

/// How long to measure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// The least time of one contender's turn.
    turn: Duration,
    /// The time of a whole race.
    race: Duration,
    /// The least number of rounds.
    rounds: u32,
}

impl Effort {
    /// For figures.
    pub(crate) const FULL: Self =
        Self { turn: Duration::from_micros(50), race: Duration::from_millis(800), rounds: 40 };
    /// For knowing that everything runs.
    pub(crate) const QUICK: Self = Self { turn: Duration::ZERO, race: Duration::ZERO, rounds: 1 };
}

/// Nanoseconds of one call of each contender.
///
/// It is the least of many short turns: a busy machine only ever adds to a turn, and some of them it leaves alone.
pub(crate) fn race(contenders: &[&dyn Fn() -> bool], effort: Effort) -> Vec<f64> {
    let calls: Vec<u32> = contenders.iter().map(|call| calls_in(effort.turn, call)).collect();
    let mut best = vec![f64::INFINITY; contenders.len()];
    let begun = Instant::now();
    let mut round = 0;
    while round < effort.rounds || begun.elapsed() < effort.race {
        for ((call, calls), best) in contenders.iter().zip(&calls).zip(&mut best) {
            *best = best.min(turn(call, *calls).as_secs_f64() * 1e9 / f64::from(*calls));
        }
        round += 1;
    }
    best
}

/// How many calls fill a turn.
fn calls_in(least: Duration, call: &dyn Fn() -> bool) -> u32 {
    let mut calls = 1;
    while turn(call, calls) < least {
        calls *= 2;
    }
    calls
}

fn turn(call: &dyn Fn() -> bool, calls: u32) -> Duration {
    let begun = Instant::now();
    for _ in 0..calls {
        std::hint::black_box(call());
    }
    begun.elapsed()
}
