//! Upstream's stories of the manager (`eviction_manager_test.go`), round by round.

use serde_json::{Value, json};

use super::*;
use crate::eviction::fixtures::{
    candidate, disk, hard, left, measured, memory, pod, processes, soft, with_local_volume,
};
use crate::eviction::rank::END_WAITS_MAX;
use crate::eviction::signal::Signal;
use crate::fixtures::at;
use crate::stats::PodUsage;

const LOW: i32 = -1;
const HIGH: i32 = 1;

/// A node whose figures and pods a test sets.
struct Node {
    manager: EvictionManager,
    filesystems: Filesystems,
    pods: Vec<Candidate>,
    usages: PodUsages,
}

impl Node {
    fn new(thresholds: Vec<Threshold>, pods: Vec<(Candidate, PodUsage)>) -> Self {
        let (pods, usages) = measured(pods);
        let config = EvictionConfig { thresholds, max_pod_grace_seconds: 5, ..EvictionConfig::default() };
        Self { manager: EvictionManager::new(config), filesystems: Filesystems::Single, pods, usages }
    }

    /// A whole round in which this is left, and this after the node gave back what it could. Says what was done in which order.
    fn round(&mut self, second: i64, seen: &[(Signal, &str)], again: &[(Signal, &str)]) -> Vec<String> {
        let figures = |list: &[(Signal, &str)]| -> Observations {
            let one = |(signal, available): &(Signal, &str)| {
                (*signal, Observation { at: Some(at(second)), ..left(available, "10Gi") })
            };
            list.iter().map(one).collect()
        };
        let mut done = Vec::new();
        let mut outcome = self.manager.begin(figures(seen), Some(self.filesystems), &self.pods, at(second));
        loop {
            done.extend(outcome.attempting.map(|resource| format!("Attempting to reclaim {resource}")));
            let found = match outcome.step {
                Step::MeasureLimited { .. } => Found::Limited(self.usages.clone()),
                Step::Reclaim(reclaims) => {
                    done.push(format!("{reclaims:?}"));
                    Found::Node(Some(figures(again)))
                }
                Step::MeasureAll(_) => Found::All(self.usages.clone()),
                Step::Evict(evictions) => {
                    let line =
                        |one: Eviction| format!("evict {} {}s: {}", one.uid, one.grace_seconds, one.message);
                    done.extend(evictions.into_iter().map(line));
                    return done;
                }
                Step::Wait(uid) => {
                    done.push(format!("wait for {uid}"));
                    return done;
                }
                Step::Rest => return done,
            };
            outcome = self.manager.advance(found, &self.pods);
        }
    }

    fn memory(&mut self, second: i64, available: &str) -> Vec<String> {
        self.round(second, &[(Signal::MemoryAvailable, available)], &[])
    }

    fn is_short(&self, pressure: Pressure) -> bool {
        self.manager.pressures().of(pressure) == Some(true)
    }
}

fn asks(memory: &str) -> Value {
    json!({"cpu": "100m", "memory": memory})
}

/// The pods of upstream's `TestMemoryPressure`.
fn pods_of_memory() -> Vec<(Candidate, PodUsage)> {
    vec![
        (pod("guaranteed-low-priority-high-usage", LOW, asks("1Gi"), asks("1Gi")), memory("900Mi")),
        (pod("burstable-below-requests", 0, asks("100Mi"), asks("1Gi")), memory("50Mi")),
        (pod("burstable-above-requests", 0, asks("100Mi"), asks("1Gi")), memory("400Mi")),
        (pod("best-effort-high-priority-high-usage", HIGH, json!({}), json!({})), memory("400Mi")),
        (pod("best-effort-low-priority-low-usage", LOW, json!({}), json!({})), memory("100Mi")),
    ]
}

fn evicted(grace: i64, threshold: &str, available: &str) -> [String; 2] {
    [
        "Attempting to reclaim memory".to_owned(),
        format!(
            "evict best-effort-low-priority-low-usage {grace}s: The node was low on resource: memory. Threshold quantity: \
             {threshold}, available: {available}. "
        ),
    ]
}

#[test]
fn memory_pressure() {
    for signal in [Signal::MemoryAvailable, Signal::AllocatableMemoryAvailable] {
        let thresholds = vec![hard(signal, "1Gi", None), soft(signal, "2Gi", None, 120)];
        let mut node = Node::new(thresholds, pods_of_memory());
        let mut round = |minute: i64, available: &str| {
            let done = node.round(minute * 60, &[(signal, available)], &[]);
            (done, node.is_short(Pressure::Memory))
        };
        assert_eq!(round(0, "2Gi"), (vec![], false));
        assert_eq!(round(1, "1500Mi"), (vec![], true), "the soft threshold's grace runs");
        assert_eq!(round(4, "1500Mi"), (evicted(5, "2Gi", "1500Mi").to_vec(), true));
        assert_eq!(round(24, "3Gi"), (vec![], false));
        // Both are met; the hard one is the more urgent.
        assert_eq!(round(25, "500Mi"), (evicted(1, "1Gi", "500Mi").to_vec(), true));
        assert_eq!(round(26, "2Gi"), (vec![], true), "the transition period runs");
        assert_eq!(round(31, "2Gi"), (vec![], false));
    }
}

#[test]
fn a_soft_threshold_below_the_hard_one_changes_nothing() {
    let signal = Signal::MemoryAvailable;
    let alone = vec![hard(signal, "2Gi", None)];
    let contradictory = vec![hard(signal, "2Gi", None), soft(signal, "1Gi", None, 120)];
    for thresholds in [alone, contradictory] {
        let mut node = Node::new(thresholds, pods_of_memory());
        assert_eq!(node.memory(0, "3Gi"), [""; 0]);
        assert_eq!(node.memory(60, "1500Mi"), evicted(1, "2Gi", "1500Mi"));
        assert_eq!(node.memory(240, "500Mi"), evicted(1, "2Gi", "500Mi"), "both are met, one for its grace");
    }
}

#[test]
fn a_threshold_is_resolved_once_its_minimum_is_reclaimed() {
    let mut node = Node::new(vec![hard(Signal::MemoryAvailable, "1Gi", Some("500Mi"))], pods_of_memory());
    assert_eq!(node.memory(0, "2Gi"), [""; 0]);
    assert_eq!(node.memory(60, "500Mi"), evicted(1, "1Gi", "500Mi"));
    assert!(node.is_short(Pressure::Memory));
    assert_eq!(node.memory(120, "1200Mi"), evicted(1, "1Gi", "1200Mi"));
    assert!(node.is_short(Pressure::Memory));
    assert_eq!(node.memory(180, "2Gi"), [""; 0]);
    assert!(node.is_short(Pressure::Memory), "the transition period runs");
    assert_eq!(node.memory(480, "2Gi"), [""; 0]);
    assert!(!node.is_short(Pressure::Memory));
    assert_eq!(node.memory(490, "1200Mi"), [""; 0], "nothing is left to be reclaimed");
}

#[test]
fn critical_pods_stay_and_so_do_those_that_are_evicted_already() {
    let mut node = Node::new(vec![hard(Signal::MemoryAvailable, "1Gi", None)], pods_of_memory());
    node.pods[4].is_critical = true;
    node.pods[2].is_evicted = true;
    node.pods[2].waits = END_WAITS_MAX;
    let done = node.memory(0, "500Mi");
    assert!(done[1].starts_with("evict best-effort-high-priority-high-usage 1s"), "{done:?}");
    for pod in &mut node.pods {
        pod.is_critical = true;
    }
    assert_eq!(node.memory(10, "500Mi"), ["Attempting to reclaim memory"]);
    node.pods.clear();
    assert_eq!(node.memory(20, "500Mi"), ["Attempting to reclaim memory"]);
}

#[test]
fn an_evicted_pod_that_would_go_next_is_waited_for_four_times_and_keeps_no_one_who_goes_before_it() {
    let mut node = Node::new(vec![hard(Signal::MemoryAvailable, "1Gi", None)], pods_of_memory());
    let (first, second) = (4, 2);
    node.pods[first].is_evicted = true;
    for waits in 0..END_WAITS_MAX {
        node.pods[first].waits = waits;
        let done = node.memory(i64::from(waits), "500Mi");
        assert_eq!(done, ["Attempting to reclaim memory", "wait for best-effort-low-priority-low-usage"]);
    }
    node.pods[first].waits = END_WAITS_MAX;
    let evicts = |done: &[String], name: &str| done[1].starts_with(&format!("evict {name} 1s"));
    let done = node.memory(10, "500Mi");
    assert!(evicts(&done, "burstable-above-requests"), "{done:?}");
    // One that goes before it goes.
    node.pods[first].is_evicted = false;
    node.pods[second].is_evicted = true;
    let done = node.memory(20, "500Mi");
    assert!(evicts(&done, "best-effort-low-priority-low-usage"), "{done:?}");
    // Nothing is waited for once enough is left.
    assert_eq!(node.memory(30, "2Gi"), [""; 0]);
}

#[test]
fn a_sample_that_is_no_newer_evicts_no_one() {
    let mut node = Node::new(vec![hard(Signal::MemoryAvailable, "1Gi", None)], pods_of_memory());
    assert_eq!(node.memory(0, "500Mi").len(), 2);
    assert_eq!(node.memory(0, "500Mi"), [""; 0]);
    assert!(node.is_short(Pressure::Memory));
    assert_eq!(node.memory(1, "500Mi").len(), 2);
}

#[test]
fn process_ids_go_by_priority() {
    let pods = vec![
        (pod("high-much", HIGH, json!({}), json!({})), processes(900)),
        (pod("low-little", LOW, json!({}), json!({})), processes(10)),
        (pod("low-much", LOW, json!({}), json!({})), processes(500)),
    ];
    let thresholds =
        vec![hard(Signal::PidAvailable, "1200", None), soft(Signal::PidAvailable, "1500", None, 120)];
    let mut node = Node::new(thresholds, pods);
    let mut round = |minute: i64, available: &str| {
        let done = node.round(minute * 60, &[(Signal::PidAvailable, available)], &[]);
        (done, node.is_short(Pressure::Pid))
    };
    let evicted = |grace, threshold, available| {
        vec![
            "Attempting to reclaim pids".to_owned(),
            format!(
                "evict low-much {grace}s: The node was low on resource: pids. Threshold quantity: {threshold}, available: \
                 {available}. "
            ),
        ]
    };
    assert_eq!(round(0, "1600"), (vec![], false));
    assert_eq!(round(1, "1400"), (vec![], true));
    assert_eq!(round(4, "1400"), (evicted(5, "1500", "1400"), true));
    assert_eq!(round(24, "1600"), (vec![], false));
    assert_eq!(round(25, "500"), (evicted(1, "1200", "500"), true));
    assert_eq!(round(26, "1600"), (vec![], true));
    assert_eq!(round(31, "1600"), (vec![], false));
}

/// A pod that takes most of whichever disk is short.
fn pods_of_disk() -> Vec<(Candidate, PodUsage)> {
    let asks = |bytes: &str| json!({"ephemeral-storage": bytes});
    vec![
        (with_local_volume(pod("high", HIGH, json!({}), json!({}))), disk("900Mi", "900Mi", "900Mi")),
        (with_local_volume(pod("below", 0, asks("1Gi"), json!({}))), disk("300Mi", "300Mi", "300Mi")),
        (with_local_volume(pod("low", LOW, json!({}), json!({}))), disk("50Mi", "50Mi", "50Mi")),
        (with_local_volume(pod("low-much", LOW, json!({}), json!({}))), disk("400Mi", "400Mi", "400Mi")),
    ]
}

#[test]
fn the_node_gives_back_what_it_can_before_a_pod_ends() {
    use Filesystems::{DedicatedImages, Single, Split};
    use Signal::{
        ContainerFsAvailable, ImageFsAvailable, ImageFsInodesFree, NodeFsAvailable, NodeFsInodesFree,
    };
    let cases: [(Filesystems, Signal, &[&str]); 9] = [
        (Single, NodeFsAvailable, &["[Containers, Images]"]),
        (Single, NodeFsInodesFree, &["[Containers, Images]"]),
        (Single, ImageFsAvailable, &["[Containers, Images]"]),
        (DedicatedImages, NodeFsAvailable, &[]),
        (DedicatedImages, NodeFsInodesFree, &[]),
        (DedicatedImages, ImageFsAvailable, &["[Containers, Images]"]),
        (DedicatedImages, ImageFsInodesFree, &["[Containers, Images]"]),
        (Split, NodeFsAvailable, &["[Containers]"]),
        (Split, ImageFsAvailable, &["[Images]"]),
    ];
    for (filesystems, signal, reclaims) in cases {
        let mut node = Node::new(vec![hard(signal, "1Gi", Some("500Mi"))], pods_of_disk());
        node.filesystems = filesystems;
        let resource = signal.resource();
        let attempting = [format!("Attempting to reclaim {resource}")];
        let begun: Vec<String> =
            attempting.into_iter().chain(reclaims.iter().map(|one| (*one).to_owned())).collect();
        let name = format!("{filesystems:?} {signal}");

        // Too little comes back: one pod ends.
        let done = node.round(0, &[(signal, "500Mi")], &[(signal, "1200Mi")]);
        let who = if (filesystems, signal) == (Split, ImageFsAvailable) { "low" } else { "low-much" };
        let evicted = format!("evict {who} 1s: The node was low on resource: {resource}. ");
        assert_eq!(done[..begun.len()], begun, "{name}");
        assert!(done.last().is_some_and(|last| last.starts_with(&evicted)), "{name}: {done:?}");
        assert!(node.is_short(Pressure::Disk), "{name}");
        // Enough comes back, with the minimum: no pod ends.
        if !reclaims.is_empty() {
            assert_eq!(node.round(60, &[(signal, "500Mi")], &[(signal, "2Gi")]), begun, "{name}");
        }
        assert_eq!(node.round(120, &[(signal, "2Gi")], &[]), [""; 0], "{name}");
    }
    // What is set for the agent's file system holds for writable layers there, too, from the second round on.
    let mut node = Node::new(vec![hard(NodeFsAvailable, "1Gi", None)], pods_of_disk());
    let only_layers = [(ContainerFsAvailable, "500Mi")];
    assert_eq!(node.round(0, &only_layers, &[]), [""; 0]);
    assert_eq!(node.round(10, &only_layers, &only_layers).len(), 3);
}

#[test]
fn memory_is_dealt_with_before_all_else() {
    let thresholds =
        vec![hard(Signal::NodeFsAvailable, "1Gi", None), hard(Signal::MemoryAvailable, "1Gi", None)];
    let mut node = Node::new(thresholds, pods_of_disk());
    let both = [(Signal::NodeFsAvailable, "1Mi"), (Signal::MemoryAvailable, "1Mi")];
    assert_eq!(node.round(0, &both, &[])[0], "Attempting to reclaim memory");
    assert!(node.is_short(Pressure::Memory) && node.is_short(Pressure::Disk));
}

#[test]
fn limits_of_local_storage_come_before_thresholds_and_end_all_that_exceed_them() {
    let limits = |bytes: &str| json!({"ephemeral-storage": bytes});
    let pods = vec![
        (pod("over", 0, json!({}), limits("1Gi")), disk("2Gi", "0", "0")),
        (pod("within", 0, json!({}), limits("1Gi")), disk("1Mi", "0", "0")),
        (pod("over-too", 0, json!({}), limits("1Mi")), disk("0", "2Mi", "0")),
        (pod("unlimited", 0, json!({}), json!({})), disk("9Gi", "9Gi", "0")),
    ];
    let mut node = Node::new(vec![hard(Signal::NodeFsAvailable, "1Gi", None)], pods);
    let done = node.round(0, &[(Signal::NodeFsAvailable, "200Mi")], &[]);
    let whole = "Pod ephemeral local storage usage exceeds the total limit of containers";
    assert_eq!(done, [format!("evict over 1s: {whole} 1Gi. "), format!("evict over-too 1s: {whole} 1Mi. ")]);
    // Then the node is checked again.
    node.pods[0].is_evicted = true;
    node.pods[2].is_critical = true;
    let still = [(Signal::NodeFsAvailable, "200Mi")];
    let done = node.round(10, &still, &still);
    assert!(done[2].starts_with("evict unlimited 1s: The node was low"), "{done:?}");

    // The runtime isn't asked where only volumes have limits.
    let begin = |pods: &[Candidate]| {
        let mut manager = EvictionManager::new(EvictionConfig::default());
        manager.begin(Observations::new(), Some(Filesystems::Single), pods, at(0)).step
    };
    let sized = candidate(json!({
        "metadata": {"name": "sized", "uid": "sized"},
        "spec": {"containers": [], "volumes": [{"name": "local", "emptyDir": {"sizeLimit": "1Gi"}}]},
    }));
    assert_eq!(begin(&[sized.clone(), node.pods[3].clone()]), Step::MeasureLimited { containers: false });
    assert_eq!(begin(&[sized, node.pods[1].clone()]), Step::MeasureLimited { containers: true });

    let config = EvictionConfig { local_storage_isolation: false, ..EvictionConfig::default() };
    let mut off = EvictionManager::new(config);
    assert!(!off.is_needed());
    let step = off.begin(Observations::new(), Some(Filesystems::Single), &node.pods, at(0)).step;
    assert_eq!(step, Step::Rest);
}

#[test]
fn a_pressure_stays_while_nothing_can_be_read_and_is_unknown_until_something_is() {
    let mut node = Node::new(vec![hard(Signal::MemoryAvailable, "1Gi", None)], vec![]);
    let mut round = |second: i64, available: Option<&str>| {
        let seen: Vec<(Signal, &str)> =
            available.map(|available| (Signal::MemoryAvailable, available)).into_iter().collect();
        node.round(second, &seen, &[]);
        node.manager.pressures()
    };
    let memory = |memory| Pressures { memory, disk: Some(false), pid: Some(false) };
    let story = [
        (0, None, None),
        (10, Some("2Gi"), Some(false)),
        (20, None, Some(false)),
        (30, Some("1Mi"), Some(true)),
        (40, None, Some(true)),
        (339, Some("2Gi"), Some(true)),
        (341, Some("2Gi"), Some(false)),
        // The clock was set back to before the last pressure.
        (39, Some("2Gi"), Some(true)),
        (-300, Some("2Gi"), Some(false)),
    ];
    for (second, available, expected) in story {
        assert_eq!(round(second, available), memory(expected), "at {second}");
    }
}

#[test]
fn a_pods_own_grace_is_kept_where_it_is_shorter() {
    for (own, expected) in [(None, 5), (Some(30), 5), (Some(2), 2), (Some(0), 0)] {
        let mut candidate = pod("p", 0, json!({}), json!({}));
        Arc::make_mut(&mut candidate.pod).spec.get_or_insert_default().termination_grace_period_seconds = own;
        let mut node = Node::new(vec![soft(Signal::MemoryAvailable, "1Gi", None, 0)], vec![]);
        node.manager.config.thresholds[0].grace = SignedDuration::from_secs(1);
        node.pods = vec![candidate];
        node.memory(0, "1Mi");
        let done = node.memory(1, "1Mi");
        assert!(done[1].starts_with(&format!("evict p {expected}s: ")), "{own:?}: {done:?}");
    }
}

#[test]
fn thresholds_show_how_far_away_they_are() {
    let mut node = Node::new(vec![hard(Signal::MemoryAvailable, "1Gi", None)], vec![]);
    assert_eq!(node.manager.states()[0].observed, None);
    node.memory(0, "2Gi");
    let state = node.manager.states()[0];
    assert_eq!(state.observed.map(|seen| seen.available), Some(2 << 30));
    assert_eq!(state.met_since, None);
    node.memory(10, "1Mi");
    node.memory(20, "1Mi");
    assert_eq!(node.manager.states()[0].met_since, Some(at(10)));
}

#[test]
fn an_eviction_says_when_the_node_was_measured() {
    let thresholds =
        vec![hard(Signal::MemoryAvailable, "1Gi", None), hard(Signal::PidAvailable, "1Gi", None)];
    let (pods, usages) = measured(pods_of_memory());
    let mut manager = EvictionManager::new(EvictionConfig { thresholds, ..EvictionConfig::default() });
    let seen = |at| Observation { at, ..left("500Mi", "10Gi") };
    let observations = Observations::from([
        (Signal::MemoryAvailable, seen(Some(at(30)))),
        (Signal::PidAvailable, seen(None)),
    ]);
    let begun = manager.begin(observations, Some(Filesystems::Single), &pods, at(40));
    assert_eq!(begun.step, Step::MeasureAll(StarvedResource::Memory));
    let Step::Evict(evictions) = manager.advance(Found::All(usages), &pods).step else {
        panic!("no pod is evicted")
    };
    let measured: Vec<_> = evictions.into_iter().flat_map(|eviction| eviction.measured).collect();
    assert_eq!(measured, [("memory.available", at(30))], "a figure without a time has no age");
}
