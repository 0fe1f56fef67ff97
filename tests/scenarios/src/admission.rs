//! Which pod is judged when, together with which others, and what a verdict brings.

use std::time::Duration;

use expect_test::expect;
use witlet_core::admission::verdicts::HandlerOutcome;
use witlet_core::pod::PodUid;
use witlet_ports::{AgentView, PodDescription};
use witlet_testkit::{FakeAdmission, NOT_BEFORE_SECONDS, SourceHandle, container, pod};

use crate::support::{events, node, orders, pass, sleeper, started, status};

#[tokio::test(start_paused = true)]
async fn every_pod_is_judged_with_all_that_were_admitted_before() {
    let node = started();
    let cpu = |name: &str| pod(name).container(container("app", "sleeper:1").request("cpu", "1500m")).build();
    node.source.put("a", vec![cpu("one"), cpu("two"), cpu("three"), sleeper("four").build()]);
    pass(5.0).await;
    expect![[r#"
        one-node1 with 0
        two-node1 with 1
        three-node1 with 2
        four-node1 with 2"#]]
    .assert_eq(&node.admission.asked().join("\n"));
    expect!["Failed UnexpectedAdmissionError"].assert_eq(&status(&node, "three"));
    assert!(status(&node, "four").contains("app: running"));
    expect![[r#"
        UnexpectedAdmissionError ×1 Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [(res: cpu, q: 500), ]
    "#]]
    .assert_eq(&events(&node, "three"));
}

#[tokio::test(start_paused = true)]
async fn a_removed_pod_frees_what_it_had_for_the_next() {
    let node = started();
    let cpu = |name: &str| pod(name).container(container("app", "sleeper:1").request("cpu", "3")).build();
    node.source.put("a", vec![cpu("one")]);
    pass(3.0).await;
    node.source.put("a", vec![cpu("two")]);
    pass(3.0).await;
    assert!(status(&node, "two").contains("app: running"), "{}", status(&node, "two"));
}

#[tokio::test(start_paused = true)]
async fn a_hanging_handler_holds_up_no_pod_that_it_says_nothing_about() {
    let node = started();
    let mut pods = Vec::new();
    for n in 0..50 {
        pods.push(sleeper(&format!("hangs{n}")).label(FakeAdmission::hangs_label()).build());
        pods.push(sleeper(&format!("free{n}")).build());
    }
    node.source.put("all", pods);
    // Fifty hang for 100 ms each: one after the other, that would be 5 s before the last free pod is judged.
    pass(2.5).await;
    for n in 0..50 {
        let status = status(&node, &format!("free{n}"));
        assert!(status.contains("app: running"), "free{n} was held up: {status}");
    }
    pass(5.0).await;
    assert!(status(&node, "hangs0").contains("Blocked"), "{}", status(&node, "hangs0"));
    assert_eq!(node.agent().stats().deferred, 50);
}

#[tokio::test(start_paused = true)]
async fn a_deferred_pod_holds_nothing_and_is_asked_again_when_it_wished() {
    let node = started();
    let later = pod("later").annotation(NOT_BEFORE_SECONDS, "30");
    let later = later.container(container("app", "sleeper:1").request("cpu", "3")).build();
    let other = pod("other").container(container("app", "sleeper:1").request("cpu", "500m")).build();
    node.source.put("a", vec![later, other]);
    pass(5.0).await;
    expect!["Pending TooEarly app: Blocked(TooEarly: not before 2030-01-01T00:00:30Z), 0 restarts"]
        .assert_eq(&status(&node, "later"));
    assert!(status(&node, "other").contains("app: running"), "what is deferred holds no CPU");
    pass(20.0).await;
    assert!(!orders(&node).contains("later"));
    pass(10.0).await;
    assert!(status(&node, "later").contains("app: running"), "{}", status(&node, "later"));
    expect![[r#"
        later-node1 with 0
        other-node1 with 0
        later-node1 with 1
        later-node1 with 1"#]]
    .assert_eq(&node.admission.asked().join("\n"));
}

#[tokio::test(start_paused = true)]
async fn deferred_pods_are_asked_again_when_the_handlers_or_the_node_change() {
    let node = started();
    node.source.put("a", vec![sleeper("later").annotation(NOT_BEFORE_SECONDS, "100000").build()]);
    pass(5.0).await;
    let asked = node.admission.asked().len();
    node.admission.change();
    pass(2.0).await;
    assert_eq!(node.admission.asked().len(), asked + 1);
    node.set_facts(witlet_testkit::fixed_node());
    pass(2.0).await;
    assert_eq!(node.admission.asked().len(), asked + 2);
    pass(1000.0).await;
    assert_eq!(node.admission.asked().len(), asked + 2);
}

#[tokio::test(start_paused = true)]
async fn an_edited_pod_that_is_blocked_is_asked_again_as_it_is_now() {
    let node = started();
    let blocked = sleeper("p").uid("fixed").annotation(NOT_BEFORE_SECONDS, "100000").build();
    node.source.put("a", vec![blocked]);
    pass(5.0).await;
    node.source.put("a", vec![sleeper("p").uid("fixed").build()]);
    pass(5.0).await;
    assert!(status(&node, "p").contains("app: running"), "{}", status(&node, "p"));
}

#[tokio::test(start_paused = true)]
async fn each_pod_has_its_own_checkpoint_and_a_burst_shares_the_writes_of_allocations() {
    let node = started();
    node.state.set_delay(Duration::from_millis(100));
    let pods = (0..100).map(|n| sleeper(&format!("pod{n}")).uid(&format!("uid-{n}")).build());
    node.source.put("burst", pods.collect());
    pass(5.0).await;
    assert!((0..100).all(|n| status(&node, &format!("pod{n}")).contains("app: running")));
    for n in 0..100 {
        assert_eq!(node.state.saves(&format!("pods/uid-{n}/witlet-checkpoint.json")), 1);
    }
    let shared = node.state.saves("allocated_pods_state");
    assert!((1..=5).contains(&shared), "{shared} writes");
    pass(300.0).await;
    assert_eq!(node.state.saves("pods/uid-7/witlet-checkpoint.json"), 1, "what doesn't change isn't written");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_ends_while_it_writes_writes_what_is_under_way() {
    let mut node = started();
    node.state.set_delay(Duration::from_secs(1));
    for name in ["first", "second"] {
        node.source.put(name, vec![sleeper(name).uid(&format!("uid-{name}")).build()]);
        pass(1.2).await;
    }
    node.stop().await;
    for name in ["first", "second"] {
        assert_eq!(node.state.saves(&format!("pods/uid-{name}/witlet-checkpoint.json")), 1, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_that_cannot_be_read_costs_one_pod_and_what_earlier_builds_wrote_is_taken_over() {
    let mut node = started();
    for name in ["web", "db", "old"] {
        node.source.put(name, vec![sleeper(name).uid(&format!("uid-{name}")).build()]);
    }
    pass(5.0).await;
    let asked = node.admission.asked().len();
    node.kill();
    let of = |name: &str| format!("pods/uid-{name}/witlet-checkpoint.json");
    let admitted = node.state.values()[&of("old")].clone();
    let hash = serde_json::from_str::<serde_json::Value>(&admitted).expect("JSON")["admitted"].clone();
    let page = serde_json::json!({"version": 1, "admitted": {"uid-old": hash}});
    node.files.forget_checkpoint("uid-old");
    node.state.put("admitted-pods.json", page.to_string().as_bytes());
    node.state.put(&of("web"), b"{");
    node.start();
    pass(5.0).await;
    assert_eq!(node.admission.asked().len(), asked + 1, "only the one whose checkpoint is lost");
    let reported = node.agent().events();
    let lost: Vec<_> = reported.iter().filter(|reported| reported.event.reason == "CheckpointLost").collect();
    assert!(matches!(&lost[..], [reported] if reported.event.message.contains("uid-web")), "{lost:?}");
    assert_eq!(node.state.values()["admitted-pods.json"], r#"{"version":1,"admitted":{}}"#);
    assert_eq!(node.state.values()[&of("old")], admitted);
    assert_eq!(node.runtime.starts().len(), 3, "nothing was started again");
}

#[tokio::test(start_paused = true)]
async fn no_pod_starts_before_its_admission_is_saved() {
    let node = started();
    node.state.set_full(true);
    node.source.put("a", vec![sleeper("p").build()]);
    pass(10.0).await;
    assert_eq!(orders(&node), "");
    assert!(node.agent().unhealthy().iter().any(|why| why.contains("failed to save the state of")));
    let untold = || {
        let events = node.agent().events();
        let reported = events.iter().filter(|reported| reported.event.reason == "FailedSaveState");
        reported.map(|reported| (reported.event.object.to_string(), reported.count)).collect::<Vec<_>>()
    };
    assert_eq!(untold(), [("pod default/p-node1".to_owned(), 1)], "once, however often the write fails");
    node.source.put("b", (0..40).map(|n| sleeper(&format!("more{n}")).build()).collect());
    pass(1.5).await;
    assert_eq!(untold().len(), 41);
    node.state.set_full(false);
    pass(5.0).await;
    assert!(status(&node, "p").contains("app: running"), "{}", status(&node, "p"));
    assert_eq!(node.agent().unhealthy(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn new_pods_are_judged_only_when_every_source_was_seen_but_a_dead_source_holds_up_no_one_for_long() {
    let mut node = node();
    let slow = SourceHandle::new("slow", "node1");
    node.more_sources.push(slow.clone());
    node.start();
    node.source.put("a", vec![sleeper("p").build()]);
    pass(5.0).await;
    assert_eq!(node.admission.asked().len(), 0);
    pass(10.0).await;
    assert!(status(&node, "p").contains("app: running"), "{}", status(&node, "p"));
}

#[tokio::test(start_paused = true)]
async fn two_pods_of_one_name_in_one_source_are_distinguished_by_an_event() {
    let node = started();
    node.source.put("a", vec![sleeper("twin").build()]);
    node.source.put("b", vec![sleeper("twin").build()]);
    pass(5.0).await;
    assert!(events(&node, "twin").contains("FailedValidation"), "{}", events(&node, "twin"));
    assert_eq!(node.agent().pods().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_pod_shows_what_handlers_made_of_it_until_it_is_gone() {
    let node = started();
    let cpu = |name: &str| pod(name).container(container("app", "sleeper:1").request("cpu", "3")).build();
    node.source.put("a", vec![cpu("one"), cpu("two")]);
    pass(3.0).await;
    let uid = |name: &str| {
        let shown = node.agent().pods().into_iter().find(|pod| pod.metadata.name.as_deref() == Some(name));
        PodUid::of(&shown.expect("the pod is shown"))
    };
    let (one, two) = (uid("one-node1"), uid("two-node1"));
    let outcomes = |uid: &PodUid| -> Vec<HandlerOutcome> {
        node.agent().describe_pod(uid).verdicts.iter().map(|verdict| verdict.outcome).collect()
    };
    assert_eq!(outcomes(&one), [HandlerOutcome::Admitted]);
    assert_eq!(outcomes(&two), [HandlerOutcome::Rejected]);
    node.source.put("a", vec![]);
    pass(60.0).await;
    assert!(node.agent().pods().is_empty());
    assert_eq!(node.agent().describe_pod(&one), PodDescription::default());
}
