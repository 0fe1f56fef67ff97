//! The images that were pulled: copies of the files, known by their digest, so that what runs is what was pulled.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;
use witlet_wasm::compile::{COMPONENT_BYTES_MAX, CompileError, Compiler};
use witlet_wasm::engine::EngineKind;
use witlet_wasm::limits::{Limits, NeedsError, StaticNeeds};

use super::reference::{self, ImageFile, ReferenceError};
use crate::clock::Now;
use crate::state::{Folder, StateError};
use crate::workload::{Program, ProgramError, Programs};

/// How many images may be known at once.
const IMAGES_MAX: usize = 1000;
/// What the identifier of an image begins with.
const ID_PREFIX: &str = "sha256:";
/// What the name of a copy ends with.
const BLOB_SUFFIX: &str = ".wasm";
/// What a component may need to start: all that a 32-bit memory can have. What a container may have is checked when
/// it is started.
const MEMORY_BYTES_MAX: usize = 4 << 30;

/// One image that was pulled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Image {
    /// The reference that it was pulled by.
    pub(crate) reference: String,
    /// `sha256:` and the digest of the component.
    pub(crate) id: String,
    /// Its size in bytes.
    pub(crate) size_bytes: u64,
    /// When it was pulled.
    pub(crate) pulled_at: Timestamp,
}

/// Why an image couldn't be had.
#[derive(Debug, Error)]
pub(crate) enum ImageError {
    /// The reference names no file.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// There is no such file.
    #[error("image {reference:?}: there is no file {}", path.display())]
    Missing {
        reference: String,
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A link leads out of the folder of images.
    #[error("image {reference:?} must be inside of the image folder {} (--image-root)", root.display())]
    Escape {
        reference: String,
        /// The folder of images.
        root: PathBuf,
    },
    /// A folder, a device or the like.
    #[error("image {reference:?}: {} is no regular file", path.display())]
    NotRegular { reference: String, path: PathBuf },
    /// More bytes than an image may have.
    #[error("image {reference:?} is larger than {COMPONENT_BYTES_MAX} bytes")]
    TooLarge { reference: String },
    /// The file can't be read.
    #[error("image {reference:?}: failed to read {}", path.display())]
    Read {
        reference: String,
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// It isn't a component, or the compiler refuses it.
    #[error("image {reference:?}")]
    Compile {
        reference: String,
        #[source]
        cause: CompileError,
    },
    /// A component, but no program that this runtime can start.
    #[error("image {reference:?}")]
    Program {
        reference: String,
        #[source]
        cause: ProgramError,
    },
    /// The copy wasn't what was pulled any more.
    #[error("image {reference:?} was damaged and has been removed: pull it again")]
    Damaged { reference: String },
    /// It needs more to start than any workload may have.
    #[error("image {reference:?}")]
    Needs {
        reference: String,
        #[source]
        cause: NeedsError,
    },
    /// It was never pulled, or was removed.
    #[error("image {reference:?} not found: pull it first")]
    Absent {
        /// The reference or identifier.
        reference: String,
    },
    /// There are too many.
    #[error("the maximum of {IMAGES_MAX} images is reached: remove unused images")]
    TooMany,
    /// The copy or the note about it can't be kept.
    #[error("failed to store image {reference:?}")]
    Keep {
        reference: String,
        #[source]
        cause: StateError,
    },
    /// The process is ending.
    #[error("the runtime is ending")]
    Ending,
}

/// The images of a runtime. Copies of components lie in one folder by digest, notes about references in another.
pub(crate) struct ImageStore {
    root: PathBuf,
    blobs: Folder,
    notes: Folder,
    compiler: Compiler,
    programs: Programs,
    now: Now,
    /// Held while files and what is known of them change together; taken before `known`.
    changes: Mutex<()>,
    known: Mutex<StoredImages>,
}

#[derive(Default)]
struct StoredImages {
    images: BTreeMap<String, Image>,
    /// By identifier; ready to start.
    programs: BTreeMap<String, Program>,
}

/// What an image store is made of.
pub(crate) struct Parts {
    /// Relative references are looked for here.
    pub(crate) root: PathBuf,
    pub(crate) blobs: Folder,
    pub(crate) notes: Folder,
    /// Makes code of components.
    pub(crate) compiler: Compiler,
    /// Makes programs of code.
    pub(crate) programs: Programs,
    pub(crate) now: Now,
}

impl ImageStore {
    /// Takes up what an earlier process pulled. A note without its copy is forgotten, and so is a copy that no note
    /// names.
    pub(crate) fn open(parts: Parts) -> Result<Self, StateError> {
        let Parts { root, blobs, notes, compiler, programs, now } = parts;
        let mut known = StoredImages::default();
        for (name, note) in notes.load_all::<Image>()? {
            if blobs.contains(&blob_name(&note.id))? {
                known.images.insert(note.reference.clone(), note);
            } else {
                notes.remove(&name)?;
            }
        }
        for name in blobs.names()? {
            if !known.images.values().any(|image| blob_name(&image.id) == name) {
                blobs.remove(&name)?;
                forget_code(&compiler, &programs, &id_of(&name));
            }
        }
        let (changes, known) = (Mutex::new(()), Mutex::new(known));
        Ok(Self { root, blobs, notes, compiler, programs, now, changes, known })
    }

    fn known(&self) -> MutexGuard<'_, StoredImages> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> MutexGuard<'_, ()> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads, checks and compiles the file, and keeps a copy of it. Pulling again takes up a changed file.
    pub(crate) async fn pull(self: &Arc<Self>, reference: &str) -> Result<Image, ImageError> {
        let file = reference::parse(reference)?;
        let (root, own) = (self.root.clone(), reference.to_owned());
        let bytes = blocking(move || read(&own, &file, &root)).await?;
        let id = id_from(&bytes);
        let program = self.program_of(reference, &id, bytes.clone()).await?;
        let (reference, size_bytes) = (reference.to_owned(), bytes.len() as u64);
        let image = Image { reference, id, size_bytes, pulled_at: (self.now)() };
        let store = self.clone();
        blocking(move || store.keep(image, &bytes, program)).await
    }

    fn keep(&self, image: Image, component: &[u8], program: Program) -> Result<Image, ImageError> {
        let _change = self.change();
        let failed = |cause| ImageError::Keep { reference: image.reference.clone(), cause };
        if !self.known().images.contains_key(&image.reference) && self.known().images.len() >= IMAGES_MAX {
            return Err(ImageError::TooMany);
        }
        self.blobs.write(&blob_name(&image.id), component).map_err(failed)?;
        self.notes.store(&note_name(&image.reference), &image).map_err(failed)?;
        let replaced = {
            let mut known = self.known();
            known.programs.insert(image.id.clone(), program);
            known.images.insert(image.reference.clone(), image.clone())
        };
        if let Some(old) = replaced {
            self.drop_unused(&old.id).map_err(failed)?;
        }
        Ok(image)
    }

    /// The image of this reference or identifier.
    pub(crate) fn find(&self, reference: &str) -> Option<Image> {
        let known = self.known();
        let by_id = || known.images.values().find(|image| image.id == reference);
        known.images.get(reference).or_else(by_id).cloned()
    }

    /// Returns all images, by reference.
    pub(crate) fn list(&self) -> Vec<Image> {
        self.known().images.values().cloned().collect()
    }

    /// The program of a pulled image, by identifier.
    pub(crate) async fn program(&self, id: &str) -> Result<Program, ImageError> {
        if let Some(program) = self.known().programs.get(id) {
            return Ok(program.clone());
        }
        let absent = || ImageError::Absent { reference: id.to_owned() };
        let image = self.find(id).ok_or_else(absent)?;
        let path = self.blobs.path(&blob_name(id));
        let own = image.reference.clone();
        let bytes = blocking(move || read(&own, &ImageFile::Absolute(path), Path::new("/"))).await?;
        if id_from(&bytes) != id {
            // Forgotten, so that no one takes it for present, and it is pulled again.
            self.remove(id)
                .map_err(|cause| ImageError::Keep { reference: image.reference.clone(), cause })?;
            return Err(ImageError::Damaged { reference: image.reference });
        }
        let program = self.program_of(&image.reference, id, bytes).await?;
        self.known().programs.insert(id.to_owned(), program.clone());
        Ok(program)
    }

    async fn program_of(&self, reference: &str, id: &str, bytes: Arc<[u8]>) -> Result<Program, ImageError> {
        if let Some(program) = self.known().programs.get(id) {
            return Ok(program.clone());
        }
        let own = || reference.to_owned();
        let component = self
            .compiler
            .load(self.programs.engine(), EngineKind::Asynchronous, bytes)
            .await
            .map_err(|cause| ImageError::Compile { reference: own(), cause })?;
        StaticNeeds::of(&component)
            .check(&Limits::with_memory(MEMORY_BYTES_MAX))
            .map_err(|cause| ImageError::Needs { reference: own(), cause })?;
        self.programs.link(&component).map_err(|cause| ImageError::Program { reference: own(), cause })
    }

    /// Forgets the image of this reference, or all of this identifier. Containers that were started from it run on.
    pub(crate) fn remove(&self, reference: &str) -> Result<(), StateError> {
        let _change = self.change();
        let gone: Vec<Image> = {
            let known = self.known();
            let named = |image: &&Image| image.reference == reference || image.id == reference;
            known.images.values().filter(named).cloned().collect()
        };
        for image in gone {
            self.notes.remove(&note_name(&image.reference))?;
            self.known().images.remove(&image.reference);
            self.drop_unused(&image.id)?;
        }
        Ok(())
    }

    fn drop_unused(&self, id: &str) -> Result<(), StateError> {
        let mut known = self.known();
        if known.images.values().any(|image| image.id == id) {
            return Ok(());
        }
        known.programs.remove(id);
        drop(known);
        self.blobs.remove(&blob_name(id))?;
        forget_code(&self.compiler, &self.programs, id);
        Ok(())
    }

    /// Where the copies are, the bytes that they take, and how many there are.
    pub(crate) fn usage(&self) -> (PathBuf, u64, u64) {
        let known = self.known();
        let sizes: BTreeMap<&str, u64> =
            known.images.values().map(|image| (image.id.as_str(), image.size_bytes)).collect();
        (self.blobs.folder().to_owned(), sizes.values().sum(), sizes.len() as u64)
    }
}

/// Removes the compiled code of an image that is gone. That it stays is no reason to fail: it is used again if the
/// image is, and frees capacity for others when there is too much of it.
fn forget_code(compiler: &Compiler, programs: &Programs, id: &str) {
    let Some(digest) = id.strip_prefix(ID_PREFIX).and_then(unhex) else { return };
    if let Err(error) = compiler.forget(programs.engine(), EngineKind::Asynchronous, &digest) {
        tracing::warn!(image = %id, %error, "Failed to remove compiled code of image");
    }
}

fn id_from(component: &[u8]) -> String {
    format!("{ID_PREFIX}{}", hex::encode(Sha256::digest(component)))
}

fn id_of(blob_name: &str) -> String {
    format!("{ID_PREFIX}{}", blob_name.strip_suffix(BLOB_SUFFIX).unwrap_or(blob_name))
}

fn blob_name(id: &str) -> String {
    format!("{}{BLOB_SUFFIX}", id.trim_start_matches(ID_PREFIX))
}

fn note_name(reference: &str) -> String {
    format!("{}.json", hex::encode(Sha256::digest(reference.as_bytes())))
}

/// A SHA-256 digest of its hexadecimal form.
fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    hex::decode_to_slice(text, &mut digest).ok().map(|()| digest)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ImageError> + Send + 'static,
) -> Result<T, ImageError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(ImageError::Ending))
}

/// Reads an image's file, never more than an image may have. A relative one can't leave `root`, not by links either:
/// the kernel sees to it, at the moment of opening (openat2, `RESOLVE_BENEATH`).
fn read(reference: &str, file: &ImageFile, root: &Path) -> Result<Arc<[u8]>, ImageError> {
    let own = || reference.to_owned();
    // Without NONBLOCK opening a pipe would wait for someone to write to it.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let (path, opened) = match file {
        ImageFile::Absolute(path) => {
            (path.clone(), rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS))
        }
        ImageFile::Relative(path) => {
            let folder =
                rustix::fs::open(root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
            let confined = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
            let opened =
                folder.and_then(|folder| rustix::fs::openat2(folder, path, flags, Mode::empty(), confined));
            (root.join(path), opened)
        }
    };
    let opened = opened.map_err(|errno| match errno {
        rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR => {
            ImageError::Missing { reference: own(), path: path.clone() }
        }
        rustix::io::Errno::XDEV => ImageError::Escape { reference: own(), root: root.to_owned() },
        errno => ImageError::Read { reference: own(), path: path.clone(), cause: errno.into() },
    })?;
    let unreadable = |cause| ImageError::Read { reference: own(), path: path.clone(), cause };
    let opened = File::from(opened);
    let metadata = opened.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(ImageError::NotRegular { reference: own(), path });
    }
    if metadata.len() > COMPONENT_BYTES_MAX as u64 {
        return Err(ImageError::TooLarge { reference: own() });
    }
    // The file may grow while it is read.
    let mut bytes = Vec::new();
    opened.take(COMPONENT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > COMPONENT_BYTES_MAX {
        return Err(ImageError::TooLarge { reference: own() });
    }
    Ok(bytes.into())
}

#[cfg(test)]
mod tests;
