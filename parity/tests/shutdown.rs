//! A process that is told to stop, or killed, in the middle of a handler.
//!
//! The test is its own receiver: it starts itself again as a server, whose handler asks the test, over a socket,
//! when to go on.
#![cfg(test)]
#![cfg(unix)]

use std::{
    env,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    time::Instant,
};

use asixto_webhook_conformance::{Kit, Response, http1};
use parity::{Framework, PATIENCE, Server, builder, kit, outcome};
use tokio::signal::unix::{SignalKind, signal};

/// Where the test listens, for the process that is its receiver.
const TEST: &str = "ASIXTO_WEBHOOK_SHUTDOWN_TEST";

/// A test for each framework, which is its own receiver when it is started as one.
macro_rules! everywhere {
    ($($test:ident),+ $(,)?) => {
        $(mod $test {
            everywhere!(@one $test, axum, Axum);
            everywhere!(@one $test, actix, Actix);
            everywhere!(@one $test, warp, Warp);
            everywhere!(@one $test, tower, Tower);
        })+
    };
    (@one $test:ident, $name:ident, $framework:ident) => {
        #[test]
        fn $name() {
            match std::env::var(super::TEST) {
                Ok(test) => super::serve(parity::Framework::$framework, &test),
                Err(_) => super::$test(concat!(stringify!($test), "::", stringify!($name))),
            }
        }
    };
}

everywhere!(sigterm_in_mid_handler, sigterm_after_the_sender_left, killed_in_mid_handler);

/// E5: told to stop in mid-handler, the process answers, commits, and ends by itself.
fn sigterm_in_mid_handler(test: &str) {
    let mut world = World::start(test);
    let sending = world.send_in_background();
    let handler = world.handler();
    world.signal("TERM");
    finish(handler);
    let response = sending.join().unwrap();
    assert_eq!(outcome(&response), "200 processed");
    assert!(world.ended().success());
}

/// E5: the sender hangs up in mid-handler, then the process is told to stop: it waits for the handler all the same.
fn sigterm_after_the_sender_left(test: &str) {
    let mut world = World::start(test);
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
fn killed_in_mid_handler(test: &str) {
    let mut world = World::start(test);
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

    let next = World::start(test);
    let address = next.address;
    let second = std::thread::spawn(move || runtime().block_on(http1::send(address, &request, PATIENCE)).unwrap());
    finish(next.handler());
    assert_eq!(outcome(&second.join().unwrap()), "200 processed");
}

/// The receiver: what a service does, with a handler that waits for the test.
fn serve(framework: Framework, tests: &str) {
    let tests: SocketAddr = tests.parse().unwrap();
    runtime().block_on(async move {
        let server = Server::start(framework, builder(), move |event| async move {
            tokio::task::spawn_blocking(move || {
                let mut test = TcpStream::connect(tests).unwrap();
                let mut go_on = [0];
                // The end of the stream is a test that is over: this process has been killed by then.
                test.read_exact(&mut go_on).unwrap();
                test.write_all(event.id().as_bytes()).unwrap();
            })
            .await
            .unwrap();
        })
        .await;
        let mut terminate = signal(SignalKind::terminate()).unwrap();
        println!("\nlistening on {}", server.address());
        terminate.recv().await;
        server.stop().await;
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
        Self { process, _output: output, address, tests, held: None, kit: kit(), runtime: runtime() }
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

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}
