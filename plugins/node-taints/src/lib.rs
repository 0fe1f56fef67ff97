//! Admission handler: the pod tolerates the node's `NoExecute` taints.
//!
//! The verdict is what upstream's kubelet makes of the scheduler's plugin `TaintToleration`: only `NoExecute` counts, and
//! static pods (those of any source but the API server) aren't asked. The operators `Lt` and `Gt` (KEP-5471) are alpha or
//! off by default and tolerate nothing here; whether 1.36 turns them on is the one thing that we aren't sure of.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

use witlet_plugin_sdk::{AdmissionHandler, Error, Request, Toleration, Verdict, export_admission};

/// Reason of the rejection.
pub const REASON: &str = "TaintToleration";

/// Message of the rejection.
pub const MESSAGE: &str = "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate";

/// The source whose pods were scheduled, and so could have been kept away.
const API: &str = "api";

/// The effect that counts on the node.
const NO_EXECUTE: &str = "NoExecute";

/// The handler.
pub struct NodeTaints;

impl AdmissionHandler for NodeTaints {
    type Config = ();

    fn admit(request: &Request<'_>, (): &()) -> Result<Verdict, Error> {
        let pod = request.pod();
        if pod.source() != API {
            return Ok(Verdict::Admit);
        }
        let mut taints = request.node().taints();
        taints.retain(|taint| taint.effect == NO_EXECUTE);
        if taints.is_empty() {
            return Ok(Verdict::Admit);
        }
        let tolerations: Vec<Toleration> = pod.at("/spec/tolerations")?.unwrap_or_default();
        if taints.iter().all(|taint| tolerations.iter().any(|toleration| toleration.tolerates(taint))) {
            return Ok(Verdict::Admit);
        }
        Ok(Verdict::reject(REASON, MESSAGE))
    }
}

export_admission!(NodeTaints);

#[cfg(test)]
mod tests;
