//! `witlet plugin bench`: how large a component is, how fast it loads and answers, and what it takes, next to the least that a
//! call can cost on the same machine at the same time.

mod measure;
pub(crate) mod shown;
mod times;

use std::path::PathBuf;

use thiserror::Error;
use witlet_conformance::bench::{AskError, RehearsalError};
use witlet_conformance::{KitError, Subject};
use witlet_wasm::direct::floor::FloorError;
use witlet_wasm::role::Role;

use crate::cli::{BenchArgs, OutputFormat};
use crate::output::{OutputError, print, structured};
use crate::plugin::component::{self, ComponentError};
use crate::plugin::entry::{self, EntryError};

/// Why there are no figures.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// There is nothing to measure.
    #[error(transparent)]
    Component(#[from] ComponentError),
    /// The component can't be used here at all.
    #[error("{file} has no role that this release supports: {}", obstacles.join("; "))]
    NoRole {
        /// As it was named.
        file: String,
        obstacles: Vec<String>,
    },
    /// The component doesn't have the role that was asked for.
    #[error("{file} does not have the role {requested}, it has {}", has.iter().map(|role| role.as_str()).collect::<Vec<_>>().join(", "))]
    OtherRole {
        /// As it was named.
        file: String,
        /// What was asked for.
        requested: Role,
        has: Vec<Role>,
    },
    /// Cases, a configuration, limits or grants aren't taken.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// There is no space for compiled code.
    #[error("failed to create a temporary folder for compiled plugins")]
    Scratch(#[source] std::io::Error),
    /// The plugin host doesn't start.
    #[error(transparent)]
    Kit(#[from] KitError),
    /// The plugin can't be loaded, or there is nothing to ask it.
    #[error(transparent)]
    Rehearsal(#[from] RehearsalError),
    /// The plugin doesn't answer.
    #[error("failed to run case {case:?}, call {call}")]
    Ask {
        case: String,
        /// Which call of the measurement, from 1.
        call: u32,
        #[source]
        cause: AskError,
    },
    /// There is nothing to compare with.
    #[error(transparent)]
    Floor(#[from] FloorError),
    /// The answer can't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Measures the component in its roles, and prints the figures.
pub(crate) async fn run(args: &BenchArgs) -> Result<(), Error> {
    let component = component::read(&args.file, &args.registry).await?;
    let inspection = component::inspected(&args.file, &component.wasm)?;
    let has: Vec<Role> = inspection.roles.iter().map(|served| served.role).collect();
    let roles = roles(&args.file, &has, args.role.map(role), &inspection.obstacles)?;
    let plan = entry::plan(&args.file, &args.cases, &args.entry)?;
    let subject = Subject { name: component.name.clone(), wasm: component.wasm.clone() };
    let mut results = Vec::with_capacity(roles.len());
    for role in roles {
        results.push(measure::measure(&subject, &plan, role, args).await?);
    }
    let benchmark = shown::Benchmark { name: component.name, inspection, results };
    let text = match args.output {
        OutputFormat::Table | OutputFormat::Wide => benchmark.for_people(),
        OutputFormat::Json | OutputFormat::Yaml => structured(&benchmark.for_programs(), args.output)?,
    };
    Ok(print(&text)?)
}

/// The roles to measure: the requested one, or all.
fn roles(
    file: &str,
    has: &[Role],
    requested: Option<Role>,
    obstacles: &[String],
) -> Result<Vec<Role>, Error> {
    match requested {
        _ if has.is_empty() => Err(Error::NoRole { file: file.to_owned(), obstacles: obstacles.to_vec() }),
        None => Ok(has.to_vec()),
        Some(requested) if has.contains(&requested) => Ok(vec![requested]),
        Some(requested) => Err(Error::OtherRole { file: file.to_owned(), requested, has: has.to_vec() }),
    }
}

/// The command line's word for a role.
fn role(role: witlet_templates::Role) -> Role {
    match role {
        witlet_templates::Role::Admission => Role::Admission,
        witlet_templates::Role::Probe => Role::Probe,
        witlet_templates::Role::PodSource => Role::PodSource,
    }
}

/// Where compiled code goes: nothing of an earlier run is there.
fn scratch() -> Result<(tempfile::TempDir, PathBuf), Error> {
    let folder = tempfile::tempdir().map_err(Error::Scratch)?;
    let code = folder.path().join("code");
    Ok((folder, code))
}

#[cfg(test)]
mod tests;
