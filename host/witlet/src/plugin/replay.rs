//! `witlet plugin replay`: asks a recorded question again, and says whether the answer is the same.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use thiserror::Error;
use witlet_conformance::cases::{NoCaseError, of_recording};
use witlet_node::SystemClock;
use witlet_ports::OCI_SCHEME;
use witlet_wasm::compile::CompilerConfig;
use witlet_wasm::plugin::config::{self, ComponentSource, ConfigError, PluginEntry};
use witlet_wasm::record::replay::{GivenData, Identity, ReplayError, Replayed, digest_of, replay};
use witlet_wasm::record::{RecordError, RecordedCall, RecordedRequest, RecordedResponse, read};

use super::component::{self, ComponentError};
use super::list::{bytes, fields, seconds};
use crate::bounded;
use crate::cli::{OutputFormat, RegistryArgs, ReplayArgs};
use crate::get::table::one_line;
use crate::output::{OutputError, print, structured};

/// Why there is nothing to compare.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// The file is no recorded call.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The component can't be had.
    #[error(transparent)]
    Component(#[from] ComponentError),
    /// The configuration can't be read.
    #[error("failed to read {}", path.display())]
    Plugins {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// The configuration is wrong.
    #[error("{}", path.display())]
    Configuration {
        path: PathBuf,
        #[source]
        cause: ConfigError,
    },
    /// The configuration doesn't have the plugin.
    #[error("{} has no plugin {name:?}: set its component with --component", path.display())]
    NoEntry { path: PathBuf, name: String },
    /// The component is nowhere that can be asked.
    #[error(
        "the component of {name:?} came from {from} and is not on this machine: set a file with --component"
    )]
    Elsewhere {
        name: String,
        /// `builtin`, or a file whose folder isn't known.
        from: String,
    },
    /// What `--data` says is no name with a file.
    #[error("--data must be NAME=FILE, found {text:?}")]
    DataFlag { text: String },
    /// A file of `--data` can't be read.
    #[error("failed to read {}", path.display())]
    Data {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// There is no space for compiled code.
    #[error("failed to create a temporary folder for compiled plugins")]
    Scratch(#[source] std::io::Error),
    /// The question can't be asked again.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The call is no case.
    #[error(transparent)]
    NoCase(#[from] NoCaseError),
    /// The answer can't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Prints both answers. Whether they are the same. With `--to-case` the call is printed as a case, and nothing is asked.
pub(crate) async fn run(args: &ReplayArgs) -> Result<bool, Error> {
    let call = read(&args.file)?;
    if args.to_case {
        let case = of_recording(&call, &data(&args.data)?)?;
        let format = if args.output == OutputFormat::Json { args.output } else { OutputFormat::Yaml };
        print(&structured(&case, format)?)?;
        return Ok(true);
    }
    let (wasm, identity) = match &args.component {
        Some(component) => (component::read(component, &args.registry).await?.wasm, Identity::Any),
        None => (recorded(&call, args).await?, Identity::Recorded),
    };
    let scratch = tempfile::tempdir().map_err(Error::Scratch)?;
    let compiler = CompilerConfig::foreground(args.cache.or(scratch.path().join("code")));
    let data = data(&args.data)?;
    let replayed = replay(&call, wasm, data, identity, compiler, Arc::new(SystemClock)).await?;
    let text = match args.output {
        OutputFormat::Table | OutputFormat::Wide => for_people(&call, &replayed),
        OutputFormat::Json | OutputFormat::Yaml => structured(&for_programs(&call, &replayed), args.output)?,
    };
    print(&text)?;
    Ok(replayed.same)
}

/// The files that `--data` names.
pub(super) fn data(flags: &[String]) -> Result<GivenData, Error> {
    let one = |text: &String| {
        let (name, path) = text.split_once('=').ok_or_else(|| Error::DataFlag { text: text.clone() })?;
        let bytes = std::fs::read(path).map_err(|cause| Error::Data { path: path.into(), cause })?;
        Ok((name.to_owned(), bytes))
    };
    flags.iter().map(one).collect()
}

/// The recorded component: one that ships if it has the digest, else what the configuration or the recording names.
async fn recorded(call: &RecordedCall, args: &ReplayArgs) -> Result<Arc<[u8]>, Error> {
    if let Some(shipped) = shipped().find(|wasm| digest_of(wasm) == call.digest) {
        return Ok(shipped.into());
    }
    let elsewhere = |from: &str| Error::Elsewhere { name: call.plugin.clone(), from: from.to_owned() };
    let named = match args.plugins.as_deref() {
        Some(file) => configured(call, file)?,
        None => Named { component: call.component.clone(), credentials: None },
    };
    let component = &named.component;
    if !Path::new(component).is_absolute() && !component.starts_with(OCI_SCHEME) {
        return Err(elsewhere(component));
    }
    Ok(named.read(&args.registry).await?)
}

/// Where a component is, as a configuration says.
pub(super) struct Named {
    component: String,
    credentials: Option<PathBuf>,
}

impl Named {
    /// Returns its bytes.
    pub(super) async fn read(&self, registry: &RegistryArgs) -> Result<Arc<[u8]>, ComponentError> {
        // What the command says wins.
        let registry_credentials = registry.registry_credentials.clone().or_else(|| self.credentials.clone());
        let registry = RegistryArgs { registry_credentials, ..registry.clone() };
        Ok(component::read(&self.component, &registry).await?.wasm)
    }
}

/// Returns what the configuration's entry says of the recorded plugin.
fn configured(call: &RecordedCall, file: &Path) -> Result<Named, Error> {
    Ok(named(entry(&call.plugin, file)?.component, file))
}

/// The entry with this name of a plugin file.
pub(super) fn entry(name: &str, file: &Path) -> Result<PluginEntry, Error> {
    let text = bounded::read_text(file, config::FILE_BYTES_MAX as u64)
        .map_err(|cause| Error::Plugins { path: file.to_owned(), cause })?;
    let shipped: Vec<&str> = witlet_plugins::SHIPPED.iter().map(|shipped| shipped.name).collect();
    let configured =
        config::parse(&text, config::Shipped { reserved: &[], probe_types: &[], components: &shipped })
            .map_err(|cause| Error::Configuration { path: file.to_owned(), cause })?;
    let entry = configured.plugins.into_iter().find(|entry| entry.name == name);
    entry.ok_or_else(|| Error::NoEntry { path: file.to_owned(), name: name.to_owned() })
}

/// Where a component is that an entry of this file names.
pub(super) fn named(component: ComponentSource, file: &Path) -> Named {
    let next_to = |path: PathBuf| {
        let path = file.parent().unwrap_or(Path::new(".")).join(path);
        // Where the working folder is gone, the path as it was given is the best there is.
        std::path::absolute(&path).unwrap_or(path)
    };
    match component {
        ComponentSource::File(path) => {
            Named { component: next_to(path).to_string_lossy().into_owned(), credentials: None }
        }
        ComponentSource::Shipped(name) => Named { component: format!("builtin:{name}"), credentials: None },
        ComponentSource::Registry { reference, credentials } => {
            Named { component: reference.to_string(), credentials: credentials.map(next_to) }
        }
    }
}

fn shipped() -> impl Iterator<Item = &'static [u8]> {
    let all = [witlet_plugins::ADMISSION, witlet_plugins::PROBES, witlet_plugins::SHIPPED];
    all.into_iter().flatten().map(|shipped| shipped.component)
}

/// Both answers.
pub(crate) fn for_programs(call: &RecordedCall, replayed: &Replayed) -> serde_json::Value {
    let Replayed { answer, took, memory_bytes_peak, lines, digest, same, commands } = replayed;
    json!({
        "plugin": call.plugin,
        "role": call.question.role(),
        "same": same,
        "recorded": {
            "digest": call.digest,
            "at": call.recorded_at.to_string(),
            "tookSeconds": Duration::from_nanos(call.took_nanoseconds).as_secs_f64(),
            "answer": call.answer,
        },
        "now": {
            "digest": digest,
            "tookSeconds": took.as_secs_f64(),
            "memoryBytesPeak": memory_bytes_peak,
            "answer": answer,
            "log": lines,
        },
        "commands": commands,
    })
}

fn for_people(call: &RecordedCall, replayed: &Replayed) -> String {
    let Replayed { answer, took, memory_bytes_peak, lines, digest, same, commands } = replayed;
    let short = |digest: &str| digest.chars().take(12).collect::<String>();
    let then = Duration::from_nanos(call.took_nanoseconds);
    let mut text = String::new();
    let mut line = |name: &str, value: String| text.push_str(&format!("{name:<10} {}\n", one_line(&value)));
    line("plugin", format!("{} ({})", call.plugin, call.question.role()));
    line("question", request_text(&call.question));
    line(
        "recorded",
        format!(
            "{}, in {} by {} at {}",
            response_text(&call.answer),
            seconds(then.as_secs_f64()),
            short(&call.digest),
            call.recorded_at
        ),
    );
    line(
        "now",
        format!("{}, in {} by {}", response_text(answer), seconds(took.as_secs_f64()), short(digest)),
    );
    if *memory_bytes_peak > 0 {
        line("memory", bytes(*memory_bytes_peak as u64));
    }
    for logged in lines {
        let fields = fields(&logged.fields);
        line("log", format!("{}: {}{fields}", logged.level, logged.message));
    }
    if let Some(commands) = commands {
        line("commands", commands.clone());
    }
    line("result", if *same { "same answer" } else { "different answer" }.to_owned());
    text
}

fn request_text(question: &RecordedRequest) -> String {
    match question {
        RecordedRequest::Admission(request) => {
            let request = request.request();
            let metadata = &request.pod.metadata;
            let part = |part: &Option<String>| part.clone().unwrap_or_default();
            format!(
                "{:?} {}/{} with {} other pods",
                request.operation,
                part(&metadata.namespace),
                part(&metadata.name),
                request.other_pods.len()
            )
        }
        RecordedRequest::Probe(probe) => {
            let metadata = &probe.pod.metadata;
            let part = |part: &Option<String>| part.clone().unwrap_or_default();
            format!(
                "{} of {} in {}/{} with {}",
                probe.kind,
                probe.container,
                part(&metadata.namespace),
                part(&metadata.name),
                probe.parameters
            )
        }
        RecordedRequest::PodSource(source) => format!("poll after {:?}", source.cursor),
    }
}

pub(super) fn response_text(answer: &RecordedResponse) -> String {
    match answer {
        RecordedResponse::Admit => "admit".to_owned(),
        RecordedResponse::Reject { reason, message } => format!("reject {reason}: {message}"),
        RecordedResponse::Defer { reason, message, retry_after_milliseconds } => {
            format!("defer {reason}: {message} (again after {retry_after_milliseconds}ms)")
        }
        RecordedResponse::Shortage { resources } => format!("shortage of {}", resources.join("; ")),
        RecordedResponse::Success { detail } => format!("success: {detail}"),
        RecordedResponse::Warning { detail } => format!("warning: {detail}"),
        RecordedResponse::Failure { detail } => format!("failure: {detail}"),
        RecordedResponse::Unchanged { .. } => "unchanged".to_owned(),
        RecordedResponse::Pods { manifests, .. } => format!("{} pods", manifests.len()),
        RecordedResponse::Empty { .. } => "no pods".to_owned(),
        RecordedResponse::Fault { reason, message } => format!("fault {reason}: {message}"),
        RecordedResponse::Failed { outcome, message } => format!("failed ({outcome}): {message}"),
    }
}

#[cfg(test)]
pub(crate) mod tests;
