//! From our words to the CRI's.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use witlet_core::pod::PodUid;
use witlet_core::runtime::{
    AppArmorProfile, ContainerId, ContainerSpec, Device, DnsConfig, IdMapping, ImageAuth, LinuxResources,
    Mount, MountPropagation, NamespaceMode, PortMapping, Protocol, SandboxId, SandboxSpec, SeccompProfile,
    SelinuxLabel, SupplementalGroupsPolicy, UserNamespace, labels,
};
use witlet_ports::RuntimeError;
use witlet_proto::cri;

use crate::convert::masked::MASKED_PATHS;
use crate::convert::signal;

/// Paths under /proc that containers can't write: upstream's list, as the masked ones.
const READONLY_PATHS: [&str; 5] = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

/// The CRI counts a grace in whole seconds; a started second is granted.
pub(crate) fn whole_seconds(grace: Duration) -> i64 {
    let seconds = grace.as_secs().saturating_add(u64::from(grace.subsec_nanos() > 0));
    i64::try_from(seconds).unwrap_or(i64::MAX)
}

/// Selects the sandboxes of one pod.
pub(crate) fn sandboxes_of(uid: &PodUid) -> cri::PodSandboxFilter {
    cri::PodSandboxFilter { label_selector: labelled(uid), ..cri::PodSandboxFilter::default() }
}

/// Selects the containers of one pod.
pub(crate) fn containers_of(uid: &PodUid) -> cri::ContainerFilter {
    cri::ContainerFilter { label_selector: labelled(uid), ..cri::ContainerFilter::default() }
}

fn labelled(uid: &PodUid) -> BTreeMap<String, String> {
    BTreeMap::from([(labels::POD_UID.to_owned(), uid.to_string())])
}

/// An image by the name that a pod gives it. Its runtime's handler stays unnamed, as upstream has it
/// (`RuntimeClassInImageCriApi` is off).
pub(crate) fn image_spec(image: &str) -> cri::ImageSpec {
    cri::ImageSpec {
        image: image.to_owned(),
        user_specified_image: image.to_owned(),
        ..cri::ImageSpec::default()
    }
}

/// An image to fetch for a pod, whose annotations go with it.
pub(crate) fn pull_image(
    image: &str,
    auth: Option<&ImageAuth>,
    sandbox: &SandboxSpec,
) -> cri::PullImageRequest {
    cri::PullImageRequest {
        image: Some(cri::ImageSpec { annotations: sandbox.annotations.clone(), ..image_spec(image) }),
        auth: auth.map(image_auth),
        sandbox_config: Some(sandbox_config(sandbox)),
    }
}

/// A sandbox to run.
pub(crate) fn sandbox_config(config: &SandboxSpec) -> cri::PodSandboxConfig {
    cri::PodSandboxConfig {
        metadata: Some(cri::PodSandboxMetadata {
            name: config.name.clone(),
            uid: config.uid.clone(),
            namespace: config.namespace.clone(),
            attempt: config.attempt,
        }),
        hostname: config.hostname.clone(),
        log_directory: text(&config.log_directory),
        dns_config: config.dns.as_ref().map(dns_config),
        port_mappings: config.port_mappings.iter().map(port_mapping).collect(),
        labels: config.labels.clone(),
        annotations: config.annotations.clone(),
        linux: Some(cri::LinuxPodSandboxConfig {
            cgroup_parent: config.cgroup_parent.clone().unwrap_or_default(),
            security_context: Some(sandbox_security(config)),
            sysctls: config.sysctls.clone(),
            overhead: named_resources(&config.overhead),
            resources: named_resources(&config.resources),
        }),
        windows: None,
    }
}

/// A container to create in that sandbox, whose namespaces it shares. Fails if the CRI has no such stop signal.
pub(crate) fn container_config(
    config: &ContainerSpec,
    sandbox: &SandboxSpec,
) -> Result<cri::ContainerConfig, RuntimeError> {
    let stop_signal = config.stop_signal.as_deref().map_or(Ok(cri::Signal::RuntimeDefault), stop_signal)?;
    let user_namespace = sandbox.user_namespace.as_ref();
    Ok(cri::ContainerConfig {
        metadata: Some(cri::ContainerMetadata { name: config.name.clone(), attempt: config.attempt }),
        image: Some(cri::ImageSpec {
            image: config.image.clone(),
            user_specified_image: config.user_specified_image.clone(),
            ..cri::ImageSpec::default()
        }),
        command: config.command.clone(),
        args: config.args.clone(),
        working_dir: config.working_dir.clone(),
        envs: config
            .env
            .iter()
            .map(|(key, value)| cri::KeyValue { key: key.clone(), value: value.clone() })
            .collect(),
        mounts: config.mounts.iter().map(|one| mount(one, user_namespace)).collect(),
        devices: config.devices.iter().map(device).collect(),
        labels: config.labels.clone(),
        annotations: config.annotations.clone(),
        log_path: text(&config.log_path),
        stdin: config.stdin,
        stdin_once: config.stdin_once,
        tty: config.tty,
        linux: Some(cri::LinuxContainerConfig {
            resources: Some(linux_resources(&config.resources)),
            security_context: Some(container_security(config, sandbox)),
        }),
        windows: None,
        cdi_devices: Vec::new(),
        stop_signal: stop_signal.into(),
    })
}

fn stop_signal(name: &str) -> Result<cri::Signal, RuntimeError> {
    signal::from_name(name)
        .ok_or_else(|| RuntimeError::failed("CreateContainer", format!("unknown stop signal {name:?}")))
}

/// The CRI's strings are UTF-8. Our paths come from flags and manifests, which are too; anything else reaches the
/// runtime visibly altered and fails there.
fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn dns_config(dns: &DnsConfig) -> cri::DnsConfig {
    cri::DnsConfig {
        servers: dns.servers.clone(),
        searches: dns.searches.clone(),
        options: dns.options.clone(),
    }
}

fn port_mapping(mapping: &PortMapping) -> cri::PortMapping {
    let protocol = match mapping.protocol {
        Protocol::Tcp => cri::Protocol::Tcp,
        Protocol::Udp => cri::Protocol::Udp,
        Protocol::Sctp => cri::Protocol::Sctp,
    };
    cri::PortMapping {
        protocol: protocol.into(),
        container_port: mapping.container_port.into(),
        host_port: mapping.host_port.into(),
        host_ip: mapping.host_ip.map(|ip| ip.to_string()).unwrap_or_default(),
    }
}

/// In a user namespace the owners of what is mounted are shown as in the namespace (upstream:
/// `applyPlatformSpecificContainerConfig`).
fn mount(mount: &Mount, user_namespace: Option<&UserNamespace>) -> cri::Mount {
    let propagation = match mount.propagation {
        MountPropagation::Private => cri::MountPropagation::PropagationPrivate,
        MountPropagation::HostToContainer => cri::MountPropagation::PropagationHostToContainer,
        MountPropagation::Bidirectional => cri::MountPropagation::PropagationBidirectional,
    };
    cri::Mount {
        container_path: text(&mount.container_path),
        host_path: text(&mount.host_path),
        readonly: mount.read_only,
        selinux_relabel: mount.selinux_relabel,
        propagation: propagation.into(),
        uid_mappings: user_namespace.map(|user| id_mappings(&user.uids)).unwrap_or_default(),
        gid_mappings: user_namespace.map(|user| id_mappings(&user.gids)).unwrap_or_default(),
        recursive_read_only: mount.recursive_read_only,
        image: None,
        image_sub_path: String::new(),
    }
}

fn id_mappings(mappings: &[IdMapping]) -> Vec<cri::IdMapping> {
    let one = |mapping: &IdMapping| cri::IdMapping {
        host_id: mapping.host_id,
        container_id: mapping.container_id,
        length: mapping.length,
    };
    mappings.iter().map(one).collect()
}

fn device(device: &Device) -> cri::Device {
    cri::Device {
        container_path: text(&device.container_path),
        host_path: text(&device.host_path),
        permissions: device.permissions.clone(),
    }
}

/// What isn't named stays 0 or empty, which leaves it alone.
fn linux_resources(resources: &LinuxResources) -> cri::LinuxContainerResources {
    let hugepage = |(page_size, limit): (&String, &u64)| cri::HugepageLimit {
        page_size: page_size.clone(),
        limit: *limit,
    };
    cri::LinuxContainerResources {
        cpu_period: resources.cpu_period_us,
        cpu_quota: resources.cpu_quota_us,
        cpu_shares: resources.cpu_shares,
        memory_limit_in_bytes: resources.memory_limit_bytes,
        oom_score_adj: resources.oom_score_adj,
        cpuset_cpus: String::new(),
        cpuset_mems: String::new(),
        hugepage_limits: resources.hugepage_limits.iter().map(hugepage).collect(),
        unified: resources.unified.clone(),
        memory_swap_limit_in_bytes: resources.memory_swap_limit_bytes,
    }
}

/// Returns `None` if nothing is named.
fn named_resources(resources: &LinuxResources) -> Option<cri::LinuxContainerResources> {
    (*resources != LinuxResources::default()).then(|| linux_resources(resources))
}

/// New limits of a pod, with what its sandbox costs.
pub(crate) fn update_sandbox(
    id: &SandboxId,
    overhead: &LinuxResources,
    resources: &LinuxResources,
) -> cri::UpdatePodSandboxResourcesRequest {
    cri::UpdatePodSandboxResourcesRequest {
        pod_sandbox_id: id.to_string(),
        overhead: Some(linux_resources(overhead)),
        resources: Some(linux_resources(resources)),
    }
}

/// New limits of a container.
pub(crate) fn update_resources(
    id: &ContainerId,
    resources: &LinuxResources,
) -> cri::UpdateContainerResourcesRequest {
    cri::UpdateContainerResourcesRequest {
        container_id: id.to_string(),
        linux: Some(linux_resources(resources)),
        ..cri::UpdateContainerResourcesRequest::default()
    }
}

/// Credentials for a registry.
fn image_auth(auth: &ImageAuth) -> cri::AuthConfig {
    cri::AuthConfig {
        username: auth.username.clone(),
        password: auth.password.clone(),
        auth: auth.auth.clone(),
        server_address: auth.server_address.clone(),
        identity_token: auth.identity_token.clone(),
        registry_token: auth.registry_token.clone(),
    }
}

fn namespace_mode(mode: NamespaceMode) -> i32 {
    match mode {
        NamespaceMode::Pod => cri::NamespaceMode::Pod,
        NamespaceMode::Container => cri::NamespaceMode::Container,
        NamespaceMode::Node => cri::NamespaceMode::Node,
    }
    .into()
}

fn namespaces(sandbox: &SandboxSpec) -> cri::NamespaceOption {
    let userns_options = sandbox.user_namespace.as_ref().map(|user| cri::UserNamespace {
        mode: cri::NamespaceMode::Pod.into(),
        uids: id_mappings(&user.uids),
        gids: id_mappings(&user.gids),
    });
    cri::NamespaceOption {
        network: namespace_mode(sandbox.network),
        pid: namespace_mode(sandbox.pid),
        ipc: namespace_mode(sandbox.ipc),
        target_id: String::new(),
        userns_options,
    }
}

/// The sandbox's, but for an ephemeral container that joins another one's processes.
fn container_namespaces(sandbox: &SandboxSpec, pid_target: Option<&ContainerId>) -> cri::NamespaceOption {
    let shared = namespaces(sandbox);
    match pid_target {
        None => shared,
        Some(target) => cri::NamespaceOption {
            pid: cri::NamespaceMode::Target.into(),
            target_id: target.to_string(),
            ..shared
        },
    }
}

fn groups_policy(policy: SupplementalGroupsPolicy) -> i32 {
    match policy {
        SupplementalGroupsPolicy::Merge => cri::SupplementalGroupsPolicy::Merge,
        SupplementalGroupsPolicy::Strict => cri::SupplementalGroupsPolicy::Strict,
    }
    .into()
}

fn selinux(label: &SelinuxLabel) -> cri::SeLinuxOption {
    cri::SeLinuxOption {
        user: label.user.clone(),
        role: label.role.clone(),
        r#type: label.kind.clone(),
        level: label.level.clone(),
    }
}

fn apparmor(profile: &AppArmorProfile) -> cri::SecurityProfile {
    use cri::security_profile::ProfileType;
    let (profile_type, localhost_ref) = match profile {
        AppArmorProfile::RuntimeDefault => (ProfileType::RuntimeDefault, String::new()),
        AppArmorProfile::Unconfined => (ProfileType::Unconfined, String::new()),
        AppArmorProfile::Localhost(name) => (ProfileType::Localhost, name.clone()),
    };
    cri::SecurityProfile { profile_type: profile_type.into(), localhost_ref }
}

/// The same for runtimes that know only the field of old.
fn apparmor_of_old(profile: &AppArmorProfile) -> String {
    match profile {
        AppArmorProfile::RuntimeDefault => "runtime/default".to_owned(),
        AppArmorProfile::Unconfined => "unconfined".to_owned(),
        AppArmorProfile::Localhost(name) => format!("localhost/{name}"),
    }
}

fn seccomp(profile: &SeccompProfile) -> cri::SecurityProfile {
    use cri::security_profile::ProfileType;
    let (profile_type, localhost_ref) = match profile {
        SeccompProfile::RuntimeDefault => (ProfileType::RuntimeDefault, String::new()),
        SeccompProfile::Unconfined => (ProfileType::Unconfined, String::new()),
        SeccompProfile::Localhost(path) => (ProfileType::Localhost, text(path)),
    };
    cri::SecurityProfile { profile_type: profile_type.into(), localhost_ref }
}

fn number(value: Option<i64>) -> Option<cri::Int64Value> {
    value.map(|value| cri::Int64Value { value })
}

fn sandbox_security(config: &SandboxSpec) -> cri::LinuxSandboxSecurityContext {
    let security = &config.security;
    cri::LinuxSandboxSecurityContext {
        namespace_options: Some(namespaces(config)),
        selinux_options: security.selinux.as_ref().map(selinux),
        run_as_user: number(security.run_as_user),
        run_as_group: number(security.run_as_group),
        readonly_rootfs: security.read_only_root,
        supplemental_groups: security.supplemental_groups.clone(),
        privileged: config.privileged,
        seccomp: Some(seccomp(&security.seccomp)),
        apparmor: security.apparmor.as_ref().map(apparmor),
        supplemental_groups_policy: groups_policy(security.supplemental_groups_policy),
        ..cri::LinuxSandboxSecurityContext::default()
    }
}

#[allow(deprecated, reason = "runtimes of older releases know AppArmor profiles only by the field of old")]
fn container_security(config: &ContainerSpec, sandbox: &SandboxSpec) -> cri::LinuxContainerSecurityContext {
    let security = &config.security;
    let readonly = READONLY_PATHS.iter().map(|path| (*path).to_owned());
    let (masked_paths, readonly_paths) = match security.proc_unmasked {
        true => (Vec::new(), Vec::new()),
        false => (MASKED_PATHS.clone(), readonly.collect()),
    };
    // The CRI takes one of the two.
    let run_as_username = security.run_as_username.clone().filter(|_| security.run_as_user.is_none());
    cri::LinuxContainerSecurityContext {
        capabilities: Some(cri::Capability {
            add_capabilities: security.capabilities_add.clone(),
            drop_capabilities: security.capabilities_drop.clone(),
            add_ambient_capabilities: Vec::new(),
        }),
        privileged: security.privileged,
        namespace_options: Some(container_namespaces(sandbox, config.pid_target.as_ref())),
        selinux_options: security.selinux.as_ref().map(selinux),
        run_as_user: number(security.run_as_user),
        run_as_username: run_as_username.unwrap_or_default(),
        run_as_group: number(security.run_as_group),
        readonly_rootfs: security.read_only_root,
        supplemental_groups: security.supplemental_groups.clone(),
        supplemental_groups_policy: groups_policy(security.supplemental_groups_policy),
        no_new_privs: security.no_new_privileges,
        masked_paths,
        readonly_paths,
        seccomp: Some(seccomp(&security.seccomp)),
        apparmor: security.apparmor.as_ref().map(apparmor),
        apparmor_profile: security.apparmor.as_ref().map(apparmor_of_old).unwrap_or_default(),
        ..cri::LinuxContainerSecurityContext::default()
    }
}

#[cfg(test)]
mod tests;
