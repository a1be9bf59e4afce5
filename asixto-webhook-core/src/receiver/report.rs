//! What is said of a delivery: one line in the log, and the answer.

use super::{Receiver, Ticket};
use crate::{
    event::Event,
    log::{Line, TARGET, cut},
    outcome::{Answer, Outcome, RETRY_SOON},
    provider::{Glimpse, Provider},
};

impl<P: Provider> Receiver<P> {
    pub(super) fn diagnostics(&self) -> bool {
        self.0.settings.diagnostics
    }

    pub(super) fn line<'a>(&self, event: &'a Event<P>) -> Line<'a> {
        Line {
            scope: event.scope(),
            verified: Glimpse { id: Some(event.id().into()), event_type: Some(event.event_type().into()) },
            secret: Some(event.verified().secret()),
            skew_seconds: Some(event.verified().skew_seconds()),
            ..Line::default()
        }
    }

    /// The span of an event's handler, for whatever it logs to carry the event's id and type.
    #[must_use]
    pub fn span(&self, ticket: &Ticket<P>) -> tracing::Span {
        let event = ticket.event();
        tracing::info_span!(
            target: TARGET,
            "webhook",
            scope = cut(event.scope()),
            event_id = cut(event.id()),
            event_type = cut(event.event_type())
        )
    }

    /// Logs an answer about a verified event.
    pub(super) fn log(&self, event: &Event<P>, answer: Answer) -> Answer {
        Line { provider: P::NAME, status: answer.status(), ..self.line(event) }.write(answer.outcome());
        answer
    }

    /// Logs an outcome and makes its answer.
    pub(super) fn conclude(&self, outcome: Outcome, line: Line<'_>) -> Answer {
        let answer = Answer::new(outcome, self.diagnostics());
        // Before a body has been read there is no tenant yet, and the log names the endpoint.
        let scope = if line.scope.is_empty() { &self.0.settings.scope } else { line.scope };
        Line { provider: P::NAME, status: answer.status(), scope, ..line }.write(outcome);
        if matches!(outcome, Outcome::StoreUnavailable | Outcome::NoSecret) {
            return answer.retry_after(RETRY_SOON);
        }
        answer
    }
}
