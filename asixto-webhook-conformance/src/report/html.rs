//! For people: one page that needs nothing else.

use core::{
    cmp::Reverse,
    fmt::{self, Display, Write},
};

use super::{AGING, Report, tally};
use crate::{Finding, Verdict};

const STYLE: &str = include_str!("page.css");

impl Report {
    /// The report as one HTML page, without anything from elsewhere.
    #[must_use]
    pub fn html(&self) -> String {
        let mut page = String::new();
        // Writing to a `String` does not fail.
        _ = self.write_page(&mut page);
        page
    }

    fn write_page(&self, to: &mut String) -> fmt::Result {
        let (url, verdict) = (format!("{}{}", self.origin, self.path), self.verdict());
        writeln!(
            to,
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>{verdict}: {0}</title>\n\
             <style>\n{STYLE}</style>\n<main>\n<h1>{0}</h1>\n\
             <p class=\"verdict {verdict}\">{verdict}</p>\n<p>{1}. As <code>{2}</code> over {3}, judged by {4}.</p>",
            Text(&url),
            self.summary(),
            self.provider,
            self.version,
            self.evidence(),
        )?;
        if let Some(reason) = &self.environment {
            writeln!(to, "<p><strong>{}</strong></p>", Text(reason))?;
        }
        if let Some(latency) = self.latency {
            writeln!(to, "<p>Acknowledged in: {latency}.</p>")?;
        }
        if let Some(clock) = self.clock() {
            writeln!(to, "<p>{}.</p>", Text(&clock))?;
        }
        for (point, mut findings) in self.by_point() {
            // What is wrong comes first.
            findings.sort_by_key(|finding| Reverse(finding.verdict));
            let verdicts = findings.iter().map(|finding| finding.verdict);
            let worst = verdicts.clone().max().unwrap_or(Verdict::Skipped);
            let open = if worst > Verdict::Pass { " open" } else { "" };
            writeln!(
                to,
                "<details{open}>\n<summary><span class=\"{worst}\">{point}</span> {} <small>{}</small></summary>\n\
                 <table>\n<tr><th>verdict<th>probe<th>expected<th>got",
                Text(point.title()),
                tally(verdicts),
            )?;
            findings.iter().try_for_each(|finding| self.write_row(to, finding))?;
            writeln!(to, "</table>\n</details>")?;
        }
        writeln!(to, "<p><small>{AGING}.</small></p>\n</main>\n</html>")
    }

    fn write_row(&self, to: &mut String, finding: &Finding) -> fmt::Result {
        let Finding { probe, verdict, expected, got, note, request, .. } = finding;
        write!(
            to,
            "<tr><td class=\"{verdict}\">{verdict}<td>{}<br><small>{}, {}</small><td>{}<td>{}",
            Text(probe.title),
            Text(probe.id),
            probe.clause,
            Text(expected),
            Text(got),
        )?;
        if let Some(note) = note {
            write!(to, "<br><small>{}</small>", Text(note))?;
        }
        if *verdict > Verdict::Inconclusive {
            write!(to, "\n<tr class=\"mend\"><td><td colspan=\"3\">To mend it: {}.", Text(finding.fix()))?;
            if let Some(curl) = request.as_ref().and_then(|request| request.curl(&self.origin)) {
                write!(to, "<pre>{}</pre>", Text(&curl))?;
            }
        }
        writeln!(to)
    }
}

/// Text from wherever, which is not to be read as HTML.
struct Text<'t>(&'t str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| match character {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\'' => f.write_str("&#39;"),
            character => f.write_char(character),
        })
    }
}
