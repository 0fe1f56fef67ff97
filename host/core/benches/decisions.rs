//! Time and instructions of what grows with the node: plan, merge, PLEG diff, and the text of `/metrics/cadvisor`, at 10, 110 and 500 pods.
//!
//! Prints one JSON object a line. `floor` is the same work at 10 pods scaled to the number of pods, so a `ratio` of 1 is
//! linear growth and the budget of 1.5 leaves capacity for caches that no longer hold everything. Instructions are counted
//! by valgrind in a process of their own, where it is installed.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use witlet_core::container::backoff::{BackoffTable, CRASH};
use witlet_core::container::hash::container_hash;
use witlet_core::container::plan::{PlanInput, plan};
use witlet_core::pleg::diff;
use witlet_core::pod::{PodUid, SourceName};
use witlet_core::probe::ProbeResults;
use witlet_core::runtime::{
    ContainerId, ContainerRunState, ListedContainer, ListedSandbox, NamespaceMode, ObservedContainer,
    ObservedPod, ObservedSandbox, RuntimePod, SandboxId, SandboxState,
};
use witlet_core::sources::SourceUpdate;
use witlet_core::sources::merge::MergedPods;
use witlet_core::stats::cadvisor::{CgroupDetails, Row, RowLabels, Scrape, chunks};
use witlet_core::stats::cgroup_usage::{CgroupUsage, MemoryUsage};
use witlet_core::stats::exposition::Format;

/// Nodes of these sizes; the first is the floor of the others.
const SIZES: [usize; 3] = [10, 110, 500];

/// How much more than linearly the work may grow.
const GROWTH_BUDGET: f64 = 1.5;

/// Each measurement takes the fastest of this many batches.
const BATCHES: usize = 20;

/// How long a batch is.
const BATCH: Duration = Duration::from_millis(20);

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let [_, flag, name, pods] = args.as_slice()
        && flag == "--count"
    {
        let case = Case::new(name, pods.parse().expect("a number of pods"));
        case.run(); // caches and lazily made tables are not what is counted
        measured(&case);
        return;
    }
    for name in ["plan", "merge", "pleg_diff", "cadvisor_text"] {
        let (mut first_time, mut first_count) = (None, None);
        for pods in SIZES {
            let time = nanoseconds(&Case::new(name, pods));
            report(name, pods, "ns", time, *first_time.get_or_insert(time));
            if let Some(count) = instructions(name, pods) {
                report(name, pods, "instructions", count, *first_count.get_or_insert(count));
            }
        }
    }
}

#[allow(clippy::print_stdout, reason = "a benchmark's output is its product")]
fn report(name: &str, pods: usize, unit: &str, value: f64, at_first_size: f64) {
    let floor = at_first_size * pods as f64 / SIZES[0] as f64;
    let ratio = (value / floor * 100.0).round() / 100.0;
    println!(
        "{}",
        json!({"name": format!("{name}_{pods}_pods"), "unit": unit, "value": value.round(), "floor": floor.round(),
               "ratio": ratio, "budget": GROWTH_BUDGET})
    );
}

/// Time of one run in the fastest batch.
#[allow(clippy::disallowed_methods, reason = "measuring time is what this is for")]
fn nanoseconds(case: &Case) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..BATCHES {
        let (begin, mut runs) = (std::time::Instant::now(), 0_u32);
        while begin.elapsed() < BATCH {
            case.run();
            runs += 1;
        }
        best = best.min(begin.elapsed().as_nanos() as f64 / f64::from(runs));
    }
    best
}

/// Instructions of one run, counted by callgrind inside [`measured`] only.
fn instructions(name: &str, pods: usize) -> Option<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--toggle-collect=*measured*", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().ok()?)
        .args(["--count", name, &pods.to_string()])
        .stdout(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find_map(|line| line.split("Collected :").nth(1))?;
    line.trim().parse().ok().filter(|count| *count > 0.0)
}

#[inline(never)]
fn measured(case: &Case) {
    case.run();
}

/// Work over a node's worth of facts.
enum Case {
    Plan(Vec<(Arc<Pod>, ObservedPod)>),
    Merge { before: MergedPods, set: Vec<Arc<Pod>> },
    PlegDiff(Vec<(RuntimePod, RuntimePod)>),
    CadvisorText(Arc<Scrape>),
}

impl Case {
    fn new(name: &str, pods: usize) -> Self {
        match name {
            "plan" => Self::Plan((0..pods).map(|n| (Arc::new(pod(n, "1.0")), observed(n))).collect()),
            "merge" => {
                let mut before = MergedPods::default();
                let set = (0..pods).map(|n| Arc::new(pod(n, "1.0"))).collect();
                before.take(&SourceName::file(), replaced(set), now());
                let version = |n| if n == 0 { "1.1" } else { "1.0" };
                Self::Merge { before, set: (0..pods).map(|n| Arc::new(pod(n, version(n)))).collect() }
            }
            "pleg_diff" => {
                let state = |n| if n == 0 { ContainerRunState::Exited } else { ContainerRunState::Running };
                let listed = |n| (listed(n, ContainerRunState::Running), listed(n, state(n)));
                Self::PlegDiff((0..pods).map(listed).collect())
            }
            "cadvisor_text" => {
                let rows = (0..pods).flat_map(|n| ["", "pause", "main"].map(|container| row(n, container)));
                Self::CadvisorText(Arc::new(Scrape { at: now(), rows: rows.collect(), ..Scrape::default() }))
            }
            other => unreachable!("no case is called {other}"),
        }
    }

    fn run(&self) {
        match self {
            Self::Plan(pods) => {
                let (backoff, probes) = (BackoffTable::new(CRASH), ProbeResults::new());
                let restart_counts = BTreeMap::new();
                for (pod, observed) in pods {
                    let input = PlanInput {
                        pod,
                        observed,
                        backoff: &backoff,
                        probes: &probes,
                        restart_counts: &restart_counts,
                        resize: None,
                        now: now(),
                    };
                    assert!(black_box(plan(input)).steps.is_empty(), "all is as it should be");
                }
            }
            Self::Merge { before, set } => {
                let changes =
                    black_box(before.clone().take(&SourceName::file(), replaced(set.clone()), now()));
                assert_eq!(changes.iter().map(|(_, change)| change.updated.len()).sum::<usize>(), 1);
            }
            Self::PlegDiff(pods) => {
                let events: usize =
                    pods.iter().map(|(old, new)| black_box(diff(Some(old), Some(new))).len()).sum();
                assert_eq!(events, 1);
            }
            Self::CadvisorText(scrape) => {
                let bytes: usize =
                    chunks(scrape.clone(), Format::Text).map(|piece| black_box(piece).len()).sum();
                assert!(bytes > scrape.rows.len());
            }
        }
    }
}

fn replaced(pods: Vec<Arc<Pod>>) -> SourceUpdate {
    SourceUpdate::Replaced { pods, incomplete: None }
}

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).expect("a time")
}

/// A pod of two containers with resources, environment and labels.
fn pod(number: usize, version: &str) -> Pod {
    let container = |name: &str| {
        json!({
            "name": name,
            "image": format!("registry.example.com/{name}:{version}"),
            "args": ["--listen", "0.0.0.0:8080", "--verbose"],
            "env": [{"name": "MODE", "value": "production"}, {"name": "PEERS", "value": "a,b,c"}],
            "ports": [{"containerPort": 8080, "protocol": "TCP"}],
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
        })
    };
    serde_json::from_value(json!({
        "metadata": {
            "name": format!("pod-{number}"), "namespace": "default", "uid": format!("uid-{number}"),
            "labels": {"app": "web", "tier": "front"},
            "annotations": {"kubernetes.io/config.source": "file"},
        },
        "spec": {"restartPolicy": "Always", "containers": [container("main"), container("helper")]},
    }))
    .expect("a pod")
}

fn observed(number: usize) -> ObservedPod {
    let pod = pod(number, "1.0");
    let uid = PodUid::of(&pod);
    let sandbox_id = SandboxId::from(format!("sandbox-{number}"));
    let spec = pod.spec.as_ref().expect("a spec");
    let containers = spec.containers.iter().map(|container| ObservedContainer {
        sandbox_id: Some(sandbox_id.clone()),
        started_at: Some(now()),
        image: container.image.clone().unwrap_or_default(),
        image_id: "sha256:0".into(),
        spec_hash: Some(container_hash(container)),
        termination_grace_seconds: Some(30),
        ..ObservedContainer::new(
            ContainerId::from(format!("{number}-{}", container.name)),
            &container.name,
            ContainerRunState::Running,
            now(),
        )
    });
    ObservedPod {
        name: format!("pod-{number}"),
        namespace: "default".into(),
        ips: vec!["10.0.0.1".parse().expect("an address")],
        containers: containers.collect(),
        sandboxes: vec![ObservedSandbox {
            id: sandbox_id.clone(),
            attempt: 0,
            state: SandboxState::Ready,
            created_at: now(),
            network: NamespaceMode::Pod,
            ips: vec!["10.0.0.1".parse().expect("an address")],
        }],
        ..ObservedPod::absent(uid, now())
    }
}

fn listed(number: usize, state: ContainerRunState) -> RuntimePod {
    let sandbox_id = SandboxId::from(format!("sandbox-{number}"));
    let container = |name: &str, state| ListedContainer {
        id: ContainerId::from(format!("{number}-{name}")),
        name: name.into(),
        sandbox_id: sandbox_id.clone(),
        state,
        created_at: now(),
    };
    RuntimePod {
        uid: PodUid::from(format!("uid-{number}")),
        name: format!("pod-{number}"),
        namespace: "default".into(),
        containers: vec![container("main", state), container("helper", ContainerRunState::Running)],
        sandboxes: vec![ListedSandbox {
            id: sandbox_id.clone(),
            attempt: 0,
            state: SandboxState::Ready,
            created_at: now(),
        }],
    }
}

/// The cgroup of a pod, or of a container in it, with names as long as those of a cluster.
fn row(number: usize, container: &str) -> Row {
    let pod = format!("/kubepods/burstable/pod00000000-0000-4000-8000-{number:012}");
    let name = if container.is_empty() { String::new() } else { format!("{container:0>56}{number:08}") };
    let memory = MemoryUsage { usage: Some(12_345_678), working_set: 12_345_000, ..MemoryUsage::default() };
    let usage = CgroupUsage {
        at: now(),
        cpu_nanoseconds: Some(123_456_789 + number as u64),
        memory: Some(memory),
        swap: None,
        pressure: Default::default(),
    };
    Row {
        labels: RowLabels {
            container: container.to_owned(),
            id: if name.is_empty() { pod } else { format!("{pod}/{name}") },
            image: "registry.example.com/team/main:1.0".to_owned(),
            name,
            namespace: "default".to_owned(),
            pod: format!("pod-{number}"),
        },
        started_at: Some(now()),
        details: CgroupDetails { usage, ..CgroupDetails::of_v2(now(), false, None, |_| None) },
        network: Vec::new(),
        filesystems: Vec::new(),
    }
}
