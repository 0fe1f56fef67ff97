//! Events of `tracing` as lines in klog's forms.

use std::fmt;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;
use witlet_node::SystemClock;
use witlet_ports::Clock as _;

use super::line::Line;
use crate::cli::LogFormat;

/// Writes events as klog does. Needs fields of spans as JSON (`JsonFields`).
pub(super) struct Klog(pub(super) LogFormat);

impl<S, N> FormatEvent<S, N> for Klog
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = Fields::default();
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            let extensions = span.extensions();
            let written = extensions.get::<FormattedFields<N>>().map(|fields| fields.as_str());
            let Some(Ok(of_span)) = written.map(serde_json::from_str::<Map<String, Value>>) else { continue };
            of_span.into_iter().for_each(|(name, value)| fields.set(&name, value));
        }
        event.record(&mut fields);
        let metadata = event.metadata();
        let line = Line {
            time: SystemClock.now(),
            level: *metadata.level(),
            file: metadata.file().unwrap_or("unknown"),
            line: metadata.line().unwrap_or_default(),
            logger: Some(metadata.target()).filter(|target| metadata.module_path() != Some(target)),
            message: fields.message,
            fields: fields.found,
        };
        match self.0 {
            LogFormat::Text => writeln!(writer, "{}", line.text(std::process::id())),
            LogFormat::Json => writeln!(writer, "{}", line.json()),
        }
    }
}

/// An event's message and fields.
#[derive(Default)]
struct Fields {
    message: String,
    found: Vec<(String, Value)>,
}

impl Fields {
    /// The last value of a name counts.
    fn set(&mut self, name: &str, value: Value) {
        if name == "message" {
            self.message = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        } else if let Some((_, there)) = self.found.iter_mut().find(|(there, _)| there == name) {
            *there = value;
        } else {
            self.found.push((name.to_owned(), value));
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.set(field.name(), Value::from(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field.name(), Value::from(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field.name(), Value::from(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field.name(), Value::from(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field.name(), Value::from(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field.name(), Value::from(value));
    }
}
