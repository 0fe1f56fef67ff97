//! Lines to the byte, in both of klog's forms.

use expect_test::expect;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tracing::Level;

use crate::logging::fields::key;
use crate::logging::line::Line;
use crate::logging::zone;

fn line(level: Level, message: &str, fields: &[(&'static str, Value)]) -> Line<'static> {
    Line {
        time: "2026-11-24T06:07:08.123456789Z".parse().expect("a time"),
        level,
        verbosity: 0,
        file: "host/cluster/src/pods.rs",
        line: 42,
        logger: None,
        message: message.to_owned(),
        fields: fields.iter().map(|(name, value)| (key(name), value.clone())).collect(),
    }
}

/// Lines of the tables.
fn lines() -> Vec<Line<'static>> {
    let failed = [("retry_in", json!("2s")), ("error", json!("no \"route\" to host")), ("tries", json!(3))];
    let of_pod = [
        ("pod", json!("default/web")),
        ("pod_uid", json!("0c6e")),
        ("container_name", json!("app")),
        ("error", json!("a\n\tb \"c\"\r\u{1b}[31m")),
    ];
    let of_plugin =
        Line { logger: Some("plugin"), ..line(Level::INFO, "Said", &[("plugin", json!("redis"))]) };
    let types = [
        ("r#type", json!("pod")),
        ("is_static", json!(true)),
        ("count", json!(-3)),
        ("share", json!(0.25)),
        ("whole", json!(2.0)),
        ("none", json!("")),
        ("ends", json!("one line\n")),
        ("strange", json!("tab\t zero\0 hyphen\u{ad} é")),
    ];
    vec![
        line(Level::INFO, "Started witlet", &[("node", json!("n1"))]),
        Line { verbosity: 4, ..line(Level::DEBUG, "Retrying", &types) },
        Line { verbosity: 6, ..line(Level::TRACE, "Sent", &[]) },
        line(Level::WARN, "Failed to watch pods", &failed),
        line(Level::ERROR, "Failed to watch pods", &failed),
        line(Level::ERROR, "Failed to sync", &of_pod),
        line(Level::ERROR, "forged\nI1124 line", &[]),
        line(Level::INFO, "SyncLoop ADD", &[("pods", json!(["default/a", "b"]))]),
        of_plugin,
    ]
}

#[test]
fn text_lines_have_klogs_form() {
    let text: Vec<_> = lines().iter().map(|line| line.text(17, &TimeZone::UTC)).collect();
    expect![[r#"
        I1124 06:07:08.123456      17 pods.rs:42] "Started witlet" node="n1"
        I1124 06:07:08.123456      17 pods.rs:42] "Retrying" type="pod" isStatic=true count=-3 share=0.25 whole=2 none="" ends=<
        	one line
         > strange="tab\t zero\x00 hyphen\u00ad é"
        I1124 06:07:08.123456      17 pods.rs:42] "Sent"
        W1124 06:07:08.123456      17 pods.rs:42] "Failed to watch pods" err="no \"route\" to host" retryIn="2s" tries=3
        E1124 06:07:08.123456      17 pods.rs:42] "Failed to watch pods" err="no \"route\" to host" retryIn="2s" tries=3
        E1124 06:07:08.123456      17 pods.rs:42] "Failed to sync" err=<
        	a
        		b "c"\r\x1b[31m
         > pod="default/web" podUID="0c6e" containerName="app"
        E1124 06:07:08.123456      17 pods.rs:42] "forged\nI1124 line"
        I1124 06:07:08.123456      17 pods.rs:42] "SyncLoop ADD" pods=["default/a","b"]
        I1124 06:07:08.123456      17 pods.rs:42] "Said" logger="plugin" plugin="redis""#]]
    .assert_eq(&text.join("\n"));
}

#[test]
fn json_lines_have_the_kubelets_keys() {
    let json: Vec<_> = lines().iter().map(Line::json).collect();
    expect![[r#"
        {"ts":1795500428123.4568,"caller":"src/pods.rs:42","msg":"Started witlet","v":0,"node":"n1"}
        {"ts":1795500428123.4568,"caller":"src/pods.rs:42","msg":"Retrying","v":4,"type":"pod","isStatic":true,"count":-3,"share":0.25,"whole":2,"none":"","ends":"one line\n","strange":"tab\t zero\u0000 hyphen(U+00AD) é"}
        {"ts":1795500428123.4568,"caller":"src/pods.rs:42","msg":"Sent","v":6}
        {"ts":1795500428123.4568,"caller":"src/pods.rs:42","msg":"Failed to watch pods","level":"warning","v":0,"retryIn":"2s","tries":3,"err":"no \"route\" to host"}
        {"ts":1795500428123.4568,"caller":"src/pods.rs:42","msg":"Failed to watch pods","retryIn":"2s","tries":3,"err":"no \"route\" to host"}
        {"ts":1795500428123.4568,"caller":"src/pods.rs:42","msg":"Failed to sync","pod":{"name":"web","namespace":"default"},"podUID":"0c6e","containerName":"app","err":"a\n\tb \"c\"\r\u001b[31m"}
        {"ts":1795500428123.4568,"caller":"src/pods.rs:42","msg":"forged\nI1124 line"}
        {"ts":1795500428123.4568,"caller":"src/pods.rs:42","msg":"SyncLoop ADD","v":0,"pods":[{"name":"a","namespace":"default"},{"name":"b"}]}
        {"ts":1795500428123.4568,"logger":"plugin","caller":"src/pods.rs:42","msg":"Said","v":0,"plugin":"redis"}"#]]
    // What isn't seen is shown by its name.
    .assert_eq(&json.join("\n").replace('\u{ad}', "(U+00AD)"));
    for line in &json {
        let value: Value = serde_json::from_str(line).expect("a JSON object");
        assert!(!line.contains('\n') && value["ts"].is_number() && value["msg"].is_string(), "{line}");
    }
}

#[test]
fn no_value_of_the_text_form_begins_a_line() {
    for foreign in
        ["\nI1124 06:07:08.123456      17 pods.rs:42] \"x\"", "a\r\nI1124", "\n\n", "\u{2028}I1124"]
    {
        for line in [line(Level::INFO, foreign, &[]), line(Level::INFO, "Said", &[("words", json!(foreign))])]
        {
            let text = line.text(17, &TimeZone::UTC);
            let mut lines = text.lines();
            assert!(lines.next().is_some_and(|first| first.starts_with("I1124 ")), "{text}");
            assert!(lines.all(|line| line.starts_with('\t') || line.starts_with(" >")), "{text}");
        }
    }
}

#[test]
fn text_lines_are_in_the_zones_time_and_json_lines_have_no_zone() {
    let line = line(Level::INFO, "Started", &[]);
    let zone = TimeZone::fixed(jiff::tz::offset(-7));
    assert_eq!(line.text(1_234_567, &zone), "I1123 23:07:08.123456 1234567 pods.rs:42] \"Started\"");
    let whole = Line { time: "1970-01-01T00:00:01Z".parse().expect("a time"), ..line };
    assert!(whole.json().starts_with("{\"ts\":1000,"), "{}", whole.json());
}

#[test]
fn a_zone_is_looked_for_where_go_looks_for_it() {
    let shown = |name| zone::files(name).iter().map(|file| file.display().to_string()).collect::<Vec<_>>();
    assert_eq!(shown(None), ["/etc/localtime"]);
    for none in ["", ":", "UTC", "../../etc/passwd"] {
        assert_eq!(shown(Some(none)), [""; 0], "{none}");
    }
    assert_eq!(shown(Some(":/etc/zone")), ["/etc/zone"]);
    assert_eq!(
        shown(Some("Europe/Berlin")),
        [
            "/usr/share/zoneinfo/Europe/Berlin",
            "/usr/share/lib/zoneinfo/Europe/Berlin",
            "/usr/lib/locale/TZ/Europe/Berlin",
            "/etc/zoneinfo/Europe/Berlin"
        ]
    );
}

#[test]
fn keys_are_klogs() {
    for (name, expected) in [
        ("pod", "pod"),
        ("pod_uid", "podUID"),
        ("container_name", "containerName"),
        ("container_id", "containerID"),
        ("pod_sandbox_id", "podSandboxID"),
        ("retry_in", "retryIn"),
        ("id", "id"),
        ("uid", "uid"),
        ("host_ip", "hostIP"),
        ("r#type", "type"),
        ("error", "err"),
        ("_leading__twice_", "leadingTwice"),
    ] {
        assert_eq!(key(name), expected, "{name}");
    }
}
