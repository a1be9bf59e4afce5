//! Deliveries that were recorded, and what `doctor` says of them.

use std::{cell::Cell, thread};

use serde_json::{Value, json};

use crate::harness::{PROVIDERS, Program, VARIABLE, file, program};

pub(crate) const AT: u64 = 1_787_923_200;
pub(crate) const BODY: &str =
    r#"{"id":"evt_1","event_id":"1","type":"job.paused","created":1787923140,"environment":"test","data":{}}"#;

pub(crate) const PROVEN: &str = "proven";
pub(crate) const SUSPECTED: &str = "suspected";

/// A delivery as it arrived, and what the program is told of it.
pub(crate) struct Arrival {
    pub(crate) provider: &'static str,
    pub(crate) headers: String,
    pub(crate) body: Vec<u8>,
    pub(crate) variable: Option<String>,
    pub(crate) arguments: Vec<String>,
    pub(crate) input: Option<Vec<u8>>,
    pub(crate) now: u64,
}

impl Arrival {
    /// In order: signed with the one secret that the receiver knows. The next calls break it.
    pub(crate) fn of((provider, [secret, _]): (&'static str, [&'static str; 2])) -> Self {
        let arrival = Self {
            provider,
            headers: String::new(),
            body: BODY.into(),
            variable: Some(secret.to_owned()),
            arguments: vec![],
            input: None,
            now: AT,
        };
        arrival.signed(secret, BODY)
    }

    pub(crate) fn asixto() -> Self {
        Self::of(PROVIDERS[0])
    }

    /// The signer had this secret, and this body.
    pub(crate) fn signed(self, secret: &str, body: impl AsRef<[u8]>) -> Self {
        let id: &[&str] = if ["standard", "agent"].contains(&self.provider) { &["--id", "1"] } else { &[] };
        let at = AT.to_string();
        let sign = [&["sign", "--provider", self.provider, "--at", &at], id].concat();
        let headers = program(&sign).env(VARIABLE, secret).input(body.as_ref()).run().out(0);
        Self { headers, ..self }
    }

    pub(crate) fn came(self, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..self }
    }

    pub(crate) fn headers(self, change: impl FnOnce(String) -> String) -> Self {
        Self { headers: change(self.headers), ..self }
    }

    pub(crate) fn line(self, line: &str) -> Self {
        self.headers(|headers| format!("{headers}{line}\n"))
    }

    pub(crate) fn variable(self, value: impl Into<String>) -> Self {
        Self { variable: Some(value.into()), ..self }
    }

    /// The receiver's secret is all of a file.
    pub(crate) fn file(self, content: impl AsRef<[u8]>) -> Self {
        let path = unique("secret", content);
        Self { variable: None, ..self.with(&["--secret-file", &path]) }
    }

    /// The receiver's secret comes by standard input.
    pub(crate) fn secret_by_input(self, text: &str) -> Self {
        Self { variable: None, input: Some(text.into()), ..self.with(&["--secret-stdin"]) }
    }

    pub(crate) fn body_by_input(self) -> Self {
        Self { input: Some(self.body.clone()), ..self }
    }

    pub(crate) fn with(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        self
    }

    pub(crate) fn at(self, now: u64) -> Self {
        Self { now, ..self }
    }

    pub(crate) fn doctor(&self, more: &[&str]) -> Program {
        let (headers, now) = (unique("headers", &self.headers), self.now.to_string());
        let mut arguments = vec!["doctor", "--provider", self.provider, "--headers-file", &headers, "--now", &now];
        let body = unique("body", &self.body);
        arguments.extend(self.arguments.iter().map(String::as_str).chain(more.iter().copied()));
        // By input it is the default.
        let is_input = self.input.as_ref().is_some_and(|input| *input == self.body);
        arguments.extend((!is_input).then_some(&*body));
        let program = program(&arguments).input(self.input.clone().unwrap_or_default());
        match &self.variable {
            Some(value) => program.env(VARIABLE, value),
            None => program.without(VARIABLE),
        }
    }

    #[track_caller]
    pub(crate) fn text(&self, code: i32) -> String {
        self.doctor(&[]).run().out(code)
    }

    #[track_caller]
    pub(crate) fn json(&self, code: i32) -> Value {
        self.doctor(&["--json"]).run().json(code)
    }

    /// What a person finds, and a script as well.
    #[track_caller]
    pub(crate) fn is_wrong(&self, expected: &[(&str, &str)]) {
        let (report, text) = (self.json(1), self.text(1));
        let causes = report["causes"].as_array().unwrap();
        let causes: Vec<_> = causes.iter().map(|cause| [&cause["code"], &cause["certainty"]]).collect();
        let causes: Vec<_> = causes.iter().map(|cause| cause.map(|text| text.as_str().unwrap())).collect();
        assert_eq!(causes, expected.iter().map(|(code, certainty)| [*code, *certainty]).collect::<Vec<_>>(), "{text}");
        for (code, certainty) in expected {
            assert!(text.contains(&format!("\n\n{code} ({certainty})\n  ")), "{text}");
        }
        let is_proven = expected.iter().any(|(_, certainty)| *certainty == PROVEN);
        let verdict = report["verdict"].as_str().unwrap();
        assert!(if is_proven { ["explained", "stale"].contains(&verdict) } else { verdict == "unexplained" }, "{text}");
        assert!(text.starts_with(&format!("{verdict}: ")), "{text}");
    }

    #[track_caller]
    pub(crate) fn is_healthy(&self) {
        let report = self.json(0);
        assert_eq!((&report["verdict"], &report["causes"]), (&json!("healthy"), &json!([])), "{report}");
        assert!(self.text(0).starts_with("healthy: "));
    }
}

/// A file of its own, since tests run beside each other.
pub(crate) fn unique(name: &str, content: impl AsRef<[u8]>) -> String {
    thread_local!(static COUNT: Cell<usize> = const { Cell::new(0) });
    let thread = thread::current();
    let test = thread.name().unwrap().replace("::", "-");
    file(&format!("{test}/{}-{name}", COUNT.replace(COUNT.get() + 1)), content)
}
