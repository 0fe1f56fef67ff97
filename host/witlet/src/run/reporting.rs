//! The agent as it is shown, with the sources that can't be read.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::Value;
use tokio::sync::watch;
use witlet_core::eviction::ThresholdState;
use witlet_core::node::conditions;
use witlet_core::pod::PodUid;
use witlet_ports::{
    AgentStats, AgentView, Clock, EventPage, PodDescription, PodPage, RecordedEvent, SourceHealth,
};
use witlet_server::PluginView;
use witlet_wasm::host::PluginHost;

use crate::run::plugin_sets::ShownSet;
use crate::run::reported_state::ReportedState;

#[cfg(test)]
mod tests;

/// Why plugins aren't loaded as their configuration has them.
pub(crate) trait PluginProblems: Send + Sync {
    /// A sentence for each; none if no plugin is configured.
    fn problems(&self) -> Option<Vec<String>>;
}

/// What the local API shows of the plugins, and of the set that they are of.
pub(crate) struct ShownPlugins {
    host: Arc<PluginHost>,
    set: Option<Arc<ShownSet>>,
}

impl ShownPlugins {
    /// Creates the reports of this host; with a set where the operator allows some.
    pub(crate) fn new(host: Arc<PluginHost>, set: Option<Arc<ShownSet>>) -> Self {
        Self { host, set }
    }
}

impl PluginView for ShownPlugins {
    fn plugins(&self) -> Vec<Value> {
        // A status has no value without a JSON form.
        self.host.list().iter().map(|status| serde_json::to_value(status).unwrap_or_default()).collect()
    }

    fn set(&self) -> Value {
        self.set.as_ref().map_or(Value::Null, |set| set.to_json())
    }
}

/// Adds [`conditions::SOURCE_UNREADABLE`] and [`conditions::PLUGINS_READY`] to the node, makes one unready whose state can't be saved, and adds how long each source couldn't be read to the numbers.
pub(crate) struct Reporting {
    agent: Arc<dyn AgentView>,
    health: Arc<SourceHealth>,
    state: Arc<ReportedState>,
    plugins: Arc<dyn PluginProblems>,
    set: Option<Arc<ShownSet>>,
    clock: Arc<dyn Clock>,
}

impl Reporting {
    /// Over an agent, the health of its sources, its state files and its plugins.
    pub(crate) fn new(
        agent: Arc<dyn AgentView>,
        health: Arc<SourceHealth>,
        state: Arc<ReportedState>,
        plugins: Arc<dyn PluginProblems>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { agent, health, state, plugins, set: None, clock }
    }

    /// Adds the set of plugins that the node's annotation chose.
    pub(crate) fn with_set(self, set: Option<Arc<ShownSet>>) -> Self {
        Self { set, ..self }
    }
}

impl AgentView for Reporting {
    fn pods(&self) -> Vec<Arc<Pod>> {
        self.agent.pods()
    }

    fn pod(&self, namespace: &str, name: &str) -> Option<Arc<Pod>> {
        self.agent.pod(namespace, name)
    }

    fn events(&self) -> Vec<RecordedEvent> {
        self.agent.events()
    }

    fn events_after(&self, version: u64) -> EventPage {
        self.agent.events_after(version)
    }

    fn event_changes(&self) -> watch::Receiver<u64> {
        self.agent.event_changes()
    }

    fn pods_after(&self, version: u64) -> PodPage {
        self.agent.pods_after(version)
    }

    fn pod_changes(&self) -> watch::Receiver<u64> {
        self.agent.pod_changes()
    }

    fn describe_pod(&self, uid: &PodUid) -> PodDescription {
        self.agent.describe_pod(uid)
    }

    fn node(&self) -> Arc<Node> {
        let node = self.agent.node();
        let unread = conditions::source_unreadable(&self.health.all_unread());
        let not_ready = self.state.not_ready().map(conditions::not_ready);
        let plugins = self.plugins.problems().map(|problems| conditions::plugins_ready(&problems));
        let set = self.set.as_ref().map(|set| set.report());
        if unread.is_none() && not_ready.is_none() && plugins.is_none() && set.is_none() {
            return node;
        }
        let mut shown = Node::clone(&node);
        if let Some(set) = set {
            set.write(&mut shown);
        }
        let all = shown.status.get_or_insert_default().conditions.get_or_insert_default();
        for condition in not_ready.into_iter().chain(unread).chain(plugins) {
            conditions::set_shown(all, &condition, self.clock.now());
        }
        Arc::new(shown)
    }

    fn unhealthy(&self) -> Vec<String> {
        self.agent.unhealthy()
    }

    fn stats(&self) -> AgentStats {
        let now = self.clock.now();
        let lasted = |since| Duration::try_from(now.duration_since(since)).unwrap_or_default();
        let unread = self.health.all_unread();
        AgentStats {
            unread_sources: unread.into_iter().map(|unread| (unread.source, lasted(unread.since))).collect(),
            ..self.agent.stats()
        }
    }

    fn thresholds(&self) -> Vec<ThresholdState> {
        self.agent.thresholds()
    }
}
