//! Admission handler: the node declares the features that the pod needs (`status.declaredFeatures`, KEP-5328).
//!
//! Upstream's `PodFeatureUnsupported` (`kubelet/lifecycle/handlers.go`, `component-helpers/nodedeclaredfeatures`). Two
//! features can be read from a pod of 1.36: `RestartAllContainersOnContainerExits` and `UserNamespacesHostNetworkSupport`;
//! the others of its registry matter to changes of running pods, which the API server checks. Whether 1.36 knew the second
//! already is the one thing that we aren't sure of.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

use serde::Deserialize;
use witlet_plugin_sdk::{AdmissionHandler, ContainerKind, Error, Pod, Request, Verdict, export_admission};

/// Reason of the rejection.
pub const REASON: &str = "PodFeatureUnsupported";

/// A container's end restarts all containers of its pod (KEP-5532).
const RESTART_ALL: &str = "RestartAllContainersOnContainerExits";

/// A user namespace of the pod's own on the host's network (KEP-5607).
const USERS_ON_HOST_NETWORK: &str = "UserNamespacesHostNetworkSupport";

/// The handler.
pub struct DeclaredFeatures;

/// One of a container's `restartPolicyRules`.
#[derive(Deserialize)]
struct Rule {
    action: Option<String>,
}

impl AdmissionHandler for DeclaredFeatures {
    type Config = ();

    fn admit(request: &Request<'_>, (): &()) -> Result<Verdict, Error> {
        let mut missing = needed(&request.pod())?;
        if missing.is_empty() {
            return Ok(Verdict::Admit);
        }
        let declared: Vec<String> = request.node().at("/status/declaredFeatures")?.unwrap_or_default();
        missing.retain(|feature| !declared.iter().any(|declared| declared == feature));
        if missing.is_empty() {
            return Ok(Verdict::Admit);
        }
        let missing = missing.join(", ");
        Ok(Verdict::reject(REASON, format!("Pod requires node features that are not available: {missing}")))
    }
}

/// Features that the pod needs, sorted by name.
fn needed(pod: &Pod) -> Result<Vec<&'static str>, Error> {
    let mut features = Vec::new();
    if restarts_all(pod)? {
        features.push(RESTART_ALL);
    }
    if pod.at("/spec/hostNetwork")? == Some(true) && pod.at("/spec/hostUsers")? == Some(false) {
        features.push(USERS_ON_HOST_NETWORK);
    }
    Ok(features)
}

fn restarts_all(pod: &Pod) -> Result<bool, Error> {
    let (mut inits, mut apps) = (0.., 0..);
    for container in pod.containers() {
        let (list, index) = match container.kind {
            ContainerKind::Init | ContainerKind::Sidecar => ("initContainers", inits.next()),
            ContainerKind::App => ("containers", apps.next()),
            ContainerKind::Ephemeral => continue,
        };
        let index: usize = index.unwrap_or_default();
        let rules: Vec<Rule> =
            pod.at(&format!("/spec/{list}/{index}/restartPolicyRules"))?.unwrap_or_default();
        if rules.iter().any(|rule| rule.action.as_deref() == Some("RestartAllContainers")) {
            return Ok(true);
        }
    }
    Ok(false)
}

export_admission!(DeclaredFeatures);

#[cfg(test)]
mod tests;
