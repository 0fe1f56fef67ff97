//! Images that pods pull from a registry one after another, until the disk that they are on is over the high threshold.

mod pinned;

use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Pod;
use libtest_mimic::Failed;
use serde_json::{Value, json};
use witlet_api_server::Admission;
use witlet_harness::cluster::{Cluster, Ground, NODE, container, failed, phase, refused};
use witlet_harness::{Containerd, PAUSE_IMAGE, REGISTRY_PROGRAM, Registry};
use witlet_ports::Runtime;

use super::Test;

/// On a containerd of their own, each in its network.
pub(crate) const TESTS: &[(&str, Test)] =
    &[("images_that_fill_their_disk_go_until_the_low_threshold", || Box::pin(fill_their_disk()))];

/// The same where the runtime pins images.
pub(crate) const PINNED: &[(&str, Test)] =
    &[("pinned_images_are_never_removed", || Box::pin(pinned::stay()))];

/// The disk's size, and what each image has of its own, in MiB. It takes twice as much, because its content is kept next to its files.
const DISK: u64 = 160;
const OWN: usize = 8;
const HIGH: u64 = 70;
const LOW: u64 = 55;
/// More images than fit on the disk.
const MOST: usize = 16;

/// Why no images can be pulled here.
pub(crate) fn why_not() -> Option<String> {
    (!Registry::is_installed()).then(|| format!("{REGISTRY_PROGRAM} isn't installed"))
}

async fn fill_their_disk() -> Result<(), Failed> {
    let containerd = Containerd::start_on_disk_of(DISK).await.map_err(failed)?;
    let registry = Registry::start(&containerd).await.map_err(failed)?;
    let images =
        (0..MOST).map(|number| registry.add_large_image(&containerd, &format!("large-{number}"), OWN << 20));
    let images = images.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let seen = containerd.in_network(|| {
        // Threads of this runtime are born into that network.
        tokio::runtime::Runtime::new()?.block_on(pull_until_full(&containerd, &images))
    });
    seen.map_err(failed)??;
    drop(registry);
    containerd.stop().await.map_err(failed)
}

fn fields() -> Value {
    json!({
        "evictionHard": {"memory.available": "1Mi"}, "imageMinimumGCAge": "1ms",
        "imageGCHighThresholdPercent": HIGH, "imageGCLowThresholdPercent": LOW,
    })
}

/// How full the disk is in percent, by the formula of the agent's.
fn used(disk: &Path) -> Result<u64, Failed> {
    let left = rustix::fs::statvfs(disk).map_err(failed)?;
    Ok(100 - left.f_bavail * 100 / left.f_blocks)
}

fn create(cluster: &Cluster, name: &str, image: &str, script: &str) -> Result<(), Failed> {
    let pod: Pod = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "nodeName": NODE, "automountServiceAccountToken": false, "enableServiceLinks": false,
            "terminationGracePeriodSeconds": 1, "restartPolicy": "Never", "hostNetwork": true,
            "containers": [{
                "name": "app", "image": image, "imagePullPolicy": "IfNotPresent",
                "command": ["/bin/sh", "-c", script],
            }],
        },
    }))?;
    cluster.api().create(&pod).map_err(refused)?;
    Ok(())
}

const SLEEP: &str = "trap 'exit 0' TERM; sleep 3600 & wait";

/// Deletes the pod, and waits until the runtime has nothing of it.
async fn leaves(cluster: &Cluster, runtime: &Runtime, name: &str) -> Result<(), Failed> {
    let uid = cluster.pod(name).and_then(|pod| pod.metadata.uid).ok_or("its object is gone")?;
    cluster.delete(name, Some(1))?;
    cluster.until("its object is gone", |cluster| cluster.pod(name).is_none().then_some(())).await?;
    until(cluster, "the runtime has nothing of it", async || {
        let pods = runtime.view.list_pods().await.map_err(failed)?;
        Ok(!pods.iter().any(|pod| pod.uid.as_str() == uid))
    })
    .await
}

/// Waits for something that the runtime is asked for.
async fn until(
    cluster: &Cluster,
    what: &str,
    mut holds: impl AsyncFnMut() -> Result<bool, Failed>,
) -> Result<(), Failed> {
    let deadline = tokio::time::Instant::now() + witlet_harness::WAIT_TIMEOUT;
    while !holds().await? {
        if tokio::time::Instant::now() >= deadline {
            return Err(cluster.failure(&format!("never: {what}")));
        }
        tokio::time::sleep(witlet_harness::cluster::AGAIN).await;
    }
    Ok(())
}

async fn are_there(runtime: &Runtime, images: &[String]) -> Result<Vec<String>, Failed> {
    let mut there = Vec::new();
    for image in images {
        if runtime.images.status(image).await.map_err(failed)?.is_some() {
            there.push(image.clone());
        }
    }
    Ok(there)
}

/// How many images the agent has seen at one of its checks.
fn detected(cluster: &Cluster) -> usize {
    let file: PathBuf = cluster.ground.path("agent/witlet/state/image-times.json");
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let times: Value = serde_json::from_str(&text).unwrap_or_default();
    times["images"].as_object().map(serde_json::Map::len).unwrap_or_default()
}

/// Pods that end at once pull images, from this one on, until the disk is over the high threshold. Gives how many images there are then.
async fn fill(
    cluster: &Cluster,
    runtime: &Runtime,
    disk: &Path,
    images: &[String],
    begin: usize,
) -> Result<usize, Failed> {
    let mut pulled = begin;
    while used(disk)? < HIGH {
        let image = images.get(pulled).ok_or("the disk never fills up")?;
        let name = format!("user-{pulled}");
        create(cluster, &name, image, "exit 0")?;
        let has_ended =
            |cluster: &Cluster| cluster.pod(&name).filter(|pod| phase(pod) == "Succeeded").map(drop);
        cluster.until(&format!("{name} has ended"), has_ended).await?;
        leaves(cluster, runtime, &name).await?;
        pulled += 1;
    }
    Ok(pulled)
}

#[allow(clippy::print_stderr, reason = "the figures are part of what this shows")]
async fn pull_until_full(containerd: &Containerd, images: &[String]) -> Result<(), Failed> {
    let (disk, runtime) = (containerd.image_disk(), containerd.runtime().map_err(failed)?);
    let ground = Ground::on(Admission::default(), containerd.endpoint()).await?;
    let mut cluster = Cluster::start_as_kubelet(ground, &fields()).await?;
    // The images of the harness.
    let first =
        cluster.until("it has checked", |cluster| Some(detected(cluster)).filter(|count| *count > 0)).await?;
    let (keeper, late) = (&images[0], &images[1]);
    for (name, image) in [("keeper", keeper), ("late", late)] {
        create(&cluster, name, image, SLEEP)?;
        cluster.ready(name).await?;
    }
    let pulled = fill(&cluster, &runtime, &disk, images, 2).await?;
    let full = used(&disk)?;
    // An agent checks at its start and every five minutes. At this check the new images are too young, and the others aren't enough.
    let has_checked_since = detected(&cluster) > first;
    cluster.restart_with_fields(&fields())?;
    if has_checked_since {
        eprintln!("pulling took more than five minutes: young images aren't shown to stay");
    } else {
        let is_reported = |cluster: &Cluster| cluster.event_count(NODE, "FreeDiskSpaceFailed") == 1;
        cluster
            .until("that too little can be freed is reported", |cluster| is_reported(cluster).then_some(()))
            .await?;
        let there = are_there(&runtime, &images[..pulled]).await?;
        if there.len() != pulled {
            return Err(cluster.failure(&format!("of {pulled} young images only these are left: {there:?}")));
        }
    }
    let reported = cluster.event_count(NODE, "FreeDiskSpaceFailed");
    // Used at that check, and no more at the next.
    leaves(&cluster, &runtime, "late").await?;
    cluster.restart_with_fields(&fields())?;
    until(&cluster, "the disk is at the low threshold", async || Ok(used(&disk)? <= LOW)).await?;
    let there = are_there(&runtime, &images[..pulled]).await?;
    eprintln!(
        "{pulled} images filled the disk to {full} %; {} of them were left at {} %",
        there.len(),
        used(&disk)?
    );
    let stays = |image: &String| there.contains(image);
    if !stays(keeper) || !stays(late) || there.len() == pulled {
        return Err(cluster.failure(&format!("of {pulled} images these are left: {there:?}")));
    }
    if containerd.pins_its_sandbox_image()
        && runtime.images.status(PAUSE_IMAGE).await.map_err(failed)?.is_none()
    {
        return Err(cluster.failure("an image that the runtime pins was removed"));
    }
    if cluster.event_count(NODE, "FreeDiskSpaceFailed") != reported {
        return Err(cluster.failure("enough was freed, and it is reported that it wasn't"));
    }
    let restarts = cluster.pod("keeper").and_then(|pod| container(&pod)).map(|(_, restarts)| restarts);
    if restarts != Some(0) {
        return Err(cluster.failure(&format!("the pod whose image is used was restarted: {restarts:?}")));
    }
    leaves(&cluster, &runtime, "keeper").await?;
    cluster.end().await
}
