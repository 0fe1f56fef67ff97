//! What the runtime is asked to make of a pod: its sandbox and its containers, from the spec and the node's facts.
//!
//! Rules of the kubelet's `kuberuntime` (`generatePodSandboxConfig`, `generateContainerConfig`). An error here is the
//! waiting reason `CreateContainerConfigError`, or `CreatePodSandboxError` for a sandbox.

mod cgroup;
mod env;
pub mod env_file;
mod error;
#[cfg(test)]
mod fixtures;
mod input;
mod linux;
mod sandbox;
mod security;
mod services;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Pod;
use serde::Serialize;

use crate::container::hash::{container_hash, kubelet_hash};
use crate::runtime::{ContainerSpec, labels};

pub use crate::network::hostname::HOSTNAME_BYTES_MAX;
pub use cgroup::PodCgroups;
pub use env::{EnvFileProblem, TooLong, env_files, expand as expand_variables};
pub use error::SpecError;
pub use input::{ContainerInput, Host, ImageFacts, Objects, SandboxInput};
pub use linux::{SwapBehavior, oom_score_adj, sandbox_resources, swap_behavior};
pub use sandbox::sandbox_spec;
pub use security::{EffectiveSecurity, apparmor};
pub use services::{MASTER_NAMESPACE, ServiceAddress, ServicePort, service_variables};

/// One container in its pod's sandbox.
///
/// # Errors
/// A field of the container, or an object that it refers to, can't be made part of a container; the error names it.
pub fn container_spec(input: ContainerInput<'_>) -> Result<ContainerSpec, SpecError> {
    let ContainerInput { pod, container, restart_count, image, .. } = input;
    if container.volume_devices.as_ref().is_some_and(|devices| !devices.is_empty()) {
        return Err(SpecError::Unsupported {
            field: format!("volumeDevices of container {}", container.name),
        });
    }
    let env = env::environment(input)?;
    let values: HashMap<&str, &str> =
        env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let mut left =
        env::ALL_BYTES_MAX - env.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
    let mut expand = |what: &str, texts: &Option<Vec<String>>| -> Result<Vec<String>, SpecError> {
        let mut expanded = Vec::new();
        for text in texts.iter().flatten() {
            let text = env::expand(text, |name| values.get(name).copied()).map_err(|TooLong| {
                SpecError::TooLong { container: container.name.clone(), text: what.to_owned() }
            })?;
            let too_much = || SpecError::TooMuch { container: container.name.clone() };
            left = left.checked_sub(text.len()).ok_or_else(too_much)?;
            expanded.push(text);
        }
        Ok(expanded)
    };
    let (command, args) = (expand("command", &container.command)?, expand("args", &container.args)?);
    let mut container_labels = BTreeMap::from(pod_labels(pod));
    container_labels.insert(labels::CONTAINER_NAME.to_owned(), container.name.clone());
    let lifecycle = container.lifecycle.as_ref();
    Ok(ContainerSpec {
        name: container.name.clone(),
        attempt: restart_count,
        image: image.reference.to_owned(),
        user_specified_image: container.image.clone().unwrap_or_default(),
        command,
        args,
        working_dir: container.working_dir.clone().unwrap_or_default(),
        mounts: input.mounts.to_vec(),
        devices: input.devices.to_vec(),
        stop_signal: lifecycle.and_then(|lifecycle| lifecycle.stop_signal.clone()),
        // Where processes are shared, or the host's, there is nothing to be aimed at.
        pid_target: input.pid_target.filter(|_| sandbox::has_own_pids(pod)).cloned(),
        labels: container_labels,
        annotations: container_annotations(input),
        log_path: log_path(&container.name, restart_count),
        stdin: container.stdin.unwrap_or_default(),
        stdin_once: container.stdin_once.unwrap_or_default(),
        tty: container.tty.unwrap_or_default(),
        resources: linux::resources(input)?,
        security: security::of_container(input)?,
        env,
    })
}

/// A container's log relative to its pod's log folder.
pub fn log_path(container: &str, restart_count: u32) -> PathBuf {
    Path::new(container).join(format!("{restart_count}.log"))
}

fn pod_labels(pod: &Pod) -> [(String, String); 3] {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    [
        (labels::POD_NAME.to_owned(), text(&pod.metadata.name)),
        (labels::POD_NAMESPACE.to_owned(), text(&pod.metadata.namespace)),
        (labels::POD_UID.to_owned(), text(&pod.metadata.uid)),
    ]
}

fn container_annotations(input: ContainerInput<'_>) -> BTreeMap<String, String> {
    let ContainerInput { pod, container, restart_count, .. } = input;
    let grace = pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds);
    let ports = container.ports.as_ref().filter(|ports| !ports.is_empty());
    let pre_stop = container.lifecycle.as_ref().and_then(|lifecycle| lifecycle.pre_stop.as_ref());
    let known = [
        (labels::CONTAINER_HASH, Some(kubelet_hash(container))),
        (labels::OWN_CONTAINER_HASH, Some(container_hash(container))),
        (labels::CONTAINER_RESTART_COUNT, Some(restart_count.to_string())),
        (labels::TERMINATION_MESSAGE_PATH, container.termination_message_path.clone()),
        (labels::TERMINATION_MESSAGE_POLICY, container.termination_message_policy.clone()),
        (labels::CONTAINER_PORTS, ports.map(json)),
        (labels::PRE_STOP_HANDLER, pre_stop.map(json)),
        (labels::POD_TERMINATION_GRACE_PERIOD, grace.map(|seconds| seconds.to_string())),
        (labels::OWN_CGROUP_PARENT, cgroup::recorded(pod, input.host)),
    ];
    known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn json(part: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(part).expect("parts of a pod have only text keys, so they always become JSON")
}

#[cfg(test)]
mod tests;
