//! Credentials for registries: the node's docker configuration, and the pull secrets of pods where someone has them.

use std::collections::BTreeSet;
use std::fs::{Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::{Pod, Secret};
use rustix::fs::OFlags;
use thiserror::Error;
use tokio::sync::Mutex;
use witlet_core::error::one_line;
use witlet_core::image::docker_config::{DockerConfig, DockerConfigError};
use witlet_core::image::keyring::Keyring;
use witlet_core::image::records::{PullCredential, PullSecret};
use witlet_ports::{ClusterObjects, CredentialsError, FilesError, ImageCredentials};

use crate::{blocking, failed};

#[cfg(test)]
mod tests;

/// Bytes of a docker configuration. One that is larger gives no credentials.
pub const DOCKER_CONFIG_BYTES_MAX: u64 = 1024 * 1024;

/// A pull secret can't be had.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct PullSecretError {
    /// One sentence, without anything secret.
    pub message: String,
}

/// Where pull secrets of pods come from: the API server, on nodes that have one.
#[async_trait]
pub trait PullSecrets: Send + Sync {
    /// The secret of this name in the pod's namespace.
    async fn get(&self, namespace: &str, name: &str) -> Result<Secret, PullSecretError>;
}

/// Pull secrets from what pods draw from the cluster: those that they name are watched there anyway.
pub struct ClusterSecrets(Arc<dyn ClusterObjects>);

impl ClusterSecrets {
    /// The secrets of these objects.
    pub fn new(objects: Arc<dyn ClusterObjects>) -> Self {
        Self(objects)
    }
}

#[async_trait]
impl PullSecrets for ClusterSecrets {
    async fn get(&self, namespace: &str, name: &str) -> Result<Secret, PullSecretError> {
        match self.0.secret(namespace, name).await {
            Ok(Some(secret)) => Ok(Arc::unwrap_or_clone(secret)),
            Ok(None) => Err(PullSecretError { message: format!("secret {name:?} not found") }),
            Err(error) => Err(PullSecretError { message: error.to_string() }),
        }
    }
}

/// The credentials that this node has. Its docker configuration (`config.json`) is read again whenever the file was
/// changed; while the new one can't be read, which is logged, the last one that could counts.
pub struct NodeCredentials {
    config: Option<PathBuf>,
    secrets: Option<Arc<dyn PullSecrets>>,
    last: Mutex<LastRead>,
}

/// The node's configuration as it was read last.
#[derive(Default)]
struct LastRead {
    /// Of the file that was read, or couldn't be.
    version: Option<FileVersion>,
    config: DockerConfig,
}

/// Tells a file from what was there before, however it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileVersion {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl FileVersion {
    fn of(metadata: &Metadata) -> Self {
        // The time of the change of the inode, which no one can set back.
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        Self { inode: metadata.ino(), bytes: metadata.len(), changed }
    }
}

/// A configuration that can't be used.
#[derive(Debug, Error)]
enum ConfigError {
    #[error(transparent)]
    Files(#[from] FilesError),
    #[error("failed to read {}", path.display())]
    Malformed {
        path: PathBuf,
        #[source]
        cause: DockerConfigError,
    },
}

impl NodeCredentials {
    /// `config` is the node's docker configuration, which need not be there. Without a source of `secrets`, every pull
    /// secret that a pod names is missing.
    pub fn new(config: Option<PathBuf>, secrets: Option<Arc<dyn PullSecrets>>) -> Self {
        Self { config, secrets, last: Mutex::default() }
    }

    /// What the node's configuration has for the image.
    async fn of_node(&self, image: &str) -> Vec<PullCredential> {
        let Some(path) = &self.config else { return Vec::new() };
        let mut last = self.last.lock().await;
        match read_if_changed(path, last.version).await {
            Ok(None) => {}
            Ok(Some((version, text))) => {
                last.version = version;
                match parse(path, text.as_deref()) {
                    Ok(config) => last.config = config,
                    Err(error) => {
                        tracing::error!(
                            error = one_line(&error),
                            "Failed to reload registry credentials, using the last ones"
                        );
                    }
                }
            }
            Err(error) => {
                tracing::error!(
                    error = one_line(&error),
                    "Failed to reload registry credentials, using the last ones"
                );
            }
        }
        Keyring::new([(&last.config, None)]).lookup(image)
    }

    /// What the pod's secrets have for the image, and the names of those that can't be had.
    async fn of_secrets(&self, pod: &Pod, image: &str) -> (Vec<PullCredential>, Vec<String>) {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or("default");
        let named = pod.spec.iter().flat_map(|spec| spec.image_pull_secrets.iter().flatten());
        let (mut configs, mut missing, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
        for name in named.map(|secret| secret.name.as_str()).filter(|name| !name.is_empty()) {
            if !seen.insert(name) {
                continue;
            }
            match self.secret(namespace, name).await {
                Ok(config) => configs.extend(config),
                Err(error) => {
                    tracing::warn!(
                        secret = %format_args!("{namespace}/{name}"),
                        error = one_line(&error),
                        "Unable to retrieve pull secret"
                    );
                    missing.push(name.to_owned());
                }
            }
        }
        let configs = configs.iter().map(|(config, secret)| (config, Some(secret)));
        (Keyring::new(configs).lookup(image), missing)
    }

    /// Returns `None` for a secret of another kind, which upstream passes over.
    async fn secret(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<(DockerConfig, PullSecret)>, PullSecretError> {
        let Some(secrets) = &self.secrets else {
            return Err(PullSecretError { message: "this node has no source of secrets".to_owned() });
        };
        let secret = secrets.get(namespace, name).await?;
        let place = PullSecret {
            uid: secret.metadata.uid.unwrap_or_default(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            credential_hash: String::new(),
        };
        let data = secret.data.unwrap_or_default().into_iter().map(|(key, value)| (key, value.0)).collect();
        let config = DockerConfig::parse_secret(secret.type_.as_deref().unwrap_or_default(), &data)
            .map_err(|error| PullSecretError { message: error.to_string() })?;
        Ok(config.map(|config| (config, place)))
    }
}

#[async_trait]
impl ImageCredentials for NodeCredentials {
    /// Returns those of the pod's secrets come before the node's (upstream: `MakeDockerKeyring`).
    async fn for_image(&self, pod: &Pod, image: &str) -> Result<Vec<PullCredential>, CredentialsError> {
        let (mut found, missing) = self.of_secrets(pod, image).await;
        for credential in self.of_node(image).await {
            if !found.iter().any(|known| known.auth == credential.auth) {
                found.push(credential);
            }
        }
        if missing.is_empty() { Ok(found) } else { Err(CredentialsError { secrets: missing, found }) }
    }
}

/// What is at a file's place now: its version and content, or neither.
type ReadFile = (Option<FileVersion>, Option<Vec<u8>>);

/// Returns `None` if the file is still the one that was read.
async fn read_if_changed(path: &Path, last: Option<FileVersion>) -> Result<Option<ReadFile>, FilesError> {
    let file = path.to_owned();
    blocking("read", path, move || read(&file, last).map_err(failed("read", &file))).await
}

fn read(path: &Path, last: Option<FileVersion>) -> io::Result<Option<ReadFile>> {
    // A pipe in its place must not hold all pulls up.
    let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(nonblocking).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(last.map(|_| (None, None)));
        }
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    let version = FileVersion::of(&metadata);
    if last == Some(version) {
        return Ok(None);
    }
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file"));
    }
    let mut text = Vec::new();
    file.take(DOCKER_CONFIG_BYTES_MAX + 1).read_to_end(&mut text)?;
    Ok(Some((Some(version), Some(text))))
}

/// No file has no credentials.
fn parse(path: &Path, text: Option<&[u8]>) -> Result<DockerConfig, ConfigError> {
    let Some(text) = text else { return Ok(DockerConfig::default()) };
    if u64::try_from(text.len()).is_ok_and(|bytes| bytes > DOCKER_CONFIG_BYTES_MAX) {
        let cause = io::Error::new(io::ErrorKind::FileTooLarge, "must have at most 1 MiB");
        return Err(failed("read", path)(cause).into());
    }
    DockerConfig::parse_json(text).map_err(|cause| ConfigError::Malformed { path: path.to_owned(), cause })
}
