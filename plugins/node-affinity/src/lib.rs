//! Admission handler: the node is one that the pod's `nodeSelector` and required node affinity select.
//!
//! The verdict is upstream's predicate `NodeAffinity` (the scheduler's plugin of that name, applied at admission).
//! Preferences (`preferredDuringScheduling…`) are the scheduler's alone.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

mod label;
mod selector;

use std::collections::BTreeMap;

use witlet_plugin_sdk::{AdmissionHandler, Error, Request, Verdict, export_admission};

use selector::{Affinity, NodeNames, selects};

/// Reason of the rejection.
pub const REASON: &str = "NodeAffinity";

/// Message of the rejection.
pub const MESSAGE: &str = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";

/// Where the labels stand that the node must have.
const SELECTOR: &str = "/spec/nodeSelector";

/// Where the affinity stands that must hold.
const AFFINITY: &str = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";

/// The handler.
pub struct NodeAffinity;

impl AdmissionHandler for NodeAffinity {
    type Config = ();

    fn admit(request: &Request<'_>, (): &()) -> Result<Verdict, Error> {
        let pod = request.pod();
        let selector: BTreeMap<String, String> = pod.at(SELECTOR)?.unwrap_or_default();
        let affinity: Option<Affinity> = pod.at(AFFINITY)?;
        if selector.is_empty() && affinity.is_none() {
            return Ok(Verdict::Admit);
        }
        let node = request.node();
        let labels = node.labels().into_iter().collect();
        let names = NodeNames { name: &node.name(), labels: &labels };
        if selects(&selector, affinity.as_ref(), &names) {
            return Ok(Verdict::Admit);
        }
        Ok(Verdict::reject(REASON, MESSAGE))
    }
}

export_admission!(NodeAffinity);

#[cfg(test)]
mod tests;
