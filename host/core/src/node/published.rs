//! The node as the agent publishes it: the machine's, with what is known of the runtime and of pressures (upstream:
//! `nodestatus/setters.go`).

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeCondition, NodeRuntimeHandler, NodeRuntimeHandlerFeatures};

use super::conditions::{self, Pressures, READY, set_pressures, set_shown};
use crate::runtime::RuntimeHandler;

#[cfg(test)]
mod tests;

/// What the node is made from.
#[derive(Clone, Copy, Debug)]
pub struct NodeInput<'a> {
    pub machine: &'a Node,
    /// As it was published before.
    pub before: &'a Node,
    /// Why the node isn't ready; empty if it is.
    pub problems: &'a [String],
    /// What the runtime can do.
    pub handlers: &'a [RuntimeHandler],
    /// What is short; none before that was checked.
    pub pressures: Option<Pressures>,
    pub now: Timestamp,
}

/// The node, and what changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PublishedNode {
    pub node: Node,
    /// Reason of an event if it is ready now and wasn't, or the other way round.
    pub readiness: Option<&'static str>,
    /// Reasons of events about pressures.
    pub pressures: Vec<&'static str>,
}

/// Makes the node. The time of a condition's last transition stays while its status does.
pub fn publish(input: NodeInput<'_>) -> PublishedNode {
    let NodeInput { machine, before, problems, handlers, pressures, now } = input;
    let mut node = machine.clone();
    let status = node.status.get_or_insert_default();
    status.runtime_handlers = (!handlers.is_empty()).then(|| handlers.iter().map(handler).collect());
    let all = status.conditions.get_or_insert_default();
    all.retain(|condition| condition.type_ != READY);
    all.extend(conditions::ready(before).cloned());
    set_shown(all, &ready(problems), now);
    let changed = pressures.map(|pressures| {
        let known = before.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let known = known.filter(|known| known.type_.ends_with("Pressure"));
        let missing: Vec<NodeCondition> =
            known.filter(|known| all.iter().all(|other| other.type_ != known.type_)).cloned().collect();
        all.extend(missing);
        set_pressures(all, pressures, now)
    });
    let (was_ready, is_ready) =
        (conditions::ready(before).map(|was| was.status == "True"), problems.is_empty());
    let is_news = was_ready != Some(is_ready) && (was_ready.is_some() || is_ready);
    let readiness = is_news.then_some(if is_ready { "NodeReady" } else { "NodeNotReady" });
    PublishedNode { node, readiness, pressures: changed.unwrap_or_default() }
}

fn ready(problems: &[String]) -> NodeCondition {
    match problems {
        [] => NodeCondition {
            type_: READY.to_owned(),
            status: "True".to_owned(),
            reason: Some("KubeletReady".to_owned()),
            message: Some("kubelet is posting ready status".to_owned()),
            ..NodeCondition::default()
        },
        // As Go writes several errors: one alone has no brackets.
        [problem] => conditions::not_ready(problem.clone()),
        problems => conditions::not_ready(format!("[{}]", problems.join(", "))),
    }
}

fn handler(handler: &RuntimeHandler) -> NodeRuntimeHandler {
    NodeRuntimeHandler {
        name: Some(handler.name.clone()),
        features: Some(NodeRuntimeHandlerFeatures {
            recursive_read_only_mounts: Some(handler.recursive_read_only_mounts),
            user_namespaces: Some(handler.user_namespaces),
        }),
    }
}
