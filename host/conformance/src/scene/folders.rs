//! Folders of the machine that a pod source is granted.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tempfile::TempDir;
use witlet_wasm::plugin::config::FileGrant;

use super::bytes::bytes;

/// What stands under a name of a folder: bytes of a file, `{link: TARGET}`, or `{folder: {…}}`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Content {
    /// A link to somewhere, or a folder.
    Special(SpecialContent),
    /// A file.
    File(#[serde(deserialize_with = "bytes")] Vec<u8>),
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SpecialContent {
    Link(String),
    Folder(FolderContent),
}

/// What is in a folder, by names; those of files may have folders in them.
pub(crate) type FolderContent = BTreeMap<String, Content>;

/// Temporary folders by what the guest finds them as. They go with the value.
#[derive(Debug)]
pub(crate) struct Folders {
    root: TempDir,
    /// By guest path.
    folders: BTreeMap<String, PathBuf>,
}

impl Folders {
    /// Makes an empty folder for each of these paths of a guest's.
    pub(crate) fn new(guest_paths: impl IntoIterator<Item = String>) -> io::Result<Self> {
        let root = tempfile::tempdir()?;
        let mut folders = BTreeMap::new();
        for (index, guest_path) in guest_paths.into_iter().enumerate() {
            let path = root.path().join(index.to_string());
            std::fs::create_dir(&path)?;
            folders.insert(guest_path, path);
        }
        Ok(Self { root, folders })
    }

    /// Grants of all of them, for reading.
    pub(crate) fn grants(&self) -> Vec<FileGrant> {
        let grant = |(guest_path, path): (&String, &PathBuf)| FileGrant {
            path: path.clone(),
            read_only: true,
            guest_path: guest_path.clone(),
        };
        self.folders.iter().map(grant).collect()
    }

    /// A folder for what the grant `state` needs.
    pub(crate) fn state(&self) -> PathBuf {
        self.root.path().join("state")
    }

    /// Where a folder of the guest's is on the machine.
    pub(crate) fn path(&self, guest_path: &str) -> Option<&Path> {
        self.folders.get(guest_path).map(PathBuf::as_path)
    }

    /// Paths of the guest's.
    pub(crate) fn guest_paths(&self) -> impl Iterator<Item = &str> {
        self.folders.keys().map(String::as_str)
    }

    /// Makes this be all that is in a folder. A path that the guest doesn't have is an error.
    pub(crate) fn fill(&self, guest_path: &str, content: &FolderContent) -> io::Result<()> {
        let path = self.path(guest_path).ok_or(io::ErrorKind::NotFound)?;
        std::fs::remove_dir_all(path)?;
        std::fs::create_dir(path)?;
        write(path, content)
    }

    /// Takes a folder away.
    pub(crate) fn remove(&self, guest_path: &str) -> io::Result<()> {
        let path = self.path(guest_path).ok_or(io::ErrorKind::NotFound)?;
        std::fs::remove_dir_all(path)
    }
}

/// Puts files, links and folders beside what is in a folder.
pub(crate) fn write(folder: &Path, content: &FolderContent) -> io::Result<()> {
    for (name, content) in content {
        let path = folder.join(name);
        match content {
            Content::File(bytes) => {
                if let Some(parent) = path.parent() {
                    std::fs::create_dir_all(parent)?;
                }
                std::fs::write(path, bytes)?;
            }
            Content::Special(SpecialContent::Link(target)) => std::os::unix::fs::symlink(target, path)?,
            Content::Special(SpecialContent::Folder(inner)) => {
                std::fs::create_dir_all(&path)?;
                write(&path, inner)?;
            }
        }
    }
    Ok(())
}
