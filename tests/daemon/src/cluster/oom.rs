//! A container that runs out of memory: where cgroups are of version 2 all of its processes end, unless the node ends only the one that
//! asked for too much. With version 1 the kernel always ends one.

use std::path::Path;

use k8s_openapi::api::core::v1::Pod;
use libtest_mimic::Failed;
use serde_json::{Value, json};
use witlet_api_server::Admission;
use witlet_harness::BUSYBOX_IMAGE;
use witlet_harness::cluster::{Cluster, Ground, NODE, refused};

use super::ContainerdTest;

pub(crate) const TESTS: &[(&str, ContainerdTest)] =
    &[("a_container_out_of_memory_ends_as_a_whole_or_by_one_process", |endpoint| {
        Box::pin(runs_out(endpoint))
    })];

/// What a shell says of a program that was killed, and what a killed container ends with.
const KILLED: i32 = 137;
/// What the container ends with if its shell goes on.
const GOES_ON: i32 = 7;

/// Its shell starts a program that takes twice the limit.
fn create(cluster: &Cluster, name: &str) -> Result<(), Failed> {
    let script = format!(
        "/bin/busybox dd if=/dev/zero of=/dev/null bs=64M count=1; [ $? = {KILLED} ] && exit {GOES_ON}; exit 1"
    );
    let pod: Pod = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "nodeName": NODE, "automountServiceAccountToken": false, "enableServiceLinks": false,
            "terminationGracePeriodSeconds": 1, "restartPolicy": "Never", "hostNetwork": true,
            "containers": [{
                "name": "app", "image": BUSYBOX_IMAGE, "command": ["/bin/sh", "-c", script],
                "resources": {"limits": {"memory": "32Mi"}},
            }],
        },
    }))?;
    cluster.api().create(&pod).map_err(refused)?;
    Ok(())
}

/// What the pod's container ends with on a node with these fields.
#[allow(clippy::print_stderr, reason = "the figures are part of what this shows")]
async fn ends_with(endpoint: String, more: &Value) -> Result<i32, Failed> {
    let ground = Ground::on(Admission::default(), endpoint).await?;
    let mut fields = json!({"evictionHard": {"memory.available": "1Mi"}});
    if let (Some(fields), Some(more)) = (fields.as_object_mut(), more.as_object()) {
        fields.extend(more.clone());
    }
    let cluster = Cluster::start_as_kubelet(ground, &fields).await?;
    create(&cluster, "hungry")?;
    let ended = |cluster: &Cluster| {
        let statuses = cluster.pod("hungry")?.status?.container_statuses?;
        statuses.into_iter().next()?.state?.terminated
    };
    let ended = cluster.until("its container has ended", ended).await?;
    eprintln!("with {more} it ended with {}: {}", ended.exit_code, ended.reason.unwrap_or_default());
    cluster.delete("hungry", Some(1))?;
    cluster.until("its object is gone", |cluster| cluster.pod("hungry").is_none().then_some(())).await?;
    cluster.end().await?;
    Ok(ended.exit_code)
}

async fn runs_out(endpoint: String) -> Result<(), Failed> {
    let is_version_2 = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
    let cases = [
        (json!({}), if is_version_2 { KILLED } else { GOES_ON }),
        (json!({"singleProcessOOMKill": true}), GOES_ON),
    ];
    for (fields, expected) in cases {
        let code = ends_with(endpoint.clone(), &fields).await?;
        if code != expected {
            return Err(format!("with {fields} the container ended with {code}, not {expected}").into());
        }
    }
    Ok(())
}
