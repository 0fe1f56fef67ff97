//! Images that the runtime pins, its own for sandboxes and one that an operator has pinned: a collection that is to remove all unused
//! images leaves them, until they are unpinned.

use libtest_mimic::Failed;
use serde_json::{Value, json};
use witlet_api_server::Admission;
use witlet_harness::cluster::{Cluster, Ground, NODE, failed};
use witlet_harness::{Containerd, PAUSE_IMAGE, Registry};
use witlet_ports::Runtime;

use super::{DISK, OWN, SLEEP, are_there, create, leaves, until};

/// What containerd knows a pinned image by.
const LABEL: &str = "io.cri-containerd.pinned";

/// Everything unused is to go: any disk is fuller than this, and none is ever as empty.
fn fields() -> Value {
    json!({
        "evictionHard": {"memory.available": "1Mi"}, "imageMinimumGCAge": "1ms",
        "imageGCHighThresholdPercent": 1, "imageGCLowThresholdPercent": 0,
    })
}

/// Nothing goes while images are pulled and pinned, however long that takes.
fn without_collections() -> Value {
    json!({"evictionHard": {"memory.available": "1Mi"}, "imageGCHighThresholdPercent": 100})
}

pub(super) async fn stay() -> Result<(), Failed> {
    let containerd = Containerd::start_on_disk_of(DISK).await.map_err(failed)?;
    let registry = Registry::start(&containerd).await.map_err(failed)?;
    let images = ["pinned", "plain"].map(|tag| registry.add_large_image(&containerd, tag, OWN << 20));
    let [pinned, plain] = images.map(|image| image.map_err(failed));
    let images = [pinned?, plain?];
    let seen = containerd.in_network(|| {
        // Threads of this runtime are born into that network.
        tokio::runtime::Runtime::new()?.block_on(collect(&containerd, &images))
    });
    seen.map_err(failed)??;
    drop(registry);
    containerd.stop().await.map_err(failed)
}

/// The images that the runtime says are pinned, of these.
async fn pinned(runtime: &Runtime, images: &[String]) -> Result<Vec<String>, Failed> {
    let listed = runtime.image_store.list().await.map_err(failed)?;
    let is_pinned = |image: &&String| listed.iter().any(|one| one.pinned && one.names.contains(image));
    Ok(images.iter().filter(is_pinned).cloned().collect())
}

/// One pod after the other pulls an image and is gone.
async fn pull(cluster: &Cluster, runtime: &Runtime, images: &[String]) -> Result<(), Failed> {
    for (number, image) in images.iter().enumerate() {
        let name = format!("user-{number}");
        create(cluster, &name, image, SLEEP)?;
        cluster.ready(&name).await?;
        leaves(cluster, runtime, &name).await?;
    }
    Ok(())
}

/// An agent checks at its start. Never is as much unused as it is to remove, which it reports after that.
async fn inspect(cluster: &Cluster, reported: usize) -> Result<usize, Failed> {
    let count = |cluster: &Cluster| cluster.event_count(NODE, "FreeDiskSpaceFailed");
    cluster
        .until("it has checked the images", |cluster| Some(count(cluster)).filter(|count| *count > reported))
        .await
}

async fn collect(containerd: &Containerd, images: &[String; 2]) -> Result<(), Failed> {
    let runtime = containerd.runtime().map_err(failed)?;
    let ground = Ground::on(Admission::default(), containerd.endpoint()).await?;
    let mut cluster = Cluster::start_as_kubelet(ground, &without_collections()).await?;
    let mut reported = 0;
    pull(&cluster, &runtime, images).await?;
    let [own, plain] = images;
    let all = [own.clone(), plain.clone(), PAUSE_IMAGE.to_owned()];
    let kept = [own.clone(), PAUSE_IMAGE.to_owned()];
    containerd.label_image(own, &format!("{LABEL}=pinned")).map_err(failed)?;
    until(&cluster, "the runtime says what is pinned", async || Ok(pinned(&runtime, &all).await? == kept))
        .await?;
    // At the first check new images may be too young.
    for _ in 0..2 {
        cluster.restart_with_fields(&fields())?;
        reported = inspect(&cluster, reported).await?;
    }
    let found = are_there(&runtime, &all).await?;
    if found != kept {
        return Err(cluster.failure(&format!("these images are left: {found:?}, not {kept:?}")));
    }
    containerd.label_image(own, &format!("{LABEL}=")).map_err(failed)?;
    let kept = [PAUSE_IMAGE.to_owned()];
    until(&cluster, "it is pinned no more", async || Ok(pinned(&runtime, &all).await? == kept)).await?;
    cluster.restart_with_fields(&fields())?;
    inspect(&cluster, reported).await?;
    let found = are_there(&runtime, &all).await?;
    if found != kept {
        return Err(cluster.failure(&format!("unpinned: these images are left: {found:?}, not {kept:?}")));
    }
    cluster.end().await
}
