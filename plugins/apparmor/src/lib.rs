//! Admission handler: the host can enforce the AppArmor profiles that the pod asks for.
//!
//! Upstream's `AppArmor` (`kubelet/lifecycle/handlers.go`, `pkg/security/apparmor`): a pod that asks for any profile but
//! `Unconfined`, by field or by the old annotation, needs a host with AppArmor, and a profile of the host needs a name. A
//! pod that runs already isn't asked. Not sure to the letter: what upstream prints in quotes where the name is empty.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

mod profile;

use witlet_plugin_sdk::{
    AdmissionHandler, ContainerKind, Error, Operation, Pod, Request, Verdict, export_admission,
};

use profile::Profile;

/// Reason of the rejection.
pub const REASON: &str = "AppArmor";

/// What the annotations begin with that named profiles before the fields did; a container's name follows.
pub const ANNOTATION_PREFIX: &str = "container.apparmor.security.beta.kubernetes.io/";

/// The node's fact that says whether the kernel enforces profiles.
const ENABLED_FACT: &str = "apparmor.enabled";

/// The handler.
pub struct AppArmor;

impl AdmissionHandler for AppArmor {
    type Config = ();

    fn admit(request: &Request<'_>, (): &()) -> Result<Verdict, Error> {
        let pod = request.pod();
        if request.operation() == Operation::Resize || has_started(&pod)? {
            return Ok(Verdict::Admit);
        }
        let of_pod = at(&pod, "/spec/securityContext")?;
        let containers = of_containers(&pod)?;
        let mut annotations = pod.annotations();
        annotations.retain(|(key, _)| key.starts_with(ANNOTATION_PREFIX));
        let is_required =
            of_pod.iter().chain(containers.iter().filter_map(|(_, own)| own.as_ref())).any(Profile::confines)
                || annotations.iter().any(|(_, value)| value != profile::UNCONFINED);
        if !is_required {
            return Ok(Verdict::Admit);
        }
        if request.node().fact(ENABLED_FACT).as_deref() != Some("true") {
            return Ok(refuse("AppArmor is not enabled on the host"));
        }
        let effective = containers.iter().filter_map(|(name, own)| {
            let annotated = || {
                let (_, value) =
                    annotations.iter().find(|(key, _)| key[ANNOTATION_PREFIX.len()..] == **name)?;
                Profile::annotated(value)
            };
            own.clone().or_else(annotated).or_else(|| of_pod.clone())
        });
        for profile in effective {
            if profile.lacks_name() {
                return Ok(refuse("invalid empty AppArmor profile name: \"\""));
            }
        }
        Ok(Verdict::Admit)
    }
}

/// Upstream checks pending pods only.
fn has_started(pod: &Pod) -> Result<bool, Error> {
    let phase: Option<String> = pod.at("/status/phase")?;
    Ok(phase.is_some_and(|phase| !phase.is_empty() && phase != "Pending"))
}

/// Name and own profile of every container.
fn of_containers(pod: &Pod) -> Result<Vec<(String, Option<Profile>)>, Error> {
    let (mut inits, mut apps, mut ephemerals) = (0.., 0.., 0..);
    let mut found = Vec::new();
    for container in pod.containers() {
        let (list, index) = match container.kind {
            ContainerKind::Init | ContainerKind::Sidecar => ("initContainers", inits.next()),
            ContainerKind::App => ("containers", apps.next()),
            ContainerKind::Ephemeral => ("ephemeralContainers", ephemerals.next()),
        };
        let index: usize = index.unwrap_or_default();
        found.push((container.name, at(pod, &format!("/spec/{list}/{index}/securityContext"))?));
    }
    Ok(found)
}

fn at(pod: &Pod, context: &str) -> Result<Option<Profile>, Error> {
    let Some(kind) = pod.at::<String>(&format!("{context}/appArmorProfile/type"))? else { return Ok(None) };
    let name = pod.at(&format!("{context}/appArmorProfile/localhostProfile"))?;
    Ok(Some(Profile { kind, name }))
}

fn refuse(problem: &str) -> Verdict {
    Verdict::reject(REASON, format!("Cannot enforce AppArmor: {problem}"))
}

export_admission!(AppArmor);

#[cfg(test)]
mod tests;
