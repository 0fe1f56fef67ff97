//! What is shown of cases that were carried out.

use expect_test::expect;
use witlet_conformance::run::{CaseAnswer, ReceivedBytes};
use witlet_wasm::direct::CapturedLine;
use witlet_wasm::role::Role;

use super::*;

fn call(function: &str, words: &str) -> CaseCall {
    CaseCall {
        function: function.to_owned(),
        answer: CaseAnswer { words: words.to_owned(), ..CaseAnswer::default() },
        differs: None,
        took_seconds: 0.000_34,
        cpu_seconds: None,
        memory_bytes_peak: None,
        log: Vec::new(),
        commands: Vec::new(),
    }
}

fn case(name: &str, calls: Vec<CaseCall>) -> CaseRun {
    let (file, case) = ("cases.yaml".to_owned(), name.to_owned());
    CaseRun { file, case, role: Role::Probe, calls, received: Vec::new(), problem: None }
}

#[test]
fn people_see_answers_log_lines_time_and_memory() {
    let line = CapturedLine {
        level: "info",
        message: "asked\u{1b}[31m".to_owned(),
        fields: vec![("port".to_owned(), "6379".to_owned())],
    };
    let full = CaseCall {
        differs: Some("success: yes".to_owned()),
        cpu_seconds: Some(0.000_3),
        memory_bytes_peak: Some(1 << 20),
        log: vec![line],
        commands: vec![vec!["redis-cli".to_owned(), "ping".to_owned()]],
        ..call("prober.probe", "success: yes")
    };
    let received = ReceivedBytes { port: 6379, text: "PING\r\n".to_owned() };
    let cases = vec![
        CaseRun { received: vec![received], ..case("it answers", vec![full]) },
        CaseRun { problem: Some("no such port".to_owned()), ..case("it is gone", Vec::new()) },
        case("its parameters", vec![call("prober.validate", "it has nothing against it")]),
    ];
    let report = Report::new("redis.wasm".to_owned(), cases);
    assert!(!report.as_expected);
    expect![[r#"
        cases.yaml: it answers (probe)
          prober.probe: success: yes
            took 340µs, CPU 300µs, memory 1.0Mi
            log info: asked�[31m port=6379
            ran ["redis-cli", "ping"]
            NOT AS EXPECTED: success: yes
          port 6379 received "PING\r\n"

        cases.yaml: it is gone (probe)
          error: no such port

        cases.yaml: its parameters (probe)
          prober.validate: it has nothing against it
            took 340µs

        3 cases, 2 not as expected
    "#]]
    .assert_eq(&for_people(&report));
    let good = Report::new("redis.wasm".to_owned(), vec![case("it answers", Vec::new())]);
    assert!(good.as_expected && for_people(&good).ends_with("\n1 case, as expected\n"));
}
