//! `witlet plugin inspect`: what is in a component, told without running it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use thiserror::Error;
use witlet_plugins::{ADMISSION, Builtin, PROBES, SHIPPED};
use witlet_wasm::compile::read_component;
use witlet_wasm::inspect::{InspectError, Inspection, inspect};

use crate::cli::OutputFormat;
use crate::output::{OutputError, print, structured};

/// Why a component can't be shown.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// The file can't be read.
    #[error("read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// No component that ships has this name.
    #[error("{name:?} isn't shipped; these are: {}", shipped().map(|builtin| builtin.name).collect::<Vec<_>>().join(", "))]
    NotShipped {
        /// The name after `builtin:`.
        name: String,
    },
    /// The file holds no component.
    #[error("{}", path.display())]
    Inspect {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        #[source]
        cause: InspectError,
    },
    /// The answer can't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Prints what is in the component.
pub(crate) fn run(path: &Path, output: OutputFormat) -> Result<(), Error> {
    let wasm = read(path)?;
    let inspection = inspect(&wasm).map_err(|cause| Error::Inspect { path: path.to_owned(), cause })?;
    let text = match output {
        OutputFormat::Table | OutputFormat::Wide => for_people(path, &inspection),
        OutputFormat::Json | OutputFormat::Yaml => structured(&for_programs(&inspection), output)?,
    };
    Ok(print(&text)?)
}

/// Every component that ships, on or off.
fn shipped() -> impl Iterator<Item = &'static Builtin> {
    ADMISSION.iter().chain(PROBES).chain(SHIPPED)
}

/// The bytes of a file, or of what a plugin file calls `builtin:NAME`.
fn read(path: &Path) -> Result<Arc<[u8]>, Error> {
    let Some(name) = path.to_str().and_then(|path| path.strip_prefix("builtin:")) else {
        return read_component(path).map_err(|cause| Error::Read { path: path.to_owned(), cause });
    };
    let builtin = shipped().find(|builtin| builtin.name == name);
    let builtin = builtin.ok_or_else(|| Error::NotShipped { name: name.to_owned() })?;
    Ok(builtin.component.into())
}

fn for_programs(inspection: &Inspection) -> serde_json::Value {
    let needs = &inspection.needs;
    let mut value = json!(inspection);
    value["needs"] = json!({
        "memories": needs.memories,
        "memoryBytes": needs.memory_bytes,
        "tables": needs.tables,
        "tableElements": needs.table_elements,
    });
    value
}

fn for_people(path: &Path, inspection: &Inspection) -> String {
    let Inspection {
        roles,
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
    let mut text = format!("{}\n", path.display());
    let mut line = |name: &str, value: String| text.push_str(&format!("  {name:<10} {value}\n"));
    let told = roles.iter().map(|served| format!("{} {}", served.role, served.version));
    let told = told.collect::<Vec<_>>().join(", ");
    line("roles", if told.is_empty() { "none that this witlet can use".to_owned() } else { told });
    for (name, grants) in [("needs", needs_grants), ("may use", may_use_grants)] {
        if !grants.is_empty() {
            line(name, format!("grants: {}", grants.join(", ")));
        }
    }
    line("size", format!("{size_bytes} bytes"));
    line("digest", format!("sha256:{digest}"));
    let made = producers.iter().map(|producer| format!("{} {}", producer.name, producer.version));
    line("made with", made.collect::<Vec<_>>().join(", "));
    let largest = |count: u32, size: u64, unit: &str| match count {
        0 => "none".to_owned(),
        count => format!("{count}, the largest with {size} {unit}"),
    };
    line("memories", largest(needs.memories, needs.memory_bytes, "bytes"));
    line("tables", largest(needs.tables, needs.table_elements, "elements"));
    let mut list = |name: &str, items: &[String], note: &dyn Fn(&String) -> &'static str| {
        for (at, item) in items.iter().enumerate() {
            let name = if at == 0 { name } else { "" };
            text.push_str(&format!("  {name:<10} {item}{}\n", note(item)));
        }
    };
    list("exports", exports, &|_| "");
    list("imports", imports, &|item| if denied.contains(item) { "  (linked, always refused)" } else { "" });
    list("unusable", obstacles, &|_| "");
    text
}

#[cfg(test)]
mod tests;
