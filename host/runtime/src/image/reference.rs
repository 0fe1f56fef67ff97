//! What an image reference says: which file.

use std::path::{Component, Path, PathBuf};

use thiserror::Error;

/// What every reference begins with.
const SCHEME: &str = "file:";

/// Where an image's file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ImageFile {
    /// Somewhere in the file system.
    Absolute(PathBuf),
    /// In the folder of images, which it can't leave.
    Relative(PathBuf),
}

/// A reference that names no file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum ReferenceError {
    /// Another kind of image.
    #[error(
        "image {reference:?} can't be run here: the embedded runtime runs WebAssembly components from files, \
         such as file:hello.wasm or file:///srv/images/hello.wasm"
    )]
    NotAFile { reference: String },
    /// It names another machine.
    #[error("image {reference:?} names a host: use file:///path for a file on this one")]
    Host { reference: String },
    /// Nothing stands after the scheme.
    #[error("image {reference:?} names no file")]
    Empty { reference: String },
    /// `..` would leave the folder.
    #[error("image {reference:?} may not contain `..`")]
    Upwards { reference: String },
    /// A byte that no path can have.
    #[error("image {reference:?} contains a zero byte")]
    ZeroByte { reference: String },
}

/// Reads a reference: `file:///absolute`, `file:/absolute` or `file:relative` (RFC 8089 without a host; nothing is
/// percent-decoded).
pub(crate) fn parse(reference: &str) -> Result<ImageFile, ReferenceError> {
    let own = || reference.to_owned();
    let rest = reference.strip_prefix(SCHEME).ok_or_else(|| ReferenceError::NotAFile { reference: own() })?;
    if rest.contains('\0') {
        return Err(ReferenceError::ZeroByte { reference: own() });
    }
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(path) if path.starts_with('/') => path,
        Some(_) => return Err(ReferenceError::Host { reference: own() }),
    };
    let path = Path::new(path);
    let mut named = false;
    for component in path.components() {
        match component {
            Component::Normal(_) => named = true,
            Component::ParentDir => return Err(ReferenceError::Upwards { reference: own() }),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    if !named {
        return Err(ReferenceError::Empty { reference: own() });
    }
    let absolute = path.is_absolute();
    let path = path.to_owned();
    Ok(if absolute { ImageFile::Absolute(path) } else { ImageFile::Relative(path) })
}

#[cfg(test)]
mod tests;
