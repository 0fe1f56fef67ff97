//! A folder of manifests and components by their digests.
//!
//! What is read is checked against its name again, so that a folder that was tampered with, or a disk that forgets, costs
//! a pull and nothing else.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{OFlags, Timespec, Timestamps, UTIME_NOW};
use thiserror::Error;
use witlet_ports::ArtifactSignature;
use witlet_ports::whole_file::replace_file;

use crate::digest::digest_of;
use crate::referrers::{REPORT_BYTES_MAX, REPORTS_MAX};
use crate::signatures::{self, SIGNATURE_BYTES_MAX, SIGNATURES_MAX};

/// How many bytes all components together may take; those that no one asked for longest go first.
pub const STORE_BYTES_MAX: u64 = 1 << 30;
/// How many files there may be.
pub const STORE_FILES_MAX: usize = 512;

/// How large all reports on one component may be together, as they are kept.
const REPORTS_BYTES_MAX: u64 = 2 * (REPORTS_MAX * REPORT_BYTES_MAX) as u64;
/// End of the name of the reports on a component.
const REPORTS: &str = "-reports";
/// How large all signatures of an artifact may be together, as they are kept.
const SIGNATURES_KEPT_BYTES_MAX: u64 = 4 * (SIGNATURES_MAX * SIGNATURE_BYTES_MAX) as u64;
/// End of the name of the signatures of an artifact.
const SIGNATURES: &str = "-signatures";
/// End of the name of a file that isn't whole yet.
const UNFINISHED: &str = ".part";
/// The times of a file that was just used.
const USED_NOW: Timestamps = Timestamps {
    last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
    last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
};

/// Why the folder can't be used.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The file system said no.
    #[error("{action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// Another user could put components there.
    #[error("{} must be a folder that only this user can write: remove it, or set another --root-dir", path.display())]
    Unsafe { path: PathBuf },
}

/// Opens a regular file, and no link to one.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a file"));
    }
    Ok(file)
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |cause| StoreError::Io { action, path, cause }
}

/// Makes a folder of this program's own, which only its owner can enter, or takes the one that is there. Blocks for a moment.
///
/// # Errors
///
/// When it can't be made, or other users can write into it.
pub fn own_folder(folder: &Path) -> Result<(), StoreError> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed("make", folder))?;
    let metadata = std::fs::symlink_metadata(folder).map_err(failed("check", folder))?;
    let ours = metadata.uid() == rustix::process::geteuid().as_raw();
    if !metadata.is_dir() || !ours || metadata.mode() & 0o022 != 0 {
        return Err(StoreError::Unsafe { path: folder.to_owned() });
    }
    Ok(())
}

/// The folder. Blocks: not for threads that others wait for.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    bytes_max: u64,
    files_max: usize,
}

impl Store {
    /// Makes the folder, which only its owner can enter, or takes the one that is there.
    ///
    /// # Errors
    /// The folder can't be made, or another user could write to it.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        Self::bounded(folder, STORE_BYTES_MAX, STORE_FILES_MAX)
    }

    fn bounded(folder: &Path, bytes_max: u64, files_max: usize) -> Result<Self, StoreError> {
        own_folder(folder)?;
        Ok(Self { folder: folder.to_owned(), bytes_max, files_max })
    }

    /// Returns what has this digest (`sha256:…`); none if no one has put it here, or it isn't what it was, which removes it.
    pub fn read(&self, digest: &str, bytes_max: u64) -> Option<Vec<u8>> {
        let path = self.path(digest)?;
        let found = self.read_checked(&path, digest, bytes_max);
        if let Err(error) = &found
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %path.display(), %error, "Stored component is unusable, pulling it again");
            // Whatever is in the way is replaced by the next pull, which fails if it can't be.
            let _ = std::fs::remove_file(&path);
        }
        found.ok()
    }

    fn read_checked(&self, path: &Path, digest: &str, bytes_max: u64) -> io::Result<Vec<u8>> {
        let bytes = self.read_file(path, bytes_max)?;
        if digest_of(&bytes) != digest {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "content does not match its digest"));
        }
        Ok(bytes)
    }

    fn read_file(&self, path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
        let file = open_file(path)?;
        let mut bytes = Vec::new();
        (&file).take(bytes_max + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > bytes_max {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "too large"));
        }
        // So that what is used stays longest. Where it can't be noted, it is pulled again some day.
        let _ = rustix::fs::futimens(&file, &USED_NOW);
        Ok(bytes)
    }

    /// Puts bytes under their digest, and removes what was used longest ago if not all fit.
    ///
    /// # Errors
    /// The disk fails.
    pub fn write(&self, digest: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let Some(path) = self.path(digest) else { return Ok(()) };
        self.write_file(&path, bytes)
    }

    /// The reports that were put next to what has this digest. Their signatures are what vouches for them.
    pub fn read_reports(&self, digest: &str) -> Vec<Vec<u8>> {
        let Some(path) = self.path_of(digest, REPORTS) else { return Vec::new() };
        let Ok(bytes) = self.read_file(&path, REPORTS_BYTES_MAX) else { return Vec::new() };
        let reports: Vec<String> = serde_json::from_slice(&bytes).unwrap_or_default();
        reports.into_iter().map(String::into_bytes).collect()
    }

    /// Puts reports in place of those that were next to what has this digest. One that isn't text isn't kept: it is no report.
    ///
    /// # Errors
    /// The disk fails.
    pub fn write_reports(&self, digest: &str, reports: &[Vec<u8>]) -> Result<(), StoreError> {
        let Some(path) = self.path_of(digest, REPORTS) else { return Ok(()) };
        let texts: Vec<&str> = reports.iter().filter_map(|report| std::str::from_utf8(report).ok()).collect();
        let bytes = serde_json::to_vec(&texts).expect("a list of texts has a JSON form");
        self.write_file(&path, &bytes)
    }

    /// The signatures that were put next to what has this digest. They vouch for themselves.
    pub fn read_signatures(&self, digest: &str) -> Vec<ArtifactSignature> {
        let Some(path) = self.path_of(digest, SIGNATURES) else { return Vec::new() };
        self.read_file(&path, SIGNATURES_KEPT_BYTES_MAX)
            .map_or_else(|_error| Vec::new(), |bytes| signatures::from_kept(&bytes))
    }

    /// Puts signatures in place of those that were next to what has this digest.
    ///
    /// # Errors
    /// The disk fails.
    pub fn write_signatures(&self, digest: &str, signatures: &[ArtifactSignature]) -> Result<(), StoreError> {
        let Some(path) = self.path_of(digest, SIGNATURES) else { return Ok(()) };
        self.write_file(&path, &signatures::to_kept(signatures))
    }

    fn write_file(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        self.free_capacity(bytes.len() as u64)?;
        let unfinished = path.with_extension(&UNFINISHED[1..]);
        replace_file(path, &unfinished, bytes, 0o600).map_err(failed("write", path))
    }

    /// Returns `None` for a text that is no digest, and so never a file's name.
    fn path(&self, digest: &str) -> Option<PathBuf> {
        let digits = digest.strip_prefix("sha256:").filter(|_| crate::manifest::is_sha256(digest))?;
        Some(self.folder.join(digits))
    }

    fn path_of(&self, digest: &str, end: &str) -> Option<PathBuf> {
        let mut name = self.path(digest)?.into_os_string();
        name.push(end);
        Some(name.into())
    }

    fn free_capacity(&self, bytes: u64) -> Result<(), StoreError> {
        let mut files: Vec<(SystemTime, PathBuf, u64)> = Vec::new();
        for found in std::fs::read_dir(&self.folder).map_err(failed("list", &self.folder))? {
            let found = found.map_err(failed("list", &self.folder))?;
            let path = found.path();
            let Ok(metadata) = found.metadata() else { continue };
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            // Halves that a crash left count as the oldest; another pull's own half is made after this.
            let half = path.to_string_lossy().ends_with(UNFINISHED);
            files.push((if half { SystemTime::UNIX_EPOCH } else { used }, path, metadata.len()));
        }
        files.sort();
        let mut total = files.iter().map(|(_, _, size)| size).sum::<u64>() + bytes;
        let mut count = files.len() + 1;
        for (_, path, size) in files {
            if total <= self.bytes_max && count <= self.files_max {
                break;
            }
            std::fs::remove_file(&path).map_err(failed("remove", &path))?;
            total -= size;
            count -= 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
