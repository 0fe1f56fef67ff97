//! The last set of the API server's pods on disk, so that they go on after a restart while no API server answers.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use thiserror::Error;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use witlet_ports::{Clock, StateStore};

#[cfg(test)]
mod tests;

/// The name of the state.
pub const SAVED_PODS: &str = "api-pods";
/// Where one goes that can't be read.
pub const UNREADABLE_PODS: &str = "api-pods.unreadable";
/// Bytes of all pods together; what doesn't fit isn't remembered.
const SAVED_BYTES_MAX: usize = 12 << 20;
/// What changes within this time is written together.
const SAVE_AFTER: Duration = Duration::from_secs(1);
/// After a write the next one waits at least this long, so that a busy node doesn't write all the time.
const SAVES_APART: Duration = Duration::from_secs(5);
/// That a pod ends is written this soon: an agent that is killed would start its containers again.
const ENDS_AFTER: Duration = Duration::from_millis(100);
/// A write that failed is tried again after this.
const SAVE_RETRY: Duration = Duration::from_secs(10);
/// A disk that takes longer to read is none.
const LOAD_WITHIN: Duration = Duration::from_secs(10);
/// The only version of the format so far.
const VERSION: u32 = 1;

/// Remembers the pods that the API server had.
pub struct SavedPods {
    state: Arc<dyn StateStore>,
}

/// Says that the set isn't what was written.
#[derive(Debug, Default)]
pub(crate) struct Outdated {
    changed: Notify,
    ended: Notify,
}

impl Outdated {
    /// To be written with what else changes.
    pub(crate) fn changed(&self) {
        self.changed.notify_one();
    }

    /// To be written soon: a pod is to end, or has ended.
    pub(crate) fn ended(&self) {
        self.ended.notify_one();
        self.changed.notify_one();
    }

    /// Returns when it is time for a write, the last one of which ended then.
    async fn due(&self, last: Option<Instant>) {
        self.changed.notified().await;
        let apart = last.map_or_else(Instant::now, |last| Instant::now().max(last + SAVES_APART));
        if timeout_at(apart + SAVE_AFTER, self.ended.notified()).await.is_ok() {
            sleep(ENDS_AFTER).await;
        }
    }
}

/// What is kept: pods as the API server gave them, which name secrets but have nothing of them.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Page<P> {
    version: u32,
    node_name: String,
    /// When it was written; for people who look.
    written_at: Timestamp,
    pods: Vec<P>,
}

/// A page is of no use.
#[derive(Debug, Error)]
enum PageError {
    #[error("it is no JSON of this kind: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("it is of version {0}")]
    Version(u32),
    #[error("it is of node {0:?}")]
    Node(String),
}

impl SavedPods {
    /// In this store, which only root can read.
    pub fn new(state: Arc<dyn StateStore>) -> Self {
        Self { state }
    }

    /// The pods of the last write; none if there was none, or it can't be read. A page that can't be read is moved aside.
    pub(crate) async fn load(&self, node_name: &str) -> Option<Vec<Arc<Pod>>> {
        let loaded = match timeout(LOAD_WITHIN, self.state.load(SAVED_PODS)).await {
            Ok(Ok(loaded)) => loaded?,
            Ok(Err(error)) => {
                tracing::warn!("the API server's last pods can't be read from disk: {error}");
                return None;
            }
            Err(_) => {
                tracing::warn!("the disk didn't give the API server's last pods within {LOAD_WITHIN:?}");
                return None;
            }
        };
        match read(&loaded, node_name) {
            Ok(pods) => Some(pods),
            Err(error) => {
                tracing::warn!(
                    "the API server's last pods are ignored and kept as {UNREADABLE_PODS}: {error}"
                );
                if let Err(error) = self.state.save(UNREADABLE_PODS, &loaded).await {
                    tracing::warn!("they can't be kept: {error}");
                }
                None
            }
        }
    }

    /// Writes the pods whenever they are outdated, for good.
    pub(crate) async fn run(
        &self,
        node_name: &str,
        outdated: &Outdated,
        pods: impl Fn() -> Vec<Arc<Pod>>,
        clock: &dyn Clock,
    ) {
        let (mut has_failed, mut last) = (false, None);
        loop {
            outdated.due(last).await;
            loop {
                let Err(error) = self.save(node_name, pods(), clock.now()).await else {
                    has_failed = false;
                    break;
                };
                if !std::mem::replace(&mut has_failed, true) {
                    tracing::warn!("the API server's pods can't be saved: {error}");
                }
                sleep(SAVE_RETRY).await;
            }
            last = Some(Instant::now());
        }
    }

    async fn save(&self, node_name: &str, pods: Vec<Arc<Pod>>, now: Timestamp) -> Result<(), String> {
        let node_name = node_name.to_owned();
        // Beside the runtime's threads, for it may be megabytes.
        let writing = tokio::task::spawn_blocking(move || write(&node_name, pods, now, SAVED_BYTES_MAX));
        let (page, left_out) = writing.await.map_err(|error| error.to_string())?;
        if left_out > 0 {
            tracing::warn!("{left_out} pods don't fit into what is remembered over a restart");
        }
        self.state.save(SAVED_PODS, &page).await.map_err(|error| error.to_string())
    }
}

/// The pods of a page of this node. A pod that can't be read costs itself.
fn read(page: &[u8], node_name: &str) -> Result<Vec<Arc<Pod>>, PageError> {
    let page: Page<&RawValue> = serde_json::from_slice(page)?;
    if page.version != VERSION {
        return Err(PageError::Version(page.version));
    }
    if page.node_name != node_name {
        return Err(PageError::Node(page.node_name));
    }
    let mut pods = Vec::with_capacity(page.pods.len());
    for raw in page.pods {
        match serde_json::from_str::<Pod>(raw.get()) {
            Ok(pod) => pods.push(Arc::new(pod)),
            Err(error) => tracing::warn!("one of the API server's last pods can't be read: {error}"),
        }
    }
    Ok(pods)
}

/// The page, and how many pods aren't in it. Those that have something to run come first, then the most important and oldest.
fn write(node_name: &str, mut pods: Vec<Arc<Pod>>, now: Timestamp, bytes_max: usize) -> (Vec<u8>, usize) {
    pods.sort_by_key(|pod| (is_finished(pod), std::cmp::Reverse(priority(pod)), created(pod)));
    let mut bytes = 0;
    let mut fitting = Vec::with_capacity(pods.len());
    for pod in &pods {
        let Ok(raw) = serde_json::value::to_raw_value(&**pod) else { continue };
        if bytes + raw.get().len() <= bytes_max {
            bytes += raw.get().len();
            fitting.push(raw);
        }
    }
    let left_out = pods.len() - fitting.len();
    let page = Page { version: VERSION, node_name: node_name.to_owned(), written_at: now, pods: fitting };
    let page = serde_json::to_vec(&page).expect("numbers, text and JSON always become JSON");
    (page, left_out)
}

/// Whether it has ended for good, as the API server knows it.
fn is_finished(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

fn priority(pod: &Pod) -> i32 {
    pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or(0)
}

fn created(pod: &Pod) -> Option<Timestamp> {
    pod.metadata.creation_timestamp.as_ref().map(|time| time.0)
}
