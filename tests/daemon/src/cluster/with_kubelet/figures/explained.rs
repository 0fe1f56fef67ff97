//! What differs from a kubelet for a reason.

/// The chapter that says which families are left out, and why.
const CHAPTER: &str = include_str!("../../../../../../docs/src/metrics.md");

/// Where its table of them begins.
const LEFT_OUT: &str = "## What is left out";

/// Why one of the two may have no figures of the node's default interface.
const DEFAULT_INTERFACE: &str =
    "they are those of `eth0`, which one of the two networks may not have, as above";

/// Parts of a difference, and why it is so.
const REASONS: &[(&[&str], &str)] = &[
    (&["/metrics witlet_", "witlet only"], "this agent's own"),
    (
        &["/metrics kubelet_certificate_manager_client_", "witlet only"],
        "a kubelet has them once it rotates its certificate",
    ),
    (&["/metrics kubelet_runtime_operations_errors_total"], "there once a call has failed"),
    (&["/metrics/cadvisor container_cpu_load_"], "0 on every kubelet"),
    (&["/metrics/cadvisor container_tasks_state"], "the same"),
    (&["/metrics/cadvisor container_health_state"], "-1 on every kubelet"),
    (&["/metrics/cadvisor machine_nvm_"], "0 on every machine without such memory"),
    (
        &["/metrics/cadvisor container_network_", "id=\"/\""],
        "a kubelet tells the network of the first process, this agent that of its own: here they aren't the same",
    ),
    (&["/metrics/cadvisor", "witlet has", "id=\"/agent\""], "the agent's own cgroup is always shown"),
    (&["/metrics/cadvisor", "name=\"sandbox\""], "the image of a sandbox is the runtime's own matter"),
    (
        &["/metrics/cadvisor container_fs_", "kubelet has"],
        "file systems are those of disks, and in memory near the root: pods have many more",
    ),
    (&["/stats/summary", ".psi."], "on cgroup v1 a kubelet tells zeros that aren't measured"),
    (&["/stats/summary", ".io.time"], "the same"),
    (&["/stats/summary .node.network.name "], DEFAULT_INTERFACE),
    (&["/stats/summary .node.network.rxBytes "], DEFAULT_INTERFACE),
    (&["/stats/summary .node.network.rxErrors "], DEFAULT_INTERFACE),
    (&["/stats/summary .node.network.txBytes "], DEFAULT_INTERFACE),
    (&["/stats/summary .node.network.txErrors "], DEFAULT_INTERFACE),
    (
        &["/stats/summary .node.systemContainers[kubelet]", "witlet only"],
        "a kubelet finds its own cgroup in the first five minutes, and only if one has all controllers",
    ),
];

/// The differences without a reason, and how many have one.
pub(super) fn unexplained(differences: &[String]) -> (Vec<String>, usize) {
    let patterns = left_out(CHAPTER);
    let has_reason = |difference: &String| {
        let mut words = difference.split(' ');
        let (path, family) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let is_in_book = path.starts_with("/metrics")
            && difference.ends_with("kubelet only")
            && patterns.iter().any(|pattern| matches(pattern, family));
        is_in_book || REASONS.iter().any(|(parts, _)| parts.iter().all(|part| difference.contains(part)))
    };
    let (with, without): (Vec<_>, Vec<_>) = differences.iter().cloned().partition(has_reason);
    (without, with.len())
}

/// The names in the first column of the chapter's table; `…` stands for any rest.
fn left_out(chapter: &str) -> Vec<&str> {
    let table = chapter.split_once(LEFT_OUT).map_or("", |(_, table)| table);
    let rows = table.lines().filter_map(|line| line.strip_prefix('|')?.split('|').next());
    rows.flat_map(|names| names.split('`').skip(1).step_by(2)).collect()
}

fn matches(pattern: &str, family: &str) -> bool {
    match pattern.strip_suffix('…') {
        Some(begin) => family.starts_with(begin),
        None => family == pattern,
    }
}
