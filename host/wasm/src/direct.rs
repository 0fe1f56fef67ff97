//! Plugins that are asked directly: for benchmarks, and for tools that try a plugin out.
//!
//! They are loaded and called by what the daemon loads and calls plugins with. What differs is only what stands around
//! them: the secrets, the runtime's commands and the folders are the caller's.

pub mod floor;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use wasmtime::Engine;
use witlet_core::admission::{AdmissionRequest, Verdict};
use witlet_core::node::NodeFacts;
use witlet_core::probe::{ProbeOutcome, ProbeRequest};
use witlet_core::sources::allow::Allowance;
use witlet_core::sources::plugin::{PodNews, PollResponse, SourceFault};
use witlet_core::sources::pod_security::SecurityLevel;
use witlet_ports::{Clock, CommandRunner};

use crate::compile::CompilerConfig;
use crate::guest::data::{Data, Snapshot};
use crate::guest::known_node::KnownNode;
pub use crate::guest::{CAPTURED_LINES_MAX, CapturedLine, LogTap};
use crate::guest::{GuestServices, Secrets};
use crate::host::{PluginServices, StartError, Surroundings};
use crate::metrics::Metrics;
use crate::plugin::async_engine::{AsyncCalled, AsyncPlugin};
use crate::plugin::config::{
    Grants, INTERVAL_DEFAULT, MEMORY_BYTES_DEFAULT, PodSourceRole, ProbeRole, TIMEOUT_DEFAULT, Warm, fill,
};
use crate::plugin::{CallError, Called, Caller, LoadError, Loaded, Spec, SyncPlugin};
use crate::role::Role;
use crate::worlds::admission::facts::RequestFacts;
use crate::worlds::admission::setup::Setup;
use crate::worlds::pod_source::{Feedback, NotTaken};
use crate::worlds::probe::facts::ProbeFacts;

/// How a plugin runs.
#[derive(Clone)]
pub struct DirectOptions {
    /// `config:` of its entry.
    pub config: Value,
    /// Whether instances are kept.
    pub warm: Option<Warm>,
    /// For one call of an admission handler or a pod source; a probe brings its own.
    pub timeout: Duration,
    pub memory_bytes: usize,
    /// What it may reach.
    pub grants: Grants,
    /// Values of secrets; it sees those that its grants name.
    pub secrets: BTreeMap<String, Arc<[u8]>>,
    /// Runs the commands of probes; without it the grant `exec` finds no runtime.
    pub containers: Option<Arc<dyn CommandRunner>>,
    /// Gets a folder for the plugin; without it one with the grant `state` doesn't load.
    pub state_folder: Option<PathBuf>,
    /// Receives what the plugin logs.
    pub log: Option<LogTap>,
    /// Data next to its configuration, by name.
    pub data: BTreeMap<String, Vec<u8>>,
    /// How much later than it is the plugin's clocks say that it is: in `validate`, and in all calls of probe types and pod
    /// sources. In `admit` they stand at the question's time.
    pub clock_ahead: Duration,
    /// Has random numbers of an admission handler follow from this next to the pod's UID: its verdicts don't depend on them.
    pub random_salt: Arc<str>,
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
            secrets: BTreeMap::new(),
            containers: None,
            state_folder: None,
            log: None,
            data: BTreeMap::new(),
            clock_ahead: Duration::ZERO,
            random_salt: Arc::default(),
        }
    }
}

/// A question with everything that is derived from it, so that it can be asked again at no cost.
#[derive(Clone, Debug)]
pub struct PreparedRequest(Arc<RequestFacts>);

impl PreparedRequest {
    /// Of a request, with everything made that a guest can ask for: a plugin is judged by its own time.
    pub fn new(request: AdmissionRequest) -> Self {
        let facts = RequestFacts::new(request);
        facts.prepare();
        Self(Arc::new(facts))
    }
}

/// What a call came to, and what it took.
#[derive(Debug)]
pub struct CallReport<T> {
    /// The answer, or why there is none.
    pub result: Result<T, CallError>,
    /// The most linear memory that the instance had.
    pub memory_bytes_peak: usize,
    /// Processor time, where it was measured: not by [`DirectPlugin::ask`].
    pub cpu: Option<Duration>,
    /// How long it ran or could have, had it had a processor: what a call that waits for nothing has on a busy machine as well. Measured of
    /// probes and pod sources.
    pub runnable: Option<Duration>,
}

impl<T> CallReport<T> {
    /// A result of which nothing was measured.
    pub fn unmeasured(result: Result<T, CallError>) -> Self {
        Self { result, memory_bytes_peak: 0, cpu: None, runnable: None }
    }
}

impl<T> From<Called<T>> for CallReport<T> {
    /// By the contract's word, without processor time: not every call has it measured.
    fn from(called: Called<T>) -> Self {
        let memory_bytes_peak = called.memory_bytes_peak;
        Self { memory_bytes_peak, ..Self::unmeasured(called.strict()) }
    }
}

impl<T> From<AsyncCalled<T>> for CallReport<T> {
    fn from(called: AsyncCalled<T>) -> Self {
        let AsyncCalled { result, memory_bytes_peak, cpu, runnable, waited: _ } = called;
        Self { result, memory_bytes_peak, cpu: Some(cpu), runnable: Some(runnable) }
    }
}

/// `config:` of an entry with the values of this node where it names them.
///
/// # Errors
/// What the node doesn't have, in a sentence.
pub fn filled_config(config: &Value, node: &NodeFacts) -> Result<Value, String> {
    fill(config, Some(node))
}

/// The engines of all roles, for plugins that are asked directly.
pub struct DirectHost(PluginServices);

impl DirectHost {
    /// Makes the engine of admission; the other one is made for the first plugin that needs it.
    ///
    /// # Errors
    /// An engine or its threads can't be started.
    pub fn start(compiler: CompilerConfig, clock: Arc<dyn Clock>) -> Result<Self, StartError> {
        PluginServices::new(compiler, clock, Surroundings::default()).map(Self)
    }

    /// Compiles, links and validates an admission handler.
    ///
    /// # Errors
    /// The component can't be loaded, or refuses its configuration.
    pub async fn admission(
        &self,
        wasm: Arc<[u8]>,
        options: DirectOptions,
    ) -> Result<DirectPlugin, LoadError> {
        let Loaded { admission, setup, .. } = self.load(Role::Admission, wasm, options).await?;
        let guests = admission.ok_or(LoadError::Interrupted)?;
        Ok(DirectPlugin { caller: self.0.caller.clone(), guests, setup })
    }

    /// Compiles, links and validates a probe type or a pod source.
    ///
    /// # Errors
    /// The component can't be loaded, or refuses its configuration.
    pub async fn waiting(
        &self,
        role: Role,
        wasm: Arc<[u8]>,
        options: DirectOptions,
    ) -> Result<DirectWaiting, LoadError> {
        let guests = self.load(role, wasm, options).await?.async_plugin;
        Ok(DirectWaiting { role, guests: guests.ok_or(LoadError::Interrupted)? })
    }

    async fn load(&self, role: Role, wasm: Arc<[u8]>, options: DirectOptions) -> Result<Loaded, LoadError> {
        let (spec, given) = parts(role, options);
        self.0.loader.load_given(&spec, &given, wasm).await
    }

    /// The engine that admission handlers run on.
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }
}

/// Returns the parts for one role.
fn parts(role: Role, options: DirectOptions) -> (Spec, GuestServices) {
    let DirectOptions { config, warm, timeout, memory_bytes, grants, .. } = options;
    let secrets = Secrets::default();
    secrets.replace(options.secrets);
    let given = GuestServices {
        secrets: Arc::new(secrets),
        containers: options.containers,
        node: KnownNode::default(),
        metrics: Metrics::default(),
        state_folder: options.state_folder,
        log: options.log,
        clock_ahead: options.clock_ahead,
        prolongs_calls: true,
        random_salt: options.random_salt,
    };
    let data =
        options.data.into_iter().map(|(name, bytes)| Data::given(&name, Snapshot::new(bytes))).collect();
    let spec = Spec { data, ..Spec::direct(timeout, memory_bytes, warm, grants, &config) };
    let spec = match role {
        Role::Admission => spec,
        Role::Probe => {
            let probe = ProbeRole { probe_type: "direct".into(), shadow_of: None, memory_bytes };
            Spec { admission: None, probe: Some(probe), ..spec }
        }
        Role::PodSource => {
            // No one runs what it brings.
            let allow = Allowance {
                namespaces: Vec::new(),
                name_prefix: None,
                pod_security: SecurityLevel::default(),
                pods_max: 0,
            };
            let source = PodSourceRole {
                shadow_of: None,
                interval: INTERVAL_DEFAULT,
                allow: Arc::new(allow),
                timeout,
                memory_bytes,
            };
            Spec { admission: None, pod_source: Some(source), ..spec }
        }
    };
    (spec, given)
}

/// An admission handler. It is held to the contract: where the daemon makes a verdict of one that isn't allowed, this has
/// [`CallError::BadAnswer`].
#[derive(Clone)]
pub struct DirectPlugin {
    caller: Caller,
    guests: Arc<SyncPlugin>,
    setup: Setup,
}

impl DirectPlugin {
    /// Asks on this thread, within the plugin's limits. What it doesn't subscribe to it admits unasked, as on a node.
    pub fn ask(&self, request: &PreparedRequest) -> CallReport<Verdict> {
        let unasked = self.unasked(request);
        unasked.unwrap_or_else(|| self.caller.admit_here(&self.guests, &request.0).into())
    }

    /// Asks on a thread of the runtime's, within the plugin's limits, as the daemon does: not about what it doesn't subscribe to.
    pub async fn admit(&self, request: &PreparedRequest) -> CallReport<Verdict> {
        if let Some(unasked) = self.unasked(request) {
            return unasked;
        }
        match self.caller.admit(&self.guests, &request.0).await {
            Ok(called) => {
                let cpu = Some(called.cpu);
                CallReport { cpu, ..called.into() }
            }
            Err(error) => CallReport::unmeasured(Err(error)),
        }
    }

    /// The answer about what it doesn't subscribe to.
    fn unasked(&self, request: &PreparedRequest) -> Option<CallReport<Verdict>> {
        let is_asked = self.setup.subscribes(request.0.operation);
        (!is_asked).then(|| CallReport::unmeasured(Ok(Verdict::Admit)))
    }

    /// Asks once more whether it is content with its configuration, in a fresh instance.
    ///
    /// # Errors
    /// The call fails, or the plugin refuses its configuration.
    pub async fn validate(&self) -> Result<(), CallError> {
        self.caller.validate(&self.guests).await.map(|_setup| ())
    }
}

/// A probe type or a pod source.
#[derive(Clone)]
pub struct DirectWaiting {
    role: Role,
    guests: Arc<AsyncPlugin>,
}

impl DirectWaiting {
    /// Asks once more whether it is content with its configuration.
    ///
    /// # Errors
    /// The call fails, or the plugin refuses its configuration.
    pub async fn validate(&self) -> Result<(), CallError> {
        self.guests.validate(self.role).await.map(|_warnings| ())
    }

    /// Asks a probe type whether a probe with these parameters makes sense; a refusal is [`CallError::Refused`].
    pub async fn check_parameters(&self, parameters: &Arc<str>) -> CallReport<()> {
        self.guests.check_parameters(parameters, Duration::ZERO).await.into()
    }

    /// Probes, on the plugins' threads.
    pub async fn probe(&self, request: &ProbeRequest) -> CallReport<ProbeOutcome> {
        self.guests.probe(Arc::new(ProbeFacts::new(request.clone(), false))).await.into()
    }

    /// Asks a pod source what it has, on the plugins' threads.
    pub async fn poll(&self, cursor: Option<&str>) -> CallReport<Result<PollResponse, SourceFault>> {
        self.guests.poll(cursor).await.into()
    }

    /// Whether it is a pod source that wants to receive the statuses of its pods.
    pub fn has_feedback(&self) -> bool {
        self.guests.feedback() != Feedback::None
    }

    /// Passes news of its pods to a pod source. One without the export takes them as passed.
    pub async fn notify(&self, news: Arc<[PodNews]>) -> CallReport<()> {
        let report: CallReport<Result<(), NotTaken>> = self.guests.notify(news).await.into();
        let CallReport { result, memory_bytes_peak, cpu, runnable } = report;
        let result = match result {
            Ok(Ok(())) => Ok(()),
            Ok(Err(NotTaken { words, .. })) => Err(CallError::Refused { words }),
            Err(error) => Err(error),
        };
        CallReport { result, memory_bytes_peak, cpu, runnable }
    }
}
