//! What holds for any pods, figures and thresholds.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::eviction::fixtures::{hard, memory, pod, soft};
use crate::eviction::rank::{END_WAITS_MAX, eviction_order};
use crate::eviction::signal::{SIGNALS, Signal};
use crate::fixtures::{at, property};
use crate::stats::{ContainerUsage, FsUsage, PodUsage};

/// Memory of a node in these tests, and of one pod at most.
const CAPACITY: i64 = 1000;

#[derive(Clone, Debug)]
struct Made {
    candidate: Candidate,
    usage: Option<PodUsage>,
}

fn made() -> impl Strategy<Value = Made> {
    let usage = proptest::option::weighted(0.8, (0..100_u64, 0..100_u64, 0..100_u64, 0..100_u64));
    (0..1000_u32, -2..3_i32, 0..60_u32, any::<bool>(), any::<bool>(), 0..END_WAITS_MAX * 2, usage).prop_map(
        |(number, priority, request, is_critical, is_evicted, waits, usage)| {
            let requests = json!({"memory": request.to_string(), "ephemeral-storage": request.to_string()});
            let candidate = pod(&format!("pod-{number}"), priority, requests, json!({}));
            let usage = usage.map(|(memory, processes, rootfs, logs)| PodUsage {
                containers: vec![ContainerUsage {
                    name: "app".to_owned(),
                    rootfs: FsUsage::new(rootfs, rootfs),
                    logs: FsUsage::new(logs, logs),
                    ..ContainerUsage::default()
                }],
                processes: Some(processes),
                memory: Some(memory),
                ..PodUsage::default()
            });
            Made { candidate: Candidate { is_critical, is_evicted, waits, ..candidate }, usage }
        },
    )
}

fn pods() -> impl Strategy<Value = Vec<Made>> {
    proptest::collection::vec(made(), 0..8).prop_map(|mut pods| {
        pods.sort_by(|a, b| a.candidate.uid.cmp(&b.candidate.uid));
        pods.dedup_by(|a, b| a.candidate.uid == b.candidate.uid);
        pods
    })
}

fn seen(signal: Signal, available: i64, second: i64) -> Observations {
    Observations::from([(signal, Observation { available, capacity: CAPACITY, at: Some(at(second)) })])
}

proptest! {
    #![proptest_config(property(256))]

    #[test]
    fn no_pod_is_evicted_that_another_one_goes_before(pods in pods(), which in 0..SIGNALS.len(), layout in 0..3_usize) {
        let signal = SIGNALS[which];
        let filesystems = [Filesystems::Single, Filesystems::DedicatedImages, Filesystems::Split][layout];
        let candidates: Vec<Candidate> = pods.iter().map(|made| made.candidate.clone()).collect();
        let usages: PodUsages = pods
            .iter()
            .filter_map(|made| Some((made.candidate.uid.clone(), made.usage.clone()?)))
            .collect();
        let config = EvictionConfig { thresholds: vec![hard(signal, "10", None)], ..EvictionConfig::default() };
        let mut manager = EvictionManager::new(config);
        // Writable layers have no threshold of their own.
        let signal = manager.config.thresholds[0].signal;
        let mut outcome = manager.begin(seen(signal, 0, 0), Some(filesystems), &candidates, at(0));
        let mut steps = 0;
        let going = loop {
            steps += 1;
            prop_assert!(steps < 5, "a round has an end");
            let found = match outcome.step {
                Step::MeasureLimited { .. } => Found::Limited(usages.clone()),
                Step::Reclaim(_) => Found::Node(None),
                Step::MeasureAll(_) => Found::All(usages.clone()),
                Step::Evict(evictions) => break evictions.into_iter().map(|one| (one.uid, false)).collect(),
                Step::Wait(uid) => break vec![(uid, true)],
                Step::Rest => break Vec::new(),
            };
            outcome = manager.advance(found, &candidates);
        };
        let has_evictable = candidates.iter().any(Candidate::is_evictable);
        prop_assert_eq!(going.len(), usize::from(has_evictable), "one pod at most, and one if there is any");
        let of = |candidate: &Candidate| eviction_order(signal, filesystems, &candidate.pod, usages.get(&candidate.uid));
        let can_go = |candidate: &&Candidate| candidate.is_evictable() || candidate.is_awaited();
        for (uid, is_waited_for) in &going {
            let chosen = candidates.iter().filter(can_go).find(|candidate| candidate.uid == *uid);
            prop_assert!(chosen.is_some(), "neither critical nor waited for often enough");
            prop_assert_eq!(chosen.map(|candidate| candidate.is_evicted), Some(*is_waited_for), "none is evicted twice");
            prop_assert_eq!(chosen.map(of), candidates.iter().filter(can_go).map(of).min());
        }
    }

    #[test]
    fn evictions_go_on_until_enough_is_left_and_no_longer(
        sizes in proptest::collection::vec(1..200_u64, 1..12),
        threshold in 1..500_i64,
        reclaim in 0..300_i64,
    ) {
        let mut pods: Vec<Candidate> =
            (0..sizes.len()).map(|number| pod(&format!("pod-{number:02}"), 0, json!({}), json!({}))).collect();
        let mut usages: PodUsages = pods
            .iter()
            .zip(&sizes)
            .map(|(pod, size)| (pod.uid.clone(), memory(&size.to_string())))
            .collect();
        let signal = Signal::MemoryAvailable;
        let limit = hard(signal, &threshold.to_string(), Some(&reclaim.to_string()));
        let mut manager =
            EvictionManager::new(EvictionConfig { thresholds: vec![limit], ..EvictionConfig::default() });
        let available = |usages: &PodUsages| {
            let used: u64 = usages.values().filter_map(|usage| usage.memory).sum();
            CAPACITY - i64::try_from(used).expect("small")
        };
        let (mut evicted, began) = (0, available(&usages));
        let mut last = began;
        for second in 0..100 {
            last = available(&usages);
            let outcome = manager.begin(seen(signal, last, second), Some(Filesystems::Single), &pods, at(second));
            let step = match outcome.step {
                Step::MeasureAll(_) => manager.advance(Found::All(usages.clone()), &pods).step,
                step => step,
            };
            let Step::Evict(evictions) = step else { break };
            for eviction in evictions {
                // Each goes once, and its memory with it: that is the progress.
                let before = pods.len();
                pods.retain(|pod| pod.uid != eviction.uid);
                prop_assert_eq!(pods.len() + 1, before);
                prop_assert!(usages.remove(&eviction.uid).is_some());
                evicted += 1;
            }
        }
        if began >= threshold {
            prop_assert_eq!(evicted, 0, "nothing was short");
        } else {
            prop_assert!(last >= threshold + reclaim || pods.is_empty(), "{last} is left with {} pods", pods.len());
        }
    }

    #[test]
    fn figures_that_never_get_better_end_each_pod_once_at_most(
        pods in pods(),
        rounds in proptest::collection::vec((0..40_i64, 0..40_i64, any::<bool>(), 0..3_i64), 1..60),
        layout in 0..3_usize,
    ) {
        let filesystems = [Filesystems::Single, Filesystems::DedicatedImages, Filesystems::Split][layout];
        let thresholds = vec![
            hard(Signal::MemoryAvailable, "10", Some("5")),
            soft(Signal::MemoryAvailable, "20", None, 30),
            hard(Signal::NodeFsAvailable, "10", None),
        ];
        let mut manager = EvictionManager::new(EvictionConfig { thresholds, ..EvictionConfig::default() });
        let mut candidates: Vec<Candidate> = pods.iter().map(|made| made.candidate.clone()).collect();
        let usages: PodUsages = pods
            .iter()
            .filter_map(|made| Some((made.candidate.uid.clone(), made.usage.clone()?)))
            .collect();
        let mut evicted = std::collections::BTreeSet::new();
        let mut second = 0;
        for (memory, disk, is_gone, pause) in rounds {
            // Without a pause the figures are those of the round before.
            second += pause * 20;
            let figures: Observations =
                seen(Signal::MemoryAvailable, memory, second).into_iter().chain(seen(Signal::NodeFsAvailable, disk, second)).collect();
            let is_new = pause > 0 || second == 0 && manager.filesystems.is_none();
            let mut outcome = manager.begin(figures.clone(), Some(filesystems), &candidates, at(second));
            let mut steps = 0;
            let ended = loop {
                steps += 1;
                prop_assert!(steps < 5, "a round has an end");
                let found = match outcome.step {
                    Step::MeasureLimited { .. } => Found::Limited(usages.clone()),
                    Step::Reclaim(_) => Found::Node(Some(figures.clone())),
                    Step::MeasureAll(_) => Found::All(usages.clone()),
                    Step::Evict(evictions) => break evictions,
                    Step::Wait(uid) => {
                        let waited = candidates.iter_mut().find(|candidate| candidate.uid == uid);
                        let waited = waited.expect("one of the candidates");
                        prop_assert!(waited.is_awaited(), "not for ever");
                        waited.waits += 1;
                        break Vec::new();
                    }
                    Step::Rest => break Vec::new(),
                };
                outcome = manager.advance(found, &candidates);
            };
            prop_assert!(ended.len() <= 1);
            prop_assert!(is_new || ended.is_empty(), "nothing is decided twice on the same figures");
            prop_assert!(memory < 20 || disk < 10 || ended.is_empty(), "nothing is short");
            for eviction in ended {
                let chosen = candidates.iter().position(|candidate| candidate.uid == eviction.uid);
                let chosen = chosen.expect("one of the candidates");
                prop_assert!(candidates[chosen].is_evictable());
                prop_assert!(evicted.insert(eviction.uid), "once");
                // It ends at once, or never.
                if is_gone {
                    candidates.remove(chosen);
                } else {
                    candidates[chosen].is_evicted = true;
                }
            }
        }
    }
}
