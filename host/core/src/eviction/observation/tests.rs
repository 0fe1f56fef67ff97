//! Upstream's cases of observations (`helpers_test.go`: `TestMakeSignalObservations`, `TestThresholdsMet`, `TestThresholdsUpdatedStats`,
//! `TestPercentageThresholdsMet`, `TestThresholdsFirstObservedAt`, `TestThresholdsMetGracePeriod`).

use super::*;
use crate::eviction::fixtures::{amount, hard, left, soft};
use crate::eviction::threshold::ThresholdValue;
use crate::fixtures::at;
use jiff::SignedDuration;

use Signal::{MemoryAvailable, NodeFsAvailable};

#[test]
fn readings_become_observations() {
    let figure = |capacity, available| Some(Left { capacity, available });
    let readings = NodeReadings {
        memory: figure(10, 1),
        allocatable_memory: figure(20, 2),
        nodefs_bytes: figure(30, 3),
        nodefs_inodes: figure(40, 4),
        imagefs_bytes: figure(50, 5),
        imagefs_inodes: figure(60, 6),
        containerfs_bytes: figure(70, 7),
        containerfs_inodes: figure(80, 8),
        pids: figure(u64::MAX, 9),
        filesystems: None,
        cpu: None,
    };
    let all = observations(&readings, at(7));
    let seen: Vec<(i64, i64)> = all.values().map(|one| (one.capacity, one.available)).collect();
    assert_eq!(seen, [(10, 1), (20, 2), (30, 3), (40, 4), (50, 5), (60, 6), (70, 7), (80, 8), (i64::MAX, 9)]);
    assert!(all.values().all(|one| one.at == Some(at(7))));
    assert!(observations(&NodeReadings::default(), at(7)).is_empty());
}

#[test]
fn thresholds_are_met_below_their_amount() {
    let threshold = hard(MemoryAvailable, "1Gi", Some("500Mi"));
    let seen = |available| Observations::from([(MemoryAvailable, left(available, "0"))]);
    let cases = [
        ("empty", false, vec![], Observations::new(), vec![]),
        ("threshold-met-memory", false, vec![threshold], seen("500Mi"), vec![threshold]),
        ("threshold-not-met", false, vec![threshold], seen("2Gi"), vec![]),
        ("threshold-met-with-min-reclaim", true, vec![threshold], seen("1.05Gi"), vec![threshold]),
        ("threshold-not-met-with-min-reclaim", true, vec![threshold], seen("2Gi"), vec![]),
        ("exactly", false, vec![threshold], seen("1Gi"), vec![]),
        ("unknown", false, vec![threshold], Observations::new(), vec![]),
    ];
    for (name, with_reclaim, thresholds, observations, expected) in cases {
        assert_eq!(met(&thresholds, &observations, with_reclaim), expected, "{name}");
    }
    assert_eq!(missing(&threshold, &left("1100Mi", "0"), false), -(76 << 20));
    assert_eq!(missing(&threshold, &left("1Gi", "0"), true), 500 << 20);
}

#[test]
fn percentages_are_of_the_capacity() {
    let part = |signal, value, reclaim: Option<f32>| Threshold {
        signal,
        value: ThresholdValue::Percentage(value),
        grace: SignedDuration::ZERO,
        min_reclaim: reclaim.map(ThresholdValue::Percentage),
    };
    let both = [part(MemoryAvailable, 0.2, Some(0.05)), part(NodeFsAvailable, 0.3, None)];
    let seen = |memory: &str, disk: Option<&str>| {
        let mut seen = Observations::from([(MemoryAvailable, left(memory, "1000Mi"))]);
        seen.extend(disk.map(|disk| (NodeFsAvailable, left(disk, "1000Gi"))));
        seen
    };
    let cases = [
        ("BothMet", false, seen("100Mi", Some("100Gi")), both.to_vec()),
        ("NoneMet", false, seen("300Mi", Some("400Gi")), vec![]),
        ("DiskMet", false, seen("300Mi", Some("100Gi")), vec![both[1]]),
        ("MemoryMet", false, seen("100Mi", Some("400Gi")), vec![both[0]]),
        ("MemoryMetWithMinReclaim", true, seen("225Mi", None), vec![both[0]]),
        ("MemoryNotMetWithMinReclaim", true, seen("300Mi", None), vec![]),
    ];
    for (name, with_reclaim, observations, expected) in cases {
        assert_eq!(met(&both, &observations, with_reclaim), expected, "{name}");
    }
}

#[test]
fn thresholds_count_with_a_newer_sample_only() {
    let threshold = hard(MemoryAvailable, "1Gi", None);
    let seen = |time| Observations::from([(MemoryAvailable, Observation { at: time, ..left("0", "0") })]);
    let none = Observations::new();
    let cases = [
        ("empty", vec![], none.clone(), none.clone(), false),
        ("no-time", vec![threshold], seen(None), none.clone(), true),
        ("no-last-observation", vec![threshold], seen(Some(at(0))), none, true),
        ("time-machine", vec![threshold], seen(Some(at(0))), seen(Some(at(60))), false),
        ("same-observation", vec![threshold], seen(Some(at(0))), seen(Some(at(0))), false),
        ("new-observation", vec![threshold], seen(Some(at(60))), seen(Some(at(0))), true),
    ];
    for (name, thresholds, observations, last, counts) in cases {
        let expected = if counts { thresholds.clone() } else { vec![] };
        assert_eq!(updated(&thresholds, &observations, &last), expected, "{name}");
    }
}

#[test]
fn the_first_observation_of_a_threshold_is_kept() {
    let threshold = hard(MemoryAvailable, "1Gi", None);
    let cases = [
        ("empty", vec![], vec![], vec![]),
        ("no-previous-observation", vec![threshold], vec![], vec![(threshold, at(60))]),
        ("previous-observation", vec![threshold], vec![(threshold, at(0))], vec![(threshold, at(0))]),
        ("not met any more", vec![], vec![(threshold, at(0))], vec![]),
        ("the clock was set back", vec![threshold], vec![(threshold, at(90))], vec![(threshold, at(60))]),
    ];
    for (name, thresholds, before, expected) in cases {
        assert_eq!(first_observed(&thresholds, &before, at(60)), expected, "{name}");
    }
}

#[test]
fn thresholds_count_after_their_grace() {
    let (hard, soft) = (hard(MemoryAvailable, "1Gi", None), soft(MemoryAvailable, "2Gi", None, 60));
    let cases = [
        ("empty", vec![], vec![]),
        ("hard-threshold-met", vec![(hard, at(0))], vec![hard]),
        ("soft-threshold-not-met", vec![(soft, at(0))], vec![]),
        ("soft-threshold-met", vec![(soft, at(-120))], vec![soft]),
        ("at the end of its grace", vec![(soft, at(-60))], vec![soft]),
    ];
    for (name, since, expected) in cases {
        assert_eq!(past_grace(&since, at(0)), expected, "{name}");
    }
}

#[test]
fn unresolved_thresholds_are_added_once() {
    let (a, b) = (hard(MemoryAvailable, "1Gi", None), hard(NodeFsAvailable, "1Gi", None));
    let with_reclaim = Threshold { min_reclaim: Some(amount("1")), ..a };
    assert_eq!(merge(vec![a], vec![with_reclaim, b]), [a, b]);
}
