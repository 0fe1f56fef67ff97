//! A set of plugins in a folder: its files, and next to them the manifest by which they are checked again, so that a pull that was cut
//! short goes on where it ended, and what a disk lost is noticed.

use std::fs::DirBuilder;
use std::io::{self, Read as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use thiserror::Error;
use witlet_ports::whole_file::{Durability, replace_file_with};

use crate::digest::{digest_of, text_of};
use crate::manifest::{Layer, MANIFEST_BYTES_MAX};
use crate::set::{CodeOfSet, PLUGIN_FILE, SetError, SetLayer, set_code, set_layers};
use crate::store::open_file;

/// The manifest, next to the folder of files.
const MANIFEST: &str = "manifest.json";
/// The folder of files.
const FILES: &str = "files";
/// End of the name of a file that isn't whole yet. It stands next to the folder of files, so that it has no file's name.
const UNFINISHED: &str = "part";
/// How much of a file is read at once.
const READ_BYTES: usize = 64 << 10;

/// Why a folder isn't the set that it should be.
#[derive(Debug, Error)]
pub enum SetFolderError {
    /// The manifest, or a file, can't be read.
    #[error("failed to read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// It has other bytes than it had.
    #[error("{} was changed since it was written", path.display())]
    Changed { path: PathBuf },
    /// The manifest is of something else.
    #[error(transparent)]
    Manifest(#[from] SetError),
}

/// The plugin file of the set in this folder.
pub fn set_plugin_file(folder: &Path) -> PathBuf {
    folder.join(FILES).join(PLUGIN_FILE)
}

/// Whether the folder has the set with this digest: the manifest, and each file of it, byte for byte. Reads all of it.
///
/// # Errors
///
/// When something is missing or another.
pub fn verify_set(folder: &Path, digest: &str) -> Result<(), SetFolderError> {
    for SetLayer { name, layer } in set_layers(&manifest(folder, digest)?)? {
        let path = folder.join(FILES).join(name);
        match is_layer(&path, &layer) {
            Ok(true) => {}
            Ok(false) => return Err(SetFolderError::Changed { path }),
            Err(cause) => return Err(SetFolderError::Read { path, cause }),
        }
    }
    Ok(())
}

/// The compiled code that the set with this digest brings, by the manifest in this folder.
///
/// # Errors
///
/// When the manifest is missing, or another, or code in it doesn't say what it is.
pub fn code_of_set(folder: &Path, digest: &str) -> Result<CodeOfSet, SetFolderError> {
    Ok(set_code(&manifest(folder, digest)?)?)
}

/// The manifest with this digest.
fn manifest(folder: &Path, digest: &str) -> Result<Vec<u8>, SetFolderError> {
    let path = folder.join(MANIFEST);
    let read = open_file(&path).and_then(|file| {
        let mut manifest = Vec::new();
        file.take(MANIFEST_BYTES_MAX as u64 + 1).read_to_end(&mut manifest)?;
        Ok(manifest)
    });
    match read {
        Ok(manifest) if digest_of(&manifest) == digest => Ok(manifest),
        Ok(_) => Err(SetFolderError::Changed { path }),
        Err(cause) => Err(SetFolderError::Read { path, cause }),
    }
}

/// Whether a file of a set is there already, as an earlier pull left it.
pub(crate) fn has_file(folder: &Path, SetLayer { name, layer }: &SetLayer) -> bool {
    is_layer(&folder.join(FILES).join(name), layer).unwrap_or(false)
}

/// Puts a file of a set into its folder.
pub(crate) fn write_file(folder: &Path, SetLayer { name, layer }: &SetLayer, bytes: &[u8]) -> io::Result<()> {
    let path = folder.join(FILES).join(name);
    let parent = path.parent().unwrap_or(folder);
    DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    let digits = layer.digest.rsplit(':').next().unwrap_or_default();
    let unfinished = folder.join(digits).with_extension(UNFINISHED);
    replace_file_with(&path, &unfinished, bytes, 0o600, Durability::Whole)
}

/// Puts the manifest next to the files. It is the last part of a set.
pub(crate) fn write_manifest(folder: &Path, manifest: &[u8]) -> io::Result<()> {
    let path = folder.join(MANIFEST);
    replace_file_with(&path, &path.with_extension(UNFINISHED), manifest, 0o600, Durability::Whole)
}

fn is_layer(path: &Path, layer: &Layer) -> io::Result<bool> {
    let mut file = open_file(path)?;
    let metadata = file.metadata()?;
    if metadata.len() != layer.size {
        return Ok(false);
    }
    let (mut hash, mut part) = (Sha256::new(), vec![0; READ_BYTES]);
    loop {
        match file.read(&mut part) {
            Ok(0) => break,
            Ok(read) => hash.update(&part[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(text_of(&hash.finalize()) == layer.digest)
}
