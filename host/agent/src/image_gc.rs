//! Removes images that nothing uses, when the image file system fills up, when they are old, and when eviction asks for it. A
//! task of its own; what is removed is decided by `witlet_core::image::gc`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::{SignedDuration, Timestamp};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use witlet_core::error::one_line;
use witlet_core::event::{Event, EventObject};
use witlet_core::image::gc::{
    DiskUsage, ImageGcPolicy, ImageRecords, Reason, Reclaim, ReclaimError, SpaceNeed,
};
use witlet_core::runtime::ContainerId;
use witlet_core::trace;
use witlet_ports::{
    Clock, EventSink, FileSystems, FilesError, ImageRemovals, ImageStore, RuntimeError, StateStore, Tracer,
};

use crate::checkpoints::load_checkpoint;
use crate::executor::images::access::PullAccess;

/// How often images are checked and collected (upstream: `ImageGCPeriod`); the first time at the start.
const PERIOD: Duration = Duration::from_mins(5);
/// A clock that goes differently from time by more than this was set.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_secs(10);
/// How many requests to delete all unused images may wait.
const REQUESTS_MAX: usize = 4;
/// How many containers are asked at the same time which images they have mounted.
const STATUS_CALLS_AT_ONCE: usize = 8;
/// The name of the saved times of images.
pub(crate) const IMAGE_TIMES: &str = "image-times.json";

/// Why images couldn't be collected. The texts are upstream's where upstream has one.
#[derive(Debug, Error)]
pub enum ImageGcError {
    /// The runtime can't be asked for its images, containers or file systems.
    #[error("{}", .0.status_text())]
    Runtime(RuntimeError),
    /// The runtime doesn't say which images a container has mounted.
    #[error("get container status: {}", .0.status_text())]
    ContainerStatus(RuntimeError),
    /// The runtime names no image file system.
    #[error("imageFs information is unavailable")]
    NoImageFs,
    /// The image file system can't be read.
    #[error("get filesystem info: Failed to get the info of the filesystem with mountpoint")]
    FileSystem(#[source] FilesError),
    /// Not all that should be was freed.
    #[error(transparent)]
    Reclaim(#[from] ReclaimError),
    /// The agent has ended.
    #[error("the agent has ended")]
    Ended,
}

impl From<RuntimeError> for ImageGcError {
    fn from(error: RuntimeError) -> Self {
        Self::Runtime(error)
    }
}

type DeleteUnused = oneshot::Sender<Result<(), ImageGcError>>;

/// Reaches the image garbage collection of a running agent. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ImageGc {
    requests: mpsc::Sender<DeleteUnused>,
    removals: Arc<RemovalCounts>,
}

/// The other end of [`ImageGc`].
pub(crate) struct ImageGcRequests {
    requests: mpsc::Receiver<DeleteUnused>,
    removals: Arc<RemovalCounts>,
}

#[derive(Debug, Default)]
struct RemovalCounts {
    age: AtomicU64,
    space: AtomicU64,
}

impl RemovalCounts {
    fn count(&self, reason: Reason) {
        let counter = match reason {
            Reason::Age => &self.age,
            Reason::Space => &self.space,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

impl ImageGc {
    pub(crate) fn channel() -> (Self, ImageGcRequests) {
        let (sender, requests) = mpsc::channel(REQUESTS_MAX);
        let removals = Arc::<RemovalCounts>::default();
        (Self { requests: sender, removals: removals.clone() }, ImageGcRequests { requests, removals })
    }

    /// Deletes all images that nothing uses, that aren't pinned, and that are older than the minimum age. Returns once that is
    /// done, after the collection that may run at the moment. Each removal has the deadline of a runtime request. Dropping the
    /// future doesn't stop a deletion that has begun.
    ///
    /// # Errors
    /// When the runtime can't be asked, when an image couldn't be removed (the others are), and when the agent has ended.
    pub async fn delete_unused(&self) -> Result<(), ImageGcError> {
        let (reply, outcome) = oneshot::channel();
        self.requests.send(reply).await.map_err(|_| ImageGcError::Ended)?;
        outcome.await.map_err(|_| ImageGcError::Ended)?
    }

    /// How many images were removed since the agent began.
    pub(crate) fn removals(&self) -> ImageRemovals {
        let RemovalCounts { age, space } = &*self.removals;
        ImageRemovals { age: age.load(Ordering::Relaxed), space: space.load(Ordering::Relaxed) }
    }
}

/// The ports of the image garbage collection.
pub(crate) struct ImageGcPorts {
    pub(crate) store: Arc<dyn ImageStore>,
    pub(crate) file_systems: Arc<dyn FileSystems>,
    pub(crate) state: Arc<dyn StateStore>,
    pub(crate) events: Arc<dyn EventSink>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) access: Arc<PullAccess>,
    pub(crate) tracer: Tracer,
}

/// Knows the images, and removes them.
pub(crate) struct ImageGcManager {
    ports: ImageGcPorts,
    policy: ImageGcPolicy,
    removals: Arc<RemovalCounts>,
    records: ImageRecords,
    /// The times as they are on disk, if they are.
    saved: Option<Vec<u8>>,
    /// What containers have mounted, which doesn't change.
    mounted: BTreeMap<ContainerId, Vec<String>>,
    /// The collection before this one failed.
    has_failed: bool,
    /// When the clock was last read.
    read_at: (Timestamp, Instant),
}

impl ImageGcManager {
    /// Serves until `stop` is cancelled.
    pub(crate) async fn run(
        ports: ImageGcPorts,
        policy: ImageGcPolicy,
        requests: ImageGcRequests,
        stop: CancellationToken,
    ) {
        let ImageGcRequests { requests, removals } = requests;
        let serving = async {
            let manager = Self::load(ports, policy, removals).await;
            manager.serve(requests).await;
        };
        stop.run_until_cancelled(serving).await;
    }

    /// Times that can't be read are reported; then all images count as detected at the first check.
    async fn load(ports: ImageGcPorts, policy: ImageGcPolicy, removals: Arc<RemovalCounts>) -> Self {
        let now = ports.clock.now();
        let read =
            |saved: &[u8]| ImageRecords::decode(saved, now).map(Some).map_err(|error| one_line(&error));
        let lost =
            ("ImageTimesLost", "Failed to read the times of images, counting all as first detected now");
        let loaded: Option<ImageRecords> =
            load_checkpoint(&*ports.state, &*ports.events, IMAGE_TIMES, read, lost).await;
        let saved = loaded.as_ref().map(ImageRecords::encode);
        let records = loaded.unwrap_or_else(|| ImageRecords::new(now));
        let read_at = (now, Instant::now());
        Self { ports, policy, removals, records, saved, mounted: BTreeMap::new(), has_failed: false, read_at }
    }

    /// The time. A clock that was set since it was last read takes the times of images along, so that their ages stay.
    fn now(&mut self) -> Timestamp {
        let now = self.ports.clock.now();
        let (before, since) = self.read_at;
        let elapsed = SignedDuration::try_from(since.elapsed()).unwrap_or(SignedDuration::MAX);
        let set_by = now.duration_since(before).saturating_sub(elapsed);
        if set_by.abs() > CLOCK_TOLERANCE {
            tracing::info!(seconds = set_by.as_secs(), "Clock was set, adjusted the times of images");
            self.records.follow_clock(set_by);
        }
        self.read_at = (now, Instant::now());
        now
    }

    async fn serve(mut self, mut requests: mpsc::Receiver<DeleteUnused>) {
        if !self.policy.is_enabled() {
            tracing::debug!(
                "ImageGCHighThresholdPercent is set 100 and ImageMaximumGCAge is 0, Disable image GC"
            );
        }
        let mut ticks = tokio::time::interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                Some(reply) = requests.recv() => {
                    // The caller may have given up while others were served.
                    if !reply.is_closed() {
                        let outcome = self.delete_unused().await;
                        let _given_up = reply.send(outcome);
                    }
                }
                _ = ticks.tick() => self.collect_regularly().await,
            }
        }
    }

    /// Upstream detects images as often as it collects them; here a collection begins with it.
    async fn collect_regularly(&mut self) {
        if !self.policy.is_enabled() {
            let now = self.now();
            if let Err(error) = self.detect(now).await {
                tracing::info!(error = one_line(&error), "Failed to monitor images");
            }
            return;
        }
        let now = self.now();
        let mut span = self.ports.tracer.span(|| trace::garbage_collection("Images/GarbageCollect"));
        let outcome = span.scope(self.collect(now)).await;
        if let Err(error) = &outcome {
            span.fail(|| one_line(error));
        }
        drop(span);
        self.save().await;
        match outcome {
            Ok(()) if self.has_failed => tracing::info!("Image garbage collection succeeded"),
            Ok(()) => tracing::debug!("Image garbage collection succeeded"),
            Err(error) => {
                let err = one_line(&error);
                if let ImageGcError::Reclaim(error) = &error
                    && let Some(reason) = error.event_reason()
                {
                    self.warn(reason, err.clone());
                }
                if self.has_failed {
                    tracing::error!(error = err, "Image garbage collection failed multiple times in a row");
                    self.warn("ImageGCFailed", err);
                } else {
                    tracing::error!(
                        error = err,
                        "Image garbage collection failed once. Stats initialization may not have completed yet"
                    );
                }
                self.has_failed = true;
                return;
            }
        }
        self.has_failed = false;
    }

    async fn collect(&mut self, now: Timestamp) -> Result<(), ImageGcError> {
        self.detect(now).await?;
        let mut unused = self.records.unused();
        let old = Reclaim::old(&self.policy, &mut unused, self.records.tracked_since(), now);
        self.carry_out(old, now).await?;
        let disk = self.image_fs().await?;
        let Some(need) = SpaceNeed::of(&self.policy, disk)? else { return Ok(()) };
        tracing::info!(
            usage = need.usage_percent,
            high_threshold = self.policy.high_percent(),
            amount_to_free = need.to_free,
            low_threshold = self.policy.low_percent(),
            "Disk usage on image filesystem is over the high threshold, trying to free bytes down to the low threshold"
        );
        let freed = self.carry_out(Reclaim::space(&self.policy, unused, need.to_free, now), now).await?;
        Ok(need.satisfied_by(freed)?)
    }

    async fn delete_unused(&mut self) -> Result<(), ImageGcError> {
        tracing::info!("Attempting to delete unused images");
        let now = self.now();
        self.detect(now).await?;
        let all = Reclaim::all(&self.policy, self.records.unused(), now);
        let outcome = self.carry_out(all, now).await;
        self.save().await;
        outcome.map(|_| ()).map_err(ImageGcError::from)
    }

    /// Removes one image after the other. Records of pulls go with the images.
    async fn carry_out(&mut self, mut reclaim: Reclaim, began_at: Timestamp) -> Result<u64, ReclaimError> {
        let mut any_removed = false;
        while let Some(image) = reclaim.next_image() {
            tracing::info!(image_id = image.id, size = image.size, "Removing image to free bytes");
            if let Err(error) = self.ports.store.remove(&image.id).await {
                tracing::error!(image = image.id, error = error.status_text(), "Failed to remove image");
                reclaim.failed(error.status_text());
                continue;
            }
            self.records.remove(&image.id);
            self.removals.count(reclaim.reason());
            reclaim.removed(&image);
            any_removed = true;
        }
        if any_removed {
            self.ports.access.prune(&*self.ports.store, began_at).await;
        }
        reclaim.outcome()
    }

    /// Checks all images and containers, and saves what is new of their times.
    async fn detect(&mut self, now: Timestamp) -> Result<(), ImageGcError> {
        let images = self.ports.store.list().await?;
        let containers = self.ports.store.containers().await?;
        let listed: BTreeSet<&ContainerId> = containers.iter().map(|one| &one.container).collect();
        self.mounted.retain(|container, _| listed.contains(container));
        let unseen: Vec<ContainerId> =
            listed.into_iter().filter(|id| !self.mounted.contains_key(*id)).cloned().collect();
        let store = &self.ports.store;
        let inspections = unseen.into_iter().map(|container| async move {
            store.mounted_images(&container).await.map(|images| (container, images))
        });
        let inspections: Vec<_> = inspections.collect();
        let seen: Vec<(ContainerId, Vec<String>)> = stream::iter(inspections)
            .buffer_unordered(STATUS_CALLS_AT_ONCE)
            .try_collect()
            .await
            .map_err(ImageGcError::ContainerStatus)?;
        self.mounted.extend(seen);
        let run = containers.into_iter().map(|one| one.image);
        let in_use: BTreeSet<String> = run.chain(self.mounted.values().flatten().cloned()).collect();
        self.records.observe(&images, &in_use, now);
        self.save().await;
        Ok(())
    }

    async fn image_fs(&self) -> Result<DiskUsage, ImageGcError> {
        let found = self.ports.store.filesystems().await?;
        // Upstream, too, checks the first one only.
        let image_fs = found.images.into_iter().next().ok_or(ImageGcError::NoImageFs)?;
        let bytes = self.ports.file_systems.bytes(&image_fs.mountpoint).await;
        let left = bytes.map_err(ImageGcError::FileSystem)?;
        Ok(DiskUsage { capacity: left.capacity, available: left.available })
    }

    /// A write that fails is tried again at the next check.
    async fn save(&mut self) {
        let content = self.records.encode();
        if self.saved.as_ref() == Some(&content) {
            return;
        }
        match self.ports.state.save(IMAGE_TIMES, &content).await {
            Ok(()) => self.saved = Some(content),
            Err(error) => {
                tracing::warn!(error = one_line(&error), "Failed to save the times of images");
            }
        }
    }

    fn warn(&self, reason: &str, message: String) {
        self.ports.events.record(Event::warning(EventObject::Node, reason, message));
    }
}
