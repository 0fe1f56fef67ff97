//! Build-script helper: compiles packages of this workspace to WebAssembly components and embeds them.
//!
//! A build script names the packages; the crate includes what comes of it:
//!
//! ```no_run
//! // build.rs
//! fn main() -> std::process::ExitCode {
//!     witlet_build::Guests::new(&["witlet-plugin-host-ports"]).embed()
//! }
//! ```
//!
//! ```text
//! // lib.rs
//! pub mod components {
//!     include!(concat!(env!("OUT_DIR"), "/components.rs"));
//! }
//! // components::HOST_PORTS: &[u8], and components::COMPONENTS: &[(&str, &[u8])] with the names, sorted.
//! ```
//!
//! All crates of one target folder share one folder of guests (`<target>/guests`), so that the guests' dependencies
//! compile once. It is locked apart from the outer build's folder: the two can't wait for each other.
//!
//! A build script of a guest itself (a package that is host crate and guests at once) also runs while its guests
//! are compiled; there `embed` writes an empty `COMPONENTS` and no constants, which ends the recursion.

#![forbid(unsafe_code)]

mod artifacts;
mod depinfo;
mod error;
mod manifest;
mod module;
mod nested;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use artifacts::Artifact;
pub use error::BuildError;

/// What components are compiled for: WASI 0.2, which rustc links into a component by itself.
pub const GUEST_TARGET: &str = "wasm32-wasip2";

/// The profile of the workspace that makes components small: what a release embeds.
pub const GUEST_PROFILE: &str = "guest";

/// The profile that makes them soon, without link-time optimisation: what a debug build embeds, which only tests and demos run.
pub const GUEST_PROFILE_FAST: &str = "guest-fast";

/// Name of the file in `OUT_DIR` for `include!`.
pub const MODULE_FILE: &str = "components.rs";

/// Packages to be compiled to components.
#[derive(Clone, Debug)]
pub struct Guests {
    packages: Vec<String>,
    examples: bool,
    manifests: bool,
    module: &'static str,
}

impl Guests {
    /// Packages of this workspace. Every `cdylib` and every binary of theirs becomes a component, named after its
    /// target (`[lib] name`, or the name of the binary).
    pub fn new(packages: &[&str]) -> Self {
        let packages = packages.iter().map(|name| (*name).to_owned()).collect();
        Self { packages, examples: false, manifests: false, module: MODULE_FILE }
    }

    /// Compiles the packages' examples instead: a package has one library, but as many examples of
    /// `crate-type = ["cdylib"]` as it likes.
    #[must_use]
    pub fn examples(mut self) -> Self {
        self.examples = true;
        self
    }

    /// Writes the module to a file of this name in `OUT_DIR`, for a build script that embeds more than once.
    #[must_use]
    pub fn module(mut self, file: &'static str) -> Self {
        self.module = file;
        self
    }

    /// Puts the `plugin.json` next to each package's Cargo.toml into its component, which fails where there is none.
    #[must_use]
    pub fn manifests(mut self) -> Self {
        self.manifests = true;
        self
    }

    /// Compiles and embeds, for a build script to return from `main`. A failure is printed with its causes.
    #[allow(clippy::print_stderr, reason = "a build script's errors reach people over stderr")]
    pub fn embed(&self) -> ExitCode {
        let Err(error) = self.try_embed() else { return ExitCode::SUCCESS };
        eprintln!("error: {error}");
        let mut cause = std::error::Error::source(&error);
        while let Some(inner) = cause {
            eprintln!("  caused by: {inner}");
            cause = inner.source();
        }
        ExitCode::FAILURE
    }

    /// Compiles the packages, copies the components to `OUT_DIR`, writes the module next to them and tells cargo
    /// what all of it was made from.
    ///
    /// # Errors
    /// When it runs outside a build script, the target isn't installed, the guests don't compile, or files can't be
    /// read or written.
    pub fn try_embed(&self) -> Result<(), BuildError> {
        let out_dir = PathBuf::from(variable("OUT_DIR")?);
        let artifacts = if compiles_guest()? { Vec::new() } else { self.compile(&out_dir)? };
        for artifact in &artifacts {
            let copy = out_dir.join(format!("{}.wasm", artifact.name));
            if self.manifests {
                let component = described(artifact)?;
                fs::write(&copy, component).map_err(|cause| BuildError::Write { path: copy, cause })?;
            } else {
                fs::copy(&artifact.file, &copy).map_err(|cause| BuildError::Write { path: copy, cause })?;
            }
        }
        let names: Vec<&str> = artifacts.iter().map(|artifact| artifact.name.as_str()).collect();
        let module = out_dir.join(self.module);
        fs::write(&module, module::render(&names)).map_err(|cause| BuildError::Write { path: module, cause })
    }

    fn compile(&self, out_dir: &Path) -> Result<Vec<Artifact>, BuildError> {
        nested::require_target()?;
        let messages = nested::build(&self.packages, self.examples, &guest_folder(out_dir))?;
        let artifacts = artifacts::parse(&messages, &self.packages)?;
        if let Some(package) =
            self.packages.iter().find(|name| !artifacts.iter().any(|a| a.package == **name))
        {
            return Err(BuildError::NoComponent { package: package.clone() });
        }
        for artifact in &artifacts {
            watch(artifact)?;
        }
        Ok(artifacts)
    }
}

/// Whether the crate whose build script this is, is being compiled to a guest itself.
fn compiles_guest() -> Result<bool, BuildError> {
    Ok(variable("CARGO_CFG_TARGET_FAMILY")?.to_string_lossy().split(',').any(|family| family == "wasm"))
}

fn variable(name: &'static str) -> Result<OsString, BuildError> {
    std::env::var_os(name).ok_or(BuildError::NoVariable { name })
}

/// The folder that all guests of this target folder share. Cargo marks the root of each of its output folders as a
/// cache; without that mark the crate gets a folder of its own.
fn guest_folder(out_dir: &Path) -> PathBuf {
    let root = out_dir.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    root.unwrap_or(out_dir).join("guests")
}

/// The component with the manifest of its package, whose changes run the build script again.
#[allow(clippy::print_stdout, reason = "a build script talks to cargo on stdout")]
fn described(artifact: &Artifact) -> Result<Vec<u8>, BuildError> {
    let path = artifact.manifest.with_file_name(manifest::MANIFEST_FILE);
    println!("cargo::rerun-if-changed={}", path.display());
    let read_error = |path: &Path| {
        let path = path.to_owned();
        |cause| BuildError::Read { path, cause }
    };
    let json = fs::read_to_string(&path).map_err(read_error(&path))?;
    let component = fs::read(&artifact.file).map_err(read_error(&artifact.file))?;
    manifest::with_manifest(component, &json, &path)
}

/// Runs the build script again when a source of the component changes. Cargo lists sources of path dependencies and
/// included files (WIT among them) next to the artifact; folders are watched for targets that are added.
#[allow(clippy::print_stdout, reason = "a build script talks to cargo on stdout")]
fn watch(artifact: &Artifact) -> Result<(), BuildError> {
    let path = artifact.file.with_extension("d");
    let text = fs::read_to_string(&path).map_err(|cause| BuildError::Read { path, cause })?;
    let mut watched = depinfo::sources(&text);
    watched.push(artifact.manifest.clone());
    if let Some(folder) = artifact.manifest.parent() {
        watched.extend(
            ["src", "examples"].map(|name| folder.join(name)).into_iter().filter(|path| path.is_dir()),
        );
        // The lock and the profile stand at the workspace's root.
        let root = folder.ancestors().find(|folder| folder.join("Cargo.lock").is_file());
        watched.extend(
            root.into_iter().flat_map(|root| ["Cargo.lock", "Cargo.toml"].map(|name| root.join(name))),
        );
    }
    for path in watched {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    Ok(())
}
