//! What a store on the engine of probes and pod sources holds for its guest.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::clocks::{WasiClocksCtx, WasiClocksCtxView};
use wasmtime_wasi::p2::{TcpSocket, UdpSocket};
use wasmtime_wasi::sockets::{WasiSocketsCtxView, WasiSocketsView as _};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};
use witlet_core::sources::plugin::PodNews;
use witlet_egress::{Egress, Reach, TlsPolicy};
use witlet_ports::CommandRunner;

use super::connection::OpenConnection;
use super::data::Data;
use super::known_node::KnownNode;
use super::log::GuestLog;
use super::secrets::GrantedSecrets;
use super::tls::TlsAccess;
use crate::limits::{PooledLimits, Usage};
use crate::metrics::custom::CustomMetrics;
use crate::plugin::config::Grants;
use crate::wasi::async_host::{self, ConnectionBudget, Connections, Hooks};
use crate::worlds::host::{HostView, NodeOfCall};
use crate::worlds::pod_source::answer::SourceSink;
use crate::worlds::probe::answer::ProbeSink;
use crate::worlds::probe::facts::ProbeFacts;
use crate::worlds::remarks::Warnings;

/// How many things a guest may hold on the host's side: sockets, streams, requests, folders, timers, … Interpreters
/// begin with a dozen, a request by HTTP takes ten.
pub(crate) const RESOURCES_MAX: usize = 256;

/// What all instances of a plugin share.
#[derive(Clone)]
pub(crate) struct GuestSetting {
    pub(crate) name: Arc<str>,
    pub(crate) log: GuestLog,
    /// `config:` of the plugin's entry as JSON text.
    pub(crate) config: Arc<str>,
    pub(crate) grants: Arc<Grants>,
    pub(crate) secrets: GrantedSecrets,
    /// What it may read next to its configuration.
    pub(crate) data: Arc<[Data]>,
    /// Takes its own numbers.
    pub(crate) metrics: Arc<CustomMetrics>,
    /// The folder behind `/state`, if it is granted one.
    pub(crate) state_folder: Option<PathBuf>,
    /// Runs commands in containers, if there is a runtime.
    pub(crate) containers: Option<Arc<dyn CommandRunner>>,
    /// The node, where the host is on one.
    pub(crate) node: KnownNode,
    /// How much later than it is its clock says that it is.
    pub(crate) clock_ahead: Duration,
    /// Whether probes go on beyond their time while others have the processors.
    pub(crate) prolongs_calls: bool,
    pub(crate) egress: Egress,
    /// What it trusts and shows beyond the node's own.
    pub(crate) tls: TlsAccess,
}

/// The data of a store.
pub(crate) struct AsyncState {
    pub(crate) limits: PooledLimits,
    pub(crate) log: GuestLog,
    setting: Arc<GuestSetting>,
    /// The probe, while one runs.
    probe: Option<Arc<ProbeFacts>>,
    /// What the probe found, as far as that is said by calls.
    pub(crate) found: ProbeSink,
    /// What the source has, as far as that is said by calls.
    pub(crate) has: SourceSink,
    /// The news of the call, and which of them comes next.
    news: Arc<[PodNews]>,
    next_news: usize,
    /// What the call warned of so far.
    warnings: Warnings,
    /// Counts calls, so that handles of earlier ones are distinguished.
    serial: u32,
    /// When the call's time is over.
    deadline: Instant,
    reach: Reach,
    table: ResourceTable,
    connections: Connections,
    clocks: WasiClocksCtx,
    /// Made when a guest first asks for it: most never do, and it is dear.
    wasi: Option<WasiCtx>,
    http: WasiHttpCtx,
    hooks: Hooks,
}

impl AsyncState {
    pub(crate) fn new(setting: Arc<GuestSetting>, limits: PooledLimits, budget: ConnectionBudget) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(RESOURCES_MAX);
        Self {
            limits,
            log: setting.log.of_instance(),
            probe: None,
            found: ProbeSink::default(),
            has: SourceSink::default(),
            news: Arc::default(),
            next_news: 0,
            warnings: Warnings::default(),
            serial: 0,
            deadline: Instant::now(),
            reach: Reach::nothing(),
            table,
            connections: Connections::new(budget.clone()),
            clocks: async_host::clocks(setting.clock_ahead),
            wasi: None,
            http: WasiHttpCtx::new(),
            hooks: Hooks::new(setting.egress.clone(), setting.grants.tls, budget),
            setting,
        }
    }

    /// Before a call that reaches nothing on the network, until `deadline`.
    pub(crate) fn begin(&mut self, usage: Arc<Usage>, deadline: Instant) {
        self.serial = self.serial.wrapping_add(1);
        self.deadline = deadline;
        self.found = ProbeSink::default();
        self.has = SourceSink::default();
        self.set_news(Arc::default());
        self.warnings = Warnings::default();
        self.wasi = None;
        self.limits.begin(usage);
        self.log.begin();
        self.set_reach(Reach::nothing());
    }

    /// Lets this call use the network, as far as it is granted for a plugin that probes no one.
    pub(crate) fn open_network(&mut self) {
        self.set_reach(Reach::new(self.setting.grants.network.clone(), &[], None));
        self.renew_tls();
    }

    /// Makes this call a probe.
    pub(crate) fn begin_probe(&mut self, probe: Arc<ProbeFacts>) {
        let network = &self.setting.grants.network;
        if !network.is_empty() {
            self.set_reach(Reach::new(network.clone(), &probe.request.pod_ips, probe.host().as_deref()));
            self.renew_tls();
        }
        self.probe = Some(probe);
    }

    fn set_reach(&mut self, reach: Reach) {
        self.hooks.begin(reach.clone());
        self.reach = reach;
    }

    /// Has requests show and trust what the plugin's secrets have now.
    fn renew_tls(&mut self) {
        if self.setting.tls.is_granted() {
            self.hooks.go_out_by(self.setting.tls.egress(&self.setting.egress));
        }
    }

    /// The way out as it is now, how servers are judged on it, and how far it leads.
    pub(crate) fn tls_egress(&self) -> (Egress, TlsPolicy, Reach) {
        let egress = self.setting.tls.egress(&self.setting.egress);
        (egress, self.setting.grants.tls, self.reach.clone())
    }

    /// Counts one more connection of the call's; false if there are as many as there may be.
    pub(crate) fn count_connection(&mut self) -> bool {
        self.connections.open()
    }

    /// After a call. Whether the instance may be kept: one that holds sockets or answers by HTTP may not, because they reach
    /// what the next call perhaps doesn't.
    pub(crate) fn end(&mut self) -> bool {
        self.probe = None;
        self.set_news(Arc::default());
        self.log.end();
        self.set_reach(Reach::nothing());
        let made = self.connections.end();
        let mut held = self.table.iter_mut();
        let holds_sockets = made && held.any(|entry| is_socket(entry));
        // What is left of the budget now are exchanges by HTTP.
        !holds_sockets && self.connections.is_unused()
    }

    /// Returns the configuration as JSON text.
    pub(crate) fn config(&self) -> Arc<str> {
        self.setting.config.clone()
    }

    /// Number of the current call.
    pub(crate) fn serial(&self) -> u32 {
        self.serial
    }

    pub(crate) fn probe(&self) -> Option<&Arc<ProbeFacts>> {
        self.probe.as_ref()
    }

    /// Sets the status changes that this feedback call delivers.
    pub(crate) fn set_news(&mut self, news: Arc<[PodNews]>) {
        self.news = news;
        self.next_news = 0;
    }

    /// Which of the news comes next.
    pub(crate) fn next_news(&mut self) -> Option<usize> {
        let next = self.next_news;
        (next < self.news.len()).then(|| {
            self.next_news += 1;
            next
        })
    }

    /// One of the news, if the call with this number runs.
    pub(crate) fn news_at(&self, serial: u32, index: usize) -> Option<&PodNews> {
        self.news.get(index).filter(|_| serial == self.serial)
    }

    /// Keeps a warning of the call.
    pub(crate) fn warn(&mut self, message: &str) {
        self.warnings.add(message);
    }

    /// Returns what the call warned of.
    pub(crate) fn take_warnings(&mut self) -> Warnings {
        std::mem::take(&mut self.warnings)
    }

    /// When the current call's time is over.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// That commands can be run through. Only a component that was granted `exec` gets so far.
    pub(crate) fn containers(&self) -> Option<Arc<dyn CommandRunner>> {
        self.setting.containers.clone()
    }

    /// The way out and how far it leads.
    pub(crate) fn egress(&self) -> (&Egress, &Reach) {
        (&self.setting.egress, &self.reach)
    }

    /// Returns what the guest holds on the host's side.
    pub(crate) fn resources(&mut self) -> &mut ResourceTable {
        &mut self.table
    }

    pub(crate) fn clocks_view(&mut self) -> WasiClocksCtxView<'_> {
        WasiClocksCtxView { ctx: &mut self.clocks, table: &mut self.table }
    }

    /// Returns what it may import from `witlet:host`.
    pub(crate) fn host(&mut self) -> HostView<'_> {
        let setting = &self.setting;
        HostView {
            log: &self.log,
            config: &setting.config,
            secrets: &setting.secrets,
            data: &setting.data,
            metrics: &setting.metrics,
            node: NodeOfCall::Known(&setting.node),
            table: &mut self.table,
        }
    }

    /// The sockets of the instance, and how many it may make.
    pub(crate) fn sockets_and_connections(&mut self) -> (WasiSocketsCtxView<'_>, &mut Connections) {
        // Makes the context, if it isn't there yet.
        self.sockets();
        let ctx = self.wasi.get_or_insert_with(WasiCtx::default).sockets();
        (WasiSocketsCtxView { ctx, table: &mut self.table }, &mut self.connections)
    }
}

fn is_socket(entry: &(dyn Any + Send)) -> bool {
    entry.is::<TcpSocket>() || entry.is::<UdpSocket>() || entry.is::<OpenConnection>()
}

impl WasiView for AsyncState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let Self { setting, reach, log, .. } = self;
        let ctx = self.wasi.get_or_insert_with(|| {
            async_host::granted(&setting.grants, setting.state_folder.as_deref(), reach.clone(), log)
        });
        WasiCtxView { ctx, table: &mut self.table }
    }
}

impl WasiHttpView for AsyncState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.hooks, table: &mut self.table, ctx: &mut self.http }
    }
}
