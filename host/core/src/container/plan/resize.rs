//! In-place changes of CPU and memory: which running containers are changed, in which order with the pod's own cgroup,
//! and which are restarted for it (KEP-1287; upstream: `computePodResizeAction`, `doPodResizeAction`).

use k8s_openapi::api::core::v1::{Container, Pod};

use super::input::PlanInput;
use super::spec::{ContainerKind, containers};
use super::step::{KillReason, Step};
use crate::cgroup::{
    CpuQuotaPolicy, PodCgroup, cpu_quota, cpu_shares, cpu_weight, pod_resources, quota_of_driver,
    quota_to_milli,
};
use crate::pod::allocation::ContainerResources;
use crate::pod::resources::{CPU, MEMORY};
use crate::runtime::{ContainerId, ContainerRunState, LinuxResources, ObservedContainer, ObservedPod};

pub use super::resize_step::{
    Actuated, PodKnob, ResizeContainer, ResizeError, ResizeFacts, ResizePod, Resized,
};

/// Limits to change, as they were found; those that shrink come first.
#[derive(Default)]
pub(super) struct Changes {
    memory: Vec<Change>,
    cpu: Vec<Change>,
}

struct Change {
    id: ContainerId,
    kind: ContainerKind,
    name: String,
    current: ContainerResources,
    desired: ContainerResources,
}

/// Returns what a running container has to go through for its resources: a restart, whose reason is returned, or a change in place,
/// which is noted. Nothing if they are as they should be.
pub(super) fn decide(
    input: PlanInput<'_>,
    kind: ContainerKind,
    container: &Container,
    running: &ObservedContainer,
    changes: &mut Changes,
) -> Option<KillReason> {
    let facts = input.resize?;
    let desired = ContainerResources::of(input.pod, container);
    let current = actuated(facts.actuated, running, desired, facts.cpu_quota);
    let cpu = current.cpu() != desired.cpu();
    let memory = current.memory() != desired.memory();
    if (cpu && restarts(container, CPU)) || (memory && restarts(container, MEMORY)) {
        return Some(KillReason::Resize);
    }
    let change = || Change { id: running.id.clone(), kind, name: container.name.clone(), current, desired };
    if memory {
        // The limit says whether it grows; only if that stays, the request.
        let grows = grows(
            (current.memory_limit_bytes, desired.memory_limit_bytes),
            (current.memory_request_bytes, desired.memory_request_bytes),
        );
        insert(&mut changes.memory, change(), grows);
    }
    if cpu {
        let grows = grows(
            (current.cpu_limit_milli, desired.cpu_limit_milli),
            (current.cpu_request_milli, desired.cpu_request_milli),
        );
        insert(&mut changes.cpu, change(), grows);
    }
    None
}

fn grows(limits: (i64, i64), requests: (i64, i64)) -> bool {
    let (from, to) = if limits.0 == limits.1 { requests } else { (unlimited(limits.0), unlimited(limits.1)) };
    to > from
}

fn insert(list: &mut Vec<Change>, change: Change, grows: bool) {
    let place = if grows { list.len() } else { 0 };
    list.insert(place, change);
}

/// Without a word on the resource, `NotRequired` is the API's default.
fn restarts(container: &Container, resource: &str) -> bool {
    let mut policies = container.resize_policy.iter().flatten();
    policies.any(|policy| policy.resource_name == resource && policy.restart_policy == "RestartContainer")
}

/// Returns what a running container has: by its record, else by what the runtime says, as far as it does. What the runtime can't
/// tell is taken to be as `desired`, so that a restarted agent changes nothing that needn't change.
pub fn actuated(
    records: &Actuated,
    running: &ObservedContainer,
    desired: ContainerResources,
    quota: CpuQuotaPolicy,
) -> ContainerResources {
    if let Some(record) = records.get(&running.id) {
        return *record;
    }
    let Some(seen) = &running.resources else { return desired };
    let mut current = desired;
    let desired_weight = cpu_weight(cpu_shares(desired.cpu_request_milli));
    if seen.cpu_shares > 0 && cpu_weight(seen.cpu_shares).abs_diff(desired_weight) > WEIGHT_ERROR {
        current.cpu_request_milli = scale(seen.cpu_shares, MILLI_PER_CPU, SHARES_PER_CPU);
    }
    // Without quotas nothing shows which limit it has.
    if seen.cpu_period_us > 0 && quota.is_enforced {
        let limit = quota_to_milli(seen.cpu_quota_us, seen.cpu_period_us);
        let same = seen.cpu_period_us == quota.period_us
            && seen.cpu_quota_us.max(0) == cpu_quota(desired.cpu_limit_milli, quota.period_us);
        current.cpu_limit_milli = if same { desired.cpu_limit_milli } else { limit };
    }
    if seen.memory_limit_bytes > 0 {
        current.memory_limit_bytes = seen.memory_limit_bytes;
    }
    current
}

/// Weights that are read back from cgroup v2 have been rounded twice on the way.
const WEIGHT_ERROR: u64 = 1;
/// The kernel rounds limits of memory to its pages; none has larger ones.
const PAGE_BYTES_MAX: i64 = 64 << 10;

const MILLI_PER_CPU: i64 = 1_000;
const SHARES_PER_CPU: i64 = 1_024;

fn scale(value: i64, factor: i64, divisor: i64) -> i64 {
    let scaled = i128::from(value) * i128::from(factor) / i128::from(divisor.max(1));
    i64::try_from(scaled).unwrap_or(i64::MAX)
}

/// Whether any running container hasn't yet got what it was allocated: the pod's condition `PodResizeInProgress`
/// (upstream: `IsPodResizeInProgress`). `pod` has its allocated resources. Init containers that aren't sidecars, containers
/// that don't run and pods that can't be resized are never in progress.
pub fn in_progress(pod: &Pod, observed: &ObservedPod, facts: ResizeFacts<'_>) -> bool {
    let resizable = containers(pod).filter(|found| found.kind.is_resizable());
    let any_container = resizable.into_iter().any(|found| {
        let newest = observed.container(&found.container.name);
        newest.filter(|newest| newest.state == ContainerRunState::Running).is_some_and(|running| {
            let desired = ContainerResources::of(pod, &found.container);
            actuated(facts.actuated, running, desired, facts.cpu_quota) != desired
        })
    });
    any_container || !pod_knobs(pod, facts).is_empty()
}

/// The limits of a pod's own cgroup: shares by its requests; a quota and a memory limit only if all its containers have
/// one, or the pod itself does.
pub fn desired_pod_cgroup(pod: &Pod, quota: CpuQuotaPolicy) -> PodCgroup {
    let config = pod_resources(pod, quota);
    PodCgroup {
        cpu_shares: config.cpu_shares.unwrap_or_default(),
        cpu_weight: None,
        cpu_quota_us: config.cpu_quota_us.unwrap_or_default().max(0),
        cpu_period_us: quota.period_us,
        memory_limit_bytes: config.memory_bytes.unwrap_or_default(),
        memory_usage_bytes: None,
    }
}

/// Returns what of the pod's own cgroup isn't as it should be. A limit that the pod doesn't have any more stays, as upstream has it;
/// what differs by no more than the kernel's or the driver's rounding is the same.
fn pod_knobs(pod: &Pod, facts: ResizeFacts<'_>) -> Vec<Knob> {
    let Some(from) = facts.pod_cgroup else { return Vec::new() };
    let to = desired_pod_cgroup(pod, facts.cpu_quota);
    let mut knobs = Vec::new();
    let memory = (from.memory_limit_bytes, to.memory_limit_bytes);
    let is_rounded = memory.0 != 0 && (0..PAGE_BYTES_MAX).contains(&memory.1.saturating_sub(memory.0));
    if memory.1 != 0 && !is_rounded {
        knobs.push((PodKnob::MemoryLimit, memory.0, memory.1));
    }
    // Grows or shrinks as CPUs do: the period may be another one.
    let cpu = |cgroup: PodCgroup| (cgroup.cpu_quota_us, cgroup.cpu_period_us.max(1));
    let ((quota, period), (new_quota, new_period)) = (cpu(from), cpu(to));
    let rounded = quota_of_driver(facts.cgroup_driver, new_quota, new_period);
    if new_quota != 0 && (quota, period) != (rounded, new_period) {
        knobs.push((PodKnob::CpuQuota, scale(quota, new_period, period), new_quota));
    }
    let shares = (from.cpu_shares, to.cpu_shares);
    let same = from.cpu_weight.map_or(shares.0 == shares.1, |weight| weight == cpu_weight(shares.1));
    if !same {
        knobs.push((PodKnob::CpuShares, shares.0, shares.1));
    }
    knobs
}

/// The changes in their order: memory, then CPU; of each, the pod's limit grows before the containers' change and shrinks
/// after it, and its request stays below its limit all the time. Nothing at all if any memory limit would be below its use.
pub(super) fn steps(input: PlanInput<'_>, changes: Changes) -> Result<Vec<Step>, ResizeError> {
    let Some(facts) = input.resize else { return Ok(Vec::new()) };
    let knobs = pod_knobs(input.pod, facts);
    refuse_below_usage(&changes.memory, facts, &knobs)?;
    let of = |resource: Resized| -> Vec<Knob> {
        knobs.iter().filter(|(knob, ..)| knob.resource() == resource).copied().collect()
    };
    let mut steps = Vec::new();
    let containers = |changes, resource| containers_of(changes, resource, facts.cpu_quota);
    around(&of(Resized::Memory), containers(changes.memory, Resized::Memory), &mut steps);
    around(&of(Resized::Cpu), containers(changes.cpu, Resized::Cpu), &mut steps);
    Ok(steps)
}

impl PodKnob {
    fn resource(self) -> Resized {
        match self {
            Self::MemoryLimit => Resized::Memory,
            Self::CpuQuota | Self::CpuShares => Resized::Cpu,
        }
    }

    /// The value as an amount: no limit is the largest.
    fn size(self, value: i64) -> i64 {
        match self {
            Self::MemoryLimit | Self::CpuQuota => unlimited(value),
            Self::CpuShares => value,
        }
    }
}

/// A knob with its current and its desired value; a limit comes before its request.
type Knob = (PodKnob, i64, i64);

fn around(knobs: &[Knob], containers: Vec<Step>, steps: &mut Vec<Step>) {
    let order = |(knob, from, to): &Knob| knob.size(*to).cmp(&knob.size(*from));
    let set = |(knob, _, to): &Knob| Step::ResizePod(ResizePod { knob: *knob, value: *to });
    // The limit grows before the request does, and shrinks after it.
    steps.extend(knobs.iter().filter(|knob| order(knob).is_gt()).map(set));
    steps.extend(containers);
    steps.extend(knobs.iter().rev().filter(|knob| !order(knob).is_gt()).map(set));
}

fn unlimited(limit: i64) -> i64 {
    if limit == 0 { i64::MAX } else { limit }
}

fn containers_of(changes: Vec<Change>, resource: Resized, quota: CpuQuotaPolicy) -> Vec<Step> {
    let steps = changes.into_iter().map(|change| {
        let Change { id, kind, name, current, desired } = change;
        let (limits, actuated) = match resource {
            Resized::Memory => (
                LinuxResources {
                    memory_limit_bytes: desired.memory_limit_bytes,
                    ..LinuxResources::default()
                },
                current.with_memory_of(desired),
            ),
            // Memory goes before: by now it is as desired.
            Resized::Cpu => (
                LinuxResources {
                    cpu_shares: cpu_shares(desired.cpu_request_milli),
                    cpu_quota_us: match quota.is_enforced {
                        true => cpu_quota(desired.cpu_limit_milli, quota.period_us),
                        false => 0,
                    },
                    cpu_period_us: if quota.is_enforced { quota.period_us } else { 0 },
                    ..LinuxResources::default()
                },
                desired,
            ),
        };
        let limits = (limits != LinuxResources::default()).then_some(limits);
        Step::ResizeContainer(ResizeContainer { id, kind, name, resource, limits, actuated })
    });
    steps.collect()
}

fn refuse_below_usage(memory: &[Change], facts: ResizeFacts<'_>, knobs: &[Knob]) -> Result<(), ResizeError> {
    for change in memory {
        let (from, limit) = (change.current.memory_limit_bytes, change.desired.memory_limit_bytes);
        let usage = facts.memory_usage.get(&change.id).copied();
        if unlimited(limit) < unlimited(from)
            && let Some(usage) = usage.filter(|usage| *usage > limit)
        {
            let container = change.name.clone();
            return Err(ResizeError::ContainerMemory { container, limit, usage });
        }
    }
    let memory = knobs.iter().find(|(knob, ..)| *knob == PodKnob::MemoryLimit);
    if let Some(&(_, from, limit)) = memory {
        let usage = facts.pod_cgroup.and_then(|cgroup| cgroup.memory_usage_bytes);
        // As upstream has it: exactly what is used is refused, too.
        if limit < unlimited(from)
            && let Some(usage) = usage.filter(|usage| *usage >= limit)
        {
            return Err(ResizeError::PodMemory { limit, usage });
        }
    }
    Ok(())
}
