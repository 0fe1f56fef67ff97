//! The daemon is killed at each step of making a pod's cgroup and of an eviction that can be seen from outside: nothing is done
//! twice, and nothing is left.

use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use witlet_harness::cluster::{Cluster, NODE, container, failed, refused};
use witlet_harness::{BUSYBOX_IMAGE, WAIT_TIMEOUT, cgroups};

use super::pids::start;
use super::{SLEEP, evicted, expect, leaves_nothing};

/// How often it is checked whether a step was reached: a step may take a millisecond.
const POLL_INTERVAL: Duration = Duration::from_micros(200);
/// The longest time between two measurements of what pods use is 10 s: these moments lie in it.
const MOMENTS: [Duration; 3] = [Duration::from_secs(2), Duration::from_secs(5), Duration::from_secs(8)];
/// What the pod may write, and writes, in MiB.
const LIMIT: u64 = 10;
const WRITTEN: u64 = 20;
/// More processes than any pod here has.
const PIDS: u64 = 1000;
/// Bytes that the pod's cgroup is limited to.
const MEMORY: u64 = 64 << 20;

/// A step, and whether it was reached.
type Step = (&'static str, fn(&Cluster, &Traces) -> bool);

/// Steps of making a pod's cgroup and what comes after it.
const CREATION: &[Step] = &[
    ("its object is there", |_, _| true),
    ("one of its cgroups is made", |_, traces| !traces.folders().is_empty()),
    ("all of its cgroups are made", |_, traces| traces.folders().len() >= traces.trees()),
    ("the limit of its memory is set", |_, traces| traces.memory_limit() == Some(MEMORY)),
    ("its sandbox runs", |_, traces| traces.processes() > 0),
    ("its container has started", |_, traces| traces.starts() > 0),
];

/// Steps of an eviction, after those that can't be seen: the round that decides on it.
const EVICTION: &[Step] = &[
    ("it is over its limit", |_, traces| traces.is_over()),
    ("the eviction is saved", |_, traces| traces.is_saved()),
    ("the eviction was reported", |cluster, traces| cluster.event_count(&traces.name, "Evicted") > 0),
    ("its status says it", |cluster, traces| {
        let status = cluster.pod(&traces.name).and_then(|pod| pod.status);
        status.is_some_and(|status| status.reason.as_deref() == Some("Evicted"))
    }),
    ("its processes have ended", |_, traces| traces.is_saved() && traces.processes() == 0),
    ("its cgroups are gone", |_, traces| traces.is_saved() && traces.folders().is_empty()),
];

/// Where a pod leaves traces.
struct Traces {
    name: String,
    uid: String,
    agent: PathBuf,
    starts: PathBuf,
    mounts: Vec<PathBuf>,
    /// Its cgroup in each class, below each mount.
    places: Vec<String>,
}

impl Traces {
    fn of(cluster: &Cluster, pod: &Pod) -> Self {
        let name = pod.metadata.name.clone().unwrap_or_default();
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let tiers = [None, Some("burstable"), Some("besteffort")];
        Self {
            starts: cluster.ground.path("starts").join(&name),
            name,
            agent: cluster.ground.path("agent"),
            mounts: cgroups::folders("/"),
            places: tiers.map(|tier| cgroups::path_of_pod(&cluster.ground.endpoint, tier, &uid)).into(),
            uid,
        }
    }

    /// The pod's cgroups, in all trees.
    fn folders(&self) -> Vec<PathBuf> {
        let all = self.mounts.iter().flat_map(|mount| self.places.iter().map(|place| mount.join(place)));
        all.filter(|path| path.exists()).collect()
    }

    /// How many trees the agent makes cgroups in.
    fn trees(&self) -> usize {
        let holds_classes = |mount: &&PathBuf| {
            self.places.iter().any(|place| mount.join(place).parent().is_some_and(Path::exists))
        };
        self.mounts.iter().filter(holds_classes).count()
    }

    fn memory_limit(&self) -> Option<u64> {
        let files = self.folders().into_iter().flat_map(|path| {
            ["memory.limit_in_bytes", "memory.max"].map(|file| std::fs::read_to_string(path.join(file)))
        });
        files.flatten().find_map(|text| text.trim().parse().ok())
    }

    /// How many processes the pod has.
    fn processes(&self) -> usize {
        fn below(folder: &Path) -> usize {
            let own = std::fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            own.lines().count() + folders.map(|entry| below(&entry.path())).sum::<usize>()
        }
        self.folders().iter().map(|folder| below(folder)).max().unwrap_or_default()
    }

    /// How often its container has started.
    fn starts(&self) -> usize {
        std::fs::read_to_string(&self.starts).unwrap_or_default().lines().count()
    }

    fn is_over(&self) -> bool {
        let file = format!("pods/{}/volumes/kubernetes.io~empty-dir/cache/x", self.uid);
        std::fs::metadata(self.agent.join(file)).is_ok_and(|file| file.len() > LIMIT << 20)
    }

    /// Whether the pod's checkpoint says that it was evicted.
    fn is_saved(&self) -> bool {
        let file = self.agent.join("pods").join(&self.uid).join("witlet-checkpoint.json");
        std::fs::read_to_string(file).is_ok_and(|checkpoint| checkpoint.contains("Evicted"))
    }
}

fn create(cluster: &Cluster, name: &str, script: &str, resources: Value) -> Result<Traces, Failed> {
    let script = format!("echo start >> /starts/{name}; {script}");
    let app = json!({
        "name": "app", "image": BUSYBOX_IMAGE, "command": ["/bin/sh", "-c", script], "resources": resources,
        "volumeMounts": [{"name": "cache", "mountPath": "/cache"}, {"name": "starts", "mountPath": "/starts"}],
    });
    let starts = cluster.ground.path("starts");
    std::fs::create_dir_all(&starts)?;
    let pod: Pod = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "nodeName": NODE,
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "terminationGracePeriodSeconds": 1,
            "hostNetwork": true,
            "containers": [app],
            "volumes": [
                {"name": "cache", "emptyDir": {"sizeLimit": format!("{LIMIT}Mi")}},
                {"name": "starts", "hostPath": {"path": starts}},
            ],
        },
    }))?;
    let created = cluster.api().create(&pod).map_err(refused)?;
    Ok(Traces::of(cluster, &created))
}

/// Waits for the step, and kills the daemon at once. One that was passed between two checks counts as reached.
async fn kill_at(cluster: &mut Cluster, traces: &Traces, (what, is_reached): Step) -> Result<(), Failed> {
    let deadline = Instant::now() + WAIT_TIMEOUT;
    while !is_reached(cluster, traces) {
        if Instant::now() >= deadline {
            return Err(cluster.failure(&format!("{}: never: {what}", traces.name)));
        }
        sleep(POLL_INTERVAL).await;
    }
    cluster.daemon.kill_and_restart().map_err(failed)
}

/// A pod whose cgroup was being made has it whole, and started once.
pub(super) async fn creation(endpoint: String) -> Result<(), Failed> {
    let (mut cluster, neighbour) = start(endpoint, PIDS, "{}").await?;
    let limits = json!({"limits": {"cpu": "100m", "memory": "64Mi"}});
    for (number, step) in CREATION.iter().enumerate() {
        let name = format!("new-{number}");
        let traces = create(&cluster, &name, SLEEP, limits.clone())?;
        kill_at(&mut cluster, &traces, *step).await?;
        let pod = cluster.ready(&name).await?;
        // It is ready once its process is there, which may not have run yet.
        cluster.until("its program runs", |_| (traces.starts() > 0).then_some(())).await?;
        let after = |what: &str| format!("killed when {}: {what}", step.0);
        let restarts = container(&pod).map(|(_, restarts)| restarts);
        expect(&after("starts"), traces.starts() == 1, &traces.starts().to_string())?;
        expect(&after("restarts"), restarts == Some(0), &format!("{restarts:?}"))?;
        let limit = traces.memory_limit();
        expect(&after("the limit of its memory"), limit == Some(MEMORY), &format!("{limit:?}"))?;
        let folders = traces.folders();
        expect(&after("its cgroups"), folders.len() == traces.trees(), &format!("{folders:?}"))?;
        leaves_nothing(&cluster, &name).await?;
    }
    neighbour.ends_well(&cluster).await?;
    cluster.end().await
}

/// A pod that was being evicted is evicted once, starts never again, and leaves nothing.
pub(super) async fn eviction(endpoint: String) -> Result<(), Failed> {
    let (mut cluster, neighbour) = start(endpoint, PIDS, "{}").await?;
    let over = EVICTION[0];
    let steps = EVICTION.iter().map(|step| (*step, Duration::ZERO));
    let steps = steps.chain(MOMENTS.map(|moment| (over, moment)));
    for (number, (step, moment)) in steps.enumerate() {
        let name = format!("filler-{number}");
        let fill = format!("/bin/busybox dd if=/dev/zero of=/cache/x bs=1M count={WRITTEN}; {SLEEP}");
        let traces = create(&cluster, &name, &fill, json!({}))?;
        if !moment.is_zero() {
            cluster.until("it is over its limit", |_| traces.is_over().then_some(())).await?;
            sleep(moment).await;
        }
        kill_at(&mut cluster, &traces, step).await?;
        let after = |what: &str| format!("killed when {} and after {moment:?}: {what}", step.0);
        let message = evicted(&cluster, &name).await?;
        let expected = format!("Usage of EmptyDir volume \"cache\" exceeds the limit \"{LIMIT}Mi\". ");
        expect(&after("its message"), message == expected, &message)?;
        cluster.until("its cgroups are gone", |_| traces.folders().is_empty().then_some(())).await?;
        expect(&after("starts"), traces.starts() == 1, &traces.starts().to_string())?;
        // A daemon that is killed right after it recorded the event may not have sent it yet, and it isn't recorded again.
        let reported = cluster.event_count(&name, "Evicted");
        expect(&after("events"), reported <= 1, &reported.to_string())?;
        leaves_nothing(&cluster, &name).await?;
    }
    neighbour.ends_well(&cluster).await?;
    cluster.end().await
}
