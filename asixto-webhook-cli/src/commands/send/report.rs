//! What became of the deliveries: a table as they are made, or JSON at the end.

use asixto_webhook_core::Outcome;
use serde::Serialize;

use super::{
    plan::{Event, Plan},
    post::Answer,
};
use crate::console::{Console, Exit, Failure, tell};

/// The deliveries so far.
pub(super) struct Report<'p> {
    json: bool,
    planned: usize,
    /// Of the columns for type and id.
    widths: [usize; 2],
    rows: Vec<Row<'p>>,
}

#[derive(Serialize)]
struct Row<'p> {
    r#type: &'p str,
    id: &'p str,
    status: Option<u16>,
    outcome: Option<String>,
    error: Option<String>,
    acknowledged: bool,
    milliseconds: f64,
}

#[derive(Serialize)]
struct Summary<'r> {
    sent: usize,
    acknowledged: usize,
    deliveries: &'r [Row<'r>],
}

impl<'p> Report<'p> {
    pub(super) fn new(plan: &'p Plan<'_>, json: bool) -> Self {
        let width = |of: fn(&Event) -> usize| plan.events().iter().map(of).max().unwrap_or(0);
        let widths = [width(|event| event.event_type.len()), width(|event| shown(&event.id).chars().count())];
        Self { json, planned: plan.len(), widths, rows: Vec::new() }
    }

    pub(super) fn begin(&self, console: &mut Console) -> Result<(), Failure> {
        if self.json {
            return Ok(());
        }
        let [kind, id] = self.widths;
        console.line(format_args!("{:<kind$}  {:<id$}  status  {:>10}  outcome", "type", "id", "time"))
    }

    pub(super) fn add(&mut self, event: &'p Event, answer: Answer, console: &mut Console) -> Result<(), Failure> {
        let row = Row {
            r#type: &event.event_type,
            id: &event.id,
            acknowledged: answer.is_acknowledged(),
            status: answer.status,
            outcome: answer.outcome,
            error: answer.error,
            milliseconds: answer.took.as_micros() as f64 / 1000.0,
        };
        if !self.json {
            let [kind, id] = self.widths;
            let status = row.status.map_or("-".to_owned(), |status| status.to_string());
            let time = format!("{:.1} ms", row.milliseconds);
            let end = row.error.as_deref().or(row.outcome.as_deref()).unwrap_or("-");
            console.line(format_args!(
                "{:<kind$}  {:<id$}  {status:<6}  {time:>10}  {end}",
                row.r#type,
                shown(row.id)
            ))?;
        }
        self.rows.push(row);
        if console.is_watched() {
            let (sent, planned) = (self.rows.len(), self.planned);
            let end = if sent == planned { "\r\x1b[K" } else { "" };
            tell(format_args!("\r{sent} of {planned}{end}"));
        }
        Ok(())
    }

    pub(super) fn end(self, console: &mut Console) -> Result<Exit, Failure> {
        let sent = self.rows.len();
        let acknowledged = self.rows.iter().filter(|row| row.acknowledged).count();
        if self.json {
            console.json(&Summary { sent, acknowledged, deliveries: &self.rows })?;
        } else {
            let mut ends: Vec<(String, usize)> = Vec::new();
            for end in self.rows.iter().map(Row::end) {
                match ends.iter_mut().find(|(known, _)| *known == end) {
                    Some((_, count)) => *count += 1,
                    None => ends.push((end, 1)),
                }
            }
            let ends: Vec<_> = ends.iter().map(|(end, count)| format!("{count} {end}")).collect();
            console.line(format_args!("\n{sent} sent, {acknowledged} acknowledged: {}", ends.join(", ")))?;
            if self.rows.iter().any(Row::may_be_mistrusted) {
                console.line(
                    "why a signature is refused: give headers and body, as the receiver got them, and its secrets to \
                     `asixto-webhook doctor`",
                )?;
            }
        }
        Ok(if acknowledged == sent { Exit::Success } else { Exit::Refused })
    }
}

impl Row<'_> {
    /// Whether its signature was refused, as far as the receiver says.
    fn may_be_mistrusted(&self) -> bool {
        let is_about_it = |outcome: &String| *outcome == Outcome::SignatureMismatch.code();
        self.status == Some(Outcome::SignatureMismatch.status()) && self.outcome.as_ref().is_none_or(is_about_it)
    }

    /// In a word: the outcome, or what stands for it.
    fn end(&self) -> String {
        match (&self.outcome, self.status) {
            (Some(outcome), _) => outcome.clone(),
            (None, Some(status)) => format!("with status {status}"),
            (None, None) => "without answer".to_owned(),
        }
    }
}

/// An id on one line, whatever is in it.
fn shown(id: &str) -> String {
    id.escape_debug().to_string()
}
