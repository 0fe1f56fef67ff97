//! The last set of the API server's pods on disk, so that they go on after a restart while no API server answers.

use std::collections::HashSet;
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
/// Bytes of all pods of one page.
const PAGE_BYTES_MAX: usize = 12 << 20;
/// So many pages are kept. Only pods that have something to run open another one; what doesn't fit isn't remembered.
const PAGES_MAX: usize = 8;
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
    /// Notes a change that is written with the next ones.
    pub(crate) fn changed(&self) {
        self.changed.notify_one();
    }

    /// Notes a change that is written soon: a pod is to end, or has ended.
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
    /// When it was written; for people who check.
    written_at: Timestamp,
    /// Of the first page: how many others belong to it.
    #[serde(default)]
    more: usize,
    pods: Vec<P>,
}

/// The name of the state that has a page; the first is 0.
fn page_name(page: usize) -> String {
    if page == 0 { SAVED_PODS.to_owned() } else { format!("{SAVED_PODS}-{page}") }
}

/// A page is of no use.
#[derive(Debug, Error)]
enum PageError {
    #[error("invalid JSON: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("unsupported version {0}")]
    Version(u32),
    #[error("saved for node {0:?}")]
    Node(String),
}

impl SavedPods {
    /// Keeps pods in this store, which only root can read.
    pub fn new(state: Arc<dyn StateStore>) -> Self {
        Self { state }
    }

    /// The pods of the last write; none if there was none, or it can't be read. A page that can't be read is moved aside.
    pub(crate) async fn load(&self, node_name: &str) -> Option<Vec<Arc<Pod>>> {
        let (mut pods, more) = self.load_page(0, node_name).await?;
        let mut uids: HashSet<String> = pods.iter().filter_map(|pod| pod.metadata.uid.clone()).collect();
        for page in 1..=more.min(PAGES_MAX - 1) {
            // A write that was cut may have left a pod on two pages.
            let (others, _) = self.load_page(page, node_name).await.unwrap_or_default();
            pods.extend(
                others
                    .into_iter()
                    .filter(|pod| pod.metadata.uid.as_ref().is_some_and(|uid| uids.insert(uid.clone()))),
            );
        }
        Some(pods)
    }

    async fn load_page(&self, page: usize, node_name: &str) -> Option<(Vec<Arc<Pod>>, usize)> {
        let name = page_name(page);
        let loaded = match timeout(LOAD_WITHIN, self.state.load(&name)).await {
            Ok(Ok(loaded)) => loaded?,
            Ok(Err(error)) => {
                tracing::warn!(name, error = %error, "Failed to load saved pods");
                return None;
            }
            Err(_) => {
                tracing::warn!(name, timeout = ?LOAD_WITHIN, "Timed out loading saved pods");
                return None;
            }
        };
        match read(&loaded, node_name) {
            Ok(read) => Some(read),
            Err(error) => {
                tracing::warn!(name, %error, moved_to = UNREADABLE_PODS, "Ignored unreadable saved pods");
                if let Err(error) = self.state.save(UNREADABLE_PODS, &loaded).await {
                    tracing::warn!(error = %error, "Failed to move unreadable saved pods");
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
                    tracing::warn!(error, "Failed to save pods");
                }
                sleep(SAVE_RETRY).await;
            }
            last = Some(Instant::now());
        }
    }

    async fn save(&self, node_name: &str, pods: Vec<Arc<Pod>>, now: Timestamp) -> Result<(), String> {
        let node_name = node_name.to_owned();
        // Next to the runtime's threads, because it may be megabytes.
        let writing = tokio::task::spawn_blocking(move || write(&node_name, pods, now, PAGE_BYTES_MAX));
        let (pages, left_out) = writing.await.map_err(|error| error.to_string())?;
        if left_out > 0 {
            tracing::warn!(count = left_out, "Saved pods exceed the size limit, left some out");
        }
        // The first one is the last: it says which others count.
        for (page, content) in pages.iter().enumerate().rev() {
            self.state.save(&page_name(page), content).await.map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

/// The pods of a page of this node, and how many other pages belong to it. A pod that can't be read costs itself.
fn read(page: &[u8], node_name: &str) -> Result<(Vec<Arc<Pod>>, usize), PageError> {
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
            Err(error) => tracing::warn!(%error, "Ignored an unreadable saved pod"),
        }
    }
    Ok((pods, page.more))
}

/// Pods of one page.
#[derive(Default)]
struct Part {
    bytes: usize,
    pods: Vec<Box<RawValue>>,
}

/// The pages, and how many pods aren't in them. Those that have something to run come first, then the most important and oldest; others
/// get what space is left.
fn write(
    node_name: &str,
    mut pods: Vec<Arc<Pod>>,
    now: Timestamp,
    bytes_max: usize,
) -> (Vec<Vec<u8>>, usize) {
    pods.sort_by_key(|pod| (is_finished(pod), std::cmp::Reverse(priority(pod)), created(pod)));
    let mut parts = vec![Part::default()];
    let mut left_out = 0;
    for pod in &pods {
        let raw = serde_json::value::to_raw_value(&**pod).ok().filter(|raw| raw.get().len() <= bytes_max);
        let Some(raw) = raw else {
            left_out += 1;
            continue;
        };
        let length = raw.get().len();
        let has_capacity = parts.iter().position(|part| part.bytes + length <= bytes_max);
        let place = has_capacity.unwrap_or(parts.len());
        if has_capacity.is_none() {
            if is_finished(pod) || parts.len() == PAGES_MAX {
                left_out += 1;
                continue;
            }
            parts.push(Part::default());
        }
        parts[place].bytes += length;
        parts[place].pods.push(raw);
    }
    let more = parts.len() - 1;
    let page = |(index, part): (usize, Part)| {
        let more = if index == 0 { more } else { 0 };
        let page = Page {
            version: VERSION,
            node_name: node_name.to_owned(),
            written_at: now,
            more,
            pods: part.pods,
        };
        serde_json::to_vec(&page).expect("numbers, text and JSON always become JSON")
    };
    (parts.into_iter().enumerate().map(page).collect(), left_out)
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
