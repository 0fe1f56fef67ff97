//! What the runtime must remember after it is killed: small files, one per thing, replaced as a whole.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use witlet_ports::whole_file::{Durability, remove_file, replace_file_with};

use crate::removal::remove_folder;

/// Access to a folder of the runtime's state: the owner's alone.
const FOLDER_MODE: u32 = 0o700;
/// Access to a file of the runtime's state.
const FILE_MODE: u32 = 0o600;
/// A file of state is never larger; a container's record holds its environment and labels.
const RECORD_BYTES_MAX: u64 = 32 << 20;
/// The end of the name of a file that is being written.
const UNFINISHED: &str = ".unfinished";

/// The state can't be kept or read.
#[derive(Debug, Error)]
#[error("{action} {}", path.display())]
pub struct StateError {
    action: &'static str,
    path: PathBuf,
    #[source]
    cause: io::Error,
}

/// One folder of state.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes the folder if it isn't there, and clears away what was being written when an earlier process ended.
    pub(crate) fn open(path: PathBuf) -> Result<Self, StateError> {
        let made = DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(&path);
        made.map_err(|cause| StateError { action: "make folder", path: path.clone(), cause })?;
        let folder = Self { path };
        for name in folder.all_names()? {
            if name.ends_with(UNFINISHED) {
                folder.remove(&name)?;
            }
        }
        Ok(folder)
    }

    /// Where it is.
    pub(crate) fn folder(&self) -> &Path {
        &self.path
    }

    /// The path of a file in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn error(&self, action: &'static str, name: &str, cause: io::Error) -> StateError {
        StateError { action, path: self.path(name), cause }
    }

    /// Whether the file is there.
    pub(crate) fn contains(&self, name: &str) -> Result<bool, StateError> {
        self.path(name).try_exists().map_err(|cause| self.error("look for", name, cause))
    }

    /// Writes a file as a whole: a reader sees the old one or the new one, whenever this process is killed or the
    /// machine loses its power.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), StateError> {
        let unfinished = self.path(&format!("{name}{UNFINISHED}"));
        // That the old one comes back is no loss: what the state is about ended with the machine.
        replace_file_with(&self.path(name), &unfinished, bytes, FILE_MODE, Durability::Whole)
            .map_err(|cause| self.error("write", name, cause))
    }

    /// Writes a record.
    pub(crate) fn store<T: Serialize>(&self, name: &str, record: &T) -> Result<(), StateError> {
        let bytes = serde_json::to_vec(record).map_err(|cause| self.error("encode", name, cause.into()))?;
        self.write(name, &bytes)
    }

    /// Removes everything in the folder, folders among it.
    pub(crate) fn clear(&self) -> Result<(), StateError> {
        for name in self.all_names()? {
            let path = self.path(&name);
            let is_folder = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
            let removed = if is_folder { remove_folder(&path) } else { fs::remove_file(&path) };
            removed.map_err(|cause| self.error("remove", &name, cause))?;
        }
        Ok(())
    }

    /// Removes a file. One that isn't there is removed.
    pub(crate) fn remove(&self, name: &str) -> Result<(), StateError> {
        remove_file(&self.path(name)).map_err(|cause| self.error("remove", name, cause))
    }

    fn all_names(&self) -> Result<Vec<String>, StateError> {
        let list = || {
            fs::read_dir(&self.path)?
                .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
                .collect::<io::Result<Vec<String>>>()
        };
        list().map_err(|cause| StateError { action: "list", path: self.path.clone(), cause })
    }

    /// The names of the files that are finished.
    pub(crate) fn names(&self) -> Result<Vec<String>, StateError> {
        Ok(self.all_names()?.into_iter().filter(|name| !name.ends_with(UNFINISHED)).collect())
    }

    /// Every record with the name of its file. One that can't be read is reported and removed: what it was about is gone
    /// with the process that ran it.
    pub(crate) fn load_all<T: DeserializeOwned>(&self) -> Result<Vec<(String, T)>, StateError> {
        let mut records = Vec::new();
        for name in self.names()? {
            let read = || {
                let mut bytes = Vec::new();
                File::open(self.path(&name))?.take(RECORD_BYTES_MAX).read_to_end(&mut bytes)?;
                Ok::<_, io::Error>(serde_json::from_slice(&bytes)?)
            };
            match read() {
                Ok(record) => records.push((name, record)),
                Err(error) => {
                    tracing::warn!(path = %self.path(&name).display(), %error, "Removed damaged record");
                    self.remove(&name)?;
                }
            }
        }
        Ok(records)
    }
}

#[cfg(test)]
mod tests;
