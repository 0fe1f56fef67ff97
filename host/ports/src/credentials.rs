//! The port to credentials for registries.

use async_trait::async_trait;
use k8s_openapi::api::core::v1::Pod;
use thiserror::Error;
use witlet_core::runtime::ImageAuth;

/// Credentials that a pod names can't be had. The pull is tried with what could be had.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("pull secrets of the pod can't be read: {}", secrets.join(", "))]
pub struct CredentialsError {
    /// Names of the missing ones.
    pub secrets: Vec<String>,
    /// The other credentials for the image, as if nothing were missing.
    pub found: Vec<ImageAuth>,
}

/// What this node knows of registries: its own docker configuration, and the pull secrets of pods.
#[async_trait]
pub trait ImageCredentials: Send + Sync {
    /// Credentials to try in this order, the most specific registry first. None are for a registry that wants none.
    async fn for_image(&self, pod: &Pod, image: &str) -> Result<Vec<ImageAuth>, CredentialsError>;
}
