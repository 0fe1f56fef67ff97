//! Shrinks the vectors of decoded pods: a decoded list of one item has capacity for four, which stays allocated as long as the pod.

use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod, PodSpec, PodStatus, Volume};

#[cfg(test)]
mod tests;

/// Gives back the capacity of lists with large items. What the pod says stays as it is.
pub(super) fn shrink_pod(pod: &mut Pod) {
    if let Some(spec) = &mut pod.spec {
        shrink_spec(spec);
    }
    if let Some(status) = &mut pod.status {
        shrink_status(status);
    }
}

fn shrink_spec(spec: &mut PodSpec) {
    shrink(Some(&mut spec.containers));
    shrink(spec.init_containers.as_mut());
    shrink(spec.ephemeral_containers.as_mut());
    shrink(spec.tolerations.as_mut());
    shrink(spec.image_pull_secrets.as_mut());
    shrink(spec.volumes.as_mut());
    spec.containers.iter_mut().for_each(shrink_container);
    spec.init_containers.iter_mut().flatten().for_each(shrink_container);
    spec.volumes.iter_mut().flatten().for_each(shrink_volume);
}

fn shrink_container(container: &mut Container) {
    shrink(container.env.as_mut());
    shrink(container.ports.as_mut());
    shrink(container.volume_mounts.as_mut());
}

fn shrink_volume(volume: &mut Volume) {
    let sources = volume.projected.as_mut().and_then(|projected| projected.sources.as_mut());
    let Some(sources) = sources else { return };
    sources.shrink_to_fit();
    for source in sources {
        shrink(source.config_map.as_mut().and_then(|map| map.items.as_mut()));
        shrink(source.secret.as_mut().and_then(|secret| secret.items.as_mut()));
        shrink(source.downward_api.as_mut().and_then(|fields| fields.items.as_mut()));
    }
}

fn shrink_status(status: &mut PodStatus) {
    shrink(status.conditions.as_mut());
    shrink(status.host_ips.as_mut());
    shrink(status.pod_ips.as_mut());
    let statuses = [
        &mut status.container_statuses,
        &mut status.init_container_statuses,
        &mut status.ephemeral_container_statuses,
    ];
    for statuses in statuses {
        shrink(statuses.as_mut());
        statuses.iter_mut().flatten().for_each(shrink_container_status);
    }
}

fn shrink_container_status(status: &mut ContainerStatus) {
    shrink(status.volume_mounts.as_mut());
}

fn shrink<T>(list: Option<&mut Vec<T>>) {
    if let Some(list) = list {
        list.shrink_to_fit();
    }
}
