//! The port to credentials for registries.

use async_trait::async_trait;
use k8s_openapi::api::core::v1::Pod;
use thiserror::Error;
use witlet_core::image::records::{PullCredential, PulledRecord};

use crate::FilesError;

/// Credentials that a pod names can't be had. The pull is tried with what could be had.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("pull secrets of the pod can't be read: {}", secrets.join(", "))]
pub struct CredentialsError {
    /// Names of the missing ones.
    pub secrets: Vec<String>,
    /// The other credentials for the image, as if nothing were missing.
    pub found: Vec<PullCredential>,
}

/// What this node knows of registries: its own docker configuration, and the pull secrets of pods.
#[async_trait]
pub trait ImageCredentials: Send + Sync {
    /// Credentials to try in this order, the most specific registry first. None are for a registry that wants none.
    async fn for_image(&self, pod: &Pod, image: &str) -> Result<Vec<PullCredential>, CredentialsError>;
}

/// What is kept of pulls: who may use an image that is there already (`image_manager` in the kubelet's root folder). An image
/// or a record that is named twice is the same one.
#[async_trait]
pub trait PullRecords: Send + Sync {
    /// The record of what containers are created from.
    ///
    /// # Errors
    /// If the disk fails, or what is there is no record.
    async fn record(&self, image_ref: &str) -> Result<Option<PulledRecord>, FilesError>;
    /// Keeps this record in the place of the one before.
    ///
    /// # Errors
    /// If the disk fails; then the one before is still there.
    async fn keep(&self, record: &PulledRecord) -> Result<(), FilesError>;
    /// Returns all records that can be read.
    ///
    /// # Errors
    /// If their folder can't be read.
    async fn records(&self) -> Result<Vec<PulledRecord>, FilesError>;
    /// Removes a record; one that isn't there is removed already.
    ///
    /// # Errors
    /// If the disk fails.
    async fn forget(&self, image_ref: &str) -> Result<(), FilesError>;
    /// Notes that a pull of this image begins.
    ///
    /// # Errors
    /// If the disk fails.
    async fn intend(&self, image: &str) -> Result<(), FilesError>;
    /// Whether a pull was begun whose end wasn't recorded.
    ///
    /// # Errors
    /// If the disk fails.
    async fn is_intended(&self, image: &str) -> Result<bool, FilesError>;
    /// The images whose pulls were begun, whose end wasn't recorded.
    ///
    /// # Errors
    /// If their folder can't be read.
    async fn intents(&self) -> Result<Vec<String>, FilesError>;
    /// Removes the note of a pull that was begun.
    ///
    /// # Errors
    /// If the disk fails.
    async fn end_intent(&self, image: &str) -> Result<(), FilesError>;
}
