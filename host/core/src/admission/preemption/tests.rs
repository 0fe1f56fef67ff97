//! Upstream's cases (`preemption_test.go`), and properties of the choice.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::fixtures::{first, from_file, pod, resources, spec};
use crate::pod::SourceName;

const MI: i64 = 1024 * 1024;

/// A pod of this name with these resources and, where it has one, this priority.
fn made(name: &str, text: &str, priority: Option<i32>) -> Pod {
    let mut made = pod("Always", &["a"]);
    made.metadata.uid = Some(name.to_owned());
    first(&mut made).resources = resources(text);
    spec(&mut made).priority = priority;
    made
}

/// Upstream's pods of the tests, by name.
fn named(name: &str) -> Pod {
    let (text, priority) = match name {
        "tiny" => ("cpu 1m/- memory 1Mi/-", None),
        "best-effort" => ("", None),
        "cluster-critical" => ("cpu 100m/- memory 100Mi/-", Some(2_000_000_000)),
        "node-critical" => ("cpu 100m/- memory 100Mi/-", Some(2_000_001_000)),
        "burstable" => ("cpu 100m/- memory 100Mi/-", None),
        "high-burstable" => ("cpu 300m/- memory 300Mi/-", None),
        "guaranteed" => ("cpu 100m/100m memory 100Mi/100Mi", None),
        "high-guaranteed" => ("cpu 300m/300m memory 300Mi/300Mi", None),
        other => panic!("no pod {other}"),
    };
    made(name, text, priority)
}

fn admitted(pod: Pod) -> AdmittedPod {
    AdmittedPod { pod: Arc::new(pod), source: SourceName::from("api") }
}

/// Milli-CPU, MiB and pods.
fn lacking(cpu: i64, memory: i64, pods: i64) -> Vec<Shortage> {
    let lack = |resource: &str, amount: i64| Shortage {
        resource: resource.to_owned(),
        requested: amount,
        used: 7,
        capacity: 7,
    };
    vec![lack("cpu", cpu), lack("memory", memory * MI), lack("pods", pods)]
}

fn chosen(preemptor: &Pod, others: &[&str], shortages: &[Shortage]) -> Result<Vec<String>, NotEnough> {
    let others: Vec<AdmittedPod> = others.iter().map(|name| admitted(named(name))).collect();
    let chosen = victims(preemptor, &others, shortages)?;
    Ok(chosen.iter().map(|uid| uid.as_str().to_owned()).collect())
}

/// A claim, the pod that wants capacity, the others, what lacks (as [`lacking`] takes it), and who ends.
type Case =
    (&'static str, &'static str, &'static [&'static str], (i64, i64, i64), Option<&'static [&'static str]>);

const CRITICAL: &str = "cluster-critical";
const ALL: &[&str] = &["best-effort", "burstable", "high-burstable", "guaranteed", "high-guaranteed"];
const WITH_CRITICAL: &[&str] =
    &["cluster-critical", "best-effort", "burstable", "high-burstable", "guaranteed", "high-guaranteed"];

const CASES: &[Case] = &[
    ("critical pods stay", CRITICAL, &["cluster-critical"], (0, 0, 1), None),
    ("best-effort pods have no memory to give", CRITICAL, &["best-effort"], (0, 1, 0), None),
    ("several", CRITICAL, WITH_CRITICAL, (0, 550, 0), Some(&["high-burstable", "high-guaranteed"])),
    ("nothing lacks", CRITICAL, ALL, (0, 0, 0), Some(&[])),
    ("nothing lacks and no one is there", CRITICAL, &[], (0, 0, 0), Some(&[])),
    ("no one is there", CRITICAL, &[], (0, 0, 1), None),
    ("exactly as much", CRITICAL, &["burstable"], (100, 100, 1), Some(&["burstable"])),
    ("more than there is", CRITICAL, &["burstable"], (200, 200, 2), None),
    (
        "best-effort before burstable",
        CRITICAL,
        &["burstable", "best-effort"],
        (0, 0, 1),
        Some(&["best-effort"]),
    ),
    ("burstable before guaranteed", CRITICAL, &["burstable", "guaranteed"], (0, 0, 1), Some(&["burstable"])),
    (
        "the smaller one if it suffices",
        CRITICAL,
        &["best-effort", "high-burstable", "burstable"],
        (100, 100, 0),
        Some(&["burstable"]),
    ),
    (
        "the larger one if the smaller doesn't suffice",
        CRITICAL,
        &["best-effort", "burstable", "high-burstable"],
        (150, 150, 0),
        Some(&["high-burstable"]),
    ),
    ("as many as it takes", CRITICAL, ALL, (350, 350, 0), Some(&["high-burstable", "burstable"])),
    (
        "guaranteed ones when it must be, and no burstable one too many",
        CRITICAL,
        ALL,
        (0, 550, 0),
        Some(&["high-burstable", "high-guaranteed"]),
    ),
    (
        "the higher priority ends the lower, critical or not",
        "node-critical",
        &["cluster-critical"],
        (100, 0, 0),
        Some(&["cluster-critical"]),
    ),
    ("the lower doesn't end the higher", CRITICAL, &["node-critical"], (100, 0, 0), None),
    ("the same priority doesn't", CRITICAL, &["cluster-critical"], (100, 0, 0), None),
    (
        "a pod counts for one pod",
        CRITICAL,
        &["tiny", "best-effort"],
        (0, 0, 2),
        Some(&["best-effort", "tiny"]),
    ),
];

#[test]
fn the_least_and_nearest_pods_end() {
    for (claim, preemptor, others, (cpu, memory, pods), expected) in CASES {
        let found = chosen(&named(preemptor), others, &lacking(*cpu, *memory, *pods)).ok();
        let expected = expected.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(found, expected, "{claim}");
    }
}

#[test]
fn distance_is_the_part_that_a_pod_leaves_lacking() {
    for (claim, (cpu, memory, pods), name, expected) in [
        ("nothing lacks", (0, 0, 0), "burstable", 0.0),
        ("a pod without requests gives its place only", (100, 100, 1), "best-effort", 2.0),
        ("exactly as much", (100, 100, 1), "burstable", 0.0),
        ("more than lacks", (50, 50, 0), "burstable", 0.0),
        ("half of each", (200, 200, 0), "burstable", 0.5),
    ] {
        let distance =
            MissingResources::new(&lacking(cpu, memory, pods)).distance(&Candidate::new(&named(name)));
        assert!((distance - expected).abs() < 1e-9, "{claim}: {distance}");
    }
}

#[test]
fn what_lacks_becomes_less_with_every_pod() {
    for (claim, (cpu, memory, pods), name, left) in [
        ("nothing lacks", (0, 0, 0), "burstable", (0, 0, 0)),
        ("a pod without requests", (100, 100, 1), "best-effort", (100, 100, 0)),
        ("exactly as much", (100, 100, 1), "burstable", (0, 0, 0)),
        ("more than lacks", (50, 50, 0), "burstable", (0, 0, 0)),
        ("less than lacks", (200, 200, 1), "burstable", (100, 100, 0)),
    ] {
        let (cpu_left, memory_left, pods_left) = left;
        let lacks =
            MissingResources::new(&lacking(cpu, memory, pods)).without(&[&Candidate::new(&named(name))]);
        assert_eq!(lacks, MissingResources::new(&lacking(cpu_left, memory_left, pods_left)), "{claim}");
    }
}

#[test]
fn who_may_be_ended_for_whom() {
    let with = |priority| made("x", "", priority);
    let by_file = |priority| from_file(with(priority));
    for (claim, preemptor, other, expected) in [
        ("a common pod for a static one", by_file(None), with(None), true),
        ("a static pod for a static one", by_file(None), by_file(None), false),
        ("a static pod for one of system priority", with(Some(2_000_000_000)), by_file(None), false),
        ("a common pod for a common one", with(None), with(None), false),
        ("a lower priority for a higher", with(Some(2)), with(Some(1)), true),
        ("a higher priority for a lower", with(Some(1)), with(Some(2)), false),
        ("an unknown priority for a higher", with(Some(1)), with(None), false),
        ("a lower system priority", with(Some(2_000_001_000)), with(Some(2_000_000_000)), true),
        ("a static pod of lower priority", by_file(Some(2)), by_file(Some(1)), true),
        ("just below what is critical", by_file(None), with(Some(1_999_999_999)), true),
    ] {
        assert_eq!(is_preemptable(&preemptor, &admitted(other)), expected, "{claim}");
    }
}

#[test]
fn what_a_plugin_brings_is_never_critical() {
    let claims_to_be = || from_file(made("x", "", Some(2_000_001_000)));
    let of = |source: &str| AdmittedPod { source: SourceName::from(source), ..admitted(claims_to_be()) };
    let critical = made("critical", "", Some(2_000_000_000));
    for (source, expected) in [("file", false), ("http", false), ("api", false), ("compose", true)] {
        assert_eq!(is_preemptable(&critical, &of(source)), expected, "{source}");
        let request = AdmissionRequest {
            operation: Operation::Add,
            now: crate::fixtures::at(0),
            pod: Arc::new(claims_to_be()),
            old_pod: None,
            image: None,
            source: SourceName::from(source),
            node: Arc::default(),
            other_pods: Arc::new([]),
        };
        assert_eq!(may_preempt(&request), !expected, "{source}");
    }
    assert!(!is_preemptable(&made("common", "", None), &of("compose")), "only for critical pods");
}

#[test]
fn memory_tells_the_smaller_pod_then_cpu() {
    let size = |text| Candidate::new(&made("x", text, None)).size();
    assert!(size("cpu 900m/- memory 1Mi/-") < size("cpu 1m/- memory 2Mi/-"));
    assert!(size("cpu 1m/- memory 1Mi/-") < size("cpu 2m/- memory 1Mi/-"));
    assert!(size("") < size("cpu 1m/-"));
    assert_eq!(size(""), size(""));
}

#[test]
fn of_a_resource_that_two_handlers_find_short_the_most_counts_once() {
    let both = [lacking(100, 0, 0), lacking(300, 0, 0), lacking(200, 0, 0)].concat();
    assert_eq!(MissingResources::new(&both), MissingResources(vec![("cpu".to_owned(), 300)]));
}

#[test]
fn what_still_lacks_is_reported_in_upstreams_words() {
    let error =
        chosen(&named("cluster-critical"), &["guaranteed"], &lacking(250, 100, 0)).expect_err("too few");
    assert_eq!(
        error.to_string(),
        "no set of running pods found to reclaim resources: [(res: cpu, q: 150), ]"
    );
}

#[test]
fn amounts_at_the_edge_dont_overflow() {
    let shortages =
        [Shortage { resource: "cpu".to_owned(), requested: i64::MAX, used: i64::MAX, capacity: i64::MIN }];
    assert!(chosen(&named("cluster-critical"), &["burstable", "guaranteed"], &shortages).is_err());
}

fn any_pod() -> impl Strategy<Value = (i64, i64, bool, Option<i32>)> {
    let priority = prop_oneof![Just(None), Just(Some(0)), Just(Some(2_000_000_000))];
    (0..500_i64, 0..500_i64, any::<bool>(), priority)
}

proptest! {
    #[test]
    fn the_chosen_suffice_are_preemptable_and_none_is_chosen_twice(
        pods in prop::collection::vec(any_pod(), 0..12),
        cpu in 0..2_000_i64,
        memory in 0..2_000_i64,
        count in 0..4_i64,
    ) {
        let preemptor = named("cluster-critical");
        let others: Vec<AdmittedPod> = pods.iter().enumerate().map(|(index, (cpu, memory, limited, priority))| {
            let text = if *limited {
                format!("cpu {cpu}m/{cpu}m memory {memory}Mi/{memory}Mi")
            } else {
                format!("cpu {cpu}m/- memory {memory}Mi/-")
            };
            admitted(made(&format!("pod-{index}"), &text, *priority))
        }).collect();
        let shortages = lacking(cpu, memory, count);
        let candidates: Vec<Candidate> = others
            .iter()
            .filter(|other| is_preemptable(&preemptor, other))
            .map(|other| Candidate::new(&other.pod))
            .collect();
        let all: Vec<&Candidate> = candidates.iter().collect();
        let suffice = MissingResources::new(&shortages).without(&all).0.is_empty();
        match victims(&preemptor, &others, &shortages) {
            Err(_) => prop_assert!(!suffice, "all together would suffice"),
            Ok(chosen) => {
                prop_assert!(suffice);
                let ended: Vec<&Candidate> =
                    candidates.iter().filter(|candidate| chosen.contains(&candidate.uid)).collect();
                prop_assert_eq!(ended.len(), chosen.len(), "each is a candidate, and is chosen once");
                prop_assert!(MissingResources::new(&shortages).without(&ended).0.is_empty(), "they suffice");
                prop_assert_eq!(victims(&preemptor, &others, &shortages), Ok(chosen), "the same again");
            }
        }
    }
}
