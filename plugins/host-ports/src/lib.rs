//! Admission handler: the ports that the pod takes on the host are free.
//!
//! The verdict is upstream's predicate `NodePorts` (the scheduler's plugin of that name, applied at admission).

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

mod conflict;

use witlet_plugin_sdk::{AdmissionHandler, Error, Request, Verdict, export_admission};

use conflict::conflicts;

/// Reason of the rejection.
pub const REASON: &str = "NodePorts";

/// Message of the rejection.
pub const MESSAGE: &str =
    "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";

/// The handler.
pub struct HostPorts;

impl AdmissionHandler for HostPorts {
    type Config = ();

    fn admit(request: &Request<'_>, (): &()) -> Result<Verdict, Error> {
        let requested = request.pod().host_ports();
        if requested.is_empty() || !conflicts(&requested, &request.node().used_host_ports()) {
            return Ok(Verdict::Admit);
        }
        Ok(Verdict::reject(REASON, MESSAGE))
    }
}

export_admission!(HostPorts);

#[cfg(test)]
mod tests;
