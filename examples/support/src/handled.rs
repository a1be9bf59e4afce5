//! What `GET /events` answers.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use asixto_webhook_core::Event;
use serde::Serialize;

/// What the handler ran for: the last thousand events, so that it stays small.
#[derive(Debug, Clone, Default)]
pub struct Handled(Arc<Mutex<VecDeque<Entry>>>);

/// One event, and how often the handler ran for it.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    id: String,
    r#type: String,
    created: u64,
    environment: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay_of: Option<String>,
    times: u32,
}

impl Handled {
    /// Notes that the handler ran.
    pub fn record(&self, event: &Event) {
        let mut handled = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // From the newest on, since a repeat comes soon.
        match handled.iter_mut().rev().find(|entry| entry.id == event.id()) {
            Some(entry) => entry.times += 1,
            None => {
                if handled.len() == 1000 {
                    handled.pop_front();
                }
                handled.push_back(Entry {
                    id: event.id().to_owned(),
                    r#type: event.event_type().to_owned(),
                    created: event.created().as_secs(),
                    environment: event.environment().as_str(),
                    replay_of: event.replay_of().map(str::to_owned),
                    times: 1,
                });
            }
        }
    }

    /// All of them, oldest first.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}
