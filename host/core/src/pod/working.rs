//! Pods that the agent works on, as monitoring counts them (upstream: `kubelet_working_pods`).

use super::worker::{Origin, Worker};

#[cfg(test)]
mod tests;

/// What pods are counted by, in the words of the labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkingPod {
    /// How far the pod's worker has come.
    pub lifecycle: &'static str,
    /// Who wants the pod.
    pub config: &'static str,
    /// Whether it is a static one.
    pub is_static: &'static str,
}

const LIFECYCLES: [&str; 3] = ["sync", "terminating", "terminated"];
const CONFIGS: [(&str, &str); 5] =
    [("desired", ""), ("desired", "true"), ("orphan", ""), ("orphan", "true"), ("runtime_only", "unknown")];

impl WorkingPod {
    /// A pod with this worker.
    pub fn of(worker: &Worker, has_source: bool, is_static: bool) -> Self {
        let [sync, terminating, terminated] = LIFECYCLES;
        let lifecycle = match (worker.is_terminated(), worker.is_terminating()) {
            (true, _) => terminated,
            (false, true) => terminating,
            (false, false) => sync,
        };
        let (config, is_static) = match (worker.origin(), has_source, is_static) {
            (Origin::RuntimeOnly, ..) => ("runtime_only", "unknown"),
            (Origin::Source, true, false) => ("desired", ""),
            (Origin::Source, true, true) => ("desired", "true"),
            (Origin::Source, false, false) => ("orphan", ""),
            (Origin::Source, false, true) => ("orphan", "true"),
        };
        Self { lifecycle, config, is_static }
    }

    /// Returns all combinations that there may be.
    pub fn all() -> impl Iterator<Item = Self> {
        LIFECYCLES.into_iter().flat_map(|lifecycle| {
            CONFIGS.into_iter().map(move |(config, is_static)| Self { lifecycle, config, is_static })
        })
    }
}
