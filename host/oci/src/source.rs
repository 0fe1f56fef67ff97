//! The port that plugins' components come through.

mod artifact;
mod code;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use thiserror::Error;
use tokio::sync::Semaphore;
use witlet_egress::{Egress, SendLimits};
use witlet_ports::{ArtifactSignatures, ComponentFetcher, ComponentReference, FetchError, Reports};

use crate::challenge::Action;
use crate::credentials::credentials as stored_credentials;
use crate::error::{TransferError, TransferItem};
use crate::limits::{LIMITS, PULL_TIME_MAX};
use crate::manifest::{COMPONENT_BYTES_MAX, Layer, component_layer};
use crate::registry::{ContentRequest, MANIFEST_LIMIT};
use crate::retry;
use crate::session::{Repository, Session};
use crate::set::set_layers;
use crate::set_folder;
use crate::store::{Store, StoreError};

/// Components that are pulled at once, each held in memory.
pub const PULLS_MAX: usize = 2;
/// How far a pull is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    pub reference: &'a ComponentReference,
    /// Bytes of the component that are here.
    pub bytes: u64,
    pub total: u64,
}

/// Receives the progress of pulls after each further megabyte.
pub type ProgressSink = Arc<dyn Fn(Progress<'_>) + Send + Sync>;

/// What the fetcher needs.
pub struct RegistriesConfig {
    /// Folder for manifests and components, made if it isn't there.
    pub folder: PathBuf,
    pub egress: Egress,
    /// The node's own credentials, a docker configuration that need not be there.
    pub credentials: Option<PathBuf>,
    /// Receives the progress of pulls.
    pub progress: ProgressSink,
}

/// Why there is no fetcher.
#[derive(Debug, Error)]
pub enum RegistryError {
    /// The folder can't be used.
    #[error("failed to open the folder of components from registries")]
    Store(#[from] StoreError),
}

/// Components from registries.
pub struct Registries {
    store: Store,
    egress: Egress,
    limits: SendLimits,
    wait: retry::Wait,
    credentials: Option<PathBuf>,
    progress: ProgressSink,
    pulls: Semaphore,
}

impl Registries {
    /// Opens the folder. Blocks for a moment.
    ///
    /// # Errors
    /// The folder can't be made or opened.
    pub fn open(config: RegistriesConfig) -> Result<Self, RegistryError> {
        let RegistriesConfig { folder, egress, credentials, progress } = config;
        let store = Store::open(&folder)?;
        let pulls = Semaphore::new(PULLS_MAX);
        Ok(Self { store, egress, limits: LIMITS, wait: retry::wait, credentials, progress, pulls })
    }

    /// The same with other deadlines for the parts of an exchange.
    pub fn with_limits(self, limits: SendLimits) -> Self {
        Self { limits, ..self }
    }

    async fn pull(
        &self,
        reference: &ComponentReference,
        credentials: Option<&Path>,
    ) -> Result<Vec<u8>, TransferError> {
        if let Some(known) = self.stored(reference).await? {
            return Ok(known);
        }
        // It is never closed. Without its permit a pull would only take more memory.
        let _permit = self.pulls.acquire().await;
        // Another task may have pulled it meanwhile.
        if let Some(known) = self.stored(reference).await? {
            return Ok(known);
        }
        let mut session = self.session(reference.registry(), reference.repository(), credentials).await?;
        let digest = reference.digest();
        let manifest = session.manifest(digest).await?;
        let Layer { digest: layer, size } = component_layer(&manifest)?;
        let request = ContentRequest {
            what: TransferItem::Component,
            digest: &layer,
            size: Some(size),
            bytes_max: COMPONENT_BYTES_MAX,
        };
        let report = |bytes| (self.progress)(Progress { reference, bytes, total: size });
        let component = session.get(&request, &report).await?;
        self.keep(digest, manifest).await;
        Ok(self.keep(&layer, component).await)
    }

    /// Returns what is in the folder; none if it isn't all there.
    async fn stored(&self, reference: &ComponentReference) -> Result<Option<Vec<u8>>, TransferError> {
        let store = self.store.clone();
        let digest = reference.digest().to_owned();
        let found = tokio::task::spawn_blocking(move || {
            let Some(manifest) = store.read(&digest, MANIFEST_LIMIT) else { return Ok(None) };
            let layer = component_layer(&manifest)?;
            Ok(store.read(&layer.digest, COMPONENT_BYTES_MAX))
        });
        // Only a runtime that ends cancels it; then no one waits for the answer.
        found.await.unwrap_or(Ok(None))
    }

    /// Keeps bytes for the next time. One that can't be kept is pulled again.
    async fn keep(&self, digest: &str, bytes: Vec<u8>) -> Vec<u8> {
        let (store, digest) = (self.store.clone(), digest.to_owned());
        let kept = tokio::task::spawn_blocking(move || {
            if let Err(error) = store.write(&digest, &bytes) {
                let error = witlet_core::error::one_line(&error);
                tracing::warn!(digest, error, "Failed to store component");
            }
            bytes
        });
        kept.await.unwrap_or_default()
    }

    async fn session<'a>(
        &'a self,
        registry: &'a str,
        repository: &'a str,
        named: Option<&Path>,
    ) -> Result<Session<'a>, TransferError> {
        let name = format!("{registry}/{repository}");
        let credentials = match (named, &self.credentials) {
            (Some(path), _) => stored_credentials(path, true, name).await?,
            (None, Some(path)) => stored_credentials(path, false, name).await?,
            (None, None) => Vec::new(),
        };
        let place = Repository { registry, repository, plain_http: false };
        Ok(Session::new(&self.egress, (self.limits, self.wait), place, Action::Pull, credentials))
    }

    async fn newest_reports(
        &self,
        reference: &ComponentReference,
        credentials: Option<&Path>,
    ) -> Result<Vec<Vec<u8>>, TransferError> {
        // It is never closed.
        let _permit = self.pulls.acquire().await;
        let session = self.session(reference.registry(), reference.repository(), credentials);
        let reports = session.await?.reports(reference.digest()).await?;
        let (store, digest) = (self.store.clone(), reference.digest().to_owned());
        let kept = tokio::task::spawn_blocking(move || {
            if let Err(error) = store.write_reports(&digest, &reports) {
                let error = witlet_core::error::one_line(&error);
                tracing::warn!(digest, error, "Failed to store conformance reports");
            }
            reports
        });
        Ok(kept.await.unwrap_or_default())
    }

    /// Brings a set of plugins into a folder, which must be there. What an earlier pull of the same set left in it isn't asked for again;
    /// what is in it after a failure is good for the next pull alone.
    ///
    /// # Errors
    ///
    /// When the registry can't be asked, has something else, or takes too long; when a file can't be written.
    pub async fn fetch_set(
        &self,
        reference: &ComponentReference,
        credentials: Option<&Path>,
        into: &Path,
    ) -> Result<(), FetchError> {
        let fetched = tokio::time::timeout(PULL_TIME_MAX, self.pull_set(reference, credentials, into)).await;
        let fetched = fetched.unwrap_or(Err(TransferError::Deadline));
        fetched.map_err(|cause| FetchError { reference: reference.clone(), cause: Box::new(cause) })
    }

    async fn pull_set(
        &self,
        reference: &ComponentReference,
        credentials: Option<&Path>,
        into: &Path,
    ) -> Result<(), TransferError> {
        // It is never closed.
        let _permit = self.pulls.acquire().await;
        let mut session = self.session(reference.registry(), reference.repository(), credentials).await?;
        let manifest = session.manifest(reference.digest()).await?;
        for layer in set_layers(&manifest)? {
            let known = {
                let (into, layer) = (into.to_owned(), layer.clone());
                move || set_folder::has_file(&into, &layer)
            };
            if tokio::task::spawn_blocking(known).await.unwrap_or(false) {
                continue;
            }
            let request = ContentRequest {
                what: TransferItem::SetFile,
                digest: &layer.layer.digest,
                size: Some(layer.layer.size),
                bytes_max: COMPONENT_BYTES_MAX,
            };
            let bytes = session.get(&request, &|_bytes| {}).await?;
            write(into, move |into| set_folder::write_file(into, &layer, &bytes)).await?;
        }
        write(into, move |into| set_folder::write_manifest(into, &manifest)).await
    }

    async fn newest_signatures(
        &self,
        reference: &ComponentReference,
        credentials: Option<&Path>,
    ) -> Result<ArtifactSignatures, TransferError> {
        // It is never closed.
        let _permit = self.pulls.acquire().await;
        let mut session = self.session(reference.registry(), reference.repository(), credentials).await?;
        let manifest = session.manifest(reference.digest()).await?;
        let signatures = session.signatures(reference.digest()).await?;
        let (store, digest) = (self.store.clone(), reference.digest().to_owned());
        let kept = tokio::task::spawn_blocking(move || {
            let kept =
                store.write(&digest, &manifest).and_then(|()| store.write_signatures(&digest, &signatures));
            if let Err(error) = kept {
                let error = witlet_core::error::one_line(&error);
                tracing::warn!(digest, error, "Failed to store signatures");
            }
            ArtifactSignatures { manifest, signatures }
        });
        Ok(kept.await.unwrap_or_default())
    }

    async fn kept_signatures(&self, reference: &ComponentReference) -> ArtifactSignatures {
        let (store, digest) = (self.store.clone(), reference.digest().to_owned());
        let read = move || ArtifactSignatures {
            manifest: store.read(&digest, MANIFEST_LIMIT).unwrap_or_default(),
            signatures: store.read_signatures(&digest),
        };
        tokio::task::spawn_blocking(read).await.unwrap_or_default()
    }

    async fn kept_reports(&self, reference: &ComponentReference) -> Vec<Vec<u8>> {
        let (store, digest) = (self.store.clone(), reference.digest().to_owned());
        tokio::task::spawn_blocking(move || store.read_reports(&digest)).await.unwrap_or_default()
    }
}

/// Writes a part of a set into its folder.
async fn write(
    into: &Path,
    write: impl FnOnce(&Path) -> io::Result<()> + Send + 'static,
) -> Result<(), TransferError> {
    let path = into.to_owned();
    let written = tokio::task::spawn_blocking(move || write(&path)).await;
    let written = written.unwrap_or_else(|_cancelled| Err(io::ErrorKind::Interrupted.into()));
    written.map_err(|cause| TransferError::Write { path: into.to_owned(), cause })
}

#[async_trait]
impl ComponentFetcher for Registries {
    async fn fetch(
        &self,
        reference: &ComponentReference,
        credentials: Option<&Path>,
    ) -> Result<Arc<[u8]>, FetchError> {
        let pulled = match tokio::time::timeout(PULL_TIME_MAX, self.pull(reference, credentials)).await {
            Ok(pulled) => pulled,
            Err(_elapsed) => Err(TransferError::Deadline),
        };
        match pulled {
            Ok(bytes) => Ok(bytes.into()),
            Err(cause) => Err(FetchError { reference: reference.clone(), cause: Box::new(cause) }),
        }
    }

    async fn reports(
        &self,
        reference: &ComponentReference,
        credentials: Option<&Path>,
        which: Reports,
    ) -> Result<Vec<Vec<u8>>, FetchError> {
        let newest = match which {
            Reports::Kept => return Ok(self.kept_reports(reference).await),
            Reports::Newest => {
                tokio::time::timeout(PULL_TIME_MAX, self.newest_reports(reference, credentials))
            }
        };
        let reports = newest.await.unwrap_or(Err(TransferError::Deadline));
        reports.map_err(|cause| FetchError { reference: reference.clone(), cause: Box::new(cause) })
    }

    async fn signatures(
        &self,
        reference: &ComponentReference,
        credentials: Option<&Path>,
        which: Reports,
    ) -> Result<ArtifactSignatures, FetchError> {
        let newest = match which {
            Reports::Kept => return Ok(self.kept_signatures(reference).await),
            Reports::Newest => {
                tokio::time::timeout(PULL_TIME_MAX, self.newest_signatures(reference, credentials))
            }
        };
        let found = newest.await.unwrap_or(Err(TransferError::Deadline));
        found.map_err(|cause| FetchError { reference: reference.clone(), cause: Box::new(cause) })
    }
}

#[cfg(test)]
mod tests;
