//! The work on pods as spans.

use std::sync::Arc;

use witlet_core::trace::{SpanEvent, SpanStatus};
use witlet_testkit::{FakeNode, REJECTED_BY, RecordedSpans};

use crate::support::{node, pass, sleeper};

/// What every span of the pod `web` says of it.
const WEB: &str =
    "k8s.pod.uid=u-1 k8s.pod=default/web-node1 k8s.pod.name=web-node1 k8s.namespace.name=default";

fn traced() -> (FakeNode, Arc<RecordedSpans>) {
    let mut node = node();
    let (tracer, spans) = RecordedSpans::tracer();
    node.tracer = tracer;
    node.start();
    (node, spans)
}

/// Each of these spans was recorded, in this order of their beginnings.
fn has(spans: &RecordedSpans, expected: &[String]) {
    let lines = spans.tree();
    let mut rest = lines.iter();
    for line in expected {
        assert!(
            rest.any(|found| found == line),
            "{line} isn't in, or not in this order:\n{}",
            lines.join("\n")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_pods_admission_syncs_and_end_are_spans_with_upstreams_attributes() {
    let (node, spans) = traced();
    pass(1.5).await;
    let pod = sleeper("web").uid("u-1");
    node.source.put("web", vec![pod.clone().build()]);
    pass(10.0).await;
    node.source.put("web", vec![pod.label(("a", "b")).build()]);
    pass(10.0).await;
    node.source.put("web", Vec::new());
    pass(60.0).await;
    let expected = [
        format!("admitPod {WEB} witlet.admission.decision=admit"),
        format!("syncPod {WEB} k8s.pod.update_type=create"),
        format!("syncPod {WEB} k8s.pod.update_type=update"),
        format!("syncTerminatingPod {WEB}"),
        format!("syncTerminatedPod {WEB}"),
    ];
    has(&spans, &expected);
    assert!(spans.all().iter().all(|span| span.parent.is_none()), "each is a trace of its own");
}

#[tokio::test(start_paused = true)]
async fn a_sync_that_fails_is_a_failed_span_with_the_pods_warnings() {
    let (node, spans) = traced();
    pass(1.5).await;
    node.runtime.fail_next("RunPodSandbox", 1);
    node.source.put("web", vec![sleeper("web").uid("u-1").build()]);
    pass(60.0).await;
    let all = spans.all();
    let syncs: Vec<_> = all.iter().filter(|span| span.name == "syncPod").collect();
    let [failed, .., last] = &syncs[..] else { panic!("two syncs: {syncs:?}") };
    let warning = failed.events.last().and_then(SpanEvent::message).expect("a warning");
    assert!(warning.contains("sandbox"), "{warning}");
    assert_eq!(failed.status, SpanStatus::error(warning));
    assert_eq!(last.status, SpanStatus::Unset, "{last:?}");
}

#[tokio::test(start_paused = true)]
async fn collections_of_garbage_are_spans_where_there_is_any() {
    let (node, spans) = traced();
    node.source.put("web", vec![sleeper("web").uid("u-1").build()]);
    pass(10.0).await;
    has(&spans, &["Images/GarbageCollect".to_owned()]);
    let all = spans.all();
    assert!(all.iter().all(|span| span.name != "Containers/GarbageCollect"), "nothing is dead");
    node.source.put("web", Vec::new());
    pass(120.0).await;
    has(&spans, &["Containers/GarbageCollect".to_owned()]);
}

#[tokio::test(start_paused = true)]
async fn what_the_handlers_refuse_is_in_the_span_of_the_admission() {
    let (node, spans) = traced();
    node.source.put("web", vec![sleeper("web").uid("u-1").label((REJECTED_BY, "no-web")).build()]);
    pass(5.0).await;
    let refused = "witlet.admission.decision=reject witlet.admission.reason=NotNeeded";
    has(&spans, &[format!("admitPod {WEB} {refused}")]);
}
