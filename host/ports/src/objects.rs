//! The port to what pods draw from the cluster: config maps, secrets, tokens, services.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use thiserror::Error;
use witlet_core::container::spec::ServiceAddress;
use witlet_core::pod::PodUid;
pub use witlet_core::volume::TokenWish;

/// An object can't be had. That one doesn't exist is no error.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ObjectError {
    /// There is no API server, or it doesn't answer; what was had before may be used on.
    #[error("{object}: {message}")]
    Unavailable {
        /// Which object, as upstream names it: `configmap "default/settings"`.
        object: String,
        message: String,
    },
    /// The API server refuses it.
    #[error("{object}: {message}")]
    Refused { object: String, message: String },
}

/// A service account token. What it says isn't shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    pub token: String,
    pub expires_at: Timestamp,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a token until {}", self.expires_at)
    }
}

/// What pods draw from the cluster. Answers come from what is watched, so that they are as new as the last event and cost no
/// request; the first answer about an object waits for it.
#[async_trait]
pub trait ClusterObjects: Send + Sync {
    /// The pod is here, with this spec: the objects that it names are watched from now on. Called again with each change of the
    /// pod.
    fn register(&self, pod: &Arc<Pod>);

    /// The pod is gone: what only it used is watched no more.
    fn unregister(&self, uid: &PodUid);

    /// A config map of the pod's namespace; none if it doesn't exist.
    async fn config_map(&self, namespace: &str, name: &str) -> Result<Option<Arc<ConfigMap>>, ObjectError>;

    /// A secret of the pod's namespace; none if it doesn't exist.
    async fn secret(&self, namespace: &str, name: &str) -> Result<Option<Arc<Secret>>, ObjectError>;

    /// A token of the pod's service account, bound to the pod. The same one until it has to be refreshed: at 80 % of its life, or
    /// after 24 hours (upstream: `token_manager.go`).
    async fn token(&self, pod: &Pod, wish: &TokenWish) -> Result<Token, ObjectError>;

    /// Services whose addresses a container's environment tells of: those of the namespace, and the ones that the cluster tells
    /// all namespaces (upstream: `getServiceEnvVarMap`). None while the list wasn't read yet; upstream lets no container start then.
    fn services(&self, namespace: &str) -> Option<Vec<Arc<ServiceAddress>>>;

    /// Waits until an object that registered pods use has changed, or a token of theirs is due to be refreshed; gives the pods. A
    /// change that no one waited for is reported to the next caller who does. Without an API server it waits for good.
    async fn changed(&self) -> Vec<PodUid>;

    /// Handlers of the container runtime by the names of the cluster's runtime classes; none while they weren't read yet.
    fn runtime_classes(&self) -> Option<Arc<BTreeMap<String, String>>>;
}

/// For a node without an API server: there are no objects, and no server can be asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObjects;

impl NoObjects {
    fn no_api_server(object: String) -> ObjectError {
        ObjectError::Unavailable { object, message: "this node has no API server".to_owned() }
    }
}

#[async_trait]
impl ClusterObjects for NoObjects {
    fn register(&self, _: &Arc<Pod>) {}

    fn unregister(&self, _: &PodUid) {}

    async fn config_map(&self, namespace: &str, name: &str) -> Result<Option<Arc<ConfigMap>>, ObjectError> {
        Err(Self::no_api_server(format!("configmap \"{namespace}/{name}\"")))
    }

    async fn secret(&self, namespace: &str, name: &str) -> Result<Option<Arc<Secret>>, ObjectError> {
        Err(Self::no_api_server(format!("secret \"{namespace}/{name}\"")))
    }

    async fn token(&self, _: &Pod, _: &TokenWish) -> Result<Token, ObjectError> {
        Err(Self::no_api_server("service account token".to_owned()))
    }

    fn services(&self, _: &str) -> Option<Vec<Arc<ServiceAddress>>> {
        Some(Vec::new())
    }

    async fn changed(&self) -> Vec<PodUid> {
        std::future::pending().await
    }

    fn runtime_classes(&self) -> Option<Arc<BTreeMap<String, String>>> {
        None
    }
}
