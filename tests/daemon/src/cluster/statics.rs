//! Static pods of a node in a cluster, and the mirrors that the API server has of them.

use k8s_openapi::api::core::v1::Pod;
use libtest_mimic::Failed;
use serde_json::{Value, json};

use witlet_harness::cluster::{Cluster, container, failed, is_true, refused};

/// What makes a pod of the API server a mirror; upstream's name.
const MIRROR: &str = "kubernetes.io/config.mirror";
/// The mirror of the static pod `etcd`.
const NAME: &str = "etcd-node1";

fn manifest(image: &str) -> String {
    let pod: Value = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "etcd"},
        "spec": {
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "main", "image": format!("registry.example.com/etcd:{image}")}],
        },
    });
    pod.to_string()
}

fn uid(pod: &Pod) -> String {
    pod.metadata.uid.clone().unwrap_or_default()
}

/// The manifest's hash that a mirror stands for.
fn hash(pod: &Pod) -> Option<String> {
    pod.metadata.annotations.as_ref()?.get(MIRROR).cloned()
}

fn image(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.containers.first()?.image.as_deref()
}

/// Edited and deleted by hand, the mirror is as upstream has it, and the static pod runs on; only its manifest counts.
pub(super) async fn mirrors_follow() -> Result<(), Failed> {
    let mut cluster = Cluster::start().await?;
    cluster.node_ready().await?;
    cluster.daemon.write_manifest("etcd.json", &manifest("1")).map_err(failed)?;
    let first = cluster.ready(NAME).await?;
    let (before, manifest_hash) = (container(&first), hash(&first));
    if manifest_hash.is_none() {
        return Err(format!("{NAME} has no annotation {MIRROR}").into());
    }

    // An edit that leaves the hash leaves the mirror, and means nothing to the static pod.
    let edit = json!({
        "metadata": {"labels": {"edited": "by-hand"}},
        "spec": {"containers": [{"name": "main", "image": "registry.example.com/etcd:edited"}]},
    });
    cluster.api().patch::<Pod>("default", NAME, "", edit).map_err(refused)?;
    // A status by hand shows that the mirror was checked after the edit: it is put right.
    let wrong = json!({"status": {"phase": "Failed"}});
    cluster.api().patch::<Pod>("default", NAME, "status", wrong).map_err(refused)?;
    let edited = cluster
        .until("the status of the edited mirror is put right", |c| {
            c.pod(NAME).filter(|pod| witlet_harness::cluster::phase(pod) == "Running")
        })
        .await?;
    if uid(&edited) != uid(&first) || image(&edited) != Some("registry.example.com/etcd:edited") {
        return Err(cluster.failure("a mirror that was edited was replaced, although its hash holds"));
    }

    // Deleted by hand, with grace and without, it comes back; so it does from under a daemon that is restarted.
    let mut seen = vec![uid(&first)];
    for (grace, restart) in [(None, false), (Some(0), false), (None, true)] {
        cluster.delete(NAME, grace)?;
        if restart {
            cluster.daemon.kill_and_restart().map_err(failed)?;
        }
        let again = cluster
            .until("the mirror is back", |c| {
                c.pod(NAME).filter(|pod| {
                    !seen.contains(&uid(pod))
                        && pod.metadata.deletion_timestamp.is_none()
                        && is_true(pod, "Ready")
                })
            })
            .await?;
        if hash(&again) != manifest_hash || container(&again) != before {
            return Err(cluster.failure("the new mirror isn't of the same pod"));
        }
        seen.push(uid(&again));
    }
    if cluster.cri().starts().len() != 1 || !cluster.cri().ends().is_empty() {
        return Err(cluster.failure("a static pod was touched when its mirror was"));
    }

    // Another manifest is another pod.
    cluster.daemon.write_manifest("etcd.json", &manifest("2")).map_err(failed)?;
    cluster
        .until("the mirror is of the new manifest", |c| {
            let pod = c.pod(NAME).filter(|pod| !seen.contains(&uid(pod)))?;
            let is_new = hash(&pod) != manifest_hash && container(&pod) != before;
            (is_new && is_true(&pod, "Ready") && image(&pod) == Some("registry.example.com/etcd:2"))
                .then_some(())
        })
        .await?;
    cluster.until("one container runs", |c| (c.cri().running() == 1).then_some(())).await?;
    cluster.daemon.remove_manifest("etcd.json").map_err(failed)?;
    cluster.until("the mirror is gone", |c| c.pod(NAME).is_none().then_some(())).await?;
    cluster.until("so is the pod", |c| (c.cri().sandboxes() == 0).then_some(())).await?;
    cluster.end().await
}
