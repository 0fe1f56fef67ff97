//! Compiled code on disk, checked before it is mapped.
//!
//! Loading code is trusting it: a user who can write a file here runs code in the daemon. So the folder must belong to the
//! daemon's user and be closed to all others, and it is opened once: what its path leads to later doesn't matter. Each
//! file in it must be a file of its own (no link, and no second name elsewhere) with the same owner and mode, and the
//! code must have the digest that was noted under its key when it was compiled (which catches damage and mix-ups, not
//! malice: malice is kept out by the folder). It is mapped from the open file that was checked.

use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags, Timespec, Timestamps, UTIME_NOW};
use sha2::{Digest, Sha256};
use thiserror::Error;
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::engine::EngineKind;

mod signed;

pub use signed::CodeOrigin;

/// Bits that let group or others in.
const MODE_OTHERS: u32 = 0o077;
/// Length of a noted digest, in hexadecimal.
const DIGEST_HEX_BYTES: usize = 64;
/// How many components' code is kept. A node runs a handful; the rest is of earlier releases and of tests.
const ENTRIES_MAX: usize = 128;
/// How many bytes they may take together; the one that was stored last stays, however large.
const CACHE_BYTES_MAX: u64 = 2 << 30;
/// End of the name of a file with code.
const CODE: &str = "cwasm";
/// End of the name of a file with the digest of code.
const DIGEST: &str = "sha256";
/// End of the name of a file with the id of the key that vouches for code which was compiled elsewhere.
const SIGNER: &str = "signer";
/// Beginning of the extension of files that are being written; process and serial number follow.
const UNFINISHED: &str = "new-";
/// Both times of a file set to now.
const USED_NOW: Timestamps = Timestamps {
    last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
    last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
};
/// How the file is read and copied.
const CHUNK_BYTES: usize = 64 << 10;

/// Why the cache can't be used, or an entry in it.
#[derive(Debug, Error)]
pub enum CacheError {
    #[error("failed to {action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// Belongs to another user.
    #[error("{} must belong to user {expected}, found owner {owner}", path.display())]
    Owner {
        path: PathBuf,
        owner: u32,
        /// Whose it should be.
        expected: u32,
    },
    /// Others may read or write it.
    #[error("{} must be accessible by its owner only (chmod go-rwx), found mode {mode:o}", path.display())]
    Mode { path: PathBuf, mode: u32 },
    /// A link, a folder, or a file that has another name elsewhere.
    #[error("{} is {found}, not a file of the cache's own", path.display())]
    NotAFile { path: PathBuf, found: &'static str },
    /// Not what was written.
    #[error("{} is damaged: its digest is not the recorded one", path.display())]
    Damaged { path: PathBuf },
    /// Compiled for another engine or processor.
    #[error("{} doesn't fit this program or processor", path.display())]
    Unfit {
        path: PathBuf,
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An entry that was just written isn't there.
    #[error("{} vanished", path.display())]
    Vanished { path: PathBuf },
}

impl CacheError {
    /// Whether compiling again helps: the folder is trusted, the entry is not.
    pub(super) fn is_repairable(&self) -> bool {
        match self {
            Self::Owner { .. }
            | Self::Mode { .. }
            | Self::NotAFile { .. }
            | Self::Damaged { .. }
            | Self::Unfit { .. } => true,
            Self::Io { .. } | Self::Vanished { .. } => false,
        }
    }
}

/// Which code: the component's digest, the engine, and everything about the compiler that shapes its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key(String);

/// Feeds what wasmtime hashes into SHA-256.
struct Sha256Hasher(Sha256);

impl Hasher for Sha256Hasher {
    fn finish(&self) -> u64 {
        let digest = self.0.clone().finalize();
        digest.iter().take(8).fold(0, |number, byte| (number << 8) | u64::from(*byte))
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}

impl Key {
    pub(super) fn new(engine: &Engine, kind: EngineKind, wasm: &[u8]) -> Self {
        Self::of_digest(engine, kind, &Sha256::digest(wasm).into())
    }

    /// Returns the key of a component with this SHA-256 digest.
    pub(super) fn of_digest(engine: &Engine, kind: EngineKind, digest: &[u8; 32]) -> Self {
        let mut hasher = Sha256Hasher(Sha256::new());
        hasher.0.update(digest);
        hasher.0.update(kind.name().as_bytes());
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Self(hex::encode(hasher.0.finalize()))
    }

    /// Which of `shards` the key belongs to.
    pub(super) fn shard(&self, shards: usize) -> usize {
        self.0.bytes().take(4).fold(0, |sum, byte| sum * 31 + usize::from(byte)) % shards.max(1)
    }
}

/// Everything about an engine that shapes its code.
pub(super) fn compatibility(engine: &Engine) -> [u8; 32] {
    let mut hasher = Sha256Hasher(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.0.finalize().into()
}

/// The folder.
#[derive(Debug)]
pub(super) struct Cache {
    /// For people; files are opened relative to the open folder.
    path: PathBuf,
    folder: OwnedFd,
    owner: u32,
}

impl Cache {
    pub(super) fn open(path: PathBuf) -> Result<Self, CacheError> {
        let error = |action, cause| CacheError::Io { action, path: path.clone(), cause };
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(|cause| error("make the folder", cause))?;
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        let folder = rustix::fs::open(&path, flags, Mode::empty())
            .map_err(|cause| error("open the folder", cause.into()))?;
        let owner = rustix::process::geteuid().as_raw();
        let folder = File::from(folder);
        let metadata = folder.metadata().map_err(|cause| error("check", cause))?;
        check_trust(&path, &metadata, owner)?;
        Ok(Self { path, folder: folder.into(), owner })
    }

    pub(super) fn path(&self, key: &Key) -> PathBuf {
        self.path.join(name(key, CODE))
    }

    /// The component, if it is there and can be trusted.
    #[allow(unsafe_code, reason = "mapping code is what this file is for")]
    pub(super) fn load(&self, engine: &Engine, key: &Key) -> Result<Option<Component>, CacheError> {
        let path = self.path(key);
        let (Some(mut digest_file), Some(mut code)) =
            (self.open_trusted(&name(key, DIGEST))?, self.open_trusted(&name(key, CODE))?)
        else {
            return Ok(None);
        };
        let mut noted = String::new();
        let read = (&mut digest_file).take(DIGEST_HEX_BYTES as u64 + 1).read_to_string(&mut noted);
        let actual = digest(key, &mut code);
        match (read, actual) {
            (Ok(_), Ok(actual)) if noted == actual => {}
            (Ok(_), Ok(_)) => return Err(CacheError::Damaged { path }),
            (Err(cause), _) | (_, Err(cause)) => return Err(CacheError::Io { action: "read", path, cause }),
        }
        // The time of last use, which `prune` goes by; not worth an error.
        let used = rustix::fs::futimens(&code, &USED_NOW);
        tracing::trace!(?used, "Used compiled code from the cache");
        // The same open file that was checked, whatever the name now leads to.
        let checked = format!("/proc/self/fd/{}", code.as_raw_fd());
        // SAFETY: the bytes must be what `precompile_component` made and must not change while they are mapped. The
        // file lies in a folder that only this user (and root) can enter, is closed to all other users and has no name
        // outside of it, is written once by `store` under another name and never opened for writing again, and has the
        // digest that was noted for this key then.
        let loaded = unsafe { Component::deserialize_file(engine, checked) };
        match loaded {
            Ok(component) => Ok(Some(component)),
            Err(cause) => Err(CacheError::Unfit { path, cause: cause.into() }),
        }
    }

    /// Copies code in that was compiled here.
    pub(super) fn store(&self, key: &Key, code: File) -> Result<(), CacheError> {
        if self.is_there(&name(key, SIGNER))? {
            // No one has to vouch for this one, and what the signer vouched for goes first.
            self.remove(key)?;
        }
        self.put(key, code)
    }

    /// Copies the code in and notes its digest. Both files appear whole, the digest last.
    fn put(&self, key: &Key, mut code: File) -> Result<(), CacheError> {
        code.seek(SeekFrom::Start(0)).map_err(|cause| CacheError::Io {
            action: "rewind",
            path: self.path(key),
            cause,
        })?;
        let mut hasher = hasher(key);
        self.write(&name(key, CODE), |file| {
            let mut chunk = vec![0; CHUNK_BYTES];
            loop {
                let length = code.read(&mut chunk)?;
                if length == 0 {
                    return Ok(());
                }
                hasher.update(&chunk[..length]);
                file.write_all(&chunk[..length])?;
            }
        })?;
        let noted = hex::encode(hasher.finalize());
        self.write(&name(key, DIGEST), |file| file.write_all(noted.as_bytes()))?;
        if let Err(error) = self.prune(&name(key, CODE)) {
            // Too many entries are no reason to do without this one.
            tracing::warn!(%error, folder = %self.path.display(), "Failed to clean up the cache of compiled code");
        }
        Ok(())
    }

    /// Removes the entries that were used longest ago when there are too many or they take too many bytes, and what crashes
    /// left unfinished. What is in use stays mapped.
    fn prune(&self, newest: &str) -> io::Result<()> {
        let mut codes = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.folder)? {
            let entry = entry?;
            let Ok(file) = entry.file_name().to_str() else { continue };
            let Some((_, extension)) = file.split_once('.') else { continue };
            if extension == CODE && file != newest {
                let status = rustix::fs::statat(&self.folder, file, AtFlags::SYMLINK_NOFOLLOW)?;
                let bytes = u64::try_from(status.st_size).unwrap_or(0);
                codes.push(((status.st_mtime, status.st_mtime_nsec), bytes, file.to_owned()));
            } else if is_abandoned(extension) {
                self.unlink(file)?;
            }
        }
        codes.sort();
        let surplus = surplus(&codes.iter().map(|(_, bytes, _)| *bytes).collect::<Vec<u64>>());
        for (_, _, code) in &codes[..surplus] {
            self.unlink(&code.replace(CODE, DIGEST))?;
            self.unlink(code)?;
            self.unlink(&code.replace(CODE, SIGNER))?;
        }
        Ok(())
    }

    pub(super) fn remove(&self, key: &Key) -> Result<(), CacheError> {
        for file in [name(key, DIGEST), name(key, CODE), name(key, SIGNER)] {
            self.unlink(&file).map_err(|cause| CacheError::Io {
                action: "remove",
                path: self.path.join(&file),
                cause,
            })?;
        }
        Ok(())
    }

    /// Removes a file, if it is there.
    fn unlink(&self, file: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.folder, file, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(cause) => Err(cause.into()),
        }
    }

    fn write(&self, file: &str, fill: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), CacheError> {
        let error = |action, cause| CacheError::Io { action, path: self.path.join(file), cause };
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let (stem, _) = file.split_once('.').unwrap_or((file, ""));
        let temporary = format!("{stem}.{UNFINISHED}{}-{serial}", std::process::id());
        self.unlink(&temporary).map_err(|cause| error("clear the way for", cause))?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = rustix::fs::openat(&self.folder, &*temporary, flags, Mode::RUSR | Mode::WUSR);
        let mut made = File::from(made.map_err(|cause| error("make a file for", cause.into()))?);
        let written = fill(&mut made).and_then(|()| made.sync_all());
        let written = written.map_err(|cause| error("write", cause)).and_then(|()| {
            rustix::fs::renameat(&self.folder, &*temporary, &self.folder, file)
                .map_err(|cause| error("move into place", cause.into()))
        });
        if written.is_err() {
            // On a full disk a part of a file would only take more bytes.
            let removed = self.unlink(&temporary);
            tracing::debug!(?removed, file = temporary, "Removed an unfinished file from the cache");
        }
        written
    }

    fn open_trusted(&self, file: &str) -> Result<Option<File>, CacheError> {
        let path = self.path.join(file);
        // A pipe in the file's place would be waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = match rustix::fs::openat(self.folder.as_fd(), file, flags, Mode::empty()) {
            Ok(opened) => File::from(opened),
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(rustix::io::Errno::LOOP) => return Err(CacheError::NotAFile { path, found: "a link" }),
            Err(cause) => return Err(CacheError::Io { action: "open", path, cause: cause.into() }),
        };
        let metadata = match opened.metadata() {
            Ok(metadata) => metadata,
            Err(cause) => return Err(CacheError::Io { action: "check", path, cause }),
        };
        if !metadata.is_file() {
            return Err(CacheError::NotAFile { path, found: "no regular file" });
        }
        if metadata.nlink() != 1 {
            return Err(CacheError::NotAFile { path, found: "a file with other names" });
        }
        check_trust(&path, &metadata, self.owner)?;
        Ok(Some(opened))
    }
}

fn name(key: &Key, extension: &str) -> String {
    format!("{}.{extension}", key.0)
}

/// How many of these entries must go next to the newest, which isn't among them: sizes, those used longest ago first.
fn surplus(bytes: &[u64]) -> usize {
    let mut left = CACHE_BYTES_MAX;
    let fit = bytes.iter().rev().take(ENTRIES_MAX - 1).take_while(|bytes| {
        let fits = **bytes <= left;
        left = left.saturating_sub(**bytes);
        fits
    });
    bytes.len() - fit.count()
}

/// Whether this is the extension of a file that another process began and, since it is gone, won't finish.
fn is_abandoned(extension: &str) -> bool {
    let process = extension.strip_prefix(UNFINISHED).and_then(|rest| rest.split_once('-'));
    process.is_some_and(|(process, _)| !Path::new("/proc").join(process).exists())
}

fn check_trust(path: &Path, metadata: &std::fs::Metadata, owner: u32) -> Result<(), CacheError> {
    if metadata.uid() != owner {
        return Err(CacheError::Owner { path: path.to_path_buf(), owner: metadata.uid(), expected: owner });
    }
    let mode = metadata.mode() & 0o7777;
    if mode & MODE_OTHERS != 0 {
        return Err(CacheError::Mode { path: path.to_path_buf(), mode });
    }
    Ok(())
}

/// Code counts only under the key that it was compiled for.
fn hasher(key: &Key) -> Sha256 {
    Sha256::new_with_prefix(key.0.as_bytes())
}

fn digest(key: &Key, file: &mut File) -> io::Result<String> {
    let mut hasher = hasher(key);
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let length = file.read(&mut chunk)?;
        if length == 0 {
            return Ok(hex::encode(hasher.finalize()));
        }
        hasher.update(&chunk[..length]);
    }
}

#[cfg(test)]
mod tests;
