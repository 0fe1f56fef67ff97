//! A handler takes another's place by degrees: each pod is judged by one of the two, and a version that fails is reverted by itself.

use k8s_openapi::api::core::v1::Pod;
use tempfile::TempDir;
use witlet_core::admission::Decision;
use witlet_core::admission::rollout::{RevertReason, RolloutPhase, bucket};
use witlet_harness::WAIT_TIMEOUT;
use witlet_wasm::host::HandlerStep;
use witlet_wasm::plugin::{PluginState, RolloutStatus};

use crate::claims;
use crate::node::{Node, Setting, cache, compiler, configuration, hostile, pod, pod_in, request, write};

claims!(
    each_pod_is_judged_by_one_of_the_two_in_the_place_of_the_older,
    pods_are_chosen_by_their_labels_too,
    a_version_that_fails_is_reverted_by_itself_and_stays_so_over_a_restart,
    a_version_that_judges_otherwise_is_reverted_if_its_budget_says_so,
    a_version_in_quarantine_is_reverted,
    steps_follow_each_other_until_all_pods_are_judged,
    an_edit_of_the_share_loads_nothing_again,
    a_version_that_does_not_load_judges_no_pod,
);

fn entry(behaviour: &str, more: &str, rollout: &str) -> String {
    hostile("new", behaviour, &format!("{more}rollout: {{of: old, {rollout}}}"))
}

/// Pods that the handler judges at this share, or those that it doesn't.
fn pods(percent: u8, judged: bool) -> impl Iterator<Item = Pod> {
    let pods = (0..).map(|number: u32| pod(&format!("web-{number}")));
    pods.filter(move |pod| (bucket("new", pod) < percent) == judged)
}

fn one(percent: u8, judged: bool) -> Pod {
    pods(percent, judged).next().expect("there are pods of each kind")
}

fn rollout(node: &Node) -> RolloutStatus {
    node.status("new").rollout.expect("it takes another's place")
}

fn is_refused(decision: &Decision) -> bool {
    matches!(decision, Decision::Reject { .. })
}

async fn each_pod_is_judged_by_one_of_the_two_in_the_place_of_the_older() {
    let entries = hostile("first", "admit", "order: 1")
        + &entry("reject", "", "percent: 20")
        + &hostile("old", "admit", "order: 5")
        + &hostile("last", "admit", "order: 5");
    let node = Node::with(&entries).await;
    let names: Vec<String> = node.host.list().into_iter().map(|status| status.name).collect();
    assert_eq!(names, ["first", "old", "new", "last"]);
    for pod in pods(20, true).take(3) {
        assert!(is_refused(&node.admit(pod).await), "the new one judges it");
    }
    assert_eq!(node.status("old").calls(), 0);
    for pod in pods(20, false).take(4) {
        assert_eq!(node.admit(pod).await, Decision::Admit, "the old one judges it");
    }
    assert_eq!(node.admit(pod_in("kube-system", "dns")).await, Decision::Admit);
    assert_eq!(node.status("old").calls(), 4, "system pods are asked about by neither");
    let differed = |node: &Node| node.status("new").shadow_report.unwrap_or_default().differed;
    node.until("the new one is compared where it doesn't judge", |node| differed(node) == 4).await;
    let status = rollout(&node);
    assert_eq!((status.phase, status.percent, status.calls), (RolloutPhase::Progressing, 20, 7));
    assert_eq!((status.errors, status.differences), (0, 4));
    let report = node.status("new").shadow_report.unwrap_or_default();
    assert_eq!(report.differences[0].decision, "admit");
    let messages = node.events.messages().concat();
    assert!(messages.contains("but old says admit"), "{messages}");
    let trial = Node::trial(&entries, Setting::new(compiler(cache()))).await;
    for (judged, passed_over, by) in [(true, "old", "new"), (false, "new", "old")] {
        let explained = trial.host.explain(request(one(20, judged)), true).await;
        let report = explained.handlers.iter().find(|report| report.name == passed_over);
        let HandlerStep::NotMatched { rule, message } = &report.expect("it is listed").step else {
            panic!("{passed_over} is asked: {explained:?}")
        };
        assert_eq!((&**rule, message), ("rollout", &format!("{by} judges the pod in its place")));
    }
}

async fn pods_are_chosen_by_their_labels_too() {
    let selector = "labelSelector: {matchExpressions: [{key: track, operator: In, values: [canary]}]}";
    let node = Node::with(&(hostile("old", "admit", "") + &entry("reject", "", selector))).await;
    assert_eq!(node.admit(pod("web")).await, Decision::Admit);
    let mut canary = pod("web");
    canary.metadata.labels = Some([("track".to_owned(), "canary".to_owned())].into());
    assert!(is_refused(&node.admit(canary).await));
}

fn setting(folder: &TempDir) -> Setting {
    Setting { last_good_folder: Some(folder.path().join("last-good")), ..Setting::new(compiler(cache())) }
}

async fn started(folder: TempDir) -> Node {
    let setting = setting(&folder);
    let node = Node::in_folder(folder, setting).await.expect("the host starts");
    let ready = tokio::time::timeout(WAIT_TIMEOUT, node.host.ready()).await;
    assert!(ready.is_ok(), "every plugin was tried: {:#?}", node.host.list());
    node
}

async fn a_version_that_fails_is_reverted_by_itself_and_stays_so_over_a_restart() {
    let entries = |percent: u8| {
        let rollout = format!("percent: {percent}, errorBudget: {{maxErrors: 1}}");
        hostile("old", "admit", "") + &entry("trap", "failurePolicy: Reject, ", &rollout)
    };
    let folder = Node::begin("", Setting::new(compiler(cache()))).await.expect("the host starts").folder;
    write(&folder.path().join("plugins.yaml"), configuration(&entries(100)));
    let node = started(folder).await;
    for _ in 0..2 {
        assert!(is_refused(&node.admit(pod("web")).await), "its failure policy answers");
    }
    assert_eq!(node.admit(pod("web")).await, Decision::Admit, "the older one judges all pods again");
    let sentence = "plugin \"new\" was reverted to \"old\": 2 of 2 calls failed, which is more than 1";
    assert_eq!(node.host.reverted_rollouts(), [sentence]);
    assert_eq!(node.events.reasons(), ["PluginRolloutReverted"]);
    assert_eq!(node.status("new").state, PluginState::Ready);
    let kept = node.folder.path().join("last-good/rollouts.json");
    let is_kept = || std::fs::read_to_string(&kept).is_ok_and(|text| text.contains("Reverted"));
    node.until("it is kept", |_| is_kept()).await;

    let Node { folder, host, .. } = node;
    drop(host);
    let node = started(folder).await;
    assert_eq!(node.admit(pod("web")).await, Decision::Admit);
    assert_eq!(node.host.reverted_rollouts(), [sentence], "after a restart, too");
    assert_eq!(rollout(&node).reason, Some(RevertReason::ErrorBudgetExceeded));
    assert_eq!(node.status("new").calls(), 0, "it isn't asked, for comparison neither");
    assert_eq!(node.host.problems(), Vec::<String>::new());
    node.configure(&configuration(&entries(99)));
    let is_begun = |node: &Node| rollout(node).phase == RolloutPhase::Progressing;
    node.until("another entry begins again", is_begun).await;
    assert!(is_refused(&node.admit(one(99, true)).await));
}

async fn a_version_that_judges_otherwise_is_reverted_if_its_budget_says_so() {
    let rollout_entry = entry("reject", "", "percent: 20, errorBudget: {maxDifferences: 2}");
    let node = Node::with(&(hostile("old", "admit", "") + &rollout_entry)).await;
    for pod in pods(20, false).take(3) {
        assert_eq!(node.admit(pod).await, Decision::Admit);
    }
    let is_reverted = |node: &Node| rollout(node).phase == RolloutPhase::Reverted;
    node.until("it differed too often", is_reverted).await;
    assert_eq!(rollout(&node).reason, Some(RevertReason::TooManyDifferences));
    assert_eq!(node.admit(one(20, true)).await, Decision::Admit, "no pod was refused for it");
}

async fn a_version_in_quarantine_is_reverted() {
    let node = Node::with(&(hostile("old", "reject", "") + &entry("trap", "", "percent: 100"))).await;
    let judging = async {
        // A call that the machine had no time for says nothing, so that it may take more.
        while !is_refused(&node.admit(pod("web")).await) {}
    };
    tokio::time::timeout(WAIT_TIMEOUT, judging).await.expect("the older one judges in the end");
    assert_eq!(rollout(&node).reason, Some(RevertReason::Quarantined));
    assert_eq!(node.status("new").state, PluginState::Quarantined);
    assert_eq!(node.events.reasons(), ["PluginQuarantined", "PluginRolloutReverted"]);
}

async fn steps_follow_each_other_until_all_pods_are_judged() {
    let steps = "percent: 20, soak: 0s, stepPercent: 80, errorBudget: {minCalls: 3}";
    let node = Node::with(&(hostile("old", "reject", "") + &entry("admit", "", steps))).await;
    let (judged, other) = (one(20, true), one(20, false));
    assert!(is_refused(&node.admit(other.clone()).await));
    let step = async |phase: RolloutPhase, percent: u8| {
        for _ in 0..3 {
            assert_eq!(node.admit(judged.clone()).await, Decision::Admit);
        }
        let is_so = |node: &Node| {
            node.host.check_inputs();
            (rollout(node).phase, rollout(node).percent) == (phase, percent)
        };
        node.until("the step is over", is_so).await;
    };
    step(RolloutPhase::Progressing, 100).await;
    assert_eq!(node.admit(other).await, Decision::Admit, "the new one judges all pods");
    step(RolloutPhase::Complete, 100).await;
    let differs = ["ShadowVerdictDiffers".to_owned()];
    let reasons = node.events.reasons().into_iter().filter(|reason| !differs.contains(reason));
    assert_eq!(reasons.collect::<Vec<_>>(), ["PluginRolloutProgressed", "PluginRolloutCompleted"]);
}

async fn an_edit_of_the_share_loads_nothing_again() {
    let entries = |percent: u8| {
        configuration(&(hostile("old", "admit", "") + &entry("reject", "", &format!("percent: {percent}"))))
    };
    let node = Node::begin("", Setting::new(compiler(cache()))).await.expect("the host starts");
    node.configure(&entries(20));
    node.until("it is loaded", |node| {
        node.host.list().iter().any(|status| status.name == "new" && status.rollout.is_some())
    })
    .await;
    let pod = one(20, false);
    assert_eq!(node.admit(pod.clone()).await, Decision::Admit);
    let loads = || node.host.metrics().plugin("new").loads();
    assert_eq!(loads(), 1);
    node.configure(&entries(100));
    node.until("the edit is taken", |node| rollout(node).percent == 100).await;
    assert!(is_refused(&node.admit(pod).await));
    assert_eq!(loads(), 1);
}

async fn a_version_that_does_not_load_judges_no_pod() {
    let missing = "- {name: new, component: missing.wasm, admission: {failurePolicy: Reject, rollout: {of: old, percent: 100}}}\n";
    let node = Node::with(&(hostile("old", "admit", "") + missing)).await;
    assert_eq!(node.status("new").state, PluginState::Failed);
    assert_eq!(node.admit(pod("web")).await, Decision::Admit);
    assert_eq!(node.status("new").rollout, None, "it hasn't begun");
}
