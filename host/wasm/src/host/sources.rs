//! Pods from plugins: each source is polled by a task of its own, and what its answers mean is decided by
//! [`witlet_core::sources::polling`].

mod kept;
mod plugins;
mod poller;
mod reading;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use sha2::{Digest, Sha256};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use witlet_core::event::{Event, EventObject, EventType};
use witlet_core::pod::SourceName;
use witlet_core::sources::plugin::PodStatusChange;
use witlet_core::sources::polling::{Polled, Settings};
use witlet_ports::{
    Clock, EventSink, Jitter, NotTold, PodFare, PodSourceSet, SourceEvent, SourceHealth, StateStore,
};

use poller::Poller;

#[cfg(test)]
mod tests;

/// A plugin that is a source.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SourceSpec {
    pub(super) name: SourceName,
    pub(super) settings: Settings,
    /// The plugin's own configuration, which a cursor belongs to.
    pub(super) config: Arc<str>,
    /// Whether it may keep something over a restart of the agent.
    pub(super) keeps_state: bool,
    /// Whether it wants to know how its pods fare.
    pub(super) listens: bool,
    /// Another number whenever other code runs.
    pub(super) version: usize,
}

impl SourceSpec {
    /// Of the configuration, so that a cursor isn't handed to a source that looks elsewhere now.
    fn config_digest(&self) -> String {
        crate::compile::hex(&Sha256::digest(self.config.as_bytes()))
    }

    /// Where what it left is kept: a name that a [`StateStore`] takes, whatever the source's is.
    fn state_name(&self) -> String {
        let digest = crate::compile::hex(&Sha256::digest(self.name.as_str().as_bytes()));
        format!("source-{}", &digest[..16])
    }
}

/// The plugins that are sources, as far as polling is concerned.
#[async_trait]
pub(super) trait SourcePlugins: Send + Sync + 'static {
    /// All of them, also those that aren't loaded: their pods are theirs.
    fn sources(&self) -> Vec<SourceSpec>;

    /// Changes whenever one of them may have changed.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Asks one of them. Whoever stops waiting ends the call.
    async fn poll(&self, name: &SourceName, cursor: Option<&str>) -> Polled;

    /// Tells one of them how its pods fare.
    async fn tell(&self, name: &SourceName, changed: Vec<PodStatusChange>) -> Result<(), NotTold>;
}

/// What the sources of plugins need beside the plugins.
pub struct SourcesConfig {
    /// This node's name, which the names of pods end in.
    pub node_name: String,
    /// Keeps what a source had for the next start.
    pub state: Arc<dyn StateStore>,
    /// Hears of trouble, and of pods that aren't run.
    pub events: Arc<dyn EventSink>,
    /// Shows which sources can't be read.
    pub health: Arc<SourceHealth>,
    /// Wall time.
    pub clock: Arc<dyn Clock>,
    /// Keeps sources that failed together from being asked together.
    pub jitter: Arc<dyn Jitter>,
}

/// The port [`PodSourceSet`] over plugins.
pub(super) struct HostSources<P> {
    plugins: Arc<P>,
    config: Arc<SourcesConfig>,
    names: watch::Sender<Arc<BTreeSet<SourceName>>>,
}

/// A source that is polled.
struct Running {
    spec: watch::Sender<SourceSpec>,
    stop: CancellationToken,
}

impl<P: SourcePlugins> HostSources<P> {
    pub(super) fn new(plugins: Arc<P>, config: SourcesConfig) -> Self {
        let names = plugins.sources().into_iter().map(|spec| spec.name).collect();
        Self { plugins, config: Arc::new(config), names: watch::Sender::new(Arc::new(names)) }
    }

    /// Has each source polled that there is now, and no other. What was kept of those that are there at the agent's start runs again.
    fn follow(
        &self,
        at_start: bool,
        running: &mut BTreeMap<SourceName, Running>,
        tasks: &mut JoinSet<()>,
        events: &mpsc::Sender<SourceEvent>,
        stop: &CancellationToken,
    ) {
        let specs = self.plugins.sources();
        let now: BTreeSet<SourceName> = specs.iter().map(|spec| spec.name.clone()).collect();
        for (name, gone) in running.extract_if(.., |name, _| !now.contains(name)) {
            gone.stop.cancel();
            self.config.events.record(Event {
                object: EventObject::Plugin(name.to_string()),
                kind: EventType::Normal,
                reason: "PodSourceRemoved".to_owned(),
                message: "is no pod source any more, its pods end".to_owned(),
                annotations: Default::default(),
            });
        }
        // Before any set of a source that is new.
        self.names.send_if_modified(|names| {
            let changed = **names != now;
            if changed {
                *names = Arc::new(now);
            }
            changed
        });
        for spec in specs {
            if let Some(running) = running.get(&spec.name) {
                running.spec.send_if_modified(|known| {
                    let changed = *known != spec;
                    known.clone_from(&spec);
                    changed
                });
                continue;
            }
            let (agent, stop) = (stop.clone(), stop.child_token());
            let (sender, receiver) = watch::channel(spec.clone());
            running.insert(spec.name.clone(), Running { spec: sender, stop: stop.clone() });
            let (records, newest) = watch::channel(None);
            let (plugins, config) = (self.plugins.clone(), self.config.clone());
            let poller = Poller::new(plugins, config.clone(), receiver, events.clone(), records, at_start);
            tasks.spawn(async move {
                tokio::select! {
                    () = stop.cancelled() => {}
                    ((), ()) = async { tokio::join!(poller.run(), kept::write(&*config.state, &spec, newest)) } => {}
                }
                if !agent.is_cancelled() && stop.is_cancelled() {
                    kept::forget(&*config.state, &spec).await;
                }
            });
        }
    }
}

#[async_trait]
impl<P: SourcePlugins> PodSourceSet for HostSources<P> {
    fn names(&self) -> watch::Receiver<Arc<BTreeSet<SourceName>>> {
        self.names.subscribe()
    }

    async fn run(self: Arc<Self>, events: mpsc::Sender<SourceEvent>, stop: CancellationToken) {
        let mut changes = self.plugins.changes();
        let mut running = BTreeMap::new();
        let mut tasks = JoinSet::new();
        let mut at_start = true;
        loop {
            changes.mark_unchanged();
            self.follow(at_start, &mut running, &mut tasks, &events, &stop);
            at_start = false;
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = events.closed() => return,
                    changed = changes.changed() => match changed {
                        Ok(()) => break,
                        // The host is gone.
                        Err(_) => return,
                    },
                    Some(ended) = tasks.join_next() => {
                        // It would never be asked again: whoever runs the sources ends with it.
                        if let Err(Ok(panic)) = ended.map_err(JoinError::try_into_panic) {
                            std::panic::resume_unwind(panic);
                        }
                    }
                }
            }
        }
    }

    fn listeners(&self) -> BTreeSet<SourceName> {
        self.plugins.sources().into_iter().filter(|spec| spec.listens).map(|spec| spec.name).collect()
    }

    async fn tell(&self, source: &SourceName, changed: Vec<PodFare>) -> Result<(), NotTold> {
        let suffix = format!("-{}", self.config.node_name.to_lowercase());
        let changed = changed.into_iter().map(|fare| told(fare, &suffix)).collect();
        self.plugins.tell(source, changed).await
    }
}

/// In the source's words: without the node's name.
fn told(fare: PodFare, suffix: &str) -> PodStatusChange {
    let PodFare { full_name, uid, status } = fare;
    let json = |status: Arc<_>| {
        serde_json::to_string(&*status).expect("a status has only string keys, so it always becomes JSON")
    };
    PodStatusChange {
        namespace: full_name.namespace.to_string(),
        name: full_name.name.strip_suffix(suffix).unwrap_or(&full_name.name).to_owned(),
        uid: uid.to_string(),
        status: status.map(json),
    }
}
