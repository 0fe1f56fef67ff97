//! `witlet plugin inspect`: what is in a component, or a set of plugins, reported without running it.

mod manifest;
pub(crate) mod set;

use serde_json::json;
use thiserror::Error;
use witlet_oci::TransferError;
use witlet_oci::manifest::ManifestError as NotAComponent;
use witlet_wasm::inspect::{Contract, Fit, Inspection};
use witlet_wasm::manifest::{Manifest, ManifestError, SECTION};

use crate::cli::{OutputFormat, RegistryArgs};
use crate::output::{OutputError, print, structured};
use crate::plugin::component::{self, ComponentError};

/// Why a component can't be shown.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// There is nothing to show.
    #[error(transparent)]
    Component(#[from] ComponentError),
    /// What it says of itself can't be read. All else was shown.
    #[error("{file}: the section {SECTION}")]
    Manifest {
        /// As it was named.
        file: String,
        /// What is wrong with it.
        #[source]
        cause: ManifestError,
    },
    /// The answer can't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Prints what is in the component.
pub(crate) async fn run(file: &str, registry: &RegistryArgs, output: OutputFormat) -> Result<(), Error> {
    let wasm = match component::read(file, registry).await {
        Ok(found) => found.wasm,
        Err(ComponentError::Pull { cause, .. }) if is_set(&cause) => {
            let listing = set::list(file, registry).await?;
            let text = match output {
                OutputFormat::Table | OutputFormat::Wide => set::for_people(file, &listing),
                OutputFormat::Json | OutputFormat::Yaml => structured(&set::for_programs(&listing), output)?,
            };
            return Ok(print(&text)?);
        }
        Err(error) => return Err(error.into()),
    };
    let inspection = component::inspected(file, &wasm)?;
    let (manifest, broken) = match Manifest::of(&wasm) {
        Ok(manifest) => (manifest, None),
        Err(cause) => (None, Some(cause)),
    };
    let text = match output {
        OutputFormat::Table | OutputFormat::Wide => for_people(file, &inspection, manifest.as_ref()),
        OutputFormat::Json | OutputFormat::Yaml => {
            structured(&for_programs(&inspection, manifest.as_ref()), output)?
        }
    };
    print(&text)?;
    broken.map_or(Ok(()), |cause| Err(Error::Manifest { file: file.to_owned(), cause }))
}

/// Whether the registry has a set of plugins where a component was looked for.
fn is_set(cause: &TransferError) -> bool {
    matches!(cause, TransferError::Manifest(NotAComponent::Set))
}

/// Returns the document of `-o json`.
pub(crate) fn for_programs(inspection: &Inspection, manifest: Option<&Manifest>) -> serde_json::Value {
    let needs = &inspection.needs;
    let mut value = json!(inspection);
    value["manifest"] = json!(manifest);
    value["needs"] = json!({
        "memories": needs.memories,
        "memoryBytes": needs.memory_bytes,
        "tables": needs.tables,
        "tableElements": needs.table_elements,
    });
    value
}

fn for_people(file: &str, inspection: &Inspection, manifest: Option<&Manifest>) -> String {
    let Inspection {
        roles,
        contracts,
        fits,
        obstacles,
        needs_grants,
        may_use_grants,
        imports,
        denied,
        exports,
        size_bytes,
        digest,
        producers,
        needs,
    } = inspection;
    let mut text = format!("{file}\n");
    let mut line = |name: &str, value: String| text.push_str(&format!("  {name:<10} {value}\n"));
    for (name, value) in manifest.map(manifest::lines).unwrap_or_default() {
        line(name, value);
    }
    let supported = roles.iter().map(|served| format!("{} {}", served.role, served.version));
    let supported = supported.collect::<Vec<_>>().join(", ");
    line(
        "roles",
        if supported.is_empty() { "none that this release supports".to_owned() } else { supported },
    );
    for (name, grants) in [("needs", needs_grants), ("may use", may_use_grants)] {
        if !grants.is_empty() {
            line(name, format!("grants: {}", grants.join(", ")));
        }
    }
    line("size", format!("{size_bytes} bytes"));
    line("digest", format!("sha256:{digest}"));
    let made = producers
        .iter()
        .map(|producer| format!("{} {}", producer.name, producer.version).trim_end().to_owned());
    line("made with", made.collect::<Vec<_>>().join(", "));
    let largest = |count: u32, size: u64, unit: &str| match count {
        0 => "none".to_owned(),
        count => format!("{count}, the largest with {size} {unit}"),
    };
    line("memories", largest(needs.memories, needs.memory_bytes, "bytes"));
    line("tables", largest(needs.tables, needs.table_elements, "elements"));
    let limits = fits.iter().map(limit).collect::<Vec<_>>();
    let served = contracts.iter().map(served).collect::<Vec<_>>();
    let (wasi, others): (Vec<_>, Vec<_>) = imports
        .iter()
        .filter(|name| !name.starts_with("witlet:"))
        .map(|name| {
            format!("{name}{}", if denied.contains(name) { "  (linked, always refused)" } else { "" })
        })
        .partition(|name| name.starts_with("wasi:"));
    let exports = exports.iter().filter(|name| !name.starts_with("witlet:")).cloned().collect::<Vec<_>>();
    for (name, items) in [
        ("limits", &limits),
        ("contracts", &served),
        ("wasi", &wasi),
        ("imports", &others),
        ("exports", &exports),
        ("unusable", obstacles),
    ] {
        for (at, item) in items.iter().enumerate() {
            let name = if at == 0 { name } else { "" };
            text.push_str(&format!("  {name:<10} {item}\n"));
        }
    }
    text
}

/// Whether it can start with what its role has where a configuration says nothing.
fn limit(fit: &Fit) -> String {
    let Fit { role, memory_bytes_default, obstacle } = fit;
    let default = memory_bytes_default >> 20;
    match obstacle {
        None => format!("{role}: starts within {default}Mi, the default"),
        Some(obstacle) => format!("{role}: {obstacle}; set limits.memory"),
    }
}

/// An interface with the version that it was built against, and the one that serves it if that is another one.
fn served(contract: &Contract) -> String {
    let Contract { interface, built_against, served_by } = contract;
    match served_by {
        Some(version) if version == built_against => format!("{interface} {version}"),
        Some(version) => format!("{interface} {built_against}, served by {version}"),
        None => format!("{interface} {built_against}, not supported by this release"),
    }
}

#[cfg(test)]
mod tests;
