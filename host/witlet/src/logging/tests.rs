//! What is logged, and events as lines of the log.

mod filtering;
mod lines;
mod streams;

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tracing_subscriber::layer::Layered;
use witlet_core::Timestamp;
use witlet_ports::Clock;

use super::*;
use crate::cli::LogFormat;

/// Bytes that tests read.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        String::from_utf8(bytes).expect("a log is text")
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A clock that doesn't go.
struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        "2026-11-24T06:07:08.123456789Z".parse().expect("a time")
    }
}

/// A log whose lines are written there.
fn lines_to(written: &Written, format: LogFormat) -> Lines {
    Lines {
        format,
        contextual: true,
        output: Arc::new(Output::single(Box::new(written.clone()))),
        clock: Arc::new(Stopped),
        zone: TimeZone::UTC,
        process_id: 17,
    }
}

/// What is logged meanwhile, without what depends on the line in this file.
fn logged(lines: Lines, written: &Written, filter: Filter, work: impl FnOnce()) -> Vec<Value> {
    let subscriber = Registry::default().with(lines).with(filter);
    tracing::subscriber::with_default(subscriber, work);
    let without_place = |mut value: Value| {
        let fields = value.as_object_mut().expect("an object");
        let caller = fields.remove("caller").expect("a caller");
        assert!(caller.as_str().is_some_and(|at| at.starts_with("logging/tests.rs:")), "{caller}");
        assert_eq!(fields.remove("ts"), Some(json!(1_795_500_428_123.456_8)));
        value
    };
    let text = written.text();
    text.lines().map(|line| without_place(serde_json::from_str(line).expect("a JSON object"))).collect()
}

fn everything() -> Filter {
    Filter::of_verbosity(10, Arc::default())
}

#[test]
fn events_become_lines_with_the_fields_of_their_spans() {
    let written = Written::default();
    let found = logged(lines_to(&written, LogFormat::Json), &written, everything(), || {
        let span =
            tracing::info_span!("pod", pod = %"default/web", pod_uid = "u1", late = tracing::field::Empty);
        let _entered = span.entered();
        let _call = tracing::debug_span!("plugin_call", plugin = "redis").entered();
        tracing::warn!(error = %io::Error::other("refused"), plugin = "other", tries = 2, "Failed to call");
        tracing::info!(target: "plugin", "said");
        tracing::Span::current().record("plugin", "renamed");
        tracing::error!(error = &io::Error::other("full") as &dyn std::error::Error, "Failed");
        tracing::trace!(pods = ?["a/b", "c"], share = 0.5, none = f64::NAN, is_static = true, "Listed");
    });
    let pod = json!({"name": "web", "namespace": "default"});
    assert_eq!(
        found,
        [
            json!({"msg": "Failed to call", "level": "warning", "v": 0, "plugin": "other", "pod": pod, "podUID": "u1",
                "err": "refused", "tries": 2}),
            json!({"msg": "said", "v": 0, "logger": "plugin", "plugin": "redis", "pod": pod, "podUID": "u1"}),
            json!({"msg": "Failed", "plugin": "renamed", "pod": pod, "podUID": "u1", "err": "full"}),
            json!({"msg": "Listed", "v": 6, "plugin": "renamed", "pod": pod, "podUID": "u1", "share": 0.5,
                "pods": [{"name": "b", "namespace": "a"}, {"name": "c"}], "none": "NaN", "isStatic": true}),
        ]
    );
}

#[test]
fn lines_have_their_own_fields_only_without_contextual_logging() {
    let written = Written::default();
    let lines = Lines { contextual: false, ..lines_to(&written, LogFormat::Json) };
    let found = logged(lines, &written, everything(), || {
        let _span = tracing::info_span!("pod", pod = %"default/web").entered();
        tracing::info!(pod_uid = "u1", "Synced");
    });
    assert_eq!(found, [json!({"msg": "Synced", "v": 0, "podUID": "u1"})]);
}

#[test]
fn lines_of_the_crate_log_say_where_they_are_from() {
    let written = Written::default();
    let subscriber = Registry::default().with(lines_to(&written, LogFormat::Text)).with(everything());
    tracing::subscriber::with_default(subscriber, || {
        let (target, file) = ("rustls::client", "/src/rustls/src/client/hs.rs");
        tracing::debug!(
            target: "log",
            { log.target = target, log.module_path = target, log.file = file, log.line = 72 },
            "Using a ticket"
        );
    });
    assert_eq!(
        written.text(),
        "I1124 06:07:08.123456      17 hs.rs:72] \"Using a ticket\" logger=\"rustls::client\"\n"
    );
}

/// All that a filter sees of.
type FilteredLines = Layered<Lines, Registry>;

#[test]
fn a_verbosity_replaces_the_running_filter_and_file_patterns_stay() {
    let written = Written::default();
    let vmodule: Arc<[FileVerbosity]> = vmodule::parse("elsewhere=9").expect("a list").into();
    let directives = EnvFilter::new("error");
    let (layer, handle) =
        reload::Layer::<Filter, FilteredLines>::new(Filter::of_directives(directives, vmodule.clone()));
    let running =
        RunningFilter { replace: Box::new(move |replacement: Filter| handle.reload(replacement)), vmodule };
    let subscriber = Registry::default().with(lines_to(&written, LogFormat::Text)).with(layer);
    tracing::subscriber::with_default(subscriber, || {
        let log = || {
            tracing::info!("information");
            tracing::debug!("details");
        };
        log();
        assert_eq!(written.text().lines().count(), 0, "RUST_LOG wins over the default");
        assert_eq!(running.set(4), Ok(()));
        log();
        assert_eq!(written.text().lines().count(), 2, "a number that is put wins over RUST_LOG");
        assert_eq!(running.set(0), Ok(()));
        log();
        assert_eq!(written.text().lines().count(), 3);
    });
    assert!(running.set(4).is_err(), "a log that is gone has no filter");
}
