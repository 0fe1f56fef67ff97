//! The endpoints that the API server and kubectl need: bound at the start, so that a port that is taken is reported at once, and
//! served next to the agent.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use witlet_node::NodeSystemLogs;
use witlet_ports::{
    AgentView, Clock, CommandRunner, LogFiles, MetricsSource, NodeAccess, PodView, Streaming, Tracer,
};
use witlet_server::{
    Authentication, Authorization, Diagnostics, EndpointSwitches, KubeletServer, Metrics, MirrorPods,
    ServerOptions, ServerParts, ServerTls, StatsPorts, TlsError, TlsOptions,
};

use crate::kubelet::KUBERNETES_VERSION;
use crate::logging::RunningFilter;
use crate::run::base::Base;
use crate::run::parts::{PartError, Parts};
use crate::settings::{self, ServerSettings, Settings};

/// A port may be of an agent that was killed and isn't gone yet: so long it is waited for.
const PORT_WAIT_MAX: Duration = Duration::from_secs(2);
/// And tried this often.
const PORT_RETRY: Duration = Duration::from_millis(100);

/// The folder of the machine's logs.
const SYSTEM_LOGS: &str = "/var/log";

/// Where archives of containers go, below the root folder.
const CHECKPOINTS: &str = "checkpoints";

/// Why the endpoints can't be had.
#[derive(Debug, Error)]
pub(crate) enum EndpointsError {
    /// The address is taken, or not the machine's.
    #[error("failed to listen on {address}; set another port with {flag}, or 0 for none")]
    Listen {
        address: SocketAddr,
        flag: &'static str,
        #[source]
        cause: std::io::Error,
    },
    /// There is no certificate to show.
    #[error("failed to serve the node's endpoints over TLS")]
    Tls(#[from] TlsError),
}

/// Ports that are the agent's, served by no one yet.
#[derive(Default)]
pub(crate) struct Endpoints {
    secure: Option<(TcpListener, Arc<ServerTls>, ServerSettings)>,
    healthz: Option<TcpListener>,
    read_only: Option<TcpListener>,
}

/// What they answer from.
pub(crate) struct Answers {
    pub(crate) view: Arc<dyn AgentView>,
    /// None where there is no API server.
    pub(crate) mirrors: Option<MirrorPods>,
    pub(crate) pods: Arc<dyn PodView>,
    pub(crate) containers: Arc<dyn CommandRunner>,
    pub(crate) streaming: Arc<dyn Streaming>,
    pub(crate) logs: Arc<dyn LogFiles>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) metrics: Metrics,
    pub(crate) probes: Arc<dyn MetricsSource>,
    pub(crate) process_started_at: Option<Timestamp>,
    pub(crate) stats: StatsPorts,
    pub(crate) configz: Value,
    pub(crate) diagnostics: Diagnostics,
    pub(crate) tracer: Tracer,
    /// Who says what an identity may do; none where there is no API server.
    pub(crate) access: Option<Arc<dyn NodeAccess>>,
}

/// Returns what they answer from about the agent's own process and its machine.
pub(crate) fn diagnostics(settings: &Settings, base: &Base, filter: RunningFilter) -> Diagnostics {
    Diagnostics {
        flags: settings.flags.clone(),
        kubernetes_version: KUBERNETES_VERSION.trim_start_matches('v').to_owned(),
        verbosity: Arc::new(filter),
        system_logs: Arc::new(NodeSystemLogs::new(Path::new(SYSTEM_LOGS))),
        checkpoints: Arc::new(base.cri.clone()),
        checkpoint_folder: settings.folders.root.join(CHECKPOINTS),
    }
}

impl Endpoints {
    /// Takes the ports that are on. `names` are the node's name and addresses, for a certificate that is made here.
    pub(crate) async fn bind(
        settings: &Settings,
        names: Vec<String>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, EndpointsError> {
        let mut endpoints = Self::default();
        if let Some(server) = &settings.server {
            let listener = listen(server.address, "--port").await?;
            let options = TlsOptions {
                certificate: server.certificate.clone(),
                client_ca: server.client_ca.clone(),
                cert_dir: server.cert_dir.clone(),
                node_name: names.first().cloned().unwrap_or_default(),
                alternative_names: names,
                only_tls13: server.only_tls13,
            };
            endpoints.secure = Some((listener, ServerTls::open(options, clock)?, server.clone()));
        }
        if let Some(address) = settings.healthz {
            endpoints.healthz = Some(listen(address, "--healthz-port").await?);
        }
        if let Some(address) = settings.read_only {
            endpoints.read_only = Some(listen(address, "--read-only-port").await?);
        }
        Ok(endpoints)
    }

    /// Returns what answers, by the settings of the port that is on. The local API has some of it, too.
    pub(crate) fn server(&self, answers: Answers) -> Arc<KubeletServer> {
        KubeletServer::new(parts(answers, self.secure.as_ref().map(|(.., settings)| settings)))
    }

    /// Serves them until `stop` is cancelled.
    ///
    /// # Errors
    /// One of them ended before.
    pub(crate) async fn serve(
        self,
        server: Arc<KubeletServer>,
        stop: CancellationToken,
    ) -> Result<(), PartError> {
        let Self { secure, healthz, read_only } = self;
        if secure.is_none() && healthz.is_none() && read_only.is_none() {
            stop.cancelled().await;
            return Ok(());
        }
        let mut listeners = Parts::default();
        if let Some((listener, tls, _)) = secure {
            listeners.spawn("the server's certificates", tls.clone().run(stop.clone()));
            listeners.spawn("the server of --port", server.clone().serve(listener, tls, stop.clone()));
        }
        if let Some(listener) = healthz {
            listeners
                .spawn("the server of --healthz-port", server.clone().serve_healthz(listener, stop.clone()));
        }
        if let Some(listener) = read_only {
            listeners.spawn("the server of --read-only-port", server.serve_read_only(listener, stop.clone()));
        }
        listeners.run(&stop).await
    }
}

async fn listen(address: SocketAddr, flag: &'static str) -> Result<TcpListener, EndpointsError> {
    let until = Instant::now() + PORT_WAIT_MAX;
    loop {
        match TcpListener::bind(address).await {
            Err(cause) if cause.kind() == ErrorKind::AddrInUse && Instant::now() < until => {
                sleep(PORT_RETRY).await;
            }
            bound => return bound.map_err(|cause| EndpointsError::Listen { address, flag, cause }),
        }
    }
}

fn parts(answers: Answers, settings: Option<&ServerSettings>) -> ServerParts {
    let tokens = answers.access.clone().filter(|_| settings.is_some_and(|settings| settings.token_webhook));
    let always =
        settings.is_some_and(|settings| settings.authorization == settings::Authorization::AlwaysAllow);
    let options = ServerOptions::default();
    ServerParts {
        view: answers.view,
        mirrors: answers.mirrors,
        pods: answers.pods,
        containers: answers.containers,
        streaming: answers.streaming,
        logs: answers.logs,
        clock: answers.clock,
        metrics: answers.metrics,
        probes: answers.probes,
        process_started_at: answers.process_started_at,
        stats: answers.stats,
        configz: answers.configz,
        diagnostics: answers.diagnostics,
        tracer: answers.tracer,
        authentication: Authentication {
            anonymous: settings.is_some_and(|settings| settings.anonymous),
            tokens,
        },
        authorization: match answers.access {
            _ if always => Authorization::AlwaysAllow,
            Some(access) => Authorization::Webhook(access),
            None => Authorization::Webhook(Arc::new(NoAuthorizer)),
        },
        options: ServerOptions {
            debugging_handlers: settings.is_none_or(|settings| settings.debugging),
            switches: settings.map_or_else(EndpointSwitches::default, |settings| settings.switches),
            streaming_idle: settings.map_or(options.streaming_idle, |settings| settings.streaming_idle),
            volume_stats_period: settings
                .map_or(options.volume_stats_period, |settings| settings.volume_stats_period),
            ..options
        },
    }
}

/// Without an API server no one says that someone may do something.
struct NoAuthorizer;

#[async_trait::async_trait]
impl NodeAccess for NoAuthorizer {
    async fn review_token(
        &self,
        _: &str,
    ) -> Result<Option<witlet_ports::Identity>, witlet_ports::AccessError> {
        Ok(None)
    }

    async fn may(
        &self,
        _: &witlet_ports::Identity,
        _: &witlet_ports::NodeAction,
    ) -> Result<Result<(), String>, witlet_ports::AccessError> {
        Ok(Err("this node has no API server for authorization".to_owned()))
    }
}

#[cfg(test)]
mod tests;
