//! The port that plugins' components come through.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use thiserror::Error;
use tokio::sync::Semaphore;
use witlet_core::image::docker_config::DockerConfig;
use witlet_core::image::keyring::Keyring;
use witlet_core::runtime::ImageAuth;
use witlet_egress::{Egress, SendLimits};
use witlet_ports::{ComponentFetcher, ComponentReference, FetchError};

use crate::error::{PullError, What};
use crate::manifest::{COMPONENT_BYTES_MAX, Layer, component_layer};
use crate::registry::{MANIFEST_LIMIT, Pull, Wanted};
use crate::store::{Store, StoreError};

/// From the first request to the last byte, waits for the registry among them.
pub const PULL_TIME_MAX: Duration = Duration::from_secs(600);
/// Components that are pulled at once, each held in memory.
pub const PULLS_MAX: usize = 2;
/// How long a registry may take to accept, to begin its answer, and between two parts of it.
pub const LIMITS: SendLimits = SendLimits {
    connect: Duration::from_secs(15),
    first_byte: Duration::from_secs(30),
    between_bytes: Duration::from_secs(30),
};
/// How large a file with credentials may be.
const CREDENTIALS_BYTES_MAX: u64 = 1 << 20;

/// How far a pull is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// What is pulled.
    pub reference: &'a ComponentReference,
    /// Bytes of the component that are here.
    pub bytes: u64,
    /// All its bytes.
    pub total: u64,
}

/// Hears how far long pulls are: after each further megabyte.
pub type ProgressSink = Arc<dyn Fn(Progress<'_>) + Send + Sync>;

/// What the fetcher needs.
pub struct RegistriesConfig {
    /// Folder for manifests and components, made if it isn't there.
    pub folder: PathBuf,
    /// The way out.
    pub egress: Egress,
    /// The node's own credentials, a docker configuration that need not be there.
    pub credentials: Option<PathBuf>,
    /// Hears of long pulls.
    pub progress: ProgressSink,
}

/// Why there is no fetcher.
#[derive(Debug, Error)]
pub enum RegistryError {
    /// The folder can't be used.
    #[error("open the folder of components from registries")]
    Store(#[from] StoreError),
}

/// Components from registries.
pub struct Registries {
    store: Store,
    egress: Egress,
    limits: SendLimits,
    credentials: Option<PathBuf>,
    progress: ProgressSink,
    pulls: Semaphore,
}

impl Registries {
    /// Opens the folder. Blocks for a moment.
    pub fn open(config: RegistriesConfig) -> Result<Self, RegistryError> {
        let RegistriesConfig { folder, egress, credentials, progress } = config;
        let store = Store::open(&folder)?;
        let pulls = Semaphore::new(PULLS_MAX);
        Ok(Self { store, egress, limits: LIMITS, credentials, progress, pulls })
    }

    /// The same with other deadlines for the parts of an exchange.
    pub fn with_limits(self, limits: SendLimits) -> Self {
        Self { limits, ..self }
    }

    async fn pull(
        &self,
        reference: &ComponentReference,
        credentials: Option<&Path>,
    ) -> Result<Vec<u8>, PullError> {
        if let Some(known) = self.stored(reference).await? {
            return Ok(known);
        }
        // It is never closed. Without its permit a pull would only take more memory.
        let _permit = self.pulls.acquire().await;
        // Somebody else may have pulled it meanwhile.
        if let Some(known) = self.stored(reference).await? {
            return Ok(known);
        }
        let credentials = self.credentials(reference, credentials).await?;
        let mut pull = Pull::new(&self.egress, self.limits, reference, credentials);
        let digest = reference.digest();
        let wanted = Wanted { what: What::Manifest, digest, size: None, bytes_max: MANIFEST_LIMIT };
        let manifest = pull.get(&wanted, &|_bytes| {}).await?;
        let Layer { digest: layer, size } = component_layer(&manifest)?;
        let wanted = Wanted {
            what: What::Component,
            digest: &layer,
            size: Some(size),
            bytes_max: COMPONENT_BYTES_MAX,
        };
        let tell = |bytes| (self.progress)(Progress { reference, bytes, total: size });
        let component = pull.get(&wanted, &tell).await?;
        self.keep(digest, manifest).await;
        Ok(self.keep(&layer, component).await)
    }

    /// What is in the folder; none if it isn't all there.
    async fn stored(&self, reference: &ComponentReference) -> Result<Option<Vec<u8>>, PullError> {
        let store = self.store.clone();
        let digest = reference.digest().to_owned();
        let found = tokio::task::spawn_blocking(move || {
            let Some(manifest) = store.read(&digest, MANIFEST_LIMIT) else { return Ok(None) };
            let layer = component_layer(&manifest)?;
            Ok(store.read(&layer.digest, COMPONENT_BYTES_MAX))
        });
        // Only a runtime that ends cancels it; then nobody waits for the answer.
        found.await.unwrap_or(Ok(None))
    }

    /// Keeps bytes for the next time. One that can't be kept is pulled again.
    async fn keep(&self, digest: &str, bytes: Vec<u8>) -> Vec<u8> {
        let (store, digest) = (self.store.clone(), digest.to_owned());
        let kept = tokio::task::spawn_blocking(move || {
            if let Err(error) = store.write(&digest, &bytes) {
                let error = witlet_core::error::one_line(&error);
                tracing::warn!(digest, error, "a component isn't kept");
            }
            bytes
        });
        kept.await.unwrap_or_default()
    }

    async fn credentials(
        &self,
        reference: &ComponentReference,
        named: Option<&Path>,
    ) -> Result<Vec<ImageAuth>, PullError> {
        let (path, must_exist) = match (named, &self.credentials) {
            (Some(path), _) => (path.to_owned(), true),
            (None, Some(path)) => (path.clone(), false),
            (None, None) => return Ok(Vec::new()),
        };
        let name = reference.name();
        let read = tokio::task::spawn_blocking(move || {
            let text = match read_bounded(&path) {
                Ok(text) => text,
                Err(error) if !must_exist && error.kind() == std::io::ErrorKind::NotFound => {
                    return Ok(Vec::new());
                }
                Err(cause) => return Err(PullError::CredentialsFile { path, cause }),
            };
            let config =
                DockerConfig::parse_json(&text).map_err(|cause| PullError::Credentials { path, cause })?;
            Ok(Keyring::new([&config]).lookup(&name))
        });
        read.await.unwrap_or_else(|_cancelled| Ok(Vec::new()))
    }
}

fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = std::fs::OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    let mut text = Vec::new();
    file.take(CREDENTIALS_BYTES_MAX + 1).read_to_end(&mut text)?;
    if text.len() as u64 > CREDENTIALS_BYTES_MAX {
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, "it is larger than 1 MiB"));
    }
    Ok(text)
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
            Err(_elapsed) => Err(PullError::Deadline),
        };
        match pulled {
            Ok(bytes) => Ok(bytes.into()),
            Err(cause) => Err(FetchError { reference: reference.clone(), cause: Box::new(cause) }),
        }
    }
}

#[cfg(test)]
mod tests;
