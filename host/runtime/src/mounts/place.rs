//! Carries a plan of mounts out: makes the private folders, links or copies files into them, and copies back.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::removal::remove_folder;

use super::{COPY_BYTES_MAX, Kind, Mount, MountError, Plan, PlannedFile, PlannedFolder, Preopen, plan};

/// Access to a private folder.
const FOLDER_MODE: u32 = 0o700;

/// A container's mounts in place. Its private folders are removed with it.
#[derive(Debug)]
pub(crate) struct Placed {
    /// What its programs are started with.
    pub(crate) preopens: Vec<Preopen>,
    private: PathBuf,
    copies: Vec<Copied>,
}

/// A copy that the container may have written to.
#[derive(Debug)]
struct Copied {
    copy: PathBuf,
    host_path: PathBuf,
}

impl Placed {
    /// Copies back what the container wrote to copies. What can't be, is reported and lost.
    pub(crate) fn write_back(&self) {
        for Copied { copy, host_path } in &self.copies {
            if let Err(error) = write_back(copy, host_path) {
                tracing::warn!(path = %host_path.display(), %error, "Failed to copy back a file of a container");
            }
        }
    }

    /// Bytes and files in the private folders, which the container may fill like any other container its own layer.
    /// Counting stops at a number of files that no honest container has.
    pub(crate) fn usage(&self) -> (u64, u64) {
        let mut usage = Usage::default();
        for entry in self.preopens.iter().filter(|preopen| preopen.host_path.starts_with(&self.private)) {
            usage.add(&entry.host_path, USAGE_DEPTH_MAX);
        }
        (usage.bytes, usage.files)
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        match remove_folder(&self.private) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(path = %self.private.display(), %error, "Failed to remove private folder of container");
            }
            Ok(()) | Err(_) => {}
        }
    }
}

/// How deep folders are inspected for their size.
const USAGE_DEPTH_MAX: u32 = 16;
/// How many files are counted.
const USAGE_FILES_MAX: u64 = 10_000;

#[derive(Default)]
struct Usage {
    bytes: u64,
    files: u64,
}

impl Usage {
    fn add(&mut self, folder: &Path, depth: u32) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if self.files >= USAGE_FILES_MAX {
                return;
            }
            let Ok(metadata) = entry.metadata() else { continue };
            self.files += 1;
            if metadata.is_dir() && depth > 0 {
                self.add(&entry.path(), depth - 1);
            } else {
                self.bytes += metadata.len();
            }
        }
    }
}

fn source(host_path: &Path, cause: io::Error) -> MountError {
    MountError::Source { host_path: host_path.to_owned(), cause }
}

/// Checks what is mounted, following links on the node, as other runtimes do.
fn inspect(mount: &Mount) -> Result<(Mount, Kind), MountError> {
    let host_path = fs::canonicalize(&mount.host_path).map_err(|cause| source(&mount.host_path, cause))?;
    let metadata = fs::metadata(&host_path).map_err(|cause| source(&mount.host_path, cause))?;
    let kind = match () {
        () if metadata.is_dir() => Kind::Folder,
        () if metadata.is_file() => Kind::File,
        () => return Err(MountError::Kind { host_path }),
    };
    Ok((Mount { host_path, ..mount.clone() }, kind))
}

/// Puts mounts in place, with private folders under `private`, which isn't there yet.
pub(crate) fn place(mounts: &[Mount], private: PathBuf) -> Result<Placed, MountError> {
    place_with(mounts, private, |original, link| fs::hard_link(original, link))
}

fn place_with(
    mounts: &[Mount],
    private: PathBuf,
    link: impl Fn(&Path, &Path) -> io::Result<()>,
) -> Result<Placed, MountError> {
    let inspected = mounts.iter().map(inspect).collect::<Result<Vec<_>, _>>()?;
    let Plan { folders, private: planned } = plan(&inspected)?;
    // Removes what it has made when something fails.
    let mut placed = Placed { preopens: folders, private, copies: Vec::new() };
    for (index, folder) in planned.iter().enumerate() {
        let path = placed.private.join(index.to_string());
        let made = DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(&path);
        made.map_err(|cause| MountError::Private { path: path.clone(), cause })?;
        for file in &folder.files {
            if let Some(copied) = put(folder, file, &path, &link)? {
                placed.copies.push(copied);
            }
        }
        placed.preopens.push(Preopen {
            host_path: path,
            guest_path: folder.guest_path.clone(),
            read_only: folder.read_only(),
        });
    }
    Ok(placed)
}

/// Puts one file into its private folder, and says so if it must be copied back.
fn put(
    folder: &PlannedFolder,
    file: &PlannedFile,
    path: &Path,
    link: impl Fn(&Path, &Path) -> io::Result<()>,
) -> Result<Option<Copied>, MountError> {
    let target = path.join(&file.name);
    // In a folder that may be written to, what may only be read must not be the node's own file.
    let may_link = !file.read_only || folder.read_only();
    if may_link && link(&file.host_path, &target).is_ok() {
        return Ok(None);
    }
    copy(&file.host_path, &target)?;
    let copied = Copied { copy: target, host_path: file.host_path.clone() };
    Ok((!file.read_only).then_some(copied))
}

fn copy(host_path: &Path, target: &Path) -> Result<(), MountError> {
    let failed = |cause| MountError::Private { path: target.to_owned(), cause };
    let original = File::open(host_path).map_err(|cause| source(host_path, cause))?;
    let mut copy = OpenOptions::new().write(true).create_new(true).open(target).map_err(failed)?;
    let copied = io::copy(&mut original.take(COPY_BYTES_MAX + 1), &mut copy).map_err(failed)?;
    if copied > COPY_BYTES_MAX {
        return Err(MountError::TooLarge { host_path: host_path.to_owned() });
    }
    Ok(())
}

/// The container may have put anything in the copy's place: only a regular file counts, and no more of it than fits.
fn write_back(copy: &Path, host_path: &Path) -> io::Result<()> {
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default();
    let written = match OpenOptions::new().read(true).custom_flags(flags).open(copy) {
        Ok(written) => written,
        // It was removed: on the node the file stays as it was.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !written.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file any more"));
    }
    let mut bytes = Vec::new();
    written.take(COPY_BYTES_MAX).read_to_end(&mut bytes)?;
    let mut original = OpenOptions::new().write(true).truncate(true).custom_flags(flags).open(host_path)?;
    original.write_all(&bytes)
}

#[cfg(test)]
mod tests;
