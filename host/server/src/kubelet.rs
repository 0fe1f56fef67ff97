//! The kubelet's endpoints: port 10250 over TLS for authorized clients, and the plain ones for health and, if configured,
//! for reading.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, header};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::{Method, Request};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use witlet_core::pod::PodFullName;
use witlet_core::stats::exposition::Exposition;
use witlet_ports::{
    AgentView, Checkpoints, Clock, CommandRunner, LogFiles, LogVerbosity, MetricsSource, PodView, Streaming,
    SystemLogs, Tracer,
};

use crate::expositions::Expositions;
use crate::metrics::Metrics;
use crate::pod_list;
use crate::stats::{StatsPorts, StatsProvider, VOLUME_STATS_PERIOD};

mod access;
mod answers;
mod checkpoint;
mod checkpoint_capacity;
pub(crate) mod connection_limit;
pub(crate) mod connections;
mod debug_flags;
mod find;
mod form;
mod guarded;
mod gzip;
mod headers;
mod health;
mod health_counts;
mod http_metrics;
mod log_limit;
mod log_reader;
mod logs;
mod profiles;
pub(crate) mod query;
pub mod route;
mod run;
mod slis;
mod spans;
mod stats;
pub mod streams;
mod switches;
mod system_logs;
#[cfg(test)]
pub(crate) mod tests;
mod tls;
pub mod upgrade;
mod zpages;

use access::{AccessControl, ServerPort};
pub use access::{Authentication, Authorization};
use checkpoint_capacity::CheckpointCapacity;
use connection_limit::ConnectionPermit;
use guarded::Guarded;
use gzip::Gzip;
use health::SyncLoop;
use health_counts::HealthCounts;
use http_metrics::HttpMetrics;
use route::Route;
pub use switches::EndpointSwitches;
pub(crate) use tls::Shown;
pub use tls::{ServerTls, TlsError, TlsOptions};

/// Streams (commands, attached terminals, forwarded ports) that are open at the same time.
const STREAMS_MAX: usize = 512;

/// Logs that are shown at the same time. Apart from the streams, so that many followed logs keep no client from a command.
const LOGS_MAX: usize = 512;

/// Queries of the machine's logs that are answered at the same time, each of which may run `journalctl`.
const QUERIES_MAX: usize = 8;

/// Upstream's `streamingConnectionIdleTimeout`.
const STREAMING_IDLE_DEFAULT: Duration = Duration::from_hours(4);

/// How long the event loop may be silent: the least that upstream allows.
const SYNC_LOOP_SILENCE_DEFAULT: Duration = Duration::from_mins(5);

/// See [`ServerOptions::connections_max`].
const CONNECTIONS_MAX: usize = 1024;

/// Seconds since 1970, as Go's library for metrics says them.
const PROCESS_START: HeaderName = HeaderName::from_static("process-start-time-unix");

/// See [`ServerOptions::log_poll_interval`].
const LOG_POLL_INTERVAL_DEFAULT: Duration = Duration::from_millis(200);

/// What an operator may set.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// `enableDebuggingHandlers`: logs, commands and forwarded ports.
    pub debugging_handlers: bool,
    /// Endpoints that are switched off one by one.
    pub switches: EndpointSwitches,
    /// `streamingConnectionIdleTimeout`: a stream on which nothing moves for so long ends.
    pub streaming_idle: Duration,
    /// The event loop isn't well if it did nothing for so long (upstream: twice the sync frequency, at least 5 min).
    pub sync_loop_silence: Duration,
    /// Connections of one listener at the same time. Beyond that, a client that was never authenticated gives way; where all were,
    /// further ones wait to be accepted.
    pub connections_max: usize,
    /// How often a followed log is checked for new lines.
    pub log_poll_interval: Duration,
    /// `volumeStatsAggPeriod`: pods' volumes are measured this often at most; none for never.
    pub volume_stats_period: Option<Duration>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            debugging_handlers: true,
            switches: EndpointSwitches::default(),
            streaming_idle: STREAMING_IDLE_DEFAULT,
            sync_loop_silence: SYNC_LOOP_SILENCE_DEFAULT,
            connections_max: CONNECTIONS_MAX,
            log_poll_interval: LOG_POLL_INTERVAL_DEFAULT,
            volume_stats_period: Some(VOLUME_STATS_PERIOD),
        }
    }
}

/// The mirrors of static pods as the API server has them, by their names.
pub type MirrorPods = watch::Receiver<Arc<BTreeMap<PodFullName, Arc<Pod>>>>;

/// Counts mirrors.
struct MirrorMetrics(MirrorPods);

impl MetricsSource for MirrorMetrics {
    fn write(&self, to: &mut Exposition) {
        let help = "[ALPHA] The number of mirror pods the kubelet will try to create (one per admitted \
                    static pod)";
        to.gauge("kubelet_mirror_pods", help, self.0.borrow().len() as f64);
    }
}

/// What the endpoints about the agent's own process answer from.
#[derive(Clone)]
pub struct Diagnostics {
    /// `/flagz`: the values of flags by their names.
    pub flags: BTreeMap<String, String>,
    /// The version of Kubernetes that the node reports, such as `1.36.0`.
    pub kubernetes_version: String,
    /// `/debug/flags/v`
    pub verbosity: Arc<dyn LogVerbosity>,
    pub system_logs: Arc<dyn SystemLogs>,
    pub checkpoints: Arc<dyn Checkpoints>,
    /// Where archives of containers go; it is made when it is needed.
    pub checkpoint_folder: PathBuf,
}

/// What the endpoints answer from.
#[derive(Clone)]
pub struct ServerParts {
    /// The agent's pods and their statuses.
    pub view: Arc<dyn AgentView>,
    /// For paths that name a static pod by its mirror's UID; none where there is no API server.
    pub mirrors: Option<MirrorPods>,
    /// The runtime's pods, for the ids of containers.
    pub pods: Arc<dyn PodView>,
    /// For commands that are run to their end.
    pub containers: Arc<dyn CommandRunner>,
    /// For streams to containers.
    pub streaming: Arc<dyn Streaming>,
    pub logs: Arc<dyn LogFiles>,
    /// The time, for what is shown of logs and for certificates.
    pub clock: Arc<dyn Clock>,
    /// `/metrics`, from [`LocalApi::metrics`](crate::LocalApi::metrics).
    pub metrics: Metrics,
    /// `/metrics/probes`: what probes found.
    pub probes: Arc<dyn MetricsSource>,
    /// When this process was started, if that is known.
    pub process_started_at: Option<Timestamp>,
    /// `/stats/summary` and `/metrics/resource`.
    pub stats: StatsPorts,
    /// `/configz`: an object with the configuration under `kubeletconfig`.
    pub configz: Value,
    /// The agent's own process.
    pub diagnostics: Diagnostics,
    /// Whose spans requests are.
    pub tracer: Tracer,
    /// How clients are authenticated.
    pub authentication: Authentication,
    /// What they may do.
    pub authorization: Authorization,
    /// What an operator may set.
    pub options: ServerOptions,
}

/// The kubelet's endpoints. One value serves any number of listeners.
pub struct KubeletServer {
    parts: ServerParts,
    stats: StatsProvider,
    sync_loop: SyncLoop,
    health_counts: Arc<HealthCounts>,
    sli_expositions: Expositions,
    probe_expositions: Expositions,
    requests: Arc<HttpMetrics>,
    /// When the process started; when this value was made, if that isn't known.
    started: Timestamp,
    /// One for each stream.
    streams: Arc<Semaphore>,
    /// One for each log that is shown.
    logs: Arc<Semaphore>,
    /// One for each query of the machine's logs.
    queries: Arc<Semaphore>,
    checkpoints: CheckpointCapacity,
    access: AccessControl,
    gzip: Gzip,
    /// What outlives the request that began it: streams, and connections to the runtime.
    tasks: TaskTracker,
}

impl KubeletServer {
    /// Over these parts, among whose metrics its requests are from now on. Serves nothing yet.
    pub fn new(parts: ServerParts) -> Arc<Self> {
        let sync_loop = SyncLoop::new(parts.options.sync_loop_silence);
        let access = AccessControl::new(
            parts.authentication.clone(),
            parts.authorization.clone(),
            parts.clock.clone(),
        );
        let (streams, logs) = (Semaphore::new(STREAMS_MAX), Semaphore::new(LOGS_MAX));
        let stats = StatsProvider::new(parts.stats.clone(), parts.options.volume_stats_period);
        let requests = Arc::<HttpMetrics>::default();
        for source in [requests.clone() as Arc<dyn MetricsSource>, stats.metrics()] {
            parts.metrics.add(source);
        }
        if let Some(mirrors) = parts.mirrors.clone() {
            parts.metrics.add(Arc::new(MirrorMetrics(mirrors)));
        }
        Arc::new(Self {
            started: parts.process_started_at.unwrap_or_else(|| parts.clock.now()),
            parts,
            stats,
            sync_loop,
            health_counts: Arc::default(),
            sli_expositions: Expositions::default(),
            probe_expositions: Expositions::default(),
            requests,
            streams: Arc::new(streams),
            logs: Arc::new(logs),
            queries: Arc::new(Semaphore::new(QUERIES_MAX)),
            checkpoints: CheckpointCapacity::default(),
            access,
            gzip: Gzip::default(),
            tasks: TaskTracker::new(),
        })
    }

    /// Serves everything over TLS to authorized clients (upstream: port 10250), until `stop` is cancelled, which ends streams,
    /// too. [`ServerTls::run`] takes care of `tls` meanwhile.
    pub async fn serve(self: Arc<Self>, listener: TcpListener, tls: Arc<ServerTls>, stop: CancellationToken) {
        connections::serve_tls(self, listener, tls, stop).await;
    }

    /// Serves `/healthz` to all clients over plain HTTP (upstream: port 10248 on the loopback). It says that the process is there,
    /// and not more, as upstream's: who sets a node up asks it before there are a network and pods.
    pub async fn serve_healthz(self: Arc<Self>, listener: TcpListener, stop: CancellationToken) {
        connections::serve_plain(self, listener, ServerPort::Healthz, stop).await;
    }

    /// Serves what may be read to all clients over plain HTTP (upstream: port 10255, off unless asked for).
    pub async fn serve_read_only(self: Arc<Self>, listener: TcpListener, stop: CancellationToken) {
        connections::serve_plain(self, listener, ServerPort::ReadOnly, stop).await;
    }

    /// Answers one request that came in by a listener, compressed where that is requested.
    async fn answer(
        self: Arc<Self>,
        mut request: Request<Incoming>,
        port: ServerPort,
        from: SocketAddr,
        permit: Arc<ConnectionPermit>,
        stop: CancellationToken,
    ) -> Response {
        let answering = Arc::new(self.requests.begin(request.method(), request.uri().path(), &port));
        // For a stream, which goes on after the answer.
        request.extensions_mut().insert(answering.clone());
        let wants_gzip = gzip::is_for(request.uri().path()) && gzip::is_accepted(request.headers());
        let is_head = request.method() == Method::HEAD;
        let response = self.clone().handle(request, port, from, permit, stop).await;
        let response = if wants_gzip { self.gzip.compressed(response).await } else { response };
        let response = if is_head { answers::head(response) } else { response };
        response.map(|body| Body::new(Guarded::new(body, answering)))
    }

    /// Answers a request of the local API, whose clients are root: logs of containers, and commands in them.
    pub(crate) async fn answer_local(
        self: Arc<Self>,
        request: Request<()>,
        stop: CancellationToken,
    ) -> Response {
        let path = request.uri().path().to_owned();
        let route = Route::of(&path);
        if let Some(route) = route.filter(|route| !route.takes(request.method())) {
            return answers::method_not_allowed(route.methods());
        }
        match route {
            Some(Route::ContainerLogs(target)) => self.container_logs(request.uri(), target, stop).await,
            Some(Route::Exec(target)) => self.exec(request, target, stop).await,
            Some(_) | None => answers::not_found(),
        }
    }

    async fn handle(
        self: Arc<Self>,
        request: Request<Incoming>,
        port: ServerPort,
        from: SocketAddr,
        permit: Arc<ConnectionPermit>,
        stop: CancellationToken,
    ) -> Response {
        if let Err(refused) = self.access.authorize(&request, &port).await {
            tracing::debug!(%from, method = %request.method(), path = request.uri().path(), code = refused.status().as_u16(), "Request rejected");
            return *refused;
        }
        if matches!(port, ServerPort::Guarded(_)) {
            permit.keep();
        }
        let path = request.uri().path().to_owned();
        let route = Route::of(&path);
        let mut span = spans::begin(&self.parts.tracer, &request, route.as_ref(), &port, from);
        let answered = self.clone().serve_route(request, route, port, stop);
        let response = span.scope(answered).await;
        spans::end(&mut span, &response);
        response
    }

    /// Answers what may be asked.
    async fn serve_route(
        self: Arc<Self>,
        request: Request<Incoming>,
        route: Option<Route<'_>>,
        port: ServerPort,
        stop: CancellationToken,
    ) -> Response {
        let Some(route) = route else {
            return switches::unknown(&self.parts.options, &port, request.uri().path());
        };
        if let Some(refused) = switches::refusal(&self.parts.options, &port, &route) {
            return refused;
        }
        if !route.takes(request.method()) {
            return answers::method_not_allowed(route.methods());
        }
        let accept = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
        if let Some(media_type) = route.not_acceptable(accept.unwrap_or_default()) {
            return answers::not_acceptable(media_type);
        }
        match route {
            Route::Healthz(check) => {
                let last_event = self.parts.view.stats().last_event;
                self.sync_loop.healthz(last_event, &port, check, request.uri(), &self.health_counts)
            }
            Route::Pods => answers::json_bytes(self.gzip.streamed(pod_list::pieces(self.parts.view.pods()))),
            Route::RunningPods => self.running_pods().await,
            Route::Configz => answers::nosniff(answers::json(&self.parts.configz)),
            Route::Metrics => {
                // For the sizes of logs.
                self.stats.refresh_metrics().await;
                self.with_start(self.parts.metrics.answer(request.headers()).await)
            }
            Route::ProbeMetrics => self.with_start(self.probe_metrics(request.headers()).await),
            Route::Slis => self.with_start(self.slis(request.method(), request.headers()).await),
            Route::ResourceMetrics => self.with_start(self.resource_metrics(request.headers()).await),
            Route::CadvisorMetrics => self.with_start(self.cadvisor_metrics(request.headers()).await),
            Route::StatsSummary => self.stats_summary(request).await,
            Route::ContainerLogs(target) => self.container_logs(request.uri(), target, stop).await,
            Route::Exec(target) => self.exec(request, target, stop).await,
            Route::Attach(target) => self.attach(request, target, stop).await,
            Route::PortForward(target) => self.port_forward(request, target, stop).await,
            Route::Run(target) => self.run(request.uri(), target).await,
            Route::Flagz => self.flagz(request.headers()),
            Route::Statusz => self.statusz(request.headers()),
            Route::DebugFlags => self.debug_flags(request).await,
            Route::Logs(path) => self.system_logs(request.uri(), path, request.headers(), stop).await,
            Route::Profiles(path) => profiles::answer(path),
            Route::Checkpoint(target) => self.checkpoint(request.uri(), target).await,
        }
    }
    /// Metrics say when the process started, for collectors that show since when counters count.
    fn with_start(&self, mut answer: Response) -> Response {
        if let Some(at) = self.parts.process_started_at {
            answer.headers_mut().insert(PROCESS_START, at.as_second().into());
        }
        answer
    }
}
