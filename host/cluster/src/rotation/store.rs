//! Certificates on disk, as the kubelet lays them out: `kubelet-client-<time>.pem`, and `kubelet-client-current.pem` that
//! points to the one in use.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rcgen::KeyPair;
use thiserror::Error;
use witlet_ports::whole_file::{remove_file, replace_file, sync_folder};

use crate::client::identity::{Identity, IdentityError};
use crate::kubeconfig::{KubeconfigError, read_file};

#[cfg(test)]
mod tests;

/// The certificate in use.
const CURRENT: &str = "kubelet-client-current.pem";
/// The link before it becomes the one in use.
const UPDATED: &str = "kubelet-client-updated.pem";
/// The key of a request that isn't answered yet.
const KEY_TMP: &str = "kubelet-client.key.tmp";

/// Certificates can't be kept on disk.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A file can't be written.
    #[error("{}: {cause}", path.display())]
    Write { path: PathBuf, cause: io::Error },
    /// A file can't be read.
    #[error(transparent)]
    Read(#[from] KubeconfigError),
    /// A file holds no certificate and key.
    #[error("{}: {cause}", path.display())]
    Identity { path: PathBuf, cause: IdentityError },
    /// No key can be made.
    #[error("client key: {message}")]
    Key { message: String },
}

/// The folder of `--cert-dir`.
#[derive(Clone, Debug)]
pub(crate) struct CertificateStore {
    folder: PathBuf,
}

impl CertificateStore {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Where the certificate in use is, and its key with it.
    pub(crate) fn current_path(&self) -> PathBuf {
        self.folder.join(CURRENT)
    }

    /// The certificate in use; none if there is no file.
    pub(crate) fn current(&self) -> Result<Option<Identity>, StoreError> {
        let path = self.current_path();
        let bytes = match read_file(&path) {
            Ok(bytes) => bytes,
            Err(KubeconfigError::Read { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let identity = Identity::parse(&bytes, &bytes);
        identity.map(Some).map_err(|cause| StoreError::Identity { path, cause })
    }

    /// Makes this the certificate in use. A kill at any moment leaves the one before or this one, whole.
    pub(crate) fn update(&self, chain: &[u8], key: &[u8], now: Timestamp) -> Result<Identity, StoreError> {
        let path = self.folder.join(format!("kubelet-client-{}.pem", now.strftime("%Y-%m-%d-%H-%M-%S")));
        let identity = Identity::parse(chain, key)
            .map_err(|cause| StoreError::Identity { path: path.clone(), cause })?;
        self.make_folder()?;
        let separator: &[u8] = if chain.ends_with(b"\n") { b"" } else { b"\n" };
        write_whole(&path, &[chain, separator, key].concat())?;
        let updated = self.folder.join(UPDATED);
        let failed = |cause| StoreError::Write { path: updated.clone(), cause };
        remove_file(&updated).map_err(failed)?;
        symlink(&path, &updated).map_err(failed)?;
        fs::rename(&updated, self.current_path()).map_err(failed)?;
        sync_folder(&self.folder).map_err(failed)?;
        Ok(identity)
    }

    /// The key of a request that was begun, or a new one that is kept until [`Self::forget_key`].
    pub(crate) fn begun_key(&self) -> Result<KeyPair, StoreError> {
        let path = self.folder.join(KEY_TMP);
        if let Ok(bytes) = read_file(&path)
            && let Ok(text) = String::from_utf8(bytes)
            && let Ok(key) = KeyPair::from_pem(&text)
        {
            return Ok(key);
        }
        let key = new_key()?;
        self.make_folder()?;
        write_whole(&path, key.serialize_pem().as_bytes())?;
        Ok(key)
    }

    /// The request was answered, or can't be.
    pub(crate) fn forget_key(&self) -> Result<(), StoreError> {
        let path = self.folder.join(KEY_TMP);
        remove_file(&path).map_err(|cause| StoreError::Write { path, cause })
    }

    fn make_folder(&self) -> Result<(), StoreError> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o755).create(&self.folder);
        made.map_err(|cause| StoreError::Write { path: self.folder.clone(), cause })
    }
}

/// A key as the kubelet makes it: ECDSA on P-256.
pub(crate) fn new_key() -> Result<KeyPair, StoreError> {
    KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)
        .map_err(|error| StoreError::Key { message: error.to_string() })
}

/// Writes a file that only its owner reads: the whole of it, or nothing.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(".new");
    let draft = PathBuf::from(draft);
    let written = replace_file(path, &draft, bytes, 0o600);
    written.map_err(|cause| StoreError::Write { path: path.to_owned(), cause })
}
