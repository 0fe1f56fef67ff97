//! What a component says about itself, without compiling or running it.

use serde::Serialize;
use sha2::{Digest, Sha256};
use thiserror::Error;
use wasmparser::{KnownCustom, Parser, Payload, ProducersSectionReader};

use crate::compile::{self, CompileError};
use crate::guest::printable;
use crate::limits::{Limits, StaticNeeds};
use crate::plugin::config::{MEMORY_BYTES_DEFAULT, SOURCE_MEMORY_BYTES_DEFAULT};
use crate::role::Role;
use crate::worlds;
use crate::worlds::detect::{self, Capabilities, Detected, Obstacle};

/// How many names, modules and tools are listed at most.
const ITEMS_MAX: usize = 1000;
/// How much of a name is kept, which the component's author chose.
const NAME_BYTES_MAX: usize = 256;
/// Bytes of a WebAssembly page.
const PAGE_BYTES: u64 = 64 << 10;

/// A tool or language that a component was made with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Producer {
    /// `language`, `processed-by` or `sdk`.
    pub field: String,
    pub name: String,
    pub version: String,
}

/// A role that a component exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ServedRole {
    pub role: Role,
    /// The contract's version that serves it.
    pub version: &'static str,
}

/// One of this project's interfaces in the version that a component was built against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Contract {
    /// Such as `witlet:admission/types`.
    pub interface: String,
    /// The version that it was built against.
    pub built_against: String,
    /// The version here that serves it; none if none does.
    pub served_by: Option<&'static str>,
}

/// Whether a component can start with the memory that its role has where a configuration says nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fit {
    pub role: Role,
    /// The role's default for `limits.memory`, in bytes.
    pub memory_bytes_default: usize,
    /// Why it can't start with that; none if it can.
    pub obstacle: Option<String>,
}

/// What a component says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Inspection {
    /// What it can be; empty if this host can't use it.
    pub roles: Vec<ServedRole>,
    /// This project's interfaces among its imports and exports, in their order.
    pub contracts: Vec<Contract>,
    /// Whether it can start within the default limits of each of its roles.
    pub fits: Vec<Fit>,
    /// Why this host can't use it, whatever it is granted; empty if it can, as far as names tell.
    pub obstacles: Vec<String>,
    /// The fields of `grants` without which it can't be loaded.
    pub needs_grants: Vec<&'static str>,
    /// The fields of `grants` that it may have use for, and is loaded without.
    pub may_use_grants: Vec<&'static str>,
    /// Interfaces that it imports.
    pub imports: Vec<String>,
    /// Imports that link and are always refused.
    pub denied: Vec<String>,
    pub exports: Vec<String>,
    pub size_bytes: usize,
    /// SHA-256 in hexadecimal.
    pub digest: String,
    /// What it was made with, sorted, each once.
    pub producers: Vec<Producer>,
    /// What its core modules declare, each counted once.
    #[serde(skip)]
    pub needs: StaticNeeds,
}

/// The bytes can't be read as a component.
#[derive(Debug, Error)]
pub enum InspectError {
    #[error(transparent)]
    NotAComponent(#[from] CompileError),
    /// They begin as one and break off or go wrong.
    #[error("the component is damaged at byte {offset}: {message}")]
    Damaged { offset: u64, message: String },
}

impl Inspection {
    /// Returns what it is for a host that grants it this, or everything that is in the way.
    pub(crate) fn detect(&self, granted: Capabilities) -> Result<Detected, Vec<Obstacle>> {
        detect(&self.imports, &self.exports, granted)
    }
}

fn detect(imports: &[String], exports: &[String], granted: Capabilities) -> Result<Detected, Vec<Obstacle>> {
    detect::detect(imports.iter().map(String::as_str), exports.iter().map(String::as_str), granted)
}

impl From<wasmparser::BinaryReaderError> for InspectError {
    fn from(error: wasmparser::BinaryReaderError) -> Self {
        Self::Damaged { offset: error.offset() as u64, message: printable(error.message(), NAME_BYTES_MAX) }
    }
}

/// Reads the component's sections.
///
/// # Errors
/// The bytes aren't a component, or a damaged one.
pub fn inspect(wasm: &[u8]) -> Result<Inspection, InspectError> {
    compile::check_header(wasm)?;
    let mut found = ComponentContents::default();
    for payload in Parser::new(0).parse_all(wasm) {
        found.take(payload?)?;
    }
    let ComponentContents { imports, exports, mut producers, needs, .. } = found;
    producers.sort();
    producers.dedup();
    let detected = detect(&imports, &exports, Capabilities::ALL);
    let (detected, obstacles) = match detected {
        Ok(detected) => (detected, Vec::new()),
        Err(obstacles) => (Detected::default(), obstacles.iter().map(ToString::to_string).collect()),
    };
    let roles: Vec<ServedRole> =
        detected.roles().into_iter().map(|(role, version)| ServedRole { role, version }).collect();
    let files = detected.waits() && imports.iter().any(|import| import.starts_with("wasi:filesystem/"));
    let needs_grants = [("secrets", detected.wants.secret), ("exec", detected.wants.exec)];
    let may_use_grants =
        [("network", detected.waits() && detected.network), ("files", files), ("state", files)];
    let names = |grants: &[(&'static str, bool)]| {
        grants.iter().filter(|(_, expected)| *expected).map(|(name, _)| *name).collect()
    };
    // What the engine of its roles has; that of admission has less.
    let mut denied = if detected.waits() { detected.denied_async } else { detected.denied };
    denied.extend(detected.unserved);
    Ok(Inspection {
        contracts: imports.iter().chain(&exports).filter_map(|name| contract(name)).collect(),
        fits: roles.iter().map(|served| fit(served.role, &needs)).collect(),
        roles,
        obstacles,
        needs_grants: names(&needs_grants),
        may_use_grants: names(&may_use_grants),
        imports,
        denied,
        exports,
        size_bytes: wasm.len(),
        digest: hex::encode(Sha256::digest(wasm)),
        producers,
        needs,
    })
}

/// One of this project's interfaces, by its name with a version.
fn contract(name: &str) -> Option<Contract> {
    let (interface, version) = name.split_once('@')?;
    if !interface.starts_with("witlet:") {
        return None;
    }
    let here = detect::versions_here(interface);
    let served_by = here.into_iter().find(|served| worlds::serves(served, version));
    Some(Contract { interface: interface.to_owned(), built_against: version.to_owned(), served_by })
}

/// Whether what it needs at its start fits a role's defaults.
fn fit(role: Role, needs: &StaticNeeds) -> Fit {
    let memory_bytes_default = match role {
        Role::Admission | Role::Probe => MEMORY_BYTES_DEFAULT,
        Role::PodSource => SOURCE_MEMORY_BYTES_DEFAULT,
    };
    let obstacle =
        needs.check(&Limits::with_memory(memory_bytes_default)).err().map(|error| error.to_string());
    Fit { role, memory_bytes_default, obstacle }
}

#[derive(Default)]
struct ComponentContents {
    /// How many modules and components the parser is inside of, the outermost not counted.
    depth: usize,
    imports: Vec<String>,
    exports: Vec<String>,
    producers: Vec<Producer>,
    needs: StaticNeeds,
}

impl ComponentContents {
    fn take(&mut self, payload: Payload<'_>) -> Result<(), InspectError> {
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => self.depth += 1,
            Payload::End(_) => self.depth = self.depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if self.depth == 0 => {
                for import in section.into_iter().take(ITEMS_MAX.saturating_sub(self.imports.len())) {
                    self.imports.push(printable(import?.name.name, NAME_BYTES_MAX));
                }
            }
            Payload::ComponentExportSection(section) if self.depth == 0 => {
                for export in section.into_iter().take(ITEMS_MAX.saturating_sub(self.exports.len())) {
                    self.exports.push(printable(export?.name.name, NAME_BYTES_MAX));
                }
            }
            Payload::MemorySection(section) => {
                for memory in section {
                    self.needs.memories += 1;
                    let bytes = memory?.initial.saturating_mul(PAGE_BYTES);
                    self.needs.memory_bytes = self.needs.memory_bytes.max(bytes);
                }
            }
            Payload::TableSection(section) => {
                for table in section {
                    self.needs.tables += 1;
                    self.needs.table_elements = self.needs.table_elements.max(table?.ty.initial);
                }
            }
            Payload::CustomSection(section) => {
                // Whatever is in a custom section, the component is none the worse for it: what can't be read says nothing.
                if let KnownCustom::Producers(producers) = section.as_known() {
                    let _ = self.take_producers(producers);
                }
            }
            // All other sections are the compiler's business.
            _ => {}
        }
        Ok(())
    }

    /// Takes what can be read of a section.
    fn take_producers(&mut self, section: ProducersSectionReader<'_>) -> wasmparser::Result<()> {
        for field in section {
            let field = field?;
            for value in field.values {
                let value = value?;
                if self.producers.len() < ITEMS_MAX {
                    self.producers.push(Producer {
                        field: printable(field.name, NAME_BYTES_MAX),
                        name: printable(value.name, NAME_BYTES_MAX),
                        version: printable(value.version, NAME_BYTES_MAX),
                    });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
