//! `/containerLogs`: what a container wrote.

use std::path::PathBuf;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use hyper::Uri;
use k8s_openapi::api::core::v1::Pod;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use witlet_core::logs::{LogFilter, LogRequest, LogRequestError, container_with_log};
use witlet_core::pod::PodUid;

use super::answers::Refused;
use super::log_reader::{LogReader, Piece};
use super::query::query;
use super::route::Target;
use super::{KubeletServer, answers};

/// After so many checks that found nothing, the container is checked: about once a second.
const POLLS_PER_STATUS: u32 = 5;

/// A log that is being shown.
struct Shown {
    server: Arc<KubeletServer>,
    reader: LogReader,
    follow: Option<Followed>,
    stop: CancellationToken,
    _permit: OwnedSemaphorePermit,
}

/// Whose log goes on as long as it runs.
struct Followed {
    namespace: String,
    pod: String,
    uid: PodUid,
    container: String,
    /// Its id with the runtime's scheme.
    id: String,
    idle_polls: u32,
    has_ended: bool,
}

impl KubeletServer {
    pub(super) async fn container_logs(
        self: Arc<Self>,
        uri: &Uri,
        target: Target<'_>,
        stop: CancellationToken,
    ) -> Response {
        let request = match LogRequest::from_query(&query(uri)) {
            Ok(request) => request,
            Err(refused) => return answers::text(code_of(refused), refused.to_string()),
        };
        let (pod, id) = match self.log_of(&target, &request) {
            Ok(found) => found,
            Err(refused) => return *refused,
        };
        let Ok(permit) = self.logs.clone().try_acquire_owned() else { return answers::too_many_logs() };
        let unavailable = || shown_as_text(Body::from(format!("unable to retrieve container logs for {id}")));
        let uid = PodUid::of(&pod);
        let seen = self.parts.pods.pod_status(&uid).await;
        let bare_id = without_scheme(&id);
        // Once it is known which instance is meant, what fails is reported in the log's place, as upstream has it.
        let path = match seen {
            Ok(seen) => seen
                .containers
                .iter()
                .find(|found| found.id.as_str() == bare_id)
                .map(|found| found.log_path.clone()),
            Err(_) => None,
        };
        let Some(path) = path.filter(|path| !path.is_empty()) else { return unavailable() };
        let filter = LogFilter::new(&request, self.parts.clock.now());
        let opened = LogReader::open(self.parts.logs.clone(), PathBuf::from(&path), filter, &request).await;
        let reader = match opened {
            Ok(Some(reader)) => reader,
            Ok(None) => {
                return shown_as_text(Body::from(format!("failed to open log file {path:?}: no such file")));
            }
            Err(error) => {
                tracing::debug!(%error, path, "Failed to open log file");
                return shown_as_text(Body::from(format!("failed to open log file {path:?}: {error}")));
            }
        };
        let follow = request.follow.then(|| Followed {
            namespace: target.namespace.to_owned(),
            pod: target.pod.to_owned(),
            uid,
            container: target.container.to_owned(),
            id,
            idle_polls: 0,
            has_ended: false,
        });
        let shown = Shown { server: self, reader, follow, stop, _permit: permit };
        shown_as_text(Body::from_stream(stream::unfold(shown, |mut shown| async move {
            let piece = shown.next().await?;
            Some((piece, shown))
        })))
    }

    /// The pod, and the id of the instance whose log is meant.
    fn log_of(&self, target: &Target<'_>, request: &LogRequest) -> Result<(Arc<Pod>, String), Refused> {
        let missing = |words: String| Refused::new(answers::text(StatusCode::NOT_FOUND, words));
        let Some(pod) = self.parts.view.pod(target.namespace, target.pod) else {
            return Err(missing(format!("pod {:?} does not exist", target.pod)));
        };
        if !has_container(&pod, target.container) {
            let words = format!("container {:?} not found in pod {:?}", target.container, target.pod);
            return Err(missing(words));
        }
        let status = pod.status.clone().unwrap_or_default();
        let id = container_with_log(target.pod, &status, target.container, request.previous);
        let id = id.map_err(|why| Refused::new(answers::text(StatusCode::BAD_REQUEST, why)))?;
        Ok((pod, id))
    }
}

impl Shown {
    /// What comes next; none at the end. Dropping this ends it.
    async fn next(&mut self) -> Option<std::io::Result<Vec<u8>>> {
        loop {
            let piece = match self.reader.next().await {
                Ok(piece) => piece,
                Err(error) => return Some(Err(error)),
            };
            match piece {
                Piece::Shown(bytes) => {
                    if let Some(follow) = &mut self.follow {
                        follow.idle_polls = 0;
                    }
                    return Some(Ok(bytes));
                }
                Piece::Full => return None,
                Piece::End => {}
            }
            let Some(follow) = self.follow.as_mut().filter(|follow| !follow.has_ended) else {
                return self.reader.rest().map(Ok);
            };
            match self.reader.renew().await {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => return Some(Err(error)),
            }
            follow.idle_polls += 1;
            if follow.idle_polls.is_multiple_of(POLLS_PER_STATUS) {
                // What it wrote last is read once more.
                follow.has_ended = !follow.still_runs(&self.server);
                if follow.has_ended {
                    continue;
                }
            }
            let poll_interval = self.server.parts.options.log_poll_interval;
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return None,
                () = tokio::time::sleep(poll_interval) => {}
            }
        }
    }
}

impl Followed {
    /// Whether the same instance still runs, as the pod's status has it.
    fn still_runs(&self, server: &KubeletServer) -> bool {
        let Some(pod) = server.parts.view.pod(&self.namespace, &self.pod) else { return false };
        if PodUid::of(&pod) != self.uid {
            return false;
        }
        let status = pod.status.clone().unwrap_or_default();
        let lists =
            [status.container_statuses, status.init_container_statuses, status.ephemeral_container_statuses];
        let mut all = lists.into_iter().flatten().flatten();
        all.any(|found| {
            found.name == self.container
                && found.container_id.as_deref() == Some(&*self.id)
                && found.state.is_some_and(|state| state.running.is_some())
        })
    }
}

fn code_of(refused: LogRequestError) -> StatusCode {
    match refused {
        LogRequestError::Undecodable => StatusCode::BAD_REQUEST,
        LogRequestError::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

pub(super) fn has_container(pod: &Pod, name: &str) -> bool {
    let Some(spec) = &pod.spec else { return false };
    let init = spec.init_containers.iter().flatten();
    let named = |found: &str| found == name;
    spec.containers.iter().chain(init).any(|container| named(&container.name))
        || spec.ephemeral_containers.iter().flatten().any(|container| named(&container.name))
}

/// `containerd://<id>` → `<id>`.
fn without_scheme(id: &str) -> &str {
    id.split_once("://").map_or(id, |(_, id)| id)
}

fn shown_as_text(body: Body) -> Response {
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}
