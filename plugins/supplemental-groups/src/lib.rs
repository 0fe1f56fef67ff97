//! Admission handler: the container runtime can keep to the pod's policy for supplemental groups.
//!
//! Upstream's predicate on `spec.securityContext.supplementalGroupsPolicy`: `Strict` needs a runtime that says it can
//! (`status.features.supplementalGroupsPolicy` of the node; KEP-3619).

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

use witlet_plugin_sdk::{AdmissionHandler, Error, Request, Verdict, export_admission};

/// Reason of the rejection.
pub const REASON: &str = "SupplementalGroupsPolicyNotSupported";

/// Message of the rejection.
pub const MESSAGE: &str = "SupplementalGroupsPolicy=Strict is not supported in this node";

/// The policy that not every runtime knows.
const STRICT: &str = "Strict";

/// The handler.
pub struct SupplementalGroups;

impl AdmissionHandler for SupplementalGroups {
    type Config = ();

    fn admit(request: &Request<'_>, (): &()) -> Result<Verdict, Error> {
        let policy: Option<String> = request.pod().at("/spec/securityContext/supplementalGroupsPolicy")?;
        if policy.as_deref() != Some(STRICT) {
            return Ok(Verdict::Admit);
        }
        let supported: Option<bool> = request.node().at("/status/features/supplementalGroupsPolicy")?;
        if supported == Some(true) {
            return Ok(Verdict::Admit);
        }
        Ok(Verdict::reject(REASON, MESSAGE))
    }
}

export_admission!(SupplementalGroups);

#[cfg(test)]
mod tests;
