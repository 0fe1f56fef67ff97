//! Runs lifecycle hooks: commands in the container, requests, and sleep.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Lifecycle, LifecycleHandler, Pod};
use thiserror::Error;
use witlet_core::container::plan::{KillContainer, container_named};
use witlet_core::hook::{Hook, hook};
use witlet_core::probe::TargetError;
use witlet_core::runtime::{ContainerId, ExecOutput, ObservedContainer};
use witlet_ports::{CommandRunner, EventSink, HookError, HookRequests, RuntimeError};

use super::job::Job;
use crate::cache::PodCache;
use crate::metrics::PodMetrics;
use crate::pod_status_store::PodStatusStore;
use witlet_core::error::one_line;

#[cfg(test)]
mod tests;

/// No hook runs longer. Upstream sets a postStart hook no limit; such a hook holds up its own pod only, and less so here,
/// for the pod's end cuts it short.
pub(super) const HOOK_MAX: Duration = Duration::from_secs(60 * 60);
/// Of what a failed command said so much becomes the container's waiting message, in bytes.
const OUTPUT_BYTES_MAX: usize = 4096;

/// Why a hook failed. Upstream's words where they are more than the cause's own.
#[derive(Debug, Error)]
pub(super) enum HookFailure {
    #[error("invalid handler")]
    Target(#[source] TargetError),
    #[error("error executing the command")]
    Exec(#[source] RuntimeError),
    #[error("command '{}' exited with {exit_code}: , message: {output:?}", command.join(" "))]
    Exited { command: Vec<String>, exit_code: i32, output: String },
    #[error("error sending the request")]
    Http(#[source] HookError),
    #[error("not completed within {:.0}s", limit.as_secs_f64())]
    Overdue { limit: Duration },
}

/// A hook of a running container.
#[derive(Clone, Copy)]
pub(super) struct HookRun<'a> {
    pub(super) container: &'a Container,
    pub(super) id: &'a ContainerId,
    pub(super) handler: &'a LifecycleHandler,
    /// The address of requests that name none.
    pub(super) pod_ip: Option<&'a str>,
    pub(super) limit: Duration,
}

impl HookRun<'_> {
    /// The container's waiting message, in upstream's words.
    pub(super) fn message(&self, job: &Job, failure: &HookFailure) -> String {
        let kind = match self.handler {
            LifecycleHandler { exec: Some(exec), .. } => {
                format!("Exec lifecycle hook ([{}])", exec.command.clone().unwrap_or_default().join(" "))
            }
            LifecycleHandler { http_get: Some(get), .. } => {
                format!("HTTP lifecycle hook ({})", get.path.as_deref().unwrap_or_default())
            }
            LifecycleHandler { sleep: Some(sleep), .. } => {
                format!("Sleep lifecycle hook ({})", sleep.seconds)
            }
            LifecycleHandler { .. } => return format!("Cannot run handler: {}", one_line(failure)),
        };
        format!(
            "{kind} for Container {:?} in Pod \"{}_{}({})\" failed - error: {}",
            self.container.name,
            job.full_name.name,
            job.full_name.namespace,
            job.uid,
            one_line(failure)
        )
    }
}

/// Runs lifecycle hooks.
pub(crate) struct Hooks {
    pub(crate) commands: Arc<dyn CommandRunner>,
    pub(crate) requests: Arc<dyn HookRequests>,
    pub(crate) events: Arc<dyn EventSink>,
    /// What containers note of their hooks, and addresses of pods without a status.
    pub(crate) cache: Arc<PodCache>,
    pub(crate) statuses: Arc<PodStatusStore>,
    pub(crate) metrics: Arc<PodMetrics>,
}

impl Hooks {
    /// Runs a hook to its end, but not beyond its limit.
    pub(super) async fn run(&self, job: &Job, run: HookRun<'_>) -> Result<(), HookFailure> {
        let limit = run.limit;
        let overdue = HookFailure::Overdue { limit };
        tokio::time::timeout(limit, self.hook_to_its_end(job, run)).await.unwrap_or(Err(overdue))
    }

    async fn hook_to_its_end(&self, job: &Job, run: HookRun<'_>) -> Result<(), HookFailure> {
        match hook(run.handler, run.container, run.pod_ip).map_err(HookFailure::Target)? {
            Hook::Exec { command } => {
                match self.commands.exec_sync(run.id, &command, Some(run.limit)).await {
                    Ok(output) => judge(command, output),
                    Err(RuntimeError::DeadlineExceeded { limit, .. }) => Err(HookFailure::Overdue { limit }),
                    Err(error) => Err(HookFailure::Exec(error)),
                }
            }
            Hook::HttpGet(request) => {
                let in_the_clear =
                    self.requests.send(&request, run.limit).await.map_err(HookFailure::Http)?;
                if in_the_clear {
                    let message = "request to HTTPS lifecycle hook got HTTP response, retrying with HTTP";
                    self.metrics.hook_fell_back();
                    job.events(&*self.events).warning("LifecycleHTTPFallback", message);
                }
                Ok(())
            }
            Hook::Sleep(duration) => {
                tokio::time::sleep(duration).await;
                Ok(())
            }
        }
    }

    /// Runs the preStop hook of a container that ends, if it has one. Whatever becomes of it, the end goes on: the caller
    /// sets the limit, and [`HOOK_MAX`] holds in any case. What the hook says may be secret, and doesn't become part of the
    /// event.
    pub(super) async fn run_pre_stop(&self, job: &Job, pod: Option<&Pod>, kill: &KillContainer) {
        let Some(container) = self.ending_container(job, pod, kill) else { return };
        let Some(handler) = pre_stop(&container) else { return };
        let pod_ip = self.pod_ip(job);
        let run = HookRun {
            container: &container,
            id: &kill.id,
            handler,
            pod_ip: pod_ip.as_deref(),
            limit: HOOK_MAX,
        };
        if let Err(failure) = self.run(job, run).await {
            tracing::warn!(pod = %job.full_name, container_name = kill.name, error = one_line(&failure), "PreStop hook failed");
            self.pre_stop_failed(job, pod, kill);
        }
    }

    /// The container's end has cut its preStop hook off. One that only sleeps isn't waited for any longer.
    pub(super) fn pre_stop_was_cut(&self, job: &Job, pod: Option<&Pod>, kill: &KillContainer) {
        let Some(container) = self.ending_container(job, pod, kill) else { return };
        match pre_stop(&container) {
            Some(LifecycleHandler { sleep: Some(_), .. }) => self.metrics.sleep_was_cut(),
            Some(_) => self.pre_stop_failed(job, pod, kill),
            None => {}
        }
    }

    fn pre_stop_failed(&self, job: &Job, pod: Option<&Pod>, kill: &KillContainer) {
        let events = job.events(&*self.events).of(pod, &kill.name);
        events.warning("FailedPreStopHook", "PreStopHook failed");
    }

    /// The container as the spec has it, or else as its own annotations do.
    fn ending_container<'a>(
        &self,
        job: &Job,
        pod: Option<&'a Pod>,
        kill: &KillContainer,
    ) -> Option<Cow<'a, Container>> {
        let known = pod.and_then(|pod| container_named(pod, &kill.name)).map(|found| found.container);
        known.or_else(|| self.noted_container(job, kill).map(Cow::Owned))
    }

    /// Returns what the annotations of a container that no spec has note.
    fn noted_container(&self, job: &Job, kill: &KillContainer) -> Option<Container> {
        let seen = self.cache.peek(&job.uid)?;
        let noted = seen.containers.iter().find(|container| container.id == kill.id)?;
        noted_hooks(noted)
    }

    /// The address that the pod's status shows; of a pod without one, that which it was seen to have.
    fn pod_ip(&self, job: &Job) -> Option<String> {
        let shown = self.statuses.status(&job.uid).and_then(|status| status.pod_ip.clone());
        let seen = || self.cache.peek(&job.uid).and_then(|seen| seen.ips.first().map(ToString::to_string));
        shown.or_else(seen)
    }
}

fn pre_stop(container: &Container) -> Option<&LifecycleHandler> {
    container.lifecycle.as_ref()?.pre_stop.as_ref()
}

/// Returns what the annotations of a container say of its hooks, with the ports that hooks may name. Annotations that make no sense
/// are as good as none: someone else wrote them.
fn noted_hooks(noted: &ObservedContainer) -> Option<Container> {
    let pre_stop = noted.pre_stop.as_deref().and_then(|text| serde_json::from_str(text).ok())?;
    Some(Container {
        name: noted.name.clone(),
        ports: noted.ports.as_deref().and_then(|text| serde_json::from_str(text).ok()),
        lifecycle: Some(Lifecycle { pre_stop: Some(pre_stop), ..Lifecycle::default() }),
        ..Container::default()
    })
}

fn judge(command: Vec<String>, output: ExecOutput) -> Result<(), HookFailure> {
    let ExecOutput { stdout, stderr, exit_code } = output;
    if exit_code == 0 {
        return Ok(());
    }
    let said: Vec<u8> = stdout.into_iter().chain(stderr).take(OUTPUT_BYTES_MAX).collect();
    let output = String::from_utf8_lossy(&said).into_owned();
    Err(HookFailure::Exited { command, exit_code, output })
}
