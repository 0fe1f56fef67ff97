//! What the exit code says of a report, and how a handler's answer is reported.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use witlet_core::admission::chain::FailureKind;
use witlet_core::admission::{Decision, Operation, Shortage};
use witlet_core::image::ResolvedImage;
use witlet_core::node::NodeFacts;
use witlet_core::pod::SourceName;

use super::*;

fn request() -> AdmissionRequest {
    let pod = json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": {"containers": []}});
    let pod: Pod = serde_json::from_value(pod).expect("a pod");
    AdmissionRequest {
        operation: Operation::Add,
        now: Timestamp::UNIX_EPOCH,
        pod: Arc::new(pod),
        old_pod: None,
        image: None,
        source: SourceName::from("api"),
        node: Arc::new(NodeFacts::default()),
        other_pods: Arc::new([]),
    }
}

fn pod(decision: Decision) -> PodReport {
    let request = request();
    let outcome = Outcome::of(&request.pod, request.operation, decision, request.now);
    PodReport::new((QuestionPlace::of_file(Path::new("web.yaml")), None), &request, outcome, None, Vec::new())
}

#[test]
fn the_exit_code_says_what_is_wrong_first_and_then_whether_all_are_admitted() {
    let admitted = || pod(Decision::Admit);
    let rejected = || pod(Decision::Reject { reason: "R".to_owned(), message: String::new(), handler: None });
    let deferred = || {
        let retry_after = Duration::from_secs(1);
        pod(Decision::Defer { reason: "D".to_owned(), message: String::new(), retry_after })
    };
    let preempting =
        || pod(Decision::Preempt { victims: Vec::new(), resource: "cpu".to_owned(), message: String::new() });
    let cases = [
        ("all are admitted", vec![admitted(), admitted()], 0, EvalResult::Admitted),
        ("one is rejected", vec![admitted(), rejected()], 0, EvalResult::NotAdmitted),
        ("one is deferred", vec![deferred(), admitted()], 0, EvalResult::NotAdmitted),
        ("one waits for others to end", vec![preempting()], 0, EvalResult::NotAdmitted),
        ("a document is invalid", vec![admitted()], 1, EvalResult::Invalid),
        ("invalid and rejected", vec![rejected()], 1, EvalResult::Invalid),
        ("nothing but a problem", vec![], 1, EvalResult::Invalid),
        ("a node without pods", vec![], 0, EvalResult::Admitted),
    ];
    for (what, pods, problems, expected) in cases {
        let report = Report { pods, problems: vec![String::new(); problems], ..Report::new(EVALUATION) };
        assert_eq!(report.result(), expected, "{what}");
    }
}

#[test]
fn a_place_is_a_file_a_document_or_an_item() {
    let document = Document { number: 2, line: 7 };
    let path = Path::new("web.yaml");
    assert_eq!(QuestionPlace::of_file(path).to_string(), "web.yaml");
    assert_eq!(QuestionPlace::of_file(Path::new("-")).to_string(), "standard input");
    assert_eq!(QuestionPlace::of_document(path, document, "").to_string(), "web.yaml: document 2 (line 7)");
    let item = QuestionPlace::of_document(path, document, "items[3]");
    assert_eq!(item.to_string(), "web.yaml: document 2 (line 7): items[3]");
    assert_eq!(json!(item), json!({"file": "web.yaml", "document": 2, "line": 7, "item": "items[3]"}));
}

/// What became of a question at a handler.
fn step(step: HandlerStep) -> HandlerReport {
    HandlerReport {
        name: "h".to_owned(),
        builtin: false,
        shadow: false,
        digest: None,
        failure_policy: FailurePolicy::Reject,
        step,
    }
}

/// Reports with all that they can have.
pub(crate) fn reports() -> Vec<serde_json::Value> {
    let reject = Decision::Reject { reason: "R".to_owned(), message: "m".to_owned(), handler: None };
    let answered = HandlerAnswer {
        warnings: vec!["it warns".to_owned()],
        annotations: [("rule".to_owned(), "7".to_owned())].into(),
        log: vec![CapturedLine {
            level: "info",
            message: "asked".to_owned(),
            fields: vec![("name".to_owned(), "web".to_owned())],
        }],
        ..answer(HandlerResponse::Verdict(Verdict::Reject {
            reason: "R".to_owned(),
            message: "m".to_owned(),
        }))
    };
    let shortage = Shortage { resource: "cpu".to_owned(), requested: 5, used: 1, capacity: 4 };
    let failure = HandlerResponse::Failure {
        kind: FailureKind::Trapped,
        message: "it trapped".to_owned(),
        policy: FailurePolicy::Admit,
        retry_after: None,
    };
    let unmatched = HandlerStep::NotMatched { rule: "match".to_owned(), message: "another".to_owned() };
    let retry_after = Duration::from_secs(1);
    let defer = Verdict::Defer { reason: "D".to_owned(), message: "m".to_owned(), retry_after };
    let steps = [
        HandlerStep::Answered(answered),
        HandlerStep::Answered(answer(HandlerResponse::Verdict(Verdict::Shortage(vec![shortage])))),
        HandlerStep::Answered(answer(HandlerResponse::Verdict(defer))),
        HandlerStep::Answered(answer(failure)),
        HandlerStep::NotAsked,
        unmatched,
    ];
    let explanation = Explanation {
        decision: reject.clone(),
        decided_by: Some("h".to_owned()),
        handlers: steps.map(step).into(),
    };
    let place =
        || QuestionPlace::of_document(Path::new("web.yaml"), Document { number: 1, line: 1 }, "items[0]");
    let of = |operation: Operation, decision: Decision, explanation: Option<Explanation>| {
        let image = (operation == Operation::ImageResolved).then(|| {
            let container = "app".to_owned();
            let id = "app:1".to_owned();
            Arc::new(ResolvedImage { container, id, digest: None, size_bytes: None, credentials: None })
        });
        let request = AdmissionRequest { operation, image, ..request() };
        let outcome = Outcome::of(&request.pod, operation, decision, request.now);
        let preempts = vec!["shop/db".to_owned()];
        PodReport::new((place(), Some("Pod shop/web".to_owned())), &request, outcome, explanation, preempts)
    };
    let all = Operation::ALL.map(|operation| of(operation, reject.clone(), Some(explanation.clone())));
    let report = Report {
        pods: all.into(),
        skipped: vec!["a Service".to_owned()],
        problems: vec!["no pod".to_owned()],
        ..Report::new(EVALUATION)
    };
    let least = Report { pods: vec![pod(Decision::Admit)], ..Report::new(EVALUATION) };
    [report, least].map(|report| json!(report)).into()
}

fn answer(response: HandlerResponse) -> HandlerAnswer {
    HandlerAnswer {
        response,
        counts: true,
        fault: None,
        warnings: Vec::new(),
        annotations: Default::default(),
        took: Duration::from_micros(80),
        cpu: Duration::from_micros(60),
        memory_bytes_peak: 1 << 20,
        log: Vec::new(),
    }
}

/// An answer as programs see it, without what is the same for all.
fn line(response: HandlerResponse) -> serde_json::Value {
    let line = json!(HandlerLine::new(step(HandlerStep::Answered(answer(response)))));
    let fields = ["outcome", "reason", "message", "retryAfterSeconds", "shortages", "effect"];
    let kept = fields.into_iter().filter(|field| !line[*field].is_null());
    kept.map(|field| (field.to_owned(), line[field].clone())).collect::<serde_json::Map<_, _>>().into()
}

#[test]
fn each_answer_is_reported_with_what_it_comes_to() {
    let (reason, message) = ("R".to_owned(), "m".to_owned());
    let verdict = |verdict| HandlerResponse::Verdict(verdict);
    let retry_after = Duration::from_millis(1500);
    let shortage = Shortage { resource: "cpu".to_owned(), requested: 5, used: 1, capacity: 4 };
    let failure = |policy| HandlerResponse::Failure {
        kind: FailureKind::Trapped,
        message: "it trapped".to_owned(),
        policy,
        retry_after: None,
    };
    let failed = |effect: &str| json!({"outcome": "failed", "reason": "HandlerTrapped", "message": "it trapped", "effect": effect});
    let cases = [
        (verdict(Verdict::Admit), json!({"outcome": "admit"})),
        (
            verdict(Verdict::Reject { reason: reason.clone(), message: message.clone() }),
            json!({"outcome": "reject", "reason": "R", "message": "m"}),
        ),
        (
            verdict(Verdict::Defer { reason, message, retry_after }),
            json!({"outcome": "defer", "reason": "R", "message": "m", "retryAfterSeconds": 1.5}),
        ),
        (
            verdict(Verdict::Shortage(vec![shortage])),
            json!({"outcome": "shortage", "shortages": [{"resource": "cpu", "requested": 5, "used": 1, "capacity": 4}]}),
        ),
        (failure(FailurePolicy::Reject), failed("the pod is rejected (failurePolicy Reject)")),
        (failure(FailurePolicy::Admit), failed("it counts as admitted (failurePolicy Admit)")),
        (failure(FailurePolicy::Defer), failed("the pod waits (failurePolicy Defer)")),
    ];
    for (response, expected) in cases {
        assert_eq!(line(response.clone()), expected, "{response:?}");
    }
}
