//! Random stories of pods that end for others: the node is never overfull, and pods that were ended stay so.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Pod;
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseError};
use witlet_core::runtime::ContainerRunState;
use witlet_ports::{AgentView, PodView};
use witlet_testkit::FakeNode;

use super::{critical, modest, started};
use crate::support::{pass, shown};

const CASES: u32 = 24;
/// What the node has.
const CAPACITY: u32 = 8;
/// Longer than any pod's end, and than any wait of the queue.
const SETTLES: f64 = 120.0;

/// CPU is in halves.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Modest {
        cpu: u32,
        grace: i64,
    },
    Critical {
        cpu: u32,
    },
    /// The nth pod is removed.
    Remove(usize),
    Restart,
    Pass(u32),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        3 => (1u32..7, 1i64..25).prop_map(|(cpu, grace)| Deed::Modest { cpu, grace }),
        2 => (1u32..7).prop_map(|cpu| Deed::Critical { cpu }),
        1 => (0usize..8).prop_map(Deed::Remove),
        1 => Just(Deed::Restart),
        4 => (0u32..12).prop_map(Deed::Pass),
    ]
}

struct Play {
    node: FakeNode,
    /// The pods that are desired, with their CPU.
    expected: BTreeMap<String, u32>,
    preempted: BTreeSet<String>,
    given: u32,
}

impl Play {
    fn put(&mut self, kind: &str, cpu: u32, make: impl FnOnce(&str, &str) -> Pod) {
        let name = format!("{kind}{}", self.given);
        self.given += 1;
        let pod = make(&name, &format!("{}m", cpu * 500));
        match kind {
            "modest" => self.node.source.put_as_is(&name, vec![pod]),
            _ => self.node.source.put(&name, vec![pod]),
        }
        self.expected.insert(name, cpu);
    }

    fn act(&mut self, deed: Deed) {
        match deed {
            Deed::Modest { cpu, grace } => self.put("modest", cpu, |name, cpu| modest(name, cpu, grace)),
            Deed::Critical { cpu } => self.put("critical", cpu, critical),
            Deed::Remove(nth) => {
                let name = self.expected.keys().nth(nth).cloned();
                if let Some(name) = name {
                    self.expected.remove(&name);
                    self.node.source.remove(&name);
                }
            }
            Deed::Restart => {
                self.node.kill();
                self.node.start();
            }
            Deed::Pass(_) => {}
        }
    }

    fn reason(&self, name: &str) -> Option<String> {
        shown(&self.node, name)?.status?.reason
    }

    /// Desired pods that have a container that runs.
    async fn running(&self) -> BTreeSet<String> {
        let pods = self.node.runtime.list_pods().await.expect("the runtime is up");
        let running = pods.iter().filter(|pod| {
            pod.containers.iter().any(|container| container.state == ContainerRunState::Running)
        });
        let names = running.filter_map(|pod| pod.name.strip_suffix("-node1").map(str::to_owned));
        names.filter(|name| self.expected.contains_key(name)).collect()
    }

    async fn check(&mut self) -> Result<(), TestCaseError> {
        let running = self.running().await;
        let cpu: u32 = running.iter().map(|name| self.expected[name]).sum();
        prop_assert!(cpu <= CAPACITY, "{running:?} have {cpu} halves");
        for name in self.expected.keys() {
            let ended = shown(&self.node, name).and_then(|pod| pod.status).is_some_and(|status| {
                status.phase.as_deref() == Some("Failed") && status.reason.as_deref() == Some("Preempting")
            });
            prop_assert!(!ended || name.starts_with("modest"), "{name} is critical");
            if ended {
                self.preempted.insert(name.clone());
            }
        }
        Ok(())
    }

    /// Once nothing happens any more: who was ended is gone for good, and no pod waits.
    async fn end(&mut self) -> Result<(), TestCaseError> {
        pass(SETTLES).await;
        self.check().await?;
        let running = self.running().await;
        for name in self.expected.keys() {
            let reason = self.reason(name);
            match self.preempted.contains(name) {
                true => prop_assert_eq!(reason.as_deref(), Some("Preempting"), "{}", name),
                false => prop_assert!(
                    running.contains(name)
                        || matches!(reason.as_deref(), Some("OutOfcpu" | "UnexpectedAdmissionError")),
                    "{name} neither runs nor was refused: {reason:?}"
                ),
            }
            prop_assert!(!(self.preempted.contains(name) && running.contains(name)), "{name} came back");
        }
        let stats = self.node.agent().stats();
        prop_assert_eq!((stats.admission_queue, stats.deferred), (0, 0));
        Ok(())
    }
}

fn asked_for() -> Option<u32> {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: asked_for().unwrap_or(CASES),
        rng_seed: if asked_for().is_some() { RngSeed::Random } else { RngSeed::Fixed(36) },
        failure_persistence: None,
        max_shrink_iters: 400,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_node_is_never_overfull_and_who_was_ended_stays_so(deeds in proptest::collection::vec(deed(), 1..40)) {
        let paused = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        paused.expect("a runtime without threads").block_on(async {
            let mut play =
                Play { node: started(), expected: BTreeMap::new(), preempted: BTreeSet::new(), given: 0 };
            for deed in deeds {
                play.act(deed);
                let seconds = if let Deed::Pass(seconds) = deed { f64::from(seconds) } else { 0.05 };
                pass(seconds).await;
                play.check().await?;
            }
            play.end().await
        })?;
    }
}
