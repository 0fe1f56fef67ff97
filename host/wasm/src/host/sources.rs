//! Pods from plugins: each source is polled by a task of its own, and what its answers mean is decided by
//! [`witlet_core::sources::polling`].

mod kept;
mod left_out;
mod plugins;
mod poller;
mod read_health;
mod spec;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use witlet_core::event::{Event, EventObject, EventType};
use witlet_core::pod::SourceName;
use witlet_core::sources::plugin::{PodNews, PodStatusChange};
use witlet_ports::{PodSourceSet, PodStatusUpdate, SourceEvent, SourceNotifyError};

use poller::Poller;
pub use spec::SourcesConfig;
use spec::{SourcePlugins, SourceSpec};

#[cfg(test)]
mod tests;

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
            let object = EventObject::Plugin(name.to_string());
            let message = "is no longer a pod source, its pods are removed";
            self.config.events.record(Event::new(object, EventType::Normal, "PodSourceRemoved", message));
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
                        // It would never be asked again: so the task that runs the sources ends with it.
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

    async fn tell(
        &self,
        source: &SourceName,
        changed: Vec<PodStatusUpdate>,
    ) -> Result<(), SourceNotifyError> {
        let suffix = format!("-{}", self.config.node_name.to_lowercase());
        let news =
            changed.into_iter().map(|update| PodNews::Status(status_change(update, &suffix))).collect();
        self.plugins.tell(source, news).await
    }
}

/// Converts it to the source's names: without the node's.
fn status_change(update: PodStatusUpdate, suffix: &str) -> PodStatusChange {
    let PodStatusUpdate { full_name, uid, status } = update;
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
