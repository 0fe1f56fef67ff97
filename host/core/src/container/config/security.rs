//! User, groups, capabilities and system call filter: what a container says goes before what its pod says.

use std::path::{Component, Path};

use k8s_openapi::api::core::v1::{
    Container, Pod, PodSecurityContext, SeccompProfile as ApiSeccompProfile, SecurityContext,
};

use super::{ConfigError, app_containers};
use crate::runtime::{ContainerSecurity, SeccompProfile};

/// Whether any container of the pod has all powers, which its sandbox must then allow.
pub(super) fn any_privileged(pod: &Pod) -> bool {
    app_containers(pod)
        .iter()
        .filter_map(|container| container.security_context.as_ref())
        .any(|security| security.privileged.unwrap_or_default())
}

/// The sandbox itself does nothing but hold namespaces, so it always runs under the runtime's own filter.
pub(super) fn of_sandbox(pod: &Pod) -> ContainerSecurity {
    let security = pod_security(pod);
    ContainerSecurity {
        run_as_user: security.and_then(|security| security.run_as_user),
        run_as_group: security.and_then(|security| security.run_as_group),
        supplemental_groups: groups(security),
        privileged: any_privileged(pod),
        seccomp: SeccompProfile::RuntimeDefault,
        ..ContainerSecurity::default()
    }
}

pub(super) fn of_container(
    pod: &Pod,
    container: &Container,
    seccomp_root: &Path,
) -> Result<ContainerSecurity, ConfigError> {
    let none = SecurityContext::default();
    let own = container.security_context.as_ref().unwrap_or(&none);
    let of_pod = pod_security(pod);
    let run_as_user = own.run_as_user.or(of_pod.and_then(|security| security.run_as_user));
    let run_as_non_root = own.run_as_non_root.or(of_pod.and_then(|security| security.run_as_non_root));
    if run_as_non_root.unwrap_or_default() {
        check_not_root(container, run_as_user)?;
    }
    let capabilities = own.capabilities.clone().unwrap_or_default();
    let profile = own.seccomp_profile.as_ref();
    let profile = profile.or(of_pod.and_then(|security| security.seccomp_profile.as_ref()));
    Ok(ContainerSecurity {
        run_as_user,
        run_as_group: own.run_as_group.or(of_pod.and_then(|security| security.run_as_group)),
        supplemental_groups: groups(of_pod),
        privileged: own.privileged.unwrap_or_default(),
        read_only_root: own.read_only_root_filesystem.unwrap_or_default(),
        no_new_privileges: own.allow_privilege_escalation == Some(false),
        capabilities_add: capabilities.add.unwrap_or_default(),
        capabilities_drop: capabilities.drop.unwrap_or_default(),
        seccomp: seccomp(container, profile, seccomp_root)?,
        ..ContainerSecurity::default()
    })
}

fn pod_security(pod: &Pod) -> Option<&PodSecurityContext> {
    pod.spec.as_ref().and_then(|spec| spec.security_context.as_ref())
}

/// The group that owns the pod's volumes is one of its processes' groups.
fn groups(security: Option<&PodSecurityContext>) -> Vec<i64> {
    let Some(security) = security else {
        return Vec::new();
    };
    let mut groups = security.supplemental_groups.clone().unwrap_or_default();
    groups.extend(security.fs_group.filter(|group| !groups.contains(group)));
    groups
}

/// Which user an image wants isn't known here, so a container that must not be root has to say who it is.
fn check_not_root(container: &Container, run_as_user: Option<i64>) -> Result<(), ConfigError> {
    let problem = match run_as_user {
        Some(0) => "its runAsUser is 0",
        Some(_) => return Ok(()),
        None => "this release can't tell whether its image runs as root: set runAsUser",
    };
    Err(ConfigError::RunAsRoot { container: container.name.clone(), problem })
}

fn seccomp(
    container: &Container,
    profile: Option<&ApiSeccompProfile>,
    root: &Path,
) -> Result<SeccompProfile, ConfigError> {
    let error = |problem: String| ConfigError::Seccomp { container: container.name.clone(), problem };
    let Some(profile) = profile else {
        return Ok(SeccompProfile::Unconfined);
    };
    match profile.type_.as_str() {
        "RuntimeDefault" => Ok(SeccompProfile::RuntimeDefault),
        "Unconfined" => Ok(SeccompProfile::Unconfined),
        "Localhost" => {
            let path = profile.localhost_profile.as_deref().filter(|path| !path.is_empty());
            let path = Path::new(path.ok_or_else(|| error("localhostProfile is missing".to_owned()))?);
            let inside =
                path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
            if !inside {
                return Err(error(format!("localhostProfile {} leaves the node's folder", path.display())));
            }
            Ok(SeccompProfile::Localhost(root.join(path)))
        }
        other => Err(error(format!("type {other:?} is not known"))),
    }
}

#[cfg(test)]
mod tests;
