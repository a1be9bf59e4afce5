//! What is logged on this thread, for a test to read: with a runtime of one thread, everything a test does.

#![expect(clippy::unwrap_used, clippy::panic, reason = "made for tests, which assert by panicking")]

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fmt::{Debug, Write},
    sync::Once,
};

use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt},
    registry::{LookupSpan, SpanRef},
};

/// One event, or the beginning of a span.
#[derive(Debug, Clone)]
pub struct Line {
    /// Its level.
    pub level: Level,
    /// Where it comes from.
    pub target: String,
    /// The innermost span that it stands in, or that it begins.
    pub span: Option<&'static str>,
    /// The span around that one.
    pub parent: Option<&'static str>,
    /// Its fields by name, the message among them.
    pub fields: BTreeMap<&'static str, String>,
}

impl Line {
    /// A field, as text.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &str {
        self.field("message").unwrap_or_default()
    }

    /// Whether this is the line of which every delivery has one.
    #[must_use]
    pub fn is_delivery(&self) -> bool {
        self.message() == "webhook delivery"
    }
}

thread_local! {
    static LINES: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

/// The log from its start on.
#[derive(Debug)]
pub struct Log(());

impl Log {
    /// Forgets what this thread has logged so far.
    ///
    /// # Panics
    /// Where another subscriber is installed.
    #[must_use]
    pub fn start() -> Self {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| {
            tracing::subscriber::set_global_default(tracing_subscriber::registry().with(ToThread)).unwrap();
        });
        LINES.take();
        Self(())
    }

    /// Every line so far.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        LINES.with_borrow(Clone::clone)
    }

    /// The outcomes of deliveries, in the order in which they were logged.
    #[must_use]
    pub fn outcomes(&self) -> Vec<String> {
        self.lines().iter().filter_map(|line| line.field("outcome").map(str::to_owned)).collect()
    }

    /// The one line about a delivery.
    ///
    /// # Panics
    /// Where there are none or several.
    #[must_use]
    #[track_caller]
    pub fn delivery(&self) -> Line {
        let lines: Vec<_> = self.lines().into_iter().filter(Line::is_delivery).collect();
        match &lines[..] {
            [line] => line.clone(),
            _ => panic!("not exactly one line of a delivery: {lines:#?}"),
        }
    }

    /// How many lines say this.
    #[must_use]
    pub fn count(&self, message: &str) -> usize {
        self.lines().iter().filter(|line| line.message().contains(message)).count()
    }
}

struct ToThread;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for ToThread {
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        keep(event.metadata(), context.event_span(event), |fields| event.record(fields));
    }

    fn on_new_span(&self, span: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        keep(span.metadata(), context.span(id), |fields| span.record(fields));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            keep(span.metadata(), Some(span), |fields| values.record(fields));
        }
    }
}

fn keep<'s, S: LookupSpan<'s>>(
    metadata: &Metadata<'_>,
    span: Option<SpanRef<'s, S>>,
    record: impl FnOnce(&mut Fields),
) {
    let mut fields = Fields::default();
    record(&mut fields);
    let line = Line {
        level: *metadata.level(),
        target: metadata.target().into(),
        span: span.as_ref().map(SpanRef::name),
        parent: span.and_then(|span| span.parent().map(|parent| parent.name())),
        fields: fields.0,
    };
    LINES.with_borrow_mut(|lines| lines.push(line));
}

#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0.entry(field.name()).or_default(), "{value:?}").unwrap();
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.entry(field.name()).or_default().push_str(value);
    }
}
