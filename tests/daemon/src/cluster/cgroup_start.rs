//! Starts that can keep no cgroups of pods, which end and say why, and one without a message bus, which goes on.

use std::os::unix::net::UnixListener;
use std::path::Path;

use k8s_openapi::api::core::v1::Pod;
use libtest_mimic::Failed;
use serde_json::{Value, json};
use witlet_api_server::Admission;
use witlet_harness::cluster::{Cluster, Ground, NODE, refused};
use witlet_harness::{BUSYBOX_IMAGE, asks_for_systemd, cgroups};

use super::ContainerdTest;

pub(crate) const TESTS: &[(&str, ContainerdTest)] =
    &[("a_start_that_can_keep_no_cgroups_ends_with_its_reason", |endpoint| Box::pin(ends(endpoint)))];

/// Where systemd makes cgroups.
pub(crate) const ON_SYSTEMD: &[(&str, ContainerdTest)] =
    &[("pods_run_on_systemds_own_socket_where_no_message_bus_answers", |endpoint| Box::pin(alone(endpoint)))];

/// Where systemd is reached.
const SOCKETS: [&str; 2] = ["/run/systemd/private", "/run/dbus/system_bus_socket"];

/// What is claimed, fields of the configuration, shell commands in the daemon's mount namespace, and what the daemon says.
type Case = (&'static str, Value, String, &'static str);

fn settings() -> Vec<Case> {
    let case = |claim, fields, said| (claim, fields, String::new(), said);
    let too_much = "invalid Node Allocatable configuration. Resource \"memory\" has a reservation of ";
    let nowhere = "/witlet-test-nowhere";
    vec![
        case("more is reserved than there is", json!({"systemReserved": {"memory": "900Ti"}}), too_much),
        case(
            "a threshold is above all there is",
            json!({"evictionHard": {"memory.available": "900Ti"}}),
            too_much,
        ),
        case(
            "a threshold is above all parts of a hundred",
            json!({"evictionHard": {"memory.available": "110%"}}),
            "eviction percentage threshold memory.available must be <= 100%: 110%",
        ),
        case(
            "a soft threshold has no grace",
            json!({"evictionSoft": {"memory.available": "1Gi"}}),
            "grace period must be specified for the soft eviction threshold memory.available",
        ),
        case(
            "images go on until more is left than begins it",
            json!({"imageGCHighThresholdPercent": 70, "imageGCLowThresholdPercent": 80}),
            "imageGCLowThresholdPercent (--image-gc-low-threshold) 80 must be less than",
        ),
        case(
            "the root isn't there",
            json!({"cgroupRoot": nowhere}),
            "failed to start ContainerManager: invalid configuration: ",
        ),
        case(
            "what is reserved for isn't there",
            json!({
                "enforceNodeAllocatable": ["pods", "system-reserved"],
                "systemReserved": {"memory": "64Mi"}, "systemReservedCgroup": nowhere,
            }),
            "failed to start ContainerManager: Failed to enforce System Reserved Cgroup Limits on \"/witlet",
        ),
    ]
}

fn machines() -> Vec<Case> {
    let case = |claim, commands: &str, said| (claim, json!({}), format!("{commands}\n"), said);
    let is_v2 = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
    let remount = "mount -o remount,bind,ro";
    let (read_only, missing) = if is_v2 {
        (
            format!("{remount} /sys/fs/cgroup || exit 1"),
            case("nothing is mounted", "umount -l /sys/fs/cgroup || exit 1", "failed to find cgroup mounts"),
        )
    } else {
        let said = "system validation failed - Following Cgroup subsystem not mounted: [memory]";
        (
            format!("for tree in /sys/fs/cgroup/*/; do {remount} \"$tree\" || exit 1; done"),
            case("a controller is missing", "umount -l /sys/fs/cgroup/memory || exit 1", said),
        )
    };
    vec![case("the file system is read-only", &read_only, "Read-only file system"), missing]
}

/// There is a systemd, and it doesn't answer.
fn silent(socket: &Path) -> Case {
    let mounts = SOCKETS.map(|to| format!("mount --bind {} {to} || exit 1\n", socket.display()));
    let said = "failed to start ContainerManager: failed to connect to systemd over D-Bus: ";
    ("systemd doesn't answer", json!({}), mounts.concat(), said)
}

async fn ends(endpoint: String) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("silent.sock");
    let silence = UnixListener::bind(&socket)?;
    let mut cases = settings();
    cases.extend(machines());
    if asks_for_systemd() {
        cases.push(silent(&socket));
    }
    for (claim, fields, commands, said) in cases {
        let ground = Ground::on(Admission::default(), endpoint.clone()).await?;
        let log = Cluster::refused_as_kubelet_after(&commands, ground, &fields).await?;
        if !log.contains(said) {
            return Err(format!("{claim}: it doesn't say {said:?}:\n{log}").into());
        }
    }
    drop(silence);
    Ok(())
}

/// The daemon sees no message bus.
async fn alone(endpoint: String) -> Result<(), Failed> {
    let [_, bus] = SOCKETS;
    let commands = format!("mount --bind /dev/null {bus} || exit 1\n");
    let ground = Ground::on(Admission::default(), endpoint).await?;
    let fields = json!({"evictionHard": {"memory.available": "1Mi"}});
    let cluster = Cluster::start_as_kubelet_after(&commands, ground, &fields).await?;
    let resources = json!({"requests": {"cpu": "100m"}, "limits": {"memory": "64Mi"}});
    let pod: Pod = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "nodeName": NODE, "automountServiceAccountToken": false, "enableServiceLinks": false,
            "terminationGracePeriodSeconds": 1, "hostNetwork": true,
            "containers": [{
                "name": "app", "image": BUSYBOX_IMAGE, "resources": resources,
                "command": ["/bin/sh", "-c", "trap 'exit 0' TERM; sleep 3600 & wait"],
            }],
        },
    }))?;
    cluster.api().create(&pod).map_err(refused)?;
    let uid = cluster.ready("web").await?.metadata.uid.ok_or("a pod has a UID")?;
    let path = cgroups::path_of_pod(&cluster.ground.endpoint, Some("burstable"), &uid);
    let limit = cgroups::folders(&path).iter().find_map(|folder| {
        let files = ["memory.max", "memory.limit_in_bytes"];
        files.iter().find_map(|file| std::fs::read_to_string(folder.join(file)).ok())
    });
    if limit.as_deref().map(str::trim) != Some("67108864") {
        return Err(cluster.failure(&format!("the limit of its cgroup's memory is {limit:?}")));
    }
    cluster.delete("web", Some(1))?;
    cluster.until("its object is gone", |cluster| cluster.pod("web").is_none().then_some(())).await?;
    let are_gone = || cgroups::folders(&path).iter().all(|folder| !folder.exists());
    cluster.until("so are its cgroups", |_| are_gone().then_some(())).await?;
    cluster.end().await
}
