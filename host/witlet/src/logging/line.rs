//! One line of the log in klog's two forms. Pure: the time, the process and the event are arguments.

use std::fmt::Write as _;

use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tracing::Level;
use witlet_core::{Timestamp, go};

use super::fields::{ERROR_KEY, Key, PODS_KEY};
use super::vmodule::tail;

/// Keys whose values name objects: `namespace/name` in text, a map in JSON, as upstream's references are.
const REFERENCES: &[&str] = &["pod", PODS_KEY];

/// What is known of an event.
#[derive(Clone, Debug)]
pub(super) struct Line<'a> {
    pub(super) time: Timestamp,
    pub(super) level: Level,
    /// klog's number from which on such a line is logged.
    pub(super) verbosity: u32,
    /// Path of the source file.
    pub(super) file: &'a str,
    pub(super) line: u32,
    /// A target that isn't the module's path.
    pub(super) logger: Option<&'a str>,
    pub(super) message: String,
    /// Fields of the spans around the event, outermost first, then its own.
    pub(super) fields: Vec<(Key, Value)>,
}

impl Line<'_> {
    /// `Lmmdd hh:mm:ss.uuuuuu PID file:line] "message" key="value"`: the cause first, then the logger, then the fields. What
    /// isn't printable is escaped, and further lines of a value begin with a tab: a foreign text can't forge a line.
    pub(super) fn text(&self, process_id: u32, zone: &TimeZone) -> String {
        let letter = match self.level {
            Level::ERROR => 'E',
            Level::WARN => 'W',
            _ => 'I',
        };
        let time = zone.to_datetime(self.time);
        let mut text = format!(
            "{letter}{:02}{:02} {:02}:{:02}:{:02}.{:06} {process_id:>7} {}:{}] {}",
            time.month(),
            time.day(),
            time.hour(),
            time.minute(),
            time.second(),
            time.subsec_nanosecond() / 1000,
            tail(self.file, 1),
            self.line,
            go::quote(&self.message)
        );
        let (errors, others) = self.causes_and_others();
        for (key, value) in errors {
            push_text(&mut text, key, value);
        }
        if let Some(logger) = self.logger {
            push_text(&mut text, "logger", &Value::from(logger));
        }
        for (key, value) in others {
            push_text(&mut text, key, value);
        }
        text
    }

    /// One JSON object with the kubelet's keys: `ts` (milliseconds since 1970), `logger` if the event has one, `caller`, `msg`,
    /// then `v`, which errors don't have, the fields, and the cause. Warnings, which upstream logs as information, have `level`.
    pub(super) fn json(&self) -> String {
        // As upstream computes and prints it.
        #[expect(clippy::cast_precision_loss, reason = "a time of this century is exact to a microsecond")]
        let ts = self.time.as_nanosecond() as f64 / 1e6;
        let mut json = format!("{{\"ts\":{ts}");
        if let Some(logger) = self.logger {
            push_json(&mut json, "logger", &Value::from(logger));
        }
        push_json(&mut json, "caller", &Value::from(format!("{}:{}", tail(self.file, 2), self.line)));
        push_json(&mut json, "msg", &Value::from(self.message.as_str()));
        if self.level == Level::WARN {
            push_json(&mut json, "level", &Value::from("warning"));
        }
        if self.level != Level::ERROR {
            push_json(&mut json, "v", &Value::from(self.verbosity));
        }
        let (errors, others) = self.causes_and_others();
        for (key, value) in others.chain(errors) {
            match value {
                value if REFERENCES.contains(&key) => push_json(&mut json, key, &referred(value)),
                value => push_json(&mut json, key, value),
            }
        }
        json.push('}');
        json
    }

    fn causes_and_others(
        &self,
    ) -> (impl Iterator<Item = (&str, &Value)>, impl Iterator<Item = (&str, &Value)>) {
        let fields = || self.fields.iter().map(|(key, value)| (&**key, value));
        (fields().filter(|(key, _)| *key == ERROR_KEY), fields().filter(|(key, _)| *key != ERROR_KEY))
    }
}

/// Appends ` key=value`.
fn push_text(text: &mut String, key: &str, value: &Value) {
    text.push(' ');
    text.push_str(key);
    match value {
        Value::String(value) if value.contains('\n') => push_lines(text, value),
        value => {
            text.push('=');
            push_value(text, value);
        }
    }
}

fn push_value(text: &mut String, value: &Value) {
    match value {
        Value::String(value) => text.push_str(&go::quote(value)),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                push_value(text, item);
            }
            text.push(']');
        }
        other => push_number(text, other),
    }
}

/// A value of several lines: each of them behind a tab, between `=<` and ` >`. Unlike upstream, what drives a terminal is escaped.
fn push_lines(text: &mut String, value: &str) {
    text.push_str("=<\n");
    for line in value.strip_suffix('\n').unwrap_or(value).split('\n') {
        text.push('\t');
        for letter in line.chars() {
            if letter == '\t' { text.push(letter) } else { go::push_printable(text, letter) }
        }
        text.push('\n');
    }
    text.push_str(" >");
}

/// Appends `,"key":value`.
fn push_json(json: &mut String, key: &str, value: &Value) {
    json.push(',');
    push_number(json, &Value::from(key));
    json.push(':');
    push_number(json, value);
}

/// A value as JSON. A whole number is one without a point, whatever it is counted in, as upstream.
fn push_number(text: &mut String, value: &Value) {
    // Writing to a text can't fail.
    let _ = match value.as_f64() {
        Some(number) if value.is_f64() => write!(text, "{number}"),
        _ => write!(text, "{value}"),
    };
}

/// A reference to an object, or a list of some, as upstream's JSON has them.
fn referred(value: &Value) -> Value {
    match value {
        Value::String(text) => match text.split_once('/') {
            Some((namespace, name)) => json!({"name": name, "namespace": namespace}),
            None => json!({"name": text}),
        },
        Value::Array(items) => items.iter().map(referred).collect(),
        other => other.clone(),
    }
}
