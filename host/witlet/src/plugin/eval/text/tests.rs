//! What people see of a report.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use expect_test::{Expect, expect};
use jiff::Timestamp;
use serde_json::json;
use witlet_core::admission::chain::{FailureKind, FailurePolicy, HandlerResponse};
use witlet_core::admission::outcome::Outcome;
use witlet_core::admission::{AdmissionRequest, Decision, Operation, Shortage, Verdict};
use witlet_core::node::NodeFacts;
use witlet_core::pod::SourceName;
use witlet_core::sources::manifest::Document;
use witlet_wasm::host::{Explanation, HandlerAnswer, HandlerReport, HandlerStep};

use super::super::report::{EVALUATION, QuestionPlace};
use super::*;

fn answered(response: HandlerResponse, counts: bool) -> HandlerStep {
    HandlerStep::Answered(HandlerAnswer {
        response,
        counts,
        fault: None,
        warnings: Vec::new(),
        annotations: Default::default(),
        took: Duration::from_micros(80),
        cpu: Duration::from_micros(60),
        memory_bytes_peak: 3 << 20,
        log: Vec::new(),
    })
}

fn handler(name: &str, shadow: bool, step: HandlerStep) -> HandlerReport {
    HandlerReport {
        name: name.to_owned(),
        builtin: false,
        shadow,
        digest: Some("0123456789abcdef".to_owned()),
        failure_policy: FailurePolicy::Defer,
        step,
    }
}

fn pod(
    operation: Operation,
    decision: Decision,
    decided_by: Option<&str>,
    handlers: Vec<HandlerReport>,
) -> PodReport {
    let pod = json!({
        "metadata": {"name": "web-xxxxx", "namespace": "shop"}, "spec": {"containers": [{"name": "app", "image": "app:1"}]},
    });
    let request = AdmissionRequest {
        operation,
        now: Timestamp::UNIX_EPOCH,
        pod: Arc::new(serde_json::from_value(pod).expect("a pod")),
        old_pod: None,
        image: None,
        source: SourceName::from("api"),
        node: Arc::new(NodeFacts::default()),
        other_pods: Arc::new([]),
    };
    let outcome = Outcome::of(&request.pod, operation, decision.clone(), request.now);
    let explanation = (!handlers.is_empty()).then(|| Explanation {
        decision,
        decided_by: decided_by.map(str::to_owned),
        handlers,
    });
    let place = QuestionPlace::of_document(Path::new("web.yaml"), Document { number: 1, line: 1 }, "");
    PodReport::new((place, Some("Job shop/web".to_owned())), &request, outcome, explanation, Vec::new())
}

fn check(pods: Vec<PodReport>, wide: bool, expected: Expect) {
    let report = Report { pods, ..Report::new(EVALUATION) };
    expected.assert_eq(&for_people(&report, wide));
}

#[test]
fn a_rejected_pod_shows_each_handler_and_the_words_of_its_status() {
    let reject =
        || Verdict::Reject { reason: "NotNeeded".to_owned(), message: "no\nteam\u{1b}[31m".to_owned() };
    let not_matched = HandlerStep::NotMatched {
        rule: "match.namespaces".to_owned(),
        message: "the pod has the namespace shop".to_owned(),
    };
    let failure = HandlerResponse::Failure {
        kind: FailureKind::TimedOut,
        message: "no answer within 100ms".to_owned(),
        policy: FailurePolicy::Admit,
        retry_after: None,
    };
    let handlers = vec![
        handler("quiet", false, answered(HandlerResponse::Verdict(Verdict::Admit), true)),
        handler("other", false, not_matched),
        handler("slow", false, answered(failure, true)),
        handler("team", false, answered(HandlerResponse::Verdict(reject()), true)),
        handler("last", false, HandlerStep::NotAsked),
        handler("next", true, answered(HandlerResponse::Verdict(Verdict::Admit), false)),
        handler("beyond", false, answered(HandlerResponse::Verdict(reject()), false)),
    ];
    let decision = Decision::Reject {
        reason: "NotNeeded".to_owned(),
        message: "no\nteam".to_owned(),
        handler: Some("team".to_owned()),
    };
    check(
        vec![pod(Operation::Add, decision, Some("team"), handlers)],
        false,
        expect![[r#"
            web.yaml: document 1 (line 1): Job shop/web
            shop/web-xxxxx: rejected by team
              HANDLER   OUTCOME                TIME     MEMORY   MESSAGE
              quiet     admit                  80.0µs   3.0Mi
              other     not matched            -        -        match.namespaces: the pod has the namespace shop
              slow      failed                 80.0µs   3.0Mi    HandlerTimedOut: no answer within 100ms; it counts as admitted (failurePolicy Admit)
              team      reject                 80.0µs   3.0Mi    NotNeeded: no team�[31m
              last      not asked              -        -
              next      admit (shadow)         80.0µs   3.0Mi
              beyond    reject (not counted)   80.0µs   3.0Mi    NotNeeded: no team�[31m
              status: phase Failed, reason NotNeeded, message "Pod was rejected: no\nteam"

            1 pod: 1 rejected
        "#]],
    );
}

#[test]
fn a_pod_that_waits_shows_its_containers_and_a_resize_its_condition() {
    let retry_after = Duration::from_secs(5);
    let defer = Verdict::Defer { reason: "NotNow".to_owned(), message: "later".to_owned(), retry_after };
    let decision = Decision::Defer { reason: "NotNow".to_owned(), message: "later".to_owned(), retry_after };
    let waits = vec![handler("gate", false, answered(HandlerResponse::Verdict(defer), true))];
    let shortage = Shortage { resource: "cpu".to_owned(), requested: 5000, used: 0, capacity: 4000 };
    let short = vec![handler(
        "free",
        false,
        answered(HandlerResponse::Verdict(Verdict::Shortage(vec![shortage])), true),
    )];
    let out_of = Decision::Reject {
        reason: "OutOfcpu".to_owned(),
        message: "Node didn't have enough resource: cpu".to_owned(),
        handler: None,
    };
    check(
        vec![
            pod(Operation::Add, decision, Some("gate"), waits),
            pod(Operation::Resize, out_of, Some("free"), short),
            pod(Operation::Resize, Decision::Admit, None, Vec::new()),
        ],
        true,
        expect![[r#"
            web.yaml: document 1 (line 1): Job shop/web
            shop/web-xxxxx: deferred by gate
              HANDLER   OUTCOME   TIME     MEMORY   CPU      DIGEST         MESSAGE
              gate      defer     80.0µs   3.0Mi    60.0µs   0123456789ab   NotNow: later (again after 5.0s)
              status: phase Pending, reason NotNow, message "later"
              containers: waiting, reason Blocked, message "NotNow: later"

            web.yaml: document 1 (line 1): Job shop/web
            shop/web-xxxxx: deferred by free
              HANDLER   OUTCOME    TIME     MEMORY   CPU      DIGEST         MESSAGE
              free      shortage   80.0µs   3.0Mi    60.0µs   0123456789ab   cpu: requested 5000, used 0, capacity 4000
              condition: PodResizePending, reason Deferred, message "Node didn't have enough resource: cpu"

            web.yaml: document 1 (line 1): Job shop/web
            shop/web-xxxxx: admitted, and no handler was asked
              status: the pod gets what it asks for

            3 pods: 1 admitted, 2 deferred
        "#]],
    );
}

#[test]
fn what_was_passed_over_and_what_is_wrong_come_last() {
    let report = Report {
        skipped: vec!["web.yaml: document 2 (line 9): Service shop/web has no pod".to_owned()],
        problems: vec!["web.yaml: document 3 (line 14): kind is missing".to_owned()],
        ..Report::new(EVALUATION)
    };
    expect![[r#"
        skipped: web.yaml: document 2 (line 9): Service shop/web has no pod
        error: web.yaml: document 3 (line 14): kind is missing
    "#]]
    .assert_eq(&for_people(&report, false));
}

#[test]
fn each_wrong_rule_has_a_line_of_its_own() {
    let problem = "plugin \"rules\" is not loaded: the plugin refuses its configuration: validations[0].expression, line 1, column 1: the expression is empty; write what must be true\nvalidations[2].expression, line 2, column 21: SecurityContext has no field privilged; did you mean privileged?\nand 1 more expressions are wrong";
    let report = Report { problems: vec![problem.to_owned()], ..Report::new(EVALUATION) };
    expect![[r#"
        error: plugin "rules" is not loaded: the plugin refuses its configuration: validations[0].expression, line 1, column 1: the expression is empty; write what must be true
          validations[2].expression, line 2, column 21: SecurityContext has no field privilged; did you mean privileged?
          and 1 more expressions are wrong
    "#]]
    .assert_eq(&for_people(&report, false));
}
