//! Events of `tracing` become lines of the log, with the fields of the spans around them.

use std::sync::Arc;

use jiff::tz::TimeZone;
use serde_json::Value;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;
use witlet_ports::Clock;

use super::fields::Fields;
use super::filter::shown_verbosity;
use super::line::Line;
use super::output::Output;
use crate::cli::LogFormat;

/// The target of lines that come by way of the crate `log`; where they are from is in fields then.
const FOREIGN_TARGET: &str = "log";

/// Writes events as klog does.
pub(super) struct Lines {
    pub(super) format: LogFormat,
    /// Whether lines have the fields of spans.
    pub(super) contextual: bool,
    pub(super) output: Arc<Output>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) zone: TimeZone,
    pub(super) process_id: u32,
}

impl Lines {
    fn write(&self, line: &Line<'_>) {
        let mut text = match self.format {
            LogFormat::Text => line.text(self.process_id, &self.zone),
            LogFormat::Json => line.json(),
        };
        text.push('\n');
        let is_info = !matches!(line.level, Level::ERROR | Level::WARN);
        self.output.write(is_info, text.as_bytes());
    }
}

/// What a span was made with. Its fields are read once, not for each line.
struct SpanFields(Fields);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Lines {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id).filter(|_| self.contextual) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(SpanFields(fields));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(SpanFields(fields)) = span.extensions_mut().get_mut() {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        for span in context.event_scope(event).into_iter().flat_map(|scope| scope.from_root()) {
            if let Some(SpanFields(of_span)) = span.extensions().get() {
                of_span.found.iter().for_each(|(key, value)| fields.set(key.clone(), value.clone()));
            }
        }
        event.record(&mut fields);
        let metadata = event.metadata();
        let (target, file, line) = match metadata.target() {
            FOREIGN_TARGET => foreign(&mut fields),
            _ => (None, None, None),
        };
        let is_named = target.is_some() || metadata.module_path() != Some(metadata.target());
        let target = target.as_deref().unwrap_or(metadata.target());
        self.write(&Line {
            time: self.clock.now(),
            level: *metadata.level(),
            verbosity: shown_verbosity(target, *metadata.level()),
            file: file.as_deref().or(metadata.file()).unwrap_or("???"),
            line: line.or(metadata.line()).unwrap_or(1),
            logger: Some(target).filter(|_| is_named),
            message: fields.message,
            fields: fields.found,
        });
    }
}

/// Where a line of the crate `log` comes from: its target, file and line.
fn foreign(fields: &mut Fields) -> (Option<String>, Option<String>, Option<u32>) {
    let text = |value: Option<Value>| value.and_then(|value| value.as_str().map(str::to_owned));
    let (target, module) = (text(fields.take("log.target")), text(fields.take("log.modulePath")));
    let (file, line) = (text(fields.take("log.file")), fields.take("log.line"));
    (target.or(module), file, line.and_then(|line| line.as_u64()).and_then(|line| u32::try_from(line).ok()))
}
