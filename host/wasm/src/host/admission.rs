//! The admission port: one handler after the other, each under its own limits and failure policy.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio::time::Instant;
use witlet_core::admission::chain::{Answer, Chain, Next};
use witlet_core::admission::{AdmissionRequest, Decision, Verdict};
use witlet_core::event::{Event, EventObject, EventType};
use witlet_ports::Admission;

use super::Shared;
use crate::plugin::{CallError, HealthChange, Plugin};
use crate::worlds::admission::facts::RequestFacts;

pub(super) struct HostAdmission {
    shared: Arc<Shared>,
}

impl HostAdmission {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

#[async_trait]
impl Admission for HostAdmission {
    async fn admit(&self, request: AdmissionRequest) -> Decision {
        let plugins = self.shared.plugins();
        let namespace = request.pod.metadata.namespace.clone().unwrap_or_default();
        let facts = Arc::new(RequestFacts::new(request));
        let mut chain = Chain::new();
        for plugin in plugins.iter().filter(|plugin| plugin.spec.namespaces.matches(&namespace)) {
            let answer = self.shared.ask(plugin, &facts).await;
            match chain.answer(&plugin.spec.name, answer) {
                Next::Continue(next) => chain = next,
                Next::Decided(decision) => return decision,
            }
        }
        chain.finish()
    }

    fn generation(&self) -> watch::Receiver<u64> {
        self.shared.generation.subscribe()
    }
}

impl Shared {
    /// What the chain hears from one plugin.
    async fn ask(&self, plugin: &Plugin, facts: &Arc<RequestFacts>) -> Answer {
        match self.verdict(plugin, facts).await {
            Ok(verdict) => Answer::Verdict(verdict),
            Err(error) => Answer::Failure {
                kind: error.kind(),
                message: error.sentence(),
                policy: plugin.spec.failure_policy,
            },
        }
    }

    async fn verdict(&self, plugin: &Plugin, facts: &Arc<RequestFacts>) -> Result<Verdict, CallError> {
        let started = Instant::now();
        let code = plugin.gate(started)?;
        let result = match self.caller.admit(&code.guests, facts).await {
            Ok(called) => {
                plugin.record_memory(called.memory_bytes_peak);
                called.result
            }
            Err(error) => Err(error),
        };
        let now = Instant::now();
        let took = now.saturating_duration_since(started);
        let change = plugin.record(&result, took, now);
        let name = &*plugin.spec.name;
        match &result {
            Ok(verdict) => {
                tracing::debug!(plugin = name, pod = facts.pod().uid(), ?took, ?verdict, "plugin asked")
            }
            Err(error) => tracing::warn!(
                plugin = name,
                pod = facts.pod().uid(),
                ?took,
                error = error.sentence(),
                "plugin failed"
            ),
        }
        if let Some(change) = change {
            self.tell_change(name, change, result.as_ref().err());
        }
        result
    }

    fn tell_change(&self, name: &str, change: HealthChange, error: Option<&CallError>) {
        let (kind, reason, message) = match change {
            HealthChange::Quarantined { lasts } => (
                EventType::Warning,
                "PluginQuarantined",
                format!(
                    "isn't asked for {}s: {}",
                    lasts.as_secs(),
                    error.map(CallError::sentence).unwrap_or_default()
                ),
            ),
            HealthChange::Recovered => {
                (EventType::Normal, "PluginRecovered", "answers again after a quarantine".to_owned())
            }
        };
        tracing::warn!(plugin = name, reason, message);
        self.events.record(Event {
            object: EventObject::Plugin(name.to_owned()),
            kind,
            reason: reason.to_owned(),
            message,
        });
    }
}
