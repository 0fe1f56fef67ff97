//! Levels of usage, and which thresholds are watched.

use super::*;
use crate::eviction::fixtures::{hard, soft};

const MIB: u64 = 1 << 20;

#[test]
fn usage_level_is_capacity_less_threshold_plus_inactive_file_pages() {
    let quantity = |mib: u64| ThresholdValue::Quantity {
        amount: i64::try_from(mib * MIB).expect("small"),
        is_binary: true,
    };
    for (capacity, threshold, inactive, expected) in [
        (1000, quantity(100), 0, 900),
        (1000, quantity(100), 250, 1150),
        (1000, ThresholdValue::Percentage(0.25), 50, 800),
        (1000, quantity(2000), 50, 50),
    ] {
        let watch = MemoryWatch { scope: MemoryScope::Node, threshold };
        assert_eq!(watch.usage_level(capacity * MIB, inactive * MIB), expected * MIB, "{threshold:?}");
    }
    let watch = MemoryWatch { scope: MemoryScope::Pods, threshold: ThresholdValue::Percentage(1.0) };
    assert_eq!(watch.usage_level(u64::MAX, u64::MAX), u64::MAX);
}

#[test]
fn memory_thresholds_alone_are_watched_hard_and_soft_ones() {
    let thresholds = [
        hard(Signal::MemoryAvailable, "100Mi", None),
        hard(Signal::NodeFsAvailable, "1Gi", None),
        soft(Signal::MemoryAvailable, "1Gi", None, 60),
        hard(Signal::AllocatableMemoryAvailable, "100Mi", None),
        hard(Signal::PidAvailable, "1k", None),
    ];
    let found: Vec<String> =
        watches(&thresholds).iter().map(|watch| format!("{:?} {}", watch.scope, watch.threshold)).collect();
    assert_eq!(found, ["Node 100Mi", "Node 1Gi", "Pods 100Mi"]);
}
