//! Tables of reviews: what is asked, and what is answered.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::admission::Verdict;
use crate::admission::chain::HandlerResponse;
use crate::admission::verdicts::Remarks;
use crate::fixtures::{at, property};

/// A review of a pod's creation, changed by these fields of its request.
fn review(changes: Value) -> Value {
    let mut request = json!({
        "uid": "705ab4f5", "operation": "CREATE", "namespace": "prod", "name": "web", "dryRun": false,
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "userInfo": {"username": "admin"}, "oldObject": null, "options": null,
        "object": {
            "metadata": {"name": "web", "namespace": "prod", "uid": "u1"},
            "spec": {"containers": [{"name": "app", "image": "app:1"}]},
        },
    });
    for (name, value) in changes.as_object().into_iter().flatten() {
        request[name] = value.clone();
    }
    json!({"apiVersion": API_VERSION, "kind": "AdmissionReview", "request": request})
}

fn read_json(review: &Value) -> Result<Review, ReviewError> {
    read(review.to_string().as_bytes())
}

/// What a review comes to, in a few words.
fn word(question: &ReviewQuestion) -> String {
    match question {
        ReviewQuestion::None(answer) if answer.warnings.is_empty() => "allow".to_owned(),
        ReviewQuestion::None(answer) => format!("allow, {}", answer.warnings.join(", ")),
        ReviewQuestion::Pod { operation, pod, old_pod } => {
            let of = |text: &Option<String>| text.clone().unwrap_or_default();
            let metadata = &pod.metadata;
            let old = if old_pod.is_some() { ", with the old one" } else { "" };
            format!(
                "{operation:?} {}/{} {}{old}",
                of(&metadata.namespace),
                of(&metadata.name),
                of(&metadata.uid)
            )
        }
    }
}

#[test]
fn new_pods_resizes_images_and_ephemeral_containers_are_asked_about_and_nothing_else() {
    let pod = |metadata: Value| json!({"object": {"metadata": metadata, "spec": {"containers": []}}});
    let of = |group: &str, resource: &str| json!({"resource": {"group": group, "version": "v1", "resource": resource}});
    let was = |image: &str, debug: &[&str]| {
        let debug: Vec<Value> = debug.iter().map(|name| json!({"name": name, "image": "dbg:1"})).collect();
        json!({
            "metadata": {"name": "web", "namespace": "prod", "uid": "u1"},
            "spec": {"containers": [{"name": "app", "image": image}], "ephemeralContainers": debug},
        })
    };
    let edit = |subresource: &str, old: Value, new: &Value| json!({"operation": "UPDATE", "subResource": subresource, "oldObject": old, "object": new});
    let mirror = json!({"name": "web", "annotations": {"kubernetes.io/config.mirror": "1"}});
    let cases = [
        (json!({}), "Add prod/web u1"),
        (json!({"dryRun": true}), "Add prod/web u1"),
        (json!({"subResource": "resize", "operation": "UPDATE"}), "Resize prod/web u1"),
        (
            json!({"subResource": "resize", "operation": "UPDATE", "oldObject": was("app:1", &[])}),
            "Resize prod/web u1, with the old one",
        ),
        (json!({"subResource": "ephemeralcontainers", "operation": "UPDATE"}), "allow"),
        (
            edit("ephemeralcontainers", was("app:1", &[]), &was("app:1", &["dbg"])),
            "Ephemeral prod/web u1, with the old one",
        ),
        (edit("ephemeralcontainers", Value::Null, &was("app:1", &["dbg"])), "Ephemeral prod/web u1"),
        (edit("ephemeralcontainers", was("app:1", &["dbg"]), &was("app:1", &["dbg"])), "allow"),
        (edit("", was("app:1", &[]), &was("app:2", &[])), "Update prod/web u1, with the old one"),
        (edit("", was("app:1", &[]), &was("app:1", &[])), "allow"),
        (edit("", Value::Null, &was("app:2", &[])), "allow"),
        (json!({"operation": "UPDATE"}), "allow"),
        (json!({"operation": "DELETE", "object": null}), "allow"),
        (
            json!({"operation": "CONNECT", "subResource": "exec", "object": {"kind": "PodExecOptions"}}),
            "allow",
        ),
        (json!({"subResource": "binding", "object": {"kind": "Binding"}}), "allow"),
        (json!({"subResource": "status", "operation": "UPDATE"}), "allow"),
        (of("", "services"), "allow"),
        (of("apps", "deployments"), "allow"),
        (of("example.com", "pods"), "allow"),
        (pod(mirror), "allow"),
        (pod(json!({"generateName": "web-"})), "Add prod/web 705ab4f5"),
        (pod(json!({"name": "", "namespace": "", "uid": ""})), "Add prod/web 705ab4f5"),
        (pod(json!({"name": "other", "namespace": "own"})), "Add own/other 705ab4f5"),
    ];
    for (changes, expected) in cases {
        let read = read_json(&review(changes.clone())).expect("it is a review");
        assert_eq!((word(&read.question).as_str(), read.uid.as_str()), (expected, "705ab4f5"), "{changes}");
    }
}

#[test]
fn what_is_no_review_is_refused_with_the_field() {
    let with = |field: &str, value: Value| {
        let mut whole = review(json!({}));
        whole[field] = value;
        whole.to_string()
    };
    let request = |changes: Value| review(changes).to_string();
    let cases = [
        (String::new(), "the body must be an AdmissionReview in JSON: EOF"),
        ("7".to_owned(), "the body must be an AdmissionReview in JSON: invalid type"),
        ("{}".to_owned(), "apiVersion must be admission.k8s.io/v1, found \"\""),
        (with("apiVersion", json!("admission.k8s.io/v1beta1")), "found \"admission.k8s.io/v1beta1\""),
        (with("kind", json!("Review")), "kind must be AdmissionReview, found \"Review\""),
        (with("request", Value::Null), "request must be a request"),
        (with("request", json!({"uid": "a"})), "missing field `resource`"),
        (request(json!({"uid": ""})), "request.uid must be a word of at most 128 bytes, found \"\""),
        (
            request(json!({"uid": "a".repeat(129)})),
            "request.uid must be a word of at most 128 bytes, found \"aaa",
        ),
        (request(json!({"object": null})), "request.object must be a Pod: invalid type: null"),
        (request(json!({"oldObject": 7})), "request.oldObject must be a Pod: invalid type"),
        (
            request(json!({"object": {"spec": {"containers": 7}}})),
            "request.object must be a Pod: invalid type",
        ),
        (with("apiVersion", json!("\u{1b}[2J".repeat(100))), "…\""),
    ];
    for (body, expected) in cases {
        let error = read(body.as_bytes()).expect_err(expected);
        let text = crate::error::one_line(&error);
        assert!(text.contains(expected), "{text:?} has no {expected:?}");
        assert!(text.len() < 300 && !text.contains('\u{1b}'), "{text:?}");
    }
}

#[test]
fn a_rejection_denies_and_what_only_the_node_can_say_warns() {
    let text = |text: &str| text.to_owned();
    let reject = |reason: &str, message: &str| Decision::Reject {
        reason: text(reason),
        message: text(message),
        handler: Some(text("team-label")),
    };
    let by_plugin = "no label team (plugin team-label, sha256:c0dd30ab637d)";
    let short = "Node didn't have enough resource: licences, requested: 1, used: 0, capacity: 0";
    let defer = |reason: &str| Decision::Defer {
        reason: text(reason),
        message: text("in vain"),
        retry_after: Duration::from_secs(1),
    };
    let preempt =
        Decision::Preempt { victims: Vec::new(), resource: text("cpu"), message: text("Preempting 1 pod") };
    let cases = [
        (Decision::Admit, json!({"allowed": true})),
        (
            reject("TeamMissing", by_plugin),
            json!({"allowed": false, "status": {
                "status": "Failure", "code": 403, "reason": "TeamMissing", "message": format!("TeamMissing: {by_plugin}"),
            }}),
        ),
        (
            reject("UnexpectedAdmissionError", "Admission handler team-label trapped: unreachable"),
            json!({"allowed": false, "status": {
                "status": "Failure", "code": 403, "reason": "UnexpectedAdmissionError",
                "message": "UnexpectedAdmissionError: Admission handler team-label trapped: unreachable",
            }}),
        ),
        (
            reject("OutOflicences", short),
            json!({"allowed": true, "warnings": [
                format!("witlet: only the node can say whether it has the resources: OutOflicences: {short}"),
            ]}),
        ),
        (
            defer("HandlerTrapped"),
            json!({"allowed": true, "warnings": ["witlet: the pod waits on its node while this is so: HandlerTrapped: in vain"]}),
        ),
        (
            preempt,
            json!({"allowed": true, "warnings": ["witlet: only the node can say whether it has the resources: Preempting 1 pod"]}),
        ),
    ];
    for (decision, expected) in cases {
        let body = answer(Operation::Add, decision.clone()).to_json("705ab4f5").expect("JSON");
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        let mut response = expected;
        response["uid"] = json!("705ab4f5");
        let whole = json!({"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response});
        assert_eq!(body, whole, "{decision:?}");
    }
    for (operation, words) in [
        (Operation::Resize, "witlet: the pod waits on its node while this is so: Later: in vain"),
        (Operation::Update, "witlet: the new images wait on its node while this is so: Later: in vain"),
        (
            Operation::Ephemeral,
            "witlet: the ephemeral containers wait on its node while this is so: Later: in vain",
        ),
    ] {
        assert_eq!(answer(operation, defer("Later")).warnings, [words]);
    }
    assert!(
        answer(Operation::Add, reject("OutOfOffice", "of its own")).denial.is_some(),
        "a word like it is no shortage"
    );
}

#[test]
fn a_warning_has_at_most_256_characters_on_one_line() {
    let long = Decision::Defer {
        reason: "Later".to_owned(),
        message: "ä\n".repeat(1000),
        retry_after: Duration::from_secs(1),
    };
    let warnings = answer(Operation::Add, long).warnings;
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert_eq!(warning.chars().count(), 256);
    assert!(warning.ends_with('…') && !warning.contains('\n'), "{warning:?}");
    assert_eq!(shortened("just so", 7), "just so");
}

/// The verdict of a handler that warns of this.
fn warns(handler: &str, digest: Option<&str>, warnings: &[&str]) -> HandlerVerdict {
    let asked = (Operation::Add, at(0));
    let admit = HandlerResponse::Verdict(Verdict::Admit);
    let verdict = HandlerVerdict::new(handler.into(), digest.map(Into::into), asked, &admit, Duration::ZERO);
    let warnings = warnings.iter().map(|&warning| warning.to_owned()).collect();
    verdict.with_remarks(Remarks { warnings, ..Remarks::default() })
}

#[test]
fn what_handlers_warn_of_reaches_the_user_behind_the_answers_own_words() {
    let (defer, reject) = (
        Decision::Defer {
            reason: "Later".to_owned(),
            message: "in vain".to_owned(),
            retry_after: Duration::ZERO,
        },
        Decision::Reject { reason: "No".to_owned(), message: "never".to_owned(), handler: None },
    );
    let digest = "0123456789abcdef";
    let verdicts = [
        warns("team", Some(digest), &["no label team", "no\nowner"]),
        warns("silent", Some(digest), &[]),
        warns("loading", None, &["later"]),
    ];
    let of_handlers = [
        "no label team (plugin team, sha256:0123456789ab)",
        "no owner (plugin team, sha256:0123456789ab)",
        "later",
    ];
    let deferred = "witlet: the pod waits on its node while this is so: Later: in vain";
    for (decision, denied, own) in
        [(Decision::Admit, false, None), (reject, true, None), (defer, false, Some(deferred))]
    {
        let answer = answer(Operation::Add, decision).with_warnings_of(&verdicts);
        let expected: Vec<&str> = own.into_iter().chain(of_handlers).collect();
        assert_eq!(answer.denial.is_some(), denied);
        assert_eq!(answer.warnings, expected);
    }
}

#[test]
fn long_warnings_keep_who_gives_them_and_together_stay_within_what_api_servers_hand_on() {
    let long = "ä".repeat(1000);
    let many: Vec<&str> = (0..16).map(|_| long.as_str()).collect();
    let verdicts = [warns("a", Some("0123"), &many), warns("b", Some("0123"), &many)];
    let warnings = ReviewAnswer::default().with_warnings_of(&verdicts).warnings;
    assert_eq!(warnings.len(), WARNINGS_CHARS_MAX / WARNING_CHARS_MAX);
    for warning in &warnings {
        assert_eq!(warning.chars().count(), WARNING_CHARS_MAX, "{warning:?}");
        assert!(warning.ends_with("… (plugin a, sha256:0123)"), "{warning:?}");
    }
}

proptest! {
    #![proptest_config(property(256))]

    #[test]
    fn bytes_that_are_no_review_are_refused_and_never_a_panic(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(read(&body).is_err());
    }

    #[test]
    fn whatever_the_words_of_a_request_it_is_a_question_or_an_error(
        resource in "(pods|nodes|[a-z]{0,4})", sub_resource in "(resize|ephemeralcontainers|[a-z]{0,3})",
        operation in "(CREATE|UPDATE|DELETE|[A-Z]{0,3})", uid in ".{0,40}", has_object in any::<bool>(),
    ) {
        let mut changes = json!({
            "resource": {"resource": resource}, "subResource": sub_resource, "operation": operation, "uid": uid,
        });
        if !has_object {
            changes["object"] = Value::Null;
        }
        if let Ok(read) = read_json(&review(changes)) {
            prop_assert_eq!(read.uid, uid);
            let asks = matches!(read.question, ReviewQuestion::Pod { .. });
            prop_assert!(!asks || (resource == "pods" && has_object));
        }
    }
}
