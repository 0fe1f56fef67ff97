//! Pods from a URL (upstream's `config/http.go`): one pod or a list of them, asked for now and then.

mod feed;
mod remembered;
mod request;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Empty};
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, timeout};
use tokio_util::sync::CancellationToken;
use witlet_core::error::one_line;
use witlet_core::event::{Event, EventObject};
use witlet_core::pod::SourceName;
use witlet_core::sources::SourceUpdate;
use witlet_core::sources::manifest::MANIFEST_BYTES_MAX;
use witlet_egress::{BodyError, Egress, Reach, ResponseBody, SendError, SendLimits, TlsPolicy};
use witlet_ports::{Clock, EventSink, PodSource, SourceEvent, SourceHealth, SourceOutage, StateStore};

use feed::{Feed, Outcome};
pub use remembered::REMEMBERED_MANIFEST;
use remembered::Remembered;
pub use request::{ManifestUrl, ManifestUrlError};

#[cfg(test)]
mod tests;

/// A timer without a period is none.
const HTTP_CHECK_INTERVAL_MIN: Duration = Duration::from_millis(10);
/// For one check, redirects and body included: upstream's client has it.
const READ_TIME_MAX: Duration = Duration::from_secs(10);
/// Requests of one check: the first and those that redirects lead to, as in Go's client.
const REQUESTS_MAX: usize = 10;

/// A check that brought nothing.
#[derive(Debug, Error)]
enum FetchError {
    #[error(transparent)]
    Send(#[from] SendError),
    /// An answer that broke off.
    #[error("failed to read the response")]
    Body(#[from] BodyError),
    #[error("{status}")]
    Status { status: StatusCode },
    /// More than a manifest may have.
    #[error("the response must have at most {MANIFEST_BYTES_MAX} bytes")]
    TooLarge,
    #[error("stopped after {REQUESTS_MAX} redirects")]
    TooManyRedirects,
    /// A redirect that isn't followed.
    #[error(transparent)]
    Redirect(#[from] request::RedirectError),
    /// The request can't be made.
    #[error("failed to send the request")]
    Request(#[from] http::Error),
    /// It took too long.
    #[error("no response within {}s", READ_TIME_MAX.as_secs())]
    Timeout,
}

/// The pod source `http`.
pub struct HttpSource {
    url: ManifestUrl,
    node_name: String,
    check_interval: Duration,
    read_time_max: Duration,
    egress: Egress,
    events: Arc<dyn EventSink>,
    remembered: Option<Remembered>,
    health: Option<(Arc<SourceHealth>, Arc<dyn Clock>)>,
}

impl HttpSource {
    /// Asks `url` for this node's pods. `check_interval` is upstream's `httpCheckFrequency`, and at least 10 ms.
    pub fn new(
        url: ManifestUrl,
        node_name: impl Into<String>,
        check_interval: Duration,
        egress: Egress,
        events: Arc<dyn EventSink>,
    ) -> Self {
        let check_interval = check_interval.max(HTTP_CHECK_INTERVAL_MIN);
        let node_name = node_name.into();
        Self {
            url,
            node_name,
            check_interval,
            read_time_max: READ_TIME_MAX,
            egress,
            events,
            remembered: None,
            health: None,
        }
    }

    /// Keeps the last good answer there: its pods go on after a restart until the URL answers.
    #[must_use]
    pub fn remembering(mut self, state: Arc<dyn StateStore>) -> Self {
        self.remembered = Some(Remembered::new(state, self.url.place(), &self.node_name));
        self
    }

    /// Notes there while the URL doesn't answer.
    #[must_use]
    pub fn with_health(mut self, health: Arc<SourceHealth>, clock: Arc<dyn Clock>) -> Self {
        self.health = Some((health, clock));
        self
    }

    /// The pods of the last good answer before the agent's start.
    async fn restored(&self) -> Option<SourceUpdate> {
        let manifest = self.remembered.as_ref()?.load().await?;
        let mut feed = Feed::new(self.name(), self.node_name.clone(), self.url.place().to_owned());
        let reading = tokio::task::spawn_blocking(move || feed.observe(Ok(manifest)).pods);
        let pods = reading.await.ok()??;
        tracing::info!(place = self.url.place(), count = pods.len(), "Restored pods of the URL");
        Some(SourceUpdate::Restored(pods))
    }

    /// Reports, now and then, that the URL doesn't answer, and takes it back once it does.
    fn report(&self, outage: &mut SourceOutage, now: Duration, error: Option<&str>) {
        let Some(error) = error else { return outage.read() };
        outage.unread(now);
        if outage.report(now, error).is_some() {
            tracing::warn!(place = self.url.place(), error, "Pods of the URL are unreadable");
        }
    }

    async fn fetch_in_time(&self) -> Result<Vec<u8>, FetchError> {
        timeout(self.read_time_max, self.fetch()).await.unwrap_or(Err(FetchError::Timeout))
    }

    /// Follows redirects. What the operator set goes to the operator's host only.
    async fn fetch(&self) -> Result<Vec<u8>, FetchError> {
        let mut uri = self.url.uri().clone();
        for _ in 0..REQUESTS_MAX {
            let headers = self.url.headers_for(&uri);
            let response = self.send(&uri, headers).await?;
            match response.status() {
                StatusCode::OK => return body(response).await,
                StatusCode::MOVED_PERMANENTLY
                | StatusCode::FOUND
                | StatusCode::SEE_OTHER
                | StatusCode::TEMPORARY_REDIRECT
                | StatusCode::PERMANENT_REDIRECT => uri = request::redirected(&uri, response.headers())?,
                status => return Err(FetchError::Status { status }),
            }
        }
        Err(FetchError::TooManyRedirects)
    }

    async fn send(&self, uri: &Uri, headers: HeaderMap) -> Result<Response<ResponseBody>, FetchError> {
        let mut request = Request::get(uri.clone()).body(Empty::<Bytes>::new())?;
        *request.headers_mut() = headers;
        let limits = SendLimits::each(self.read_time_max);
        Ok(self.egress.send(&Reach::everything(), TlsPolicy::Verify, request, limits).await?)
    }

    fn record(&self, reason: &'static str, message: String) {
        let (source, place) = (self.name().to_string(), self.url.place().to_owned());
        self.events.record(Event::warning(EventObject::Source { source, place }, reason, message));
    }
}

async fn body(response: Response<ResponseBody>) -> Result<Vec<u8>, FetchError> {
    let mut body = response.into_body();
    let mut bytes = Vec::new();
    while let Some(part) = body.frame().await {
        if let Some(part) = part?.data_ref() {
            if bytes.len() + part.len() > MANIFEST_BYTES_MAX {
                return Err(FetchError::TooLarge);
            }
            bytes.extend_from_slice(part);
        }
    }
    Ok(bytes)
}

#[async_trait]
impl PodSource for HttpSource {
    fn name(&self) -> SourceName {
        SourceName::http()
    }

    async fn run(self: Box<Self>, events: mpsc::Sender<SourceEvent>, stop: CancellationToken) {
        let mut feed = Feed::new(self.name(), self.node_name.clone(), self.url.place().to_owned());
        let restored = tokio::select! {
            () = stop.cancelled() => return,
            restored = self.restored() => restored,
        };
        if let Some(update) = restored {
            let event = SourceEvent { source: self.name(), update };
            tokio::select! {
                () = stop.cancelled() => return,
                sent = events.send(event) => if sent.is_err() { return },
            }
        }
        let began = Instant::now();
        let mut outage = self.health.as_ref().map(|(health, clock)| {
            SourceOutage::new(self.name(), health.clone(), clock.clone(), self.events.clone())
        });
        let mut checks = tokio::time::interval(self.check_interval);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let fetched = async {
                checks.tick().await;
                self.fetch_in_time().await.map_err(|error| one_line(&error))
            };
            let fetched = tokio::select! {
                () = stop.cancelled() => return,
                () = events.closed() => return,
                fetched = fetched => fetched,
            };
            if let Some(outage) = &mut outage {
                self.report(outage, began.elapsed(), fetched.as_ref().err().map(String::as_str));
            }
            // Reading a large manifest takes its time.
            let mut next = feed.clone();
            let manifest = fetched.as_ref().ok().filter(|_| self.remembered.is_some()).cloned();
            let work = tokio::task::spawn_blocking(move || {
                let outcome = next.observe(fetched);
                (next, outcome)
            });
            let Outcome { pods, report, recovered, failures } = match work.await {
                Ok((next, outcome)) => {
                    feed = next;
                    outcome
                }
                Err(error) if error.is_cancelled() => return,
                Err(error) => {
                    // Whatever an answer does to who reads it, the next one is asked for.
                    tracing::error!(place = self.url.place(), %error, "Task that reads pods from the URL failed");
                    continue;
                }
            };
            if let Some(report) = report {
                self.record(report.reason.as_str(), report.message);
            } else if failures > 0 {
                tracing::debug!(place = self.url.place(), failures, "Failed to read pods from the URL again");
            }
            if recovered {
                tracing::info!(place = self.url.place(), "Reading pods from the URL again");
            }
            if let Some(pods) = pods {
                if let (Some(remembered), Some(manifest)) = (&self.remembered, &manifest) {
                    remembered.save(manifest).await;
                }
                let update = SourceUpdate::Replaced { pods, incomplete: None };
                let event = SourceEvent { source: self.name(), update };
                tokio::select! {
                    () = stop.cancelled() => return,
                    sent = events.send(event) => if sent.is_err() { return },
                }
            }
        }
    }
}
