//! Claims of resources that drivers prepare (dynamic resource allocation). This release has no drivers.

use k8s_openapi::api::core::v1::Pod;

#[cfg(test)]
mod tests;

/// Why the pod can't start: it claims what someone would have to prepare on the node, and no one can. A claim that its
/// template made nothing of needs no one (upstream: `resourceClaimName` of the status is unset).
pub fn unprepared(pod: &Pod) -> Option<String> {
    let claims = pod.spec.as_ref()?.resource_claims.as_deref().unwrap_or_default();
    let statuses = pod.status.as_ref().and_then(|status| status.resource_claim_statuses.as_deref());
    let needs_no_one = |name: &str| {
        let status = statuses.unwrap_or_default().iter().find(|status| status.name == name);
        status.is_some_and(|status| status.resource_claim_name.is_none())
    };
    let claim = claims.iter().find(|claim| !needs_no_one(&claim.name))?;
    Some(format!(
        "Failed to prepare dynamic resources: claim {:?}: this release has no drivers for resource claims",
        claim.name
    ))
}
