//! A share of the ids, and what each step makes of them at a given moment.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use asixto_webhook_core::{Claim, Claimed, DedupKey, Fingerprint, Held, Token};

/// Trees rather than a hash map and a heap: they take no double of their size to grow, give back what they do not
/// need, and an id that is released or taken over leaves nothing behind.
#[derive(Debug)]
pub(super) struct Shard {
    entries: BTreeMap<DedupKey, Entry>,
    /// The claimed ids, by the end of their lease.
    claimed: Schedule,
    /// The ids that are done, by the end of their time to live.
    done: Schedule,
    /// Of the latest claim. Never reset, so that no two claims of an id have the same.
    fence: u64,
}

type Schedule = BTreeSet<(Moment, DedupKey)>;

#[derive(Debug, Clone, Copy)]
struct Entry {
    fingerprint: Fingerprint,
    fence: u64,
    /// When it is over.
    end: Moment,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Claimed,
    Done,
}

/// Nanoseconds since the store was made; enough for 584 years, at half the size of a [`Duration`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(u64);

impl Moment {
    /// The moment `elapsed` after the store was made, or the last one.
    pub(super) fn after(elapsed: Duration) -> Self {
        Self(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX))
    }

    fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(Self::after(by).0))
    }

    fn until(self, later: Self) -> Duration {
        Duration::from_nanos(later.0.saturating_sub(self.0))
    }
}

impl Shard {
    pub(super) const fn new() -> Self {
        Self { entries: BTreeMap::new(), claimed: Schedule::new(), done: Schedule::new(), fence: 0 }
    }

    /// `None` if the id needs room and `room` has none.
    pub(super) fn claim(&mut self, claim: Claim<'_>, now: Moment, room: impl FnOnce() -> bool) -> Option<Claimed> {
        match self.entries.get(claim.key) {
            Some(entry) if now < entry.end => {
                return Some(match entry.state {
                    State::Claimed => Claimed::InFlight { remaining: now.until(entry.end) },
                    State::Done if entry.fingerprint == claim.fingerprint => Claimed::Done,
                    State::Done => Claimed::Conflict,
                });
            }
            // Over: its place is taken.
            Some(_) => {}
            None if room() => {}
            None => return None,
        }
        self.fence += 1;
        let Claim { key, fingerprint, lease, .. } = claim;
        self.put(*key, Entry { fingerprint, fence: self.fence, end: now.plus(lease), state: State::Claimed });
        Some(Claimed::Fresh(Token::new(*key, self.fence)))
    }

    pub(super) fn extend(&mut self, token: &Token, now: Moment, lease: Duration) -> Held {
        let Some(entry) = self.owned(token, State::Claimed) else { return Held::Lost };
        self.put(*token.key(), Entry { end: now.plus(lease), ..entry });
        Held::Yes
    }

    pub(super) fn commit(&mut self, token: &Token, now: Moment, ttl: Duration) -> Held {
        let mut end = now.plus(ttl);
        let entry = if let Some(claimed) = self.owned(token, State::Claimed) {
            claimed
        } else if let Some(done) = self.owned(token, State::Done).filter(|done| now < done.end) {
            // Committed a second time: it may not be forgotten before what was promised the first time.
            end = end.max(done.end);
            done
        } else {
            return Held::Lost;
        };
        self.put(*token.key(), Entry { end, state: State::Done, ..entry });
        Held::Yes
    }

    /// If the answer is yes, the id's room is free.
    pub(super) fn release(&mut self, token: &Token) -> Held {
        if self.owned(token, State::Claimed).is_none() {
            return Held::Lost;
        }
        self.remove(token.key());
        Held::Yes
    }

    /// Drops an id that was done and is over. If there was one, its room is free.
    pub(super) fn forget_done(&mut self, now: Moment) -> bool {
        let over = first_over(&self.done, now);
        over.inspect(|key| self.remove(key)).is_some()
    }

    /// Drops a claim whose lease is over. If there was one, its room is free.
    pub(super) fn forget_claim(&mut self, now: Moment) -> bool {
        let over = first_over(&self.claimed, now);
        over.inspect(|key| self.remove(key)).is_some()
    }

    /// How many ids are not over.
    pub(super) fn remembered(&self, now: Moment) -> usize {
        let over = |schedule: &Schedule| schedule.iter().take_while(|(end, _)| *end <= now).count();
        self.entries.len() - over(&self.claimed) - over(&self.done)
    }

    #[cfg(test)]
    pub(super) fn stored(&self) -> usize {
        assert_eq!(self.entries.len(), self.claimed.len() + self.done.len(), "each id has one end");
        self.entries.len()
    }

    /// What `token` claimed, as long as nobody has taken it over.
    fn owned(&self, token: &Token, state: State) -> Option<Entry> {
        let entry = self.entries.get(token.key())?;
        (entry.fence == token.fence() && entry.state == state).then_some(*entry)
    }

    fn put(&mut self, key: DedupKey, entry: Entry) {
        self.remove(&key);
        self.entries.insert(key, entry);
        self.schedule(entry.state).insert((entry.end, key));
    }

    fn remove(&mut self, key: &DedupKey) {
        if let Some(entry) = self.entries.remove(key) {
            self.schedule(entry.state).remove(&(entry.end, *key));
        }
    }

    fn schedule(&mut self, state: State) -> &mut Schedule {
        match state {
            State::Claimed => &mut self.claimed,
            State::Done => &mut self.done,
        }
    }
}

fn first_over(schedule: &Schedule, now: Moment) -> Option<DedupKey> {
    schedule.first().filter(|(end, _)| *end <= now).map(|(_, key)| *key)
}
