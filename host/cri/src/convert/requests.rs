//! From our words to the CRI's.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use witlet_core::pod::PodUid;
use witlet_core::runtime::{
    ContainerConfig, ContainerId, ContainerSecurity, DnsConfig, ImageAuth, LinuxResources, Mount,
    NamespaceMode, PortMapping, Protocol, SandboxConfig, SeccompProfile, labels,
};
use witlet_proto::cri;

/// Paths under /proc and /sys that containers can't see: the fixed part of upstream's list for
/// `procMount: Default` (`pkg/securitycontext/util.go`). The runtime ignores it for privileged containers.
const MASKED_PATHS: [&str; 12] = [
    "/proc/asound",
    "/proc/acpi",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/sys/firmware",
    "/sys/devices/virtual/powercap",
];

/// Paths under /proc that containers can't write: upstream's list, as above.
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

/// An image by the name that a pod gives it.
pub(crate) fn image_spec(image: &str) -> cri::ImageSpec {
    cri::ImageSpec {
        image: image.to_owned(),
        user_specified_image: image.to_owned(),
        ..cri::ImageSpec::default()
    }
}

/// A sandbox to run.
pub(crate) fn sandbox_config(config: &SandboxConfig) -> cri::PodSandboxConfig {
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
            ..cri::LinuxPodSandboxConfig::default()
        }),
        windows: None,
    }
}

/// A container to create in that sandbox, whose namespaces it shares.
pub(crate) fn container_config(config: &ContainerConfig, sandbox: &SandboxConfig) -> cri::ContainerConfig {
    cri::ContainerConfig {
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
        mounts: config.mounts.iter().map(mount).collect(),
        labels: config.labels.clone(),
        annotations: config.annotations.clone(),
        log_path: text(&config.log_path),
        stdin: config.stdin,
        stdin_once: config.stdin_once,
        tty: config.tty,
        linux: Some(cri::LinuxContainerConfig {
            resources: Some(linux_resources(&config.resources)),
            security_context: Some(container_security(&config.security, sandbox)),
        }),
        ..cri::ContainerConfig::default()
    }
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

fn mount(mount: &Mount) -> cri::Mount {
    cri::Mount {
        container_path: text(&mount.container_path),
        host_path: text(&mount.host_path),
        readonly: mount.read_only,
        ..cri::Mount::default()
    }
}

fn linux_resources(resources: &LinuxResources) -> cri::LinuxContainerResources {
    cri::LinuxContainerResources {
        cpu_period: resources.cpu_period_us,
        cpu_quota: resources.cpu_quota_us,
        cpu_shares: resources.cpu_shares,
        memory_limit_in_bytes: resources.memory_limit_bytes,
        oom_score_adj: resources.oom_score_adj,
        ..cri::LinuxContainerResources::default()
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
pub(crate) fn image_auth(auth: &ImageAuth) -> cri::AuthConfig {
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

fn namespaces(sandbox: &SandboxConfig) -> cri::NamespaceOption {
    cri::NamespaceOption {
        network: namespace_mode(sandbox.network),
        pid: namespace_mode(sandbox.pid),
        ipc: namespace_mode(sandbox.ipc),
        ..cri::NamespaceOption::default()
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

fn sandbox_security(config: &SandboxConfig) -> cri::LinuxSandboxSecurityContext {
    let security = &config.security;
    cri::LinuxSandboxSecurityContext {
        namespace_options: Some(namespaces(config)),
        run_as_user: number(security.run_as_user),
        run_as_group: number(security.run_as_group),
        readonly_rootfs: security.read_only_root,
        supplemental_groups: security.supplemental_groups.clone(),
        privileged: config.privileged,
        seccomp: Some(seccomp(&security.seccomp)),
        ..cri::LinuxSandboxSecurityContext::default()
    }
}

fn container_security(
    security: &ContainerSecurity,
    sandbox: &SandboxConfig,
) -> cri::LinuxContainerSecurityContext {
    cri::LinuxContainerSecurityContext {
        capabilities: Some(cri::Capability {
            add_capabilities: security.capabilities_add.clone(),
            drop_capabilities: security.capabilities_drop.clone(),
            add_ambient_capabilities: Vec::new(),
        }),
        privileged: security.privileged,
        namespace_options: Some(namespaces(sandbox)),
        run_as_user: number(security.run_as_user),
        run_as_group: number(security.run_as_group),
        readonly_rootfs: security.read_only_root,
        supplemental_groups: security.supplemental_groups.clone(),
        no_new_privs: security.no_new_privileges,
        masked_paths: MASKED_PATHS.map(str::to_owned).to_vec(),
        readonly_paths: READONLY_PATHS.map(str::to_owned).to_vec(),
        seccomp: Some(seccomp(&security.seccomp)),
        ..cri::LinuxContainerSecurityContext::default()
    }
}
