//! A plugin's life: its configuration, loading, calls, health and status.

mod call;
pub mod config;
mod health;
mod load;
mod status;

pub use call::CallError;
pub use health::{FAILURES_TO_QUARANTINE, QUARANTINE_MAX, QUARANTINE_MIN, TIMEOUTS_TO_QUARANTINE};
pub use load::LoadError;
pub use status::{PluginState, PluginStatus};

pub(crate) use call::{Caller, EPOCH_PERIOD, Guests};
pub(crate) use health::Change as HealthChange;
pub(crate) use load::{Loaded, Loader, Origin};

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use witlet_core::admission::chain::FailurePolicy;

use config::{Globs, PluginEntry, Warm};
use health::{Gate, Health, Outcome};

/// What a built-in may take for one call.
pub(crate) const BUILTIN_TIMEOUT: Duration = Duration::from_secs(1);

/// What the host needs to know about a plugin apart from its code.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spec {
    pub(crate) name: Arc<str>,
    pub(crate) origin: Origin,
    pub(crate) order: i32,
    pub(crate) failure_policy: FailurePolicy,
    pub(crate) namespaces: Globs,
    pub(crate) timeout: Duration,
    pub(crate) memory_bytes: usize,
    pub(crate) warm: Option<Warm>,
    /// As JSON text.
    pub(crate) config: Arc<str>,
}

impl Spec {
    /// A shipped component. Its failure makes a pod wait, as any handler's does by default.
    pub(crate) fn builtin(name: &str, order: i32, component: &'static [u8]) -> Self {
        Self {
            name: name.into(),
            origin: Origin::Builtin(component),
            order,
            failure_policy: FailurePolicy::Defer,
            namespaces: Globs::all(),
            timeout: BUILTIN_TIMEOUT,
            memory_bytes: config::MEMORY_BYTES_DEFAULT,
            warm: None,
            config: "null".into(),
        }
    }

    /// An entry of the configuration whose file lies in `folder`.
    pub(crate) fn configured(entry: PluginEntry, folder: &std::path::Path) -> Self {
        Self {
            name: entry.name.into(),
            origin: Origin::File(folder.join(entry.component)),
            order: entry.order,
            failure_policy: entry.failure_policy,
            namespaces: entry.namespaces,
            timeout: entry.timeout,
            memory_bytes: entry.memory_bytes,
            warm: entry.warm,
            config: entry.config.to_string().into(),
        }
    }

    pub(crate) fn is_builtin(&self) -> bool {
        matches!(self.origin, Origin::Builtin(_))
    }

    pub(crate) fn path(&self) -> Option<PathBuf> {
        match &self.origin {
            Origin::Builtin(_) => None,
            Origin::File(path) => Some(path.clone()),
        }
    }
}

/// A plugin in the host's set: its specification, what came of loading it, and how it fares.
#[derive(Debug)]
pub(crate) struct Plugin {
    pub(crate) spec: Spec,
    pub(crate) code: Result<Arc<Loaded>, Arc<LoadError>>,
    health: Mutex<Health>,
    counters: Counters,
    /// Why the newest file or entry of this plugin isn't what runs.
    pending: Mutex<Option<Arc<LoadError>>>,
}

#[derive(Debug, Default)]
struct Counters {
    calls: AtomicU64,
    failures: AtomicU64,
    timeouts: AtomicU64,
    nanoseconds: AtomicU64,
    memory_bytes_peak: AtomicU64,
    last_error: Mutex<Option<String>>,
}

impl Plugin {
    pub(crate) fn new(spec: Spec, code: Result<Loaded, LoadError>) -> Self {
        Self {
            spec,
            code: code.map(Arc::new).map_err(Arc::new),
            health: Mutex::default(),
            counters: Counters::default(),
            pending: Mutex::default(),
        }
    }

    /// The code, if the plugin may be called now.
    pub(crate) fn gate(&self, now: Instant) -> Result<Arc<Loaded>, CallError> {
        let code = self.code.as_ref().map_err(|error| CallError::NotLoaded { cause: error.clone() })?;
        match self.health.lock().unwrap_or_else(PoisonError::into_inner).gate(now) {
            Gate::Open => Ok(code.clone()),
            Gate::Closed { until } => {
                Err(CallError::Quarantined { remaining: until.saturating_duration_since(now) })
            }
        }
    }

    /// Notes how a call went. Returns the change of health that it made, if it made one.
    pub(crate) fn record<T>(
        &self,
        result: &Result<T, CallError>,
        took: Duration,
        now: Instant,
    ) -> Option<HealthChange> {
        self.counters.calls.fetch_add(1, Ordering::Relaxed);
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.counters.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
        let outcome = match result {
            Ok(_) => Outcome::Answered,
            Err(error) => {
                self.counters.failures.fetch_add(1, Ordering::Relaxed);
                *self.counters.last_error.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some(error.sentence());
                error.outcome()
            }
        };
        if outcome == Outcome::TimedOut {
            self.counters.timeouts.fetch_add(1, Ordering::Relaxed);
        }
        self.health.lock().unwrap_or_else(PoisonError::into_inner).record(outcome, now)
    }

    /// Notes how much memory a call had.
    pub(crate) fn record_memory(&self, bytes: usize) {
        self.counters.memory_bytes_peak.fetch_max(bytes as u64, Ordering::Relaxed);
    }

    /// Whether a quarantine has run out since this was last asked: pods that wait for the plugin may be asked for
    /// again.
    pub(crate) fn take_release(&self, now: Instant) -> bool {
        self.health.lock().unwrap_or_else(PoisonError::into_inner).take_release(now)
    }

    /// Notes why a newer file or entry wasn't taken; none when all is as configured.
    pub(crate) fn set_pending(&self, error: Option<Arc<LoadError>>) {
        *self.pending.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }

    /// What people see of it.
    pub(crate) fn status(&self, now: Instant) -> PluginStatus {
        let (state, detail) = match &self.code {
            Err(error) => (PluginState::Failed, Some(error.sentence())),
            Ok(_) => match self.health.lock().unwrap_or_else(PoisonError::into_inner).gate(now) {
                Gate::Open => (PluginState::Ready, None),
                Gate::Closed { until } => (
                    PluginState::Quarantined,
                    Some(format!(
                        "for another {}s",
                        until.saturating_duration_since(now).as_secs_f64().ceil()
                    )),
                ),
            },
        };
        let loaded = self.code.as_ref().ok();
        let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        PluginStatus {
            name: self.spec.name.to_string(),
            role: "admission",
            builtin: self.spec.is_builtin(),
            component: self.spec.path(),
            digest: loaded.map(|loaded| loaded.digest.clone()),
            size_bytes: loaded.map(|loaded| loaded.size_bytes),
            order: self.spec.order,
            failure_policy: self.spec.failure_policy,
            state,
            detail,
            pending: pending.as_ref().map(|error| error.sentence()),
            calls: self.counters.calls.load(Ordering::Relaxed),
            failures: self.counters.failures.load(Ordering::Relaxed),
            timeouts: self.counters.timeouts.load(Ordering::Relaxed),
            seconds_total: Duration::from_nanos(self.counters.nanoseconds.load(Ordering::Relaxed))
                .as_secs_f64(),
            memory_bytes_peak: self.counters.memory_bytes_peak.load(Ordering::Relaxed),
            warm_instances: loaded.map_or(0, |loaded| loaded.guests.warm()),
            last_error: self.counters.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}
