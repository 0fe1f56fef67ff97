//! The `--plugins` file: a `PluginConfiguration` of `witlet.dev/v1alpha1`, read strictly.
//!
//! What can't take effect is refused by the field's name, never ignored: a grant or a limit that silently does nothing
//! would be worse than an error.

mod component;
mod conformance;
mod data;
mod document;
mod features;
mod file;
mod grants;
mod matches;
mod record;
mod roles;
mod rollout;
mod set;
mod shadow;
mod values;
mod variables;

pub(crate) use component::BUILTIN_SCHEME;
pub use component::{ComponentSource, not_shipped};
pub use conformance::{CONFORMANCE_KEYS_MAX, RequiredConformance, RequiredSignature};
pub use data::{DATA_ALL_MAX, DATA_MAX, DataEntry, DataSource, RemoteData};
pub(crate) use features::has_feature;
pub use features::{FEATURES, Feature, REQUIRES_MAX, SkippedEntry};
pub use grants::{FileGrant, Grants, STATE_PATH};
pub use matches::{EXCLUSIONS_MAX, MATCH_ITEMS_MAX};
pub use roles::{AdmissionMode, AdmissionRole, PodSourceRole, ProbeRole};
pub use rollout::{MIN_CALLS_MAX, RolloutRole, SOAK_MAX};
pub use set::{SetFileKind, SetFileName, engines_of_set, files_of_set};
pub use values::Globs;
pub use variables::VARIABLES_MAX;
pub(crate) use variables::{Values, fill, values as variable_values};

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use thiserror::Error;
use witlet_core::text::shortened;

use crate::record::Recording;
use document::{EntryDocument, SecretDocument, WarmDocument};

/// `apiVersion` of the file.
pub const API_VERSION: &str = "witlet.dev/v1alpha1";
/// `kind` of the file.
pub const KIND: &str = "PluginConfiguration";
/// How long one call of an admission handler may take unless its entry says otherwise.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_millis(100);
/// The longest timeout that an admission handler can be given: admission holds up every other pod.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(10);
/// How long pods wait for an admission handler that is being loaded unless its entry says otherwise.
pub const LOAD_TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);
/// The longest that an entry can have them wait.
pub const LOAD_TIMEOUT_MAX: Duration = Duration::from_secs(600);
/// How long one poll of a pod source may take unless its entry says otherwise: a long poll waits for news.
pub const SOURCE_TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);
/// The longest timeout that a pod source can be given.
pub const SOURCE_TIMEOUT_MAX: Duration = Duration::from_secs(300);
/// How much memory an admission handler or a probe type may have unless its entry says otherwise.
pub const MEMORY_BYTES_DEFAULT: usize = 16 << 20;
/// How much memory a pod source may have unless its entry says otherwise.
pub const SOURCE_MEMORY_BYTES_DEFAULT: usize = 64 << 20;
/// How often a pod source is asked unless its entry or its own answer says otherwise.
pub const INTERVAL_DEFAULT: Duration = Duration::from_secs(10);
/// The shortest interval that can be configured.
pub const INTERVAL_MIN: Duration = Duration::from_secs(1);
/// The longest interval that can be configured.
pub const INTERVAL_MAX: Duration = Duration::from_secs(24 * 3600);
/// How many plugins can be configured.
pub const PLUGINS_MAX: usize = 64;
/// How many secrets can be configured.
pub const SECRETS_MAX: usize = 64;
/// How many grants of one kind an entry can have.
pub const GRANTS_MAX: usize = 64;
/// How large the file may be.
pub const FILE_BYTES_MAX: usize = 1 << 20;
/// How many instances can be kept warm.
pub const WARM_MAX: usize = 16;
/// Idle time of warm instances unless the entry says otherwise.
pub const WARM_IDLE_DEFAULT: Duration = Duration::from_secs(60);
/// Uses of a warm instance unless the entry says otherwise.
pub const WARM_USES_DEFAULT: u64 = 1000;
/// Place among the configured plugins unless the entry says otherwise.
pub const ORDER_DEFAULT: i32 = 100;
/// Longest name of a plugin, a probe type or a secret.
const NAME_BYTES_MAX: usize = 63;
/// Longest message of what is wrong, which may show what stands in the file: it goes into logs at each change of the file.
const WORDS_BYTES_MAX: usize = 2048;

/// Why the file isn't taken. The caller adds its path.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// More bytes than any configuration should have.
    #[error("the file has more than {FILE_BYTES_MAX} bytes")]
    TooLarge,
    /// Not YAML, an unknown field, a value of the wrong type. The message says where.
    #[error("{message}")]
    Syntax {
        /// The parser's words, with line, column and field.
        message: String,
    },
    /// A field holds what it may not.
    #[error("{field}: {problem}")]
    Field {
        /// Its path, such as `plugins[0].limits.timeout`.
        field: String,
        /// What is wrong, and the way out.
        problem: String,
    },
}

impl ConfigError {
    /// The same with foreign words cut.
    fn shortened(mut self) -> Self {
        let (Self::Syntax { message: words } | Self::Field { problem: words, .. }) = &mut self else {
            return self;
        };
        *words = shortened(std::mem::take(words), WORDS_BYTES_MAX);
        self
    }
}

/// Keeps instances for the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Warm {
    /// How many wait at most.
    pub max: usize,
    /// After how many calls one is dropped.
    pub uses: u64,
    /// After how long without a call one is dropped.
    pub idle: Duration,
}

/// One value that plugins may be granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretEntry {
    /// What plugins ask for.
    pub name: String,
    /// The file with its value; relative ones are looked up next to the configuration.
    pub file: PathBuf,
}

/// One plugin of the file, all defaults filled in. It has one role at least.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginEntry {
    /// Unique in the file.
    pub name: String,
    /// Where its component is.
    pub component: ComponentSource,
    /// Where its conformance report is, if not where it is looked for by itself; relative ones are looked up next to the
    /// configuration.
    pub conformance: Option<PathBuf>,
    /// As an admission handler.
    pub admission: Option<AdmissionRole>,
    /// As a probe type.
    pub probe: Option<ProbeRole>,
    /// As a pod source.
    pub pod_source: Option<PodSourceRole>,
    /// Whether instances are kept; none means a fresh one for each call.
    pub warm: Option<Warm>,
    /// What it may reach.
    pub grants: Grants,
    /// What it may read next to its configuration.
    pub data: Vec<DataEntry>,
    /// How many calls are kept for replay; none means no recording.
    pub record: Option<Recording>,
    /// Handed to the plugin as JSON once the variables in it are filled in.
    pub config: Value,
}

/// The whole file, all defaults filled in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PluginConfiguration {
    /// Values that plugins may be granted.
    pub secrets: Vec<SecretEntry>,
    /// What a component's conformance report must say before it is loaded; none asks for no report.
    pub require_conformance: Option<RequiredConformance>,
    /// Who must have signed a component from a registry before it is loaded; none asks for no signature.
    pub require_signature: Option<RequiredSignature>,
    /// Whether decisions about pods are logged.
    pub decision_log: bool,
    /// The plugins in the file's order.
    pub plugins: Vec<PluginEntry>,
    /// Optional entries that require what this host doesn't have.
    pub skipped: Vec<SkippedEntry>,
}

impl PluginConfiguration {
    /// The same without these plugins, and without those that shadow one of them or take its place.
    pub(crate) fn without(mut self, names: &BTreeSet<String>) -> Self {
        let mut gone = names.clone();
        loop {
            let before = gone.len();
            let leads_nowhere = |entry: &PluginEntry| entry.refers_to().any(|name| gone.contains(name));
            let more: Vec<String> = self
                .plugins
                .iter()
                .filter(|entry| leads_nowhere(entry))
                .map(|entry| entry.name.clone())
                .collect();
            gone.extend(more);
            if gone.len() == before {
                self.plugins.retain(|entry| !gone.contains(&entry.name));
                return self;
            }
        }
    }
}

impl PluginEntry {
    /// Other entries without which it has no meaning.
    fn refers_to(&self) -> impl Iterator<Item = &str> {
        let admission = self.admission.as_ref();
        let of_handler = admission.and_then(|role| role.shadow_of.as_deref());
        let replaced = admission.and_then(|role| role.rollout.as_ref()).map(|rollout| &*rollout.of);
        let of_probe = self.probe.as_ref().and_then(|role| role.shadow_of.as_deref());
        let of_source = self.pod_source.as_ref().and_then(|role| role.shadow_of.as_deref());
        [of_handler, replaced, of_probe, of_source].into_iter().flatten()
    }
}

/// What the program itself has, which the file may name or mustn't.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shipped<'a> {
    /// Names of built-in plugins: no entry may have one of them.
    pub reserved: &'a [&'a str],
    /// Probe types of built-in plugins: no entry may have one of them.
    pub probe_types: &'a [&'a str],
    /// Components that are shipped and off: what `builtin:NAME` may name.
    pub components: &'a [&'a str],
}

/// Reads the file's text.
///
/// # Errors
///
/// When anything in it is wrong: the whole file is refused, with the field's path.
pub fn parse(text: &str, shipped: Shipped<'_>) -> Result<PluginConfiguration, ConfigError> {
    read(text, shipped).map_err(ConfigError::shortened)
}

fn read(text: &str, shipped: Shipped<'_>) -> Result<PluginConfiguration, ConfigError> {
    if text.len() > FILE_BYTES_MAX {
        return Err(ConfigError::TooLarge);
    }
    if text.trim().is_empty() {
        return Err(ConfigError::Syntax { message: "the file is empty".to_owned() });
    }
    let skipped = features::check(text)?;
    let document = file::parse(text, &skipped.places)?;
    check_equal("apiVersion", &document.api_version, API_VERSION)?;
    check_equal("kind", &document.kind, KIND)?;
    check_count("requires", document.requires.len(), REQUIRES_MAX)?;
    check_count("plugins", document.plugins.len(), PLUGINS_MAX)?;
    check_count("secrets", document.secrets.len(), SECRETS_MAX)?;
    let secrets = secrets(document.secrets)?;
    let require_conformance = document.require_conformance.map(conformance::parse).transpose()?;
    let require_signature = document.require_signature.map(conformance::signature).transpose()?;
    let known = References {
        shipped,
        secrets: &secrets,
        pull_credentials: document.pull_credentials.as_deref(),
        conformance: require_conformance.is_some(),
    };
    let mut names = BTreeSet::new();
    let mut probe_types = BTreeSet::new();
    let mut plugins = Vec::with_capacity(document.plugins.len());
    let mut places = Vec::with_capacity(document.plugins.len());
    for (place, plugin) in document.plugins {
        let path = format!("plugins[{place}]");
        check_new("name", &path, &plugin.name, shipped.reserved, "name", &mut names)?;
        let entry = entry(plugin, &path, &known)?;
        if let Some(probe) = entry.probe.as_ref().filter(|probe| probe.shadow_of.is_none()) {
            let name = "probe.type";
            check_new(name, &path, &probe.probe_type, shipped.probe_types, "probe type", &mut probe_types)?;
        }
        plugins.push(entry);
        places.push(place);
    }
    data::check_all(&plugins)?;
    rollout::check_all(&mut plugins, &places, text)?;
    shadow::check_all(&plugins, &places)?;
    let (decision_log, skipped) = (document.decision_log, skipped.entries);
    Ok(PluginConfiguration {
        secrets,
        require_conformance,
        require_signature,
        decision_log,
        plugins,
        skipped,
    })
}

/// What an entry may refer to.
struct References<'a> {
    shipped: Shipped<'a>,
    secrets: &'a [SecretEntry],
    pull_credentials: Option<&'a std::path::Path>,
    /// Whether reports are asked for.
    conformance: bool,
}

fn field<T>(field: &str, problem: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError::Field { field: field.to_owned(), problem: problem.into() })
}

fn check_equal(name: &str, value: &str, expected: &str) -> Result<(), ConfigError> {
    if value == expected { Ok(()) } else { field(name, format!("must be {expected:?}, found {value:?}")) }
}

fn check_count(name: &str, count: usize, limit: usize) -> Result<(), ConfigError> {
    if count <= limit {
        Ok(())
    } else {
        field(name, format!("must have at most {limit} items, found {count}"))
    }
}

fn check_between(name: &str, value: Duration, min: Duration, max: Duration) -> Result<(), ConfigError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    let [value, min, max] = [value, min, max].map(values::format_duration);
    field(name, format!("must be between {min} and {max}, found {value}"))
}

/// Whether neither a built-in nor an earlier entry has it.
fn check_new(
    name: &str,
    path: &str,
    value: &str,
    reserved: &[&str],
    what: &str,
    seen: &mut BTreeSet<String>,
) -> Result<(), ConfigError> {
    let path = format!("{path}.{name}");
    if reserved.contains(&value) {
        return field(&path, format!("{value} is the {what} of a built-in plugin: take another"));
    }
    if !seen.insert(value.to_owned()) {
        return field(&path, format!("{value:?} is already the {what} of another entry: take another"));
    }
    Ok(())
}

fn secrets(documents: Vec<SecretDocument>) -> Result<Vec<SecretEntry>, ConfigError> {
    let mut names = BTreeSet::new();
    let mut secrets = Vec::with_capacity(documents.len());
    for (index, SecretDocument { name, file }) in documents.into_iter().enumerate() {
        let path = format!("secrets[{index}]");
        check_name(&name, &format!("{path}.name"))?;
        if !names.insert(name.clone()) {
            return field(
                &format!("{path}.name"),
                format!("{name:?} is already the name of another secret: take another"),
            );
        }
        if file.as_os_str().is_empty() {
            return field(&format!("{path}.file"), "must not be empty");
        }
        secrets.push(SecretEntry { name, file });
    }
    Ok(secrets)
}

fn entry(plugin: EntryDocument, path: &str, known: &References<'_>) -> Result<PluginEntry, ConfigError> {
    check_name(&plugin.name, &format!("{path}.name"))?;
    features::check_entry(&plugin.requires, plugin.optional, path)?;
    let component = component::parse(&plugin.component, plugin.pull_credentials.as_deref(), known, path)?;
    if let Some(report) = &plugin.conformance {
        conformance::check_entry(report, &component, known, path)?;
    }
    if plugin.admission.is_none() && plugin.probe.is_none() && plugin.pod_source.is_none() {
        let problem = "must have a role: `admission: {}` for an admission handler, `probe: {}` for a probe type, or \
                       `podSource: {allow: {namespaces: […]}}` for a pod source";
        return field(path, problem);
    }
    let limits = &plugin.limits;
    let admission = plugin.admission.map(|document| roles::admission(document, limits, path)).transpose()?;
    let name = &plugin.name;
    let probe = plugin.probe.map(|document| roles::probe(document, name, limits, path)).transpose()?;
    let source = plugin.pod_source.map(|document| roles::pod_source(document, name, limits, path));
    let pod_source = source.transpose()?;
    if limits.timeout.is_some() && admission.is_none() && pod_source.is_none() {
        return field(
            &format!("{path}.limits.timeout"),
            "must not be set for a probe type: the timeout is the probe's timeoutSeconds",
        );
    }
    let roles = grants::Roles { probe: probe.is_some(), pod_source: pod_source.is_some() };
    let grants = grants::parse(plugin.grants, roles, known.secrets, path)?;
    let record = plugin.record.map(|document| record::parse(document, &format!("{path}.record")));
    variables::check(&plugin.config, &format!("{path}.config"))?;
    Ok(PluginEntry {
        component,
        conformance: plugin.conformance,
        admission,
        probe,
        pod_source,
        warm: plugin.instances.warm.map(|warm| self::warm(&warm, path)).transpose()?,
        grants,
        data: data::parse(plugin.data, known, path)?,
        record: record.transpose()?,
        config: plugin.config,
        name: plugin.name,
    })
}

/// A DNS label, so that names fit into events, metrics and tables.
fn check_name(name: &str, path: &str) -> Result<(), ConfigError> {
    no_name(name).map_or(Ok(()), |problem| field(path, problem))
}

/// Why a text can't be the name of a plugin; none if it can.
pub(crate) fn no_name(name: &str) -> Option<String> {
    let letters = name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    let is_name = !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && letters
        && !name.starts_with('-')
        && !name.ends_with('-');
    let rule = || {
        format!(
            "must have at most {NAME_BYTES_MAX} lower-case letters, digits and `-`, and begin and end with a letter or digit"
        )
    };
    (!is_name).then(|| format!("{name:?} {}", rule()))
}

fn warm(warm: &WarmDocument, path: &str) -> Result<Warm, ConfigError> {
    if warm.max == 0 || warm.max > WARM_MAX {
        return field(
            &format!("{path}.instances.warm.max"),
            format!("must be between 1 and {WARM_MAX}, found {}", warm.max),
        );
    }
    let uses = warm.uses.unwrap_or(WARM_USES_DEFAULT);
    if uses == 0 {
        return field(
            &format!("{path}.instances.warm.uses"),
            "0 uses: leave `warm` out for a fresh instance per call",
        );
    }
    Ok(Warm { max: warm.max, uses, idle: warm.idle.map_or(WARM_IDLE_DEFAULT, |text| text.0) })
}

#[cfg(test)]
mod tests;
