//! What a container sees of the node's files.
//!
//! WASI knows folders only. A mounted folder is handed over as it is. Single files (`/etc/hosts`, the termination
//! message) are gathered, by the folder that they appear in, in private folders of the runtime, as hard links: the
//! container and the node see one file, as with a bind mount. Where a file can't be linked, because it lies on another
//! filesystem, it is copied, and what the container wrote is copied back when it ends.

mod place;

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub(crate) use place::{Placed, place};

/// How many mounts a container may have; each is an open folder of this process for each of its instances.
pub(crate) const MOUNTS_MAX: usize = 128;
/// How large a file may be that has to be copied.
pub(crate) const COPY_BYTES_MAX: u64 = 16 << 20;

/// Something of the node that a container sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mount {
    pub(crate) host_path: PathBuf,
    pub(crate) container_path: String,
    /// Whether it may only be read. That holds for whatever is mounted below it, too.
    pub(crate) read_only: bool,
    /// Whether the client insisted on that.
    #[serde(default)]
    pub(crate) recursive_read_only: bool,
}

/// What is at a mount's place on the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Folder,
    File,
}

/// A folder of the node that a program is started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Preopen {
    pub(crate) host_path: PathBuf,
    pub(crate) guest_path: String,
    /// Whether it may only be read.
    pub(crate) read_only: bool,
}

/// A file in a private folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlannedFile {
    /// Its name in the folder.
    pub(crate) name: String,
    /// Where it comes from.
    pub(crate) host_path: PathBuf,
    /// Whether the container may only read it.
    pub(crate) read_only: bool,
}

/// A private folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlannedFolder {
    pub(crate) guest_path: String,
    pub(crate) files: Vec<PlannedFile>,
}

impl PlannedFolder {
    /// Whether nothing in it may be written.
    pub(crate) fn read_only(&self) -> bool {
        self.files.iter().all(|file| file.read_only)
    }
}

/// How a container's mounts come about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Folders that are handed over as they are.
    pub(crate) folders: Vec<Preopen>,
    /// Folders that are made for single files.
    pub(crate) private: Vec<PlannedFolder>,
}

/// Mounts that can't be had.
#[derive(Debug, Error)]
pub(crate) enum MountError {
    /// A path in the container that isn't absolute, or goes upwards.
    #[error("mount path {container_path:?} isn't an absolute path without `..`")]
    Path { container_path: String },
    /// Two mounts of the same place.
    #[error("{container_path} is mounted twice")]
    Twice { container_path: String },
    /// A single file in a mounted folder, which would need a mount in the kernel's sense.
    #[error(
        "file {container_path} can't be mounted into {folder}, which is a mount itself: the embedded runtime has no mounts within mounts for files"
    )]
    FileInFolder { container_path: String, folder: String },
    #[error("failed to mount {}", host_path.display())]
    Source {
        /// The place on the node.
        host_path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// A device, a socket or the like.
    #[error("cannot mount {}: it is neither a folder nor a regular file", host_path.display())]
    Kind {
        /// The place on the node.
        host_path: PathBuf,
    },
    /// A file that can't be linked is too large for a copy.
    #[error("cannot mount {}: it can't be linked and is larger than {COPY_BYTES_MAX} bytes", host_path.display())]
    TooLarge {
        /// The place on the node.
        host_path: PathBuf,
    },
    /// The private folder can't be made.
    #[error("failed to make {}", path.display())]
    Private {
        /// The folder or file.
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

/// A path in a container in the one form that programs see it in: `/data/`, `//data` and `/./data` are `/data`.
pub(crate) fn guest_path(path: &str) -> Result<String, MountError> {
    let malformed = || MountError::Path { container_path: path.to_owned() };
    let mut parts = Path::new(path).components();
    if parts.next() != Some(Component::RootDir) {
        return Err(malformed());
    }
    let mut clean = String::new();
    for part in parts {
        match part {
            Component::Normal(name) => {
                clean.push('/');
                clean.push_str(name.to_str().ok_or_else(malformed)?);
            }
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(malformed()),
        }
    }
    Ok(if clean.is_empty() { "/".to_owned() } else { clean })
}

/// Splits an absolute path into its folder and its name; the root has none.
fn split(path: &str) -> Option<(String, String)> {
    let (folder, name) = path.rsplit_once('/')?;
    let folder = if folder.is_empty() { "/" } else { folder };
    (!name.is_empty()).then(|| (folder.to_owned(), name.to_owned()))
}

/// Decides how mounts come about. `mounts` are in the order in which they were asked for.
pub(crate) fn plan(mounts: &[(Mount, Kind)]) -> Result<Plan, MountError> {
    let mut folders = BTreeMap::new();
    let mut files = BTreeMap::new();
    for (mount, kind) in mounts {
        let path = guest_path(&mount.container_path)?;
        let twice = || MountError::Twice { container_path: mount.container_path.clone() };
        if folders.contains_key(&path) || files.contains_key(&path) {
            return Err(twice());
        }
        match kind {
            Kind::Folder => _ = folders.insert(path, mount),
            Kind::File => _ = files.insert(path, mount),
        }
    }
    let mut private: BTreeMap<String, Vec<PlannedFile>> = BTreeMap::new();
    for (path, mount) in files {
        let (folder, name) = split(&path).ok_or_else(|| MountError::Path { container_path: path.clone() })?;
        if let Some(mounted) = folders.keys().find(|mounted| Path::new(&folder).starts_with(mounted)) {
            return Err(MountError::FileInFolder { container_path: path, folder: mounted.clone() });
        }
        let file = PlannedFile { name, host_path: mount.host_path.clone(), read_only: mount.read_only };
        private.entry(folder).or_default().push(file);
    }
    let preopen = |(guest_path, mount): (String, &Mount)| Preopen {
        host_path: mount.host_path.clone(),
        guest_path,
        read_only: mount.read_only,
    };
    Ok(Plan {
        folders: folders.into_iter().map(preopen).collect(),
        private: private.into_iter().map(|(guest_path, files)| PlannedFolder { guest_path, files }).collect(),
    })
}

#[cfg(test)]
mod tests;
