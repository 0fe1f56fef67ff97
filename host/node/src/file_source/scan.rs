//! One check of the disk: which files there are, and the bytes of those that changed.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use witlet_core::sources::manifest::MANIFEST_BYTES_MAX;

use super::folder::{FileState, Listing};

#[cfg(test)]
mod tests;

/// Files of one folder. A folder with more is reported, and its last set stays.
pub(super) const FILES_MAX: usize = 1000;
/// A file changed less than this ago may still be being written.
pub(super) const SETTLE: Duration = Duration::from_millis(200);

/// What the file system says of a file. Any write changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// Of a file's metadata.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// A time of change in the future is someone's wrong clock, and waiting for it would never end.
    fn is_fresh(&self, now: Timestamp) -> bool {
        let changed = i128::from(self.changed.0) * 1_000_000_000 + i128::from(self.changed.1);
        let age = now.as_nanosecond() - changed;
        (0..i128::try_from(SETTLE.as_nanos()).unwrap_or(i128::MAX)).contains(&age)
    }
}

/// What a check of one entry saw, before it is read.
enum EntryKind {
    File(Stamp),
    NoFile(&'static str),
    Unreadable(io::Error),
}

/// What it is if it is no file, and what that means.
fn no_file(metadata: &Metadata) -> Option<&'static str> {
    let kind = metadata.file_type();
    if kind.is_file() {
        None
    } else if kind.is_dir() {
        Some("is a folder: manifests in subfolders are not read")
    } else if kind.is_fifo() {
        Some("is a pipe, not a file: ignored")
    } else if kind.is_socket() {
        Some("is a socket, not a file: ignored")
    } else {
        Some("is a device, not a file: ignored")
    }
}

/// The path as text. Bytes that are no UTF-8 are written out, so that no two files share a name.
pub(super) fn name_of(path: &Path) -> String {
    let mut name = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        name.push_str(chunk.valid());
        name.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    name
}

/// Remembers the stamps of files.
#[derive(Clone, Debug)]
pub(super) struct Scanner {
    path: PathBuf,
    stamps: BTreeMap<String, Stamp>,
}

/// One check.
pub(super) struct Scan {
    pub(super) listing: Listing,
    /// Whether nothing was being written, as far as can be seen. Otherwise check again soon.
    pub(super) settled: bool,
}

impl Scanner {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, stamps: BTreeMap::new() }
    }

    /// Checks the folder, or the file if the path is one. With `may_wait`, a scan that finds fresh files reads nothing
    /// and says so.
    pub(super) fn scan(&mut self, now: Timestamp, may_wait: bool) -> Scan {
        let settled = |listing| Scan { listing, settled: true };
        let paths = match self.paths() {
            Ok(Some(paths)) => paths,
            Ok(None) => {
                self.stamps.clear();
                return settled(Listing::Missing);
            }
            Err(error) => return settled(Listing::Unreadable(error.to_string())),
        };
        if paths.len() > FILES_MAX {
            let message = format!("must have at most {FILES_MAX} files, found {}", paths.len());
            return settled(Listing::Unreadable(message));
        }
        let mut found = BTreeMap::new();
        for path in paths {
            match fs::metadata(&path) {
                Ok(metadata) => {
                    let seen =
                        no_file(&metadata).map_or(EntryKind::File(Stamp::of(&metadata)), EntryKind::NoFile);
                    found.insert(path, seen);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    // Otherwise it has gone since it was listed.
                    if fs::symlink_metadata(&path).is_ok() {
                        found.insert(path, EntryKind::NoFile("is a dangling symbolic link: ignored"));
                    }
                }
                Err(error) => {
                    found.insert(path, EntryKind::Unreadable(error));
                }
            }
        }
        let is_fresh = |seen: &EntryKind| matches!(seen, EntryKind::File(stamp) if stamp.is_fresh(now));
        if may_wait && found.values().any(is_fresh) {
            return Scan { listing: Listing::Files(BTreeMap::new()), settled: false };
        }
        settled(Listing::Files(self.read(found)))
    }

    /// When each file was changed last (content, mode or name), as of the last check. Not of one that a link leads to, which may have been
    /// led elsewhere.
    pub(super) fn changes(&self) -> BTreeMap<String, Timestamp> {
        let is_itself = |name: &str| fs::canonicalize(name).is_ok_and(|path| name_of(&path) == name);
        let of = |stamp: &Stamp| {
            let nanosecond = i32::try_from(stamp.changed.1).ok()?;
            Timestamp::new(stamp.changed.0, nanosecond).ok()
        };
        let known = self.stamps.iter().filter(|(name, _)| is_itself(name));
        known.filter_map(|(name, stamp)| Some((name.clone(), of(stamp)?))).collect()
    }

    fn read(&mut self, found: BTreeMap<PathBuf, EntryKind>) -> BTreeMap<String, FileState> {
        let known = std::mem::take(&mut self.stamps);
        let mut states = BTreeMap::new();
        for (path, seen) in found {
            let name = name_of(&path);
            let state = match seen {
                EntryKind::File(stamp) if known.get(&name) == Some(&stamp) => {
                    self.stamps.insert(name.clone(), stamp);
                    FileState::Unchanged
                }
                EntryKind::File(stamp) => match read(&path) {
                    Ok(bytes) => {
                        self.stamps.insert(name.clone(), stamp);
                        FileState::Content(bytes)
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => FileState::Unreadable(format!("cannot be read: {error}")),
                },
                EntryKind::Unreadable(error) => FileState::Unreadable(format!("cannot be read: {error}")),
                EntryKind::NoFile(words) => FileState::NoFile(words),
            };
            states.insert(name, state);
        }
        states
    }

    /// The file itself, or the folder's entries without hidden ones (upstream's rule, and Kubernetes' `..data` links).
    fn paths(&self) -> io::Result<Option<Vec<PathBuf>>> {
        let metadata = match fs::metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if !metadata.is_dir() {
            return Ok(Some(vec![self.path.clone()]));
        }
        let mut paths = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if !entry.file_name().to_string_lossy().starts_with('.') {
                paths.push(entry.path());
            }
        }
        Ok(Some(paths))
    }
}

/// One byte more than a manifest may have, so that the manifest's own check sees that there is more.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    // A pipe put there since the check must not hold the agent up.
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file: File = fs::OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    let mut bytes = Vec::new();
    file.take(u64::try_from(MANIFEST_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}
