//! Lists and watches that outlive anything a server does: one helper for whatever this crate watches.
//!
//! What is asked and when is decided by [`Reflector`]; this carries it out. Not through kube-runtime's watcher: that one ends a
//! watch's life at one fixed time, reads again at any version the server likes, and has no bound for an event.

use std::time::Duration;

use http_body_util::BodyExt;
use kube::api::{ListParams, WatchParams};
use kube::client::Body;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use witlet_core::reflector::{Initial, PAGES_MAX, Reflector, Request};
use witlet_ports::Jitter;

use answers::Listed;
pub use answers::{Event, Said};
pub(crate) use change::{Change, Unread};
pub use change::{Malformed, ObjectKey, WatchError, Watched};
pub use events::{EVENT_BYTES_MAX, Events};
use health::Health;

mod answers;
mod change;
mod events;
mod health;
mod lines;
#[cfg(test)]
mod tests;

/// Bytes of one page of a list.
const PAGE_BYTES_MAX: usize = 256 << 20;
/// Bytes of a refusal.
const REFUSAL_BYTES_MAX: usize = 64 << 10;
/// A page is there within this time, and so are the first objects of a stream.
const PAGE_WITHIN: Duration = Duration::from_secs(120);
/// A server begins to answer a watch, and says why it refuses one, within this time.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// The version that asks for whatever the server has in memory.
const FROM_MEMORY: &str = "0";
/// A watch that the server didn't end so long after it was to end is dead.
const WATCH_MARGIN: Duration = Duration::from_secs(30);

/// Which objects of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    /// Those of one namespace; none is all, also for kinds without namespaces.
    pub(crate) namespace: Option<String>,
    /// A field selector: `spec.nodeName=node1`.
    pub(crate) fields: Option<String>,
    /// How all of them are read at first.
    pub(crate) initial: Initial,
}

/// Reads the objects and watches them until `stop` is cancelled. `on` gets all changes in their order and doesn't block;
/// the first is [`Change::Replaced`], however long that takes, save for failures and reports before it.
pub(crate) async fn run<K: Watched>(
    client: &kube::Client,
    selection: &Selection,
    jitter: &dyn Jitter,
    stop: &CancellationToken,
    on: impl FnMut(Change<K>) + Send,
) {
    let health = Health::new(on);
    let mut watch = Watch {
        client,
        selection,
        jitter,
        health: &health,
        reflector: Reflector::new(selection.initial),
        is_failing: false,
        listed: Listed::default(),
    };
    let both = async {
        tokio::select! {
            () = watch.run() => {}
            () = health.report::<K>() => {}
        }
    };
    stop.run_until_cancelled(both).await;
}

struct Watch<'a, K, F> {
    client: &'a kube::Client,
    selection: &'a Selection,
    jitter: &'a dyn Jitter,
    health: &'a Health<F>,
    reflector: Reflector,
    is_failing: bool,
    /// What came of a list that isn't whole yet.
    listed: Listed<K>,
}

impl<K: Watched, F: FnMut(Change<K>) + Send> Watch<'_, K, F> {
    async fn run(&mut self) {
        loop {
            let request = self.reflector.next(self.jitter.unit());
            let is_more = matches!(&request, Request::Page { token: Some(_), .. });
            if !is_more {
                self.listed = Listed::default();
            }
            let answer = match request {
                Request::Page { version, limit, token } => self.page(version, limit, token).await,
                Request::Stream { version, timeout } => self.watch(version, timeout, false).await,
                Request::Watch { version, timeout } => self.watch(version, timeout, true).await,
            };
            let wait = answer.unwrap_or_else(|error| self.failed(error));
            if !wait.is_zero() {
                sleep(wait).await;
            }
        }
    }

    fn failed(&mut self, error: WatchError) -> Duration {
        let failure = error.failure();
        let wait = self.reflector.failed(failure, self.health.elapsed(), self.jitter.unit());
        tracing::debug!(kind = %K::plural(&()), %error, retry_in = ?wait, "Failed to list or watch");
        if self.reflector.is_falling_back() {
            self.health.failed(&error);
        } else {
            self.is_failing = true;
            self.health.tell(Change::Disconnected(error));
        }
        wait
    }

    fn path(&self) -> kube::core::Request {
        kube::core::Request::new(K::url_path(&(), self.selection.namespace.as_deref()))
    }

    async fn send(
        &self,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<Body, WatchError> {
        let request = request.map_err(|error| WatchError::Request(kube::Error::BuildRequest(error)))?;
        let (mut head, body) = request.map(Body::from).into_parts();
        // Compressed, an event would wait for the next one.
        head.headers.insert(http::header::ACCEPT_ENCODING, http::HeaderValue::from_static("identity"));
        head.headers.insert(http::header::ACCEPT, http::HeaderValue::from_static("application/json"));
        let answer = self.client.send(http::Request::from_parts(head, body)).await;
        let answer = answer.map_err(WatchError::Request)?;
        if answer.status().is_success() {
            answers::check_type(answer.headers())?;
            return Ok(answer.into_body());
        }
        let (head, body) = answer.into_parts();
        // A refusal that is too long or breaks off still has its code.
        let said = read(body, REFUSAL_BYTES_MAX).await.unwrap_or_default();
        Err(answers::refusal(head.status.as_u16(), &head.headers, &said))
    }

    /// Reads one page.
    async fn page(
        &mut self,
        resource_version: Option<String>,
        limit: Option<u32>,
        continue_token: Option<String>,
    ) -> Result<Duration, WatchError> {
        let field_selector = self.selection.fields.clone();
        let from_memory = resource_version.as_deref() == Some(FROM_MEMORY);
        let resource_version = resource_version.filter(|_| !from_memory);
        let list =
            ListParams { field_selector, limit, continue_token, resource_version, ..ListParams::default() };
        let mut request = self.path().list(&list);
        if from_memory && let Ok(request) = &mut request {
            // Next to a limit kube leaves this version out.
            if let Ok(uri) = format!("{}&resourceVersion={FROM_MEMORY}", request.uri()).parse() {
                *request.uri_mut() = uri;
            }
        }
        let reading = async { read(self.send(request).await?, PAGE_BYTES_MAX).await };
        let page = timeout(PAGE_WITHIN, reading).await.map_err(|_| WatchError::TimedOut(PAGE_WITHIN))??;
        let page = answers::page::<K>(&page)?;
        self.listed.extend(page.listed)?;
        let is_all = self.reflector.page(&page.version, page.token);
        if is_all.map_err(|_| WatchError::TooMuch(format!("{PAGES_MAX} pages")))? {
            self.synced();
        }
        Ok(Duration::ZERO)
    }

    fn synced(&mut self) {
        self.is_failing = false;
        let Listed { objects, malformed } = std::mem::take(&mut self.listed);
        self.health.tell(Change::Replaced { objects, malformed });
    }

    /// Watches from a version on, which all objects were read at; or with all objects first.
    async fn watch(
        &mut self,
        version: String,
        lasts: Duration,
        mut is_synced: bool,
    ) -> Result<Duration, WatchError> {
        let params = WatchParams {
            field_selector: self.selection.fields.clone(),
            timeout: Some(u32::try_from(lasts.as_secs()).unwrap_or(u32::MAX)),
            send_initial_events: !is_synced,
            ..WatchParams::default()
        };
        let sending = self.send(self.path().watch(&params, &version));
        let sent = timeout(ANSWER_WITHIN, sending).await;
        let mut body = sent.map_err(|_| WatchError::TimedOut(ANSWER_WITHIN))??;
        let opened = Instant::now();
        if is_synced && std::mem::take(&mut self.is_failing) {
            self.health.tell(Change::Connected);
        }
        let mut events = Events::new(EVENT_BYTES_MAX);
        let mut count: u64 = 0;
        loop {
            let ends = opened + if is_synced { lasts + WATCH_MARGIN } else { PAGE_WITHIN };
            let frame = match timeout_at(ends, body.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(error))) => {
                    tracing::debug!(kind = %K::plural(&()), %error, "Watch closed");
                    break;
                }
                Ok(None) => break,
                Err(_) if is_synced => {
                    tracing::debug!(kind = %K::plural(&()), "Watch exceeded its timeout, closing it");
                    break;
                }
                Err(_) => return Err(WatchError::NeverSynced(PAGE_WITHIN)),
            };
            let Ok(data) = frame.into_data() else { continue };
            events.feed(&data);
            while let Some(said) = events.next() {
                count += 1;
                is_synced = self.observe(said?, is_synced)?;
            }
        }
        Ok(self.reflector.ended(opened.elapsed(), count, self.health.elapsed(), self.jitter.unit()))
    }

    /// Takes one event. Gives whether all objects were read by now.
    fn observe(&mut self, said: Said<K>, is_synced: bool) -> Result<bool, WatchError> {
        let Said { version, event } = said;
        let change = match event {
            Event::Put(object) => Change::Put(object),
            Event::Deleted(key) => Change::Deleted(key),
            Event::Malformed(malformed) => Change::Malformed(malformed),
            // Which objects there are isn't known then; a list may say so.
            Event::Unread(message) if !is_synced => return Err(WatchError::Malformed(message)),
            Event::Unread(message) => Change::Malformed(Malformed { key: None, message }),
            Event::Bookmark { is_end } => {
                if is_end && !is_synced {
                    self.reflector.synced(&version);
                    self.synced();
                    return Ok(true);
                }
                self.reflector.saw(&version);
                return Ok(is_synced);
            }
        };
        if matches!(&change, Change::Malformed(Malformed { key: None, .. })) {
            self.reflector.missed();
        }
        if is_synced {
            self.reflector.saw(&version);
            self.health.tell(change);
        } else {
            self.listed.take(change)?;
        }
        Ok(is_synced)
    }
}

/// Returns all of a body, if it isn't longer.
async fn read(mut body: Body, bytes_max: usize) -> Result<Vec<u8>, WatchError> {
    let mut read = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| WatchError::Broken(error.to_string()))?;
        let Ok(data) = frame.into_data() else { continue };
        if read.len() + data.len() > bytes_max {
            return Err(WatchError::TooMuch(format!("{bytes_max} bytes")));
        }
        read.extend_from_slice(&data);
    }
    Ok(read)
}
