//! The agent put together: its ports, its tasks, and the handle that shows it.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::checkpoints;
use crate::event_loop::EventLoop;
use crate::image_gc::{ImageGc, ImageGcRequests};
use crate::inputs::Inputs;
use crate::metrics::AgentMetrics;
use crate::pod_status_store::PodStatusStore;
use crate::settings::AgentSettings;
use crate::tasks::{end_within, ticker};

mod handle;
mod lifeline;
mod ports;
mod services;

pub use handle::AgentHandle;
pub use lifeline::AgentError;
use lifeline::Lifeline;
pub use ports::Ports;
use services::Services;

/// A node agent that is ready to run.
pub struct Agent {
    ports: Ports,
    settings: AgentSettings,
    statuses: Arc<PodStatusStore>,
    image_gc: ImageGc,
    image_requests: ImageGcRequests,
    metrics: Arc<AgentMetrics>,
}

impl Agent {
    /// An agent, and the handle that shows it.
    pub fn new(ports: Ports, settings: AgentSettings) -> (Self, AgentHandle) {
        let metrics = Arc::<AgentMetrics>::default();
        let (events, sink) = (ports.events.clone(), ports.statuses.clone());
        let statuses = Arc::new(PodStatusStore::new(events, sink, metrics.pods.clone()));
        let (image_gc, requests) = ImageGc::channel();
        let handle =
            AgentHandle { statuses: statuses.clone(), image_gc: image_gc.clone(), metrics: metrics.clone() };
        (Self { ports, settings, statuses, image_gc, image_requests: requests, metrics }, handle)
    }

    /// Runs until `stop` is cancelled. Pods survive it, unless the configuration has them end with it. Nothing that
    /// it started runs when it returns.
    ///
    /// # Errors
    /// When it can't start with what is on disk, and when a part of it that should run on has ended.
    pub async fn run(self, stop: CancellationToken) -> Result<(), AgentError> {
        let Self { mut ports, settings, statuses, image_gc, image_requests, metrics } = self;
        let loaded = checkpoints::load(&*ports.state, &*ports.files, &*ports.events, &settings).await?;
        // Also cancelled when a part ends that shouldn't.
        let stop = stop.child_token();
        let (ended, unexpected) = mpsc::channel(1);
        // The tasks that serve the loop end after it, for pods that end need them.
        let serving = CancellationToken::new();
        let sources = std::mem::take(&mut ports.sources);
        let source_names: BTreeSet<_> = sources.iter().map(|source| source.name()).collect();
        let mut services = Services {
            ports,
            settings: &settings,
            metrics: &metrics,
            statuses: &statuses,
            tasks: JoinSet::new(),
            serves: Lifeline { stop: serving.clone(), ended: ended.clone() },
        };

        let watched = services.watch_runtime();
        let probes = services.probe();
        services.tend_files(&watched.inspector.cache);
        let (source_events, plugin_sources) =
            services.run_sources(sources, &Lifeline { stop: stop.clone(), ended });
        let tables = services.keep_resource_tables().await;
        let node = services.ports.node.watch();
        let cgroups = services.keep_cgroups(node.clone());
        let access = services.collect_images(image_requests);
        let (usage, last_usage) = watch::channel(None);
        let executor = services.executor(&watched, tables, (node.clone(), last_usage), cgroups, access);
        let evictions = services.evict(image_gc, executor.runtime.view.clone(), usage);
        let recheck_ends = services.keep_recheck_ends().await;
        let outside = services.outside(executor, &watched, recheck_ends);
        let inputs = Inputs {
            sources: source_events,
            plugin_sources,
            pleg: watched.pleg,
            probes,
            health: watched.health,
            node,
            handlers: services.ports.admission.generation(),
            objects: services.ports.objects.clone(),
            evictions,
            sync_ticks: ticker(settings.sync_tick),
            housekeeping: ticker(settings.housekeeping),
            stop: stop.clone(),
        };
        let (tasks, stop_wait_max) = (services.tasks, settings.stop_wait_max);
        let running = EventLoop::new(settings, outside, source_names, loaded).run(inputs);
        let outcome = run_until_a_part_ends(running, unexpected, &stop).await;
        serving.cancel();
        end_within(tasks, stop_wait_max).await;
        outcome
    }
}

/// Runs the loop to its end, which a part that ended unexpectedly brings about.
async fn run_until_a_part_ends(
    running: impl Future<Output = ()>,
    mut unexpected: mpsc::Receiver<AgentError>,
    stop: &CancellationToken,
) -> Result<(), AgentError> {
    let mut running = pin!(running);
    tokio::select! {
        () = &mut running => Ok(()),
        Some(error) = unexpected.recv() => {
            stop.cancel();
            running.await;
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests;
