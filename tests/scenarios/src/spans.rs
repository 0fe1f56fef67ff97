//! The work on pods as spans.

use std::sync::Arc;

use expect_test::{Expect, expect};
use witlet_testkit::{FakeNode, REJECTED_BY, RecordedSpans};

use crate::support::{node, pass, sleeper};

/// What was recorded of the pod, without its UID, which differs.
fn check(spans: &RecordedSpans, expected: &Expect) {
    let lines = spans.tree().into_iter().map(|line| {
        let words =
            line.split(' ').filter(|word| !word.starts_with("k8s.pod.uid=") || *word == "k8s.pod.uid=u-1");
        words.collect::<Vec<_>>().join(" ") + "\n"
    });
    expected.assert_eq(&lines.collect::<String>());
}

fn traced() -> (FakeNode, Arc<RecordedSpans>) {
    let mut node = node();
    let (tracer, spans) = RecordedSpans::tracer();
    node.tracer = tracer;
    node.start();
    (node, spans)
}

#[tokio::test(start_paused = true)]
async fn a_pods_admission_syncs_and_end_are_spans_with_upstreams_attributes() {
    let (node, spans) = traced();
    pass(1.5).await;
    let pod = sleeper("web").uid("u-1");
    node.source.put("web", vec![pod.clone().build()]);
    pass(1.6).await;
    node.source.put("web", vec![pod.label(("a", "b")).build()]);
    pass(1.0).await;
    node.source.put("web", Vec::new());
    pass(60.0).await;
    check(&spans, &expect![[""]]);
}

#[tokio::test(start_paused = true)]
async fn a_sync_that_fails_is_a_failed_span_with_the_pods_warnings() {
    let (node, spans) = traced();
    pass(1.5).await;
    node.runtime.fail_next("RunPodSandbox", 1);
    node.source.put("web", vec![sleeper("web").uid("u-1").build()]);
    pass(1.0).await;
    let all = spans.all();
    let failed = all.iter().find(|span| span.name == "syncPod").expect("a sync");
    let warnings: Vec<&str> = failed.events.iter().filter_map(|event| event.message()).collect();
    expect![[""]].assert_eq(&format!("{:?}\n{warnings:#?}\n", failed.status));
}

#[tokio::test(start_paused = true)]
async fn collections_of_garbage_are_spans_where_there_is_any() {
    let (node, spans) = traced();
    node.source.put("web", vec![sleeper("web").uid("u-1").build()]);
    pass(10.0).await;
    let names = |spans: &RecordedSpans| -> Vec<String> {
        let all = spans.all();
        let of_garbage = all.iter().filter(|span| span.name.ends_with("GarbageCollect"));
        of_garbage.map(|span| span.name.to_string()).collect()
    };
    assert_eq!(names(&spans), ["Images/GarbageCollect"], "at the start");
    node.source.put("web", Vec::new());
    pass(120.0).await;
    assert!(names(&spans).contains(&"Containers/GarbageCollect".to_owned()), "{:?}", names(&spans));
}

#[tokio::test(start_paused = true)]
async fn what_the_handlers_refuse_is_in_the_span_of_the_admission() {
    let (node, spans) = traced();
    node.source.put("web", vec![sleeper("web").uid("u-1").label((REJECTED_BY, "no-web")).build()]);
    pass(5.0).await;
    check(&spans, &expect![[""]]);
}
