//! The Pod Security Standards of Kubernetes 1.36 (`pod-security-admission/policy`): what a pod does that its level doesn't
//! allow. Init and ephemeral containers count as the others do. Pods of Windows aren't run here, so that their exceptions
//! aren't made.

use std::fmt;
use std::str::FromStr;

use k8s_openapi::api::core::v1::{
    Capabilities, Container, LifecycleHandler, Pod, PodSpec, SELinuxOptions, SecurityContext, Volume,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::container::plan::{PodContainer, containers};
use crate::probe::custom::ANNOTATION_PREFIX as PROBE_PREFIX;

#[cfg(test)]
mod tests;

/// A level of the Pod Security Standards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SecurityLevel {
    Privileged,
    /// What is known to lead out of a container is refused.
    #[default]
    Baseline,
    /// Only what follows today's practice of hardening is let through.
    Restricted,
}

impl SecurityLevel {
    /// The level's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Privileged => "privileged",
            Self::Baseline => "baseline",
            Self::Restricted => "restricted",
        }
    }
}

impl fmt::Display for SecurityLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// No level has this name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("must be privileged, baseline or restricted, found {found:?}")]
pub struct UnknownLevel {
    pub found: String,
}

impl FromStr for SecurityLevel {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<Self, UnknownLevel> {
        [Self::Privileged, Self::Baseline, Self::Restricted]
            .into_iter()
            .find(|level| level.as_str() == text)
            .ok_or_else(|| UnknownLevel { found: text.to_owned() })
    }
}

/// Violations that are reported of one pod; the rest is counted.
const VIOLATIONS_MAX: usize = 20;

/// Capabilities that a runtime grants anyway.
const CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// Kernel parameters that are a pod's own and harm no one else.
const SYSCTLS: [&str; 12] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
];

/// Types of SELinux that confine a container.
const SELINUX_TYPES: [&str; 5] =
    ["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"];

/// Everything that the pod does beyond the level, each in one clause that names the field; empty if it may run.
pub fn violations(pod: &Pod, level: SecurityLevel) -> Vec<String> {
    let Some(spec) = &pod.spec else { return Vec::new() };
    let mut found = FoundViolations::default();
    match level {
        SecurityLevel::Privileged => {}
        SecurityLevel::Baseline => baseline(pod, spec, level, &mut found),
        SecurityLevel::Restricted => {
            baseline(pod, spec, level, &mut found);
            restricted(pod, spec, &mut found);
        }
    }
    found.finish()
}

#[derive(Default)]
struct FoundViolations {
    violations: Vec<String>,
    beyond: usize,
}

impl FoundViolations {
    fn add(&mut self, violation: String) {
        if self.violations.len() < VIOLATIONS_MAX {
            self.violations.push(violation);
        } else {
            self.beyond += 1;
        }
    }

    fn forbid(&mut self, path: &str, what: impl fmt::Display) {
        self.add(format!("{path} may not be {what}"));
    }

    fn finish(mut self) -> Vec<String> {
        if self.beyond > 0 {
            self.violations.push(format!("and {} more", self.beyond));
        }
        self.violations
    }
}

/// Where the spec has a container.
fn path_of(found: &PodContainer<'_>) -> String {
    format!("spec.{}[{}] ({})", found.kind.list(), found.index, found.container.name)
}

fn baseline(pod: &Pod, spec: &PodSpec, level: SecurityLevel, found: &mut FoundViolations) {
    let of_host = [
        ("spec.hostNetwork", spec.host_network),
        ("spec.hostPID", spec.host_pid),
        ("spec.hostIPC", spec.host_ipc),
    ];
    for (path, _) in of_host.into_iter().filter(|(_, set)| *set == Some(true)) {
        found.forbid(path, true);
    }
    for (index, volume) in spec.volumes.iter().flatten().enumerate() {
        if volume.host_path.is_some() {
            found.forbid(&format!("spec.volumes[{index}] ({})", volume.name), "a hostPath");
        }
    }
    if let Some(context) = &spec.security_context {
        let path = "spec.securityContext";
        selinux(path, context.se_linux_options.as_ref(), found);
        seccomp(path, context.seccomp_profile.as_ref().map(|profile| profile.type_.as_str()), found);
        apparmor(path, context.app_armor_profile.as_ref().map(|profile| profile.type_.as_str()), found);
        for sysctl in context.sysctls.iter().flatten() {
            // Both spellings are the kernel's.
            if !SYSCTLS.contains(&sysctl.name.replace('/', ".").as_str()) {
                found.forbid(&format!("{path}.sysctls"), &sysctl.name);
            }
        }
        let windows = context.windows_options.as_ref().and_then(|options| options.host_process);
        if windows == Some(true) {
            found.forbid(&format!("{path}.windowsOptions.hostProcess"), true);
        }
    }
    apparmor_annotations(pod, found);
    probe_annotations(pod, found);
    for pod_container in containers(pod) {
        let (path, container) = (path_of(&pod_container), &*pod_container.container);
        host_ports(&path, container, found);
        host_targets(&path, container, found);
        if let Some(context) = &container.security_context {
            // A user namespace makes /proc harmless; the restricted level has it masked all the same.
            let masked = spec.host_users != Some(false) || level == SecurityLevel::Restricted;
            container_baseline(&path, context, masked, found);
        }
    }
}

fn container_baseline(path: &str, context: &SecurityContext, masked: bool, found: &mut FoundViolations) {
    if context.privileged == Some(true) {
        found.forbid(&format!("{path}.securityContext.privileged"), true);
    }
    for capability in added(context) {
        if !CAPABILITIES.contains(&capability) {
            found.forbid(&format!("{path}.securityContext.capabilities.add"), capability);
        }
    }
    let path = format!("{path}.securityContext");
    if let Some(mount) = context.proc_mount.as_deref().filter(|mount| masked && *mount != "Default") {
        found.forbid(&format!("{path}.procMount"), mount);
    }
    selinux(&path, context.se_linux_options.as_ref(), found);
    seccomp(&path, context.seccomp_profile.as_ref().map(|profile| profile.type_.as_str()), found);
    apparmor(&path, context.app_armor_profile.as_ref().map(|profile| profile.type_.as_str()), found);
    if context.windows_options.as_ref().and_then(|options| options.host_process) == Some(true) {
        found.forbid(&format!("{path}.windowsOptions.hostProcess"), true);
    }
}

fn added(context: &SecurityContext) -> impl Iterator<Item = &str> {
    let capabilities = context.capabilities.iter();
    capabilities.flat_map(|all: &Capabilities| all.add.iter().flatten()).map(String::as_str)
}

fn host_ports(path: &str, container: &Container, found: &mut FoundViolations) {
    let ports = container.ports.iter().flatten().filter_map(|port| port.host_port);
    for port in ports.filter(|port| *port != 0) {
        found.forbid(&format!("{path}.ports.hostPort"), port);
    }
}

/// The agent sends probes and hooks, and could be sent anywhere (1.34 and later).
fn host_targets(path: &str, container: &Container, found: &mut FoundViolations) {
    let probes = [
        ("startupProbe", &container.startup_probe),
        ("livenessProbe", &container.liveness_probe),
        ("readinessProbe", &container.readiness_probe),
    ];
    for (name, probe) in probes {
        let Some(probe) = probe else { continue };
        let http = probe.http_get.as_ref().and_then(|action| action.host.as_deref());
        let tcp = probe.tcp_socket.as_ref().and_then(|action| action.host.as_deref());
        host_target(&format!("{path}.{name}.httpGet.host"), http, found);
        host_target(&format!("{path}.{name}.tcpSocket.host"), tcp, found);
    }
    let Some(lifecycle) = &container.lifecycle else { return };
    for (name, hook) in [("postStart", &lifecycle.post_start), ("preStop", &lifecycle.pre_stop)] {
        let Some(LifecycleHandler { http_get, tcp_socket, .. }) = hook else { continue };
        let path = format!("{path}.lifecycle.{name}");
        let http = http_get.as_ref().and_then(|action| action.host.as_deref());
        let tcp = tcp_socket.as_ref().and_then(|action| action.host.as_deref());
        host_target(&format!("{path}.httpGet.host"), http, found);
        host_target(&format!("{path}.tcpSocket.host"), tcp, found);
    }
}

fn host_target(path: &str, host: Option<&str>, found: &mut FoundViolations) {
    if let Some(host) = host.filter(|host| !host.is_empty()) {
        found.forbid(path, format!("{host:?}"));
    }
}

fn selinux(path: &str, options: Option<&SELinuxOptions>, found: &mut FoundViolations) {
    let Some(SELinuxOptions { type_, user, role, level: _ }) = options else { return };
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    if !SELINUX_TYPES.contains(&text(type_).as_str()) {
        found.forbid(&format!("{path}.seLinuxOptions.type"), text(type_));
    }
    for (field, value) in [("user", user), ("role", role)] {
        if !text(value).is_empty() {
            found.forbid(&format!("{path}.seLinuxOptions.{field}"), text(value));
        }
    }
}

fn seccomp(path: &str, profile: Option<&str>, found: &mut FoundViolations) {
    if let Some(profile) = profile.filter(|profile| !["RuntimeDefault", "Localhost"].contains(profile)) {
        found.forbid(&format!("{path}.seccompProfile.type"), profile);
    }
}

fn apparmor(path: &str, profile: Option<&str>, found: &mut FoundViolations) {
    if let Some(profile) = profile.filter(|profile| !["RuntimeDefault", "Localhost"].contains(profile)) {
        found.forbid(&format!("{path}.appArmorProfile.type"), profile);
    }
}

/// The annotations that AppArmor was set by before it had a field.
fn apparmor_annotations(pod: &Pod, found: &mut FoundViolations) {
    const PREFIX: &str = "container.apparmor.security.beta.kubernetes.io/";
    for (name, profile) in pod.metadata.annotations.iter().flatten() {
        let confines =
            profile.is_empty() || profile == "runtime/default" || profile.starts_with("localhost/");
        if name.starts_with(PREFIX) && !confines {
            found.forbid(&format!("the annotation {name}"), profile);
        }
    }
}

/// What a probe's annotation puts in the place of a handler is sent as far as the handler would be. An annotation that isn't
/// JSON is sent nowhere.
fn probe_annotations(pod: &Pod, found: &mut FoundViolations) {
    let annotations = pod.metadata.annotations.iter().flatten();
    for (name, text) in annotations.filter(|(name, _)| name.starts_with(PROBE_PREFIX)) {
        let probes: Value = serde_json::from_str(text).unwrap_or_default();
        for (kind, probe) in probes.as_object().into_iter().flatten() {
            let host = probe.pointer("/parameters/host").and_then(Value::as_str);
            host_target(&format!("the annotation {name}: {kind}.parameters.host"), host, found);
        }
    }
}

fn restricted(pod: &Pod, spec: &PodSpec, found: &mut FoundViolations) {
    for (index, volume) in spec.volumes.iter().flatten().enumerate() {
        // A hostPath has been reported already.
        if volume.host_path.is_none() && !is_core_volume(volume) {
            let path = format!("spec.volumes[{index}] ({})", volume.name);
            found.forbid(&path, "of a type that isn't the cluster's");
        }
    }
    let of_pod = spec.security_context.as_ref();
    // Root in a user namespace is no one outside of it.
    let own_users = spec.host_users == Some(false);
    let pod_non_root = of_pod.and_then(|context| context.run_as_non_root);
    let pod_seccomp = of_pod.is_some_and(|context| context.seccomp_profile.is_some());
    // What the pod says counts also where its containers say otherwise.
    if !own_users && pod_non_root == Some(false) {
        found.add("spec.securityContext.runAsNonRoot must be true".to_owned());
    }
    if !own_users && of_pod.and_then(|context| context.run_as_user) == Some(0) {
        found.forbid("spec.securityContext.runAsUser", 0);
    }
    for found_container in containers(pod) {
        let path = format!("{}.securityContext", path_of(&found_container));
        let context = found_container.container.security_context.as_ref();
        if context.and_then(|context| context.allow_privilege_escalation) != Some(false) {
            found.add(format!("{path}.allowPrivilegeEscalation must be false"));
        }
        capabilities(&path, context, found);
        let non_root = context.and_then(|context| context.run_as_non_root);
        if !own_users && (non_root == Some(false) || non_root.or(pod_non_root).is_none()) {
            found.add(format!("{path}.runAsNonRoot must be true"));
        }
        if !own_users && context.and_then(|context| context.run_as_user) == Some(0) {
            found.forbid(&format!("{path}.runAsUser"), 0);
        }
        let seccomp = pod_seccomp || context.is_some_and(|context| context.seccomp_profile.is_some());
        if !seccomp {
            found.add(format!("{path}.seccompProfile.type must be RuntimeDefault or Localhost"));
        }
    }
}

fn capabilities(path: &str, context: Option<&SecurityContext>, found: &mut FoundViolations) {
    let dropped = context.and_then(|context| context.capabilities.as_ref()?.drop.as_ref());
    if !dropped.is_some_and(|dropped| dropped.iter().any(|name| name == "ALL")) {
        found.add(format!("{path}.capabilities.drop must have ALL"));
    }
    for capability in context.into_iter().flat_map(added) {
        // What the baseline refuses has been reported already.
        if capability != "NET_BIND_SERVICE" && CAPABILITIES.contains(&capability) {
            found.forbid(&format!("{path}.capabilities.add"), capability);
        }
    }
}

fn is_core_volume(volume: &Volume) -> bool {
    volume.config_map.is_some()
        || volume.csi.is_some()
        || volume.downward_api.is_some()
        || volume.empty_dir.is_some()
        || volume.ephemeral.is_some()
        || volume.image.is_some()
        || volume.persistent_volume_claim.is_some()
        || volume.projected.is_some()
        || volume.secret.is_some()
}
