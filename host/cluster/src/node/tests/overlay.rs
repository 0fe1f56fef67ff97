//! What others write on the node's object reaches admission.

use tokio_util::sync::CancellationToken;
use witlet_ports::NodeWatch as _;
use witlet_testkit::NODE_NAME;

use super::*;

#[tokio::test(start_paused = true)]
async fn labels_and_taints_of_others_are_seen_and_the_machines_changes_too() {
    let mut rig = Rig::new();
    rig.start();
    let known = rig.known.clone().expect("the manager runs");
    let node = ClusterNode::new(rig.machine.clone(), rig.client(), NODE_NAME, known);
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(node.clone().run(CancellationToken::new()));
    sleep(5 * SECOND).await;
    let patch = json!({"metadata": {"labels": {"zone": "a"}}, "spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}});
    rig.server.patch::<Node>("", NODE_NAME, "", patch).expect("patched");
    sleep(SECOND).await;
    let seen = node.watch().borrow().clone();
    let label =
        |facts: &NodeFacts, key: &str| facts.node.metadata.labels.as_ref().and_then(|l| l.get(key).cloned());
    assert_eq!(label(&seen, "zone").as_deref(), Some("a"));
    assert_eq!(label(&seen, "kubernetes.io/os").as_deref(), Some("linux"));
    assert!(seen.node.spec.as_ref().is_some_and(|spec| spec.taints.as_ref().is_some_and(|t| t.len() == 1)));

    let mut changed = NodeFacts::clone(&seen);
    changed.facts.insert("cgroup.version".into(), "2".into());
    rig.machine.0.send_replace(Arc::new(changed));
    sleep(SECOND).await;
    let seen = node.watch().borrow().clone();
    assert_eq!((seen.facts.len(), label(&seen, "zone").as_deref()), (1, Some("a")));

    // What no watch has reported yet is read where a decision rests on it; without a server what is known stands.
    rig.server.fault(Fault::new(Effect::Stall).verb("watch"));
    rig.server.end_watches();
    sleep(SECOND).await;
    rig.server
        .patch::<Node>("", NODE_NAME, "", json!({"metadata": {"labels": {"zone": "b"}}}))
        .expect("patched");
    assert_eq!(label(&*node.read_again().await, "zone").as_deref(), Some("b"));
    rig.server.down();
    assert!(label(&*node.read_again().await, "zone").is_some());
}
