//! Which of a component's roles its entry uses.

use super::error::LoadError;
use crate::plugin::config::Grants;
use crate::role::Role;
use crate::worlds::detect::{Capabilities, Detected};

/// Returns what the component may import: what its entry grants, and what no role of the entry could use. A component of several roles has the
/// imports of all of them, and no entry without a probe type may grant `exec`; the call needs the target of a probe, which only a probe has.
pub(super) fn granted(grants: &Grants, expected: &[Role]) -> Capabilities {
    let exec = grants.exec || !expected.contains(&Role::Probe);
    Capabilities { secret: !grants.secrets.is_empty(), exec }
}

/// Leaves only the roles that are requested, all of which must be there; returns the names of the others.
pub(super) fn choose(detected: Detected, expected: &[Role]) -> Result<(Detected, Vec<Role>), LoadError> {
    let obstacles = missing(&detected, expected);
    if !obstacles.is_empty() {
        return Err(LoadError::Refused { obstacles });
    }
    let unused =
        Role::ALL.into_iter().filter(|role| has(&detected, *role) && !expected.contains(role)).collect();
    let wants = |role| expected.contains(&role);
    let detected = Detected {
        admission: detected.admission.filter(|_| wants(Role::Admission)),
        probe: detected.probe.filter(|_| wants(Role::Probe)),
        pod_source: detected.pod_source.filter(|_| wants(Role::PodSource)),
        ..detected
    };
    Ok((detected, unused))
}

fn has(detected: &Detected, role: Role) -> bool {
    detected.roles().iter().any(|(found, _)| *found == role)
}

/// The error of roles that are requested and that the component doesn't have.
pub(super) fn missing(detected: &Detected, expected: &[Role]) -> Vec<String> {
    expected.iter().filter(|role| !has(detected, **role)).map(|role| without(*role, detected)).collect()
}

/// Returns what is said of a role that an entry names and its component doesn't have.
pub(super) fn without(role: Role, detected: &Detected) -> String {
    let found: Vec<&str> = detected.roles().iter().map(|(role, _)| role.as_str()).collect();
    format!("its entry names the role {role}, but the component has only {}", found.join(", "))
}
