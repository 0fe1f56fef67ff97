//! Which objects of its namespace a pod's spec names, and which tokens.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, Volume};

use crate::container::plan::containers;
use crate::volume::{TokenWish, mounted_volumes, wish_of};

#[cfg(test)]
mod tests;

/// Objects by name, all of the pod's own namespace, and tokens of its service account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    pub config_maps: BTreeSet<String>,
    pub secrets: BTreeSet<String>,
    pub tokens: BTreeSet<TokenWish>,
}

/// Returns all that the pod refers to: pull secrets, environments of all its containers, and volumes, be they mounted or not
/// (upstream: `VisitPodSecretNames`, `VisitPodConfigmapNames`). Volumes that this release doesn't have name nothing.
pub fn of_pod(pod: &Pod) -> References {
    let Some(spec) = &pod.spec else { return References::default() };
    let mut found = References::default();
    for secret in spec.image_pull_secrets.iter().flatten() {
        insert(&mut found.secrets, &secret.name);
    }
    for container in containers(pod) {
        found.add_environment(&container.container);
    }
    for volume in spec.volumes.iter().flatten() {
        found.add_volume(volume);
    }
    found
}

/// Returns what the volumes refer to that containers mount.
pub fn of_mounted_volumes(spec: &PodSpec) -> References {
    let mut found = References::default();
    for volume in mounted_volumes(spec) {
        found.add_volume(volume);
    }
    found
}

/// Returns what the environment of one container refers to.
pub fn of_environment(container: &Container) -> References {
    let mut found = References::default();
    found.add_environment(container);
    found
}

impl References {
    fn add_environment(&mut self, container: &Container) {
        for source in container.env_from.iter().flatten() {
            if let Some(map) = &source.config_map_ref {
                insert(&mut self.config_maps, &map.name);
            }
            if let Some(secret) = &source.secret_ref {
                insert(&mut self.secrets, &secret.name);
            }
        }
        let variables = container.env.iter().flatten();
        for source in variables.filter_map(|variable| variable.value_from.as_ref()) {
            if let Some(map) = &source.config_map_key_ref {
                insert(&mut self.config_maps, &map.name);
            }
            if let Some(secret) = &source.secret_key_ref {
                insert(&mut self.secrets, &secret.name);
            }
        }
    }

    fn add_volume(&mut self, volume: &Volume) {
        if let Some(source) = &volume.config_map {
            insert(&mut self.config_maps, &source.name);
        }
        if let Some(name) = volume.secret.as_ref().and_then(|source| source.secret_name.as_ref()) {
            insert(&mut self.secrets, name);
        }
        let projections = volume.projected.iter().flat_map(|source| source.sources.iter().flatten());
        for projection in projections {
            if let Some(source) = &projection.config_map {
                insert(&mut self.config_maps, &source.name);
            }
            if let Some(source) = &projection.secret {
                insert(&mut self.secrets, &source.name);
            }
            if let Some(source) = &projection.service_account_token {
                self.tokens.insert(wish_of(source));
            }
        }
    }
}

/// An empty name names nothing.
fn insert(names: &mut BTreeSet<String>, name: &str) {
    if !name.is_empty() && !names.contains(name) {
        names.insert(name.to_owned());
    }
}
