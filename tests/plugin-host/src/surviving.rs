//! Plugins that attack the host: each ends as a named error under its failure policy, and everything still works.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;
use witlet_core::admission::Decision;
use witlet_core::node::NodeFacts;
use witlet_ports::NodeWatch;
use witlet_wasm::plugin::{FAILURES_TO_QUARANTINE, PluginState, ShadowReport, TIMEOUTS_TO_QUARANTINE};

use crate::claims;
use crate::node::{Node, Setting, cache, hostile, pod, pod_in};

claims!(
    each_attack_has_its_name,
    a_failure_means_what_the_policy_says,
    a_rejection_with_a_malformed_reason_stays_a_rejection,
    attacks_leave_the_host_working,
    repeated_timeouts_quarantine_the_plugin,
    an_error_of_its_own_does_not_quarantine_a_plugin,
    warm_instances_are_used_again_and_retire,
    a_used_instance_that_runs_out_of_memory_gets_another_try,
    a_handle_of_an_earlier_request_is_refused,
    a_hanging_plugin_does_not_hold_up_pods_it_does_not_match,
    an_instance_that_grew_near_its_limit_is_not_kept,
    a_shadow_changes_nothing_and_its_differences_are_reported,
    a_shadow_that_hangs_or_traps_costs_no_pod_anything,
    a_rejection_is_asked_for_again_on_a_newer_node,
);

/// Behaviour, reason in the pod's status, and a part of the message.
const ATTACKS: &[(&str, &str, &str)] = &[
    ("loop-in-admit", "HandlerTimedOut", "no answer within 100ms"),
    ("memory-bomb", "HandlerOutOfMemory", "it exceeded its memory limit of 16777216 bytes"),
    ("recursion", "HandlerTrapped", "it ran out of stack"),
    ("trap", "HandlerTrapped", "unreachable"),
    ("panic", "HandlerTrapped", "unreachable"),
    ("exit", "HandlerTrapped", "it exited with code 1"),
    ("sleep", "HandlerTrapped", "the plugin waited in wasi:io/poll"),
    ("huge-result", "HandlerTrapped", "it passed more than 2097152 bytes in one call"),
    ("error", "HandlerFailed", "I refuse to answer"),
    ("empty-shortage", "HandlerBadAnswer", "the list of shortages is empty"),
];

async fn each_attack_has_its_name() {
    let entries: String = ATTACKS
        .iter()
        .map(|(behaviour, ..)| {
            hostile(behaviour, behaviour, &format!("match: {{namespaces: [{behaviour}]}}"))
        })
        .collect();
    let node = Node::with(&entries).await;
    for (behaviour, expected, words) in ATTACKS {
        match node.admit(pod_in(behaviour, "web")).await {
            Decision::Defer { reason, message, .. } => {
                assert_eq!(reason, *expected, "{behaviour}: {message}");
                assert!(message.contains(words) && message.contains(behaviour), "{behaviour}: {message}");
            }
            other => panic!("{behaviour}: {other:?}"),
        }
    }
}

async fn a_failure_means_what_the_policy_says() {
    for behaviour in ["trap", "loop-in-admit", "memory-bomb", "error"] {
        let entries = hostile("strict", behaviour, "failurePolicy: Reject, match: {namespaces: [strict]}")
            + &hostile("lenient", behaviour, "failurePolicy: Admit, match: {namespaces: [lenient]}");
        let node = Node::with(&entries).await;
        assert!(matches!(node.admit(pod_in("strict", "web")).await, Decision::Reject { .. }), "{behaviour}");
        assert_eq!(node.admit(pod_in("lenient", "web")).await, Decision::Admit, "{behaviour}");
    }
}

async fn a_rejection_with_a_malformed_reason_stays_a_rejection() {
    let cases = [
        ("empty-reason", "Rejected", "the reason is empty"),
        ("bad-word", "NotAWord", "the reason \"not a word\" isn't a CamelCase word"),
    ];
    for (behaviour, expected, fault) in cases {
        let node = Node::with(&hostile("careless", behaviour, "failurePolicy: Admit")).await;
        for _ in 0..=FAILURES_TO_QUARANTINE {
            let decision = node.admit(pod("web")).await;
            let Decision::Reject { reason, .. } = decision else { panic!("{behaviour}: {decision:?}") };
            assert_eq!(reason, expected);
        }
        let status = node.status("careless");
        assert_eq!((status.state, status.errors()), (PluginState::Ready, 0), "{behaviour}");
        assert_eq!(status.last_error.as_deref(), Some(fault));
        assert_eq!(node.events.reasons(), ["PluginVerdictSanitized"], "{behaviour}: once, not for each pod");
    }
}

async fn attacks_leave_the_host_working() {
    let attackers: String = ATTACKS
        .iter()
        .map(|(behaviour, ..)| hostile(behaviour, behaviour, "failurePolicy: Admit, order: 1"))
        .collect();
    let node = Node::with(&(attackers + &hostile("good", "reject", "order: 2"))).await;
    for round in 0..8 {
        let decision = node.admit(pod("web")).await;
        assert!(
            matches!(&decision, Decision::Reject { reason, .. } if reason == "NotNeeded"),
            "{round}: {decision:?}"
        );
    }
    let good = node.status("good");
    assert_eq!((good.state, good.calls(), good.errors()), (PluginState::Ready, 8, 0));
}

async fn repeated_timeouts_quarantine_the_plugin() {
    let node = Node::with(&hostile("stuck", "loop-in-admit", "")).await;
    for _ in 0..TIMEOUTS_TO_QUARANTINE {
        assert_eq!(node.status("stuck").state, PluginState::Ready);
        let decision = node.admit(pod("web")).await;
        assert!(
            matches!(&decision, Decision::Defer { reason, .. } if reason == "HandlerTimedOut"),
            "{decision:?}"
        );
    }
    assert_eq!(node.status("stuck").state, PluginState::Quarantined);
    let decision = node.admit(pod("web")).await;
    assert!(
        matches!(&decision, Decision::Defer { reason, .. } if reason == "HandlerQuarantined"),
        "{decision:?}"
    );
    let status = node.status("stuck");
    assert_eq!((status.calls(), status.timeouts()), (3, 3), "not called while in quarantine");
    assert_eq!(node.events.reasons(), ["PluginQuarantined"]);
}

async fn an_error_of_its_own_does_not_quarantine_a_plugin() {
    let node = Node::with(&hostile("shy", "error", "")).await;
    for _ in 0..20 {
        node.admit(pod("web")).await;
    }
    assert_eq!(node.status("shy").state, PluginState::Ready);
}

fn warm(behaviour: &str, warm: &str) -> String {
    format!(
        "- {{name: kept, component: hostile.wasm, admission: {{}}, limits: {{timeout: 10s}}, \
         instances: {{warm: {{{warm}}}}}, config: {behaviour}}}\n"
    )
}

async fn message(node: &Node, name: &str) -> String {
    let decision = node.admit(pod(name)).await;
    if decision == Decision::Admit {
        return "admitted".to_owned();
    }
    let only = &node.host.list()[0].name;
    match node.unsigned(only, decision) {
        Decision::Reject { message, .. } | Decision::Defer { message, .. } => message,
        other @ (Decision::Admit | Decision::Preempt { .. }) => panic!("{other:?}"),
    }
}

async fn warm_instances_are_used_again_and_retire() {
    let fresh = Node::with(&hostile("new", "count", "")).await;
    for _ in 0..3 {
        assert_eq!(message(&fresh, "web").await, "0");
    }
    let node = Node::with(&warm("count", "max: 2, uses: 3, idle: 10m")).await;
    let mut counts = Vec::new();
    for _ in 0..4 {
        counts.push(message(&node, "web").await);
    }
    assert_eq!(counts, ["0", "1", "2", "0"], "an instance serves three calls");
    assert_eq!(node.status("kept").warm_instances(), 1);
    let node = Node::with(&warm("count", "max: 2, idle: 1s")).await;
    assert_eq!(message(&node, "web").await, "0");
    node.until("the idle instance is dropped", |node| node.status("kept").warm_instances() == 0).await;
}

async fn a_used_instance_that_runs_out_of_memory_gets_another_try() {
    let node = Node::with(&warm("hoard", "max: 1")).await;
    for _ in 0..12 {
        assert_eq!(message(&node, "web").await, "admitted");
    }
    assert_eq!(node.status("kept").errors(), 0);
}

async fn a_handle_of_an_earlier_request_is_refused() {
    let node = Node::with(&warm("keep-handle", "max: 1")).await;
    assert_eq!(message(&node, "first").await, "");
    let decision = node.admit(pod("second")).await;
    let Decision::Defer { message: reported, .. } = decision else { panic!("{decision:?}") };
    assert!(reported.contains("the handle belongs to an earlier request"), "{reported}");
}

async fn a_hanging_plugin_does_not_hold_up_pods_it_does_not_match() {
    let entries = hostile("stuck", "loop-in-admit", "match: {namespaces: [slow]}");
    let node = Node::with(&entries).await;
    let admission = node.host.admission();
    let slow = admission.admit(crate::node::request(pod_in("slow", "web")));
    let quick = admission.admit(crate::node::request(pod_in("quick", "web")));
    tokio::pin!(slow);
    tokio::select! {
        biased;
        decision = quick => assert_eq!(decision, Decision::Admit),
        decision = &mut slow => panic!("the hanging one was first: {decision:?}"),
    }
    assert!(matches!(slow.await, Decision::Defer { .. }));
}

async fn an_instance_that_grew_near_its_limit_is_not_kept() {
    // Four megabytes more with each call, of sixteen: above twelve it isn't worth keeping.
    let node = Node::with(&warm("hoard", "max: 1")).await;
    let mut kept = Vec::new();
    for _ in 0..6 {
        assert_eq!(message(&node, "web").await, "admitted");
        kept.push(node.status("kept").warm_instances());
    }
    assert_eq!(kept, [1, 1, 0, 1, 1, 0]);
}

/// The report of the shadow with this name, once it has this many answers and failures together.
async fn report(node: &Node, name: &str, answers: u64) -> ShadowReport {
    let report = |node: &Node| node.status(name).shadow_report.unwrap_or_default();
    let answered = |report: &ShadowReport| report.agreed + report.differed + report.failed + report.skipped;
    node.until("the shadow was asked", |node| answered(&report(node)) == answers).await;
    report(node)
}

async fn a_shadow_changes_nothing_and_its_differences_are_reported() {
    let entries = hostile("real", "reject", "match: {namespaces: [strict]}")
        + &hostile("same", "reject", "mode: shadow, match: {namespaces: [strict]}")
        + &hostile("stricter", "reject", "mode: shadow, order: 1")
        + &hostile("elsewhere", "reject", "mode: shadow, match: {namespaces: [other]}");
    let node = Node::with(&entries).await;
    assert!(matches!(node.admit(pod_in("strict", "bad")).await, Decision::Reject { .. }));
    for _ in 0..3 {
        assert_eq!(node.admit(pod("good")).await, Decision::Admit, "the shadow's verdict doesn't count");
    }
    let stricter = report(&node, "stricter", 4).await;
    assert_eq!((stricter.agreed, stricter.differed), (1, 3));
    let difference = &stricter.differences[0];
    assert_eq!((&*difference.pod, &*difference.uid), ("default/good", "uid-of-good"));
    assert_eq!(difference.verdict, "reject NotNeeded: this pod isn't needed");
    assert_eq!(difference.decision, "admit");
    let same = report(&node, "same", 1).await;
    assert_eq!((same.agreed, same.differed), (1, 0));
    assert_eq!(report(&node, "elsewhere", 0).await, ShadowReport::default());
    assert!(node.status("stricter").shadow && !node.status("real").shadow);
    assert_eq!(node.events.reasons(), ["ShadowVerdictDiffers"], "not one for each");
}

async fn a_shadow_that_hangs_or_traps_costs_no_pod_anything() {
    let entries = hostile("hangs", "loop-in-admit", "mode: shadow, failurePolicy: Reject")
        + &hostile("traps", "trap", "mode: shadow, failurePolicy: Reject")
        + "- {name: missing, component: missing.wasm, admission: {mode: shadow, failurePolicy: Reject}}\n";
    let node = Node::with(&entries).await;
    for _ in 0..8 {
        assert_eq!(node.admit(pod("web")).await, Decision::Admit);
    }
    for name in ["hangs", "traps", "missing"] {
        assert_eq!(report(&node, name, 8).await.failed, 8, "{name}");
    }
    let states = ["hangs", "traps", "missing"].map(|name| node.status(name).state);
    assert_eq!(states, [PluginState::Quarantined, PluginState::Quarantined, PluginState::Failed]);
}

/// A node whose newest facts weren't seen yet.
struct Newer(watch::Sender<Arc<NodeFacts>>);

#[async_trait]
impl NodeWatch for Newer {
    fn watch(&self) -> watch::Receiver<Arc<NodeFacts>> {
        self.0.subscribe()
    }

    async fn read_again(&self) -> Arc<NodeFacts> {
        self.0.borrow().clone()
    }
}

async fn a_rejection_is_asked_for_again_on_a_newer_node() {
    let affinity = witlet_plugins::ADMISSION
        .iter()
        .find(|builtin| builtin.name == "node-affinity")
        .expect("it is shipped");
    let label = |value: &str| {
        let mut facts = NodeFacts { name: "node-1".to_owned(), ..NodeFacts::default() };
        facts.node.metadata.labels = Some([("disk".to_owned(), value.to_owned())].into());
        Arc::new(facts)
    };
    let mut picky = pod("web");
    if let Some(spec) = &mut picky.spec {
        spec.node_selector = Some([("disk".to_owned(), "fast".to_owned())].into());
    }
    for (newest, admitted, calls) in [("fast", true, 2), ("slow", false, 2)] {
        let node = Node::begin(
            "",
            Setting {
                builtins: vec![crate::node::builtin(affinity.name, affinity.component)],
                node: Some(Arc::new(Newer(watch::Sender::new(label(newest))))),
                ..Setting::new(crate::node::compiler(cache()))
            },
        )
        .await
        .expect("the host starts");
        let decision = node.admit(picky.clone()).await;
        assert_eq!(decision == Decision::Admit, admitted, "{newest}: {decision:?}");
        assert_eq!(node.status("node-affinity").calls(), calls, "{newest}");
    }
}
