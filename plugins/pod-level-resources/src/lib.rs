//! Admission handler: the node does what a pod's own resources (`spec.resources`, KEP-2837) ask for.
//!
//! Upstream's `PodLevelResourcesNotSupported` (`kubelet/lifecycle/handlers_linux.go`): the pod states resources as a whole,
//! and the gate `PodLevelResources` is off. The node says so with the fact `feature-gates.PodLevelResources`; a gate that it
//! doesn't name is as upstream has it, on.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use witlet_plugin_sdk::{AdmissionHandler, Error, Request, Verdict, export_admission};

/// Reason of the rejection.
pub const REASON: &str = "PodLevelResourcesNotSupported";

/// Message of the rejection.
pub const MESSAGE: &str = "PodLevelResources feature gate is disabled";

/// The node's fact that says whether it does.
const GATE_FACT: &str = "feature-gates.PodLevelResources";

/// The handler.
pub struct PodLevelResources;

impl AdmissionHandler for PodLevelResources {
    type Config = ();

    fn admit(request: &Request<'_>, (): &()) -> Result<Verdict, Error> {
        let pod = request.pod();
        let mut states_any = false;
        for field in ["/spec/resources/requests", "/spec/resources/limits"] {
            let amounts: BTreeMap<String, IgnoredAny> = pod.at(field)?.unwrap_or_default();
            states_any |= amounts.keys().any(|resource| is_of_pods(resource));
        }
        if states_any && request.node().fact(GATE_FACT).as_deref() == Some("false") {
            return Ok(Verdict::reject(REASON, MESSAGE));
        }
        Ok(Verdict::Admit)
    }
}

/// What a pod as a whole can state (upstream: `IsSupportedPodLevelResource`).
fn is_of_pods(resource: &str) -> bool {
    resource == "cpu" || resource == "memory" || resource.starts_with("hugepages-")
}

export_admission!(PodLevelResources);

#[cfg(test)]
mod tests;
