//! For a terminal: a line for each point of the checklist, and what to do about what is not right.

use core::fmt::Write;

use super::{AGING, Report, tally};
use crate::{Finding, Verdict};

impl Report {
    /// The report as text, with the colours of a terminal where that is `coloured`.
    #[must_use]
    pub fn table(&self, coloured: bool) -> String {
        let mut text = String::new();
        // Writing to a `String` does not fail.
        _ = self.write_table(&mut text, Palette { coloured });
        text
    }

    fn write_table(&self, to: &mut String, palette: Palette) -> core::fmt::Result {
        writeln!(to, "{}{}, as `{}` over {}\n", self.origin, self.path, self.provider, self.version)?;
        if let Some(reason) = &self.environment {
            writeln!(to, "{} {reason}", palette.paint(Verdict::Environment))?;
        } else {
            let points = self.by_point();
            let width = points.keys().map(|point| point.title().chars().count()).max().unwrap_or(0);
            for (point, findings) in points {
                let verdicts = findings.iter().map(|finding| finding.verdict);
                let worst = verdicts.clone().max().unwrap_or(Verdict::Skipped);
                let title = point.title();
                writeln!(to, "{} {point:<4} {title:<width$}  {}", palette.paint(worst), tally(verdicts))?;
                for finding in findings.iter().filter(|finding| finding.verdict != Verdict::Pass) {
                    self.write_finding(to, finding, palette)?;
                }
            }
        }
        if self.findings.iter().any(|finding| finding.verdict > Verdict::Inconclusive) && self.environment.is_none() {
            writeln!(to, "\n{AGING}")?;
        }
        writeln!(to, "\n{}; judged by {}", self.summary(), self.evidence())?;
        if let Some(latency) = self.latency {
            writeln!(to, "acknowledged in: {latency}")?;
        }
        self.clock().map_or(Ok(()), |clock| writeln!(to, "{clock}"))
    }

    fn write_finding(&self, to: &mut String, finding: &Finding, palette: Palette) -> core::fmt::Result {
        let Finding { probe, verdict, expected, got, note, request, .. } = finding;
        writeln!(to, "    {} {}: {} ({})", palette.paint(*verdict), probe.id, probe.title, probe.clause)?;
        let indent = " ".repeat(17);
        if !expected.is_empty() {
            writeln!(to, "{indent}expected {expected}\n{indent}got      {got}")?;
        }
        if let Some(note) = note {
            writeln!(to, "{indent}{note}")?;
        }
        if *verdict > Verdict::Inconclusive {
            writeln!(to, "{indent}to mend it: {}", finding.fix())?;
            if let Some(curl) = request.as_ref().and_then(|request| request.curl(&self.origin)) {
                writeln!(to, "{indent}{curl}")?;
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
struct Palette {
    coloured: bool,
}

impl Palette {
    /// A verdict, in a column of its own.
    fn paint(self, verdict: Verdict) -> String {
        let colour = match verdict {
            Verdict::Pass => "\x1b[32m",
            Verdict::Fail | Verdict::Environment => "\x1b[31m",
            Verdict::Warn | Verdict::Advisory => "\x1b[33m",
            Verdict::Inconclusive | Verdict::Skipped => "\x1b[2m",
        };
        match self.coloured {
            true => format!("{colour}{verdict:<12}\x1b[0m"),
            false => format!("{verdict:<12}"),
        }
    }
}
