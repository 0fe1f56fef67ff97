//! Admission handler: the pod isn't meant for another node.
//!
//! The verdict is upstream's predicate `NodeName` (the scheduler's plugin of that name, applied at admission).

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

use witlet_plugin_sdk::{AdmissionHandler, Error, Request, Verdict, export_admission};

/// Reason of the rejection.
pub const REASON: &str = "NodeName";

/// Message of the rejection.
pub const MESSAGE: &str = "Predicate NodeName failed: node(s) didn't match the requested node name";

/// The handler.
pub struct NodeName;

impl AdmissionHandler for NodeName {
    type Config = ();

    fn admit(request: &Request<'_>, (): &()) -> Result<Verdict, Error> {
        let expected: String = request.pod().at("/spec/nodeName")?.unwrap_or_default();
        if expected.is_empty() || expected == request.node().name() {
            return Ok(Verdict::Admit);
        }
        Ok(Verdict::reject(REASON, MESSAGE))
    }
}

export_admission!(NodeName);

#[cfg(test)]
mod tests;
