//! The port to probe types: each type is a plugin's.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;
use tracing::Instrument as _;
use witlet_core::pod::PodFullName;
use witlet_core::probe::{ProbeOutcome, ProbeRequest};
use witlet_ports::{ProbeError, ProbeTypes};

use super::Shared;
use crate::metrics::{Call, CallOutcome};
use crate::plugin::async_engine::{AsyncCalled, AsyncPlugin};
use crate::plugin::{CallError, Loaded, Plugin, end_span};
use crate::record::ExecRecord;
use crate::role::Role;
use crate::worlds::probe::answer::ProbeRemarks;
use crate::worlds::probe::facts::ProbeFacts;

/// Probe types of the host's plugins, as they are at each call.
pub(super) struct HostProbes {
    shared: Arc<Shared>,
}

impl HostProbes {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

#[async_trait]
impl ProbeTypes for HostProbes {
    async fn probe(&self, request: &ProbeRequest) -> Result<ProbeOutcome, ProbeError> {
        let plugins = self.shared.plugins();
        let has_type = |plugin: &&Arc<Plugin>| {
            plugin
                .spec
                .probe
                .as_ref()
                .is_some_and(|role| role.shadow_of.is_none() && *role.probe_type == *request.probe_type)
        };
        let Some(plugin) = plugins.iter().find(has_type) else {
            return Err(ProbeError::UnknownType { probe_type: request.probe_type.to_string() });
        };
        let name = &*plugin.spec.name;
        let span = tracing::error_span!(
            "plugin_call",
            plugin = name,
            role = %Role::Probe,
            pod = %PodFullName::of(&request.pod),
            pod_uid = request.pod.metadata.uid,
            container_name = request.container);
        let result = self.shared.probe(plugin, request).instrument(span).await;
        self.shared.shadow_calls.probed(&plugins, plugin, request, &result);
        result
    }
}

/// What came of asking a probe type.
pub(super) struct CalledProbe {
    pub(super) result: Result<ProbeOutcome, ProbeError>,
    /// In the plugin's own words; none if it wasn't called.
    answer: Option<Result<ProbeOutcome, CallError>>,
    /// The commands that it ran, if its calls are recorded.
    pub(super) execs: Vec<ExecRecord>,
    pub(super) took: Duration,
}

impl CalledProbe {
    fn without_call(error: ProbeError) -> Self {
        Self { result: Err(error), answer: None, execs: Vec::new(), took: Duration::ZERO }
    }
}

impl Shared {
    async fn probe(&self, plugin: &Plugin, request: &ProbeRequest) -> Result<ProbeOutcome, ProbeError> {
        let called = self.call_probe(plugin, request).await;
        let result = called.result.clone();
        self.record_probe(plugin, request, called);
        result
    }

    /// Keeps a call for replay, if its plugin's entry says so.
    pub(super) fn record_probe(&self, plugin: &Plugin, request: &ProbeRequest, called: CalledProbe) {
        if let (Some(recorder), Some(answer)) = (&plugin.recorder, called.answer) {
            recorder.probe(request, called.execs, &answer, called.took);
        }
    }

    /// Asks one plugin, and notes how it went.
    pub(super) async fn call_probe(&self, plugin: &Plugin, request: &ProbeRequest) -> CalledProbe {
        let started = Instant::now();
        let loaded = match plugin.gate(Role::Probe, started) {
            Ok(loaded) => loaded,
            Err(error) => {
                self.note_probe(plugin, request, Duration::ZERO, Duration::ZERO, 0, &Err(error.clone()));
                return CalledProbe::without_call(probe_error(plugin, &error));
            }
        };
        let Some(guests) = &loaded.async_plugin else {
            return CalledProbe::without_call(probe_error(plugin, &CallError::Host));
        };
        if let Err(error) = self.check_parameters(plugin, &loaded, guests, request).await {
            return CalledProbe::without_call(error);
        }
        let pod = request.pod.metadata.uid.as_deref();
        let mut span = self.tracer.span(|| plugin.span_of(Role::Probe, "probe", pod));
        let _busy = plugin.metrics().role(Role::Probe).begin();
        let asked = Instant::now();
        let facts = Arc::new(ProbeFacts::new(request.clone(), plugin.recorder.is_some()));
        let AsyncCalled { result, memory_bytes_peak, cpu, waited, .. } =
            span.scope(guests.probe(facts.clone())).await;
        let took = asked.elapsed();
        end_span(&mut span, waited, probe_outcome(&result), result.as_ref().err());
        self.note_probe(plugin, request, took, cpu, memory_bytes_peak, &result);
        note_remarks(plugin, request, &facts.take_remarks());
        let (execs, answer) = (facts.take_execs(), Some(result.clone()));
        let result = result.map_err(|error| probe_error(plugin, &error));
        CalledProbe { result, answer, execs, took }
    }

    /// Once for each set of parameters: held against the manifest, which names all fields that don't fit, then put to the type. What one of
    /// them refuses fails every probe that has these parameters.
    async fn check_parameters(
        &self,
        plugin: &Plugin,
        loaded: &Loaded,
        guests: &Arc<AsyncPlugin>,
        request: &ProbeRequest,
    ) -> Result<(), ProbeError> {
        if let Some(answer) = guests.checked(&request.parameters) {
            return answer.map_err(|words| ProbeError::Parameters { words });
        }
        if let Some(words) = loaded.misfit(&request.parameters) {
            guests.keep_checked(&request.parameters, Err(words.clone()));
            return Err(ProbeError::Parameters { words });
        }
        let asked = Instant::now();
        let AsyncCalled { result, memory_bytes_peak, cpu, .. } =
            guests.check_parameters(&request.parameters, request.timeout).await;
        match result {
            Ok(()) => Ok(()),
            Err(CallError::Refused { words }) => Err(ProbeError::Parameters { words }),
            Err(error) => {
                let failed = Err(error.clone());
                self.note_probe(plugin, request, asked.elapsed(), cpu, memory_bytes_peak, &failed);
                Err(probe_error(plugin, &error))
            }
        }
    }

    /// Counts a call, and reports what it changed.
    fn note_probe(
        &self,
        plugin: &Plugin,
        request: &ProbeRequest,
        took: Duration,
        cpu: Duration,
        memory_bytes_peak: usize,
        result: &Result<ProbeOutcome, CallError>,
    ) {
        let name = &*plugin.spec.name;
        let outcome = probe_outcome(result);
        let call = Call { outcome, took, memory_bytes_peak: memory_bytes_peak as u64, cpu };
        let error = result.as_ref().err();
        let change = plugin.record(Role::Probe, call, error, Instant::now());
        match error {
            None => tracing::debug!(plugin = name, ?took, ?result, "Called plugin"),
            // Reported by the quarantine, and each time it is asked: a line for each would fill the log.
            Some(CallError::Quarantined { .. } | CallError::NotLoaded { .. } | CallError::Loading) => {}
            // In the plugin's own words, which are the pod's event.
            Some(CallError::Refused { words }) => {
                tracing::debug!(plugin = name, ?took, words, "Plugin refused the call")
            }
            Some(error) => {
                tracing::warn!(
                    plugin = name,
                    pod = %PodFullName::of(&request.pod),
                    pod_uid = request.pod.metadata.uid,
                    container_name = request.container,
                    ?took,
                    error = error.sentence(),
                    "Plugin call failed"
                )
            }
        }
        if let Some(change) = change {
            self.report_change(name, change, error);
        }
    }
}

/// Logs what a probe type said next to an outcome.
fn note_remarks(plugin: &Plugin, request: &ProbeRequest, remarks: &ProbeRemarks) {
    if *remarks == ProbeRemarks::default() {
        return;
    }
    let ProbeRemarks { latency, annotations, left_out } = remarks;
    tracing::debug!(
        plugin = &*plugin.spec.name,
        pod = %PodFullName::of(&request.pod),
        pod_uid = request.pod.metadata.uid,
        container_name = request.container,
        ?latency,
        ?annotations,
        left_out,
        "Plugin annotated its probe"
    );
}

fn probe_outcome(result: &Result<ProbeOutcome, CallError>) -> CallOutcome {
    match result {
        Ok(outcome) => CallOutcome::from(outcome),
        Err(error) => CallOutcome::from(error.kind()),
    }
}

/// Returns what a probe without an outcome means for the caller. A type's own words stand for themselves; what befell it
/// is reported as of admission handlers.
fn probe_error(plugin: &Plugin, error: &CallError) -> ProbeError {
    let probe_type = plugin.spec.probe.as_ref().map_or(&plugin.spec.name, |role| &role.probe_type);
    let message_of = || format!("probe type {probe_type} {}: {}", error.kind(), error.sentence());
    match error {
        CallError::Refused { .. } => ProbeError::NotCarriedOut { message: error.sentence() },
        CallError::NotLoaded { .. } | CallError::Loading | CallError::Quarantined { .. } => {
            ProbeError::NotNow { message: message_of() }
        }
        CallError::Trap { .. }
        | CallError::StackOverflow
        | CallError::Timeout { .. }
        | CallError::OutOfMemory { .. }
        | CallError::OutOfTable { .. }
        | CallError::WouldBlock(_)
        | CallError::TooMuchData { .. }
        | CallError::State(_)
        | CallError::Mismatch { .. }
        | CallError::Exited { .. }
        | CallError::BadAnswer { .. }
        | CallError::Busy
        | CallError::Host => ProbeError::NotCarriedOut { message: message_of() },
    }
}
