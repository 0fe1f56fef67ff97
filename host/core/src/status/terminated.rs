//! Containers that ended between two statuses of a pod (upstream: `kubelet_terminated_containers_total`).

use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStatus, PodStatus};

#[cfg(test)]
mod tests;

/// The end of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Termination {
    /// Which kind of container: `init_container`, `container` or `ephemeral_container`.
    pub container_type: &'static str,
    pub exit_code: i32,
    /// Why it ended, in the word of its status; may be empty.
    pub reason: String,
}

/// Containers of one kind in a status.
type ContainersOf = fn(&PodStatus) -> &Option<Vec<ContainerStatus>>;

/// The containers that have ended in the newer status, and had not in the older one. A container that has run again in between isn't seen.
pub fn terminations(old: Option<&PodStatus>, new: &PodStatus) -> Vec<Termination> {
    let kinds: [(&'static str, ContainersOf); 3] = [
        ("init_container", |status| &status.init_container_statuses),
        ("container", |status| &status.container_statuses),
        ("ephemeral_container", |status| &status.ephemeral_container_statuses),
    ];
    let mut all = Vec::new();
    for (container_type, of) in kinds {
        let known = |name: &str| old.and_then(|old| of(old).iter().flatten().find(|one| one.name == name));
        for container in of(new).iter().flatten() {
            let Some(ended) = ended(container) else { continue };
            if known(&container.name).and_then(self::ended).is_none() {
                let reason = ended.reason.clone().unwrap_or_default();
                all.push(Termination { container_type, exit_code: ended.exit_code, reason });
            }
        }
    }
    all
}

fn ended(container: &ContainerStatus) -> Option<&ContainerStateTerminated> {
    container.state.as_ref()?.terminated.as_ref()
}
