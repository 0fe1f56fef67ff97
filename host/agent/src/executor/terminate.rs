//! The end of a pod: everything of it is stopped, that is made sure of, and its last status settled.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use witlet_core::container::plan::{Step, plan_kill};
use witlet_core::runtime::ObservedPod;
use witlet_core::status;
use witlet_ports::RuntimeError;

use super::sync::until_cut;
use super::{End, Executor, Job};
use witlet_core::error::one_line;

impl Executor {
    /// Stops all containers, then the sandboxes, and looks whether any container is left running. `pod` is none for one
    /// that only the runtime has, whose status nobody asks for.
    pub(super) async fn terminate(&self, job: &mut Job, pod: Option<&Pod>, grace_seconds: i64) -> End {
        if pod.is_none() {
            // The list that it was found in may be old: look first.
            self.acted(job);
        }
        let observed = match self.look(job).await {
            None => return End::CUT,
            Some(Ok(observed)) => observed,
            Some(Err(error)) => return self.kill_failed(job, &error),
        };
        if let Some(pod) = pod {
            self.publish(job, pod, &observed, true);
        }
        for step in plan_kill(&observed, grace_seconds).steps {
            let Step::KillPod(kill) = step else { continue };
            let killed = until_cut(job, self.kill_pod(job, &kill)).await;
            self.acted(job);
            let Some(killed) = killed else { return End::CUT };
            if let Err(error) = killed {
                return self.kill_failed(job, &error);
            }
        }
        let left = match self.look_now(job).await {
            Ok(left) => left,
            Err(error) => return self.kill_failed(job, &error),
        };
        if let Some(pod) = pod {
            self.publish(job, pod, &left, true);
        }
        let running: Vec<&str> = left
            .containers
            .iter()
            .filter(|container| container.state == witlet_core::runtime::ContainerRunState::Running)
            .map(|container| container.name.as_str())
            .collect();
        if !running.is_empty() {
            let message = format!("error killing pod: containers still run: {}", running.join(", "));
            self.events(job).warning("FailedKillPod", &message);
            return End::FAILED;
        }
        End::DONE
    }

    /// Shows the status that stays: nothing of the pod runs any more.
    pub(super) async fn settle(&self, job: &mut Job, pod: &Arc<Pod>) -> End {
        let observed = match self.look(job).await {
            None => return End::CUT,
            Some(Ok(observed)) => observed,
            Some(Err(_)) => return End::FAILED,
        };
        let last = self.publish(job, pod, &observed, true);
        let settled = status::terminated(pod, &last, self.clock.now());
        self.show(job, pod, Some(&last), settled);
        End::DONE
    }

    /// A look at the pod right now, past the cache, which takes it over.
    async fn look_now(&self, job: &Job) -> Result<Arc<ObservedPod>, RuntimeError> {
        let stamp = self.cache.stamp();
        let seen = Arc::new(self.runtime.view.pod_status(&job.uid).await?);
        self.cache.set(&job.uid, Ok(seen.clone()), stamp);
        Ok(seen)
    }

    fn kill_failed(&self, job: &Job, error: &RuntimeError) -> End {
        let message = format!("error killing pod: {}", one_line(error));
        self.events(job).warning("FailedKillPod", &message);
        End::FAILED
    }
}
