//! klog's numbers as filters, and lines in klog's forms.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use expect_test::expect;
use serde_json::{Value, json};
use tracing::Level;
use tracing_subscriber::Registry;
use tracing_subscriber::fmt::MakeWriter;

use super::line::Line;
use super::*;

#[test]
fn verbosity_asks_for_more_from_4_on() {
    for (verbosity, more) in [(-1, ""), (0, ""), (3, ""), (4, ",witlet=debug"), (5, ",witlet=debug")] {
        assert_eq!(filter_of(verbosity), format!("{DEFAULT_FILTER}{more}"), "{verbosity}");
    }
    assert!(filter_of(10).ends_with(",witlet=trace,kube=debug"));
    EnvFilter::try_new(filter_of(10)).expect("a filter");
}

fn line(level: Level, message: &str, fields: &[(&str, Value)]) -> Line<'static> {
    Line {
        time: "2026-11-24T06:07:08.123456789Z".parse().expect("a time"),
        level,
        file: "host/cluster/src/pods.rs",
        line: 42,
        logger: None,
        message: message.to_owned(),
        fields: fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
    }
}

/// Lines of the table, in both forms.
fn lines() -> Vec<Line<'static>> {
    let failed = [("error", json!("no \"route\"\nto host")), ("retry_in", json!("2s")), ("tries", json!(3))];
    let mut of_plugin = line(Level::INFO, "Said", &[("plugin", json!("redis"))]);
    of_plugin.logger = Some("plugin");
    vec![
        line(Level::INFO, "Started witlet", &[("node", json!("n1"))]),
        line(Level::DEBUG, "Retrying", &[("r#type", json!("pod")), ("is_static", json!(true))]),
        line(Level::TRACE, "Sent", &[]),
        line(Level::WARN, "Failed to watch pods", &failed),
        line(Level::ERROR, "Failed to watch pods", &failed),
        line(Level::ERROR, "forged\nI1124 line", &[]),
        of_plugin,
    ]
}

#[test]
fn text_lines_have_klogs_form() {
    let text: Vec<_> = lines().iter().map(|line| line.text(17)).collect();
    expect![[r#"
        I1124 06:07:08.123456      17 pods.rs:42] "Started witlet" node="n1"
        I1124 06:07:08.123456      17 pods.rs:42] "Retrying" type="pod" isStatic=true
        I1124 06:07:08.123456      17 pods.rs:42] "Sent"
        W1124 06:07:08.123456      17 pods.rs:42] "Failed to watch pods" err="no \"route\"\nto host" retryIn="2s" tries=3
        E1124 06:07:08.123456      17 pods.rs:42] "Failed to watch pods" err="no \"route\"\nto host" retryIn="2s" tries=3
        E1124 06:07:08.123456      17 pods.rs:42] "forged\nI1124 line"
        I1124 06:07:08.123456      17 pods.rs:42] "Said" logger="plugin" plugin="redis""#]]
    .assert_eq(&text.join("\n"));
}

#[test]
fn json_lines_have_the_kubelets_keys() {
    let json: Vec<_> = lines().iter().map(Line::json).collect();
    let expected = expect![[r#"
        {"ts":1795500428123.456,"caller":"src/pods.rs:42","msg":"Started witlet","v":0,"node":"n1"}
        {"ts":1795500428123.456,"caller":"src/pods.rs:42","msg":"Retrying","v":4,"type":"pod","isStatic":true}
        {"ts":1795500428123.456,"caller":"src/pods.rs:42","msg":"Sent","v":6}
        {"ts":1795500428123.456,"caller":"src/pods.rs:42","msg":"Failed to watch pods","level":"warning","v":0,"err":"no \"route\"\nto host","retryIn":"2s","tries":3}
        {"ts":1795500428123.456,"caller":"src/pods.rs:42","msg":"Failed to watch pods","err":"no \"route\"\nto host","retryIn":"2s","tries":3}
        {"ts":1795500428123.456,"caller":"src/pods.rs:42","msg":"forged\nI1124 line"}
        {"ts":1795500428123.456,"logger":"plugin","caller":"src/pods.rs:42","msg":"Said","v":0,"plugin":"redis"}"#]];
    expected.assert_eq(&json.join("\n"));
    for line in &json {
        let value: Value = serde_json::from_str(line).expect("a JSON object");
        assert!(!line.contains('\n') && value["ts"].is_f64() && value["msg"].is_string(), "{line}");
    }
}

/// A log that tests read.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no test panicked in it").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Written {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[test]
fn events_become_lines_with_the_fields_of_their_spans() {
    let written = Written::default();
    let subscriber = tracing_subscriber::fmt()
        .fmt_fields(JsonFields::new())
        .event_format(Klog(LogFormat::Json))
        .with_writer(written.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        let _span = tracing::info_span!("plugin_call", plugin = "redis", pod = %"default/web").entered();
        tracing::warn!(error = %io::Error::other("refused"), plugin = "other", tries = 2, "Failed to call");
        tracing::info!(target: "plugin", "said");
    });
    let bytes = written.0.lock().expect("no test panicked in it").clone();
    let lines: Vec<Value> = String::from_utf8(bytes)
        .expect("text")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a JSON object"))
        .map(|mut value: Value| {
            assert!(value["ts"].as_f64().is_some_and(|ts| ts > 1.7e12), "{value}");
            assert!(
                value["caller"].as_str().is_some_and(|at| at.starts_with("logging/tests.rs:")),
                "{value}"
            );
            let fields = value.as_object_mut().expect("an object");
            fields.remove("ts");
            fields.remove("caller");
            value
        })
        .collect();
    assert_eq!(
        lines,
        [
            json!({"msg": "Failed to call", "level": "warning", "v": 0, "plugin": "other", "pod": "default/web",
                "err": "refused", "tries": 2}),
            json!({"msg": "said", "v": 0, "logger": "plugin", "plugin": "redis", "pod": "default/web"}),
        ]
    );
}

#[test]
fn a_verbosity_replaces_the_running_filter() {
    let (layer, handle) = reload::Layer::<EnvFilter, Registry>::new(EnvFilter::new("warn"));
    let replaced = handle.clone();
    let filter = RunningFilter(Box::new(move |replacement| replaced.reload(replacement)));
    let current = || handle.with_current(EnvFilter::to_string).expect("the layer is there");
    assert_eq!(filter.set(4), Ok(()));
    assert!(current().contains("witlet=debug"), "{}", current());
    assert_eq!(filter.set(0), Ok(()));
    assert!(!current().contains("witlet="), "{}", current());
    drop(layer);
    assert!(filter.set(4).is_err(), "a log that is gone has no filter");
}
