//! What rules of monitoring read of a node, those of kube-prometheus and those in `examples/monitoring`, held against what a node serves.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::Value;
use witlet_cluster::{ConnectOptions, Connection};
use witlet_core::stats::cadvisor::{CgroupDetails, Row, RowLabels, Scrape, chunks};
use witlet_core::stats::exposition::{Format, written};
use witlet_ports::{AgentStats, AgentView, Clock, MetricsSource, RecordedEvent, Tracer};
use witlet_server::{LocalApi, PluginView};
use witlet_testkit::{FixedJitter, NODE_NAME};

use crate::world::{World, pass};

/// A family as a rule needs it.
#[derive(Clone, Copy)]
struct Family {
    name: &'static str,
    /// Without that of a bucket's bound.
    labels: &'static [&'static str],
    /// Of buckets; none of what isn't a histogram.
    bounds: &'static [&'static str],
}

const fn figure(name: &'static str, labels: &'static [&'static str]) -> Family {
    Family { name, labels, bounds: &[] }
}

const fn histogram(
    name: &'static str,
    labels: &'static [&'static str],
    bounds: &'static [&'static str],
) -> Family {
    Family { name, labels, bounds }
}

/// Bounds that Prometheus' clients have by default.
const DEFAULT: &[&str] =
    &["0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "+Inf"];
/// Bounds of the starts of pods (upstream: `podStartupDurationBuckets`).
const STARTS: &[&str] = &[
    "0.5", "1", "2", "3", "4", "5", "6", "8", "10", "20", "30", "45", "60", "120", "180", "240", "300",
    "360", "480", "600", "900", "1200", "1800", "2700", "3600", "+Inf",
];
/// Labels of each figure of a cgroup.
const OF_CGROUP: &[&str] = &["container", "id", "image", "name", "namespace", "pod"];
const OF_CLAIM: &[&str] = &["namespace", "persistentvolumeclaim"];

const NODE: Family = figure("kubelet_node_name", &["node"]);
const RUNNING_PODS: Family = figure("kubelet_running_pods", &[]);
const RELISTS: Family = histogram("kubelet_pleg_relist_duration_seconds", &[], DEFAULT);
const POD_STARTS: Family = histogram("kubelet_pod_start_duration_seconds", &[], STARTS);
const POD_WORK: Family = histogram("kubelet_pod_worker_duration_seconds", &["operation_type"], DEFAULT);
const EVICTIONS: Family = figure("kubelet_evictions", &["eviction_signal"]);
const CLIENT_TTL: Family = figure("kubelet_certificate_manager_client_ttl_seconds", &[]);
const CLIENT_ERRORS: Family = figure("kubelet_certificate_manager_client_expiration_renew_errors", &[]);
const SERVER_TTL: Family = figure("kubelet_certificate_manager_server_ttl_seconds", &[]);
const SERVER_ERRORS: Family = figure("kubelet_server_expiration_renew_errors", &[]);
const PERIODS: Family = figure("container_cpu_cfs_periods_total", OF_CGROUP);
const THROTTLED: Family = figure("container_cpu_cfs_throttled_periods_total", OF_CGROUP);
const CPU: Family = figure(
    "container_cpu_usage_seconds_total",
    &["container", "cpu", "id", "image", "name", "namespace", "pod"],
);
const WORKING_SET: Family = figure("container_memory_working_set_bytes", OF_CGROUP);
const RSS: Family = figure("container_memory_rss", OF_CGROUP);
const CACHE: Family = figure("container_memory_cache", OF_CGROUP);
const SWAP: Family = figure("container_memory_swap", OF_CGROUP);
const CAPACITY: Family = figure("kubelet_volume_stats_capacity_bytes", OF_CLAIM);
const AVAILABLE: Family = figure("kubelet_volume_stats_available_bytes", OF_CLAIM);
const USED: Family = figure("kubelet_volume_stats_used_bytes", OF_CLAIM);
const INODES: Family = figure("kubelet_volume_stats_inodes", OF_CLAIM);
const INODES_FREE: Family = figure("kubelet_volume_stats_inodes_free", OF_CLAIM);
const INODES_USED: Family = figure("kubelet_volume_stats_inodes_used", OF_CLAIM);

/// The rules in `examples/monitoring/kubelet-rules.yaml`, with all that each reads of a node. Those without a family read recorded series.
const RULES: &[(&str, &[Family])] = &[
    ("instance_node:kubelet_node_name:max", &[NODE]),
    ("node_quantile:kubelet_pleg_relist_duration_seconds:histogram_quantile", &[RELISTS]),
    ("node_namespace_pod_container:container_cpu_usage_seconds_total:sum_rate5m", &[CPU]),
    ("node_namespace_pod_container:container_cpu_usage_seconds_total:sum_irate", &[CPU]),
    ("node_namespace_pod_container:container_memory_working_set_bytes", &[WORKING_SET]),
    ("node_namespace_pod_container:container_memory_rss", &[RSS]),
    ("node_namespace_pod_container:container_memory_cache", &[CACHE]),
    ("node_namespace_pod_container:container_memory_swap", &[SWAP]),
    ("namespace_persistentvolumeclaim:kubelet_volume_stats_available:ratio", &[CAPACITY, AVAILABLE, USED]),
    (
        "namespace_persistentvolumeclaim:kubelet_volume_stats_inodes_free:ratio",
        &[INODES, INODES_FREE, INODES_USED],
    ),
    ("KubeletTooManyPods", &[RUNNING_PODS]),
    ("KubeletPlegDurationHigh", &[]),
    ("KubeletPodStartUpLatencyHigh", &[POD_STARTS]),
    ("KubeletClientCertificateExpiration", &[CLIENT_TTL]),
    ("KubeletClientCertificateRenewalErrors", &[CLIENT_ERRORS]),
    ("KubeletServerCertificateExpiration", &[SERVER_TTL]),
    ("KubeletServerCertificateRenewalErrors", &[SERVER_ERRORS]),
    ("CPUThrottlingHigh", &[PERIODS, THROTTLED]),
    ("KubePersistentVolumeFillingUp", &[AVAILABLE]),
    ("KubePersistentVolumeInodesFillingUp", &[INODES_FREE]),
];

/// What kube-prometheus' own rules read of a node and those don't. `rest_client_requests_total` of `KubeClientErrors` is held where requests
/// are made (`witlet-cluster`); what kube-state-metrics and node-exporter serve is theirs.
const OF_KUBE_PROMETHEUS: &[(&str, &[Family])] = &[
    ("KubeletPodStartUpLatencyHigh", &[POD_WORK]),
    ("KubeNodeEviction", &[EVICTIONS, NODE]),
    (
        "KubeVersionMismatch",
        &[figure(
            "kubernetes_build_info",
            &[
                "build_date",
                "compiler",
                "git_commit",
                "git_tree_state",
                "git_version",
                "go_version",
                "major",
                "minor",
                "platform",
            ],
        )],
    ),
];

/// Families that this release doesn't have: it has no claims, and asks no one for serving certificates.
const ABSENT: &[Family] =
    &[SERVER_TTL, SERVER_ERRORS, CAPACITY, AVAILABLE, USED, INODES, INODES_FREE, INODES_USED];

/// How names of families that a node serves begin.
const BEGINNINGS: &[&str] = &["kubelet_", "container_"];

/// What Prometheus adds to each series of a scrape.
const OF_TARGET: &[&str] = &["instance", "job", "metrics_path"];

type Labels = BTreeMap<String, String>;

/// `name{a="b"}`: the name and the labels, whose values have no quotation marks here.
fn series(text: &str) -> (&str, Labels) {
    let Some((name, rest)) = text.split_once('{') else { return (text, Labels::new()) };
    let labels = rest.trim_end_matches('}').split("\",").filter_map(|label| label.split_once("=\""));
    let labels = labels.map(|(label, value)| (label.to_owned(), value.trim_end_matches('"').to_owned()));
    (name, labels.collect())
}

/// The series of an exposition, by their names.
fn served(text: &str) -> BTreeMap<String, Vec<Labels>> {
    let mut all: BTreeMap<String, Vec<Labels>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let end = line.find('}').map_or_else(|| line.find(' ').unwrap_or(line.len()), |at| at + 1);
        let (name, labels) = series(line.get(..end).unwrap_or_default());
        all.entry(name.to_owned()).or_default().push(labels);
    }
    all
}

/// What a family lacks.
fn faults(family: &Family, all: &BTreeMap<String, Vec<Labels>>) -> Vec<String> {
    let Family { name, labels, bounds } = family;
    let sample = if bounds.is_empty() { (*name).to_owned() } else { format!("{name}_bucket") };
    let Some(found) = all.get(&sample) else { return vec![format!("{name} isn't served")] };
    let mut faults = Vec::new();
    let mut bounds_of: BTreeMap<Labels, BTreeSet<String>> = BTreeMap::new();
    for series in found {
        let mut series = series.clone();
        let bound = series.remove("le");
        if series.keys().ne(*labels) {
            faults.push(format!("{name} has labels {:?}, not {labels:?}", series.keys()));
        }
        bounds_of.entry(series).or_default().extend(bound);
    }
    let expected: BTreeSet<String> = bounds.iter().map(|&bound| bound.to_owned()).collect();
    let others = bounds_of.into_iter().filter(|(_, found)| *found != expected);
    faults
        .extend(others.map(|(of, found)| format!("{name} of {of:?} has bounds {found:?}, not {expected:?}")));
    faults
}

/// The agent as others see it, with a pod that was evicted, on a node that says what it runs.
struct Evicting<V>(V);

impl<V: AgentView> AgentView for Evicting<V> {
    fn pods(&self) -> Vec<Arc<Pod>> {
        self.0.pods()
    }

    fn events(&self) -> Vec<RecordedEvent> {
        self.0.events()
    }

    fn node(&self) -> Arc<Node> {
        let mut node = (*self.0.node()).clone();
        node.status.get_or_insert_default().node_info.get_or_insert_default();
        Arc::new(node)
    }

    fn unhealthy(&self) -> Vec<String> {
        self.0.unhealthy()
    }

    fn stats(&self) -> AgentStats {
        AgentStats { evictions: [("memory.available", 1)].into(), ..self.0.stats() }
    }
}

struct NoPlugins;

impl PluginView for NoPlugins {
    fn plugins(&self) -> Vec<Value> {
        Vec::new()
    }
}

/// A connection over which nothing is sent.
fn connection(folder: &Path, clock: Arc<dyn Clock>) -> Connection {
    let kubeconfig = folder.join("kubeconfig");
    let text = "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
                clusters: [{name: k, cluster: {server: 'http://127.0.0.1:1'}}]\n\
                contexts: [{name: c, context: {cluster: k, user: u}}]\n\
                users: [{name: u, user: {token: t}}]\n";
    std::fs::write(&kubeconfig, text).expect("written");
    let options = ConnectOptions {
        kubeconfig,
        bootstrap_kubeconfig: None,
        cert_dir: folder.join("pki"),
        node_name: NODE_NAME.to_owned(),
        rotate: false,
        user_agent: "test".to_owned(),
        qps: 0.0,
        burst: 0,
        clock,
        jitter: Arc::new(FixedJitter::default()),
        tracer: Tracer::default(),
    };
    Connection::open(options).expect("a connection")
}

/// A container's cgroup with a quota.
fn cgroup() -> Row {
    let files = |name: &str| {
        let text = match name {
            "cpu.stat" => {
                "usage_usec 9\nuser_usec 5\nsystem_usec 4\nnr_periods 9\nnr_throttled 3\nthrottled_usec 7\n"
            }
            "cpu.max" => "50000 100000\n",
            "memory.current" => "9000\n",
            "memory.stat" => "anon 1000\nfile 5000\ninactive_file 3000\n",
            "memory.swap.current" => "400\n",
            _ => return None,
        };
        Some(text.to_owned())
    };
    let labels = RowLabels {
        container: "app".to_owned(),
        id: "/kubepods/podu-1/c1".to_owned(),
        image: "sleeper:1".to_owned(),
        name: "c1".to_owned(),
        namespace: "default".to_owned(),
        pod: "web".to_owned(),
    };
    Row {
        labels,
        started_at: None,
        details: CgroupDetails::of_v2(jiff::Timestamp::UNIX_EPOCH, false, None, files),
        network: Vec::new(),
        filesystems: Vec::new(),
    }
}

fn monitoring(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/monitoring").join(name)
}

fn yaml(name: &str) -> Value {
    let text = std::fs::read_to_string(monitoring(name)).expect("the file is there");
    serde_saphyr::from_str(&text).expect("YAML")
}

/// The elements of lists of this name in the elements of a list.
fn nested<'a>(file: &'a Value, outer: &str, inner: &'a str) -> impl Iterator<Item = &'a Value> {
    let outer = file[outer].as_array().expect("a list").iter();
    outer.flat_map(move |of| of[inner].as_array().expect("a list of lists"))
}

/// The families that an expression reads, but recorded series.
fn families(expr: &str) -> BTreeSet<&str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | ':');
    let words = expr.split(|letter| !is_part(letter));
    let of_node = words.filter(|word| BEGINNINGS.iter().any(|begin| word.starts_with(begin)));
    of_node.map(|word| word.strip_suffix("_bucket").unwrap_or(word)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_node_serves_what_rules_of_monitoring_read() {
    let world = World::started();
    world.create("web", "sleeper:1", "Always");
    pass(60.0).await;
    assert_eq!(world.on_server("web"), "Running, 0 restarts, ready True");
    let folder = tempfile::tempdir().expect("a folder");
    let clock: Arc<dyn Clock> = Arc::new(world.node.clock.clone());
    let agent = world.node.agent().clone();
    let metrics = [agent.metrics(), connection(folder.path(), clock).metrics()];
    let api = LocalApi::new(Arc::new(Evicting(agent)), Arc::new(NoPlugins));
    let all = metrics.into_iter().fold(api, LocalApi::with_metrics).metrics();
    let mut text = written(|to| all.write(to)).expect("it is small");
    let scrape = Scrape { rows: vec![cgroup()], ..Scrape::default() };
    let of_cgroups: Vec<u8> = chunks(Arc::new(scrape), Format::Text).flatten().collect();
    text.push_str(&String::from_utf8(of_cgroups).expect("text"));
    let served = served(&text);
    for (rule, families) in RULES.iter().chain(OF_KUBE_PROMETHEUS) {
        for family in *families {
            if ABSENT.iter().any(|absent| absent.name == family.name) {
                let is_served = served.contains_key(family.name);
                assert!(!is_served, "{} is served now: it isn't in ABSENT any more", family.name);
                continue;
            }
            assert_eq!(faults(family, &served), Vec::<String>::new(), "{rule}");
        }
    }
}

#[test]
fn the_rules_read_what_the_table_says() {
    let file = yaml("kubelet-rules.yaml");
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for rule in nested(&file, "groups", "rules") {
        let name = rule["record"].as_str().or_else(|| rule["alert"].as_str()).expect("a name");
        found.entry(name).or_default().extend(families(rule["expr"].as_str().expect("an expression")));
    }
    let table: BTreeMap<&str, BTreeSet<&str>> = RULES
        .iter()
        .map(|(rule, families)| (*rule, families.iter().map(|family| family.name).collect()))
        .collect();
    assert_eq!(found, table);
}

#[test]
fn the_hour_that_is_played_to_the_rules_has_series_as_a_node_serves_them() {
    let of_rules = RULES.iter().chain(OF_KUBE_PROMETHEUS).flat_map(|(_, families)| *families);
    let known: BTreeMap<&str, &Family> = of_rules.map(|family| (family.name, family)).collect();
    let file = yaml("kubelet-rules-test.yaml");
    let mut findings = Vec::new();
    let mut played = BTreeSet::new();
    for input in nested(&file, "tests", "input_series") {
        let text = input["series"].as_str().expect("a series");
        let (name, mut labels) = series(text);
        if !BEGINNINGS.iter().any(|begin| name.starts_with(begin)) {
            continue;
        }
        let family = name.strip_suffix("_bucket").unwrap_or(name);
        let Some(known) = known.get(family) else {
            findings.push(format!("{text}: no rule reads it"));
            continue;
        };
        played.insert(family);
        let bound = labels.remove("le");
        labels.retain(|label, _| !OF_TARGET.contains(&label.as_str()));
        if labels.keys().ne(known.labels) {
            findings.push(format!("{text}: a node serves it with labels {:?}", known.labels));
        }
        if bound.as_deref().is_some_and(|bound| !known.bounds.contains(&bound)) {
            findings.push(format!("{text}: bounds are {:?}", known.bounds));
        }
    }
    let read = RULES.iter().flat_map(|(_, families)| *families).map(|family| family.name);
    findings.extend(read.filter(|name| !played.contains(name)).map(|name| format!("{name} isn't played")));
    assert!(findings.is_empty(), "{findings:#?}");
}
