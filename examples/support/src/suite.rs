//! What every example does, as a user runs it: a program, its variables, and real sockets.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "made for tests, which assert by panicking"
)]

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    process::Command,
    time::Duration,
};

use asixto_webhook_conformance::{Kit, Program, Request, Response, Target, Version, fixtures::EVENT_TYPES, send};
use asixto_webhook_core::{Environment, SecretSet};

/// The tests of an example, by the name of its package: the whole of its `tests/example.rs`.
#[macro_export]
macro_rules! suite {
    ($package:literal) => {
        $crate::suite!($package: events, environment, wrong_configuration, half_a_head, silence, restart);
        // Where a program can be asked to stop.
        #[cfg(unix)]
        $crate::suite!($package: stop_in_mid_delivery, server);
    };
    ($package:literal: $($test:ident),+) => {
        $(
            #[test]
            fn $test() {
                let binary = env!(concat!("CARGO_BIN_EXE_", $package));
                $crate::suite::Example::new(binary, env!("CARGO_TARGET_TMPDIR")).$test();
            }
        )+
    };
}

const OLD: &str = "whsec_dGhlIG9sZCBzZWNyZXQgb2YgdGhlIGV4YW1wbGU";
const NEW: &str = "whsec_dGhlIG5ldyBzZWNyZXQgb2YgdGhlIGV4YW1wbGU";
const DIAGNOSTICS: [(&str, &str); 1] = [("ASIXTO_WEBHOOK_DIAGNOSTICS", "1")];
const PATIENCE: Duration = Duration::from_secs(20);

/// An example, before it is started.
#[derive(Debug)]
pub struct Example {
    binary: &'static Path,
    logs: &'static Path,
}

impl Example {
    /// The example whose program this is, with a folder for its logs.
    #[must_use]
    pub fn new(binary: &'static str, logs: &'static str) -> Self {
        Self { binary: Path::new(binary), logs: Path::new(logs) }
    }

    /// `GET /events`: oldest first, what the handler ran for, and how often.
    pub fn events(&self) {
        let example = self.start("events", &[("ASIXTO_WEBHOOK_DIAGNOSTICS", "0")]);
        let (target, kit) = (Target::new(example.address(), Version::Http1), kit());
        let mut ids = Vec::new();
        for event_type in EVENT_TYPES {
            let delivery = kit.delivery(event_type);
            let response = answer(&target, &delivery.request());
            assert_eq!((response.status, response.header("asixto-webhook-outcome")), (200, None));
            ids.push(delivery.id().to_owned());
        }
        let original = kit.plain();
        let replay = original.clone().replayed();
        assert_eq!(answer(&target, &replay.request()).status, 200);
        ids.push(replay.id().to_owned());

        let listed = answer(&target, &Request::post("/events").method("GET"));
        let listed: Vec<serde_json::Value> = serde_json::from_slice(&listed.body).unwrap();
        let listed_ids: Vec<_> = listed.iter().map(|event| event["id"].as_str().unwrap()).collect();
        assert_eq!(listed_ids, ids);
        for (event, event_type) in listed.iter().zip(EVENT_TYPES) {
            assert_eq!((event["type"].as_str(), event["environment"].as_str()), (Some(event_type), Some("live")));
            assert!(event["created"].as_u64().unwrap() > 1_700_000_000);
            assert_eq!((event["times"].as_u64(), event.get("replay_of")), (Some(1), None));
        }
        assert_eq!(listed[10]["replay_of"].as_str(), Some(original.id()));
    }

    /// A declared environment refuses the other one's events.
    pub fn environment(&self) {
        let example = self.start("environment", &[DIAGNOSTICS, [("ASIXTO_WEBHOOK_ENVIRONMENT", "test")]].concat());
        let target = Target::new(example.address(), Version::Http1);
        assert_eq!(outcome(&answer(&target, &kit().plain().request())), "400 wrong_environment");
        let test = Kit::new("/webhooks/asixto", secrets(), Environment::Test);
        assert_eq!(outcome(&answer(&target, &test.plain().request())), "200 processed");
    }

    /// What is missing or wrong is said at the start, with how to mend it, and never with a secret.
    pub fn wrong_configuration(&self) {
        for (variables, expected) in [
            (&[][..], "ASIXTO_WEBHOOK_SECRETS is not set; make one with: export ASIXTO_WEBHOOK_SECRETS=whsec_$("),
            (&[("ASIXTO_WEBHOOK_SECRETS", "")], "ASIXTO_WEBHOOK_SECRETS: secret 1: expected a secret, found an empty"),
            (&[("ASIXTO_WEBHOOK_SECRETS", "hunter2hunter2")], "secret 1: expected a secret that starts with `whsec_`"),
            (&[("ASIXTO_WEBHOOK_SECRETS", "whsec_hunter2, ")], "secret 2: expected a secret, found an empty text"),
            (
                &[("ASIXTO_WEBHOOK_SECRETS", "whsec_hunter2 whsec_x")],
                "secret 1: expected one secret, found a comma, white",
            ),
            (
                &[("ASIXTO_WEBHOOK_SECRETS", OLD), ("ASIXTO_WEBHOOK_DIAGNOSTICS", "true")],
                "ASIXTO_WEBHOOK_DIAGNOSTICS: expected `1` or `0`, found another text",
            ),
            (
                &[("ASIXTO_WEBHOOK_SECRETS", OLD), ("ASIXTO_WEBHOOK_STORE", "mongo")],
                "ASIXTO_WEBHOOK_STORE: expected `memory`, `sqlite:PATH` or `postgres://…`, found `mongo`",
            ),
            (
                &[("ASIXTO_WEBHOOK_SECRETS", OLD), ("ASIXTO_WEBHOOK_STORE", "sqlite:/no/such/folder/ids.db")],
                "ASIXTO_WEBHOOK_STORE: /no/such/folder/ids.db: expected a file, or a folder",
            ),
            (
                &[("ASIXTO_WEBHOOK_SECRETS", OLD), ("ASIXTO_WEBHOOK_STORE", "postgres://a:hunter2@127.0.0.1:1/a")],
                "ASIXTO_WEBHOOK_STORE: PostgreSQL cannot be reached: ",
            ),
            (
                &[("ASIXTO_WEBHOOK_SECRETS", OLD), ("ASIXTO_WEBHOOK_ENVIRONMENT", "prod")],
                "ASIXTO_WEBHOOK_ENVIRONMENT: expected `live` or `test`",
            ),
            (
                &[("ASIXTO_WEBHOOK_SECRETS", OLD), ("ASIXTO_WEBHOOK_LISTEN", "everywhere")],
                "ASIXTO_WEBHOOK_LISTEN=everywhere: ",
            ),
        ] {
            let mut command = Command::new(self.binary);
            for name in ["SECRETS", "STORE", "ENVIRONMENT", "LISTEN", "DIAGNOSTICS"] {
                command.env_remove(format!("ASIXTO_WEBHOOK_{name}"));
            }
            let output = command.envs(variables.iter().copied()).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.contains(expected), "expected {expected}, found {said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
    }

    /// What the server does before a request is a request: a half-sent head is not waited for.
    pub fn half_a_head(&self) {
        let example = self.start("half-a-head", &[]);
        hung_up_on(&example, &["POST /webhooks/asixto HTTP/1.1\r\nhost: x\r\nasixto-signa", "PRI * HTTP/2.0\r\n"]);
    }

    /// Nor is one that does not begin.
    pub fn silence(&self) {
        hung_up_on(&self.start("silence", &[]), &[""]);
    }

    /// E5: told to stop while a body is on its way, it takes the rest and answers.
    pub fn stop_in_mid_delivery(&self) {
        let mut example = self.start("stop", &DIAGNOSTICS);
        let delivery = kit().plain();
        let (name, signature) = delivery.signature();
        let (body, middle) = (delivery.body(), delivery.body().len() / 2);
        let mut stream = TcpStream::connect(example.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            stream,
            "POST /webhooks/asixto HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: {}\r\n\
             {name}: {signature}\r\n\r\n",
            body.len()
        )
        .unwrap();
        // It asks for the body, so the delivery is under way.
        let mut go_on = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
        stream.read_exact(&mut go_on).unwrap();
        assert!(go_on.starts_with(b"HTTP/1.1 100"));
        stream.write_all(&body[..middle]).unwrap();
        example.ask_to_stop().unwrap();
        stream.write_all(&body[middle..]).unwrap();

        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        assert!(response.starts_with("HTTP/1.1 200") && response.contains(": processed\r\n"), "{response}");
        assert!(example.stop().unwrap().success());
    }

    /// E1: with a store in a file it has done what it had done, also after it was killed.
    pub fn restart(&self) {
        let name = self.binary.file_stem().unwrap().display();
        let file = self.logs.join(format!("{name}-restart.db"));
        _ = fs::remove_file(&file);
        self.remembers(&format!("sqlite:{}", file.display()));
    }

    /// E1: and with one on a server, which copies of it share.
    #[cfg(unix)]
    pub fn server(&self) {
        let Some(server) = services::Postgres::start() else { return };
        self.remembers(&server.url());
    }

    fn remembers(&self, store: &str) {
        let variables = [("ASIXTO_WEBHOOK_STORE", store), DIAGNOSTICS[0]];
        let delivery = kit().plain();
        for expected in ["200 processed", "200 duplicate", "200 duplicate"] {
            let example = self.start("remembers", &variables);
            let target = Target::new(example.address(), Version::Http1);
            assert_eq!(outcome(&answer(&target, &delivery.request())), expected);
            // Killed: it is not asked to stop.
            drop(example);
        }
    }

    /// Starts it with both secrets, and with these variables.
    fn start(&self, test: &str, variables: &[(&str, &str)]) -> Program {
        // A blank after the comma is none of the secret's.
        let secrets = [OLD, NEW].join(", ");
        let mut all = vec![("ASIXTO_WEBHOOK_SECRETS", secrets.as_str())];
        all.extend(variables);
        let name = self.binary.file_stem().unwrap().display();
        let log = self.logs.join(format!("{name}-{test}.log"));
        Program::start(self.binary, &log, &all).unwrap_or_else(|error| {
            let log = fs::read_to_string(&log).unwrap_or_default();
            unreachable!("{error}\n{log}")
        })
    }
}

/// Sends what is no whole head, each over a connection of its own, and waits for the server to end it.
fn hung_up_on(example: &Program, halves: &[&str]) {
    let streams: Vec<_> = halves
        .iter()
        .map(|half| {
            let mut stream = TcpStream::connect(example.address()).unwrap();
            stream.write_all(half.as_bytes()).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream
        })
        .collect();
    for mut stream in streams {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        assert!(!rest.starts_with(b"HTTP/1.1 2"));
    }
}

fn secrets() -> SecretSet {
    SecretSet::from_issued([OLD, NEW]).unwrap()
}

fn kit() -> Kit {
    Kit::new("/webhooks/asixto", secrets(), Environment::Live)
}

fn outcome(response: &Response) -> String {
    format!("{} {}", response.status, response.header("asixto-webhook-outcome").unwrap_or("-"))
}

fn answer(target: &Target, request: &Request) -> Response {
    tokio::runtime::Runtime::new().unwrap().block_on(send(target, request)).unwrap()
}
