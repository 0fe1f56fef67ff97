//! Fetches what a pod draws from the cluster: for its volumes, and for the environments of its containers.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::{join_all, join3};
use k8s_openapi::api::core::v1::{ConfigMap, Container, Pod, Secret};
use thiserror::Error;
use witlet_core::container::spec::service_variables;
use witlet_core::pod::references::{self, References};
use witlet_core::pod::static_pod::is_static;
use witlet_core::volume::{Fetched, ReferencedObjects};
use witlet_ports::{ClusterObjects, ObjectError};

/// Why the environment of a container can't be made. The texts are upstream's.
#[derive(Debug, Error)]
pub(super) enum EnvironmentError {
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error("services have not yet been read at least once, cannot construct envvars")]
    ServicesUnread,
}

/// What the environment of a container draws from the cluster: those objects that exist.
#[derive(Default)]
pub(super) struct EnvironmentObjects {
    pub(super) config_maps: BTreeMap<String, BTreeMap<String, String>>,
    pub(super) secrets: BTreeMap<String, BTreeMap<String, Vec<u8>>>,
    pub(super) services: BTreeMap<String, String>,
}

/// The objects that the pod names are watched from now on. Pods that no API server knows have none.
pub(super) fn register(objects: &dyn ClusterObjects, pod: &Arc<Pod>) {
    if !is_static(pod) {
        objects.register(pod);
    }
}

/// What the pod's mounted volumes draw from.
pub(super) async fn of_mounted_volumes(objects: &dyn ClusterObjects, pod: &Pod) -> ReferencedObjects {
    match &pod.spec {
        Some(spec) if !is_static(pod) => fetch(objects, pod, &references::of_mounted_volumes(spec)).await,
        Some(_) | None => ReferencedObjects::default(),
    }
}

/// Fetches all at the same time: the first answer about each may take a while.
async fn fetch(objects: &dyn ClusterObjects, pod: &Pod, refs: &References) -> ReferencedObjects {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let config_maps = refs.config_maps.iter().map(async |name| {
        let found = objects.config_map(namespace, name).await;
        (name.clone(), fetched(found))
    });
    let secrets = refs.secrets.iter().map(async |name| {
        let found = objects.secret(namespace, name).await;
        (name.clone(), fetched(found))
    });
    let tokens = refs.tokens.iter().map(async |wish| {
        let token = objects.token(pod, wish).await.map(|token| Some(token.token));
        (wish.clone(), fetched(token))
    });
    let (config_maps, secrets, tokens) =
        join3(join_all(config_maps), join_all(secrets), join_all(tokens)).await;
    ReferencedObjects {
        config_maps: config_maps.into_iter().collect(),
        secrets: secrets.into_iter().collect(),
        tokens: tokens.into_iter().collect(),
    }
}

/// What the container's environment draws from. As upstream has it, an object that can't be asked for fails the container,
/// be it optional or not. A pod that is only remembered starts without what services would tell it.
pub(super) async fn of_environment(
    objects: &dyn ClusterObjects,
    pod: &Pod,
    container: &Container,
    is_restored: bool,
) -> Result<EnvironmentObjects, EnvironmentError> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let services = match objects.services(namespace) {
        Some(services) => service_variables(pod, services.iter().map(|service| &**service)),
        None if is_static(pod) || is_restored => BTreeMap::new(),
        None => return Err(EnvironmentError::ServicesUnread),
    };
    let mut found = EnvironmentObjects { services, ..EnvironmentObjects::default() };
    if is_static(pod) {
        return Ok(found);
    }
    let refs = references::of_environment(container);
    for name in refs.config_maps {
        if let Some(map) = objects.config_map(namespace, &name).await? {
            found.config_maps.insert(name, texts(&map));
        }
    }
    for name in refs.secrets {
        if let Some(secret) = objects.secret(namespace, &name).await? {
            found.secrets.insert(name, values(&secret));
        }
    }
    Ok(found)
}

fn texts(map: &ConfigMap) -> BTreeMap<String, String> {
    map.data.clone().unwrap_or_default()
}

fn values(secret: &Secret) -> BTreeMap<String, Vec<u8>> {
    let data = secret.data.iter().flatten();
    data.map(|(key, value)| (key.clone(), value.0.clone())).collect()
}

fn fetched<T>(answer: Result<Option<T>, ObjectError>) -> Fetched<T> {
    match answer {
        Ok(Some(found)) => Fetched::Found(found),
        Ok(None) => Fetched::Missing,
        Err(error @ ObjectError::Refused { .. }) => Fetched::Refused(error.to_string()),
        Err(error @ ObjectError::Unavailable { .. }) => Fetched::Unavailable(error.to_string()),
    }
}
