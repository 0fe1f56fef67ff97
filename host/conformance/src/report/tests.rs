//! Reports, forged: what they count, and how they are printed.

use std::time::Duration;

use expect_test::expect;
use serde_json::json;

use super::*;
use crate::check::Finding;

fn check(layer: Layer, id: &'static str, title: &str, result: CheckResult) -> Check {
    let took = Duration::from_millis(1500);
    Check { layer, role: Some(Role::Admission), id, title: title.to_owned(), result, took }
}

fn failed() -> CheckResult {
    let finding = Finding::new(
        "case \"a <b>\"",
        "reject: \"x\u{1b}[2J\"\nand more",
        "the case says: admit, handler.admit",
    );
    CheckResult::Failed(finding.repeated_by("--only vectors --seed 7"))
}

fn skipped(why: &str) -> CheckResult {
    CheckResult::Skipped { why: why.to_owned() }
}

fn report(checks: Vec<Check>) -> Report {
    let component = Examined { name: "a.wasm".to_owned(), digest: "00ff".to_owned(), size_bytes: 7 };
    Report {
        api_version: API_VERSION,
        kind: KIND,
        kit_version: "0.1.0",
        component,
        roles: vec![ReportRole { role: Role::Admission, version: "0.1.0" }],
        config: json!({"allow": []}),
        seed: 7,
        layers: Layer::ALL.to_vec(),
        checks,
        figures: vec![
            Figure { name: "admission fresh p50".to_owned(), unit: "s", value: 0.000_051_2 },
            Figure { name: "component size".to_owned(), unit: "bytes", value: 2048.0 },
        ],
    }
}

fn mixed() -> Report {
    report(vec![
        check(Layer::Load, "load/world", "it links", CheckResult::Passed),
        check(Layer::Vectors, "vectors/case", "an image from elsewhere", failed()),
        check(Layer::Replay, "replay/call", "a call", skipped("there are none")),
        check(Layer::Replay, "replay/call", "another", skipped("there are none")),
    ])
}

#[test]
fn only_what_was_loaded_and_has_no_finding_passes() {
    let load = |result| check(Layer::Load, "load/world", "it links", result);
    let other = |result| check(Layer::Hostile, "hostile/pods", "it stands", result);
    let cases = [
        (vec![], false),
        (vec![load(CheckResult::Passed)], true),
        (vec![load(skipped("why"))], false),
        (vec![other(CheckResult::Passed)], false),
        (vec![load(CheckResult::Passed), other(skipped("why"))], true),
        (vec![load(CheckResult::Passed), other(failed())], false),
        (vec![load(failed()), load(CheckResult::Passed)], false),
    ];
    for (checks, passed) in cases {
        let reported = format!("{checks:?}");
        assert_eq!(report(checks).passed(), passed, "{reported}");
    }
    assert_eq!(
        mixed().count(Layer::Replay),
        Count { passed: 0, failed: 0, skipped: 2 },
        "never counts as passed"
    );
}

#[test]
fn people_read_the_finding_first_and_a_sum_last() {
    let human = mixed().human("witlet plugin test a.wasm");
    expect![[r#"
        FAILED vectors/case [admission]: an image from elsewhere
          input      case "a <b>"
          seen       reject: "x\u{1b}[2J"
                     and more
          contract   the case says: admit, handler.admit
          repeat     witlet plugin test a.wasm --only vectors --seed 7

        Not tried
          replay/call [admission]: there are none (2 times)

        Measured
          admission fresh p50                51.2 µs
          component size                     2.0 KiB

        Layers
          load            1 passed    0 failed    0 not tried
          vectors         0 passed    1 failed    0 not tried
          replay          0 passed    0 failed    2 not tried

        FAILED: a.wasm (admission 0.1.0): 1 checks passed, 1 failed, 2 not tried; seed 7
    "#]]
    .assert_eq(&human);
}

#[test]
fn junit_has_a_suite_for_each_layer() {
    expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="a.wasm" tests="4" failures="1" skipped="2" time="6.000">
          <testsuite name="load" tests="1" failures="0" skipped="0" time="1.500">
            <testcase classname="load/world" name="admission: it links" time="1.500"/>
          </testsuite>
          <testsuite name="vectors" tests="1" failures="1" skipped="0" time="1.500">
            <testcase classname="vectors/case" name="admission: an image from elsewhere" time="1.500">
              <failure message="reject: &quot;x�[2J&quot;">input: case &quot;a &lt;b&gt;&quot;&#10;seen: reject: &quot;x�[2J&quot;&#10;and more&#10;contract: the case says: admit, handler.admit&#10;repeat: --only vectors --seed 7</failure>
            </testcase>
          </testsuite>
          <testsuite name="replay" tests="2" failures="0" skipped="2" time="3.000">
            <testcase classname="replay/call" name="admission: a call" time="1.500">
              <skipped message="there are none"/>
            </testcase>
            <testcase classname="replay/call" name="admission: another" time="1.500">
              <skipped message="there are none"/>
            </testcase>
          </testsuite>
        </testsuites>
    "#]]
    .assert_eq(&mixed().junit());
}

#[test]
fn programs_read_a_kind_and_outcomes() {
    let report = serde_json::to_value(mixed()).expect("a report becomes JSON");
    assert_eq!(
        (&report["apiVersion"], &report["kind"]),
        (&json!("witlet.dev/v1alpha1"), &json!("ConformanceReport"))
    );
    assert_eq!(report["component"], json!({"name": "a.wasm", "digest": "00ff", "sizeBytes": 7}));
    assert_eq!(report["roles"], json!([{"role": "admission", "version": "0.1.0"}]));
    assert_eq!(
        report["checks"][0],
        json!({"layer": "load", "role": "admission", "id": "load/world", "title": "it links", "result": {"outcome": "passed"}, "tookSeconds": 1.5})
    );
    assert_eq!(report["checks"][1]["result"]["outcome"], "failed");
    assert_eq!(report["checks"][1]["result"]["repeat"], "--only vectors --seed 7");
    assert_eq!(report["checks"][2]["result"], json!({"outcome": "skipped", "why": "there are none"}));
    assert_eq!(report["figures"][1], json!({"name": "component size", "unit": "bytes", "value": 2048.0}));
}

#[test]
fn long_texts_of_findings_are_cut_and_say_how_long_they_were() {
    let finding = Finding::new("x".repeat(10_000), "", "");
    assert!(finding.input.len() < 5_000 && finding.input.ends_with("… (10000 bytes)"));
}
