//! What a metrics server makes of `/metrics/resource` over TLS, from counters that are known: what `kubectl top` shows, to the last digit.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use hyper::Method;
use jiff::Timestamp;
use tokio::sync::mpsc;
use witlet_core::pod::PodUid;
use witlet_core::runtime::{
    ContainerRunState, ListedContainer, ListedSandbox, ObservedPod, RuntimeEvent, RuntimePod, SandboxState,
};
use witlet_core::stats::cgroup_usage::{CgroupUsage, MemoryUsage};
use witlet_core::stats::summary::{FsMeasurement, Scope};
use witlet_ports::{
    Clock, ContainerCounts, KernelCounts, KernelDetails, KernelMeter, PodCounts, PodView, RunningPod,
    RuntimeError,
};
use witlet_test_servers::metrics_server::{MetricsServer, Scrape, Usage};

use super::soon;
use super::world::{SetUp, Who, World};
use crate::stats::StatsPorts;
use crate::stats::tests::Machine;

/// When it begins, in seconds.
const T: i64 = 1_790_000_000;
const SECOND: i64 = 1_000_000_000;
const MIB: u64 = 1 << 20;

/// What the machine counts.
#[derive(Clone, Copy, Default)]
struct Counters {
    /// Seconds after the beginning.
    at: i64,
    /// Of the node: milliseconds of processor time, and memory in MiB.
    node: (u64, u64),
    /// The same of the container `app` of the pod `default/web`.
    app: (u64, u64),
    /// When that was started, in seconds after the beginning.
    started_at: i64,
}

/// A machine with one pod.
#[derive(Default)]
struct Node(Mutex<Counters>);

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(T + seconds).unwrap()
}

fn usage(counters: Counters, (milliseconds, mebibytes): (u64, u64)) -> CgroupUsage {
    CgroupUsage {
        at: at(counters.at),
        cpu_nanoseconds: Some(milliseconds * 1_000_000),
        memory: Some(MemoryUsage { working_set: mebibytes * MIB, ..MemoryUsage::default() }),
        swap: None,
        pressure: Default::default(),
    }
}

impl Node {
    fn now(&self) -> Counters {
        *self.0.lock().unwrap()
    }
}

impl Clock for Node {
    fn now(&self) -> Timestamp {
        at(Node::now(self).at)
    }
}

#[async_trait]
impl PodView for Node {
    async fn list_pods(&self) -> Result<Arc<Vec<RuntimePod>>, RuntimeError> {
        let created_at = at(Node::now(self).started_at);
        Ok(Arc::new(vec![RuntimePod {
            uid: "u-1".into(),
            name: "web".to_owned(),
            namespace: "default".to_owned(),
            sandboxes: vec![ListedSandbox {
                id: "s-1".into(),
                attempt: 0,
                state: SandboxState::Ready,
                created_at,
            }],
            containers: vec![ListedContainer {
                id: "c-1".into(),
                name: "app".to_owned(),
                sandbox_id: "s-1".into(),
                state: ContainerRunState::Running,
                created_at,
            }],
        }]))
    }

    async fn pod_status(&self, uid: &PodUid) -> Result<ObservedPod, RuntimeError> {
        Ok(ObservedPod::absent(uid.clone(), Clock::now(self)))
    }

    async fn events(&self, _: mpsc::Sender<RuntimeEvent>) -> Result<(), RuntimeError> {
        Ok(())
    }
}

#[async_trait]
impl KernelMeter for Node {
    async fn counts(&self, pods: Vec<RunningPod>, _: Scope) -> KernelCounts {
        let counters = Node::now(self);
        let app = ContainerCounts { usage: usage(counters, counters.app), processes: None };
        let counted = pods.into_iter().map(|pod| {
            let containers = pod.containers.into_iter().map(|id| (id, app)).collect();
            (pod.uid, PodCounts { usage: Some(app.usage), containers, network: None })
        });
        KernelCounts {
            node: Some(usage(counters, counters.node)),
            pods: counted.collect(),
            ..KernelCounts::default()
        }
    }

    async fn details(&self, _: Vec<RunningPod>) -> Option<KernelDetails> {
        None
    }

    async fn filesystem(&self, _: &Path) -> Option<FsMeasurement> {
        None
    }
}

/// Requests within a second get the same figures.
async fn a_second_passes() {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(1)).await;
    tokio::time::resume();
}

/// Billionths of a core, MiB, and the window in seconds after the beginning.
fn shown(usage: Usage) -> (u64, u64, (i64, i64)) {
    let seconds = |at: i64| at / SECOND - T;
    (usage.nanocores, usage.memory / MIB, (seconds(usage.window.0), seconds(usage.window.1)))
}

#[tokio::test]
async fn a_metrics_server_computes_what_the_counters_say() {
    let node = Arc::new(Node::default());
    let ports = StatsPorts {
        pods: node.clone(),
        kernel: node.clone(),
        clock: node.clone(),
        ..Machine::default().ports()
    };
    let world = World::new(SetUp { stats: Some(ports), ..SetUp::default() }).await;
    let certificate = world.ca.sign(Some("reader"), "monitoring", 2030);
    let clients = [Who::token("reader"), Who::certificate(certificate)];
    let mut server = MetricsServer::new(15);
    let first = Counters { at: 0, node: (1_000_000, 1024), app: (50_000, 64), started_at: -1000 };
    let second = Counters { at: 15, node: (1_030_000, 1025), app: (53_000, 65), ..first };
    let two_cores = Some((2_000_000_000, 1025, (0, 15)));
    let steps = [
        ("one scrape is none to compare with", first, None, None),
        ("a fifth of a core", second, two_cores, Some((200_000_000, 65, (0, 15)))),
        ("the same figures again", second, two_cores, Some((200_000_000, 65, (0, 15)))),
        (
            "a container that was started 12 s before counts from its start",
            Counters { at: 30, node: (1_030_001, 1), app: (1_200, 8), started_at: 18 },
            Some((66_666, 1, (15, 30))),
            Some((100_000_000, 8, (18, 30))),
        ),
        (
            "one that was started 5 s before has no figure yet",
            Counters { at: 45, node: (1_045_001, 1), app: (300, 8), started_at: 40 },
            Some((1_000_000_000, 1, (30, 45))),
            None,
        ),
        (
            "and has one with the next scrape",
            Counters { at: 60, node: (1_060_001, 1), app: (600, 9), started_at: 40 },
            Some((1_000_000_000, 1, (45, 60))),
            Some((20_000_000, 9, (45, 60))),
        ),
        (
            "a container that used nothing ever isn't taken",
            Counters { at: 75, node: (1_075_001, 1), app: (0, 9), started_at: 40 },
            Some((1_000_000_000, 1, (60, 75))),
            None,
        ),
    ];
    for ((what, counters, of_node, of_app), who) in steps.into_iter().zip(clients.iter().cycle()) {
        *node.0.lock().unwrap() = counters;
        a_second_passes().await;
        let reply = soon(world.ask(Method::GET, "/metrics/resource", who)).await;
        assert_eq!(reply.code.as_u16(), 200, "{what}");
        // Figures have their own times: that of the request would be another.
        server.store(Scrape::read(&reply.body, i64::MAX).unwrap());
        assert_eq!(server.node().map(shown), of_node, "{what}: the node");
        let app = server.pod("default", "web").map(|pod| shown(pod["app"]));
        assert_eq!(app, of_app, "{what}: the container");
    }
    world.stop().await;
}

#[test]
fn a_response_that_is_no_text_of_metrics_counts_nothing() {
    for text in ["node_cpu_usage_seconds_total", "x 1 2 3", "x{a=\"b\" 1", "container_start_time_seconds 1"] {
        assert!(Scrape::read(text, 0).is_err(), "{text}");
    }
    let text = "# HELP x y\n\nnode_cpu_usage_seconds_total 2\nnode_memory_working_set_bytes 3 7\nother 1\n";
    let node = Scrape::read(text, 5).unwrap().node.unwrap();
    assert_eq!((node.cpu, node.memory, node.at), (2_000_000_000, 3, 7_000_000));
}
