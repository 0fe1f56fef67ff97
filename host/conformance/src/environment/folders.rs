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

/// Where a filesystem is that lists files in another order when they are made in another order, if the machine has it.
pub(crate) const ORDERED: &str = "/dev/shm";

/// In which order the files of folders in [`ORDERED`] are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    Straight,
    Turned,
}

/// Temporary folders by what the guest finds them as. They go with the value.
#[derive(Debug)]
pub(crate) struct Folders {
    root: TempDir,
    folders: BTreeMap<String, PathBuf>,
    made: Option<Made>,
}

impl Folders {
    /// Makes an empty folder for each of these paths of a guest's.
    pub(crate) fn new(guest_paths: impl IntoIterator<Item = String>, made: Option<Made>) -> io::Result<Self> {
        let root = if made.is_some() { tempfile::tempdir_in(ORDERED)? } else { tempfile::tempdir()? };
        let mut folders = BTreeMap::new();
        for (index, guest_path) in guest_paths.into_iter().enumerate() {
            let path = root.path().join(index.to_string());
            std::fs::create_dir(&path)?;
            folders.insert(guest_path, path);
        }
        Ok(Self { root, folders, made })
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

    pub(crate) fn guest_paths(&self) -> impl Iterator<Item = &str> {
        self.folders.keys().map(String::as_str)
    }

    /// Makes this be all that is in a folder. A path that the guest doesn't have is an error.
    pub(crate) fn fill(&self, guest_path: &str, content: &FolderContent) -> io::Result<()> {
        let path = self.path(guest_path).ok_or(io::ErrorKind::NotFound)?;
        std::fs::remove_dir_all(path)?;
        std::fs::create_dir(path)?;
        if self.made != Some(Made::Turned) {
            return write(path, content);
        }
        let turned = content.iter().rev();
        turned
            .into_iter()
            .try_for_each(|(name, content)| write(path, &[(name.clone(), content.clone())].into()))
    }

    /// The names of all files as their filesystem lists them.
    pub(crate) fn listed(&self) -> io::Result<String> {
        let mut names = Vec::new();
        for path in self.folders.values() {
            for entry in std::fs::read_dir(path)? {
                names.push(entry?.file_name().to_string_lossy().into_owned());
            }
        }
        Ok(names.join(", "))
    }

    pub(crate) fn remove(&self, guest_path: &str) -> io::Result<()> {
        let path = self.path(guest_path).ok_or(io::ErrorKind::NotFound)?;
        std::fs::remove_dir_all(path)
    }
}

/// Adds files, links and folders to a folder.
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
