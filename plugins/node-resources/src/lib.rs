//! Admission handler: the node has the resources that the pod asks for.
//!
//! Shortages are what upstream reports as `OutOfpods`, `OutOfcpu`, `OutOfmemory`, `OutOfephemeral-storage` and so on
//! (the scheduler's `NodeResourcesFit`, which the kubelet applies at admission). A resize beyond what the node has at
//! all is `Infeasible`, as upstream's.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

mod fit;

use witlet_plugin_sdk::{AdmissionHandler, Error, Operation, Request, Verdict, export_admission};

use fit::{infeasible, shortages};

/// The handler.
pub struct NodeResources;

impl AdmissionHandler for NodeResources {
    type Config = ();

    fn admit(request: &Request<'_>, (): &()) -> Result<Verdict, Error> {
        let node = request.node();
        let requests = request.pod().requests();
        let allocatable = node.allocatable();
        if request.operation() == Operation::Resize
            && let Some(message) = infeasible(&requests, &allocatable)
        {
            return Ok(Verdict::reject("Infeasible", message));
        }
        Ok(Verdict::shortages(shortages(&requests, &node.requested(), &allocatable)))
    }
}

export_admission!(NodeResources);

#[cfg(test)]
mod tests;
