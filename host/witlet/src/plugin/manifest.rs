//! `witlet plugin manifest`: puts what an author writes of a plugin into its component.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use thiserror::Error;
use witlet_wasm::compile::read_component;
use witlet_wasm::inspect::{InspectError, Inspection, inspect};
use witlet_wasm::manifest::{MANIFEST_BYTES_MAX, Manifest, ManifestError, SectionError};
use witlet_wasm::role::Role;

use super::whole;
use crate::cli::ManifestArgs;
use crate::output::{OutputError, print};

/// Why the component has no new manifest.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// A file can't be read.
    #[error("failed to read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// The component is none.
    #[error("{}", path.display())]
    Inspect {
        path: PathBuf,
        /// What it is instead.
        #[source]
        cause: InspectError,
    },
    /// The manifest isn't taken.
    #[error("{}", path.display())]
    Manifest {
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        cause: ManifestError,
    },
    /// The manifest can't be put into the component.
    #[error("{}", path.display())]
    Embed {
        path: PathBuf,
        #[source]
        cause: SectionError,
    },
    /// The file can't be written.
    #[error("failed to write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// What was done can't be said.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Writes the component with the manifest, and says so.
pub(crate) fn run(args: &ManifestArgs) -> Result<(), Error> {
    let (file, source) = (args.file.as_path(), args.manifest.as_path());
    let refused = |cause| Error::Manifest { path: source.to_owned(), cause };
    let manifest = Manifest::parse(&read_text(source)?).map_err(refused)?;
    let read_error = |cause| Error::Read { path: file.to_owned(), cause };
    let before = read_component(file).map_err(read_error)?;
    let inspect_error = |cause| Error::Inspect { path: file.to_owned(), cause };
    let inspection = inspect(&before).map_err(inspect_error)?;
    fits(&manifest, &inspection).map_err(refused)?;
    let embed_error = |cause| Error::Embed { path: file.to_owned(), cause };
    let after = manifest.embed(&before).map_err(embed_error)?;
    // With it, the component may be too large for any host.
    inspect(&after).map_err(inspect_error)?;
    let to = args.to.as_deref().unwrap_or(file);
    let write = || whole::write(to, &after, Some(fs::metadata(file)?.permissions()));
    write().map_err(|cause| Error::Write { path: to.to_owned(), cause })?;
    let (name, version) = (manifest.name(), manifest.version());
    let bytes = manifest.json().len();
    Ok(print(&format!("{}: has the manifest of {name} {version}, {bytes} bytes\n", to.display()))?)
}

/// One byte more than a manifest has at most, so that a larger one is noticed.
fn read_text(path: &Path) -> Result<String, Error> {
    let read = || {
        let mut text = String::new();
        File::open(path)?.take(MANIFEST_BYTES_MAX as u64 + 1).read_to_string(&mut text)?;
        Ok(text)
    };
    read().map_err(|cause| Error::Read { path: path.to_owned(), cause })
}

/// Whether it can be about this component.
fn fits(manifest: &Manifest, inspection: &Inspection) -> Result<(), ManifestError> {
    let is_probe_type = inspection.roles.iter().any(|served| served.role == Role::Probe);
    if manifest.parameters().is_none() || is_probe_type {
        return Ok(());
    }
    let problem = "only allowed for a probe type: remove them".to_owned();
    Err(ManifestError::Field { field: "parameters".to_owned(), problem })
}

#[cfg(test)]
mod tests;
