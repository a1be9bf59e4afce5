//! The main job in one command: a receiver, good and bad deliveries, and one table.

use std::io::{IsTerminal, stdout};

use asixto_webhook_conformance::{Check, Finding, Probe, Report, Version};
use tokio::runtime;

use crate::{
    examples::{Example, build},
    shell::Result,
};

pub(crate) fn run(framework: &str, http2: bool, json: bool) -> Result {
    build(&[framework], json)?;
    let example = Example::start(framework)?;
    let (address, log) = (example.program.address(), example.program.log().display());
    eprintln!("\nthe {framework} example listens on {address}; its log is {log}\n");

    let version = if http2 { Version::Http2 } else { Version::Http1 };
    let (target, kit) = (example.target(version), example.kit());
    let check = Check::new(&target, &kit);
    let probes = check.probes().len();
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(check.run(|place, probe| {
        if !json {
            progress(place, probes, probe);
        }
    }));
    example.stop()?;

    if json {
        println!("{:#}", report.json());
    } else {
        table(&report);
    }
    match report.findings.iter().filter(|finding| !finding.passed()).count() {
        _ if report.environment.is_some() => Err(report.environment.unwrap_or_default().into()),
        0 => Ok(()),
        failed => Err(format!("{failed} of {probes} probes got something else than expected").into()),
    }
}

fn progress(place: usize, probes: usize, probe: &Probe) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K{:>3} of {probes}  {}", place + 1, probe.title);
        if place + 1 == probes {
            eprint!("\r\x1b[K");
        }
    }
}

fn table(report: &Report) {
    let Report { findings, version, .. } = report;
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
