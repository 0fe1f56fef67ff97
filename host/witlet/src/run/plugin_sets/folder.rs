//! The folder of sets: a folder for each set, by its digest, and [`CURRENT`], which names the one that serves. What is in it is bounded:
//! the set that serves, the one before, and one that is tried.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use witlet_core::error::one_line;
use witlet_oci::{
    CodeOfSet, SetFolderError, StoreError, code_of_set, own_folder, set_plugin_file, verify_set,
};
use witlet_ports::whole_file::{remove_file, replace_file, sync_folder};

use crate::bounded;

#[cfg(test)]
mod tests;

/// The file that names the set that serves. It is written last, so that it never names one that isn't whole.
const CURRENT: &str = "current.json";
/// End of the name of a folder that isn't whole yet.
const UNFINISHED: &str = "part";
/// How much of [`CURRENT`] is read.
const CURRENT_BYTES_MAX: u64 = 16 << 10;

/// The set that serves, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KeptSet {
    pub(super) reference: String,
    /// Id of the key that it is signed with.
    pub(super) signed_by: String,
}

impl KeptSet {
    /// The digest that its reference ends with.
    pub(super) fn digest(&self) -> &str {
        self.reference.rsplit_once('@').map_or("", |(_, digest)| digest)
    }
}

/// The folder of sets. Blocks: not for threads that others wait for.
#[derive(Clone, Debug)]
pub(super) struct SetFolder(PathBuf);

impl SetFolder {
    /// Makes the folder, which only its owner can enter, or takes the one that is there.
    ///
    /// # Errors
    /// When it can't be made, or other users can write into it.
    pub(super) fn open(folder: PathBuf) -> Result<Self, StoreError> {
        own_folder(&folder)?;
        Ok(Self(folder))
    }

    /// The set that served last; whether it is still there is [`Self::is_whole`]'s.
    pub(super) fn kept(&self) -> Option<KeptSet> {
        let text = bounded::read(&self.0.join(CURRENT), CURRENT_BYTES_MAX).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Whether the set with this digest is there, byte for byte.
    pub(super) fn is_whole(&self, digest: &str) -> bool {
        let folder = self.of(digest);
        match verify_set(&folder, digest) {
            Ok(()) => true,
            Err(error) => {
                if folder.exists() {
                    tracing::warn!(digest, error = one_line(&error), "Plugin set is damaged");
                }
                false
            }
        }
    }

    /// The plugin file of the set with this digest.
    pub(super) fn plugin_file(&self, digest: &str) -> PathBuf {
        set_plugin_file(&self.of(digest))
    }

    /// The compiled code that this set brings.
    pub(super) fn code(&self, digest: &str) -> Result<CodeOfSet, SetFolderError> {
        code_of_set(&self.of(digest), digest)
    }

    fn of(&self, digest: &str) -> PathBuf {
        self.0.join(digest.strip_prefix("sha256:").unwrap_or(digest))
    }

    fn unfinished(&self, digest: &str) -> PathBuf {
        self.of(digest).with_extension(UNFINISHED)
    }

    /// The folder in which this set is brought, until [`Self::finish`], with what an earlier try left in it.
    pub(super) fn begin(&self, digest: &str) -> io::Result<PathBuf> {
        let folder = self.unfinished(digest);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        Ok(folder)
    }

    /// The set in the folder of [`Self::begin`] is whole.
    pub(super) fn finish(&self, digest: &str) -> io::Result<()> {
        let folder = self.of(digest);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::rename(self.unfinished(digest), &folder)?;
        sync_folder(&self.0)
    }

    /// What was brought of this set goes: a full disk must not stay full of halves.
    pub(super) fn abandon(&self, digest: &str) {
        remove(&self.unfinished(digest));
    }

    /// Keeps this set: it serves from now on, after a restart, too.
    pub(super) fn keep(&self, kept: &KeptSet) -> io::Result<()> {
        let path = self.0.join(CURRENT);
        replace_file(&path, &path.with_extension("unfinished"), &serde_json::to_vec(kept)?, 0o600)
    }

    /// Removes all sets but these. One that can't be removed is tried again with the next change.
    pub(super) fn prune(&self, used: &[String]) {
        let used: Vec<PathBuf> =
            used.iter().flat_map(|digest| [self.of(digest), self.unfinished(digest)]).collect();
        let Ok(entries) = fs::read_dir(&self.0) else { return };
        let folders = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
        folders.filter(|path| !used.contains(path)).for_each(|path| remove(&path));
    }

    /// No set serves any more.
    pub(super) fn forget(&self) -> io::Result<()> {
        remove_file(&self.0.join(CURRENT))
    }
}

/// Does what blocks where it holds up nothing else.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|_cancelled| Err(io::ErrorKind::Interrupted.into()))
}

fn remove(folder: &Path) {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(path = %folder.display(), %error, "Failed to remove plugin set");
        }
        Ok(()) | Err(_) => {}
    }
}
