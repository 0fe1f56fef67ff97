//! A component as commands name it: a file, one that ships, or one in a registry.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;
use witlet_egress::Egress;
use witlet_oci::{Client, Login, Target, TargetError, TransferError};
use witlet_plugins::{ADMISSION, Builtin, PROBES, SHIPPED};
use witlet_ports::OCI_SCHEME;
use witlet_wasm::compile::read_component;
use witlet_wasm::inspect::{InspectError, Inspection, inspect};
use witlet_wasm::plugin::config::not_shipped;

use crate::cli::RegistryArgs;
use crate::progress::Transfer;

/// What stands before the name of a component that ships.
const BUILTIN_SCHEME: &str = "builtin:";

/// A component's bytes, and what people call it.
#[derive(Clone, Debug)]
pub(crate) struct Component {
    /// The file's name, the built-in's, or the last part of the repository.
    pub(crate) name: String,
    pub(crate) wasm: Arc<[u8]>,
}

/// Why there is no component. Each says the way out.
#[derive(Debug, Error)]
pub(crate) enum ComponentError {
    /// The file can't be read.
    #[error("failed to read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// No component that ships has this name.
    #[error("{}", not_shipped(name, &shipped().map(|builtin| builtin.name).collect::<Vec<_>>()))]
    NotShipped {
        /// The name after `builtin:`.
        name: String,
    },
    /// No place in a registry.
    #[error("{text:?} is not a reference to a component in a registry")]
    Target {
        /// As it was written.
        text: String,
        /// What is wrong with it.
        #[source]
        cause: TargetError,
    },
    /// The registry doesn't bring it.
    #[error("failed to pull {target}")]
    Pull {
        target: String,
        /// Why not, with the way out.
        #[source]
        cause: Box<TransferError>,
    },
    /// The file holds no component.
    #[error("{file}")]
    Inspect {
        /// As it was named.
        file: String,
        /// What it is instead.
        #[source]
        cause: InspectError,
    },
}

/// Every component that ships, on or off.
pub(crate) fn shipped() -> impl Iterator<Item = &'static Builtin> {
    ADMISSION.iter().chain(PROBES).chain(SHIPPED)
}

/// Reads `FILE`, `builtin:NAME` or `oci://…`, the last by tag or digest.
pub(crate) async fn read(source: &str, from: &RegistryArgs) -> Result<Component, ComponentError> {
    if let Some(name) = source.strip_prefix(BUILTIN_SCHEME) {
        let builtin = shipped().find(|builtin| builtin.name == name);
        let builtin = builtin.ok_or_else(|| ComponentError::NotShipped { name: name.to_owned() })?;
        return Ok(Component { name: name.to_owned(), wasm: builtin.component.into() });
    }
    if source.starts_with(OCI_SCHEME) {
        return fetch(source, from).await;
    }
    let path = Path::new(source);
    let wasm = read_component(path).map_err(|cause| ComponentError::Read { path: path.to_owned(), cause })?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Component { name, wasm })
}

/// Returns what is in a component that was read as `file`.
pub(crate) fn inspected(file: &str, wasm: &[u8]) -> Result<Inspection, ComponentError> {
    inspect(wasm).map_err(|cause| ComponentError::Inspect { file: file.to_owned(), cause })
}

async fn fetch(source: &str, from: &RegistryArgs) -> Result<Component, ComponentError> {
    let target = target(source)?;
    let client = Client::new(Egress::system(), login(from), from.plain_http);
    let transfer = Transfer::start("pulling");
    let pulled = client.pull(&target, &|bytes, total| transfer.at(bytes, total)).await;
    transfer.done();
    let pulled = pulled.map_err(|cause| {
        let (target, cause) = (target.to_string(), Box::new(cause));
        ComponentError::Pull { target, cause }
    })?;
    Ok(Component { name: name_of(&target).to_owned(), wasm: pulled.wasm.into() })
}

/// A place in a registry, with or without `oci://`.
pub(crate) fn target(text: &str) -> Result<Target, ComponentError> {
    text.parse().map_err(|cause| ComponentError::Target { text: text.to_owned(), cause })
}

/// The last part of a repository.
pub(crate) fn name_of(target: &Target) -> &str {
    target.repository().rsplit('/').next().unwrap_or_default()
}

/// Whose credentials a command sends: those of a file that it names, else what `docker login` has kept.
pub(crate) fn login(from: &RegistryArgs) -> Login {
    let folder = || match std::env::var_os("DOCKER_CONFIG") {
        Some(folder) => Some(PathBuf::from(folder)),
        None => Some(PathBuf::from(std::env::var_os("HOME")?).join(".docker")),
    };
    match &from.registry_credentials {
        Some(file) => Login::File(file.clone()),
        None => folder().map_or(Login::Anonymous, |folder| Login::FileIfThere(folder.join("config.json"))),
    }
}
