//! What a store holds for its guest: limits, the question it is asked, its log, and a WASI that grants nothing.

pub(crate) mod async_guest;
pub(crate) mod connection;
pub(crate) mod data;
pub(crate) mod known_node;
pub(crate) mod log;
pub(crate) mod secrets;
pub(crate) mod tls;

pub use log::{CAPTURED_LINES_MAX, CapturedLine, LogTap};
pub(crate) use log::{GuestLog, misleads, printable};
pub(crate) use secrets::{GrantedSecrets, Secrets};

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use witlet_ports::CommandRunner;

use crate::limits::{StoreLimits, thread_cpu};
use crate::metrics::Metrics;
use crate::metrics::custom::CustomMetrics;
use crate::wasi;
use crate::worlds::admission::answer::AnswerSink;
use crate::worlds::admission::facts::RequestFacts;
use crate::worlds::admission::setup::Setup;
use crate::worlds::host::{HostView, NodeOfCall};
use data::Data;
use known_node::KnownNode;

/// What plugins have of the node, as far as their grants allow.
#[derive(Clone, Default)]
pub(crate) struct GuestServices {
    pub(crate) secrets: Arc<Secrets>,
    /// Runs commands for probes, where there is a runtime.
    pub(crate) containers: Option<Arc<dyn CommandRunner>>,
    /// The node, where the host is on one.
    pub(crate) node: KnownNode,
    /// Takes their own numbers.
    pub(crate) metrics: Metrics,
    /// Gets a folder for each plugin that is granted one.
    pub(crate) state_folder: Option<PathBuf>,
    /// Receives what they log, in addition to the node's log.
    pub(crate) log: Option<LogTap>,
    /// How much later than it is their clocks say that it is, where they don't stand still.
    pub(crate) clock_ahead: Duration,
    /// Whether probes and questions to admission handlers go on beyond their time while others have the processors, as polls of pod
    /// sources do: where plugins are judged, not in the daemon, because the answer would be too late.
    pub(crate) prolongs_calls: bool,
    /// Goes into the random numbers of admission handlers, next to the pod's UID; nothing in the daemon.
    pub(crate) random_salt: Arc<str>,
}

/// The data of a store on the synchronous engine.
pub(crate) struct GuestState {
    pub(crate) limits: StoreLimits,
    /// `config:` of the plugin's entry as JSON text.
    pub(crate) config: Arc<str>,
    /// The question, while one is asked.
    pub(crate) request: Option<Arc<RequestFacts>>,
    /// What was said to the question so far, where that is a function's call each.
    pub(crate) answer: AnswerSink,
    /// What `validate` said so far.
    pub(crate) setup: Setup,
    pub(crate) log: GuestLog,
    /// What it may have of the node's secrets.
    pub(crate) secrets: GrantedSecrets,
    /// What it may read next to its configuration.
    pub(crate) data: Arc<[Data]>,
    /// Takes its own numbers.
    pub(crate) metrics: Arc<CustomMetrics>,
    /// The node, while no question brings one.
    pub(crate) node: KnownNode,
    /// Goes into its random numbers, next to the pod's UID; mostly nothing.
    pub(crate) random_salt: Arc<str>,
    /// What it holds on the host's side.
    pub(crate) table: ResourceTable,
    /// Counts questions, so that handles of earlier ones are distinguished.
    serial: u16,
    now: Timestamp,
    /// Made when a guest first asks for it: most never do, and it is dear.
    wasi: Option<WasiCtx>,
    /// Processor time of the calling thread when the call began.
    began: Duration,
    /// How often the call went on after its time.
    prolongations: u32,
}

/// What a call had when its time was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallProgress {
    /// Processor time since the call began.
    pub(crate) cpu: Duration,
    /// How often it went on before.
    pub(crate) prolongations: u32,
}

impl GuestState {
    /// For a plugin that writes to `log`; its clocks stand still at `now`.
    pub(crate) fn new(limits: StoreLimits, log: GuestLog, config: Arc<str>, now: Timestamp) -> Self {
        Self {
            limits,
            config,
            request: None,
            answer: AnswerSink::default(),
            setup: Setup::default(),
            log,
            secrets: GrantedSecrets::default(),
            data: Arc::default(),
            metrics: Arc::default(),
            node: KnownNode::default(),
            random_salt: Arc::default(),
            table: ResourceTable::new(),
            serial: 0,
            now,
            wasi: None,
            began: thread_cpu(),
            prolongations: 0,
        }
    }

    /// Returns what the call whose time is over had of a processor, and how often it went on before.
    pub(crate) fn progress(&mut self) -> CallProgress {
        let cpu = thread_cpu().saturating_sub(self.began);
        let progress = CallProgress { cpu, prolongations: self.prolongations };
        self.prolongations += 1;
        progress
    }

    /// Number of the current question.
    pub(crate) fn serial(&self) -> u16 {
        self.serial
    }

    /// Returns what it may import from `witlet:host`.
    pub(crate) fn host(&mut self) -> HostView<'_> {
        let node = match &self.request {
            Some(request) => NodeOfCall::Asked(&request.node.facts),
            None => NodeOfCall::Known(&self.node),
        };
        HostView {
            log: &self.log,
            config: &self.config,
            secrets: &self.secrets,
            data: &self.data,
            metrics: &self.metrics,
            node,
            table: &mut self.table,
        }
    }

    /// Before a question: clocks and random numbers start over, so that a used instance sees what a fresh one sees.
    pub(crate) fn begin(&mut self, request: Arc<RequestFacts>) {
        self.serial = self.serial.wrapping_add(1);
        self.now = request.now;
        self.request = Some(request);
        self.answer = AnswerSink::default();
        self.wasi = None;
        self.began = thread_cpu();
        self.prolongations = 0;
        self.limits.begin();
        self.log.begin();
    }

    /// After a question.
    pub(crate) fn end(&mut self) {
        self.request = None;
        self.log.end();
    }

    /// Returns what random numbers are derived from: the pod's UID, or the plugin's name where there is no pod.
    fn seed(&self) -> String {
        let of_question = self.request.as_ref().map_or(self.log.plugin(), |request| request.pod().uid());
        [of_question, &*self.random_salt].concat()
    }
}

impl WasiView for GuestState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        if self.wasi.is_none() {
            self.wasi = Some(wasi::nothing_granted(self.now, &self.seed(), &self.log));
        }
        let ctx = self.wasi.get_or_insert_with(WasiCtx::default);
        WasiCtxView { ctx, table: &mut self.table }
    }
}
