//! How soon deliveries are acknowledged.

use core::{fmt, time::Duration};

/// The median and the 99th percentile of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Latency {
    /// How many were measured.
    pub count: usize,
    /// Half of them took no longer.
    pub p50: Duration,
    /// 99 of 100 took no longer: of fewer than 100, none did.
    pub p99: Duration,
}

impl Latency {
    pub(crate) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |percent: usize| {
            // The nearest rank.
            let rank = (times.len() * percent).div_ceil(100).max(1);
            times.get(rank - 1).copied().unwrap_or_default()
        };
        Self { count: times.len(), p50: at(50), p99: at(99) }
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p50, p99] = [self.p50, self.p99].map(|time| time.as_secs_f64() * 1000.0);
        write!(f, "p50 {p50:.1} ms, p99 {p99:.1} ms of {}", self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_nearest_rank() {
        let ms = Duration::from_millis;
        let latency = Latency::of((1..=100).rev().map(ms).collect());
        assert_eq!((latency.count, latency.p50, latency.p99), (100, ms(50), ms(99)));
        assert_eq!(latency.to_string(), "p50 50.0 ms, p99 99.0 ms of 100");
        let latency = Latency::of((1..=50).map(ms).collect());
        assert_eq!((latency.p50, latency.p99), (ms(25), ms(50)));
        assert_eq!(Latency::of(vec![ms(7)]).p99, ms(7));
        assert_eq!(Latency::of(Vec::new()).p50, Duration::ZERO);
    }
}
