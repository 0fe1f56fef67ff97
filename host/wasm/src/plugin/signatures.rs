//! Whether a component from a registry may be loaded: cosign's signature of its manifest, where the configuration demands one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;
use witlet_core::error::one_line;
use witlet_ports::{ArtifactSignatures, ComponentFetcher, ComponentReference, FetchError, Reports};

use super::Origin;
use super::config::RequiredSignature;
use super::key_file::{self, KeyFileError};
use crate::attestation::cosign::{
    ArtifactKey, SignatureFault, SignaturesError, SignedArtifact, verify_artifact,
};

/// Why an artifact is kept out. Each says the way out.
#[derive(Debug, Error)]
pub enum SignatureError {
    /// A key's file doesn't count.
    #[error(transparent)]
    Key(#[from] KeyFileError),
    /// The registry doesn't say which signatures there are.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// None that is there counts.
    #[error(
        "{reference} isn't signed with {keys} (sign it with `cosign sign --key KEY` or `witlet plugin sign {reference} --key KEY`)"
    )]
    Signatures {
        reference: Box<ComponentReference>,
        /// The files of the keys that count, for people.
        keys: String,
        #[source]
        cause: Box<SignaturesError>,
    },
    /// There is no one who asks registries.
    #[error("this program pulls nothing from registries")]
    NoFetcher,
    #[error("looking for signatures ended early")]
    Interrupted,
}

/// The keys that must have signed what comes from a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SignatureDemand {
    keys: Vec<PathBuf>,
}

/// Who signed an artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The file with the key.
    pub key: PathBuf,
    /// Its id: the SHA-256 of the public key, in hexadecimal.
    pub key_id: String,
}

impl SignatureDemand {
    /// For a component that comes from `origin`: none if that is no registry.
    pub(crate) fn new(required: &RequiredSignature, origin: &Origin, folder: &Path) -> Option<Arc<Self>> {
        match origin {
            Origin::Registry { .. } => {
                let keys = required.keys.iter().map(|key| folder.join(key)).collect();
                Some(Arc::new(Self { keys }))
            }
            Origin::Embedded(_) | Origin::Shipped { .. } | Origin::File(_) | Origin::LastGood { .. } => None,
        }
    }

    /// Files whose end or change takes back what was taken for good.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Path> {
        self.keys.iter().map(PathBuf::as_path)
    }

    /// Ids of the keys that count now; none while the program ends.
    pub(crate) async fn counting(&self) -> Option<Vec<String>> {
        let keys = self.keys.clone();
        let read = move || {
            let (keys, _broken) = key_file::read_all(&keys, ArtifactKey::from_pem);
            keys.iter().map(|(_, key)| key.id()).collect()
        };
        tokio::task::spawn_blocking(read).await.ok()
    }

    /// Looks for a signature of the artifact that one of the keys made.
    pub(crate) async fn check(
        &self,
        reference: &ComponentReference,
        credentials: Option<&Path>,
        fetcher: Option<&Arc<dyn ComponentFetcher>>,
    ) -> Result<Signed, SignatureError> {
        let fetcher = fetcher.ok_or(SignatureError::NoFetcher)?;
        // What was good once is good without the registry, so that a restart doesn't need it.
        let kept = fetcher.signatures(reference, credentials, Reports::Kept).await?;
        if let Ok(signed) = self.judge(reference, kept).await {
            return Ok(signed);
        }
        let newest = fetcher.signatures(reference, credentials, Reports::Newest).await?;
        self.judge(reference, newest).await
    }

    async fn judge(
        &self,
        reference: &ComponentReference,
        found: ArtifactSignatures,
    ) -> Result<Signed, SignatureError> {
        let (demand, reference) = (self.clone(), reference.clone());
        let judge = move || demand.choose(reference, &found);
        tokio::task::spawn_blocking(judge).await.unwrap_or(Err(SignatureError::Interrupted))
    }

    /// The first signature that counts. Reads the keys; blocks as long as the disk does.
    fn choose(
        &self,
        reference: ComponentReference,
        found: &ArtifactSignatures,
    ) -> Result<Signed, SignatureError> {
        let (read, broken) = key_file::read_all(&self.keys, ArtifactKey::from_pem);
        let (paths, keys): (Vec<PathBuf>, Vec<ArtifactKey>) = read.into_iter().unzip();
        let artifact = SignedArtifact { digest: reference.digest(), manifest: &found.manifest };
        match (verify_artifact(artifact, &found.signatures, &keys), broken) {
            (Ok(accepted), _) => {
                Ok(Signed { key: paths[accepted.key_index].clone(), key_id: accepted.key_id })
            }
            // It may be that key's.
            (
                Err(SignaturesError::NoneCounts { nearest: SignatureFault::OtherKey { .. }, .. }),
                Some(broken),
            ) => Err(broken.into()),
            (Err(cause), _) => {
                let keys: Vec<String> = self.keys().map(|key| key.display().to_string()).collect();
                Err(SignatureError::Signatures {
                    reference: Box::new(reference),
                    keys: keys.join(" or "),
                    cause: Box::new(cause),
                })
            }
        }
    }
}

/// Who of these keys has signed an artifact in a registry: the file and the id of the key. Relative files are those of the working
/// folder.
///
/// # Errors
///
/// When none has, or the registry can't be asked.
pub async fn verify_signature(
    keys: &[PathBuf],
    reference: &ComponentReference,
    credentials: Option<&Path>,
    fetcher: &Arc<dyn ComponentFetcher>,
) -> Result<Signed, SignatureError> {
    let demand = SignatureDemand { keys: keys.to_vec() };
    demand.check(reference, credentials, Some(fetcher)).await
}

/// Ids of the keys in these files that count now.
pub async fn counting_keys(keys: &[PathBuf]) -> Vec<String> {
    SignatureDemand { keys: keys.to_vec() }.counting().await.unwrap_or_default()
}

impl SignatureError {
    /// Returns the message with its causes.
    pub fn sentence(&self) -> String {
        one_line(self)
    }
}

#[cfg(test)]
mod tests;
