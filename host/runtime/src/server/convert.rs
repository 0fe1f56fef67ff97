//! Between the CRI's vocabulary and the runtime's own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use tonic::{Code, Status};
use witlet_proto::cri;
use witlet_wasm::compile::CompileError;

use crate::chain::in_one_line;
use crate::image::{Image, ImageError};
use crate::mounts::{self, MOUNTS_MAX, Mount};
use crate::network::Network;
use crate::pods::{
    ContainerRecord, ContainerSpec, Event, EventKind, Life, PodsError, Resources, SandboxRecord, SandboxSpec,
};
use crate::workload::Exit;

mod stats;

pub(super) use stats::{container_stats, sandbox_stats, selects_container_stats, selects_sandbox_stats};

/// The handler names that a pod may ask for: none, or this.
pub(super) const HANDLER: &str = "wasi";

fn missing(field: &str) -> Status {
    Status::invalid_argument(format!("{field} is missing"))
}

/// Returns what a sandbox is asked for. What can't be had is refused, not left out.
pub(super) fn sandbox_spec(request: cri::RunPodSandboxRequest) -> Result<SandboxSpec, Status> {
    let cri::RunPodSandboxRequest { config, runtime_handler } = request;
    if !runtime_handler.is_empty() && runtime_handler != HANDLER {
        let words = format!("runtime handler {runtime_handler:?} is unknown here: there is {HANDLER:?}");
        return Err(Status::invalid_argument(words));
    }
    let config = config.ok_or_else(|| missing("config"))?;
    let metadata = config.metadata.ok_or_else(|| missing("config.metadata"))?;
    let options = config.linux.and_then(|linux| linux.security_context?.namespace_options);
    let host_network = options.is_some_and(|options| options.network() == cri::NamespaceMode::Node);
    if let Some(port) = config.port_mappings.iter().find(|port| port.host_port != 0 && !host_network) {
        let words = format!(
            "host port {} can't be had: the embedded runtime's pods are reached at their own addresses",
            port.host_port
        );
        return Err(Status::invalid_argument(words));
    }
    Ok(SandboxSpec {
        name: metadata.name,
        uid: metadata.uid,
        namespace: metadata.namespace,
        attempt: metadata.attempt,
        hostname: config.hostname,
        log_directory: PathBuf::from(config.log_directory),
        labels: config.labels,
        annotations: config.annotations,
        host_network,
        runtime_handler,
    })
}

/// Returns what a container is asked for.
pub(super) fn container_spec(config: Option<cri::ContainerConfig>) -> Result<ContainerSpec, Status> {
    let config = config.ok_or_else(|| missing("config"))?;
    let metadata = config.metadata.ok_or_else(|| missing("config.metadata"))?;
    let image = config.image.ok_or_else(|| missing("config.image"))?;
    let log_path = PathBuf::from(&config.log_path);
    if log_path.is_absolute() || log_path.components().any(|part| part == std::path::Component::ParentDir) {
        let words = format!("log_path {:?} leads out of the sandbox's log_directory", config.log_path);
        return Err(Status::invalid_argument(words));
    }
    if let Some(device) = config.devices.first() {
        let words =
            format!("device {:?} can't be had: WebAssembly programs have no devices", device.host_path);
        return Err(Status::invalid_argument(words));
    }
    if config.mounts.len() > MOUNTS_MAX {
        return Err(Status::invalid_argument(format!("there are more than {MOUNTS_MAX} mounts")));
    }
    let mounts = config.mounts.into_iter().map(mount).collect::<Result<_, _>>()?;
    let linux = config.linux.and_then(|linux| linux.resources).unwrap_or_default();
    Ok(ContainerSpec {
        name: metadata.name,
        attempt: metadata.attempt,
        image: image.image,
        user_image: image.user_specified_image,
        command: config.command,
        arguments: config.args,
        working_dir: config.working_dir,
        environment: config.envs.into_iter().map(|pair| (pair.key, pair.value)).collect(),
        mounts,
        labels: config.labels,
        annotations: config.annotations,
        log_path,
        resources: resources(&linux),
    })
}

fn mount(mount: cri::Mount) -> Result<Mount, Status> {
    if mount.image.is_some() || !mount.image_sub_path.is_empty() {
        let words = format!("{}: images can't be mounted here: they are components", mount.container_path);
        return Err(Status::invalid_argument(words));
    }
    mounts::guest_path(&mount.container_path)
        .map_err(|error| Status::invalid_argument(in_one_line(&error)))?;
    Ok(Mount {
        host_path: PathBuf::from(mount.host_path),
        container_path: mount.container_path,
        read_only: mount.readonly,
        recursive_read_only: mount.recursive_read_only,
    })
}

/// Returns what a container may take, or what is changed about it.
pub(super) fn resources(linux: &cri::LinuxContainerResources) -> Resources {
    Resources {
        memory_limit_bytes: linux.memory_limit_in_bytes,
        cpu_shares: linux.cpu_shares,
        cpu_quota: linux.cpu_quota,
        cpu_period: linux.cpu_period,
        oom_score_adj: linux.oom_score_adj,
    }
}

fn container_resources(resources: &Resources) -> cri::ContainerResources {
    let Resources { memory_limit_bytes, cpu_shares, cpu_quota, cpu_period, oom_score_adj } = *resources;
    let linux = cri::LinuxContainerResources {
        memory_limit_in_bytes: memory_limit_bytes,
        cpu_shares,
        cpu_quota,
        cpu_period,
        oom_score_adj,
        ..Default::default()
    };
    cri::ContainerResources { linux: Some(linux), windows: None }
}

/// Nanoseconds since 1970, as the CRI counts time.
pub(super) fn nanoseconds(time: Timestamp) -> i64 {
    i64::try_from(time.as_nanosecond()).unwrap_or(i64::MAX)
}

fn sandbox_state(record: &SandboxRecord) -> cri::PodSandboxState {
    if record.ready { cri::PodSandboxState::SandboxReady } else { cri::PodSandboxState::SandboxNotready }
}

fn sandbox_metadata(record: &SandboxRecord) -> cri::PodSandboxMetadata {
    let SandboxSpec { name, uid, namespace, attempt, .. } = record.config.clone();
    cri::PodSandboxMetadata { name, uid, namespace, attempt }
}

/// A sandbox in a list.
pub(super) fn sandbox(record: &SandboxRecord) -> cri::PodSandbox {
    cri::PodSandbox {
        id: record.id.clone(),
        metadata: Some(sandbox_metadata(record)),
        state: sandbox_state(record).into(),
        created_at: nanoseconds(record.created_at),
        labels: record.config.labels.clone(),
        annotations: record.config.annotations.clone(),
        runtime_handler: record.config.runtime_handler.clone(),
    }
}

/// A sandbox in detail. A stopped one has given its address up.
pub(super) fn sandbox_status(record: &SandboxRecord) -> cri::PodSandboxStatus {
    let address = record.network.address().filter(|_| record.ready);
    let network_mode = match record.network {
        Network::Pod(_) => cri::NamespaceMode::Pod,
        Network::Host => cri::NamespaceMode::Node,
    };
    let options = cri::NamespaceOption { network: network_mode.into(), ..Default::default() };
    cri::PodSandboxStatus {
        id: record.id.clone(),
        metadata: Some(sandbox_metadata(record)),
        state: sandbox_state(record).into(),
        created_at: nanoseconds(record.created_at),
        network: Some(cri::PodSandboxNetworkStatus {
            ip: address.map(|address| address.to_string()).unwrap_or_default(),
            additional_ips: Vec::new(),
        }),
        linux: Some(cri::LinuxPodSandboxStatus {
            namespaces: Some(cri::Namespace { options: Some(options) }),
        }),
        labels: record.config.labels.clone(),
        annotations: record.config.annotations.clone(),
        runtime_handler: record.config.runtime_handler.clone(),
    }
}

fn container_state(life: &Life) -> cri::ContainerState {
    match life {
        Life::Created => cri::ContainerState::ContainerCreated,
        Life::Running { .. } => cri::ContainerState::ContainerRunning,
        Life::Exited { .. } => cri::ContainerState::ContainerExited,
    }
}

fn image_spec(image: &str) -> cri::ImageSpec {
    cri::ImageSpec { image: image.to_owned(), user_specified_image: image.to_owned(), ..Default::default() }
}

fn container_metadata(record: &ContainerRecord) -> cri::ContainerMetadata {
    cri::ContainerMetadata { name: record.config.name.clone(), attempt: record.config.attempt }
}

/// A container in a list.
pub(super) fn container(record: &ContainerRecord) -> cri::Container {
    cri::Container {
        id: record.id.clone(),
        pod_sandbox_id: record.sandbox_id.clone(),
        metadata: Some(container_metadata(record)),
        image: Some(image_spec(record.config.named_image())),
        image_ref: record.image_id.clone(),
        state: container_state(&record.life).into(),
        created_at: nanoseconds(record.created_at),
        labels: record.config.labels.clone(),
        annotations: record.config.annotations.clone(),
        image_id: record.image_id.clone(),
    }
}

/// A container in detail.
pub(super) fn container_status(record: &ContainerRecord) -> cri::ContainerStatus {
    let (started_at, finished_at, exit) = match &record.life {
        Life::Created => (None, None, None),
        Life::Running { started_at } => (Some(*started_at), None, None),
        Life::Exited { started_at, finished_at, exit } => {
            (*started_at, Some(*finished_at), Some(exit.clone()))
        }
    };
    let time = |time: Option<Timestamp>| time.map(nanoseconds).unwrap_or_default();
    let reason = exit.as_ref().map(|exit| exit.reason.name().to_owned()).unwrap_or_default();
    let Exit { code, message, .. } = exit.unwrap_or_else(|| Exit::left(0));
    let mount = |mount: &Mount| cri::Mount {
        container_path: mount.container_path.clone(),
        host_path: mount.host_path.to_string_lossy().into_owned(),
        readonly: mount.read_only,
        recursive_read_only: mount.recursive_read_only,
        ..Default::default()
    };
    cri::ContainerStatus {
        id: record.id.clone(),
        metadata: Some(container_metadata(record)),
        state: container_state(&record.life).into(),
        created_at: nanoseconds(record.created_at),
        started_at: time(started_at),
        finished_at: time(finished_at),
        exit_code: code,
        image: Some(image_spec(record.config.named_image())),
        image_ref: record.image_id.clone(),
        reason,
        message,
        labels: record.config.labels.clone(),
        annotations: record.config.annotations.clone(),
        mounts: record.config.mounts.iter().map(mount).collect(),
        log_path: record.log.as_deref().map(path_text).unwrap_or_default(),
        resources: Some(container_resources(&record.config.resources)),
        image_id: record.image_id.clone(),
        user: None,
        stop_signal: cri::Signal::RuntimeDefault.into(),
    }
}

/// Something that happened, with how its sandbox is afterwards.
pub(super) fn event(event: &Event) -> cri::ContainerEventResponse {
    let kind = match event.kind {
        EventKind::Created => cri::ContainerEventType::ContainerCreatedEvent,
        EventKind::Started => cri::ContainerEventType::ContainerStartedEvent,
        EventKind::Stopped => cri::ContainerEventType::ContainerStoppedEvent,
        EventKind::Deleted => cri::ContainerEventType::ContainerDeletedEvent,
    };
    cri::ContainerEventResponse {
        container_id: event.id.clone(),
        container_event_type: kind.into(),
        created_at: nanoseconds(event.at),
        pod_sandbox_status: event.sandbox.as_ref().map(sandbox_status),
        containers_statuses: event.containers.iter().map(container_status).collect(),
    }
}

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The images of one identifier: the same component may have been pulled by several references.
pub(super) fn image(id: &str, pulled: &[Image]) -> cri::Image {
    cri::Image {
        id: id.to_owned(),
        repo_tags: pulled.iter().map(|image| image.reference.clone()).collect(),
        repo_digests: pulled.iter().map(|image| format!("{}@{id}", image.reference)).collect(),
        size: pulled.first().map(|image| image.size_bytes).unwrap_or_default(),
        uid: None,
        username: String::new(),
        spec: pulled.first().map(|image| image_spec(&image.reference)),
        pinned: false,
    }
}

fn has_labels(labels: &BTreeMap<String, String>, selector: &BTreeMap<String, String>) -> bool {
    selector.iter().all(|(name, value)| labels.get(name) == Some(value))
}

/// Whether a filter lets a sandbox through; an empty field lets all through.
pub(super) fn selects_sandbox(filter: Option<&cri::PodSandboxFilter>, record: &SandboxRecord) -> bool {
    filter.is_none_or(|filter| {
        (filter.id.is_empty() || filter.id == record.id)
            && filter.state.is_none_or(|state| state.state() == sandbox_state(record))
            && has_labels(&record.config.labels, &filter.label_selector)
    })
}

/// Whether a filter lets a container through; an empty field lets all through.
pub(super) fn selects_container(filter: Option<&cri::ContainerFilter>, record: &ContainerRecord) -> bool {
    filter.is_none_or(|filter| {
        (filter.id.is_empty() || filter.id == record.id)
            && (filter.pod_sandbox_id.is_empty() || filter.pod_sandbox_id == record.sandbox_id)
            && filter.state.is_none_or(|state| state.state() == container_state(&record.life))
            && has_labels(&record.config.labels, &filter.label_selector)
    })
}

fn image_code(error: &ImageError) -> Code {
    match error {
        ImageError::Missing { .. } | ImageError::Absent { .. } => Code::NotFound,
        ImageError::Reference(_)
        | ImageError::Escape { .. }
        | ImageError::NotRegular { .. }
        | ImageError::TooLarge { .. }
        | ImageError::Program { .. }
        | ImageError::Needs { .. } => Code::InvalidArgument,
        ImageError::Damaged { .. } => Code::DataLoss,
        ImageError::Compile { cause, .. } => compile_code(cause),
        ImageError::TooMany => Code::ResourceExhausted,
        ImageError::Read { .. } | ImageError::Keep { .. } => Code::Internal,
        ImageError::Ending => Code::Unavailable,
    }
}

fn compile_code(error: &CompileError) -> Code {
    match error {
        CompileError::TooLarge { .. }
        | CompileError::NotAComponent { .. }
        | CompileError::Invalid { .. }
        | CompileError::Timeout { .. }
        | CompileError::OutOfMemory { .. }
        | CompileError::OutputTooLarge { .. } => Code::InvalidArgument,
        CompileError::Late { .. }
        | CompileError::Stalled { .. }
        | CompileError::Failed { .. }
        | CompileError::Child { .. }
        | CompileError::Cache(_)
        | CompileError::Unfit { .. } => Code::Internal,
        CompileError::Ending => Code::Unavailable,
    }
}

/// Returns what a client receives about a failure with an image.
pub(super) fn image_status(error: &ImageError) -> Status {
    Status::new(image_code(error), in_one_line(error))
}

/// Returns what a client receives about a failure with a sandbox or a container.
pub(super) fn pods_status(error: &PodsError) -> Status {
    let code = match error {
        PodsError::NoSandbox { .. } | PodsError::NoContainer { .. } => Code::NotFound,
        PodsError::SandboxNotReady { .. }
        | PodsError::NotCreated { .. }
        | PodsError::NotRunning { .. }
        | PodsError::NoCommand { .. }
        | PodsError::Memory { .. } => Code::FailedPrecondition,
        PodsError::NameTaken { .. } => Code::AlreadyExists,
        PodsError::TooManySandboxes
        | PodsError::TooManyContainers
        | PodsError::TooManyCommands { .. }
        | PodsError::TooManyListeners
        | PodsError::Address(_) => Code::ResourceExhausted,
        PodsError::Image(cause) => image_code(cause),
        PodsError::State(_) | PodsError::Log { .. } => Code::Internal,
        PodsError::DoesNotEnd { .. } | PodsError::CommandTooLong { .. } => Code::DeadlineExceeded,
    };
    Status::new(code, in_one_line(error))
}

/// Returns what a client receives when the state can't be kept.
pub(super) fn state_status(error: &crate::state::StateError) -> Status {
    Status::internal(in_one_line(error))
}

#[cfg(test)]
mod tests;
