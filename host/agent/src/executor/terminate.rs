//! The end of a pod: everything of it is stopped, that is made sure of, and its last status settled.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use witlet_core::container::plan::{Step, plan_kill};
use witlet_core::runtime::ContainerRunState;
use witlet_core::status;

use super::cut::until_cut;
use super::{End, Executor, Job};
use witlet_core::error::one_line;

/// The volumes of a pod may take this long to be given up; then that is tried again (upstream waits as long as for setting
/// them up).
const TEAR_DOWN_MAX: Duration = Duration::from_secs(123);

impl Executor {
    /// Stops all containers, then the sandboxes, and checks whether any container is left running. `pod` is none for one
    /// that only the runtime has, whose status isn't asked for.
    pub(super) async fn terminate(&self, job: &mut Job, pod: Option<&Pod>, grace_seconds: i64) -> End {
        if pod.is_none() {
            // The list that it was found in may be old: check first.
            self.acted(job);
        }
        let observed = match self.inspect(job).await {
            None => return End::CUT,
            Some(Ok(observed)) => observed,
            Some(Err(error)) => return self.kill_failed(job, &error.status_text()),
        };
        if let Some(pod) = pod {
            // As upstream has it, whether the pod has ended for good is reported once nothing of it runs for sure.
            self.publish(job, pod, &observed, false);
        }
        self.prober.stop_liveness_and_startup(&job.uid);
        for step in plan_kill(pod, &observed, grace_seconds).steps {
            let Step::KillPod(kill) = step else { continue };
            let killed = until_cut(job, self.killer.kill_pod(job, pod, &kill)).await;
            self.acted(job);
            let Some(killed) = killed else { return End::CUT };
            if let Err(error) = killed {
                return self.kill_failed(job, &error.to_string());
            }
        }
        self.prober.remove_pod(&job.uid);
        let left = match self.inspector.inspect(&job.uid).await {
            Ok(left) => left,
            Err(error) => return self.kill_failed(job, &error.status_text()),
        };
        if let Some(pod) = pod {
            self.publish(job, pod, &left, true);
        }
        let running: Vec<&str> = left
            .containers
            .iter()
            .filter(|container| container.state == ContainerRunState::Running)
            .map(|container| container.name.as_str())
            .collect();
        if !running.is_empty() {
            return self.kill_failed(job, &format!("containers still run: {}", running.join(", ")));
        }
        // What it asked for is free for the others of its class.
        self.cgroups.forget(&job.uid);
        self.cgroups.update_tiers().await;
        End::DONE
    }

    /// Gives up what the pod had on the machine, and shows the status that stays: nothing of the pod runs any more.
    pub(super) async fn settle(&self, job: &mut Job, pod: &Arc<Pod>) -> End {
        let observed = match self.inspect(job).await {
            None => return End::CUT,
            Some(Ok(observed)) => observed,
            Some(Err(_)) => return End::FAILED,
        };
        let last = self.publish(job, pod, &observed, true);
        match until_cut(job, self.tear_volumes_down(job)).await {
            None => return End::CUT,
            Some(Err(())) => return End::FAILED,
            Some(Ok(())) => {}
        }
        self.cgroups.forget(&job.uid);
        match until_cut(job, self.remove_cgroup(job, pod)).await {
            None => return End::CUT,
            Some(Err(())) => return End::FAILED,
            Some(Ok(())) => {}
        }
        let settled = status::terminated(pod, &last, self.clock.now());
        self.show(job, pod, Some(&last), settled);
        End::DONE
    }

    async fn tear_volumes_down(&self, job: &Job) -> Result<(), ()> {
        let begun = tokio::time::Instant::now();
        let torn = tokio::time::timeout(TEAR_DOWN_MAX, self.volumes.tear_down(&job.uid)).await;
        self.metrics.volumes.unmounted(&job.uid, begun.elapsed(), matches!(torn, Ok(Ok(()))));
        let problem = match torn {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => one_line(&error),
            Err(_) => format!("not done within {}s", TEAR_DOWN_MAX.as_secs()),
        };
        let message = format!("error unmounting volumes: {problem}");
        self.events(job).warning("FailedSync", &message);
        Err(())
    }

    pub(super) fn kill_failed(&self, job: &Job, error: &str) -> End {
        let message = format!("error killing pod: {error}");
        self.events(job).warning("FailedKillPod", &message);
        End::FAILED
    }
}
