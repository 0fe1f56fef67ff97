//! `shadowOf`: an entry whose answers are compared with those of another one.

use super::{AdmissionMode, ConfigError, PluginEntry, field};
use crate::role::Role;

/// Checks each `shadowOf` against the entry that it names. `places` are those of the entries in the file.
pub(super) fn check_all(plugins: &[PluginEntry], places: &[usize]) -> Result<(), ConfigError> {
    for (index, entry) in plugins.iter().enumerate() {
        for role in Role::ALL {
            let Some(of) = shadow_of(entry, role) else { continue };
            if let Err(problem) = check(of, entry, role, plugins) {
                let place = places.get(index).copied().unwrap_or(index);
                return field(&format!("plugins[{place}].{}.shadowOf", role.as_str()), problem);
            }
        }
    }
    Ok(())
}

/// The entry whose shadow this one is in a role.
fn shadow_of(entry: &PluginEntry, role: Role) -> Option<&str> {
    let named = match role {
        Role::Admission => entry.admission.as_ref()?.shadow_of.as_ref(),
        Role::Probe => entry.probe.as_ref()?.shadow_of.as_ref(),
        Role::PodSource => entry.pod_source.as_ref()?.shadow_of.as_ref(),
    };
    named.map(|of| &**of)
}

/// Why `entry` can't be a shadow of the entry `of`, if it can't.
fn check(of: &str, entry: &PluginEntry, role: Role, plugins: &[PluginEntry]) -> Result<(), String> {
    if of == entry.name {
        return Err(format!("{of:?} is this entry: name the one that it is compared with"));
    }
    let Some(judge) = plugins.iter().find(|other| other.name == of) else {
        return Err(format!("no other entry is called {of:?}: name the one that it is compared with"));
    };
    let (has_role, is_shadow) = match role {
        Role::Admission => {
            let mode = judge.admission.as_ref().map(|role| role.mode);
            (mode.is_some(), mode == Some(AdmissionMode::Shadow))
        }
        Role::Probe => (judge.probe.is_some(), shadow_of(judge, role).is_some()),
        Role::PodSource => (judge.pod_source.is_some(), shadow_of(judge, role).is_some()),
    };
    if !has_role {
        return Err(format!(
            "{of:?} does not have the role {role}, so that there is nothing to compare with"
        ));
    }
    if is_shadow {
        return Err(format!("{of:?} is a shadow itself: name the entry whose answers count"));
    }
    Ok(())
}
