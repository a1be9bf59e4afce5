//! A process that is told to stop, or killed, in the middle of a handler.
//!
//! The test is its own receiver: it starts itself again as a server, whose handler asks the test, over a socket,
//! when to go on.
#![cfg(all(unix, feature = "memory"))]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests assert by panicking too")]

use std::{
    env,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use asixto_webhook_axum::{Environment, MemoryStore, Receiver, SecretSet, VerifiedEvent, WebhookLayer};
use asixto_webhook_conformance::{Kit, Response, http1};
use axum::{Router, routing::post};
use tokio::signal::unix::{SignalKind, signal};

const SECRET: &str = "whsec_c2VjcmV0IG9mIHRoZSBzaHV0ZG93biB0ZXN0cw";
const PATIENCE: Duration = Duration::from_secs(20);
const TEST: &str = "ASIXTO_WEBHOOK_SHUTDOWN_TEST";

/// E5: told to stop in mid-handler, the process answers, commits, and ends by itself.
#[test]
fn sigterm_in_mid_handler() {
    if let Ok(test) = env::var(TEST) {
        return serve(&test);
    }
    let mut world = World::start("sigterm_in_mid_handler");
    let sending = world.send_in_background();
    let handler = world.handler();
    world.signal("TERM");
    finish(handler);
    let response = sending.join().unwrap();
    assert_eq!(outcome(&response), "200 processed");
    assert!(world.ended().success());
}

/// E5: the sender hangs up in mid-handler, then the process is told to stop: it waits for the handler all the same.
#[test]
fn sigterm_after_the_sender_left() {
    if let Ok(test) = env::var(TEST) {
        return serve(&test);
    }
    let mut world = World::start("sigterm_after_the_sender_left");
    let request = world.kit.plain().request();
    world.runtime.block_on(async {
        let mut connection = http1::Connection::open(world.address, PATIENCE).await.unwrap();
        connection.start(&request).await.unwrap();
        // Not before the handler has begun: the sender hangs up at the end of this block.
        tokio::task::spawn_blocking({
            let tests = world.tests.try_clone().unwrap();
            move || tests.accept().unwrap().0
        })
        .await
        .map(|handler| world.held = Some(handler))
        .unwrap();
    });
    world.signal("TERM");
    let handler = world.held.take().unwrap();
    assert!(world.process.try_wait().unwrap().is_none(), "ended while a handler was running");
    finish(handler);
    assert!(world.ended().success());
}

/// E5: killed in mid-handler nothing is committed, and the retry is processed by whoever comes next.
#[test]
fn killed_in_mid_handler() {
    if let Ok(test) = env::var(TEST) {
        return serve(&test);
    }
    let mut world = World::start("killed_in_mid_handler");
    let request = world.kit.plain().request();
    let address = world.address;
    let first = {
        let request = request.clone();
        std::thread::spawn(move || runtime().block_on(http1::send(address, &request, PATIENCE)))
    };
    drop(world.handler());
    world.signal("KILL");
    assert!(first.join().unwrap().is_err(), "nobody was left to answer");
    assert!(!world.ended().success());

    let next = World::start("killed_in_mid_handler");
    let address = next.address;
    let second = std::thread::spawn(move || runtime().block_on(http1::send(address, &request, PATIENCE)).unwrap());
    finish(next.handler());
    assert_eq!(outcome(&second.join().unwrap()), "200 processed");
}

/// The receiver: what a service does, with a handler that waits for the test.
fn serve(tests: &str) {
    let tests: SocketAddr = tests.parse().unwrap();
    runtime().block_on(async move {
        let secrets = SecretSet::from_issued([SECRET]).unwrap();
        let receiver = Receiver::builder().secrets(secrets).dedup(MemoryStore::default()).diagnostics(true);
        let webhooks = WebhookLayer::new(&receiver.build().unwrap());
        let hook = move |VerifiedEvent(event): VerifiedEvent| async move {
            tokio::task::spawn_blocking(move || {
                let mut test = TcpStream::connect(tests).unwrap();
                let mut go_on = [0];
                // The end of the stream is a test that is over: this process has been killed by then.
                test.read_exact(&mut go_on).unwrap();
                test.write_all(event.id().as_bytes()).unwrap();
            })
            .await
            .unwrap();
        };
        let app = Router::new().route("/hook", post(hook).layer(webhooks.clone()));
        let mut terminate = signal(SignalKind::terminate()).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("\nlistening on {}", listener.local_addr().unwrap());
        axum::serve(listener, app).with_graceful_shutdown(async move { _ = terminate.recv().await }).await.unwrap();
        webhooks.drain(PATIENCE).await.unwrap();
    });
}

struct World {
    process: Child,
    _output: BufReader<ChildStdout>,
    address: SocketAddr,
    tests: TcpListener,
    held: Option<TcpStream>,
    kit: Kit,
    runtime: tokio::runtime::Runtime,
}

impl World {
    fn start(test: &str) -> Self {
        let tests = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut process = Command::new(env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(TEST, tests.local_addr().unwrap().to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        let address = loop {
            line.clear();
            assert_ne!(output.read_line(&mut line).unwrap(), 0, "the receiver did not start");
            if let Some(address) = line.trim().strip_prefix("listening on ") {
                break address.parse().unwrap();
            }
        };
        let kit = Kit::new("/hook", SecretSet::from_issued([SECRET]).unwrap(), Environment::Live);
        Self { process, _output: output, address, tests, held: None, kit, runtime: runtime() }
    }

    fn send_in_background(&self) -> std::thread::JoinHandle<Response> {
        let (address, request) = (self.address, self.kit.plain().request());
        std::thread::spawn(move || runtime().block_on(http1::send(address, &request, PATIENCE)).unwrap())
    }

    /// A handler that has begun.
    fn handler(&self) -> TcpStream {
        self.tests.accept().unwrap().0
    }

    fn signal(&self, name: &str) {
        let killed = Command::new("kill").args([&format!("-{name}"), &self.process.id().to_string()]).status();
        assert!(killed.unwrap().success());
    }

    fn ended(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the receiver did not end");
            std::thread::yield_now();
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// Lets a handler go on, and waits for its effect.
fn finish(mut handler: TcpStream) {
    handler.write_all(b"!").unwrap();
    let mut effect = String::new();
    handler.read_to_string(&mut effect).expect("an effect");
    assert!(!effect.is_empty());
}

fn outcome(response: &Response) -> String {
    format!("{} {}", response.status, response.header("asixto-webhook-outcome").unwrap_or("-"))
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}
