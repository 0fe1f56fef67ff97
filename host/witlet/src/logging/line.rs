//! One line of the log in klog's two forms. Pure: the time, the process and the event are arguments.

use std::fmt::Write as _;

use serde_json::Value;
use tracing::Level;
use witlet_core::Timestamp;

/// Key of an event's cause.
const ERROR_KEY: &str = "err";

/// What is known of an event.
#[derive(Clone, Debug)]
pub(super) struct Line<'a> {
    pub(super) time: Timestamp,
    pub(super) level: Level,
    /// Path of the source file.
    pub(super) file: &'a str,
    pub(super) line: u32,
    /// A target that isn't the module's path.
    pub(super) logger: Option<&'a str>,
    pub(super) message: String,
    /// Fields of the spans around the event, outermost first, then its own; names as in the code.
    pub(super) fields: Vec<(String, Value)>,
}

/// klog's verbosity of a level: the kubelet logs at 0 what every operator reads, at 4 what helps with a fault.
fn verbosity(level: Level) -> u8 {
    match level {
        Level::TRACE => 6,
        Level::DEBUG => 4,
        _ => 0,
    }
}

/// A field's key as klog has it: `retry_in` becomes `retryIn`, `error` becomes `err`.
fn key(name: &str) -> String {
    let name = name.strip_prefix("r#").unwrap_or(name);
    if name == "error" || name == "cause" {
        return ERROR_KEY.to_owned();
    }
    let mut key = String::with_capacity(name.len());
    let mut upper = false;
    for char in name.chars() {
        match char {
            '_' if !key.is_empty() => upper = true,
            _ if upper => {
                key.extend(char.to_uppercase());
                upper = false;
            }
            _ => key.push(char),
        }
    }
    key
}

/// The last `parts` parts of a path.
fn tail(path: &str, parts: usize) -> &str {
    match path.rmatch_indices('/').nth(parts - 1) {
        Some((index, _)) => &path[index + 1..],
        None => path,
    }
}

impl Line<'_> {
    /// `Lmmdd hh:mm:ss.uuuuuu PID file:line] "message" key="value"`, in UTC, without a line break. Texts are quoted, and what
    /// isn't printable in them is escaped: a foreign text can't forge a line.
    pub(super) fn text(&self, process_id: u32) -> String {
        let letter = match self.level {
            Level::ERROR => 'E',
            Level::WARN => 'W',
            _ => 'I',
        };
        let time = self.time.strftime("%m%d %H:%M:%S%.6f");
        let caller = tail(self.file, 1);
        let mut text = format!("{letter}{time} {process_id:>7} {caller}:{}] {:?}", self.line, self.message);
        let logger = self.logger.map(|logger| ("logger".to_owned(), Value::from(logger)));
        for (name, value) in logger.iter().chain(&self.fields) {
            let name = key(name);
            let written = match value {
                Value::String(value) => write!(text, " {name}={value:?}"),
                other => write!(text, " {name}={other}"),
            };
            debug_assert!(written.is_ok(), "a text takes everything");
        }
        text
    }

    /// One JSON object with the kubelet's keys: `ts` (milliseconds since 1970), `logger` if the event has one, `caller`, `msg`,
    /// then `v`, which errors don't have, and the fields. Warnings, which upstream logs as information, have `level`.
    pub(super) fn json(&self) -> String {
        #[expect(clippy::cast_precision_loss, reason = "microseconds of this century are exact")]
        let ts = self.time.as_microsecond() as f64 / 1000.0;
        let mut pairs = vec![("ts".to_owned(), Value::from(ts))];
        let mut set = |key: &str, value: Value| match pairs.iter_mut().find(|(there, _)| there == key) {
            Some((_, there)) => *there = value,
            None => pairs.push((key.to_owned(), value)),
        };
        if let Some(logger) = self.logger {
            set("logger", Value::from(logger));
        }
        set("caller", Value::from(format!("{}:{}", tail(self.file, 2), self.line)));
        set("msg", Value::from(self.message.as_str()));
        if self.level == Level::WARN {
            set("level", Value::from("warning"));
        }
        if self.level != Level::ERROR {
            set("v", Value::from(verbosity(self.level)));
        }
        for (name, value) in &self.fields {
            set(&key(name), value.clone());
        }
        let pairs: Vec<_> =
            pairs.into_iter().map(|(key, value)| format!("{}:{value}", Value::from(key))).collect();
        format!("{{{}}}", pairs.join(","))
    }
}
