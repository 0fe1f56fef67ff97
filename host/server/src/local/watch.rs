//! Watches of events and pods: each change as a line of JSON with its type, as an API server's watches have it.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use witlet_core::pod::PodUid;
use witlet_ports::{AgentView, EventPage, PodPage, RecordedEvent, ShownPod};

use super::event_json::event_json;

#[cfg(test)]
mod tests;

/// Watches at the same time.
const WATCHES_MAX: usize = 32;

/// Pods are checked no more often than this, however often they change.
const PODS_PAUSE: Duration = Duration::from_millis(200);

/// A piece of a reply ends with the line that makes it this long, in bytes.
const PIECE_BYTES: usize = 64 * 1024;

/// What limits watches, and ends them.
pub(super) struct Watches {
    permits: Arc<Semaphore>,
    pub(super) stop: CancellationToken,
}

impl Default for Watches {
    fn default() -> Self {
        Self { permits: Arc::new(Semaphore::new(WATCHES_MAX)), stop: CancellationToken::new() }
    }
}

/// A change. The value is that before it for what was deleted.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Change<T> {
    #[serde(rename = "type")]
    kind: &'static str,
    object: T,
}

/// What brings lines as long as it is asked for more.
trait Watch: Send + 'static {
    /// The next lines; none at the end. May be dropped at any time.
    fn next(&mut self) -> impl Future<Output = Option<Vec<u8>>> + Send;
}

impl Watches {
    /// The events after this version, and all that follow.
    pub(super) fn events(&self, agent: Arc<dyn AgentView>, after: u64) -> Response {
        let changes = agent.event_changes();
        self.serve(EventWatch { agent, changes, after, waiting: VecDeque::new() })
    }

    /// Returns all pods, and then what changes of them.
    pub(super) fn pods(&self, agent: Arc<dyn AgentView>) -> Response {
        let changes = agent.pod_changes();
        self.serve(PodWatch { agent, changes, after: 0, sent: BTreeMap::new(), waiting: VecDeque::new() })
    }

    fn serve(&self, watch: impl Watch) -> Response {
        let Ok(permit) = self.permits.clone().try_acquire_owned() else {
            return (StatusCode::SERVICE_UNAVAILABLE, format!("more than {WATCHES_MAX} watches"))
                .into_response();
        };
        let watched = (watch, self.stop.clone(), permit);
        let lines = stream::unfold(watched, |(mut watch, stop, permit)| async move {
            let lines = tokio::select! {
                biased;
                () = stop.cancelled() => return None,
                lines = watch.next() => lines?,
            };
            Some((Ok::<_, Infallible>(lines), (watch, stop, permit)))
        });
        let kind = HeaderValue::from_static("application/json");
        ([(header::CONTENT_TYPE, kind)], Body::from_stream(lines)).into_response()
    }
}

struct EventWatch {
    agent: Arc<dyn AgentView>,
    changes: watch::Receiver<u64>,
    /// The version of the newest event that was sent or waits, or isn't needed.
    after: u64,
    /// What the client still has to get.
    waiting: VecDeque<EventLine>,
}

/// What a line of a watch of events says.
#[derive(Clone, Debug, PartialEq)]
enum EventLine {
    /// Events were forgotten before the client read them.
    Gap,
    Recorded(RecordedEvent),
}

impl Watch for EventWatch {
    async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let piece = piece(&mut self.waiting, EventLine::put);
            if !piece.is_empty() {
                return Some(piece);
            }
            self.changes.mark_unchanged();
            let page = self.agent.events_after(self.after);
            self.after = page.version;
            self.waiting.extend(event_lines(page));
            if self.waiting.is_empty() {
                self.changes.changed().await.ok()?;
            }
        }
    }
}

/// That events are missing is a line of its own, and the watch goes on.
fn event_lines(page: EventPage) -> impl Iterator<Item = EventLine> {
    let gap = page.has_gap.then_some(EventLine::Gap);
    gap.into_iter().chain(page.events.into_iter().map(EventLine::Recorded))
}

impl EventLine {
    fn put(self, lines: &mut Vec<u8>) {
        let (kind, object) = match &self {
            Self::Gap => (
                "ERROR",
                json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Expired", "code": 410,
                    "message": "events were forgotten before this client read them",
                }),
            ),
            Self::Recorded(event) => (if event.count == 1 { "ADDED" } else { "MODIFIED" }, event_json(event)),
        };
        put(lines, &Change::<Value> { kind, object });
    }
}

struct PodWatch {
    agent: Arc<dyn AgentView>,
    changes: watch::Receiver<u64>,
    /// The version of the newest change that is in `sent`.
    after: u64,
    /// As the client has them once it has what waits. They share the objects with the agent.
    sent: BTreeMap<PodUid, ShownPod>,
    /// What the client still has to get.
    waiting: VecDeque<Change<ShownPod>>,
}

impl Watch for PodWatch {
    async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let piece = piece(&mut self.waiting, put_pod);
            if !piece.is_empty() {
                return Some(piece);
            }
            self.changes.mark_unchanged();
            let page = self.agent.pods_after(self.after);
            self.after = page.version;
            self.waiting.extend(pod_changes(&mut self.sent, page));
            if self.waiting.is_empty() {
                self.changes.changed().await.ok()?;
                sleep(PODS_PAUSE).await;
            }
        }
    }
}

/// The next lines of what waits, as many as one piece has; `put` adds one.
fn piece<T>(waiting: &mut VecDeque<T>, put: impl Fn(T, &mut Vec<u8>)) -> Vec<u8> {
    let mut lines = Vec::new();
    while lines.len() < PIECE_BYTES
        && let Some(next) = waiting.pop_front()
    {
        put(next, &mut lines);
    }
    lines
}

fn put_pod(Change { kind, object }: Change<ShownPod>, lines: &mut Vec<u8>) {
    put(lines, &Change { kind, object: object.into_pod() });
}

/// What makes the pods that the client has those that there are now.
fn pod_changes(sent: &mut BTreeMap<PodUid, ShownPod>, page: PodPage) -> Vec<Change<ShownPod>> {
    let mut changes = Vec::new();
    for object in page.changed {
        let kind = match sent.insert(PodUid::of(&object.pod), object.clone()) {
            None => Some("ADDED"),
            Some(before) => (before != object).then_some("MODIFIED"),
        };
        changes.extend(kind.map(|kind| Change { kind, object }));
    }
    if let Some(left) = page.left {
        let gone = sent.extract_if(.., |uid, _| !left.contains(uid));
        changes.extend(gone.map(|(_, object)| Change { kind: "DELETED", object }));
    }
    changes
}

/// Adds a line.
fn put(lines: &mut Vec<u8>, change: &impl Serialize) {
    // Neither pods nor events have a value without a JSON form.
    if let Ok(line) = serde_json::to_vec(change) {
        lines.extend(line);
        lines.push(b'\n');
    }
}
