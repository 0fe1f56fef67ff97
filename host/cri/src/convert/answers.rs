//! From the CRI's words to ours. Answers are foreign input: what the CRI doesn't allow is `Malformed`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use jiff::Timestamp;
use witlet_core::pod::PodUid;
use witlet_core::runtime::{
    CgroupDriver, ContainerRunState, ContainerUser, ExecOutput, ImageInfo, LinuxResources, ListedContainer,
    ListedSandbox, Mount, MountPropagation, NamespaceMode, ObservedContainer, ObservedPod, ObservedSandbox,
    RuntimeCondition, RuntimeEvent, RuntimeHandler, RuntimePod, RuntimeStatus, RuntimeVersion, SandboxState,
    labels,
};
use witlet_ports::RuntimeError;
use witlet_proto::cri;

use crate::convert::signal;

type Labels = BTreeMap<String, String>;

fn malformed(call: &'static str, message: impl Into<String>) -> RuntimeError {
    RuntimeError::Malformed { call, message: message.into() }
}

/// An id or a reference that a call must return.
pub(crate) fn id<T: From<String>>(call: &'static str, id: String) -> Result<T, RuntimeError> {
    if id.is_empty() { Err(malformed(call, "the id is empty")) } else { Ok(T::from(id)) }
}

fn time(nanoseconds: i64) -> Timestamp {
    Timestamp::from_nanosecond(nanoseconds.into()).expect("64 bits of nanoseconds reach from 1677 to 2262")
}

/// Things that didn't happen have 0, and older runtimes a time before 1970.
fn time_of_event(nanoseconds: i64) -> Option<Timestamp> {
    (nanoseconds > 0).then(|| time(nanoseconds))
}

fn sandbox_state(state: i32) -> SandboxState {
    match cri::PodSandboxState::try_from(state) {
        Ok(cri::PodSandboxState::SandboxReady) => SandboxState::Ready,
        Ok(cri::PodSandboxState::SandboxNotready) | Err(_) => SandboxState::NotReady,
    }
}

fn container_state(state: i32) -> ContainerRunState {
    match cri::ContainerState::try_from(state) {
        Ok(cri::ContainerState::ContainerCreated) => ContainerRunState::Created,
        Ok(cri::ContainerState::ContainerRunning) => ContainerRunState::Running,
        Ok(cri::ContainerState::ContainerExited) => ContainerRunState::Exited,
        Ok(cri::ContainerState::ContainerUnknown) | Err(_) => ContainerRunState::Unknown,
    }
}

/// A container's namespace of its own is never a sandbox's, and no pod targets another's, so what we didn't ask for
/// counts as the pod's.
fn network_mode(mode: i32) -> NamespaceMode {
    match cri::NamespaceMode::try_from(mode) {
        Ok(cri::NamespaceMode::Node) => NamespaceMode::Node,
        Ok(cri::NamespaceMode::Container) => NamespaceMode::Container,
        Ok(cri::NamespaceMode::Pod | cri::NamespaceMode::Target) | Err(_) => NamespaceMode::Pod,
    }
}

fn label<'a>(labels: &'a Labels, key: &str) -> &'a str {
    labels.get(key).map_or("", String::as_str)
}

/// The pod that these labels name, if they are the Kubernetes ones.
fn pod_of(labels: &Labels) -> Option<(PodUid, &str, &str)> {
    let uid = label(labels, labels::POD_UID);
    let name = label(labels, labels::POD_NAME);
    let namespace = label(labels, labels::POD_NAMESPACE);
    (!uid.is_empty()).then(|| (PodUid::from(uid), name, namespace))
}

/// Returns `None` for what has no id or no metadata: nothing can be done with it.
fn listed_sandbox(sandbox: &cri::PodSandbox) -> Option<ListedSandbox> {
    let metadata = sandbox.metadata.as_ref()?;
    Some(ListedSandbox {
        id: id("ListPodSandbox", sandbox.id.clone()).ok()?,
        attempt: metadata.attempt,
        state: sandbox_state(sandbox.state),
        created_at: time(sandbox.created_at),
    })
}

fn container_name(labels: &Labels, metadata: Option<&cri::ContainerMetadata>) -> String {
    match labels.get(labels::CONTAINER_NAME) {
        Some(name) => name.clone(),
        None => metadata.map(|m| m.name.clone()).unwrap_or_default(),
    }
}

/// Returns `None` for what has no id: nothing can be done with it.
fn listed_container(container: &cri::Container) -> Option<ListedContainer> {
    Some(ListedContainer {
        id: id("ListContainers", container.id.clone()).ok()?,
        name: container_name(&container.labels, container.metadata.as_ref()),
        // One that names no sandbox is in none that is listed.
        sandbox_id: container.pod_sandbox_id.as_str().into(),
        state: container_state(container.state),
        created_at: time(container.created_at),
    })
}

/// Lists become pods, ordered by UID; what has no Kubernetes labels isn't ours. An item that makes no sense is left
/// out, as upstream does: it must not hide all other pods.
pub(crate) fn group_by_pod(
    sandboxes: Vec<cri::PodSandbox>,
    containers: Vec<cri::Container>,
) -> Vec<RuntimePod> {
    let mut pods = BTreeMap::new();
    for sandbox in &sandboxes {
        if let Some(pod) = pod_of(&sandbox.labels) {
            match listed_sandbox(sandbox) {
                Some(listed) => entry(&mut pods, pod).sandboxes.push(listed),
                None => tracing::debug!(pod_uid = %pod.0, "Ignored a listed sandbox without ID or metadata"),
            }
        }
    }
    for container in &containers {
        if let Some(pod) = pod_of(&container.labels) {
            match listed_container(container) {
                Some(listed) => entry(&mut pods, pod).containers.push(listed),
                None => tracing::debug!(pod_uid = %pod.0, "Ignored a listed container without ID"),
            }
        }
    }
    let mut pods: Vec<RuntimePod> = pods.into_values().collect();
    for pod in &mut pods {
        pod.sandboxes.sort_by(|a, b| (b.created_at, b.attempt, &b.id).cmp(&(a.created_at, a.attempt, &a.id)));
        pod.containers.sort_by(|a, b| (b.created_at, &b.id).cmp(&(a.created_at, &a.id)));
    }
    pods
}

fn entry<'a>(
    pods: &'a mut BTreeMap<PodUid, RuntimePod>,
    (uid, name, namespace): (PodUid, &str, &str),
) -> &'a mut RuntimePod {
    pods.entry(uid.clone()).or_insert_with(|| RuntimePod {
        uid,
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        sandboxes: Vec::new(),
        containers: Vec::new(),
    })
}

/// Name and namespace of the pod that these were listed for; empty if nothing was.
pub(crate) fn pod_names(sandboxes: &[cri::PodSandbox], containers: &[cri::Container]) -> (String, String) {
    let mut labels = sandboxes.iter().map(|s| &s.labels).chain(containers.iter().map(|c| &c.labels));
    labels
        .find_map(pod_of)
        .map_or_else(Default::default, |(_, name, namespace)| (name.to_owned(), namespace.to_owned()))
}

/// Orders newest first, and takes the newest sandbox's addresses if it is ready: those of a stopped sandbox may
/// belong to another pod by now (`kuberuntime_manager.go`).
pub(crate) fn observed_pod(mut pod: ObservedPod) -> ObservedPod {
    pod.sandboxes.sort_by(|a, b| (b.created_at, b.attempt, &b.id).cmp(&(a.created_at, a.attempt, &a.id)));
    pod.containers
        .sort_by(|a, b| (b.created_at, b.restart_count, &b.id).cmp(&(a.created_at, a.restart_count, &a.id)));
    // Kept for every pod, until the next check.
    pod.sandboxes.shrink_to_fit();
    pod.containers.shrink_to_fit();
    pod.ips = match pod.sandboxes.first() {
        Some(newest) if newest.state == SandboxState::Ready => newest.ips.clone(),
        Some(_) | None => Vec::new(),
    };
    pod
}

/// A sandbox in detail.
pub(crate) fn observed_sandbox(
    answer: cri::PodSandboxStatusResponse,
) -> Result<ObservedSandbox, RuntimeError> {
    let call = "PodSandboxStatus";
    let status = answer.status.ok_or_else(|| malformed(call, "the status is missing"))?;
    let metadata = status.metadata.ok_or_else(|| malformed(call, "the metadata is missing"))?;
    let network = status
        .linux
        .and_then(|linux| linux.namespaces)
        .and_then(|namespaces| namespaces.options)
        .map_or(NamespaceMode::Pod, |options| network_mode(options.network));
    let ips = match (network, status.network) {
        (NamespaceMode::Pod | NamespaceMode::Container, Some(network)) => {
            let others = network.additional_ips.into_iter().map(|other| other.ip);
            std::iter::once(network.ip)
                .chain(others)
                .filter(|ip| !ip.is_empty())
                .map(|ip| ip.parse().map_err(|_| malformed(call, format!("{ip:?} is not an IP address"))))
                .collect::<Result<Vec<IpAddr>, _>>()?
        }
        (NamespaceMode::Node, _) | (_, None) => Vec::new(),
    };
    Ok(ObservedSandbox {
        id: id(call, status.id)?,
        attempt: metadata.attempt,
        state: sandbox_state(status.state),
        created_at: time(status.created_at),
        network,
        ips,
    })
}

/// A container in detail; the status doesn't say which sandbox it is in, the list did.
pub(crate) fn observed_container(
    answer: cri::ContainerStatusResponse,
    sandbox_id: &str,
) -> Result<ObservedContainer, RuntimeError> {
    let call = "ContainerStatus";
    let status = answer.status.ok_or_else(|| malformed(call, "the status is missing"))?;
    let attempt = status.metadata.as_ref().map_or(0, |metadata| metadata.attempt);
    let annotation = |key: &str| status.annotations.get(key);
    let image = status.image.unwrap_or_default();
    Ok(ObservedContainer {
        sandbox_id: (!sandbox_id.is_empty()).then(|| sandbox_id.into()),
        started_at: time_of_event(status.started_at),
        finished_at: time_of_event(status.finished_at),
        exit_code: status.exit_code,
        image: if image.user_specified_image.is_empty() { image.image } else { image.user_specified_image },
        image_id: if status.image_ref.is_empty() { status.image_id } else { status.image_ref },
        spec_hash: labels::spec_hash(|key| annotation(key).cloned()),
        cgroup_parent: labels::cgroup_parent(|key| annotation(key).cloned()),
        restart_count: annotation(labels::CONTAINER_RESTART_COUNT)
            .and_then(|count| count.parse().ok())
            .unwrap_or(attempt),
        termination_grace_seconds: annotation(labels::POD_TERMINATION_GRACE_PERIOD)
            .and_then(|seconds| seconds.parse().ok()),
        termination_message_path: annotation(labels::TERMINATION_MESSAGE_PATH).cloned(),
        termination_message_policy: annotation(labels::TERMINATION_MESSAGE_POLICY).cloned(),
        ports: annotation(labels::CONTAINER_PORTS).cloned(),
        pre_stop: annotation(labels::PRE_STOP_HANDLER).cloned(),
        reason: status.reason,
        message: status.message,
        log_path: status.log_path,
        mounts: status.mounts.into_iter().map(mount).collect(),
        resources: status.resources.and_then(|resources| resources.linux).map(linux_resources),
        user: status.user.and_then(|user| user.linux).map(container_user),
        stop_signal: signal::name_of(status.stop_signal),
        ..ObservedContainer::new(
            id(call, status.id)?,
            container_name(&status.labels, status.metadata.as_ref()),
            container_state(status.state),
            time(status.created_at),
        )
    })
}

fn mount(mount: cri::Mount) -> Mount {
    let propagation = match cri::MountPropagation::try_from(mount.propagation) {
        Ok(cri::MountPropagation::PropagationHostToContainer) => MountPropagation::HostToContainer,
        Ok(cri::MountPropagation::PropagationBidirectional) => MountPropagation::Bidirectional,
        Ok(cri::MountPropagation::PropagationPrivate) | Err(_) => MountPropagation::Private,
    };
    Mount {
        container_path: mount.container_path.into(),
        host_path: mount.host_path.into(),
        read_only: mount.readonly,
        recursive_read_only: mount.recursive_read_only,
        propagation,
        selinux_relabel: mount.selinux_relabel,
    }
}

fn linux_resources(resources: cri::LinuxContainerResources) -> LinuxResources {
    LinuxResources {
        cpu_shares: resources.cpu_shares,
        cpu_quota_us: resources.cpu_quota,
        cpu_period_us: resources.cpu_period,
        memory_limit_bytes: resources.memory_limit_in_bytes,
        oom_score_adj: resources.oom_score_adj,
        memory_swap_limit_bytes: resources.memory_swap_limit_in_bytes,
        hugepage_limits: resources
            .hugepage_limits
            .into_iter()
            .map(|one| (one.page_size, one.limit))
            .collect(),
        unified: resources.unified,
    }
}

fn container_user(user: cri::LinuxContainerUser) -> ContainerUser {
    ContainerUser { uid: user.uid, gid: user.gid, supplemental_groups: user.supplemental_groups }
}

/// Who the runtime is.
pub(crate) fn runtime_version(answer: cri::VersionResponse) -> RuntimeVersion {
    RuntimeVersion {
        runtime_name: answer.runtime_name,
        runtime_version: answer.runtime_version,
        api_version: answer.runtime_api_version,
    }
}

/// How the runtime is.
pub(crate) fn runtime_status(answer: cri::StatusResponse) -> Result<RuntimeStatus, RuntimeError> {
    let status = answer.status.ok_or_else(|| malformed("Status", "the status is missing"))?;
    let conditions = status
        .conditions
        .into_iter()
        .map(|condition| RuntimeCondition {
            kind: condition.r#type,
            status: condition.status,
            reason: condition.reason,
            message: condition.message,
        })
        .collect();
    let handlers = answer.runtime_handlers.into_iter().map(runtime_handler).collect();
    let supplemental_groups_policy =
        answer.features.is_some_and(|features| features.supplemental_groups_policy);
    Ok(RuntimeStatus { conditions, handlers, supplemental_groups_policy })
}

fn runtime_handler(handler: cri::RuntimeHandler) -> RuntimeHandler {
    let features = handler.features.unwrap_or_default();
    RuntimeHandler {
        name: handler.name,
        recursive_read_only_mounts: features.recursive_read_only_mounts,
        user_namespaces: features.user_namespaces,
    }
}

/// Who makes cgroups, if the runtime says so.
pub(crate) fn cgroup_driver(answer: cri::RuntimeConfigResponse) -> Option<CgroupDriver> {
    let driver = answer.linux?.cgroup_driver;
    match cri::CgroupDriver::try_from(driver).ok()? {
        cri::CgroupDriver::Systemd => Some(CgroupDriver::Systemd),
        cri::CgroupDriver::Cgroupfs => Some(CgroupDriver::Cgroupfs),
    }
}

/// Returns what a command gave.
pub(crate) fn exec_output(answer: cri::ExecSyncResponse) -> ExecOutput {
    ExecOutput { stdout: answer.stdout, stderr: answer.stderr, exit_code: answer.exit_code }
}

/// The process that a container began as: runtimes say it in JSON next to the status (`info` of a verbose answer), which the CRI
/// leaves to them. containerd and CRI-O have `pid` there.
pub(crate) fn process(status: &cri::ContainerStatusResponse) -> Option<u32> {
    let info: serde_json::Value = serde_json::from_str(status.info.get("info")?).ok()?;
    u32::try_from(info.get("pid")?.as_u64()?).ok().filter(|pid| *pid > 0)
}

/// Something that happened.
pub(crate) fn runtime_event(event: cri::ContainerEventResponse) -> RuntimeEvent {
    let metadata = event.pod_sandbox_status.and_then(|status| status.metadata);
    let uid = metadata.map(|metadata| metadata.uid).filter(|uid| !uid.is_empty());
    RuntimeEvent { uid: uid.map(PodUid::from), id: event.container_id }
}

/// An image that the runtime has.
pub(crate) fn image_info(image: cri::Image) -> Result<ImageInfo, RuntimeError> {
    Ok(ImageInfo {
        id: id("ImageStatus", image.id)?,
        repo_tags: image.repo_tags,
        repo_digests: image.repo_digests,
        size_bytes: image.size,
        uid: image.uid.map(|uid| uid.value),
        username: image.username,
        pinned: image.pinned,
    })
}

#[cfg(test)]
mod tests;
