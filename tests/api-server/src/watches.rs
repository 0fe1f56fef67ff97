//! Watches: streams of events that start where a client left off.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use http_body::Frame;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::error::ApiError;
use crate::events;
use crate::link::Link;
use crate::lists::ListOptions;
use crate::resources::Resource;
use crate::server::{ApiServer, BoxError, broken};
use crate::store::{Change, State, at_version};

/// How long a watch lasts that names no time.
const LIFETIME: Duration = Duration::from_secs(30 * 60);
/// Between bookmarks.
const BOOKMARKS: Duration = Duration::from_secs(60);
/// Annotation of the bookmark that ends the initial events.
const INITIAL_END: &str = "k8s.io/initial-events-end";

/// One watch.
pub(crate) struct Watch {
    server: Arc<ApiServer>,
    resource: &'static Resource,
    options: ListOptions,
    cursor: u64,
    queue: VecDeque<Bytes>,
    changes: watch::Receiver<u64>,
    link: watch::Receiver<Link>,
    round: u64,
    deadline: Instant,
    bookmark: Instant,
    is_over: bool,
}

impl Watch {
    /// Starts a watch. Versions that are forgotten, or lie ahead of initial events, don't fail it: as upstream's, it begins with an
    /// error event.
    pub(crate) fn start(
        server: Arc<ApiServer>,
        resource: &'static Resource,
        options: ListOptions,
    ) -> Result<Self, ApiError> {
        let expected = options.revision()?;
        let now = Instant::now();
        let lifetime = options.timeout.map_or(LIFETIME, Duration::from_secs);
        let link = server.link();
        let round = link.borrow().round;
        let mut queue = VecDeque::new();
        let mut is_over = false;
        let state = server.store.lock();
        let changes = state.table(resource).changes();
        let cursor = match options.initial_events {
            Some(true) if expected > state.revision => {
                let error = ApiError::too_large_version(expected, state.revision);
                queue.push_back(line("ERROR", &error.status()));
                is_over = true;
                expected
            }
            Some(true) => {
                initial(&state, resource, &options, &mut queue);
                if options.bookmarks {
                    queue.push_back(bookmark(resource, state.revision, true));
                }
                state.revision
            }
            _ if expected == 0 && options.initial_events != Some(false) => {
                initial(&state, resource, &options, &mut queue);
                state.revision
            }
            _ if expected == 0 => state.revision,
            _ => expected,
        };
        if state.table(resource).since(cursor).is_none() {
            queue.push_back(expired(cursor, state.table(resource).oldest()));
            is_over = true;
        }
        drop(state);
        Ok(Self {
            server,
            resource,
            options,
            cursor,
            queue,
            changes,
            link,
            round,
            deadline: now + lifetime,
            bookmark: now + BOOKMARKS,
            is_over,
        })
    }

    /// Puts an event first whose object can't be decoded.
    pub(crate) fn begin_malformed(&mut self) {
        let object = json!({
            "apiVersion": self.resource.api_version(), "kind": self.resource.kind,
            "metadata": { "name": "malformed", "namespace": "default", "uid": "malformed",
                "resourceVersion": self.cursor.to_string() },
            "spec": "malformed", "data": "malformed",
        });
        self.queue.push_back(line("ADDED", &object));
    }

    /// The events, as frames of a body.
    pub(crate) fn stream(self) -> impl Stream<Item = Result<Frame<Bytes>, BoxError>> + Send {
        futures::stream::unfold(Some(self), |watch| async move {
            let mut watch = watch?;
            match watch.next().await {
                Ok(Some(bytes)) => Some((Ok(Frame::data(bytes)), Some(watch))),
                Ok(None) => None,
                Err(cause) => Some((Err(cause), None)),
            }
        })
    }

    async fn next(&mut self) -> Result<Option<Bytes>, BoxError> {
        loop {
            let link = *self.link.borrow_and_update();
            if link.is_down {
                return Err(broken("the connection was reset").into());
            }
            if link.is_held {
                if self.link.changed().await.is_err() {
                    return Ok(None);
                }
                continue;
            }
            if let Some(bytes) = self.queue.pop_front() {
                return Ok(Some(bytes));
            }
            if self.is_over || link.round != self.round {
                return Ok(None);
            }
            self.changes.borrow_and_update();
            self.collect();
            if !self.queue.is_empty() {
                continue;
            }
            let bookmark = self.bookmark.min(self.deadline);
            tokio::select! {
                changed = self.changes.changed() => if changed.is_err() { return Ok(None) },
                changed = self.link.changed() => if changed.is_err() { return Ok(None) },
                () = sleep_until(bookmark) => self.time_passed(),
            }
        }
    }

    /// Puts what happened since the cursor into the queue.
    fn collect(&mut self) {
        let server = self.server.clone();
        let state = server.store.lock();
        let table = state.table(self.resource);
        let Some(changes) = table.since(self.cursor) else {
            self.queue.push_back(expired(self.cursor, table.oldest()));
            self.is_over = true;
            return;
        };
        for change in changes {
            if let Some(bytes) = event(self.resource, &self.options, change) {
                self.queue.push_back(bytes);
            }
            self.cursor = change.revision;
        }
    }

    fn time_passed(&mut self) {
        let now = Instant::now();
        if self.options.bookmarks && (now >= self.bookmark || now >= self.deadline) {
            let revision = self.server.store.lock().revision;
            // What happened since the last event comes first, if anything did.
            self.collect();
            self.queue.push_back(bookmark(self.resource, revision.max(self.cursor), false));
        }
        if now >= self.bookmark {
            self.bookmark = now + BOOKMARKS;
        }
        self.is_over |= now >= self.deadline;
    }
}

fn initial(state: &State, resource: &Resource, options: &ListOptions, queue: &mut VecDeque<Bytes>) {
    let objects = state.table(resource).objects.values();
    for object in objects.filter(|object| options.selector.matches(object)) {
        queue.push_back(line("ADDED", &events::shown(resource, object)));
    }
}

/// One change as this watch sees it: an object that no longer fits its selectors was deleted, and one that now does was added.
fn event(resource: &Resource, options: &ListOptions, change: &Change) -> Option<Bytes> {
    let fits = |object: &Option<Arc<Value>>| object.as_ref().filter(|o| options.selector.matches(o)).cloned();
    match (fits(&change.before), fits(&change.after)) {
        (None, None) => None,
        (None, Some(after)) => Some(line("ADDED", &events::shown(resource, &after))),
        (Some(_), Some(after)) => Some(line("MODIFIED", &events::shown(resource, &after))),
        (Some(before), None) => {
            let last = at_version(&before, change.revision);
            Some(line("DELETED", &events::shown(resource, &last)))
        }
    }
}

fn line(kind: &str, object: &Value) -> Bytes {
    let mut text = format!("{{\"type\":\"{kind}\",\"object\":{object}}}");
    text.push('\n');
    Bytes::from(text)
}

fn bookmark(resource: &Resource, revision: u64, ends_initial: bool) -> Bytes {
    let mut metadata = json!({ "resourceVersion": revision.to_string(), "creationTimestamp": null });
    if ends_initial {
        metadata["annotations"] = json!({ INITIAL_END: "true" });
    }
    let mut object =
        json!({ "kind": resource.kind, "apiVersion": resource.api_version(), "metadata": metadata });
    // The other fields of an empty object of the type, as upstream sends them.
    if resource.is_pods() {
        object["spec"] = json!({ "containers": null });
        object["status"] = json!({});
    }
    line("BOOKMARK", &object)
}

fn expired(cursor: u64, oldest: u64) -> Bytes {
    let error = ApiError::expired(format!("too old resource version: {cursor} ({oldest})"));
    line("ERROR", &error.status())
}
