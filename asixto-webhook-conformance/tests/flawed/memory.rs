//! What a receiver remembers: which ids it has done, and how often its work ran.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    InFlight,
    Done,
}

#[derive(Debug, Default)]
pub(crate) struct Memory {
    states: Mutex<HashMap<String, State>>,
    runs: Mutex<BTreeMap<String, u32>>,
    nonces: Mutex<HashMap<String, Vec<u8>>>,
}

impl Memory {
    /// Claims a key, or says what is known of it: one step, so that of two only one can.
    pub(crate) fn claim(&self, key: &str, as_what: State) -> Option<State> {
        let mut states = self.states();
        let known = states.get(key).copied();
        if known.is_none() {
            states.insert(key.to_owned(), as_what);
        }
        known
    }

    pub(crate) fn known(&self, key: &str) -> Option<State> {
        self.states().get(key).copied()
    }

    pub(crate) fn done(&self, key: &str) {
        self.states().insert(key.to_owned(), State::Done);
    }

    /// Whether a nonce is new, or came with the same body before. N3
    pub(crate) fn takes_nonce(&self, nonce: &str, body: &[u8]) -> bool {
        self.nonces.lock().unwrap().entry(nonce.to_owned()).or_insert_with(|| body.to_vec()) == body
    }

    /// The work itself.
    pub(crate) fn ran(&self, id: &str) {
        *self.runs.lock().unwrap().entry(id.to_owned()).or_default() += 1;
    }

    /// What the work ran for, as the examples tell it.
    pub(crate) fn events(&self) -> String {
        let events: Vec<_> =
            self.runs.lock().unwrap().iter().map(|(id, times)| serde_json::json!({"id": id, "times": times})).collect();
        serde_json::Value::from(events).to_string()
    }

    fn states(&self) -> MutexGuard<'_, HashMap<String, State>> {
        self.states.lock().unwrap()
    }
}
