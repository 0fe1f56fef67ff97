//! User, groups, capabilities and filters of the kernel: what a container says goes before what its pod says
//! (upstream: `kuberuntime/security_context.go`, `pkg/securitycontext`).

use std::collections::BTreeMap;
use std::path::{Component, Path};

use k8s_openapi::api::core::v1::{
    AppArmorProfile as ApiAppArmorProfile, Container, Pod, PodSecurityContext, SELinuxOptions,
    SeccompProfile as ApiSeccompProfile, SecurityContext,
};

use super::{ContainerInput, ImageFacts, SpecError};
use crate::container::plan::containers;
use crate::runtime::{
    AppArmorProfile, ContainerSecurity, SeccompProfile, SelinuxLabel, SupplementalGroupsPolicy,
};

/// Annotation that named a container's AppArmor profile before the field did. Static pods may still have it.
const APPARMOR_ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Whether any container of the pod has all powers, which its sandbox must then allow.
pub(super) fn any_privileged(pod: &Pod) -> bool {
    containers(pod).any(|found| {
        let security = found.container.security_context.as_ref();
        security.is_some_and(|security| security.privileged.unwrap_or_default())
    })
}

/// The sandbox itself does nothing but hold namespaces, so it always runs under the runtime's own filter.
pub(super) fn of_sandbox(pod: &Pod) -> ContainerSecurity {
    let security = pod_security(pod);
    ContainerSecurity {
        run_as_user: security.and_then(|security| security.run_as_user),
        run_as_group: security.and_then(|security| security.run_as_group),
        supplemental_groups: groups(security),
        supplemental_groups_policy: groups_policy(security),
        privileged: any_privileged(pod),
        seccomp: SeccompProfile::RuntimeDefault,
        selinux: security.and_then(|security| security.se_linux_options.as_ref()).map(selinux),
        ..ContainerSecurity::default()
    }
}

/// Kernel parameters of the pod by their names with points. Which of them a node allows is for admission to say.
pub(super) fn sysctls(pod: &Pod) -> BTreeMap<String, String> {
    let sysctls = pod_security(pod).and_then(|security| security.sysctls.as_ref());
    sysctls.into_iter().flatten().map(|sysctl| (dotted(&sysctl.name), sysctl.value.clone())).collect()
}

/// A name whose first separator is `/` has the two separators exchanged: `net/ipv4/conf/eno2.100/rp_filter` is
/// `net.ipv4.conf.eno2/100.rp_filter`.
fn dotted(name: &str) -> String {
    match name.find(['.', '/']) {
        Some(at) if name[at..].starts_with('/') => {
            let exchanged = |letter| match letter {
                '.' => '/',
                '/' => '.',
                other => other,
            };
            name.chars().map(exchanged).collect()
        }
        Some(_) | None => name.to_owned(),
    }
}

pub(super) fn of_container(input: ContainerInput<'_>) -> Result<ContainerSecurity, SpecError> {
    let ContainerInput { pod, container, image, host, .. } = input;
    let none = SecurityContext::default();
    let own = container.security_context.as_ref().unwrap_or(&none);
    let of_pod = pod_security(pod);
    let effective = EffectiveSecurity::of(pod, container);
    let user = User::of(effective.run_as_user, image);
    if effective.run_as_non_root {
        check_not_root(input, effective.run_as_user.is_some(), user)?;
    }
    let profile = effective.seccomp;
    let label = own.se_linux_options.as_ref();
    let label = label.or(of_pod.and_then(|security| security.se_linux_options.as_ref()));
    Ok(ContainerSecurity {
        run_as_user: match user {
            User::Number(uid) => Some(uid),
            User::Name(_) => None,
        },
        run_as_username: match user {
            User::Number(_) => None,
            User::Name(name) => Some(name.to_owned()),
        },
        run_as_group: effective.run_as_group,
        supplemental_groups: groups(of_pod),
        supplemental_groups_policy: groups_policy(of_pod),
        privileged: effective.privileged,
        read_only_root: effective.read_only_root,
        no_new_privileges: !effective.allow_privilege_escalation,
        capabilities_add: effective.capabilities_add.to_vec(),
        capabilities_drop: effective.capabilities_drop.to_vec(),
        seccomp: seccomp(container, profile, host.seccomp_root, host.seccomp_default)?,
        apparmor: apparmor(pod, container)?,
        selinux: label.map(selinux),
        proc_unmasked: own.proc_mount.as_deref() == Some("Unmasked"),
    })
}

/// What a container's security context says together with its pod's, before the node and the image come into it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EffectiveSecurity<'a> {
    /// It has all powers of the host's root.
    pub privileged: bool,
    /// It may not start as root.
    pub run_as_non_root: bool,
    /// None for the image's.
    pub run_as_user: Option<i64>,
    /// None for the image's.
    pub run_as_group: Option<i64>,
    /// A process in it can have more rights than its parent.
    pub allow_privilege_escalation: bool,
    /// It can't write to its own file system.
    pub read_only_root: bool,
    pub capabilities_add: &'a [String],
    pub capabilities_drop: &'a [String],
    /// None for what the node has by default.
    pub seccomp: Option<&'a ApiSeccompProfile>,
}

impl<'a> EffectiveSecurity<'a> {
    /// Combines the contexts of a container and its pod.
    pub fn of(pod: &'a Pod, container: &'a Container) -> Self {
        let (own, of_pod) = (container.security_context.as_ref(), pod_security(pod));
        let is = |field: fn(&SecurityContext) -> Option<bool>| own.and_then(field).unwrap_or_default();
        let capabilities = own.and_then(|own| own.capabilities.as_ref());
        let non_root = own.and_then(|own| own.run_as_non_root);
        let user = own.and_then(|own| own.run_as_user);
        let group = own.and_then(|own| own.run_as_group);
        let seccomp = own.and_then(|own| own.seccomp_profile.as_ref());
        Self {
            privileged: is(|own| own.privileged),
            run_as_non_root: non_root.or_else(|| of_pod?.run_as_non_root).unwrap_or_default(),
            run_as_user: user.or_else(|| of_pod?.run_as_user),
            run_as_group: group.or_else(|| of_pod?.run_as_group),
            allow_privilege_escalation: own.and_then(|own| own.allow_privilege_escalation) != Some(false),
            read_only_root: is(|own| own.read_only_root_filesystem),
            capabilities_add: capabilities.and_then(|all| all.add.as_deref()).unwrap_or_default(),
            capabilities_drop: capabilities.and_then(|all| all.drop.as_deref()).unwrap_or_default(),
            seccomp: seccomp.or_else(|| of_pod?.seccomp_profile.as_ref()),
        }
    }
}

fn pod_security(pod: &Pod) -> Option<&PodSecurityContext> {
    pod.spec.as_ref().and_then(|spec| spec.security_context.as_ref())
}

/// Who a container runs as.
#[derive(Clone, Copy)]
enum User<'a> {
    Number(i64),
    Name(&'a str),
}

impl<'a> User<'a> {
    /// The spec's word, else the image's; an image that says nothing runs as root.
    fn of(run_as_user: Option<i64>, image: ImageFacts<'a>) -> Self {
        match (run_as_user.or(image.uid), image.username) {
            (Some(uid), _) => Self::Number(uid),
            (None, "") => Self::Number(0),
            (None, name) => Self::Name(name),
        }
    }
}

/// The group that owns the pod's volumes is one of its processes' groups.
fn groups(security: Option<&PodSecurityContext>) -> Vec<i64> {
    let Some(security) = security else {
        return Vec::new();
    };
    let mut groups = Vec::from_iter(security.fs_group);
    for group in security.supplemental_groups.iter().flatten() {
        if !groups.contains(group) {
            groups.push(*group);
        }
    }
    groups
}

fn groups_policy(security: Option<&PodSecurityContext>) -> SupplementalGroupsPolicy {
    match security.and_then(|security| security.supplemental_groups_policy.as_deref()) {
        Some("Strict") => SupplementalGroupsPolicy::Strict,
        Some(_) | None => SupplementalGroupsPolicy::Merge,
    }
}

/// Refuses root with upstream's messages (`verifyRunAsNonRoot`).
fn check_not_root(input: ContainerInput<'_>, by_spec: bool, user: User<'_>) -> Result<(), SpecError> {
    let problem = match user {
        User::Number(0) if by_spec => "container's runAsUser breaks non-root policy".to_owned(),
        User::Number(0) => "container has runAsNonRoot and image will run as root".to_owned(),
        User::Number(_) => return Ok(()),
        User::Name(name) => format!(
            "container has runAsNonRoot and image has non-numeric user ({name}), cannot verify user is non-root"
        ),
    };
    let meta = &input.pod.metadata;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let pod = format!("{}_{}({})", text(&meta.name), text(&meta.namespace), text(&meta.uid));
    Err(SpecError::RunAsRoot { container: input.container.name.clone(), pod, problem })
}

fn seccomp(
    container: &Container,
    profile: Option<&ApiSeccompProfile>,
    root: &Path,
    runtime_default: bool,
) -> Result<SeccompProfile, SpecError> {
    let error = |problem: String| SpecError::Seccomp { container: container.name.clone(), problem };
    let Some(profile) = profile else {
        let default =
            if runtime_default { SeccompProfile::RuntimeDefault } else { SeccompProfile::Unconfined };
        return Ok(default);
    };
    match profile.type_.as_str() {
        "RuntimeDefault" => Ok(SeccompProfile::RuntimeDefault),
        "Unconfined" => Ok(SeccompProfile::Unconfined),
        "Localhost" => {
            let path = profile.localhost_profile.as_deref().filter(|path| !path.is_empty());
            let missing =
                || error("localhostProfile must be set if seccompProfile type is Localhost".to_owned());
            let path = Path::new(path.ok_or_else(missing)?);
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

/// The container's field, else the annotation for it, else the pod's field.
///
/// # Errors
/// When a field says what it can't.
pub fn apparmor(pod: &Pod, container: &Container) -> Result<Option<AppArmorProfile>, SpecError> {
    let own = container.security_context.as_ref().and_then(|security| security.app_armor_profile.as_ref());
    if let Some(own) = own {
        return apparmor_field(container, own).map(Some);
    }
    let annotations = pod.metadata.annotations.as_ref();
    let annotation = annotations.and_then(|all| all.get(&format!("{APPARMOR_ANNOTATION}{}", container.name)));
    if let Some(profile) = annotation.and_then(|value| apparmor_annotation(value)) {
        return Ok(Some(profile));
    }
    let of_pod = pod_security(pod).and_then(|security| security.app_armor_profile.as_ref());
    of_pod.map(|profile| apparmor_field(container, profile)).transpose()
}

fn apparmor_field(container: &Container, profile: &ApiAppArmorProfile) -> Result<AppArmorProfile, SpecError> {
    let error = |problem: String| SpecError::AppArmor { container: container.name.clone(), problem };
    match (profile.type_.as_str(), profile.localhost_profile.as_deref().unwrap_or_default()) {
        ("RuntimeDefault", _) => Ok(AppArmorProfile::RuntimeDefault),
        ("Unconfined", _) => Ok(AppArmorProfile::Unconfined),
        ("Localhost", "") => Err(error("missing localhost apparmor profile name".to_owned())),
        ("Localhost", name) => Ok(AppArmorProfile::Localhost(name.to_owned())),
        (other, _) => Err(error(format!("type {other:?} is not known"))),
    }
}

/// Returns `None` for what the annotation never meant.
fn apparmor_annotation(value: &str) -> Option<AppArmorProfile> {
    match value {
        "runtime/default" => Some(AppArmorProfile::RuntimeDefault),
        "unconfined" => Some(AppArmorProfile::Unconfined),
        _ => value
            .strip_prefix("localhost/")
            .filter(|name| !name.is_empty())
            .map(|name| AppArmorProfile::Localhost(name.to_owned())),
    }
}

fn selinux(options: &SELinuxOptions) -> SelinuxLabel {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    SelinuxLabel {
        user: text(&options.user),
        role: text(&options.role),
        kind: text(&options.type_),
        level: text(&options.level),
    }
}

#[cfg(test)]
mod tests;
