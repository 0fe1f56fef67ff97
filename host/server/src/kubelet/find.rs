//! Finding what a request is about: its query, pods, containers and sandboxes.

use std::sync::Arc;

use axum::http::StatusCode;
use k8s_openapi::api::core::v1::Pod;
use witlet_core::container::plan::container_named;
use witlet_core::pod::mirror::is_mirror_of;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::runtime::{
    ContainerId, ContainerRunState, ObservedContainer, ObservedPod, SandboxId, SandboxState,
};

use super::answers::Refused;
use super::route::Target;
use super::{KubeletServer, answers};

/// The running instance of a container, the newest if there are several.
pub(super) fn running<'a>(seen: &'a ObservedPod, container: &str) -> Option<&'a ObservedContainer> {
    let is_running =
        |found: &&ObservedContainer| found.name == container && found.state == ContainerRunState::Running;
    seen.containers.iter().filter(is_running).max_by_key(|found| found.created_at)
}

/// Whether the container was made with a terminal, which can't be changed while it runs.
fn has_terminal(pod: &Pod, container: &str) -> bool {
    container_named(pod, container).is_some_and(|found| found.container.tty == Some(true))
}

impl KubeletServer {
    /// The pod that is meant.
    pub(super) fn pod(&self, target: &Target<'_>) -> Result<Arc<Pod>, Refused> {
        let missing = || Refused::new(answers::text(StatusCode::NOT_FOUND, "pod does not exist"));
        self.parts.view.pod(target.namespace, target.pod).ok_or_else(missing)
    }

    /// Whether the pod may be meant by this UID: it is its own, or its mirror's (upstream: `TranslatePodUID`).
    fn has_uid(&self, pod: &Pod, expected: Option<&str>) -> bool {
        let Some(expected) = expected.filter(|expected| *expected != PodUid::of(pod).as_str()) else {
            return true;
        };
        let Some(mirrors) = &self.parts.mirrors else { return false };
        let mirrors = mirrors.borrow();
        let mirror = mirrors.get(&PodFullName::of(pod)).filter(|mirror| is_mirror_of(mirror, pod));
        mirror.is_some_and(|mirror| PodUid::of(mirror).as_str() == expected)
    }

    /// The running container that is meant, for a command in it.
    pub(super) async fn container_to_run_in(&self, target: &Target<'_>) -> Result<ContainerId, Refused> {
        self.running_container(target, format!("container not found ({:?})", target.container)).await
    }

    /// The running container that is meant, for its streams, and whether it has a terminal. Upstream has other words there if it is
    /// missing.
    pub(super) async fn container_to_attach_to(
        &self,
        target: &Target<'_>,
    ) -> Result<(ContainerId, bool), Refused> {
        let Target { namespace, pod, container, .. } = target;
        let missing = format!("container {container} not found in pod {pod}_{namespace}");
        let id = self.running_container(target, missing).await?;
        let pod = self.pod(target)?;
        Ok((id, has_terminal(&pod, container)))
    }

    async fn running_container(&self, target: &Target<'_>, words: String) -> Result<ContainerId, Refused> {
        let pod = self.pod(target)?;
        let missing = || Refused::new(answers::text(StatusCode::INTERNAL_SERVER_ERROR, words));
        if !self.has_uid(&pod, target.uid) {
            return Err(missing());
        }
        let seen = self.seen(&PodUid::of(&pod)).await?;
        running(&seen, target.container).map(|found| found.id.clone()).ok_or_else(missing)
    }

    /// The ready sandbox of the pod that is meant.
    pub(super) async fn ready_sandbox(&self, target: &Target<'_>) -> Result<SandboxId, Refused> {
        let pod = self.pod(target)?;
        if !self.has_uid(&pod, target.uid) {
            return Err(answers::text(StatusCode::NOT_FOUND, "pod not found").into());
        }
        let seen = self.seen(&PodUid::of(&pod)).await?;
        let ready = seen.sandboxes.iter().filter(|sandbox| sandbox.state == SandboxState::Ready);
        let found = ready.max_by_key(|sandbox| sandbox.created_at);
        found.map(|sandbox| sandbox.id.clone()).ok_or_else(|| {
            let words = format!("failed to find sandboxID for pod {}_{}", target.pod, target.namespace);
            answers::text(StatusCode::INTERNAL_SERVER_ERROR, words).into()
        })
    }

    /// What the runtime has of a pod.
    pub(super) async fn seen(&self, uid: &PodUid) -> Result<ObservedPod, Refused> {
        self.parts.pods.pod_status(uid).await.map_err(|failed| answers::runtime_failed(&failed).into())
    }
}
