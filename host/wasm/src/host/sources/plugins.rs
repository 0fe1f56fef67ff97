//! The host's plugins as sources: asked under their health, counted and recorded as all calls are.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::Instrument as _;
use witlet_core::pod::SourceName;
use witlet_core::sources::plugin::{PodNews, PollResponse, Snapshot, SourceFault};
use witlet_core::sources::polling::{Polled, Settings};
use witlet_ports::{NotifyRetry, PodSourceSet, SourceNotifyError};

use super::super::{PluginHost, Shared};
use super::HostSources;
use super::spec::{SourcePlugins, SourceSpec, SourcesConfig};
use crate::metrics::{Call, CallOutcome};
use crate::plugin::async_engine::{AsyncCalled, AsyncPlugin};
use crate::plugin::{CallError, Plugin, end_span};
use crate::role::Role;
use crate::worlds::pod_source::{Feedback, NotTaken};

impl PluginHost {
    /// The port through which the agent receives pods of plugins. Once for each agent.
    pub fn pod_sources(&self, config: SourcesConfig) -> Arc<dyn PodSourceSet> {
        Arc::new(HostSources::new(self.shared.clone(), config))
    }
}

#[async_trait]
impl SourcePlugins for Shared {
    fn sources(&self) -> Vec<SourceSpec> {
        self.plugins().iter().filter_map(source_spec).collect()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    async fn poll(&self, name: &SourceName, cursor: Option<&str>) -> Polled {
        let plugins = self.plugins();
        let Some(plugin) = plugins.iter().find(|plugin| *plugin.spec.name == *name.as_str()) else {
            // It has just been removed: the task that asks is about to end.
            return Polled::NotYet;
        };
        let span = tracing::error_span!("plugin_call", plugin = name.as_str(), role = %Role::PodSource);
        let polled = self.poll_plugin(plugin, cursor).instrument(span).await;
        if let Polled::Answer(answer) = &polled {
            self.shadow_calls.polled(&plugins, plugin, answer);
        }
        polled
    }

    async fn tell(&self, name: &SourceName, news: Vec<PodNews>) -> Result<(), SourceNotifyError> {
        let plugins = self.plugins();
        let plugin = plugins
            .iter()
            .find(|plugin| *plugin.spec.name == *name.as_str())
            .ok_or_else(|| not_reported(Feedback::None, None, "it is gone".to_owned()))?;
        let feedback = feedback(plugin);
        let guests = self.source_guests(plugin);
        let guests = guests.map_err(|error| not_reported(feedback, None, error.sentence()))?;
        let _busy = plugin.metrics().role(Role::PodSource).begin();
        let mut span = self.tracer.span(|| plugin.span_of(Role::PodSource, "statuses", None));
        let asked = Instant::now();
        let AsyncCalled { result, memory_bytes_peak, cpu, waited, .. } =
            span.scope(guests.notify(news.into())).await;
        let (result, retry_after) = taken(result);
        let outcome = match &result {
            Ok(()) => CallOutcome::Notified,
            Err(error) => CallOutcome::from(error.kind()),
        };
        end_span(&mut span, waited, outcome, result.as_ref().err());
        let call = Call { outcome, took: asked.elapsed(), memory_bytes_peak: memory_bytes_peak as u64, cpu };
        self.note_source(plugin, call, result.as_ref().err());
        result.map_err(|error| not_reported(feedback, retry_after, error.sentence()))
    }
}

/// Why a source didn't receive its news. What its contract promises says when it gets them again.
fn not_reported(feedback: Feedback, retry_after: Option<Duration>, message: String) -> SourceNotifyError {
    let retry = match (feedback, retry_after) {
        (Feedback::None | Feedback::WithNextChange, _) => NotifyRetry::WithNextChange,
        (Feedback::AtLeastOnce, Some(delay)) => NotifyRetry::After(delay),
        (Feedback::AtLeastOnce, None) => NotifyRetry::BackOff,
    };
    SourceNotifyError { message, retry }
}

/// Returns what a plugin wants to receive of its pods; nothing while it isn't loaded.
fn feedback(plugin: &Plugin) -> Feedback {
    let guests = plugin.code.ready().and_then(|loaded| loaded.async_plugin.as_ref());
    guests.map_or(Feedback::None, |guests| guests.feedback())
}

/// Whether a source took its news, and when it wants to receive them again if not.
fn taken(result: Result<Result<(), NotTaken>, CallError>) -> (Result<(), CallError>, Option<Duration>) {
    match result {
        Ok(Ok(())) => (Ok(()), None),
        Ok(Err(NotTaken { words, retry_after })) => (Err(CallError::Refused { words }), retry_after),
        Err(error) => (Err(error), None),
    }
}

/// None unless the plugin is a source that counts. One that isn't loaded is one all the same: its pods are safe.
fn source_spec(plugin: &Arc<Plugin>) -> Option<SourceSpec> {
    let role = plugin.spec.pod_source.as_ref().filter(|role| role.shadow_of.is_none())?;
    let guests = plugin.code.ready().and_then(|loaded| loaded.async_plugin.as_ref());
    Some(SourceSpec {
        name: SourceName::from(&*plugin.spec.name),
        settings: Settings { allowance: role.allow.as_ref().clone(), interval: role.interval },
        config: plugin.spec.config.clone(),
        keeps_state: plugin.spec.grants.state,
        listens: feedback(plugin) != Feedback::None,
        wants_left_out: feedback(plugin) == Feedback::AtLeastOnce,
        // While the specification says so, other code lies elsewhere.
        version: guests.map_or(0, |guests| Arc::as_ptr(guests).addr()),
    })
}

impl Shared {
    async fn poll_plugin(&self, plugin: &Plugin, cursor: Option<&str>) -> Polled {
        match self.poll_measured(plugin, cursor).await.0 {
            Ok(Ok(answer)) => Polled::Answer(answer),
            Ok(Err(fault)) => Polled::Fault(fault),
            Err(error) => failure(&error),
        }
    }

    /// Polls a plugin, notes how it went, and says how long it took.
    pub(in crate::host) async fn poll_measured(
        &self,
        plugin: &Plugin,
        cursor: Option<&str>,
    ) -> (Result<Result<PollResponse, SourceFault>, CallError>, Duration) {
        let guests = match self.source_guests(plugin) {
            Ok(guests) => guests,
            Err(error) => return (Err(error), Duration::ZERO),
        };
        let _busy = plugin.metrics().role(Role::PodSource).begin();
        let mut span = self.tracer.span(|| plugin.span_of(Role::PodSource, "poll", None));
        let asked = Instant::now();
        let AsyncCalled { result, memory_bytes_peak, cpu, waited, .. } =
            span.scope(guests.poll(cursor)).await;
        let took = asked.elapsed();
        let outcome = match &result {
            Ok(Ok(PollResponse { snapshot: Snapshot::Unchanged, .. })) => CallOutcome::Unchanged,
            Ok(Ok(PollResponse { snapshot: Snapshot::Pods(_), .. })) => CallOutcome::Pods,
            Ok(Ok(PollResponse { snapshot: Snapshot::Empty, .. })) => CallOutcome::Empty,
            Ok(Err(SourceFault { .. })) => CallOutcome::Error,
            Err(error) => CallOutcome::from(error.kind()),
        };
        end_span(&mut span, waited, outcome, result.as_ref().err());
        let call = Call { outcome, took, memory_bytes_peak: memory_bytes_peak as u64, cpu };
        self.note_source(plugin, call, result.as_ref().err());
        if let Some(recorder) = &plugin.recorder {
            recorder.poll(cursor, &result, took);
        }
        (result, took)
    }

    /// Returns what can be asked; an attempt that can't is counted.
    fn source_guests(&self, plugin: &Plugin) -> Result<Arc<AsyncPlugin>, CallError> {
        let gate = plugin.gate(Role::PodSource, Instant::now());
        gate.and_then(|loaded| loaded.async_plugin.clone().ok_or(CallError::Host)).inspect_err(|error| {
            let outcome = CallOutcome::from(error.kind());
            let call = Call { outcome, took: Duration::ZERO, memory_bytes_peak: 0, cpu: Duration::ZERO };
            self.note_source(plugin, call, Some(error));
        })
    }

    fn note_source(&self, plugin: &Plugin, call: Call, error: Option<&CallError>) {
        let name = &*plugin.spec.name;
        tracing::debug!(plugin = name, took = ?call.took, outcome = call.outcome.as_str(), "Called plugin");
        let change = plugin.record(Role::PodSource, call, error, Instant::now());
        if let Some(change) = change {
            self.report_change(name, change, error);
        }
    }
}

/// Why a source has no answer, for its event.
fn failure(error: &CallError) -> Polled {
    let (reason, not_before) = match error {
        CallError::Trap { .. }
        | CallError::StackOverflow
        | CallError::WouldBlock(_)
        | CallError::TooMuchData { .. }
        | CallError::Exited { .. } => ("Trapped", None),
        CallError::Timeout { .. } => ("TimedOut", None),
        CallError::OutOfMemory { .. } | CallError::OutOfTable { .. } => ("OutOfMemory", None),
        CallError::State(_) => ("StateTooLarge", None),
        CallError::BadAnswer { .. } | CallError::Mismatch { .. } => ("InvalidAnswer", None),
        CallError::Refused { .. } => ("Refused", None),
        CallError::NotLoaded { .. } => ("NotLoaded", None),
        CallError::Loading => return Polled::NotYet,
        CallError::Quarantined { remaining } => ("Quarantined", Some(*remaining)),
        CallError::Busy | CallError::Host => ("Host", None),
    };
    Polled::Failure { reason: reason.to_owned(), message: error.sentence(), not_before }
}
