//! Admission handler: the pod is for this node's operating system.
//!
//! Upstream's first two predicates: the pod's own label `kubernetes.io/os` (its label, not its node selector, which is
//! the business of node affinity), and `spec.os.name`. The node's label is taken for what the node really runs, as
//! upstream puts it right before it compares.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

use witlet_plugin_sdk::{AdmissionHandler, Error, Request, Verdict, export_admission};

/// Label of pods and nodes.
pub const OS_LABEL: &str = "kubernetes.io/os";

/// Reason where the pod's label says another system.
pub const LABEL_REASON: &str = "PodOSSelectorNodeLabelDoesNotMatch";

/// Message to it.
pub const LABEL_MESSAGE: &str =
    "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label";

/// Reason where the pod's field says another system.
pub const FIELD_REASON: &str = "PodOSNotSupported";

/// Message to it.
pub const FIELD_MESSAGE: &str = "Failed to admit pod as the OS field doesn't match node OS";

/// The node's fact that names its system.
const OS_FACT: &str = "os";

/// The handler.
pub struct NodeOs;

impl AdmissionHandler for NodeOs {
    type Config = ();

    fn admit(request: &Request<'_>, (): &()) -> Result<Verdict, Error> {
        let pod = request.pod();
        let label = pod.label(OS_LABEL);
        let field: Option<String> = pod.at("/spec/os/name")?;
        if label.is_none() && field.is_none() {
            return Ok(Verdict::Admit);
        }
        let os = request.node().fact(OS_FACT);
        let os = os.ok_or_else(|| Error::invalid(OS_FACT, "the node doesn't say which system it runs"))?;
        if label.is_some_and(|label| label != os) {
            return Ok(Verdict::reject(LABEL_REASON, LABEL_MESSAGE));
        }
        if field.is_some_and(|field| field != os) {
            return Ok(Verdict::reject(FIELD_REASON, FIELD_MESSAGE));
        }
        Ok(Verdict::Admit)
    }
}

export_admission!(NodeOs);

#[cfg(test)]
mod tests;
