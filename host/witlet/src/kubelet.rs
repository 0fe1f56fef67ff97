//! Called as the kubelet: its flags and its configuration files, read as it reads them, lead to the same [`Settings`] as
//! `witlet run`.

pub(crate) mod configuration;
mod effective_config;
mod flags;
mod gates;
mod help;
mod settings;

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bounded;
use crate::cli::COMPONENT_CACHE_VARIABLE;
use crate::logging::options::LogOptions;
use crate::settings::Settings;
use configuration::{Configuration, ConfigurationError};
use flags::table::Own;
use flags::{FlagError, Flags};
use gates::GateError;
pub(crate) use gates::GateMetrics;
use settings::{LoggingError, Machine, SettingsError};

#[cfg(test)]
mod tests;

/// The release of Kubernetes whose kubelet this one stands in for. Tools ask for it with `--version` and compare it.
pub(crate) const KUBERNETES_VERSION: &str = "v1.36.0";

/// The name that makes it the kubelet, as the program's or as the first word.
const NAME: &str = "kubelet";

/// How long a configuration file may be.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// How many files and folders below `--config-dir` are checked.
const FOLDER_ENTRIES_MAX: usize = 10_000;

/// The ending of files in `--config-dir` that count.
const DROP_IN_ENDING: &str = "conf";

/// There on cgroup v2 only.
const CGROUP_V2_FILE: &str = "/sys/fs/cgroup/cgroup.controllers";

/// Why the kubelet doesn't start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KubeletError {
    /// The command line can't be understood.
    #[error("failed to parse kubelet flag: {0}")]
    Flags(FlagError),
    /// The command line isn't UTF-8.
    #[error("failed to parse kubelet flag: {argument:?} is not UTF-8")]
    Encoding {
        /// As it was given.
        argument: OsString,
    },
    /// A file can't be read.
    #[error("failed to load kubelet config file {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// A file isn't what it should be.
    #[error("failed to load kubelet config file")]
    Configuration(#[from] ConfigurationError),
    /// The drop-ins are too many.
    #[error("--config-dir {}: more than {FOLDER_ENTRIES_MAX} files and folders", folder.display())]
    TooMany { folder: PathBuf },
    /// Feature gates that can't be set like this.
    #[error("failed to set feature gates from initial flags-based config: {0}")]
    Gates(#[from] GateError),
    /// A log that can't be.
    #[error(transparent)]
    Logging(#[from] LoggingError),
    /// Settings that make no sense, or a machine that they refuse.
    #[error("failed to validate kubelet configuration")]
    Settings(#[from] SettingsError),
}

/// What a command line asks for.
#[derive(Debug)]
pub(crate) enum Invocation {
    /// The text to print.
    Text(String),
    Run(Box<Start>),
}

/// How the agent starts.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) settings: Settings,
    /// What is logged, how and where.
    pub(crate) log: LogOptions,
    /// What was asked for and isn't done, a sentence each.
    pub(crate) warnings: Vec<String>,
}

/// The kubelet's arguments, if the program was called as the kubelet: by that name, or with it as the first word. Commands of
/// witlet's stay its own whatever it is called, because it calls itself.
pub(crate) fn arguments(all: &[OsString], is_command: impl Fn(&str) -> bool) -> Option<&[OsString]> {
    let (program, rest) = all.split_first()?;
    let first = rest.first().and_then(|word| word.to_str()).unwrap_or_default();
    if first == NAME {
        return Some(&rest[1..]);
    }
    let name = Path::new(program).file_name().and_then(OsStr::to_str).unwrap_or_default();
    (name.ends_with(NAME) && !is_command(first)).then_some(rest)
}

/// Reads the command line, and the files that it names.
pub(crate) fn read(arguments: &[OsString]) -> Result<Invocation, KubeletError> {
    let mut texts = Vec::new();
    for argument in arguments {
        let text = argument.to_str().ok_or_else(|| KubeletError::Encoding { argument: argument.clone() })?;
        texts.push(text.to_owned());
    }
    let flags = flags::parse(&texts).map_err(KubeletError::Flags)?;
    if flags.is_on(Own::Help) {
        return Ok(Invocation::Text(help::text()));
    }
    if let Some(version) = flags.text(Own::Version).filter(|version| *version != "false") {
        return Ok(Invocation::Text(version_text(version)));
    }
    let mut found = Configuration::default();
    if let Some(path) = flags.text(Own::Config) {
        found = read_file(Path::new(path), Configuration::read)?;
    }
    if let Some(folder) = flags.text(Own::ConfigDir) {
        for path in drop_ins(Path::new(folder))? {
            let drop_in = read_file(&path, Configuration::read_drop_in)?;
            if drop_in.sets_eviction() && flags.text(Own::Config).is_some() {
                found.default_eviction();
            }
            found.overlay(drop_in);
        }
    }
    let mut start = start(&flags, found, machine())?;
    start.settings.folders.component_cache = std::env::var_os(COMPONENT_CACHE_VARIABLE).map(PathBuf::from);
    Ok(Invocation::Run(Box::new(start)))
}

/// The pure part: flags over files, and what they come to.
fn start(flags: &Flags, mut found: Configuration, machine: Machine) -> Result<Start, KubeletError> {
    found.override_by(flags.fields.clone());
    let mut settings = settings::settings(flags, &found, machine)?;
    gates::check(&settings.feature_gates)?;
    let log = settings::log_options(flags, &found)??;
    let mut warnings = found.oddities().to_vec();
    warnings.extend(flags.deprecated.iter().cloned());
    warnings.extend(flags.not_yet.iter().map(|name| format!("flag --{name} has no effect in this release")));
    warnings.extend(found.not_yet().into_iter().map(|path| match flags::name_of(path) {
        Some(name) => format!("field {path} (--{name}) has no effect with this value in this release"),
        None => format!("field {path} has no effect with this value in this release"),
    }));
    warnings.extend(
        gates::not_yet(&settings.feature_gates)
            .into_iter()
            .map(|gate| format!("feature gate {gate} has no effect with this value in this release")),
    );
    settings.feature_gates = gates::resolved(&settings.feature_gates);
    Ok(Start { settings, log, warnings })
}

/// What a kubelet would start with.
#[derive(Clone, Debug, PartialEq)]
pub struct Preview {
    /// What `/configz` would show.
    pub configz: Value,
    /// What was asked for and isn't done, or passed over in the files, a sentence each.
    pub warnings: Vec<String>,
}

/// Returns what a kubelet with this command line and the texts of these configuration files would start with, on a machine with cgroups of
/// version 2 and without swap. A later file lies over an earlier one. Files that flags name aren't read.
///
/// # Errors
///
/// Why it wouldn't start, as it would say it.
pub fn preview(
    arguments: &[String],
    files: &[(PathBuf, String)],
) -> Result<Preview, Box<dyn Error + Send + Sync>> {
    let flags = flags::parse(arguments).map_err(KubeletError::Flags)?;
    let mut found = Configuration::default();
    for (path, text) in files {
        found.overlay(Configuration::read(path, text)?);
    }
    let Start { settings, warnings, .. } = start(&flags, found, Machine::default())?;
    Ok(Preview { configz: settings.configz, warnings })
}

/// The release of Kubernetes, with this project's own version as the build's.
pub(crate) fn own_version() -> String {
    format!("{KUBERNETES_VERSION}+witlet.{}", env!("CARGO_PKG_VERSION"))
}

/// Returns the text as the kubelet says it.
fn version_text(asked: &str) -> String {
    let version = own_version();
    if asked == "raw" {
        return format!("version.Info{{GitVersion:\"{version}\"}}\n");
    }
    format!("Kubernetes {version}\n")
}

fn read_file(
    path: &Path,
    read: fn(&Path, &str) -> Result<Configuration, ConfigurationError>,
) -> Result<Configuration, KubeletError> {
    let failed = |cause| KubeletError::Read { path: path.to_owned(), cause };
    // Relative paths in the file are below its folder, wherever the agent goes.
    let path = std::path::absolute(path).map_err(failed)?;
    let text = bounded::read_text(&path, FILE_BYTES_MAX).map_err(failed)?;
    Ok(read(&path, &text)?)
}

/// Files of `--config-dir`, in the order in which they lie over each other: that of their paths.
fn drop_ins(folder: &Path) -> Result<Vec<PathBuf>, KubeletError> {
    let (mut found, mut waiting, mut seen) = (Vec::new(), vec![folder.to_owned()], 0);
    while let Some(next) = waiting.pop() {
        let failed = |cause| KubeletError::Read { path: next.clone(), cause };
        for entry in std::fs::read_dir(&next).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            seen += 1;
            if seen > FOLDER_ENTRIES_MAX {
                return Err(KubeletError::TooMany { folder: folder.to_owned() });
            }
            let path = entry.path();
            if entry.file_type().map_err(failed)?.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|ending| ending == DROP_IN_ENDING) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Returns what upstream checks before it starts.
fn machine() -> Machine {
    Machine { cgroup_v1: !Path::new(CGROUP_V2_FILE).exists(), swap: witlet_node::has_swap() }
}
