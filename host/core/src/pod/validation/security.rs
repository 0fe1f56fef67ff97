//! Security contexts: identities, profiles, kernel parameters.

use std::collections::HashSet;
use std::path::{Component, Path};

use k8s_openapi::api::core::v1::{
    AppArmorProfile, PodSecurityContext, PodSpec, SeccompProfile, SecurityContext, Sysctl,
};

use super::{Problems, quoted};

/// Bytes of the name of an AppArmor profile: what a path may have.
const APPARMOR_NAME_BYTES_MAX: usize = 4095;
const SYSCTL_NAME_BYTES_MAX: usize = 253;
const TYPES: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];

pub(super) fn of_pod(spec: &PodSpec, problems: &mut Problems) {
    let Some(context) = &spec.security_context else { return };
    let path = "spec.securityContext";
    let PodSecurityContext { run_as_user, run_as_group, fs_group, supplemental_groups, .. } = context;
    for (field, value) in [("runAsUser", run_as_user), ("runAsGroup", run_as_group), ("fsGroup", fs_group)] {
        id(&format!("{path}.{field}"), *value, problems);
    }
    for (index, group) in supplemental_groups.iter().flatten().enumerate() {
        id(&format!("{path}.supplementalGroups[{index}]"), Some(*group), problems);
    }
    let words = [
        ("supplementalGroupsPolicy", &context.supplemental_groups_policy, ["Merge", "Strict"]),
        ("fsGroupChangePolicy", &context.fs_group_change_policy, ["Always", "OnRootMismatch"]),
        ("seLinuxChangePolicy", &context.se_linux_change_policy, ["MountOption", "Recursive"]),
    ];
    for (field, value, allowed) in words {
        problems.one_of(&format!("{path}.{field}"), value.as_deref(), &allowed);
    }
    profiles(path, context.seccomp_profile.as_ref(), context.app_armor_profile.as_ref(), problems);
    sysctls(spec, context.sysctls.as_deref().unwrap_or_default(), problems);
}

pub(super) fn of_container(path: &str, context: &SecurityContext, spec: &PodSpec, problems: &mut Problems) {
    id(&format!("{path}.runAsUser"), context.run_as_user, problems);
    id(&format!("{path}.runAsGroup"), context.run_as_group, problems);
    if context.allow_privilege_escalation == Some(false) {
        let path = format!("{path}.allowPrivilegeEscalation");
        if context.privileged == Some(true) {
            problems.add(&path, "Forbidden: may not be false in a privileged container");
        }
        let added = context.capabilities.iter().filter_map(|all| all.add.as_ref()).flatten();
        if added.into_iter().any(|capability| ["CAP_SYS_ADMIN", "SYS_ADMIN"].contains(&capability.as_str())) {
            problems
                .add(&path, "Forbidden: may not be false in a container with the capability CAP_SYS_ADMIN");
        }
    }
    problems.one_of(&format!("{path}.procMount"), context.proc_mount.as_deref(), &["Default", "Unmasked"]);
    if context.proc_mount.as_deref() == Some("Unmasked") && spec.host_users != Some(false) {
        problems.add(format!("{path}.procMount"), "Forbidden: may only be Unmasked when hostUsers is false");
    }
    profiles(path, context.seccomp_profile.as_ref(), context.app_armor_profile.as_ref(), problems);
}

/// User and group ids: 0 to 2³¹ − 1.
fn id(path: &str, id: Option<i64>, problems: &mut Problems) {
    if id.is_some_and(|id| !(0..=i64::from(i32::MAX)).contains(&id)) {
        problems.add(path, format!("Invalid value: must be between 0 and {}, inclusive", i32::MAX));
    }
}

fn profiles(
    path: &str,
    seccomp: Option<&SeccompProfile>,
    apparmor: Option<&AppArmorProfile>,
    problems: &mut Problems,
) {
    if let Some(SeccompProfile { type_, localhost_profile }) = seccomp {
        let path = format!("{path}.seccompProfile");
        if let Some(profile) = profile(&path, type_, localhost_profile.as_deref(), problems) {
            let inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
            if !Path::new(profile).components().all(inside) {
                problems.add(
                    format!("{path}.localhostProfile"),
                    "Invalid value: must be a relative path without `..`",
                );
            }
        }
    }
    if let Some(AppArmorProfile { type_, localhost_profile }) = apparmor {
        let path = format!("{path}.appArmorProfile");
        if let Some(profile) = profile(&path, type_, localhost_profile.as_deref(), problems) {
            if profile.trim() != profile {
                problems.add(
                    format!("{path}.localhostProfile"),
                    "Invalid value: must not begin or end with white space",
                );
            } else if profile.len() > APPARMOR_NAME_BYTES_MAX {
                let message = format!("Too long: must have at most {APPARMOR_NAME_BYTES_MAX} bytes");
                problems.add(format!("{path}.localhostProfile"), message);
            }
        }
    }
}

/// The local profile, if it is of this type and named.
fn profile<'a>(path: &str, type_: &str, local: Option<&'a str>, problems: &mut Problems) -> Option<&'a str> {
    problems.one_of(&format!("{path}.type"), Some(type_), &TYPES);
    match (type_, local) {
        ("Localhost", None | Some("")) => {
            problems.add(
                format!("{path}.localhostProfile"),
                "Required value: must be set when the type is Localhost",
            );
            None
        }
        ("Localhost", local) => local,
        (_, Some(_)) => {
            problems.add(
                format!("{path}.localhostProfile"),
                "Forbidden: may only be set when the type is Localhost",
            );
            None
        }
        (_, None) => None,
    }
}

fn sysctls(spec: &PodSpec, sysctls: &[Sysctl], problems: &mut Problems) {
    let mut seen = HashSet::new();
    for (index, sysctl) in sysctls.iter().enumerate() {
        let path = format!("spec.securityContext.sysctls[{index}].name");
        let name = sysctl.name.as_str();
        if name.is_empty() {
            problems.add(path, "Required value");
        } else if !is_sysctl_name(name) {
            let message = format!(
                "Invalid value: {}: must have at most {SYSCTL_NAME_BYTES_MAX} lower-case letters, digits, `-` and `_`, in parts joined by `.` or `/`",
                quoted(name)
            );
            problems.add(path, message);
        } else if !seen.insert(name) {
            problems.add(path, format!("Duplicate value: {}", quoted(name)));
        } else {
            let dotted = name.replace('/', ".");
            let of_ipc = ["kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue."];
            if spec.host_network == Some(true) && dotted.starts_with("net.") {
                problems.add(path, "Forbidden: may not be set when hostNetwork is true");
            } else if spec.host_ipc == Some(true) && of_ipc.iter().any(|prefix| dotted.starts_with(prefix)) {
                problems.add(path, "Forbidden: may not be set when hostIPC is true");
            }
        }
    }
}

fn is_sysctl_name(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let part = |part: &str| {
        let bytes = part.as_bytes();
        bytes.first().is_some_and(|byte| inner(*byte))
            && bytes.last().is_some_and(|byte| inner(*byte))
            && bytes.iter().all(|byte| inner(*byte) || b"-_".contains(byte))
    };
    name.len() <= SYSCTL_NAME_BYTES_MAX && name.split(['.', '/']).all(part)
}
