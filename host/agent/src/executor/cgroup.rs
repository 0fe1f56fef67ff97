//! A pod's own cgroup: made before anything else of the pod, set to other limits with its containers, removed with all that
//! still runs in it.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use witlet_core::cgroup::{
    CgroupVersion, PodCgroup, PodCgroupAction, ResourceConfig, pod_cgroup_action, pod_resources,
};
use witlet_core::container::plan::resize::{PodKnob, ResizePod};
use witlet_core::container::plan::{Step, grace_seconds, plan_kill};
use witlet_core::container::spec::sandbox_resources;
use witlet_core::error::one_line;
use witlet_core::pod::resources::{CPU, MEMORY};
use witlet_core::pod::worker::{Outcome, RequeueCause};
use witlet_core::runtime::ObservedPod;
use witlet_ports::RuntimeError;

use super::cut::until_cut;
use super::start::{PodSandbox, SyncContext};
use super::{End, Executor, Job};
use crate::cgroups::{CgroupState, Kept};

impl Executor {
    /// Makes sure that the pod's cgroup is there. Gives the end of the sync if it isn't, or if all that ran of the pod had to be
    /// ended.
    pub(super) async fn ensure_cgroup(
        &self,
        job: &mut Job,
        pod: &Pod,
        observed: &ObservedPod,
    ) -> Result<(), End> {
        let Some(state) = until_cut(job, self.cgroups.ready()).await else { return Err(End::CUT) };
        let CgroupState::Kept(kept) = state else { return Ok(()) };
        let name = match kept.layout.pod(pod) {
            Ok(name) => name,
            Err(error) => return Err(self.cgroup_failed(job, &error)),
        };
        let path = kept.layout.path(&name);
        let config = self.cgroup_config(pod, kept.port.facts().version);
        let exists = kept.port.validate(&path).await.is_ok();
        let action = pod_cgroup_action(pod, observed, exists, job.memory.cgroup_ensured);
        let then_create = match action {
            PodCgroupAction::Nothing => {
                job.memory.cgroup_ensured = true;
                return Ok(());
            }
            PodCgroupAction::Update => {
                if let Err(error) = kept.port.update(&path, &config).await {
                    tracing::warn!(pod = %job.full_name, %error, "Failed to set the pod's cgroup");
                }
                job.memory.cgroup_ensured = true;
                return Ok(());
            }
            PodCgroupAction::Create => true,
            PodCgroupAction::Kill { then_create } => {
                self.kill_outside_cgroup(job, pod, observed).await?;
                then_create
            }
        };
        if then_create {
            self.cgroups.update_tiers().await;
            if let Err(error) = kept.port.create(&path, &config).await {
                let message = format!("failed to create container for {name} : {}", one_line(&error));
                return Err(self.cgroup_failed(job, &message));
            }
            job.memory.cgroup_ensured = true;
        }
        match action {
            // What was observed is over: the next sync plans again.
            PodCgroupAction::Kill { .. } => {
                Err(End { outcome: Outcome::Done, cause: RequeueCause::BackOff(Duration::ZERO) })
            }
            PodCgroupAction::Nothing | PodCgroupAction::Update | PodCgroupAction::Create => Ok(()),
        }
    }

    fn cgroup_config(&self, pod: &Pod, version: CgroupVersion) -> ResourceConfig {
        let settings = &self.cgroups.settings;
        let qos = settings.memory_qos.filter(|_| version == CgroupVersion::V2);
        ResourceConfig {
            pids_max: settings.pod_pids_max,
            unified: qos.map(|qos| qos.of_pod(pod)).unwrap_or_default(),
            ..pod_resources(pod, settings.cpu_quota)
        }
    }

    fn cgroup_failed(&self, job: &Job, error: &dyn std::fmt::Display) -> End {
        let message = format!("unable to ensure pod container exists: {error}");
        self.events(job).warning("FailedToCreatePodContainer", &message);
        End::FAILED
    }

    /// Containers run outside of the pod's limits: all of the pod is ended. One that can't be is tried again with the next sync.
    async fn kill_outside_cgroup(&self, job: &mut Job, pod: &Pod, observed: &ObservedPod) -> Result<(), End> {
        tracing::warn!(pod = %job.full_name, "The pod runs without its cgroup, and is restarted in it");
        for step in plan_kill(Some(pod), observed, grace_seconds(pod)).steps {
            let Step::KillPod(kill) = step else { continue };
            let killed = until_cut(job, self.killer.kill_pod(job, Some(pod), &kill)).await;
            self.acted(job);
            match killed {
                None => return Err(End::CUT),
                Some(Ok(())) => {}
                Some(Err(error)) => return Err(self.kill_failed(job, &error.to_string())),
            }
        }
        Ok(())
    }

    /// Remembers what the pod's cgroup has, for the plan. Nothing where there is none.
    pub(super) async fn read_cgroup(&self, job: &mut Job, pod: &Pod, observed: &ObservedPod) {
        job.memory.pod_cgroup = None;
        let CgroupState::Kept(kept) = self.cgroups.state() else { return };
        let Ok(name) = kept.layout.pod(pod) else { return };
        // Before anything runs it was made or set as it should be.
        if observed.any_running() {
            match kept.port.read(&kept.layout.path(&name)).await {
                Ok(cgroup) => job.memory.pod_cgroup = Some(cgroup),
                Err(error) if error.is_not_found() => {}
                Err(error) => tracing::warn!(pod = %job.full_name, %error, "Unable to get pod cgroup config"),
            }
        }
    }

    /// Sets one limit of the pod's cgroup. The runtime gets the new limits first, and the old ones again if the write fails.
    pub(super) async fn resize_pod(
        &self,
        job: &mut Job,
        context: SyncContext<'_>,
        pod_sandbox: Option<&PodSandbox>,
        resize: ResizePod,
    ) -> Result<(), ()> {
        let (CgroupState::Kept(kept), Some(current)) = (self.cgroups.state(), job.memory.pod_cgroup) else {
            return Err(());
        };
        let mut next = current;
        match resize.knob {
            PodKnob::CpuShares => next.cpu_shares = resize.value,
            PodKnob::MemoryLimit => next.memory_limit_bytes = resize.value,
            PodKnob::CpuQuota => {
                next.cpu_quota_us = resize.value;
                next.cpu_period_us = self.cgroups.settings.cpu_quota.period_us;
            }
        }
        if let Err(error) = self.tell_sandbox(context, pod_sandbox, next).await {
            let resource = match resize.knob {
                PodKnob::CpuShares | PodKnob::CpuQuota => CPU,
                PodKnob::MemoryLimit => MEMORY,
            };
            let error = one_line(&error);
            self.resize_failed(
                job,
                format!(
                    "failed to notify runtime for UpdatePodSandboxResources (resource={resource}); resize rejected: {error}"
                ),
            );
            return Err(());
        }
        if let Err(message) = self.write_limit(&kept, context.pod, resize).await {
            if let Err(error) = self.tell_sandbox(context, pod_sandbox, current).await {
                let error = one_line(&error);
                tracing::error!(pod = %job.full_name, error, "Failed to notify runtime to rollback UpdatePodSandboxResources");
            }
            self.resize_failed(job, message);
            return Err(());
        }
        job.memory.pod_cgroup = Some(next);
        Ok(())
    }

    /// A runtime that doesn't implement it needn't know.
    async fn tell_sandbox(
        &self,
        context: SyncContext<'_>,
        pod_sandbox: Option<&PodSandbox>,
        cgroup: PodCgroup,
    ) -> Result<(), RuntimeError> {
        let Some(pod_sandbox) = pod_sandbox else { return Ok(()) };
        let (overhead, resources) = sandbox_resources(context.pod, context.host.facts(), cgroup);
        match self.runtime.sandboxes.update_resources(pod_sandbox.id(), &overhead, &resources).await {
            Err(RuntimeError::Unimplemented { .. }) => Ok(()),
            answer => answer,
        }
    }

    async fn write_limit(&self, kept: &Kept, pod: &Pod, resize: ResizePod) -> Result<(), String> {
        let name = kept.layout.pod(pod).map_err(|error| error.to_string())?;
        let quota = self.cgroups.settings.cpu_quota;
        let value = Some(resize.value);
        let config = match resize.knob {
            PodKnob::CpuShares => ResourceConfig { cpu_shares: value, ..ResourceConfig::default() },
            PodKnob::CpuQuota => ResourceConfig {
                cpu_quota_us: value,
                cpu_period_us: Some(quota.period_us),
                ..ResourceConfig::default()
            },
            PodKnob::MemoryLimit => ResourceConfig { memory_bytes: value, ..ResourceConfig::default() },
        };
        // The present limits of huge pages aren't to be set to nothing.
        let config = ResourceConfig { hugepages: pod_resources(pod, quota).hugepages, ..config };
        kept.port.update(&kept.layout.path(&name), &config).await.map_err(|error| one_line(&error))
    }

    /// Ends what still runs in the pod's cgroup, and removes it. The pod's last status waits for that.
    pub(super) async fn remove_cgroup(&self, job: &Job, pod: &Pod) -> Result<(), ()> {
        let CgroupState::Kept(kept) = self.cgroups.state() else { return Ok(()) };
        // A name that can't be was never made.
        let Ok(name) = kept.layout.pod(pod) else { return Ok(()) };
        kept.port.remove(&kept.layout.path(&name)).await.map_err(|error| {
            let error = one_line(&error);
            tracing::warn!(pod = %job.full_name, cgroup = %name, error, "Failed to delete cgroup paths");
        })
    }
}
