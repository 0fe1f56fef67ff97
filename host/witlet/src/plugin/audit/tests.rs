//! Which pods are judged, next to which others, and what people see.

use expect_test::expect;
use serde_json::json;
use witlet_core::admission::Decision;
use witlet_core::admission::outcome::Outcome;

use super::*;

fn pod(name: &str, phase: &str, annotations: serde_json::Value) -> Pod {
    let pod = json!({
        "metadata": {"name": name, "namespace": "shop", "uid": name, "annotations": annotations},
        "spec": {"containers": []}, "status": {"phase": phase},
    });
    serde_json::from_value(pod).expect("a pod")
}

#[test]
fn each_pod_that_runs_or_waits_is_asked_about_next_to_the_others() {
    let source = |source: &str| json!({ "kubernetes.io/config.source": source });
    let pods = vec![
        pod("web", "Running", source("api")),
        pod("static", "Pending", source("file")),
        pod("done", "Succeeded", source("api")),
        pod("failed", "Failed", source("api")),
        pod("mirror", "Running", json!({"kubernetes.io/config.mirror": "1"})),
        pod("plain", "Unknown", json!({})),
    ];
    let asked = questions(pods, Arc::new(NodeFacts::default()), Timestamp::UNIX_EPOCH);
    let name = |pod: &Pod| pod.metadata.name.clone().unwrap_or_default();
    let shown: Vec<String> = asked
        .iter()
        .map(|request| {
            let others: Vec<String> = request.other_pods.iter().map(|other| name(&other.pod)).collect();
            format!("{} of {} next to {}", name(&request.pod), request.source, others.join(", "))
        })
        .collect();
    expect![[r#"
        web of api next to static, plain
        static of file next to web, plain
        plain of api next to web, static"#]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn a_pod_that_was_put_off_takes_nothing_of_the_node() {
    let mut put_off = pod("late", "Pending", json!({}));
    let waiting = json!([{"name": "app", "image": "", "imageID": "", "ready": false, "restartCount": 0,
        "state": {"waiting": {"reason": "Blocked"}}}]);
    let status = put_off.status.get_or_insert_default();
    status.container_statuses = serde_json::from_value(waiting).expect("statuses");
    let pods = vec![pod("web", "Running", json!({})), put_off];
    let asked = questions(pods, Arc::new(NodeFacts::default()), Timestamp::UNIX_EPOCH);
    let others: Vec<usize> = asked.iter().map(|request| request.other_pods.len()).collect();
    assert_eq!(others, [0, 1]);
}

#[test]
fn people_see_who_would_not_be_admitted_and_programs_see_all() {
    let place = QuestionPlace::of_file(std::path::Path::new("/run/witlet/witlet.sock"));
    let pods = vec![pod("web", "Running", json!({})), pod("db", "Running", json!({}))];
    let asked = questions(pods, Arc::new(NodeFacts::default()), Timestamp::UNIX_EPOCH);
    let reject = Decision::Reject { reason: "NotNeeded".to_owned(), message: "no".to_owned(), handler: None };
    let decisions = [Decision::Admit, reject];
    let mut report = Report::new(AUDIT);
    for (request, decision) in asked.iter().zip(decisions) {
        let outcome = Outcome::of(&request.pod, request.operation, decision, request.now);
        report.pods.push(PodReport::new((place.clone(), None), request, outcome, None, Vec::new()));
    }
    report.problems.push("plugin \"a\" is not loaded".to_owned());
    expect![[r#"
        NAMESPACE   NAME   OUTCOME    HANDLER   REASON      MESSAGE
        shop        db     rejected   -         NotNeeded   Pod was rejected: no
        2 pods, 1 would not be admitted
        error: plugin "a" is not loaded
    "#]]
    .assert_eq(&for_people(&report, false));
    assert_eq!(for_people(&report, true).lines().count(), 5);
    assert_eq!(json!(report)["pods"][0]["outcome"], "admitted");
}
