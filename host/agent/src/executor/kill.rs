//! Stops containers as a plan says: hooks first, each in its turn, all within its grace; but every container gets a least
//! time to end, also after a hook that took the whole grace.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::core::v1::Pod;
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::Instant;
use witlet_core::container::plan::{GRACE_SECONDS_MIN, KillContainer, KillPod};
use witlet_core::error::aggregate;
use witlet_core::runtime::ContainerId;
use witlet_ports::{Containers, EventSink, RuntimeError, Sandboxes};

use super::hooks::Hooks;
use super::job::Job;

#[cfg(test)]
mod tests;

/// What could not be stopped, in upstream's words.
#[derive(Debug, Error)]
#[error("{}", aggregate(_0.iter().map(ToString::to_string)))]
pub(super) struct KillErrors(Vec<KillError>);

/// One container or sandbox that could not be stopped.
#[derive(Debug, Error)]
enum KillError {
    #[error(r#"failed to "KillContainer" for {name:?} with KillContainerError: {:?}"#, error.status_text())]
    Container { name: String, error: RuntimeError },
    #[error(r#"failed to "KillPodSandbox" for {pod:?} with KillPodSandboxError: {:?}"#, error.status_text())]
    Sandbox { pod: String, error: RuntimeError },
}

/// Containers of one step that have ended.
type EndedContainers = watch::Sender<BTreeSet<ContainerId>>;

/// Stops what runs of pods.
pub(crate) struct Killer {
    pub(crate) containers: Arc<dyn Containers>,
    pub(crate) sandboxes: Arc<dyn Sandboxes>,
    pub(crate) hooks: Hooks,
    pub(crate) events: Arc<dyn EventSink>,
}

impl Killer {
    /// Stops the containers, then the sandboxes. Tries all.
    pub(super) async fn kill_pod(
        &self,
        job: &Job,
        pod: Option<&Pod>,
        kill: &KillPod,
    ) -> Result<(), KillErrors> {
        let containers = self.kill_containers(job, pod, &kill.containers).await;
        let mut errors = containers.err().map(|KillErrors(errors)| errors).unwrap_or_default();
        for sandbox in &kill.sandboxes {
            if let Err(error) = self.sandboxes.stop(sandbox).await {
                errors.push(KillError::Sandbox { pod: job.uid.to_string(), error });
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(KillErrors(errors)) }
    }

    /// Stops the containers. All are begun with at once; tries all.
    pub(super) async fn kill_containers(
        &self,
        job: &Job,
        pod: Option<&Pod>,
        kills: &[KillContainer],
    ) -> Result<(), KillErrors> {
        let ended = EndedContainers::default();
        let stops = kills.iter().map(async |kill| {
            let stopped = self.kill_container(job, pod, kill, &ended).await;
            stopped.err().map(|error| KillError::Container { name: kill.name.clone(), error })
        });
        let errors: Vec<KillError> = join_all(stops).await.into_iter().flatten().collect();
        if errors.is_empty() { Ok(()) } else { Err(KillErrors(errors)) }
    }

    async fn kill_container(
        &self,
        job: &Job,
        pod: Option<&Pod>,
        kill: &KillContainer,
        ended: &EndedContainers,
    ) -> Result<(), RuntimeError> {
        job.events(&*self.events).of(pod, &kill.name).normal("Killing", &kill.message);
        let grace = Grace::begin(kill.grace_seconds);
        let mut hook = pin!(async {
            if kill.reason.runs_pre_stop() {
                self.hooks.run_pre_stop(job, pod, kill).await;
            }
        });
        let is_overdue = tokio::time::timeout(grace.left(), &mut hook).await.is_err();
        grace.wait_for_all(ended, &kill.stop_after).await;
        let mut stop = self.containers.stop(&kill.id, grace.left_for_stop());
        if is_overdue {
            // As upstream has it, the hook goes on in what the container still gets, and ends with the container.
            tokio::select! {
                stopped = &mut stop => {
                    stopped?;
                    self.hooks.pre_stop_was_cut(job, pod, kill);
                }
                () = hook => stop.await?,
            }
        } else {
            stop.await?;
        }
        ended.send_modify(|ended| {
            ended.insert(kill.id.clone());
        });
        Ok(())
    }
}

/// The time that a container has from the beginning of its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grace {
    begun: Instant,
    whole: Duration,
}

impl Grace {
    /// Begins now. Less than nothing is nothing.
    pub(super) fn begin(seconds: i64) -> Self {
        let whole = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        Self { begun: Instant::now(), whole }
    }

    /// Returns what is left now.
    pub(super) fn left(&self) -> Duration {
        self.whole.saturating_sub(self.begun.elapsed())
    }

    /// Returns what the runtime is given: whole seconds, of which begun ones aren't counted as used up, and at least
    /// [`GRACE_SECONDS_MIN`], so that nothing is killed that was never asked to end.
    fn left_for_stop(&self) -> Duration {
        let used = Duration::from_secs(self.begun.elapsed().as_secs());
        let min = Duration::from_secs(GRACE_SECONDS_MIN.unsigned_abs());
        self.whole.saturating_sub(used).max(min)
    }

    /// Waits until all of these have ended, but not for longer than there is time.
    async fn wait_for_all(&self, ended: &EndedContainers, ids: &[ContainerId]) {
        let mut seen = ended.subscribe();
        let all = seen.wait_for(|ended| ids.iter().all(|id| ended.contains(id)));
        // Over time, its turn has come all the same; and the sender can't be gone, because it is borrowed.
        drop(tokio::time::timeout(self.left(), all).await);
    }
}
