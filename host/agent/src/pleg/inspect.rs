//! One pod in detail: what the runtime has of it, with what is only on the disk or only remembered.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use witlet_core::error::one_line;
use witlet_core::pod::PodUid;
use witlet_core::runtime::{ContainerRunState, ObservedContainer, ObservedPod, SandboxState};
use witlet_core::status::termination_message::{self, FILE_BYTES_MAX, LOG_BYTES_MAX, LOG_LINES_MAX};
use witlet_ports::{ContainerFiles, FilesError, PodView};

use crate::cache::{Inspection, PodCache};

#[cfg(test)]
mod tests;

/// The termination messages of a pod may take this long to read. A disk that hangs must not hold up the checks of other
/// pods; what isn't read by then is tried at the next check.
pub(crate) const MESSAGES_READ_MAX: Duration = Duration::from_secs(2);
/// The runtime's reason for a container whose process never began, so that it can't have written a log (upstream:
/// `ContainerCannotRun`).
const CANNOT_RUN: &str = "ContainerCannotRun";

/// Checks pods and keeps what it saw in the cache.
#[derive(Clone)]
pub(crate) struct Inspector {
    pub(crate) view: Arc<dyn PodView>,
    pub(crate) files: Arc<dyn ContainerFiles>,
    pub(crate) cache: Arc<PodCache>,
}

impl Inspector {
    /// Checks the pod now. Whatever was done to it before is seen.
    pub(crate) async fn inspect(&self, uid: &PodUid) -> Inspection {
        let stamp = self.cache.stamp();
        let inspection = match self.view.pod_status(uid).await {
            Ok(seen) => Ok(Arc::new(self.enrich(seen).await)),
            Err(error) => Err(error),
        };
        self.cache.set(uid, inspection.clone(), stamp);
        inspection
    }

    async fn enrich(&self, mut seen: ObservedPod) -> ObservedPod {
        let before = self.cache.peek(&seen.uid);
        keep_ips(&mut seen, before.as_deref());
        keep_messages(&mut seen, before.as_deref());
        let reading = async {
            for container in seen.containers.iter_mut().filter(|container| is_unread(container)) {
                container.termination_message = Some(self.read_message(container).await);
            }
        };
        if tokio::time::timeout(MESSAGES_READ_MAX, reading).await.is_err() {
            let pod = seen.full_name();
            tracing::warn!(%pod, pod_uid = %seen.uid, "Timed out reading termination messages");
        }
        seen
    }

    /// Never fails: like upstream's, what can't be read is the message.
    async fn read_message(&self, container: &ObservedContainer) -> String {
        let from_file = match self.message_file(container) {
            Some(path) => match self.files.read_termination_message(path, FILE_BYTES_MAX).await {
                Ok(bytes) => termination_message::from_file(&bytes.unwrap_or_default()),
                Err(error) => return unreadable(path, &error),
            },
            None => String::new(),
        };
        let policy = container.termination_message_policy.as_deref();
        let has_log = container.reason != CANNOT_RUN && !container.log_path.is_empty();
        if !has_log || !termination_message::wants_log(policy, container.exit_code, &from_file) {
            return from_file;
        }
        let log = Path::new(&container.log_path);
        match self.files.log_tail(log, LOG_BYTES_MAX, LOG_LINES_MAX).await {
            Ok(tail) => termination_message::from_log(&tail),
            Err(error) => format!("Error reading from container log: {}", one_line(&error)),
        }
    }

    /// The file on the host that is mounted where the container writes its message.
    fn message_file<'a>(&self, container: &'a ObservedContainer) -> Option<&'a Path> {
        let inside =
            Path::new(container.termination_message_path.as_deref().filter(|path| !path.is_empty())?);
        let mount = container.mounts.iter().find(|mount| mount.container_path == inside)?;
        Some(&mount.host_path)
    }
}

fn unreadable(path: &Path, error: &FilesError) -> String {
    format!("Error on reading termination log {}: {}", path.display(), one_line(error))
}

fn is_unread(container: &ObservedContainer) -> bool {
    container.state == ContainerRunState::Exited && container.termination_message.is_none()
}

/// A sandbox that has ended tells no addresses any more, but its pod's status goes on showing them.
fn keep_ips(seen: &mut ObservedPod, before: Option<&ObservedPod>) {
    let any_ready = seen.sandboxes.iter().any(|sandbox| sandbox.state == SandboxState::Ready);
    if seen.ips.is_empty()
        && !seen.sandboxes.is_empty()
        && !any_ready
        && let Some(before) = before
    {
        seen.ips.clone_from(&before.ips);
    }
}

/// A message is read once: after its end a container doesn't change what it said.
fn keep_messages(seen: &mut ObservedPod, before: Option<&ObservedPod>) {
    let Some(before) = before else { return };
    for container in seen.containers.iter_mut().filter(|container| is_unread(container)) {
        let known = before.containers.iter().find(|known| known.id == container.id);
        container.termination_message = known.and_then(|known| known.termination_message.clone());
    }
}
