//! Pods that fill a small disk of the test's own: with bytes, with files, with logs. The agent's folder is a tmpfs with a bound, so
//! that nothing of the machine runs short.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use libtest_mimic::Failed;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use serde_json::json;
use witlet_api_server::Admission;
use witlet_harness::cluster::{Cluster, Ground, failed, is_true, phase};

use super::neighbour::Neighbour;
use super::{SLEEP, create, evicted, expect, leaves_nothing};

/// Of the small disk.
const OPTIONS: &str = "size=64m,nr_inodes=4000";

/// The small disk, which goes with it.
struct Disk(PathBuf);

impl Disk {
    /// Where the daemon's folder will be.
    fn below(ground: &Ground) -> Result<Self, Failed> {
        let folder = ground.path("agent");
        std::fs::create_dir_all(&folder)?;
        let options = std::ffi::CString::new(OPTIONS)?;
        mount("tmpfs", &folder, "tmpfs", MountFlags::empty(), &*options).map_err(failed)?;
        Ok(Self(folder))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _gone = unmount(&self.0, UnmountFlags::DETACH);
    }
}

async fn start(endpoint: String, hard: &str) -> Result<(Disk, Cluster, Neighbour), Failed> {
    let admission = Admission { node_rules: true, ..Admission::default() };
    let ground = Ground::on(admission, endpoint).await?;
    let disk = Disk::below(&ground)?;
    let more = vec!["--stop-pods-on-exit".to_owned(), format!("--eviction-hard={hard}")];
    let cluster = Cluster::start_with_token(ground, Ipv4Addr::LOCALHOST, more).await?;
    cluster.node_ready().await?;
    let neighbour = Neighbour::start(&cluster, json!({}), json!({})).await?;
    Ok((disk, cluster, neighbour))
}

/// Fills an `emptyDir` until the disk of the agent's folder is short of bytes.
pub(super) async fn bytes(endpoint: String) -> Result<(), Failed> {
    let (disk, cluster, neighbour) = start(endpoint, "nodefs.available<32Mi").await?;
    let fill = format!("/bin/busybox dd if=/dev/zero of=/cache/x bs=1M count=45; {SLEEP}");
    create(&cluster, "filler", &fill, json!({}), json!({}))?;
    let message = evicted(&cluster, "filler").await?;
    let begin = "The node was low on resource: ephemeral-storage. Threshold quantity: 32Mi, available: ";
    expect("the message", message.starts_with(begin), &message)?;
    ends_well(disk, cluster, neighbour, "filler").await
}

/// Makes files until that disk is short of inodes.
pub(super) async fn inodes(endpoint: String) -> Result<(), Failed> {
    let (disk, cluster, neighbour) = start(endpoint, "nodefs.inodesFree<1500").await?;
    let eat = format!("i=0; while [ $i -lt 3000 ]; do : >/cache/$i; i=$((i+1)); done; {SLEEP}");
    create(&cluster, "eater", &eat, json!({}), json!({}))?;
    let message = evicted(&cluster, "eater").await?;
    let begin = "The node was low on resource: inodes. Threshold quantity: 1500, available: ";
    expect("the message", message.starts_with(begin), &message)?;
    ends_well(disk, cluster, neighbour, "eater").await
}

/// Writes more logs than its limit of local storage allows.
pub(super) async fn logs(endpoint: String) -> Result<(), Failed> {
    let cluster = super::start(endpoint, "").await?;
    let limits = json!({"limits": {"ephemeral-storage": "20Mi"}});
    let neighbour = Neighbour::start(&cluster, limits.clone(), json!({})).await?;
    let write = format!("/bin/busybox dd if=/dev/zero bs=1M count=40 | /bin/busybox tr '\\0' x; {SLEEP}");
    create(&cluster, "talker", &write, limits, json!({}))?;
    let message = evicted(&cluster, "talker").await?;
    let expected = "Pod ephemeral local storage usage exceeds the total limit of containers 20Mi. ";
    expect("the message", message == expected, &message)?;
    neighbour.expect_left_alone(&cluster).await?;
    leaves_nothing(&cluster, "talker").await?;
    cluster.end().await
}

async fn ends_well(disk: Disk, mut cluster: Cluster, neighbour: Neighbour, name: &str) -> Result<(), Failed> {
    let pod = cluster.pod(name).ok_or("its object is gone")?;
    expect("it is a disruption", is_true(&pod, "DisruptionTarget"), phase(&pod))?;
    neighbour.expect_left_alone(&cluster).await?;
    leaves_nothing(&cluster, name).await?;
    // The daemon's log is on the disk, and the folder around it goes last.
    cluster.daemon.stop().await.map_err(failed)?;
    drop(disk);
    cluster.end().await
}
