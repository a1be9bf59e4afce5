//! Runs the program, receivers for it, and servers that are none.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use asixto_webhook_axum::{MemoryStore, Receiver, SecretSet, VerifiedEvent, WebhookLayer};
use asixto_webhook_conformance::fixtures::{Sender, agent};
use asixto_webhook_core::{
    Asixto,
    provider::{CloudEvents, StandardWebhooks},
};
use axum::{Router, routing::post};
use serde_json::Value;
use tokio::{net::TcpSocket, runtime::Runtime};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_asixto-webhook");
pub(crate) const VARIABLE: &str = "ASIXTO_WEBHOOK_SECRETS";

/// Every provider by its name, with two secrets.
pub(crate) const PROVIDERS: [(&str, [&str; 2]); 4] = [
    ("asixto", ["whsec_dGhlIG9sZCBzZWNyZXQ", "whsec_dGhlIG5ldyBzZWNyZXQ"]),
    ("standard", ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_c3RhbmRhcmQgc2VjcmV0"]),
    ("cloudevents:Acme-Signature", ["acme-shared-secret-1", "acme-shared-secret-2"]),
    ("agent", ["partner api secret", "partner api secret of november"]),
];
pub(crate) const SECRETS: [&str; 2] = PROVIDERS[0].1;

/// One run of the program.
pub(crate) struct Program {
    command: Command,
    input: Vec<u8>,
}

/// What a run left.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) told: String,
}

/// The program with these arguments and Asixto's secrets, in an environment that is otherwise of no influence.
pub(crate) fn program(arguments: &[&str]) -> Program {
    let mut command = Command::new(BINARY);
    command.args(arguments).env_clear().env("RUST_LOG", "trace").env(VARIABLE, SECRETS.join(","));
    command.current_dir(env!("CARGO_TARGET_TMPDIR"));
    Program { command, input: Vec::new() }
}

impl Program {
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// For a provider of [`PROVIDERS`], with its secrets.
    pub(crate) fn of(self, (name, secrets): (&str, [&str; 2])) -> Self {
        let Self { mut command, input } = self;
        command.args(["--provider", name]).env(VARIABLE, secrets.join(","));
        Self { command, input }
    }

    pub(crate) fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    pub(crate) fn start(mut self) -> Child {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap();
        // It may end without having read everything.
        let _ = child.stdin.take().unwrap().write_all(&self.input);
        child
    }

    pub(crate) fn run(self) -> Ended {
        let output = self.start().wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ended { code: output.status.code(), out: text(output.stdout), told: text(output.stderr) }
    }
}

impl Ended {
    /// The output of a run that ended so, and told nothing.
    #[track_caller]
    pub(crate) fn out(self, code: i32) -> String {
        assert_eq!((self.code, self.told.as_str()), (Some(code), ""), "{}", self.out);
        self.out
    }

    /// What was told by a run that could not begin.
    #[track_caller]
    pub(crate) fn told(self) -> String {
        assert_eq!((self.code, self.out.as_str()), (Some(2), ""), "{}", self.told);
        self.told
    }

    #[track_caller]
    pub(crate) fn json(self, code: i32) -> Value {
        serde_json::from_str(&self.out(code)).unwrap()
    }
}

/// A receiver with diagnostics, and the events that its handler ran for.
pub(crate) struct Server {
    pub(crate) url: String,
    events: Events,
    _runtime: Runtime,
}

/// Id, type and body of each.
type Events = Arc<Mutex<Vec<[String; 3]>>>;

impl Server {
    /// For a provider of [`PROVIDERS`].
    pub(crate) fn start((name, secrets): (&str, [&str; 2])) -> Self {
        match name {
            "asixto" => Self::serve(Asixto, &secrets),
            "standard" => Self::serve(StandardWebhooks, &secrets),
            "agent" => Self::serve(agent(), &secrets),
            _ => Self::serve(CloudEvents::new("Acme-Signature").unwrap(), &secrets),
        }
    }

    pub(crate) fn asixto() -> Self {
        Self::start(PROVIDERS[0])
    }

    pub(crate) fn serve<P: Sender>(provider: P, secrets: &[&str]) -> Self {
        let receiver = Receiver::builder_for(provider)
            .secrets(SecretSet::from_issued(secrets).unwrap())
            .dedup(MemoryStore::default())
            .diagnostics(true);
        let layer = WebhookLayer::new(&receiver.build().unwrap());
        let events = Events::default();
        let seen = events.clone();
        let hook = async move |VerifiedEvent(event): VerifiedEvent<P>| {
            let body = String::from_utf8(event.body().to_vec()).unwrap();
            seen.lock().unwrap().push([event.id().to_owned(), event.event_type().to_owned(), body]);
        };
        let app = Router::new().route("/hook", post(hook).layer(layer));
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self { url, events, _runtime: runtime }
    }

    pub(crate) fn events(&self) -> Vec<[String; 3]> {
        self.events.lock().unwrap().clone()
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        self.events().into_iter().map(|[id, ..]| id).collect()
    }
}

/// A server that gives every connection one answer, and keeps what it was sent.
pub(crate) struct Canned {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Canned {
    pub(crate) fn start(answer: impl Into<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, answer) = (listener.local_addr().unwrap(), answer.into());
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let kept = requests.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                kept.lock().unwrap().push(request(&mut stream));
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        Self { address, requests }
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Head and body of a request over a connection.
pub(crate) fn request(stream: &mut impl Read) -> String {
    let mut text = String::new();
    let mut bytes = [0];
    while !text.ends_with("\r\n\r\n") && stream.read(&mut bytes).unwrap() > 0 {
        text.push(char::from(bytes[0]));
    }
    let length = text.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or_default()];
    stream.read_exact(&mut body).unwrap();
    text + &String::from_utf8(body).unwrap()
}

/// A place where nobody listens, for as long as this is held.
pub(crate) fn nobody() -> TcpSocket {
    let place = TcpSocket::new_v4().unwrap();
    place.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    place
}

/// Whether anybody has connected.
pub(crate) fn was_called(listener: &TcpListener) -> bool {
    listener.set_nonblocking(true).unwrap();
    listener.accept().is_ok()
}

/// A file of this test run.
pub(crate) fn file(name: &str, content: impl AsRef<[u8]>) -> String {
    let path = format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"));
    fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    path
}
