//! What the runtime is asked for at once: commands run to their end, and the pods that run.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use hyper::Uri;
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use witlet_core::pod::PodUid;
use witlet_core::runtime::{ContainerRunState, ObservedPod, RuntimePod};

use super::query::query;
use super::route::Target;
use super::{KubeletServer, answers, find};
use crate::pod_list::PodList;

impl KubeletServer {
    /// `/run`: the command is one value, in words between single spaces, as upstream takes it.
    pub(super) async fn run(&self, uri: &Uri, target: Target<'_>) -> Response {
        let query = query(uri);
        let command =
            query.iter().find(|(name, _)| name == "cmd").map_or("", |(_, command)| command.as_str());
        let command: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let id = match self.container_to_run_in(&target).await {
            Ok(id) => id,
            Err(refused) => return *refused,
        };
        match self.parts.containers.exec_sync(&id, &command, None).await {
            Ok(output) if output.exit_code == 0 => {
                answers::json_bytes([output.stdout, output.stderr].concat())
            }
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                let words =
                    format!("command '{}' exited with {}: {said}", command.join(" "), output.exit_code);
                answers::text(StatusCode::INTERNAL_SERVER_ERROR, words)
            }
            Err(failed) => answers::text(StatusCode::INTERNAL_SERVER_ERROR, failed.to_string()),
        }
    }

    /// `/runningpods/`: what the runtime has, whatever created it. For tests: each pod is checked for its images.
    pub(super) async fn running_pods(&self) -> Response {
        let listed = match self.parts.pods.list_pods().await {
            Ok(listed) => listed,
            Err(failed) => return answers::text(StatusCode::INTERNAL_SERVER_ERROR, failed.to_string()),
        };
        let mut pods = Vec::new();
        for mut pod in listed.iter().filter_map(running) {
            match self.parts.pods.pod_status(&PodUid::of(&pod)).await {
                Ok(seen) => add_images(&mut pod, &seen),
                Err(error) => tracing::debug!(%error, "Failed to get the images of a running pod"),
            }
            pods.push(Arc::new(pod));
        }
        answers::json(&PodList::new(pods))
    }
}

/// A container's image is what the runtime pinned it to.
fn add_images(pod: &mut Pod, seen: &ObservedPod) {
    for container in pod.spec.iter_mut().flat_map(|spec| &mut spec.containers) {
        container.image = find::running(seen, &container.name).map(|found| found.image_id.clone());
    }
}

/// A pod with its running containers; none of one that has none.
fn running(pod: &RuntimePod) -> Option<Pod> {
    let containers = pod.containers.iter().filter(|container| container.state == ContainerRunState::Running);
    let containers: Vec<Container> = containers
        .map(|container| Container { name: container.name.clone(), ..Container::default() })
        .collect();
    (!containers.is_empty()).then(|| Pod {
        metadata: ObjectMeta {
            name: Some(pod.name.clone()),
            namespace: Some(pod.namespace.clone()),
            uid: Some(pod.uid.to_string()),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec { containers, ..PodSpec::default() }),
        status: None,
    })
}
