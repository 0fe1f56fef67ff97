//! The `--plugins` file: a `PluginConfiguration` of `witlet.dev/v1alpha1`, read strictly.
//!
//! What a later release will understand is refused by name, never ignored: a grant or a probe that silently does
//! nothing would be worse than an error.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny};
use serde_json::Value;
use thiserror::Error;
use witlet_core::admission::chain::FailurePolicy;

use crate::engine::POOL_MEMORY_BYTES_MAX;

/// `apiVersion` of the file.
pub const API_VERSION: &str = "witlet.dev/v1alpha1";
/// `kind` of the file.
pub const KIND: &str = "PluginConfiguration";
/// How long one call of an admission handler may take unless its entry says otherwise.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_millis(100);
/// The longest timeout that can be configured: admission holds up every other pod.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(10);
/// How much memory an admission handler may have unless its entry says otherwise.
pub const MEMORY_BYTES_DEFAULT: usize = 16 << 20;
/// How many plugins can be configured.
pub const PLUGINS_MAX: usize = 64;
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
/// Longest name of a plugin.
const NAME_BYTES_MAX: usize = 63;

/// Why the file isn't taken. The caller adds its path.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// More bytes than any configuration should have.
    #[error("the file has more than {FILE_BYTES_MAX} bytes")]
    TooLarge,
    /// Not YAML, an unknown field, a value of the wrong type. The message says where.
    #[error("{message}")]
    Syntax {
        /// The parser's words, with line and column.
        message: String,
    },
    /// A field holds what it may not.
    #[error("{field}: {problem}")]
    Field {
        /// Its path, such as `plugins[0].limits.timeout`.
        field: String,
        /// What is wrong.
        problem: String,
    },
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

/// Patterns of names: `*` stands for any run of characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Globs(Vec<String>);

impl Globs {
    /// Matches everything.
    pub fn all() -> Self {
        Self(vec!["*".to_owned()])
    }

    /// Of these patterns.
    pub fn new(patterns: Vec<String>) -> Self {
        Self(patterns)
    }

    /// Whether one of them matches the whole name.
    pub fn matches(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| glob(pattern, name))
    }
}

/// The first and last part must stand at the ends, those between in order.
fn glob(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(head) else { return false };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*').filter(|part| !part.is_empty()) {
        match name.find(part) {
            Some(at) => name = &name[at + part.len()..],
            None => return false,
        }
    }
    name.ends_with(tail)
}

/// One plugin of the file, all defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginEntry {
    /// Unique in the file.
    pub name: String,
    /// Path of the component; relative ones are looked up beside the file.
    pub component: String,
    /// Place among the configured plugins; built-ins come before all of them, equal ones in the file's order.
    pub order: i32,
    /// What a failure means for a pod.
    pub failure_policy: FailurePolicy,
    /// Namespaces of the pods that the plugin is asked about.
    pub namespaces: Globs,
    /// For one call.
    pub timeout: Duration,
    /// For one instance.
    pub memory_bytes: usize,
    /// Whether instances are kept; none means a fresh one for each call.
    pub warm: Option<Warm>,
    /// Handed to the plugin as JSON.
    pub config: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct FileDocument {
    api_version: String,
    kind: String,
    #[serde(default)]
    plugins: Vec<EntryDocument>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct EntryDocument {
    name: String,
    component: String,
    admission: Option<AdmissionDocument>,
    probe: Option<IgnoredAny>,
    pod_source: Option<IgnoredAny>,
    grants: Option<IgnoredAny>,
    #[serde(default)]
    limits: LimitsDocument,
    #[serde(default)]
    instances: InstancesDocument,
    #[serde(default)]
    config: Value,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct AdmissionDocument {
    order: Option<i32>,
    failure_policy: Option<FailurePolicy>,
    mode: Option<String>,
    #[serde(default, rename = "match")]
    matches: MatchDocument,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct MatchDocument {
    namespaces: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct LimitsDocument {
    timeout: Option<DurationText>,
    memory: Option<BytesText>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct InstancesDocument {
    warm: Option<WarmDocument>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct WarmDocument {
    max: usize,
    uses: Option<u64>,
    idle: Option<DurationText>,
}

/// `500ms`, `1.5s`, `2m`.
#[derive(Clone, Copy)]
struct DurationText(Duration);

impl<'de> Deserialize<'de> for DurationText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_duration(&text).map(Self).ok_or_else(|| {
            de::Error::custom(format!(
                "{text:?} is no duration: write a number with its unit, such as 500ms or 2s"
            ))
        })
    }
}

/// A quantity in bytes, such as `16Mi`.
#[derive(Clone, Copy)]
struct BytesText(usize);

impl<'de> Deserialize<'de> for BytesText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let amount = witlet_core::pod::quantity::parse(&text).map_err(de::Error::custom)?;
        usize::try_from(amount.value())
            .map(Self)
            .map_err(|_negative| de::Error::custom(format!("{text:?} is no size: write bytes, such as 16Mi")))
    }
}

/// A number and a unit; no sums.
fn parse_duration(text: &str) -> Option<Duration> {
    let unit_at = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
    let (number, unit) = text.split_at(unit_at);
    let number: f64 = number.parse().ok()?;
    let seconds = match unit {
        "ms" => number / 1000.0,
        "s" => number,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

/// Reads the file's text. `reserved` are the names of the built-ins.
pub fn parse(text: &str, reserved: &[&str]) -> Result<Vec<PluginEntry>, ConfigError> {
    if text.len() > FILE_BYTES_MAX {
        return Err(ConfigError::TooLarge);
    }
    let document: FileDocument =
        serde_saphyr::from_str(text).map_err(|error| ConfigError::Syntax { message: error.to_string() })?;
    check_equal("apiVersion", &document.api_version, API_VERSION)?;
    check_equal("kind", &document.kind, KIND)?;
    if document.plugins.len() > PLUGINS_MAX {
        return field("plugins", format!("{} plugins are more than {PLUGINS_MAX}", document.plugins.len()));
    }
    let mut names = BTreeSet::new();
    let mut entries = Vec::with_capacity(document.plugins.len());
    for (index, plugin) in document.plugins.into_iter().enumerate() {
        let path = format!("plugins[{index}]");
        if reserved.contains(&plugin.name.as_str()) {
            return field(
                &format!("{path}.name"),
                format!("{} is the name of a built-in plugin", plugin.name),
            );
        }
        if !names.insert(plugin.name.clone()) {
            return field(
                &format!("{path}.name"),
                format!("{} is the name of another plugin too", plugin.name),
            );
        }
        entries.push(entry(plugin, &path)?);
    }
    Ok(entries)
}

fn field<T>(field: &str, problem: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError::Field { field: field.to_owned(), problem: problem.into() })
}

fn check_equal(name: &str, value: &str, wanted: &str) -> Result<(), ConfigError> {
    if value == wanted { Ok(()) } else { field(name, format!("{value:?} isn't {wanted:?}")) }
}

fn entry(plugin: EntryDocument, path: &str) -> Result<PluginEntry, ConfigError> {
    check_name(&plugin.name, path)?;
    check_component(&plugin.component, path)?;
    let later = [
        ("probe", plugin.probe.is_some()),
        ("podSource", plugin.pod_source.is_some()),
        ("grants", plugin.grants.is_some()),
    ];
    if let Some((name, _)) = later.iter().find(|(_, present)| *present) {
        return field(&format!("{path}.{name}"), "this release doesn't have it");
    }
    let Some(admission) = plugin.admission else {
        return field(path, "no role: write `admission: {}` for an admission handler");
    };
    match admission.mode.as_deref() {
        None | Some("enforce") => {}
        Some("shadow") => {
            return field(&format!("{path}.admission.mode"), "this release doesn't have `shadow`");
        }
        Some(other) => return field(&format!("{path}.admission.mode"), format!("{other:?} isn't `enforce`")),
    }
    let namespaces = match admission.matches.namespaces {
        None => Globs::all(),
        Some(patterns) if patterns.is_empty() => {
            return field(
                &format!("{path}.admission.match.namespaces"),
                "the list is empty, so that the plugin would never be asked: leave it out or write [\"*\"]",
            );
        }
        Some(patterns) => Globs::new(patterns),
    };
    Ok(PluginEntry {
        order: admission.order.unwrap_or(ORDER_DEFAULT),
        failure_policy: admission.failure_policy.unwrap_or_default(),
        namespaces,
        timeout: timeout(plugin.limits.timeout, path)?,
        memory_bytes: memory(plugin.limits.memory, path)?,
        warm: plugin.instances.warm.map(|warm| self::warm(&warm, path)).transpose()?,
        config: plugin.config,
        name: plugin.name,
        component: plugin.component,
    })
}

/// A DNS label, so that names fit into events, metrics and tables.
fn check_name(name: &str, path: &str) -> Result<(), ConfigError> {
    let letters = name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    if name.is_empty()
        || name.len() > NAME_BYTES_MAX
        || !letters
        || name.starts_with('-')
        || name.ends_with('-')
    {
        return field(
            &format!("{path}.name"),
            format!("{name:?} isn't a name: lower case letters, digits and `-`, at most {NAME_BYTES_MAX}"),
        );
    }
    Ok(())
}

fn check_component(component: &str, path: &str) -> Result<(), ConfigError> {
    let name = format!("{path}.component");
    if component.is_empty() {
        return field(&name, "no path");
    }
    if let Some((scheme, _)) = component.split_once("://") {
        return field(&name, format!("this release doesn't have `{scheme}://`: write a path"));
    }
    Ok(())
}

fn timeout(text: Option<DurationText>, path: &str) -> Result<Duration, ConfigError> {
    let timeout = text.map_or(TIMEOUT_DEFAULT, |text| text.0);
    if timeout < Duration::from_millis(1) || timeout > TIMEOUT_MAX {
        return field(
            &format!("{path}.limits.timeout"),
            format!("{timeout:?} isn't between 1ms and {}s", TIMEOUT_MAX.as_secs()),
        );
    }
    Ok(timeout)
}

fn memory(text: Option<BytesText>, path: &str) -> Result<usize, ConfigError> {
    let bytes = text.map_or(MEMORY_BYTES_DEFAULT, |text| text.0);
    if bytes == 0 || bytes > POOL_MEMORY_BYTES_MAX {
        return field(
            &format!("{path}.limits.memory"),
            format!(
                "{bytes} bytes aren't between 1 and {POOL_MEMORY_BYTES_MAX} ({}Mi)",
                POOL_MEMORY_BYTES_MAX >> 20
            ),
        );
    }
    Ok(bytes)
}

fn warm(warm: &WarmDocument, path: &str) -> Result<Warm, ConfigError> {
    if warm.max == 0 || warm.max > WARM_MAX {
        return field(
            &format!("{path}.instances.warm.max"),
            format!("{} isn't between 1 and {WARM_MAX}", warm.max),
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
