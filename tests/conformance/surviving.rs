//! Plugins that attack the host: each ends as a named error under its failure policy, and everything still works.

use witlet_core::admission::Decision;
use witlet_wasm::plugin::{PluginState, TIMEOUTS_TO_QUARANTINE};

use crate::claims;
use crate::node::{Node, hostile, pod, pod_in};

claims!(
    each_attack_has_its_name,
    a_failure_means_what_the_policy_says,
    attacks_leave_the_host_working,
    repeated_timeouts_quarantine_the_plugin,
    an_error_of_its_own_does_not_quarantine_a_plugin,
    warm_instances_are_used_again_and_retire,
    a_used_instance_that_runs_out_of_memory_gets_another_try,
    a_handle_of_an_earlier_request_is_refused,
    a_hanging_plugin_does_not_hold_up_pods_it_does_not_match,
);

/// Behaviour, reason in the pod's status, and a part of the message.
const ATTACKS: &[(&str, &str, &str)] = &[
    ("loop-in-admit", "HandlerTimedOut", "no answer within 100ms"),
    ("memory-bomb", "HandlerOutOfMemory", "it wanted more than 16777216 bytes of memory"),
    ("recursion", "HandlerTrapped", "it ran out of stack"),
    ("trap", "HandlerTrapped", "unreachable"),
    ("panic", "HandlerTrapped", "unreachable"),
    ("exit", "HandlerTrapped", "it exited with code 1"),
    ("sleep", "HandlerTrapped", "the plugin waited in wasi:io/poll"),
    ("huge-result", "HandlerTrapped", "it handed over more than 2097152 bytes at once"),
    ("error", "HandlerFailed", "I refuse to answer"),
    ("empty-reason", "HandlerBadAnswer", "the reason is empty"),
    ("bad-word", "HandlerBadAnswer", "isn't a CamelCase word"),
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

async fn attacks_leave_the_host_working() {
    let attackers: String = ATTACKS
        .iter()
        .map(|(behaviour, ..)| hostile(behaviour, behaviour, "failurePolicy: Admit, order: 1"))
        .collect();
    let node = Node::with(&(attackers + &hostile("good", "reject", "order: 2"))).await;
    for round in 0..8 {
        let decision = node.admit(pod("web")).await;
        assert!(
            matches!(&decision, Decision::Reject { reason, .. } if reason == "NotWanted"),
            "{round}: {decision:?}"
        );
    }
    let good = node.status("good");
    assert_eq!((good.state, good.calls, good.failures), (PluginState::Ready, 8, 0));
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
    assert_eq!((status.calls, status.timeouts), (3, 3), "not called while in quarantine");
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
        "- {{name: kept, component: hostile.wasm, admission: {{}}, limits: {{timeout: 5s}}, \
         instances: {{warm: {{{warm}}}}}, config: {behaviour}}}\n"
    )
}

async fn message(node: &Node, name: &str) -> String {
    match node.admit(pod(name)).await {
        Decision::Reject { message, .. } | Decision::Defer { message, .. } => message,
        Decision::Admit => "admitted".to_owned(),
    }
}

async fn warm_instances_are_used_again_and_retire() {
    let fresh = Node::with(&hostile("new", "count", "")).await;
    for _ in 0..3 {
        assert_eq!(message(&fresh, "web").await, "0");
    }
    let node = Node::with(&warm("count", "max: 2, uses: 3, idle: 1s")).await;
    let mut counts = Vec::new();
    for _ in 0..4 {
        counts.push(message(&node, "web").await);
    }
    assert_eq!(counts, ["0", "1", "2", "0"], "an instance serves three calls");
    assert_eq!(node.status("kept").warm_instances, 1);
    node.until("the idle instance is dropped", |node| node.status("kept").warm_instances == 0).await;
}

async fn a_used_instance_that_runs_out_of_memory_gets_another_try() {
    let node = Node::with(&warm("hoard", "max: 1")).await;
    for _ in 0..12 {
        assert_eq!(message(&node, "web").await, "admitted");
    }
    assert_eq!(node.status("kept").failures, 0);
}

async fn a_handle_of_an_earlier_request_is_refused() {
    let node = Node::with(&warm("keep-handle", "max: 1")).await;
    assert_eq!(message(&node, "first").await, "");
    let told = message(&node, "second").await;
    assert!(told.contains("the handle belongs to an earlier request"), "{told}");
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
