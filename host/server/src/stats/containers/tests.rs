//! Containers of a machine on which one pod has cgroups and another one has none.

use super::super::tests::Machine;
use super::*;

fn stats_of(machine: &Arc<Machine>) -> CgroupContainerStats {
    CgroupContainerStats { pods: machine.clone(), kernel: machine.clone(), runtime: machine.clone() }
}

#[tokio::test(start_paused = true)]
async fn containers_have_the_kernels_figures_and_those_without_a_cgroup_the_runtimes() {
    let machine = Arc::new(Machine::default());
    let found = stats_of(&machine).containers().await.unwrap();
    let shown: Vec<_> =
        found.iter().map(|stats| (stats.uid.as_str(), stats.attempt, stats.usage.memory)).collect();
    // What the runtime says of a container that has a cgroup doesn't count.
    assert_eq!(shown, [("u-1", 0, Some(5)), ("u-2", 1, Some(20)), ("u-2", 0, Some(10))]);
    let cpu = found[0].usage.cpu.expect("the kernel counts it");
    assert_eq!((cpu.nanoseconds, cpu.at), (1_000_000_000, Some(found_at())));
}

fn found_at() -> jiff::Timestamp {
    jiff::Timestamp::from_second(1_790_000_000).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_is_down_is_an_error() {
    let machine = Arc::new(Machine::default());
    machine.go_down();
    assert!(stats_of(&machine).containers().await.is_err());
}
