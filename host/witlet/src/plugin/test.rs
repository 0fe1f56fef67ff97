//! `witlet plugin test`: the conformance kit on a component.

mod watch;

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::Value;
use thiserror::Error;
use witlet_conformance::cases::{self, CaseFile, CasesError};
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
use watch::Watch;

/// The largest file that `--config` takes: as large as a PluginConfiguration.
const CONFIG_BYTES_MAX: u64 = witlet_wasm::plugin::config::FILE_BYTES_MAX as u64;

/// Why nothing could be examined, or the report couldn't be kept.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// There is no component.
    #[error(transparent)]
    Component(#[from] ComponentError),
    /// A case file isn't taken.
    #[error(transparent)]
    Cases(#[from] CasesError),
    /// A recorded call isn't taken.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A file can't be read.
    #[error("read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// A file is larger than any configuration.
    #[error("{} must have at most {CONFIG_BYTES_MAX} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// Words that are neither a file nor meant as a value.
    #[error("--config must be a file or a JSON object, found {words}")]
    NoConfig {
        /// As they were given.
        words: String,
    },
    /// A value is neither JSON nor YAML.
    #[error("{flag}: {message}")]
    Value {
        /// The flag.
        flag: &'static str,
        /// The parser's words.
        message: String,
    },
    /// A key can't be taken.
    #[error("--sign {}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// Why not.
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
    #[error("write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// The report has no JSON form.
    #[error("encode the report as JSON")]
    Json(#[source] serde_json::Error),
    /// There is no space for compiled code.
    #[error("create a temporary folder for compiled plugins")]
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
    let kit = Kit::start(CompilerConfig::new(args.cache.or(scratch.path().join("code"))))?;
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
    let values = [("--config", &args.config), ("--limits", &args.limits)];
    for (name, value) in values.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
        flag(name, value);
    }
    for grants in &args.grants {
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

/// As a shell takes it for one word.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@%+,=".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The key, and where what it signs goes.
fn signing(key: &Path, args: &TestArgs) -> Result<(SigningKey, PathBuf), Error> {
    let text = std::fs::read(key).map_err(|cause| Error::Read { path: key.to_owned(), cause })?;
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

/// A component with what it is asked, and with what it is loaded.
pub(super) struct Surroundings<'a> {
    pub(super) file: &'a str,
    pub(super) cases: &'a [PathBuf],
    pub(super) config: Option<&'a str>,
    pub(super) limits: Option<&'a str>,
    pub(super) grants: &'a [String],
}

impl Surroundings<'_> {
    /// The plan that has them, and nothing else.
    pub(super) fn plan(&self) -> Result<Plan, Error> {
        let cases = match self.cases {
            // Only a file has something next to it.
            [] if self.file.contains(':') => Vec::new(),
            [] => cases::next_to(Path::new(self.file))?,
            named => named
                .iter()
                .map(|path| cases::find(path))
                .collect::<Result<Vec<Vec<CaseFile>>, _>>()?
                .concat(),
        };
        let mut grants = Value::Null;
        for text in self.grants {
            merge(&mut grants, value("--grants", text)?);
        }
        let config = self.config.map(config).transpose()?;
        let limits = self.limits.map(|text| value("--limits", text)).transpose()?.unwrap_or_default();
        Ok(Plan { cases, config, limits, grants, ..Plan::default() })
    }
}

/// What the command line asks for.
fn plan(args: &TestArgs) -> Result<Plan, Error> {
    let surroundings = Surroundings {
        file: &args.file,
        cases: &args.cases,
        config: args.config.as_deref(),
        limits: args.limits.as_deref(),
        grants: &args.grants,
    };
    let standard = surroundings.plan()?;
    Ok(Plan {
        records: args.record.iter().map(|path| read(path)).collect::<Result<_, _>>()?,
        seed: args.seed.unwrap_or(standard.seed),
        layers: layers(&args.only, &args.skip),
        property_cases: args.property_cases.unwrap_or(standard.property_cases),
        ..standard
    })
}

/// What is left of all layers.
fn layers(only: &[Layer], skip: &[Layer]) -> BTreeSet<Layer> {
    let is_chosen = |layer: &Layer| (only.is_empty() || only.contains(layer)) && !skip.contains(layer);
    Layer::ALL.into_iter().filter(is_chosen).collect()
}

/// A file, or the value itself.
fn config(text: &str) -> Result<Value, Error> {
    let path = Path::new(text);
    if !path.is_file() {
        let value = value("--config", text)?;
        // Who means a text writes it as JSON does; a bare word is a file's name that is misspelt.
        let quoted = text.trim_start().starts_with(['"', '\'']);
        if value.is_string() && !quoted {
            return Err(Error::NoConfig { words: text.to_owned() });
        }
        return Ok(value);
    }
    let content = bounded::read_text(path, CONFIG_BYTES_MAX).map_err(|cause| {
        let path = path.to_owned();
        if cause.kind() == ErrorKind::FileTooLarge {
            Error::TooLarge { path }
        } else {
            Error::Read { path, cause }
        }
    })?;
    value("--config", &content)
}

/// JSON, or the YAML that is easier to type.
fn value(flag: &'static str, text: &str) -> Result<Value, Error> {
    serde_saphyr::from_str(text).map_err(|error| Error::Value { flag, message: error.to_string() })
}

/// Fields of several grants side by side; a later one takes an earlier one's place.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => into.extend(from),
        (into, from) => *into = from,
    }
}

#[cfg(test)]
mod tests;
