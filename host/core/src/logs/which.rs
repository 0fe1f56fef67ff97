//! Which instance of a container has the log that is asked for.

use k8s_openapi::api::core::v1::{
    ContainerStateTerminated, ContainerStateWaiting, ContainerStatus, PodStatus,
};

#[cfg(test)]
mod tests;

/// The id (`<runtime>://<id>`) of the instance of a container whose log is to be shown, as the pod's status says; or why
/// there is none, in the words of upstream's `validateContainerLogStatus`.
///
/// # Errors
/// No instance of the container has a log.
pub fn container_with_log(
    pod: &str,
    status: &PodStatus,
    container: &str,
    previous: bool,
) -> Result<String, String> {
    let lists =
        [&status.container_statuses, &status.init_container_statuses, &status.ephemeral_container_statuses];
    let mut all = lists.into_iter().flatten().flatten();
    let Some(found) = all.find(|found| found.name == container) else {
        return Err(format!("container {container:?} in pod {pod:?} is not available"));
    };
    if previous {
        let before = ended_before(found).and_then(id_of);
        return before
            .ok_or_else(|| format!("previous terminated container {container:?} in pod {pod:?} not found"));
    }
    let state = found.state.clone().unwrap_or_default();
    if state.running.is_some() {
        return Ok(found.container_id.clone().unwrap_or_default());
    }
    // An instance that ended without ever having been made has the log of the one before.
    let ended = state.terminated.as_ref();
    if ended.is_some() || ended_before(found).is_some() {
        let id = ended.and_then(id_of).or_else(|| ended_before(found).and_then(id_of));
        return id.ok_or_else(|| format!("container {container:?} in pod {pod:?} is terminated"));
    }
    Err(match state.waiting {
        Some(waiting) => {
            format!("container {container:?} in pod {pod:?} is waiting to start: {}", why(&waiting))
        }
        None => format!("container {container:?} in pod {pod:?} is waiting to start - no logs yet"),
    })
}

fn ended_before(status: &ContainerStatus) -> Option<&ContainerStateTerminated> {
    status.last_state.as_ref()?.terminated.as_ref()
}

fn id_of(ended: &ContainerStateTerminated) -> Option<String> {
    ended.container_id.clone().filter(|id| !id.is_empty())
}

fn why(waiting: &ContainerStateWaiting) -> &str {
    match waiting.reason.as_deref().unwrap_or_default() {
        "ErrImagePull" => "image can't be pulled",
        "ImagePullBackOff" => "trying and failing to pull image",
        reason => reason,
    }
}
