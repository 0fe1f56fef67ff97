//! Whether the runtime is well enough to work with, and what the node's Ready condition says of it.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeCondition, NodeRuntimeHandler, NodeRuntimeHandlerFeatures};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use witlet_core::container::backoff::{ExponentialBackoff, LOOP};
use witlet_core::runtime::{RuntimeHandler, RuntimeStatus};
use witlet_ports::RuntimeInfo;

use crate::pleg::Relisted;
use witlet_core::error::one_line;

#[cfg(test)]
mod tests;

/// How the runtime is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Health {
    /// Why nothing can be done with the runtime; empty if it is well.
    pub(crate) errors: Vec<String>,
    /// Why pods can't have a network of their own, if they can't.
    pub(crate) network: Option<String>,
    /// The runtime's own name; empty until it was asked.
    pub(crate) runtime_name: Arc<str>,
    /// What it can do, by the handlers of runtime classes.
    pub(crate) handlers: Arc<[RuntimeHandler]>,
}

impl Health {
    /// Before the runtime was asked for the first time.
    pub(crate) fn unknown() -> Self {
        let errors = vec!["container runtime status check may not have completed yet".to_owned()];
        Self { errors, network: None, runtime_name: "".into(), handlers: [].into() }
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.errors.is_empty()
    }

    /// All that keeps the node from being ready.
    pub(crate) fn problems(&self) -> Vec<String> {
        let network =
            self.network.iter().map(|problem| format!("container runtime network not ready: {problem}"));
        self.errors.iter().cloned().chain(network).collect()
    }
}

/// What the runtime's answer and the age of the last list mean.
fn assess(
    runtime_name: &Arc<str>,
    status: Result<RuntimeStatus, String>,
    relist_age: Option<Duration>,
    relist_age_max: Duration,
) -> Health {
    let mut errors = Vec::new();
    let (mut network, mut handlers) = (None, Vec::new());
    match status {
        Err(error) => errors.push(format!("container runtime is down: {error}")),
        Ok(status) => {
            errors
                .extend(status.failing("RuntimeReady").map(|p| format!("container runtime not ready: {p}")));
            network = status.failing("NetworkReady");
            handlers = status.handlers;
        }
    }
    match relist_age {
        None => errors.push("PLEG is not healthy: pleg has yet to be successful".to_owned()),
        Some(age) if age > relist_age_max => errors.push(format!(
            "PLEG is not healthy: pleg was last seen active {}s ago; threshold is {}s",
            age.as_secs(),
            relist_age_max.as_secs()
        )),
        Some(_) => {}
    }
    Health { errors, network, runtime_name: runtime_name.clone(), handlers: handlers.into() }
}

/// Asks the runtime how it is.
pub(crate) struct HealthCheck {
    pub(crate) runtime: Arc<dyn RuntimeInfo>,
    pub(crate) relisted: watch::Receiver<Relisted>,
    pub(crate) health: watch::Sender<Health>,
    pub(crate) period: Duration,
    pub(crate) relist_age_max: Duration,
}

impl HealthCheck {
    /// Runs until `stop`: each period while all is well, else after 100 ms doubling to 5 s.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let mut backoff = ExponentialBackoff::new(LOOP);
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                health = self.check() => { self.health.send_if_modified(|old| replace(old, health)); }
            }
            let ready = self.health.borrow().is_ready();
            let pause = if ready {
                backoff.succeed();
                self.period
            } else {
                backoff.fail()
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                // The first list after a failure is what was waited for.
                _ = self.relisted.changed(), if !ready => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn check(&mut self) -> Health {
        let mut name = self.health.borrow().runtime_name.clone();
        if name.is_empty()
            && let Ok(version) = self.runtime.version().await
        {
            name = version.runtime_name.into();
        }
        let status = self.runtime.status().await.map_err(|error| one_line(&error));
        let age = self.relisted.borrow_and_update().at.map(|at| Instant::now() - at);
        assess(&name, status, age, self.relist_age_max)
    }
}

fn replace(old: &mut Health, new: Health) -> bool {
    let differs = *old != new;
    *old = new;
    differs
}

/// What a handler of the runtime can do, as the node's status has it (upstream: `nodestatus.RuntimeHandlers`).
fn handler(handler: &RuntimeHandler) -> NodeRuntimeHandler {
    NodeRuntimeHandler {
        name: Some(handler.name.clone()),
        features: Some(NodeRuntimeHandlerFeatures {
            recursive_read_only_mounts: Some(handler.recursive_read_only_mounts),
            user_namespaces: Some(handler.user_namespaces),
        }),
    }
}

/// The node with its Ready condition and the handlers of its runtime. The time of the last transition stays while the
/// condition's status does.
pub(crate) fn node_with_ready(node: &Node, health: &Health, shown: &Node, now: Timestamp) -> Node {
    let problems = health.problems();
    let (status, reason, message) = if problems.is_empty() {
        ("True", "KubeletReady", "kubelet is posting ready status".to_owned())
    } else {
        // As Go writes several errors: one alone has no brackets.
        let all = problems.join(", ");
        ("False", "KubeletNotReady", if problems.len() == 1 { all } else { format!("[{all}]") })
    };
    let before = ready(shown).filter(|condition| condition.status == status);
    let since = before.and_then(|condition| condition.last_transition_time.clone());
    let condition = NodeCondition {
        type_: "Ready".to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message),
        last_heartbeat_time: Some(Time(now)),
        last_transition_time: since.or(Some(Time(now))),
    };
    let mut node = node.clone();
    let status = node.status.get_or_insert_default();
    status.runtime_handlers =
        (!health.handlers.is_empty()).then(|| health.handlers.iter().map(handler).collect());
    let conditions = status.conditions.get_or_insert_default();
    conditions.retain(|condition| condition.type_ != "Ready");
    conditions.push(condition);
    node
}

/// The node's Ready condition.
pub(crate) fn ready(node: &Node) -> Option<&NodeCondition> {
    let mut conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.find(|condition| condition.type_ == "Ready")
}
