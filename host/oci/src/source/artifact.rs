//! Artifacts that are no components: one file each.

use std::path::Path;

use async_trait::async_trait;
use witlet_ports::{Artifact, ArtifactError, ArtifactFetcher, Target};

use super::Registries;
use crate::digest::digest_of;
use crate::error::{TransferError, TransferItem};
use crate::limits::PULL_TIME_MAX;
use crate::manifest::{Layer, only_layer};
use crate::registry::ContentRequest;

impl Registries {
    async fn pull_artifact(
        &self,
        target: &Target,
        credentials: Option<&Path>,
        known: Option<&str>,
        bytes_max: u64,
    ) -> Result<Artifact, TransferError> {
        let mut session = self.session(target.registry(), target.repository(), credentials).await?;
        let manifest = session.named(target).await?;
        let digest = digest_of(&manifest);
        if known == Some(&*digest) {
            return Ok(Artifact { digest, bytes: None });
        }
        let Layer { digest: layer, size } = only_layer(&manifest, bytes_max)?;
        let request =
            ContentRequest { what: TransferItem::Layer, digest: &layer, size: Some(size), bytes_max };
        let bytes = session.get(&request, &|_bytes| {}).await?;
        Ok(Artifact { digest, bytes: Some(bytes) })
    }
}

#[async_trait]
impl ArtifactFetcher for Registries {
    async fn artifact(
        &self,
        target: &Target,
        credentials: Option<&Path>,
        known: Option<&str>,
        bytes_max: u64,
    ) -> Result<Artifact, ArtifactError> {
        let pull = self.pull_artifact(target, credentials, known, bytes_max);
        let pulled = tokio::time::timeout(PULL_TIME_MAX, pull).await;
        let pulled = pulled.unwrap_or(Err(TransferError::Deadline));
        pulled.map_err(|cause| ArtifactError { target: target.clone(), cause: Box::new(cause) })
    }
}
