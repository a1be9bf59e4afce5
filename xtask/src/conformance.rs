//! Every probe against every framework's example, in one table.

use asixto_webhook_conformance::{Check, Finding, Report, Version};
use serde_json::json;
use tokio::{runtime, task::LocalSet};

use crate::{
    examples::{Example, FRAMEWORKS, build},
    shell::Result,
};

const VERSIONS: [Version; 2] = [Version::Http1, Version::Http2];

pub(crate) fn run(json: bool) -> Result {
    build(&FRAMEWORKS, json)?;
    eprintln!("\nevery probe, against every framework's example, over both versions of HTTP");
    let examples = FRAMEWORKS.iter().map(|framework| Example::start(framework)).collect::<Result<Vec<_>>>()?;
    // A column for each framework and version.
    let columns: Vec<_> = examples.iter().flat_map(|example| VERSIONS.map(|version| (example, version))).collect();
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let reports = LocalSet::new().block_on(&runtime, async {
        let checks = columns.iter().map(|(example, version)| {
            let (target, kit) = (example.target(*version), example.kit());
            // At once, since some probes take their time.
            tokio::task::spawn_local(async move { Check::new(&target, &kit).run(|_, _| {}).await })
        });
        let mut reports = Vec::new();
        for check in checks.collect::<Vec<_>>() {
            reports.push(check.await?);
        }
        Ok::<_, tokio::task::JoinError>(reports)
    })?;
    examples.into_iter().try_for_each(Example::stop)?;

    match json {
        true => println!("{:#}", json!(FRAMEWORKS.iter().zip(reports.chunks(2)).map(entry).collect::<Vec<_>>())),
        false => table(&reports),
    }
    match reports.iter().filter(|report| report.exit_code(true) != 0).count() {
        0 => Ok(()),
        failed => Err(format!("{failed} of {} runs did not pass", reports.len()).into()),
    }
}

fn entry((framework, reports): (&&str, &[Report])) -> serde_json::Value {
    json!({ "framework": framework, "runs": reports.iter().map(Report::json).collect::<Vec<_>>() })
}

fn table(reports: &[Report]) {
    let heads =
        FRAMEWORKS.iter().flat_map(|framework| VERSIONS.map(|version| format!("{framework} {}", short(version))));
    let heads: Vec<_> = heads.map(|head| format!("{head:<9}")).collect();
    println!("\n{:<28} {:<6} {}", "probe", "clause", heads.join(" "));
    let probes = reports.first().map(|report| report.findings.as_slice()).unwrap_or_default();
    for (row, Finding { probe, .. }) in probes.iter().enumerate() {
        let cell = |report: &Report| match report.findings.get(row) {
            Some(finding) if finding.passed() => format!("{:<9}", "ok"),
            Some(finding) => format!("{:<9}", finding.verdict.code().to_uppercase()),
            None => format!("{:<9}", "-"),
        };
        let cells: Vec<_> = reports.iter().map(cell).collect();
        println!("{:<28} {:<6} {}", probe.id, probe.clause, cells.join(" "));
    }
    for (report, head) in reports.iter().zip(heads) {
        if let Some(reason) = &report.environment {
            println!("{head}: {reason}");
        }
        for Finding { probe, expected, got, .. } in report.findings.iter().filter(|finding| !finding.passed()) {
            println!("{head}: {}: expected {expected}, got {got}", probe.id);
        }
    }
    println!();
}

fn short(version: Version) -> &'static str {
    match version {
        Version::Http2 => "2",
        _ => "1.1",
    }
}
