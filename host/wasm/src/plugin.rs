//! A plugin's life: its configuration, loading, calls, health and status.

pub(crate) mod async_engine;
mod call;
pub mod config;
mod conformance;
mod health;
mod key_file;
mod load;
mod matching;
mod pool;
mod shadow;
mod signatures;
mod spec;
mod status;

pub use async_engine::StateExcess;
pub use call::{CallError, WaitedIn};
pub use conformance::ConformanceError;
pub use health::{FAILURES_TO_QUARANTINE, QUARANTINE_MAX, QUARANTINE_MIN, TIMEOUTS_TO_QUARANTINE};
pub use key_file::KeyFileError;
pub use load::LoadError;
pub use matching::{Criteria, LabelOperator, LabelRequirement, LabelSelector, PodMatch};
pub use shadow::{DIFFERENCES_MAX, Difference, EVENT_PERIOD, ShadowReport};
pub use signatures::{SignatureError, Signed, counting_keys, verify_signature};
pub use spec::{BUILTIN_TIMEOUT, Builtin, BuiltinRole};
pub use status::{
    ConformanceStatus, DataStatus, PluginState, PluginStatus, RoleStatus, RolloutStatus, SignatureStatus,
};

pub(crate) use call::{Called, Caller, EPOCH_PERIOD, SyncPlugin};
#[cfg(test)]
pub(crate) use conformance::Demand;
#[cfg(test)]
pub(crate) use conformance::Vouched;
pub(crate) use health::Change as HealthChange;
pub(crate) use load::{KnownComponents, Loaded, Loader, LoaderParts, Loading};
pub(crate) use matching::MatchSubject;
use shadow::Shadow;
pub(crate) use shadow::{agrees, agrees_with, cut, decision_summary, verdict_summary};
pub(crate) use spec::{DataLack, EntryInputs, Origin, Required, Spec, VALIDATE_TIMEOUT};

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use witlet_core::admission::{Operation, verdicts};
use witlet_core::trace::plugin::PluginCall;
use witlet_core::trace::{self, SpanStart};
use witlet_ports::Span;

use crate::metrics::{Call, CallOutcome, NoVerdict, PluginMetrics};
use crate::record::PluginRecorder;
use crate::role::Role;
use crate::worlds::admission::UNSUBSCRIBED;
use health::{Gate, Health, Outcome};

/// What came of loading a plugin so far.
#[derive(Clone, Debug)]
pub(crate) enum Code {
    Loading,
    /// It can't be called.
    Failed(Arc<LoadError>),
    /// It can be called.
    Ready(Arc<Loaded>),
}

impl Code {
    /// Returns what can be called.
    pub(crate) fn ready(&self) -> Option<&Arc<Loaded>> {
        match self {
            Self::Ready(loaded) => Some(loaded),
            Self::Loading | Self::Failed(_) => None,
        }
    }
}

/// A plugin in the host's set: its specification, what came of loading it, and its health. Immutable but for its
/// vitals: a change makes another one, and calls keep the one that they began with.
#[derive(Debug)]
pub(crate) struct Plugin {
    pub(crate) spec: Spec,
    pub(crate) code: Code,
    vitals: Arc<Vitals>,
    /// Keeps its calls for replay, if its entry says so.
    pub(crate) recorder: Option<PluginRecorder>,
    /// Why the newest file or entry of this plugin isn't what runs.
    pending: Mutex<Option<String>>,
}

/// Health of a plugin's code, kept while only order, policy, mode, matches, interval or allowance change; other code, configuration,
/// limits or grants start it over.
#[derive(Debug)]
struct Vitals {
    /// For each role apart: a probe that hangs says nothing about how the same component decides on pods.
    health: [Mutex<Health>; Role::ALL.len()],
    /// When it was begun to load, or took the place of another.
    since: Instant,
    /// Whether it was reported to those that wait for its load that its failure policy holds.
    load_is_overdue: AtomicBool,
    metrics: Arc<PluginMetrics>,
    last_error: Mutex<Option<String>>,
    /// Whether a verdict of it was sanitized.
    was_sanitized: AtomicBool,
    /// Whether no version of it was ever loaded, as far as that is known.
    never_ran: AtomicBool,
    shadow: Mutex<Shadow>,
}

impl Plugin {
    /// With new vitals.
    pub(crate) fn new(
        spec: Spec,
        code: Code,
        metrics: Arc<PluginMetrics>,
        recorder: Option<PluginRecorder>,
    ) -> Self {
        // The numbers of its name go on, but its health starts over.
        for role in spec.roles() {
            metrics.role(role).set_quarantined(false);
        }
        let vitals = Vitals {
            health: Default::default(),
            since: Instant::now(),
            load_is_overdue: AtomicBool::default(),
            metrics,
            last_error: Mutex::default(),
            was_sanitized: AtomicBool::default(),
            never_ran: AtomicBool::default(),
            shadow: Mutex::default(),
        };
        Self { spec, code, vitals: Arc::new(vitals), recorder, pending: Mutex::default() }
    }

    /// The same code and vitals under a specification that [runs as](Spec::runs_as) the present one.
    pub(crate) fn respecified(&self, spec: Spec, recorder: Option<PluginRecorder>) -> Self {
        let (code, vitals) = (self.code.clone(), self.vitals.clone());
        Self { spec, code, vitals, recorder, pending: Mutex::default() }
    }

    /// The code, if the plugin may be called in this role now.
    pub(crate) fn gate(&self, role: Role, now: Instant) -> Result<Arc<Loaded>, CallError> {
        let code = match &self.code {
            Code::Ready(loaded) => loaded.clone(),
            Code::Failed(error) => return Err(CallError::NotLoaded { cause: error.clone() }),
            Code::Loading => return Err(CallError::Loading),
        };
        match lock(&self.vitals.health[role as usize]).gate(now) {
            Gate::Open => Ok(code),
            Gate::Closed { until } => {
                Err(CallError::Quarantined { remaining: until.saturating_duration_since(now) })
            }
        }
    }

    /// Whether it is one of the handlers that are asked, or that shadow those: it answers the operation, and its entry matches
    /// the pod.
    pub(crate) fn is_asked(&self, subject: &MatchSubject) -> bool {
        self.answers(subject.operation()) && subject.is_for(&self.spec.name) && self.spec.admits(subject)
    }

    /// Whether it answers this operation as an admission handler: it subscribes to it, and handlers of contract 0.1 to new pods
    /// and resizes. Until it is loaded no one knows, so that its failure policy stands in for it whatever the operation is; but of
    /// what ships it is known. About pods that run it is asked only once it is loaded, and again and again if its entry says how often.
    /// A plugin that fails and never ran keeps no container of an admitted pod from starting, unless its entry names that operation: a
    /// mistyped path would otherwise stop the pods of every node.
    pub(crate) fn answers(&self, operation: Operation) -> bool {
        if operation == Operation::Recheck && self.spec.recheck().is_none() {
            return false;
        }
        match self.code.ready() {
            Some(loaded) => loaded.setup.subscribes(operation),
            None => {
                let is_unasked = self.spec.builtin || operation.is_of_running_pod();
                let lets_start = operation == Operation::ImageResolved
                    && self.vitals.never_ran.load(Ordering::Relaxed)
                    && !self.spec.names(operation);
                UNSUBSCRIBED.contains(&operation) || !(is_unasked || lets_start)
            }
        }
    }

    /// Notes that no version of it was ever loaded.
    pub(crate) fn set_never_ran(&self) {
        self.vitals.never_ran.store(true, Ordering::Relaxed);
    }

    /// Whether pods still wait for its load, whatever its failure policy is.
    pub(crate) fn holds_pods(&self, now: Instant) -> bool {
        matches!(self.code, Code::Loading)
            && now.saturating_duration_since(self.vitals.since) < self.spec.load_timeout()
    }

    /// Whether its load has taken longer than pods wait for it since this was last asked: they may be asked about again.
    pub(crate) fn take_overdue_load(&self, now: Instant) -> bool {
        let is_overdue =
            matches!(self.code, Code::Loading) && self.spec.admission.is_some() && !self.holds_pods(now);
        is_overdue && !self.vitals.load_is_overdue.swap(true, Ordering::Relaxed)
    }

    /// Notes how a call in this role went; `error` is why it gave no usable answer. Returns the change of health that it
    /// made, if it made one.
    pub(crate) fn record(
        &self,
        role: Role,
        call: Call,
        error: Option<&CallError>,
        now: Instant,
    ) -> Option<HealthChange> {
        let metrics = self.metrics().role(role);
        metrics.record(call);
        if let Some(error) = error.filter(|_| call.outcome.was_called()) {
            *lock(&self.vitals.last_error) = Some(error.sentence());
        }
        let outcome = error.map_or(Outcome::Answered, CallError::outcome);
        let change = lock(&self.vitals.health[role as usize]).record(outcome, now);
        match change {
            Some(HealthChange::Quarantined { .. }) => metrics.set_quarantined(true),
            Some(HealthChange::Recovered) => metrics.set_quarantined(false),
            None => {}
        }
        change
    }

    /// Notes what the contract doesn't allow of a verdict that counts all the same. Returns whether it is the first.
    pub(crate) fn record_fault(&self, fault: &str) -> bool {
        *lock(&self.vitals.last_error) = Some(fault.to_owned());
        !self.vitals.was_sanitized.swap(true, Ordering::Relaxed)
    }

    /// Returns its name and the beginning of its component's digest, for those who are refused by it. None for what ships: that refuses in
    /// a kubelet's words.
    pub(crate) fn attribution(&self) -> Option<String> {
        let loaded = self.code.ready().filter(|_| !self.spec.builtin)?;
        Some(verdicts::attribution(&self.spec.name, &loaded.digest))
    }

    /// The beginning of its component's digest, if that is loaded.
    fn short_digest(&self) -> Option<&str> {
        Some(verdicts::short_digest(&self.code.ready()?.digest))
    }

    /// How the span of a call begins.
    pub(crate) fn span_of(&self, role: Role, function: &'static str, pod_uid: Option<&str>) -> SpanStart {
        trace::plugin::call(&PluginCall {
            plugin: &self.spec.name,
            digest: self.short_digest(),
            role: role.as_str(),
            function,
            pod_uid,
        })
    }

    /// Returns its numbers.
    pub(crate) fn metrics(&self) -> &PluginMetrics {
        &self.vitals.metrics
    }

    /// How its verdicts compare, if it is a shadow.
    pub(crate) fn shadow(&self) -> std::sync::MutexGuard<'_, Shadow> {
        lock(&self.vitals.shadow)
    }

    /// Counts a question as a shadow without a verdict.
    pub(crate) fn shadow_failed(&self) {
        self.shadow().failed();
        self.metrics().record_shadow_without_verdict(NoVerdict::Failed);
    }

    /// Counts a question that it wasn't asked as a shadow.
    pub(crate) fn shadow_skipped(&self) {
        self.shadow().skipped();
        self.metrics().record_shadow_without_verdict(NoVerdict::Skipped);
    }

    /// Whether a quarantine of a role has run out since this was last asked: who waits for the plugin may ask again.
    pub(crate) fn take_release(&self, now: Instant) -> bool {
        let mut any = false;
        for role in Role::ALL {
            let released = lock(&self.vitals.health[role as usize]).take_release(now);
            if released {
                self.metrics().role(role).set_quarantined(false);
            }
            any |= released;
        }
        any
    }

    /// Notes why a newer file or entry wasn't taken; none when all is as configured.
    pub(crate) fn set_pending(&self, reason: Option<String>) {
        *lock(&self.pending) = reason;
    }

    /// Why a newer file or entry wasn't taken.
    pub(crate) fn pending(&self) -> Option<String> {
        lock(&self.pending).clone()
    }

    /// Drops what it keeps between calls. Calls that run end by themselves, and leave nothing behind.
    pub(crate) fn retire(&self) {
        if let Code::Ready(loaded) = &self.code {
            loaded.retire();
        }
    }

    /// Names of the operations that it is asked about, once that is known.
    fn operations(&self) -> Vec<&'static str> {
        if self.spec.admission.is_none() || self.code.ready().is_none() {
            return Vec::new();
        }
        let asked = Operation::ALL.into_iter().filter(|operation| self.answers(*operation));
        asked.map(Operation::as_str).collect()
    }

    /// Returns what people see of it, its rollout aside: where that stands the host knows.
    pub(crate) fn status(&self, now: Instant) -> PluginStatus {
        let loaded = self.code.ready();
        let roles: Vec<RoleStatus> = self.spec.roles().map(|role| self.role_status(role, now)).collect();
        let quarantine = roles.iter().filter_map(|role| Some((role.role, role.quarantine_seconds?)));
        let quarantines: Vec<String> =
            quarantine.map(|(role, seconds)| format!("{role} for another {}s", seconds.ceil())).collect();
        let (state, detail) = match &self.code {
            Code::Loading => {
                let why = self.spec.awaits_data.then(|| "its data are being fetched".to_owned());
                (PluginState::Loading, why)
            }
            Code::Failed(error) => (PluginState::Failed, Some(error.sentence())),
            Code::Ready(_) if quarantines.is_empty() => (PluginState::Ready, None),
            Code::Ready(_) => (PluginState::Quarantined, Some(quarantines.join(", "))),
        };
        PluginStatus {
            name: self.spec.name.to_string(),
            builtin: self.spec.builtin,
            component: self.spec.origin_reported(),
            digest: loaded.map(|loaded| loaded.digest.to_string()),
            size_bytes: loaded.map(|loaded| loaded.size_bytes),
            conformance: loaded.and_then(|loaded| loaded.vouched.as_ref()).map(ConformanceStatus::of),
            data: self.spec.data.iter().map(|data| DataStatus::of(data, now)).collect(),
            signature: loaded.and_then(|loaded| loaded.signed.as_ref()).map(SignatureStatus::of),
            order: self.spec.admission.as_ref().map(|role| role.order),
            failure_policy: self.spec.failure_policy(),
            system_pods: self.spec.admission.as_ref().map(|role| role.matches.system_pods),
            operations: self.operations(),
            probe_type: self.spec.probe.as_ref().map(|role| role.probe_type.to_string()),
            shadow: self.spec.is_shadow_anywhere(),
            state,
            detail,
            pending: self.pending(),
            warnings: loaded.map(|loaded| loaded.warnings().map(str::to_owned).collect()).unwrap_or_default(),
            last_error: lock(&self.vitals.last_error).clone(),
            roles,
            shadow_report: self.is_compared().then(|| self.shadow().report()),
            rollout: None,
        }
    }

    /// Whether it is asked for answers that don't count.
    fn is_compared(&self) -> bool {
        self.spec.is_shadow_anywhere() || self.spec.rollout().is_some()
    }

    fn role_status(&self, role: Role, now: Instant) -> RoleStatus {
        let loaded = self.code.ready();
        let metrics = self.metrics().role(role);
        let quarantine = match lock(&self.vitals.health[role as usize]).gate(now) {
            Gate::Open => None,
            Gate::Closed { until } => Some(until.saturating_duration_since(now).as_secs_f64()),
        };
        let reached = |error_only: bool| {
            CallOutcome::ALL
                .into_iter()
                .filter(|outcome| outcome.was_called() && (!error_only || outcome.is_error()))
                .map(|outcome| metrics.calls_with(outcome))
                .sum()
        };
        let quantile = |rank| metrics.duration().quantile(rank).map(|time| time.as_secs_f64());
        RoleStatus {
            role,
            version: loaded.and_then(|loaded| loaded.version(role)),
            quarantine_seconds: quarantine,
            calls: reached(false),
            errors: reached(true),
            timeouts: metrics.calls_with(CallOutcome::TimedOut),
            p50_seconds: quantile(0.5),
            p99_seconds: quantile(0.99),
            seconds_total: metrics.duration().sum().as_secs_f64(),
            cpu_seconds: metrics.cpu().as_secs_f64(),
            memory_bytes_peak: metrics.memory_bytes_peak(),
            warm_instances: loaded.map_or(0, |loaded| loaded.warm(role)),
            in_flight: metrics.busy(),
        }
    }
}

/// Notes in the span of a call how long it waited before it began, and what came of it.
pub(crate) fn end_span(span: &mut Span, waited: Duration, outcome: CallOutcome, error: Option<&CallError>) {
    span.waited(waited, trace::plugin::waited);
    span.add(|| vec![trace::plugin::outcome(outcome.as_str())]);
    if let Some(error) = error {
        span.fail(|| error.sentence());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
