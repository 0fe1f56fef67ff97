//! Plugins that are asked directly: for benchmarks, and for tools that try a plugin out.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use wasmtime::Engine;
use witlet_core::admission::{AdmissionRequest, Verdict};
use witlet_core::config::allow::{Allowance, SecurityLevel};
use witlet_core::config::source::{PollAnswer, SourceFault};
use witlet_core::probe::{ProbeOutcome, ProbeRequest};
use witlet_ports::Clock;

use crate::compile::CompilerConfig;
use crate::host::{Machinery, StartError, Surroundings};
use crate::plugin::config::{
    Grants, INTERVAL_DEFAULT, MEMORY_BYTES_DEFAULT, PodSourceRole, ProbeRole, TIMEOUT_DEFAULT, Warm,
};
use crate::plugin::waiting::{WaitingCalled, WaitingGuests};
use crate::plugin::{CallError, Caller, Guests, LoadError, Loaded, Spec};
use crate::role::Role;
use crate::worlds::admission::facts::RequestFacts;
use crate::worlds::probe::facts::ProbeFacts;

/// How a plugin runs.
#[derive(Clone, Debug)]
pub struct DirectOptions {
    /// `config:` of its entry.
    pub config: Value,
    /// Whether instances are kept.
    pub warm: Option<Warm>,
    /// For one call of an admission handler or a pod source; a probe brings its own.
    pub timeout: Duration,
    /// For one instance.
    pub memory_bytes: usize,
    /// What it may reach.
    pub grants: Grants,
}

impl Default for DirectOptions {
    /// As a plugin runs whose entry says nothing.
    fn default() -> Self {
        Self {
            config: Value::Null,
            warm: None,
            timeout: TIMEOUT_DEFAULT,
            memory_bytes: MEMORY_BYTES_DEFAULT,
            grants: Grants::default(),
        }
    }
}

/// A question with everything that is derived from it, so that it can be asked again at no cost.
#[derive(Clone, Debug)]
pub struct Question(Arc<RequestFacts>);

impl Question {
    /// Of a request.
    pub fn new(request: AdmissionRequest) -> Self {
        Self(Arc::new(RequestFacts::new(request)))
    }
}

/// What a call came to, and what it took.
#[derive(Debug)]
pub struct Asked<T> {
    /// The answer, or why there is none.
    pub result: Result<T, CallError>,
    /// The most linear memory that the instance had.
    pub memory_bytes_peak: usize,
}

impl<T> From<WaitingCalled<T>> for Asked<T> {
    fn from(called: WaitingCalled<T>) -> Self {
        Self { result: called.result, memory_bytes_peak: called.memory_bytes_peak }
    }
}

/// The engines of all roles, for plugins that are asked directly.
pub struct DirectHost(Machinery);

impl DirectHost {
    /// Makes the engine of admission; the other one is made for the first plugin that needs it.
    pub fn start(compiler: CompilerConfig, clock: Arc<dyn Clock>) -> Result<Self, StartError> {
        Machinery::new(compiler, clock, Surroundings::default()).map(Self)
    }

    /// Compiles, links and validates an admission handler.
    pub async fn admission(
        &self,
        wasm: Arc<[u8]>,
        options: DirectOptions,
    ) -> Result<DirectPlugin, LoadError> {
        let guests = self.load(Role::Admission, wasm, options).await?.admission;
        let guests = guests.ok_or(LoadError::Interrupted)?;
        Ok(DirectPlugin { caller: self.0.caller.clone(), guests })
    }

    /// Compiles, links and validates a probe type or a pod source.
    pub async fn waiting(
        &self,
        role: Role,
        wasm: Arc<[u8]>,
        options: DirectOptions,
    ) -> Result<DirectWaiting, LoadError> {
        let guests = self.load(role, wasm, options).await?.waiting;
        Ok(DirectWaiting(guests.ok_or(LoadError::Interrupted)?))
    }

    async fn load(&self, role: Role, wasm: Arc<[u8]>, options: DirectOptions) -> Result<Loaded, LoadError> {
        self.0.loader.load_bytes(&spec(role, options), wasm).await
    }

    /// The engine that admission handlers run on.
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }
}

/// In one role.
fn spec(role: Role, options: DirectOptions) -> Spec {
    let DirectOptions { config, warm, timeout, memory_bytes, grants } = options;
    let spec = Spec::direct(timeout, memory_bytes, warm, grants, &config);
    match role {
        Role::Admission => spec,
        Role::Probe => {
            let probe = ProbeRole { probe_type: "direct".into(), memory_bytes };
            Spec { admission: None, probe: Some(probe), ..spec }
        }
        Role::PodSource => {
            // Nobody runs what it brings.
            let allow = Allowance {
                namespaces: Vec::new(),
                name_prefix: None,
                pod_security: SecurityLevel::default(),
                pods_max: 0,
            };
            let source =
                PodSourceRole { interval: INTERVAL_DEFAULT, allow: Arc::new(allow), timeout, memory_bytes };
            Spec { admission: None, pod_source: Some(source), ..spec }
        }
    }
}

/// An admission handler.
pub struct DirectPlugin {
    caller: Caller,
    guests: Arc<Guests>,
}

impl DirectPlugin {
    /// Asks on this thread, within the plugin's limits.
    pub fn ask(&self, question: &Question) -> Asked<Verdict> {
        let called = self.caller.admit_here(&self.guests, &question.0);
        Asked { result: called.result, memory_bytes_peak: called.memory_bytes_peak }
    }
}

/// A probe type or a pod source.
pub struct DirectWaiting(Arc<WaitingGuests>);

impl DirectWaiting {
    /// Probes, on the plugins' threads.
    pub async fn probe(&self, request: &ProbeRequest) -> Asked<ProbeOutcome> {
        self.0.probe(Arc::new(ProbeFacts::new(request.clone(), false))).await.into()
    }

    /// Asks a pod source what it has, on the plugins' threads.
    pub async fn poll(&self, cursor: Option<&str>) -> Asked<Result<PollAnswer, SourceFault>> {
        self.0.poll(cursor).await.into()
    }
}
