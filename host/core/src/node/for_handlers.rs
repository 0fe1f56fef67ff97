//! The node as admission handlers see it.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;

use super::NodeFacts;
use super::conditions::with_pressures;
use super::observed::ObservedNode;

#[cfg(test)]
mod tests;

/// Facts of the machine with what the agent decided on and observed, for handlers. `agent` has the conditions of pressures.
pub fn for_handlers(machine: &Arc<NodeFacts>, agent: &Node, observed: ObservedNode) -> Arc<NodeFacts> {
    let with = with_pressures(machine, agent);
    if with.observed == observed {
        return with;
    }
    let mut with = Arc::unwrap_or_clone(with);
    with.observed = observed;
    Arc::new(with)
}
