//! Names of volume plugins, as monitoring has them.

use k8s_openapi::api::core::v1::{PodSpec, Volume};

use super::set_up::mounted_volumes;

#[cfg(test)]
mod tests;

/// The volumes that any container mounts, each with the name of its plugin (upstream: `GetPluginName`), in the spec's order.
pub fn mounted_plugins(spec: &PodSpec) -> Vec<(String, &'static str)> {
    mounted_volumes(spec).map(|volume| (volume.name.clone(), plugin(volume))).collect()
}

/// A volume without a source is an `emptyDir`; a kind that isn't here is refused with its pod.
fn plugin(volume: &Volume) -> &'static str {
    let kinds = [
        (volume.config_map.is_some(), "kubernetes.io/configmap"),
        (volume.downward_api.is_some(), "kubernetes.io/downward-api"),
        (volume.host_path.is_some(), "kubernetes.io/host-path"),
        (volume.projected.is_some(), "kubernetes.io/projected"),
        (volume.secret.is_some(), "kubernetes.io/secret"),
    ];
    kinds.into_iter().find_map(|(is_it, name)| is_it.then_some(name)).unwrap_or("kubernetes.io/empty-dir")
}
