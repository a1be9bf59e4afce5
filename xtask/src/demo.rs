//! The main job in one command: a receiver, good and bad deliveries, and one table.

use std::{
    env,
    fs::File,
    io::{BufRead, BufReader, IsTerminal, stdout},
    net::SocketAddr,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use asixto_webhook_conformance::{Finding, Kit, PROBES, Target, Version, run as run_probe};
use asixto_webhook_core::{Environment, SecretSet};
use serde_json::json;

use crate::shell::{self, Result, cargo};

pub(crate) fn run(http2: bool, json: bool) -> Result {
    let mut build = cargo(&["build", "--package", "example-axum"]);
    if json {
        build.arg("--quiet");
    }
    shell::run(build)?;

    let secrets = [secret()?, secret()?];
    let example = Example::start(&secrets.join(","))?;
    let version = if http2 { Version::Http2 } else { Version::Http1 };
    let target = Target::new(example.address, version).observed_at("/events");
    let kit = Kit::new("/webhooks/asixto", SecretSet::from_issued(&secrets)?, Environment::Live);
    eprintln!("\nthe axum example listens on {}; its log is {}\n", example.address, example.log.display());

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let findings = runtime.block_on(async {
        let mut findings = Vec::new();
        for (number, probe) in PROBES.iter().enumerate() {
            if !json {
                progress(number, probe.title);
            }
            findings.extend(run_probe(&target, &kit, *probe).await);
        }
        findings
    });
    example.stop()?;

    if json {
        println!("{}", report(&findings, version));
    } else {
        table(&findings, version);
    }
    let failed = findings.iter().filter(|finding| !finding.passed()).count();
    match failed {
        0 => Ok(()),
        _ => Err(format!("{failed} of {} probes got something else than expected", findings.len()).into()),
    }
}

fn secret() -> Result<String> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes)?;
    Ok("whsec_".to_owned() + &bytes.map(|byte| format!("{byte:02x}")).concat())
}

/// The example, running on a free port.
struct Example {
    process: Child,
    address: SocketAddr,
    log: PathBuf,
}

impl Example {
    fn start(secrets: &str) -> Result<Self> {
        let binary = env::current_exe()?.with_file_name(format!("example-axum{}", env::consts::EXE_SUFFIX));
        let log = env::temp_dir().join(format!("asixto-webhook-demo-{}.log", std::process::id()));
        let mut process = Command::new(binary)
            .env("ASIXTO_WEBHOOK_LISTEN", "127.0.0.1:0")
            .env("ASIXTO_WEBHOOK_SECRETS", secrets)
            .env("ASIXTO_WEBHOOK_STORE", "memory")
            .env("ASIXTO_WEBHOOK_DIAGNOSTICS", "1")
            .env_remove("ASIXTO_WEBHOOK_ENVIRONMENT")
            .stdout(Stdio::piped())
            .stderr(File::create(&log)?)
            .spawn()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().ok_or("the example has no output")?).read_line(&mut line)?;
        let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next());
        let address = address.and_then(|address| address.parse().ok());
        let Some(address) = address else {
            return Err(format!("the example did not start; its log is {}", log.display()).into());
        };
        Ok(Self { process, address, log })
    }

    /// Asks it to stop, as an orchestrator would, and waits until it has finished its work.
    fn stop(mut self) -> Result {
        #[cfg(unix)]
        Command::new("kill").arg(self.process.id().to_string()).status()?;
        #[cfg(not(unix))]
        self.process.kill()?;
        let patience = Instant::now() + Duration::from_secs(20);
        loop {
            match self.process.try_wait()? {
                Some(status) if status.success() || cfg!(not(unix)) => return Ok(()),
                Some(status) => return Err(format!("the example ended with {status}").into()),
                None if Instant::now() > patience => return Err("the example did not stop when it was asked to".into()),
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        // Nothing to do where it has ended.
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

fn progress(number: usize, title: &str) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K{:>3} of {}  {title}", number + 1, PROBES.len());
        if number + 1 == PROBES.len() {
            eprint!("\r\x1b[K");
        }
    }
}

fn table(findings: &[Finding], version: Version) {
    let width =
        |of: fn(&Finding) -> &str| findings.iter().map(|finding| of(finding).chars().count()).max().unwrap_or(0);
    let (title, expected) = (width(|finding| finding.probe.title), width(|finding| &finding.expected));
    let (green, red, plain) = if stdout().is_terminal() { ("\x1b[32m", "\x1b[31m", "\x1b[0m") } else { ("", "", "") };
    println!("      {:<6} {:<title$}  {:<expected$}  got over {version}", "clause", "what is sent", "expected");
    for finding in findings {
        let (colour, verdict) = if finding.passed() { (green, "ok  ") } else { (red, "FAIL") };
        println!(
            "{colour}{verdict}{plain}  {:<6} {:<title$}  {:<expected$}  {}",
            finding.probe.clause, finding.probe.title, finding.expected, finding.got
        );
    }
    let passed = findings.iter().filter(|finding| finding.passed()).count();
    println!("\n{passed} passed, {} failed", findings.len() - passed);
}

fn report(findings: &[Finding], version: Version) -> serde_json::Value {
    let rows: Vec<_> = findings
        .iter()
        .map(|finding| {
            json!({
                "id": finding.probe.id,
                "clause": finding.probe.clause,
                "title": finding.probe.title,
                "expected": finding.expected,
                "got": finding.got,
                "passed": finding.passed(),
            })
        })
        .collect();
    json!({ "http": version.to_string(), "probes": rows })
}
