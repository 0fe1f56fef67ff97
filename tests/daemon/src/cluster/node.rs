//! The node's object and its lease, whatever others do to them.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use libtest_mimic::Failed;

use witlet_harness::cluster::{Cluster, NODE, container, is_ready, refused};

/// Pods that run through all of it.
const PODS: usize = 5;

fn lease(cluster: &Cluster) -> Option<Lease> {
    cluster.api().get("kube-node-lease", NODE)
}

fn renewed(lease: &Lease) -> Option<jiff::Timestamp> {
    Some(lease.spec.as_ref()?.renew_time.as_ref()?.0)
}

/// What the lease names as its owner.
fn owner(lease: &Lease) -> Option<&str> {
    Some(lease.metadata.owner_references.as_ref()?.first()?.uid.as_str())
}

fn names() -> Vec<String> {
    (0..PODS).map(|number| format!("web-{number}")).collect()
}

/// Which container each pod has, and how often it was restarted.
fn containers(cluster: &Cluster) -> Vec<Option<(String, i32)>> {
    names().iter().map(|name| cluster.pod(name).as_ref().and_then(container)).collect()
}

/// It comes back with another UID; its pods go on, and those that are bound to it later run.
pub(super) async fn registers_again() -> Result<(), Failed> {
    let cluster = Cluster::start().await?;
    let first = cluster.node_ready().await?;
    for name in names() {
        cluster.create(&name)?;
    }
    for name in names() {
        cluster.ready(&name).await?;
    }
    let before = containers(&cluster);
    let begun = cluster.until("it has its lease", |c| renewed(&lease(c)?)).await?;
    cluster.until("the lease is renewed", |c| (renewed(&lease(c)?)? > begun).then_some(())).await?;

    cluster.api().delete::<Node>("", NODE, None).map_err(refused)?;
    let again = cluster
        .until("the node is registered again", |c| {
            let node = c.api().get::<Node>("", NODE)?;
            (node.metadata.uid != first.metadata.uid && is_ready(&node)).then_some(node)
        })
        .await?;
    if again.metadata.labels != first.metadata.labels {
        let (before, after) = (first.metadata.labels, again.metadata.labels);
        return Err(format!("its labels were {before:?} and are {after:?}").into());
    }
    // The lease goes with the node where garbage is collected.
    cluster.api().delete::<Lease>("kube-node-lease", NODE, None).map_err(refused)?;
    cluster
        .until("there is a lease of the new node", |c| {
            (owner(&lease(c)?) == again.metadata.uid.as_deref()).then_some(())
        })
        .await?;
    cluster.create("late")?;
    cluster.ready("late").await?;
    if containers(&cluster) != before || cluster.cri().starts().len() != PODS + 1 {
        return Err(cluster.failure("pods were touched when their node's object was"));
    }

    // One pod more is deleted while there is no node.
    cluster.api().delete::<Node>("", NODE, None).map_err(refused)?;
    cluster.delete("late", None)?;
    cluster.until("the pod goes without its node", |c| c.pod("late").is_none().then_some(())).await?;
    cluster.node_ready().await?;
    let left: Vec<Pod> = cluster.api().list();
    if left.len() != PODS || containers(&cluster) != before {
        return Err(cluster.failure("pods were touched when their node's object was"));
    }
    cluster.end().await
}
