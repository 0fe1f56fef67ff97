//! Rules that are edited while pods arrive: each pod is judged by one set of them as a whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::task::JoinSet;
use witlet_core::admission::Decision;
use witlet_harness::WAIT_TIMEOUT;

use crate::node::{Node, Setting, cache, compiler, configuration, pod};

crate::claims!(two_hundred_pods_are_judged_by_one_set_or_the_other_while_rules_are_edited);

/// How often the rules are changed. After each change, and after each broken edit, so many pods arrive.
const EDITS: usize = 10;
const PODS_PER_EDIT: usize = 10;
/// Callers next to them, whose pods arrive at any moment of an edit.
const CALLERS: usize = 4;

/// The two handlers of a set; the one that the set names rejects every pod. Whatever is mixed of two sets shows: handlers of both let
/// pods pass or give the other reason, and a rule with the variable of the other set gives a message that isn't its reason.
fn entries(set: &str) -> String {
    let rule = |handler: &str| format!("variables.set {} '{set}'", if handler == set { "!=" } else { "==" });
    ["A", "B"].map(|handler| entry(handler, set, &rule(handler))).concat()
}

fn entry(handler: &str, set: &str, rule: &str) -> String {
    format!(
        "- name: rules-{}\n  component: builtin:cel\n  admission: {{}}\n  limits: {{timeout: 10s}}\n  \
           instances: {{warm: {{max: 2}}}}\n  config:\n    \
             variables: [{{name: set, expression: \"'{set}'\"}}]\n    \
             validations:\n    - {{expression: \"object.metadata.name != ''\", reason: Unnamed}}\n    \
             - {{expression: \"{rule}\", reason: {set}, messageExpression: \"variables.set\"}}\n",
        handler.to_lowercase()
    )
}

/// The set that judged: its reason and its message, both of which are its name.
fn judged_by(decision: &Decision) -> String {
    match decision {
        Decision::Reject { reason, message, .. } if message.starts_with(&**reason) => reason.clone(),
        other => format!("{other:?}"),
    }
}

/// Writes the set, and waits until it judges.
async fn change(node: &Node, set: &str) {
    node.configure(&configuration(&entries(set)));
    let changed = async {
        while judged_by(&node.admit(pod("first")).await) != set {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(WAIT_TIMEOUT, changed).await.expect("the edit is taken");
}

/// Half of the other set's file, or rules that the handlers refuse. Returns once the host has reported it.
async fn break_it(node: &Node, other: &str, edit: usize) {
    if edit.is_multiple_of(2) {
        let text = configuration(&entries(other));
        let (half, _) = text.split_at(text.rfind("object.metadata").expect("both handlers have the rule"));
        node.configure(half);
        return node.until("the half file is reported", |node| node.host.file_error().is_some()).await;
    }
    let broken = ["a", "b"].map(|handler| entry(handler, other, "object.spec.hostNetwrok")).concat();
    node.configure(&configuration(&broken));
    let is_refused = |node: &Node, name| {
        node.status(name).pending.is_some_and(|pending| pending.contains("did you mean hostNetwork?"))
    };
    node.until("the rules are refused", |node| {
        node.host.file_error().is_none() && is_refused(node, "rules-a") && is_refused(node, "rules-b")
    })
    .await;
}

/// Pods that arrive now, all at once.
async fn arrive(node: &Arc<Node>, prefix: &str) -> Vec<String> {
    let mut asking = JoinSet::new();
    for number in 0..PODS_PER_EDIT {
        let (node, pod) = (node.clone(), pod(&format!("{prefix}-{number}")));
        asking.spawn(async move { judged_by(&node.admit(pod).await) });
    }
    asking.join_all().await
}

async fn two_hundred_pods_are_judged_by_one_set_or_the_other_while_rules_are_edited() {
    let cel = witlet_plugins::SHIPPED.iter().filter(|shipped| shipped.name == "cel");
    let shipped = cel.map(|shipped| (shipped.name, shipped.component)).collect();
    let node = Node::begin(&entries("A"), Setting { shipped, ..Setting::new(compiler(cache())) }).await;
    let node = Arc::new(node.expect("the host starts"));
    tokio::time::timeout(WAIT_TIMEOUT, node.host.ready()).await.expect("it is tried in time");
    let (stop, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let (node, stop, asked) = (node.clone(), stop.clone(), asked.clone());
        callers.spawn(async move {
            let mut wrong = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let number = asked.fetch_add(1, Ordering::Relaxed);
                let judged = judged_by(&node.admit(pod(&format!("any-{number}"))).await);
                if !["A", "B"].contains(&&*judged) {
                    wrong.push(judged);
                }
            }
            wrong
        });
    }
    let mut arrived = 0;
    for edit in 0..EDITS {
        let (set, other) = if edit % 2 == 0 { ("B", "A") } else { ("A", "B") };
        change(&node, set).await;
        let judged = arrive(&node, &format!("changed-{edit}")).await;
        assert_eq!(judged, [set; PODS_PER_EDIT], "edit {edit} is taken");
        break_it(&node, other, edit).await;
        let kept = arrive(&node, &format!("broken-{edit}")).await;
        assert_eq!(kept, [set; PODS_PER_EDIT], "broken edit {edit} leaves the old rules");
        arrived += judged.len() + kept.len();
    }
    assert_eq!(arrived, 200);
    stop.store(true, Ordering::Relaxed);
    let wrong: Vec<String> = callers.join_all().await.into_iter().flatten().collect();
    assert_eq!(wrong, [""; 0], "of {} more pods", asked.load(Ordering::Relaxed));
    for name in ["rules-a", "rules-b"] {
        assert_eq!(node.status(name).errors(), 0, "{name}: {:?}", node.status(name).last_error);
    }
}
