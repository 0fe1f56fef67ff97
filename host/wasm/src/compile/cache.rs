//! Compiled code on disk, checked before it is mapped.
//!
//! Loading code is trusting it: whoever can write a file here runs code in the daemon. So the folder and each file
//! must belong to the daemon's user and be closed to all others, and the code must have the digest that was noted
//! when it was compiled (which catches damage, not malice: malice is kept out by the folder).

use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Timespec, Timestamps, UTIME_NOW};
use sha2::{Digest, Sha256};
use thiserror::Error;
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::engine::EngineKind;

/// Bits that let group or others in.
const MODE_OTHERS: u32 = 0o077;
/// Length of a noted digest, in hexadecimal.
const DIGEST_HEX_BYTES: usize = 64;
/// How many components' code is kept. A node runs a handful; the rest is of earlier releases and of tests.
const ENTRIES_MAX: usize = 128;
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
    /// The system refused.
    #[error("{action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: io::Error,
    },
    /// Belongs to another user.
    #[error("{} belongs to user {owner}, not to user {expected}: compiled code from others isn't run", path.display())]
    Owner {
        /// Where.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Whose it should be.
        expected: u32,
    },
    /// Others may read or write it.
    #[error("{} has mode {mode:o}, which lets others in", path.display())]
    Mode {
        /// Where.
        path: PathBuf,
        /// Permission bits.
        mode: u32,
    },
    /// Not what was written.
    #[error("{} is damaged: its digest isn't the one noted beside it", path.display())]
    Damaged {
        /// Where.
        path: PathBuf,
    },
    /// Compiled for another engine or processor.
    #[error("{} doesn't fit this program or processor", path.display())]
    Unfit {
        /// Where.
        path: PathBuf,
        /// The engine's words.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An entry that was just written isn't there.
    #[error("{} vanished", path.display())]
    Vanished {
        /// Where.
        path: PathBuf,
    },
}

impl CacheError {
    /// Whether compiling again helps: the folder is trusted, the entry is not.
    pub(super) fn is_repairable(&self) -> bool {
        match self {
            Self::Owner { .. } | Self::Mode { .. } | Self::Damaged { .. } | Self::Unfit { .. } => true,
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

    /// Of a component with this SHA-256 digest.
    pub(super) fn of_digest(engine: &Engine, kind: EngineKind, digest: &[u8; 32]) -> Self {
        let mut hasher = Sha256Hasher(Sha256::new());
        hasher.0.update(digest);
        hasher.0.update(kind.name().as_bytes());
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Self(hex(&hasher.0.finalize()))
    }

    /// Which of `shards` the key belongs to.
    pub(super) fn shard(&self, shards: usize) -> usize {
        self.0.bytes().take(4).fold(0, |sum, byte| sum * 31 + usize::from(byte)) % shards.max(1)
    }
}

/// In lower case.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String takes all that is written");
        text
    })
}

/// The folder.
#[derive(Debug)]
pub(super) struct Cache {
    folder: PathBuf,
    owner: u32,
}

impl Cache {
    pub(super) fn open(folder: PathBuf) -> Result<Self, CacheError> {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(|cause| CacheError::Io { action: "make the folder", path: folder.clone(), cause })?;
        let owner = rustix::process::geteuid().as_raw();
        let metadata = std::fs::symlink_metadata(&folder).map_err(|cause| CacheError::Io {
            action: "look at",
            path: folder.clone(),
            cause,
        })?;
        check_trust(&folder, &metadata, owner)?;
        Ok(Self { folder, owner })
    }

    pub(super) fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(format!("{}.cwasm", key.0))
    }

    /// Beside the code, so that the code can be mapped from the file's first byte.
    fn digest_path(&self, key: &Key) -> PathBuf {
        self.folder.join(format!("{}.sha256", key.0))
    }

    /// The component, if it is there and can be trusted.
    #[allow(unsafe_code, reason = "mapping code is what this file is for")]
    pub(super) fn load(&self, engine: &Engine, key: &Key) -> Result<Option<Component>, CacheError> {
        let path = self.path(key);
        let (Some(mut digest_file), Some(mut code)) =
            (self.open_trusted(&self.digest_path(key))?, self.open_trusted(&path)?)
        else {
            return Ok(None);
        };
        let mut noted = String::new();
        let read = (&mut digest_file).take(DIGEST_HEX_BYTES as u64 + 1).read_to_string(&mut noted);
        let actual = digest(&mut code);
        match (read, actual) {
            (Ok(_), Ok(actual)) if noted == actual => {}
            (Ok(_), Ok(_)) => return Err(CacheError::Damaged { path }),
            (Err(cause), _) | (_, Err(cause)) => return Err(CacheError::Io { action: "read", path, cause }),
        }
        // The time of last use, which `prune` goes by; not worth an error.
        let used = rustix::fs::futimens(&code, &USED_NOW);
        tracing::trace!(?used, "compiled code used");
        // The same open file that was checked, whatever the name now leads to.
        let checked = format!("/proc/self/fd/{}", code.as_raw_fd());
        // SAFETY: the bytes must be what `precompile_component` made and must not change while they are mapped. The
        // file lies in a folder that only this user (and root) can enter, is closed to everybody else, is written
        // once by `store` under another name and never opened for writing again, and has the digest noted then.
        let loaded = unsafe { Component::deserialize_file(engine, checked) };
        match loaded {
            Ok(component) => Ok(Some(component)),
            Err(cause) => Err(CacheError::Unfit { path, cause: cause.into() }),
        }
    }

    /// Copies the code in and notes its digest. Both files appear whole, the digest last.
    pub(super) fn store(&self, key: &Key, mut code: File) -> Result<(), CacheError> {
        let path = self.path(key);
        code.seek(SeekFrom::Start(0)).map_err(|cause| CacheError::Io {
            action: "rewind",
            path: path.clone(),
            cause,
        })?;
        let mut hasher = Sha256::new();
        self.write(&path, |file| {
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
        let noted = hex(&hasher.finalize());
        self.write(&self.digest_path(key), |file| file.write_all(noted.as_bytes()))?;
        if let Err(error) = self.prune() {
            // Too many entries are no reason to do without this one.
            tracing::warn!(%error, folder = %self.folder.display(), "the cache of compiled code wasn't tidied");
        }
        Ok(())
    }

    /// Removes the entries that were used longest ago when there are too many, and what crashes left unfinished.
    fn prune(&self) -> io::Result<()> {
        let mut codes = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let Some(extension) = path.extension().and_then(|extension| extension.to_str()) else { continue };
            if extension == "cwasm" {
                let metadata = std::fs::symlink_metadata(&path)?;
                codes.push(((metadata.mtime(), metadata.mtime_nsec()), path));
            } else if is_abandoned(extension) {
                std::fs::remove_file(&path)?;
            }
        }
        codes.sort();
        let surplus = codes.len().saturating_sub(ENTRIES_MAX);
        for (_, path) in &codes[..surplus] {
            std::fs::remove_file(path.with_extension("sha256"))?;
            std::fs::remove_file(path)?;
        }
        Ok(())
    }

    pub(super) fn remove(&self, key: &Key) -> Result<(), CacheError> {
        for path in [self.digest_path(key), self.path(key)] {
            match std::fs::remove_file(&path) {
                Ok(()) => {}
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                Err(cause) => return Err(CacheError::Io { action: "remove", path, cause }),
            }
        }
        Ok(())
    }

    fn write(&self, path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), CacheError> {
        let error = |action, cause| CacheError::Io { action, path: path.to_path_buf(), cause };
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let temporary = path.with_extension(format!("{UNFINISHED}{}-{serial}", std::process::id()));
        match std::fs::remove_file(&temporary) {
            Ok(()) => {}
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => return Err(error("clear the way for", cause)),
        }
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)
            .map_err(|cause| error("make a file for", cause))?;
        let written = fill(&mut file).and_then(|()| file.sync_all());
        written.map_err(|cause| error("write", cause))?;
        std::fs::rename(&temporary, path).map_err(|cause| error("move into place", cause))
    }

    fn open_trusted(&self, path: &Path) -> Result<Option<File>, CacheError> {
        let error = |action, cause| CacheError::Io { action, path: path.to_path_buf(), cause };
        let opened = std::fs::OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path);
        let file = match opened {
            Ok(file) => file,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(error("open", cause)),
        };
        let metadata = file.metadata().map_err(|cause| error("look at", cause))?;
        check_trust(path, &metadata, self.owner)?;
        Ok(Some(file))
    }
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

fn digest(file: &mut File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let length = file.read(&mut chunk)?;
        if length == 0 {
            return Ok(hex(&hasher.finalize()));
        }
        hasher.update(&chunk[..length]);
    }
}

#[cfg(test)]
mod tests;
