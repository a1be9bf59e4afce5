//! The main job in one command: a receiver, good and bad deliveries, and one table.

use std::{
    env,
    io::{IsTerminal, stdout},
};

use asixto_webhook_conformance::{Finding, Kit, PROBES, Program, Target, Version, run as run_probe};
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
    let binary = env::current_exe()?.with_file_name(format!("example-axum{}", env::consts::EXE_SUFFIX));
    let log = env::temp_dir().join(format!("asixto-webhook-demo-{}.log", std::process::id()));
    let variables = [("ASIXTO_WEBHOOK_SECRETS", secrets.join(",")), ("ASIXTO_WEBHOOK_DIAGNOSTICS", "1".to_owned())];
    let example = Program::start(&binary, &log, &variables.each_ref().map(|(name, value)| (*name, value.as_str())))?;
    let version = if http2 { Version::Http2 } else { Version::Http1 };
    let target = Target::new(example.address(), version).observed_at("/events");
    let kit = Kit::new("/webhooks/asixto", SecretSet::from_issued(&secrets)?, Environment::Live);
    eprintln!("\nthe axum example listens on {}; its log is {}\n", example.address(), example.log().display());

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let findings = runtime.block_on(async {
        let mut findings = Vec::new();
        for (number, probe) in PROBES.iter().enumerate() {
            if !json {
                progress(number, probe.title);
            }
            findings.extend(run_probe(&target, &kit, probe).await);
        }
        findings
    });
    let status = example.stop()?;
    if cfg!(unix) && !status.success() {
        return Err(format!("the example ended with {status} when it was asked to stop").into());
    }

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
    println!(
        "\n`run 1×`: the handler ran once for that id. `→`: the next delivery of the same event.\n\
         The clauses are those of docs/contract.md.\n\n{passed} passed, {} failed",
        findings.len() - passed
    );
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
