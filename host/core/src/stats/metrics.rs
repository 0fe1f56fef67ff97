//! What pods use now: memory as measured last, and CPU between two measurements (the words of `metrics.k8s.io`).

use std::collections::BTreeMap;
use std::time::Duration;

use super::{CpuTime, Measured, newest};
use crate::pod::PodUid;

#[cfg(test)]
mod tests;

/// What a container uses now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerMetrics {
    /// Its name in the pod.
    pub name: String,
    /// CPU, in billionths of a core; none if the runtime measured nothing new.
    pub cpu_nanocores: Option<u64>,
    /// Working set, in bytes; none if the runtime doesn't say.
    pub memory: Option<u64>,
}

/// Returns what the containers of each pod use, in the order of their names, by two measurements with `elapsed` between them. Of several
/// instances of a container the newest counts; one that wasn't there before has used its CPU since.
pub fn metrics(
    before: impl IntoIterator<Item = Measured>,
    after: impl IntoIterator<Item = Measured>,
    elapsed: Duration,
) -> BTreeMap<PodUid, Vec<ContainerMetrics>> {
    let before: BTreeMap<(PodUid, u32, String), Option<CpuTime>> =
        before.into_iter().map(|(uid, attempt, usage)| ((uid, attempt, usage.name), usage.cpu)).collect();
    let mut pods: BTreeMap<PodUid, Vec<ContainerMetrics>> = BTreeMap::new();
    for ((uid, name), (attempt, usage)) in newest(after) {
        let known = before.get(&(uid.clone(), attempt, name.clone())).copied().flatten();
        let cpu_nanocores = usage.cpu.and_then(|cpu| nanocores(known, cpu, elapsed));
        pods.entry(uid).or_default().push(ContainerMetrics { name, cpu_nanocores, memory: usage.memory });
    }
    pods
}

/// CPU by what was used between two measurements, whose times are the runtime's where it gives them.
fn nanocores(before: Option<CpuTime>, after: CpuTime, elapsed: Duration) -> Option<u64> {
    let used = after.nanoseconds.saturating_sub(before.map_or(0, |before| before.nanoseconds));
    let times = before.and_then(|before| Some((before.at?, after.at?)));
    let nanoseconds = match times {
        Some((from, to)) => to.duration_since(from).as_nanos(),
        None => i128::try_from(elapsed.as_nanos()).unwrap_or(i128::MAX),
    };
    let nanoseconds = u128::try_from(nanoseconds).ok().filter(|length| *length > 0)?;
    u64::try_from(u128::from(used) * 1_000_000_000 / nanoseconds).ok()
}
