//! The local API over a real socket, with an agent made of constants.

mod watching;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::http::{HeaderMap, StatusCode};
use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use witlet_core::cgroup::{CgroupVersion, KeptMemory};
use witlet_core::event::{Event, EventObject, EventType};
use witlet_core::eviction::{Observation, Signal, Threshold, ThresholdState, ThresholdValue};
use witlet_core::node::allocatable::Reservations;
use witlet_core::pod::PodUid;
use witlet_core::stats::exposition::{Exposition, Kind};
use witlet_core::stats::{ContainerUsage, CpuTime};
use witlet_ports::{
    ActivePods, AgentStats, AgentView, CgroupDurations, CgroupStats, Clock, ContainerStats, Histogram, Left,
    MetricsSource, NodeImage, NodeReader, NodeReadings, ProbeCounts, ProbeTotals, RecordedEvent,
    RuntimeError, RuntimeStats,
};

use crate::metrics::Metrics;
use crate::{BindError, ClientError, LocalApi, LocalClient, PluginView, RootOnlySocket, UsagePorts};

struct Fixed {
    sick: bool,
}

impl AgentView for Fixed {
    fn pods(&self) -> Vec<Arc<Pod>> {
        let mut pod = Pod::default();
        pod.metadata.name = Some("web-node".into());
        vec![Arc::new(pod)]
    }

    fn events(&self) -> Vec<RecordedEvent> {
        vec![RecordedEvent {
            event: Arc::new(Event {
                object: EventObject::Node,
                kind: EventType::Warning,
                reason: "NodeNotReady".into(),
                message: "the runtime is gone".into(),
                annotations: Default::default(),
            }),
            count: 3,
            first_seen: jiff::Timestamp::UNIX_EPOCH,
            last_seen: jiff::Timestamp::UNIX_EPOCH,
            version: 41,
        }]
    }

    fn node(&self) -> Arc<Node> {
        let info = json!({"kubeletVersion": "v1.36.0+witlet", "operatingSystem": "linux", "architecture": "amd64", "bootID": "", "containerRuntimeVersion": "", "kernelVersion": "", "kubeProxyVersion": "", "machineID": "", "osImage": "", "systemUUID": ""});
        let status = json!({"capacity": {"cpu": "2"}, "allocatable": {"cpu": "2"}, "nodeInfo": info});
        let node = json!({"metadata": {"name": "node-1"}, "status": status});
        Arc::new(serde_json::from_value(node).unwrap())
    }

    fn unhealthy(&self) -> Vec<String> {
        if self.sick { vec!["PLEG was last seen 4m ago".into()] } else { Vec::new() }
    }

    fn stats(&self) -> AgentStats {
        let readiness = ProbeCounts { successful: 5, failed: 2, unknown: 0 };
        AgentStats {
            events_handled: 7,
            rejections_waiting: 2,
            rejections_delayed: 6,
            probes: ProbeTotals { readiness, ..ProbeTotals::default() },
            rejections: [("OutOfcpu".to_owned(), 3)].into(),
            preemptions: [("cpu".to_owned(), 1)].into(),
            evictions: [("memory.available", 2)].into(),
            eviction_stats_ages: [("memory.available", lasting(12_000))].into(),
            active_pods: ActivePods { of_api_server: 4, of_node: 1 },
            desired_pods: ActivePods { of_api_server: 6, of_node: 2 },
            cgroups: CgroupStats {
                version: Some(CgroupVersion::V2),
                durations: CgroupDurations { create: lasting(7), ..CgroupDurations::default() },
                kept_memory: Some(KeptMemory { guaranteed: 64, burstable: 32 }),
                runtime_names_no_driver: true,
            },
            ..AgentStats::default()
        }
    }

    fn thresholds(&self) -> Vec<ThresholdState> {
        let threshold = Threshold {
            signal: Signal::PidAvailable,
            value: ThresholdValue::Quantity { amount: 1000, is_binary: false },
            grace: jiff::SignedDuration::from_secs(60),
            min_reclaim: None,
        };
        let observed = Observation { available: 400, capacity: 5000, at: None };
        vec![ThresholdState {
            threshold,
            observed: Some(observed),
            met_since: Some(jiff::Timestamp::UNIX_EPOCH),
        }]
    }
}

impl PluginView for Fixed {
    fn plugins(&self) -> Vec<Value> {
        vec![json!({"name": "host-ports"})]
    }
}

fn lasting(milliseconds: u64) -> Histogram {
    let mut durations = Histogram::default();
    durations.observe(Duration::from_millis(milliseconds).as_secs_f64());
    durations
}

/// The metrics of another source.
struct Extra;

impl MetricsSource for Extra {
    fn write(&self, to: &mut Exposition) {
        to.gauge("extra_things", "Things", 3.0);
    }
}

/// Serves `view` while `ask` runs.
async fn with_server<T>(sick: bool, ask: impl AsyncFnOnce(LocalClient) -> T) -> T {
    with_api(|api| api, sick, ask).await
}

/// The same with more in it.
async fn with_api<T>(
    complete: impl FnOnce(LocalApi) -> LocalApi,
    sick: bool,
    ask: impl AsyncFnOnce(LocalClient) -> T,
) -> T {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run/witlet.sock");
    let socket = RootOnlySocket::bind(&path).await.unwrap();
    let stop = CancellationToken::new();
    let view = Arc::new(Fixed { sick });
    let api = complete(LocalApi::new(view.clone(), view).with_metrics(Arc::new(Extra)));
    let (served, answer) = tokio::join!(api.serve(socket, stop.clone()), async {
        let answer = ask(LocalClient::new(&path)).await;
        stop.cancel();
        answer
    });
    served.unwrap();
    assert!(!path.exists(), "the socket goes with the server");
    answer
}

#[tokio::test]
async fn metrics_are_the_agents_and_those_of_every_source() {
    let text = with_server(true, async |client| client.text("/metrics").await.unwrap()).await;
    for line in [
        "# TYPE witlet_event_loop_events_total counter",
        "witlet_event_loop_events_total 7",
        "witlet_healthy 0",
        "witlet_waiting_rejections 2",
        "witlet_delayed_rejections_total 6",
        "witlet_sources_ready 0",
        "witlet_probes_total{probe_type=\"Readiness\",result=\"failed\"} 2",
        "kubelet_admission_rejections_total{reason=\"OutOfcpu\"} 3",
        "# TYPE kubelet_preemptions counter",
        "kubelet_preemptions{preemption_signal=\"cpu\"} 1",
        "kubelet_evictions{eviction_signal=\"memory.available\"} 2",
        "kubelet_eviction_stats_age_seconds_bucket{eviction_signal=\"memory.available\",le=\"10\"} 0",
        "kubelet_eviction_stats_age_seconds_bucket{eviction_signal=\"memory.available\",le=\"+Inf\"} 1",
        "kubelet_node_name{node=\"node-1\"} 1",
        "kubelet_desired_pods{static=\"\"} 6",
        "kubelet_desired_pods{static=\"true\"} 2",
        "kubernetes_build_info{build_date=\"\",compiler=\"rustc\",git_commit=\"\",git_tree_state=\"\",git_version=\"v1.36.0+witlet\",go_version=\"\",major=\"1\",minor=\"36\",platform=\"linux/amd64\"} 1",
        "kubelet_active_pods{static=\"\"} 4",
        "kubelet_active_pods{static=\"true\"} 1",
        "kubelet_cgroup_version 2",
        "kubelet_memory_qos_node_memory_min_bytes 64",
        "kubelet_memory_qos_node_memory_low_bytes 32",
        "kubelet_cri_losing_support{version=\"1.37.0\"} 1",
        "kubelet_cgroup_manager_duration_seconds_bucket{operation_type=\"create\",le=\"0.005\"} 0",
        "kubelet_cgroup_manager_duration_seconds_bucket{operation_type=\"create\",le=\"0.01\"} 1",
        "kubelet_cgroup_manager_duration_seconds_sum{operation_type=\"create\"} 0.007",
        "extra_things 3",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} isn't in:\n{text}");
    }
    assert!(!text.contains("operation_type=\"destroy\""), "none was removed:\n{text}");
    assert!(!text.contains("# EOF"), "a kubelet's metrics have no end mark:\n{text}");
}

#[tokio::test]
async fn metrics_that_are_too_large_are_refused() {
    struct Large;
    impl MetricsSource for Large {
        fn write(&self, to: &mut Exposition) {
            let mut family = to.family("large", "Large", Kind::Gauge);
            let label = "x".repeat(1 << 20);
            for _ in 0..20 {
                family.sample(&[("label", &label)], 1.0);
            }
        }
    }
    let metrics = Metrics::default();
    metrics.add(Arc::new(Large));
    assert_eq!(metrics.answer(&HeaderMap::new()).await.status(), StatusCode::INTERNAL_SERVER_ERROR);
}

#[tokio::test]
async fn families_of_a_kubelet_say_how_stable_they_are_and_no_name_is_twice() {
    let text = with_api(|api| api, false, async |client| client.text("/metrics").await.unwrap()).await;
    let helps: Vec<(&str, &str)> =
        text.lines().filter_map(|line| line.strip_prefix("# HELP ")?.split_once(' ')).collect();
    assert!(helps.len() >= 15, "{text}");
    let names: BTreeSet<&str> = helps.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), helps.len(), "{text}");
    for (name, help) in helps {
        let is_marked = ["[ALPHA] ", "[BETA] ", "[STABLE] "].iter().any(|mark| help.starts_with(mark));
        assert_eq!(is_marked, !name.starts_with("witlet_") && name != "extra_things", "{name}: {help}");
    }
}

#[tokio::test]
async fn pods_events_plugins_and_stats_are_served_as_json() {
    with_server(false, async |client| {
        let pods: Value = client.get("/pods").await.unwrap();
        assert_eq!(pods["kind"], "PodList");
        assert_eq!(pods["items"][0]["metadata"]["name"], "web-node");
        let events: Value = client.get("/events").await.unwrap();
        assert_eq!(events["items"][0]["reason"], "NodeNotReady");
        assert_eq!(events["items"][0]["count"], 3);
        assert_eq!(
            (&events["metadata"]["resourceVersion"], &events["items"][0]["metadata"]),
            (&json!("41"), &json!({"resourceVersion": "41"}))
        );
        let later: Value = client.get("/events?resourceVersion=41").await.unwrap();
        assert_eq!(later["items"], json!([]));
        let description: Value = client.get("/pods/u-1/description").await.unwrap();
        assert_eq!(description, json!({"admission": [], "probes": []}));
        let plugins: Value = client.get("/plugins").await.unwrap();
        assert_eq!(plugins["items"][0]["name"], "host-ports");
        let stats: Value = client.get("/stats").await.unwrap();
        assert_eq!(stats["eventsHandled"], 7);
    })
    .await;
}

#[tokio::test]
async fn an_unhealthy_agent_answers_503_with_its_reasons() {
    let failed = with_server(true, async |client| client.get::<Value>("/healthz").await).await;
    let Err(ClientError::Refused { status: 503, reason }) = failed else { panic!("{failed:?}") };
    assert!(reason.contains("/healthz: 503"), "{reason}");
}

#[tokio::test]
async fn the_socket_is_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run/witlet.sock");
    let _socket = RootOnlySocket::bind(&path).await.unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let folder_mode = std::fs::metadata(path.parent().unwrap()).unwrap().permissions().mode();
    assert_eq!(folder_mode & 0o777, 0o700);
}

#[tokio::test]
async fn a_socket_in_use_is_refused_and_a_stale_one_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("witlet.sock");
    {
        let stale = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(matches!(RootOnlySocket::bind(&path).await, Err(BindError::InUse { .. })));
        drop(stale);
    }
    assert!(path.exists(), "a closed listener leaves its file");
    RootOnlySocket::bind(&path).await.unwrap();
    std::fs::write(&path, "text").unwrap();
    assert!(matches!(RootOnlySocket::bind(&path).await, Err(BindError::NotASocket { .. })));
    assert_eq!(std::fs::read(&path).unwrap(), b"text", "what isn't ours is left alone");
}

#[tokio::test]
async fn without_a_daemon_the_error_names_the_socket_and_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let failed = LocalClient::new(&folder.path().join("none.sock")).get::<Value>("/pods").await;
    let message = failed.unwrap_err().to_string();
    assert!(message.contains("none.sock") && message.contains("witlet run"), "{message}");
}

#[tokio::test]
async fn a_path_longer_than_the_kernel_takes_is_refused_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x".repeat(108));
    let error = RootOnlySocket::bind(&path).await.expect_err("too long");
    assert!(matches!(error, BindError::TooLong { .. }), "{error}");
    assert!(
        error.to_string().contains("at most 107") && error.to_string().contains("--api-socket"),
        "{error}"
    );
}

#[tokio::test]
async fn thresholds_say_what_is_left_and_how_far_away_they_are() {
    let answer: Value = with_server(false, async |client| client.get("/thresholds").await.unwrap()).await;
    let expected = json!({"items": [{
        "signal": "pid.available", "threshold": "1k", "gracePeriodSeconds": 60, "minimumReclaim": null,
        "available": 400, "capacity": 5000, "distance": -600, "inBytes": false, "metSince": "1970-01-01T00:00:00Z",
    }]});
    assert_eq!(answer, expected);
}

/// A runtime whose one container has used half a core since the last check.
struct Runtime {
    readings: AtomicU64,
    is_down: bool,
}

#[async_trait]
impl RuntimeStats for Runtime {
    async fn containers(&self) -> Result<Vec<ContainerStats>, RuntimeError> {
        if self.is_down {
            return Err(RuntimeError::failed("ListContainerStats", "no such service"));
        }
        let readings = self.readings.fetch_add(1, Ordering::Relaxed);
        let at = jiff::Timestamp::from_second(i64::try_from(readings).unwrap()).ok();
        let usage = ContainerUsage {
            name: "app".into(),
            memory: Some(10 << 20),
            cpu: Some(CpuTime { nanoseconds: readings * 500_000_000, at }),
            ..ContainerUsage::default()
        };
        let of = |uid: &str| ContainerStats { uid: uid.into(), attempt: 0, usage: usage.clone() };
        Ok(vec![of(""), of("of another agent")])
    }

    async fn processes(&self) -> Result<BTreeMap<PodUid, u64>, RuntimeError> {
        Ok(BTreeMap::new())
    }
}

/// A node that uses its processors for a second at each check.
#[derive(Default)]
struct Machine(AtomicU64);

#[async_trait]
impl NodeReader for Machine {
    async fn read(&self) -> NodeReadings {
        let cpu = Some(Duration::from_secs(self.0.fetch_add(1, Ordering::Relaxed)));
        NodeReadings { pids: Some(Left { capacity: 1000, available: 900 }), cpu, ..NodeReadings::default() }
    }

    async fn images(&self) -> Option<Vec<NodeImage>> {
        None
    }
}

fn usage_ports(stats: Arc<Runtime>) -> UsagePorts {
    let reservations = Reservations { system: [("pid".to_owned(), 50)].into(), ..Reservations::default() };
    UsagePorts { stats, node_reader: Arc::new(Machine::default()), reservations, clock: Arc::new(Epoch) }
}

#[tokio::test]
async fn resources_of_the_node_say_what_is_reserved_and_used() {
    let runtime = Arc::new(Runtime { readings: AtomicU64::new(0), is_down: true });
    let answer: Value = with_api(
        |api| api.with_usage(usage_ports(runtime)),
        false,
        async |client| client.get("/node/resources").await.unwrap(),
    )
    .await;
    let pids = json!({
        "resource": "pid", "capacity": "1000", "systemReserved": "50", "kubeReserved": "0", "evictionHard": "0",
        "allocatable": "950", "requested": "0", "used": "100",
    });
    assert_eq!(answer["items"][1], pids, "{answer}");
    let cpu = &answer["items"][0];
    assert_eq!((&cpu["resource"], &cpu["capacity"]), (&json!("cpu"), &json!("2")));
    // A second in what was a fifth of one at least.
    let used = cpu["used"].as_str().unwrap_or_default();
    let milli: Option<u64> = used
        .strip_suffix('m')
        .map_or_else(|| used.parse().ok().map(|cores: u64| cores * 1000), |m| m.parse().ok());
    assert!(milli.is_some_and(|milli| (1..=5000).contains(&milli)), "{used}");
}

struct Epoch;

impl Clock for Epoch {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH
    }
}

#[tokio::test]
async fn usage_is_measured_when_it_is_asked_for_and_only_of_pods_that_are_known() {
    let runtime = Arc::new(Runtime { readings: AtomicU64::new(0), is_down: false });
    let answers = with_api(
        |api| api.with_usage(usage_ports(runtime.clone())),
        false,
        async |client| {
            assert_eq!(runtime.readings.load(Ordering::Relaxed), 0);
            let ask = || client.get::<Value>("/usage");
            let (first, second) = tokio::join!(ask(), ask());
            [first.unwrap(), second.unwrap()]
        },
    )
    .await;
    let usage = json!({"cpu": "500000000n", "memory": "10Mi"});
    let expected = json!({
        "kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": [{
            "metadata": {"name": "web-node", "namespace": null}, "timestamp": "1970-01-01T00:00:00Z", "window": "1s",
            "containers": [{"name": "app", "usage": usage}],
        }],
    });
    assert_eq!(answers, [expected.clone(), expected]);
    assert_eq!(runtime.readings.load(Ordering::Relaxed), 2, "both share one measurement");
}

#[tokio::test]
async fn usage_that_the_runtime_does_not_tell_is_an_error_with_its_reason() {
    let runtime = Arc::new(Runtime { readings: AtomicU64::new(0), is_down: true });
    let failed = with_api(
        |api| api.with_usage(usage_ports(runtime)),
        false,
        async |client| client.get::<Value>("/usage").await,
    )
    .await;
    let message = failed.unwrap_err().to_string();
    assert!(
        message.contains("GET /usage: 502 Bad Gateway: ") && message.contains("no such service"),
        "{message}"
    );
}
