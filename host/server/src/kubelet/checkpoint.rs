//! `/checkpoint`: a container saved as it runs.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use hyper::Uri;
use serde_json::json;
use witlet_core::pod::PodUid;

use super::answers::Refused;
use super::checkpoint_capacity::ArchiveName;
use super::find::running;
use super::logs::has_container;
use super::query::query;
use super::route::Target;
use super::{KubeletServer, answers};

#[cfg(test)]
mod tests;

/// Seconds that a checkpoint may take at the most, however many are asked for.
const SECONDS_MAX: u64 = 3600;

impl KubeletServer {
    pub(super) async fn checkpoint(&self, uri: &Uri, target: Target<'_>) -> Response {
        match self.save(uri, &target).await {
            Ok(archive) => answers::json(&json!({"items": [archive]})),
            Err(refused) => *refused,
        }
    }

    /// Saves the container, and returns the path of its archive.
    async fn save(&self, uri: &Uri, target: &Target<'_>) -> Result<String, Refused> {
        let not_found = |words: String| Refused::new(answers::text(StatusCode::NOT_FOUND, words));
        let Target { namespace, pod: name, container, .. } = *target;
        let failed = |why: &dyn std::fmt::Display| {
            let words = format!("checkpointing of {namespace}/{name}/{container} failed ({why})");
            Refused::new(answers::text(StatusCode::INTERNAL_SERVER_ERROR, words))
        };
        let pod = self.pod(target)?;
        if !has_container(&pod, container) {
            return Err(not_found(format!("container {container} does not exist")));
        }
        let timeout = match timeout(&query(uri)) {
            Ok(timeout) => timeout,
            Err(TimeoutError::Unreadable) => {
                return Err(not_found("cannot parse value of timeout parameter".to_owned()));
            }
            Err(TimeoutError::Negative) => {
                return Err(failed(&"CheckpointContainer requires the timeout value to be > 0"));
            }
        };
        let seen = self.parts.pods.pod_status(&PodUid::of(&pod)).await.map_err(|error| failed(&error))?;
        let Some(found) = running(&seen, container) else {
            return Err(failed(&format!("container {container} not found")));
        };
        let Some(turn) = self.checkpoints.turn().await else {
            let words = "too many checkpoints on this node";
            return Err(answers::error(StatusCode::SERVICE_UNAVAILABLE, words).into());
        };
        let folder = self.parts.diagnostics.checkpoint_folder.clone();
        let time = self.parts.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ");
        let archive = format!("checkpoint-{name}_{namespace}-{container}-{time}");
        let (names, checkpoints) =
            (self.checkpoints.names.clone(), self.parts.diagnostics.checkpoints.clone());
        let id = found.id.clone();
        // A task of its own: a runtime that saves a container goes on with it when the client is gone.
        let saving = self.tasks.spawn(async move {
            let _turn = turn;
            let naming = tokio::task::spawn_blocking(move || {
                make_folder(&folder)?;
                ArchiveName::give(&folder, &archive, &names)
            });
            let archive =
                naming.await.map_err(io::Error::other).flatten().map_err(|error| error.to_string())?;
            let saved = checkpoints.checkpoint(&id, &archive.path, timeout).await;
            saved.map_err(|error| error.to_string())?;
            Ok::<_, String>(archive.path.display().to_string())
        });
        let saved = saving.await.unwrap_or_else(|error| Err(error.to_string()));
        saved.map_err(|error| failed(&error))
    }
}

/// For the owner only: an archive has the memory of a container in it.
fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Why a `timeout` is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimeoutError {
    Unreadable,
    Negative,
}

/// The last `timeout` of a query, in seconds; none if it has none.
fn timeout(query: &[(String, String)]) -> Result<Option<Duration>, TimeoutError> {
    let mut values = query.iter().filter(|(name, _)| name == "timeout").map(|(_, value)| value);
    let Some(last) = values.next_back() else { return Ok(None) };
    let seconds: i64 = last.parse().map_err(|_| TimeoutError::Unreadable)?;
    let seconds = u64::try_from(seconds).map_err(|_| TimeoutError::Negative)?;
    Ok(Some(Duration::from_secs(seconds.min(SECONDS_MAX))))
}
