//! `witlet plugin test`: the conformance kit on a component.

mod watch;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use thiserror::Error;
use witlet_conformance::{Kit, KitError, Layer, Plan, Report, Subject, attest};
use witlet_node::SystemClock;
use witlet_ports::Clock;
use witlet_wasm::attestation::{KeyError, SigningKey};
use witlet_wasm::compile::CompilerConfig;
use witlet_wasm::record::{RecordError, read};

use crate::bounded;
use crate::cli::{ReportFormat, TestArgs};
use crate::output::{OutputError, print};
use crate::plugin::component::{self, ComponentError};
use crate::plugin::entry::{self, EntryError};
use watch::Watch;

/// Bytes of the largest file with a key.
const KEY_BYTES_MAX: u64 = 64 << 10;

/// Why nothing could be examined, or the report couldn't be kept.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// There is no component.
    #[error(transparent)]
    Component(#[from] ComponentError),
    /// Cases, a configuration, limits or grants aren't taken.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// A recorded call isn't taken.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A file can't be read.
    #[error("failed to read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// A key can't be taken.
    #[error("--sign {}", path.display())]
    Key {
        path: PathBuf,
        #[source]
        cause: KeyError,
    },
    /// Only a file has a place for its report next to it.
    #[error("--sign of {component} needs --attestation, the file for the signed report")]
    NoPlace {
        /// As it was named.
        component: String,
    },
    /// A report can't be kept.
    #[error("failed to write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// The report has no JSON form.
    #[error("failed to encode the report as JSON")]
    Json(#[source] serde_json::Error),
    /// There is no space for compiled code.
    #[error("failed to create a temporary folder for compiled plugins")]
    Scratch(#[source] std::io::Error),
    /// The kit can't be started.
    #[error(transparent)]
    Kit(#[from] KitError),
    /// The report can't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Examines the component, and prints or keeps the report. Whether it passed.
pub(crate) async fn run(args: &TestArgs) -> Result<bool, Error> {
    let component = component::read(&args.file, &args.registry).await?;
    let plan = plan(args)?;
    // Before minutes of work: a key that can't be read, or a report without a place.
    let signing = args.sign.as_deref().map(|key| signing(key, args)).transpose()?;
    let scratch = tempfile::tempdir().map_err(Error::Scratch)?;
    let kit = Kit::start(CompilerConfig::foreground(args.cache.or(scratch.path().join("code"))))?;
    let subject = Subject { name: component.name, wasm: component.wasm };
    let watch = Watch::start();
    let report = kit.examine(&subject, &plan, &watch).await?;
    watch.finish();
    let text = render(&report, args)?;
    match &args.output_file {
        Some(path) => {
            keep(path, text.as_bytes())?;
            print(&format!("{}\n", report.summary()))?;
        }
        None => print(&text)?,
    }
    if let Some((key, path)) = signing {
        // Also what didn't pass: who demands reports decides what that means.
        keep(&path, &attest::statement(&report, SystemClock.now()).sign(&key))?;
    }
    Ok(report.passed())
}

fn render(report: &Report, args: &TestArgs) -> Result<String, Error> {
    match args.output {
        ReportFormat::Human => Ok(report.human(&command(args))),
        ReportFormat::Junit => Ok(report.junit()),
        ReportFormat::Json => {
            let mut text = serde_json::to_string_pretty(report).map_err(Error::Json)?;
            text.push('\n');
            Ok(text)
        }
    }
}

/// The command that examines it so again, for a shell, without what chooses layers and inputs.
fn command(args: &TestArgs) -> String {
    let mut words = vec!["witlet plugin test".to_owned(), quoted(&args.file)];
    let mut flag = |name: &str, value: &str| words.push(format!("{name} {}", quoted(value)));
    for path in &args.cases {
        flag("--cases", &path.display().to_string());
    }
    let values = [("--config", &args.entry.config), ("--limits", &args.entry.limits)];
    for (name, value) in values.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
        flag(name, value);
    }
    for grants in &args.entry.grants {
        flag("--grants", grants);
    }
    for path in &args.record {
        flag("--record", &path.display().to_string());
    }
    if let Some(path) = &args.registry.registry_credentials {
        flag("--registry-credentials", &path.display().to_string());
    }
    if args.registry.plain_http {
        words.push("--plain-http".to_owned());
    }
    words.join(" ")
}

/// Quotes a text so that a shell takes it for one word.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@%+,=".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The key, and where what it signs goes.
fn signing(key: &Path, args: &TestArgs) -> Result<(SigningKey, PathBuf), Error> {
    let text = bounded::read(key, KEY_BYTES_MAX);
    let text = text.map_err(|cause| Error::Read { path: key.to_owned(), cause })?;
    let signing = SigningKey::from_pem(&text).map_err(|cause| Error::Key { path: key.to_owned(), cause })?;
    let place = match &args.attestation {
        Some(path) => path.clone(),
        None if args.file.contains(':') => return Err(Error::NoPlace { component: args.file.clone() }),
        None => PathBuf::from(format!("{}.conformance.json", args.file)),
    };
    Ok((signing, place))
}

fn keep(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    std::fs::write(path, bytes).map_err(|cause| Error::Write { path: path.to_owned(), cause })
}

/// Returns what the command line asks for.
fn plan(args: &TestArgs) -> Result<Plan, Error> {
    let standard = entry::plan(&args.file, &args.cases, &args.entry)?;
    Ok(Plan {
        records: args.record.iter().map(|path| read(path)).collect::<Result<_, _>>()?,
        seed: args.seed.unwrap_or(standard.seed),
        layers: layers(&args.only, &args.skip),
        property_cases: args.property_cases.unwrap_or(standard.property_cases),
        ..standard
    })
}

/// Returns what is left of all layers.
fn layers(only: &[Layer], skip: &[Layer]) -> BTreeSet<Layer> {
    let is_chosen = |layer: &Layer| (only.is_empty() || only.contains(layer)) && !skip.contains(layer);
    Layer::ALL.into_iter().filter(is_chosen).collect()
}

#[cfg(test)]
mod tests;
