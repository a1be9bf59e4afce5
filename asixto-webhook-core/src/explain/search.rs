//! The search: every offer under every key over every body, with at most two deviations from what is there.

use alloc::vec::Vec;

use super::{bodies::Reading, headers::Offer, secrets::Key};
use crate::mac::Keyed;

/// The most MACs that one diagnosis computes.
pub const MOST_MACS: usize = 2048;

/// The most bytes that they go over: with the largest bodies of most senders, half of the MACs.
const MOST_BYTES: usize = MOST_MACS / 2 * (256 << 10);

/// What was spent, and whether that was enough. No MAC is had without it.
#[derive(Default)]
pub(super) struct Budget {
    macs: usize,
    bytes: usize,
    is_short: bool,
}

impl Budget {
    /// How many MACs were computed.
    pub(super) fn spent(&self) -> usize {
        self.macs
    }

    /// Something is left out, for its size or its number.
    pub(super) fn leave_out(&mut self) {
        self.is_short = true;
    }

    /// Whether nothing was left out.
    pub(super) fn sufficed(&self) -> bool {
        !self.is_short
    }

    /// What `compute` gives, a MAC over so many bytes, where there is a budget for it.
    pub(super) fn mac<T>(&mut self, bytes: usize, compute: impl FnOnce() -> T) -> Option<T> {
        let bytes = self.bytes.saturating_add(bytes);
        if self.macs >= MOST_MACS || bytes > MOST_BYTES {
            self.leave_out();
            return None;
        }
        *self = Self { macs: self.macs + 1, bytes, ..*self };
        Some(compute())
    }
}

/// What matched.
pub(super) struct Found<'s> {
    pub(super) offer: &'s Offer,
    pub(super) key: &'s Key,
    pub(super) body: &'s Reading<'s>,
    /// Whether its time lies outside the window.
    is_late: bool,
    /// The place of the offer in its table.
    place: usize,
}

impl Found<'_> {
    /// The byte that the body should begin with and does not: a receiver refuses it, although its MAC matches.
    pub(super) fn lacks(&self) -> Option<u8> {
        self.offer.body_begins.filter(|byte| self.body.bytes.first() != Some(byte))
    }

    fn deviations(&self) -> usize {
        usize::from(self.offer.cause.is_some()) + deviations(self.key, self.body) + usize::from(self.lacks().is_some())
    }

    /// What is less is more likely. An old signature beside a fresh one is not why a delivery is refused.
    fn rank(&self) -> (usize, bool, usize) {
        (self.deviations(), self.is_late, self.place)
    }
}

fn deviations(key: &Key, body: &Reading<'_>) -> usize {
    usize::from(key.cause.is_some()) + usize::from(body.cause.is_some())
}

/// The match with the fewest deviations, two at most; among equals one in time, and then the one whose offer stands first
/// in its table.
pub(super) fn search<'s>(
    offers: &'s [Offer],
    keys: &'s [Key],
    bodies: &'s [Reading<'s>],
    is_late: impl Fn(u64) -> bool,
    budget: &mut Budget,
) -> Option<Found<'s>> {
    let messages = messages(offers);
    let mut best: Option<Found<'s>> = None;
    // A deviation of the offer costs no MAC where the message begins alike, so that the rounds count the others.
    for round in 0..=2 {
        for body in bodies {
            for key in keys.iter().filter(|key| deviations(key, body) == round) {
                for message in messages.iter().filter(|message| message.fits(key, round)) {
                    let mac = budget.mac(body.bytes.len(), || message.mac(key, body));
                    let Some(mac) = mac else { return best };
                    let matching = message.offers.iter().filter(|(_, offer)| offer.has(&mac));
                    let found = matching.map(|(place, offer)| {
                        let is_late = offer.timestamp.is_some_and(&is_late);
                        Found { offer, key, body, is_late, place: *place }
                    });
                    let found = found.filter(|found| (1..=2).contains(&found.deviations()));
                    best = best.into_iter().chain(found).min_by_key(Found::rank);
                }
            }
        }
        if best.is_some() {
            break;
        }
    }
    best
}

/// Offers of one beginning of the message: one MAC for all of them.
struct Message<'s> {
    offers: Vec<(usize, &'s Offer)>,
    prefix: &'s [u8],
    scheme: usize,
    deviations: usize,
}

impl Message<'_> {
    fn fits(&self, key: &Key, round: usize) -> bool {
        self.scheme == key.scheme && self.deviations + round <= 2
    }

    fn mac(&self, key: &Key, body: &Reading<'_>) -> Keyed {
        let mut mac = key.mac.begin(&[self.prefix]);
        mac.update(&body.bytes);
        mac
    }
}

fn messages(offers: &[Offer]) -> Vec<Message<'_>> {
    let mut messages: Vec<Message<'_>> = Vec::new();
    for (place, offer) in offers.iter().enumerate() {
        match messages.iter_mut().find(|message| message.prefix == offer.prefix && message.scheme == offer.scheme) {
            Some(message) => message.offers.push((place, offer)),
            None => messages.push(Message {
                offers: Vec::from([(place, offer)]),
                prefix: &offer.prefix,
                scheme: offer.scheme,
                // The headers as they are come first.
                deviations: usize::from(offer.cause.is_some()),
            }),
        }
    }
    messages
}
