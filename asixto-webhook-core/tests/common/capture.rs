//! Everything that is logged, at every level and from every crate, for a test to read.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fmt::{Debug, Write},
    sync::Once,
};

use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt},
};

/// One event or span.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) level: Level,
    pub(crate) target: String,
    pub(crate) fields: BTreeMap<&'static str, String>,
}

impl Line {
    pub(crate) fn message(&self) -> &str {
        self.field("message").unwrap_or_default()
    }

    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }

    /// Whether this is the line of which every delivery has one.
    pub(crate) fn is_delivery(&self) -> bool {
        self.message() == "webhook delivery"
    }
}

thread_local! {
    static LINES: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

/// Runs something on this thread, and gives what it logged meanwhile.
pub(crate) fn captured<T>(run: impl FnOnce() -> T) -> (T, Vec<Line>) {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        tracing::subscriber::set_global_default(tracing_subscriber::registry().with(ToThread)).unwrap();
    });
    LINES.take();
    let value = run();
    (value, LINES.take())
}

/// The one line that a delivery has.
#[track_caller]
pub(crate) fn delivery_line(lines: &[Line]) -> &Line {
    let mut found = lines.iter().filter(|line| line.is_delivery());
    match (found.next(), found.next()) {
        (Some(line), None) => line,
        _ => panic!("not exactly one line of a delivery: {lines:#?}"),
    }
}

/// Sorts what is logged by thread: tests run side by side.
struct ToThread;

impl ToThread {
    fn keep(level: Level, target: &str, record: impl FnOnce(&mut Fields)) {
        let mut fields = Fields::default();
        record(&mut fields);
        LINES.with_borrow_mut(|lines| lines.push(Line { level, target: target.into(), fields: fields.0 }));
    }
}

impl<S: Subscriber> Layer<S> for ToThread {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        Self::keep(*metadata.level(), metadata.target(), |fields| event.record(fields));
    }

    fn on_new_span(&self, span: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        let metadata = span.metadata();
        Self::keep(*metadata.level(), metadata.target(), |fields| span.record(fields));
    }

    fn on_record(&self, _: &Id, values: &Record<'_>, _: Context<'_, S>) {
        Self::keep(Level::TRACE, "recorded later", |fields| values.record(fields));
    }
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
