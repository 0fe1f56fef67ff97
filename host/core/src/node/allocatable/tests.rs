//! Upstream's tables (`node_container_manager_linux_test.go`, `apis/config/validation/validation_test.go`).

use std::collections::BTreeSet;

use jiff::SignedDuration;

use super::*;
use crate::eviction::ThresholdValue;

const MI: i64 = 1 << 20;
const GI: i64 = 1 << 30;

/// CPU in thousandths and bytes of memory; 0 is none.
fn of(cpu: i64, memory: i64) -> Amounts {
    let both = [(CPU, cpu), (MEMORY, memory)];
    both.into_iter()
        .filter(|(_, amount)| *amount != 0)
        .map(|(name, amount)| (name.to_owned(), amount))
        .collect()
}

fn storage(bytes: i64) -> Amounts {
    let amounts = [(EPHEMERAL_STORAGE.to_owned(), bytes)];
    amounts.into_iter().filter(|(_, amount)| *amount != 0).collect()
}

fn of_signal(signal: Signal, value: Option<ThresholdValue>) -> Vec<Threshold> {
    let threshold = |value| Threshold { signal, value, grace: SignedDuration::ZERO, min_reclaim: None };
    value.map(threshold).into_iter().collect()
}

fn memory_threshold(value: Option<ThresholdValue>) -> Vec<Threshold> {
    of_signal(Signal::MemoryAvailable, value)
}

fn nodefs_threshold(value: Option<ThresholdValue>) -> Vec<Threshold> {
    of_signal(Signal::NodeFsAvailable, value)
}

const FIVE_PERCENT: Option<ThresholdValue> = Some(ThresholdValue::Percentage(0.05));
const HUNDRED_MI: Option<ThresholdValue> =
    Some(ThresholdValue::Quantity { amount: 100 << 20, is_binary: true });

#[test]
fn what_the_status_takes_off() {
    let all = of(10_000, 10 * GI);
    let cases = [
        (of(100, 100 * MI), of(50, 50 * MI), None, all.clone(), of(150, 150 * MI)),
        (of(100, 100 * MI), of(50, 50 * MI), HUNDRED_MI, all.clone(), of(150, 250 * MI)),
        // To the byte: upstream's percentage is a number of single precision.
        (of(100, 100 * MI), of(50, 50 * MI), FIVE_PERCENT, all.clone(), of(150, 694_157_320)),
        (of(0, 0), of(0, 0), None, all.clone(), of(0, 0)),
        (of(0, 100 * MI), of(50, 50 * MI), None, all.clone(), of(50, 150 * MI)),
        (of(50, 100 * MI), of(0, 50 * MI), None, all, of(50, 150 * MI)),
        (of(0, 100 * MI), of(0, 50 * MI), None, of(10_000, 0), of(0, 0)),
    ];
    for (index, (kube, system, threshold, capacity, expected)) in cases.into_iter().enumerate() {
        let reservations = Reservations { kube, system, eviction: memory_threshold(threshold) };
        assert_eq!(reservations.reported(&capacity), expected, "case {}", index + 1);
    }
    for (kube, threshold, expected) in [
        (100 * MI, None, 100 * MI),
        (100 * MI, HUNDRED_MI, 200 * MI),
        (150 * MI, FIVE_PERCENT, 694_157_320),
        (0, None, 0),
    ] {
        let eviction = nodefs_threshold(threshold);
        let reservations = Reservations { kube: storage(kube), system: Amounts::new(), eviction };
        assert_eq!(reservations.reported(&storage(10 * GI)), storage(expected), "storage {kube}");
    }
}

#[test]
fn what_is_enforced_knows_no_thresholds() {
    let all = of(10_000, 10 * GI);
    let cases = [
        (of(100, 100 * MI), of(50, 50 * MI), None, all.clone(), of(9_850, 10_090 * MI)),
        (of(100, 100 * MI), of(50, 50 * MI), HUNDRED_MI, all.clone(), of(9_850, 10_090 * MI)),
        (of(100, 100 * MI), of(50, 50 * MI), FIVE_PERCENT, all.clone(), of(9_850, 10_090 * MI)),
        (of(0, 0), of(0, 0), None, all.clone(), of(10_000, 10 * GI)),
        (of(0, 100 * MI), of(50, 50 * MI), None, all.clone(), of(9_950, 10_090 * MI)),
        (of(50, 100 * MI), of(0, 50 * MI), None, all, of(9_950, 10_090 * MI)),
        (of(0, 100 * MI), of(0, 50 * MI), None, of(10_000, 0), of(10_000, 0)),
    ];
    for (index, (kube, system, threshold, capacity, expected)) in cases.into_iter().enumerate() {
        let reservations = Reservations { kube, system, eviction: memory_threshold(threshold) };
        assert_eq!(reservations.enforced(&capacity), expected, "case {}", index + 1);
    }
    let more = Reservations { system: of(20_000, 0), ..Reservations::default() };
    assert_eq!(more.enforced(&of(10_000, 0))[CPU], 0, "never less than nothing");
}

#[test]
fn more_than_there_is_ends_the_start() {
    let all = of(10_000, 10 * GI);
    let small = (of(100, 100 * MI), of(50, 50 * MI));
    let good = [
        (small.0.clone(), small.1.clone(), None, all.clone()),
        (small.0.clone(), small.1.clone(), HUNDRED_MI, all.clone()),
        (small.0, small.1, FIVE_PERCENT, all.clone()),
        (of(0, 0), of(0, 0), None, all.clone()),
        (of(0, 100 * MI), of(50, 50 * MI), None, all.clone()),
        (of(50, 100 * MI), of(0, 50 * MI), None, all),
        (of(0, 100 * MI), of(0, 50 * MI), None, of(10_000, 0)),
    ];
    for (kube, system, threshold, capacity) in good {
        let reservations = Reservations { kube, system, eviction: memory_threshold(threshold) };
        assert_eq!(reservations.check(&capacity), Ok(()));
    }
    let eviction = memory_threshold(Some(ThresholdValue::Quantity { amount: 2 << 30, is_binary: true }));
    let most = Reservations { kube: of(5_000, 10 * GI), system: of(5_000, 10 * GI), eviction };
    assert_eq!(
        most.check(&of(10_000, 11 * GI)).unwrap_err().to_string(),
        "invalid Node Allocatable configuration. Resource \"memory\" has a reservation of 23622320128 but capacity of \
         11811160064. Expected capacity >= reservation."
    );
    for (kube, threshold, capacity, is_good) in
        [(100 * MI, None, 500 * MI, true), (20 * GI, HUNDRED_MI, 20 * GI, false)]
    {
        let eviction = nodefs_threshold(threshold);
        let reservations = Reservations { kube: storage(kube), system: Amounts::new(), eviction };
        assert_eq!(reservations.check(&storage(capacity)).is_ok(), is_good);
    }
}

fn parse(
    names: &[&str],
    per_qos: bool,
    system_cgroup: &str,
    kube_cgroup: &str,
) -> Result<Vec<Enforcement>, Vec<String>> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let facts = EnforcementFacts { cgroups_per_qos: per_qos, system_cgroup, kube_cgroup };
    enforcements(&names, facts).map(|all| all.into_iter().collect())
}

#[test]
fn what_is_enforced_is_checked_in_upstreams_words() {
    assert_eq!(parse(&["pods"], true, "", ""), Ok(vec![Enforcement::Pods]));
    assert_eq!(parse(&["none"], false, "", ""), Ok(vec![]));
    assert_eq!(parse(&[], false, "", ""), Ok(vec![]));
    let all =
        parse(&["pods", "system-reserved", "kube-reserved-compressible"], true, "/system.slice", "/kube");
    let expected = [Enforcement::Pods, Enforcement::SystemReserved, Enforcement::KubeReservedCompressible];
    assert_eq!(all.map(|all| all.into_iter().collect::<BTreeSet<_>>()), Ok(expected.into()));
    let field = "enforceNodeAllocatable (--enforce-node-allocatable)";
    let cases: [(&[&str], bool, String); 10] = [
        (
            &["pods"],
            false,
            format!(
                "cgroupsPerQOS (--cgroups-per-qos) must be set to true when \"pods\" contained in {field}"
            ),
        ),
        (&["pods", "pods"], true, format!("duplicated enforcements \"pods\" in {field}")),
        (
            &["system-reserved"],
            true,
            format!(
                "systemReservedCgroup (--system-reserved-cgroup) must be specified when \"system-reserved\" or \"system-reserved-compressible\" included in {field}"
            ),
        ),
        (
            &["system-reserved-compressible"],
            true,
            format!(
                "systemReservedCgroup (--system-reserved-cgroup) must be specified when \"system-reserved\" or \"system-reserved-compressible\" included in {field}"
            ),
        ),
        (
            &["kube-reserved"],
            true,
            format!(
                "kubeReservedCgroup (--kube-reserved-cgroup) must be specified when \"kube-reserved\" or \"kube-reserved-compressible\" included in {field}"
            ),
        ),
        (
            &["kube-reserved-compressible"],
            true,
            format!(
                "kubeReservedCgroup (--kube-reserved-cgroup) must be specified when \"kube-reserved\" or \"kube-reserved-compressible\" included in {field}"
            ),
        ),
        (
            &["none", "pods"],
            true,
            format!("{field} may not contain additional enforcements when \"none\" is specified"),
        ),
        (
            &["invalid"],
            true,
            format!(
                "option \"invalid\" specified for {field}. Valid options are \"pods\", \"system-reserved\", \"system-reserved-compressible\", \"kube-reserved\", \"kube-reserved-compressible\" or \"none\""
            ),
        ),
        (&["system-reserved", "system-reserved-compressible"], true, String::new()),
        (&["kube-reserved-compressible", "kube-reserved"], true, String::new()),
    ];
    for (names, per_qos, expected) in cases {
        let problems = parse(names, per_qos, "", "").unwrap_err();
        if expected.is_empty() {
            let whole = names.iter().min_by_key(|name| name.len()).expect("a pair");
            let pair = format!("both {whole:?} and \"{whole}-compressible\" cannot be specified together in");
            assert_eq!(problems[0], format!("{pair} {field}"));
        } else {
            assert_eq!(problems, [expected], "{names:?}");
        }
    }
}

#[test]
fn cpus_of_a_list() {
    for (list, expected) in [
        ("0-3,8", Some(5)),
        ("0,0-1", Some(2)),
        ("", Some(0)),
        ("3-1", None),
        ("a", None),
        ("0-99999999", None),
    ] {
        assert_eq!(cpu_set(list).map(|set| set.len()), expected, "{list}");
    }
}
