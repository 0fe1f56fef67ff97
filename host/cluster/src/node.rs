//! The node object: registration and status.

pub(crate) mod api;
mod metrics;
mod node_cache;
mod overlay;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerImage, Node, NodeCondition};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use witlet_core::container::backoff::ExponentialBackoff;
use witlet_core::event::{Event, EventObject, EventType};
use witlet_core::node::conditions::{self, Pressures};
use witlet_core::node::plugin_set::SetReport;
use witlet_core::node::registration::{self, Registration};
use witlet_core::node::status::{self, NodeNews, NodeSnapshot, STATUS_IMAGES_MAX};
use witlet_core::node::update::{self, ReportSchedule, STATUS_REPORT_FREQUENCY, STATUS_UPDATE_FREQUENCY};
use witlet_core::node::{NodeFacts, whole_seconds};
use witlet_ports::{AgentView, Clock, EventSink, Jitter, MetricsSource, NodeReader, NodeWatch};

use api::{ApiError, NodeApi};
use metrics::StartupMetrics;
use node_cache::NodeCache;

pub use overlay::ClusterNode;

/// Tries to send one status (upstream: `nodeStatusUpdateRetry`).
const STATUS_TRIES_MAX: u32 = 5;
/// The agent's own view of the node is checked this often until it is ready, so that others receive soon.
const FAST_READ_INTERVAL: Duration = Duration::from_millis(100);
/// For at most this long after the start (upstream: `nodeReadyGracePeriod`).
const FAST_READS_MAX: Duration = Duration::from_secs(120);
/// And this often afterwards: a change of Ready is sent at once.
const READ_INTERVAL: Duration = Duration::from_secs(1);
/// A node that was ready before the start stays so for this long, while the agent checks its runtime (upstream:
/// `maxWaitForContainerRuntime`).
const RUNTIME_WAIT: Duration = Duration::from_secs(30);
/// The runtime is asked for its images this often (upstream: the image cache's refresh).
const IMAGES_REFRESH: Duration = Duration::from_secs(30);

/// What the operator says about the node's object.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// Whether it is made if it isn't there (`--register-node`); else it is waited for.
    pub register: bool,
    /// What it is registered with.
    pub registration: Registration,
    /// Port of the node's endpoints; none if there are none.
    pub port: Option<u16>,
    /// How often the status is reckoned (`nodeStatusUpdateFrequency`).
    pub update_every: Duration,
    /// How often it is sent where nothing changed (`nodeStatusReportFrequency`).
    pub report_every: Duration,
    /// How many images it reports (`nodeStatusMaxImages`).
    pub images_max: usize,
}

impl Default for NodeOptions {
    /// Upstream's defaults.
    fn default() -> Self {
        Self {
            register: true,
            registration: Registration::default(),
            port: Some(10250),
            update_every: STATUS_UPDATE_FREQUENCY,
            report_every: STATUS_REPORT_FREQUENCY,
            images_max: STATUS_IMAGES_MAX,
        }
    }
}

/// The ports of the node manager.
#[derive(Clone)]
pub struct NodePorts {
    /// The machine itself, without what the API server has of the node.
    pub node: Arc<dyn NodeWatch>,
    /// What it has and uses.
    pub node_reader: Arc<dyn NodeReader>,
    pub events: Arc<dyn EventSink>,
    pub clock: Arc<dyn Clock>,
    pub jitter: Arc<dyn Jitter>,
}

/// Keeps the node's object: makes it, says how the node is, makes it again if someone deletes it.
pub struct NodeManager {
    client: kube::Client,
    api: NodeApi,
    options: NodeOptions,
    ports: NodePorts,
    cache: Arc<NodeCache>,
    startup: StartupMetrics,
}

impl NodeManager {
    /// Nothing is asked or reported before [`NodeManager::run`].
    pub fn new(client: kube::Client, node_name: &str, options: NodeOptions, ports: NodePorts) -> Self {
        let api = NodeApi::new(&client, node_name);
        let startup = StartupMetrics::new(None, ports.clock.now());
        Self { client, api, options, ports, cache: Arc::default(), startup }
    }

    /// Sets when the machine and the agent were started, for monitoring.
    pub fn started(mut self, machine: Option<Timestamp>, agent: Option<Timestamp>) -> Self {
        self.startup = StartupMetrics::new(machine, agent.unwrap_or_else(|| self.ports.clock.now()));
        self
    }

    /// How long the node took until it was ready.
    pub fn metrics(&self) -> Arc<dyn MetricsSource> {
        Arc::new(self.startup.clone())
    }

    /// The node's object as the API server has it; none while it isn't known or doesn't exist.
    pub fn node(&self) -> watch::Receiver<Option<Arc<Node>>> {
        self.cache.watch()
    }

    /// Runs until `stop` is cancelled. `view` says whether the agent is ready.
    pub async fn run(self, view: Arc<dyn AgentView>, stop: CancellationToken) {
        let Self { client, api, options, ports, cache, startup } = self;
        let (jitter, name) = (ports.jitter.clone(), api.name().to_owned());
        let watching = cache.follow(&client, &name, &*jitter, &stop);
        let mut reporter = NodeStatusReporter {
            schedule: ReportSchedule::new(options.report_every),
            retry: ExponentialBackoff::new(registration::RETRY),
            api,
            options,
            ports,
            cache: cache.clone(),
            startup,
            view,
            began: Instant::now(),
            is_registered: false,
            was_ready: false,
            reported_ready: false,
            reported_pressures: Pressures::default(),
            reported_set: SetReport::default(),
            unschedulable: false,
            next_status: Instant::now(),
            images: None,
        };
        tokio::join!(watching, stop.run_until_cancelled(reporter.run()));
    }
}

/// Reports the node's object to the API server.
struct NodeStatusReporter {
    api: NodeApi,
    options: NodeOptions,
    ports: NodePorts,
    cache: Arc<NodeCache>,
    startup: StartupMetrics,
    view: Arc<dyn AgentView>,
    began: Instant,
    schedule: ReportSchedule,
    retry: ExponentialBackoff,
    is_registered: bool,
    /// Whether the agent was ready at any time since the start.
    was_ready: bool,
    /// What was said last of Ready, whether or not it arrived.
    reported_ready: bool,
    reported_pressures: Pressures,
    reported_set: SetReport,
    unschedulable: bool,
    next_status: Instant,
    /// The images, and when they were listed.
    images: Option<(Instant, Vec<ContainerImage>)>,
}

/// What was read of the node at one time.
struct NodeReading {
    facts: Arc<NodeFacts>,
    shown: Arc<Node>,
    pressures: Pressures,
    now: Timestamp,
}

impl NodeStatusReporter {
    async fn run(&mut self) {
        let mut cache = self.cache.watch();
        loop {
            let wait = self.step().await;
            let gone = cache.wait_for(Option::is_none);
            tokio::select! {
                () = sleep(wait) => {}
                // Someone deleted it.
                Ok(_) = gone, if self.is_registered => {}
            }
        }
    }

    /// Does what is due, and says when to come again.
    async fn step(&mut self) -> Duration {
        if !self.is_registered || self.cache.current().is_none() {
            self.is_registered = false;
            match self.register().await {
                Ok(()) => self.registered(),
                Err(error) => {
                    let wait = self.retry.fail();
                    tracing::warn!(error = %error, retry_in = ?wait, "Unable to register node with API server");
                    return wait;
                }
            }
        }
        let is_ready = conditions::is_ready(&self.view.node());
        self.was_ready |= is_ready;
        let pressures = conditions::pressures_of(&self.view.node());
        let set = SetReport::of(&self.view.node());
        let has_news = is_ready != self.reported_ready
            || pressures != self.reported_pressures
            || set != self.reported_set;
        if Instant::now() >= self.next_status || has_news {
            (self.reported_ready, self.reported_pressures) = (is_ready, pressures);
            self.reported_set = set;
            self.next_status = Instant::now() + self.options.update_every;
            self.update().await;
            if self.cache.current().is_none() {
                return Duration::ZERO;
            }
        }
        let is_starting = !self.was_ready && self.began.elapsed() < FAST_READS_MAX;
        let interval = if is_starting { FAST_READ_INTERVAL } else { READ_INTERVAL };
        interval.min(self.next_status.saturating_duration_since(Instant::now()))
    }

    fn registered(&mut self) {
        self.is_registered = true;
        self.retry.succeed();
        self.next_status = Instant::now();
    }

    /// Makes the object, or puts the one right that is there.
    async fn register(&mut self) -> Result<(), ApiError> {
        if !self.options.register {
            let node = self.api.get().await?;
            self.cache.put(node);
            return Ok(());
        }
        let reading = self.read().await;
        // There may be one, and it may be ready; who makes a new one finds out.
        let ready = self.ready(&reading, self.cache.current().as_deref());
        let seen = self.seen(&reading, ready.as_ref());
        let (desired, news) = registration::initial(&seen, &self.options.registration);
        self.startup.note(|startup| startup.attempt(self.ports.clock.now()));
        let node = match self.api.create(&desired).await {
            Ok(node) => {
                self.startup.note(|startup| startup.registered(self.ports.clock.now()));
                tracing::info!(node = self.api.name(), "Successfully registered node");
                node
            }
            Err(error) if error.is_conflict() => {
                let existing = self.api.get().await?;
                match update::patch(&existing, &registration::reconciled(&existing, &desired)) {
                    Some(patch) => self.api.patch_status(&patch).await?,
                    None => existing,
                }
            }
            Err(error) => return Err(error),
        };
        self.cache.put(node);
        self.tell(news);
        Ok(())
    }

    /// Sends the status, if it is time.
    async fn update(&mut self) {
        let reading = self.read().await;
        let mut base = self.cache.current();
        for _ in 0..STATUS_TRIES_MAX {
            let result = match &base {
                Some(existing) => self.update_from(existing, &reading).await,
                None => Err(ApiError::Missing),
            };
            match result {
                Ok(()) => return,
                Err(ApiError::Missing) => return self.cache.gone(),
                Err(error) => {
                    tracing::warn!(error = %error, "Error updating node status");
                    if !error.is_refusal() {
                        return;
                    }
                }
            }
            // The server has another one than was thought.
            base = match self.api.get().await {
                Ok(node) => Some(Arc::new(node)),
                Err(ApiError::Missing) => None,
                Err(_) => return,
            };
        }
    }

    async fn update_from(&mut self, existing: &Node, reading: &NodeReading) -> Result<(), ApiError> {
        let ready = self.ready(reading, Some(existing));
        let seen = self.seen(reading, ready.as_ref());
        let (desired, news) = registration::current(existing, &seen, &self.options.registration);
        let changed = update::has_changed(existing, &desired);
        if self.schedule.is_due(changed, reading.now)
            && let Some(patch) = update::patch(existing, &desired)
        {
            let sent = self.api.patch_status(&patch).await?;
            if conditions::is_ready(&sent) {
                self.startup.note(|startup| startup.ready(self.ports.clock.now()));
            }
            self.cache.put(sent);
            self.schedule.sent(changed, reading.now, self.ports.jitter.unit());
            self.tell(news);
        }
        self.tell_schedulable(existing);
        Ok(())
    }

    async fn read(&mut self) -> NodeReading {
        let is_old = self.images.as_ref().is_none_or(|(at, _)| at.elapsed() >= IMAGES_REFRESH);
        if is_old && let Some(found) = self.ports.node_reader.images().await {
            self.images = Some((Instant::now(), status::images(found, self.options.images_max)));
        }
        let now = whole_seconds(self.ports.clock.now());
        let shown = self.view.node();
        let pressures = conditions::pressures_of(&shown);
        NodeReading { facts: self.ports.node.watch().borrow().clone(), shown, pressures, now }
    }

    fn ready(&self, reading: &NodeReading, existing: Option<&Node>) -> Option<NodeCondition> {
        let has_read = self.was_ready || self.began.elapsed() >= RUNTIME_WAIT;
        conditions::ready_to_tell(conditions::ready(&reading.shown), existing, has_read)
    }

    fn seen<'a>(&'a self, reading: &'a NodeReading, ready: Option<&'a NodeCondition>) -> NodeSnapshot<'a> {
        NodeSnapshot {
            machine: &reading.facts.node,
            ready,
            source: conditions::of_type(&reading.shown, conditions::SOURCE_UNREADABLE),
            plugins: conditions::of_type(&reading.shown, conditions::PLUGINS_READY),
            set: SetReport::of(&reading.shown),
            agent: reading.shown.status.as_ref(),
            pressures: reading.pressures,
            images: self.images.as_ref().map(|(_, images)| images.as_slice()),
            port: self.options.port,
            external_addresses: self.options.registration.external_cloud,
            now: reading.now,
        }
    }

    fn tell(&self, news: Vec<NodeNews>) {
        for news in news {
            let (kind, reason, message) = match news {
                NodeNews::Rebooted { boot_id } => (
                    EventType::Warning,
                    "Rebooted",
                    format!("Node {} has been rebooted, boot id: {boot_id}", self.api.name()),
                ),
                NodeNews::Condition(reason) => (EventType::Normal, reason, self.is_now(reason)),
            };
            self.record(kind, reason, message);
        }
    }

    /// Someone cordoned the node, or takes that back (upstream: `recordNodeSchedulableEvent`).
    fn tell_schedulable(&mut self, node: &Node) {
        let unschedulable = node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or(false);
        if unschedulable != self.unschedulable {
            self.unschedulable = unschedulable;
            let reason = if unschedulable { "NodeNotSchedulable" } else { "NodeSchedulable" };
            self.record(EventType::Normal, reason, self.is_now(reason));
        }
    }

    fn is_now(&self, reason: &str) -> String {
        format!("Node {} status is now: {reason}", self.api.name())
    }

    fn record(&self, kind: EventType, reason: &str, message: String) {
        self.ports.events.record(Event::new(EventObject::Node, kind, reason, message));
    }
}
