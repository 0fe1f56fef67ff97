//! `KubeletConfiguration`: files are checked against the table of fields, laid over each other, and flags over them.

pub(crate) mod defaults;
pub(crate) mod fields;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value};
use thiserror::Error;

use fields::{FIELDS, Field, FieldSupport, Kind, NOTHING, field, is_map};
use witlet_core::duration;
use witlet_core::error::yaml_fault;
use witlet_core::pod::quantity;
use witlet_core::yaml::{self, Position};

#[cfg(test)]
mod tests;

/// What every file says of itself.
const API_VERSION: &str = "kubelet.config.k8s.io/v1beta1";
const KIND: &str = "KubeletConfiguration";

/// Texts that are paths; in a file relative ones start at its folder.
const PATHS: &[&str] = &[
    "staticPodPath",
    "tlsCertFile",
    "tlsPrivateKeyFile",
    "authentication.x509.clientCAFile",
    "resolvConf",
    "volumePluginDir",
    "podLogsDir",
];

/// Why a file isn't a `KubeletConfiguration`.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum ConfigurationError {
    /// It is neither YAML nor JSON.
    #[error("{}: {message}", file.display())]
    Syntax { file: PathBuf, message: String },
    /// It says that it is something else.
    #[error("{}: {what} must be {expected}, found {found:?}", file.display())]
    Kind {
        file: PathBuf,
        /// `apiVersion` or `kind`.
        what: &'static str,
        found: String,
        /// What it should say.
        expected: &'static str,
    },
    /// A field with something that it doesn't take.
    #[error(
        "{}: {}{path}: expected {expected}, found {found}",
        file.display(),
        place.map(|place| format!("{place}: ")).unwrap_or_default()
    )]
    Type {
        file: PathBuf,
        place: Option<Position>,
        /// From the top, with dots.
        path: String,
        expected: &'static str,
        /// What is there, shortened.
        found: String,
    },
}

impl ConfigurationError {
    /// Adds the place in the file's text of a field that is named.
    fn placed(mut self, text: &str) -> Self {
        if let Self::Type { place, path, .. } = &mut self {
            *place = yaml::place_of(text, last_wins(), path);
        }
        self
    }
}

/// Characters of a value that a message shows.
const SHOWN_MAX: usize = 80;

/// How many fields that don't exist are named; the others are counted.
const UNKNOWN_NAMED_MAX: usize = 20;

/// Fields that someone set.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Configuration {
    /// By their paths, each with a value of the field's kind.
    fields: BTreeMap<&'static str, Value>,
    /// What was passed over, a sentence each.
    oddities: Vec<String>,
}

impl Configuration {
    /// Reads one file's text. `null` is as good as no value, as everywhere in Kubernetes. A field that 1.36 doesn't have is
    /// passed over, and of a name that stands twice the last value counts: upstream starts so, with a warning.
    pub(crate) fn read(file: &Path, text: &str) -> Result<Self, ConfigurationError> {
        let mut found = Self::read_as_written(file, text)?;
        found.fields.retain(|_, value| !value.is_null());
        found.make_absolute(file);
        Ok(found)
    }

    /// Reads a file that is laid over others: `null` takes away what they say, and relative paths stay relative, as upstream.
    pub(crate) fn read_drop_in(file: &Path, text: &str) -> Result<Self, ConfigurationError> {
        Self::read_as_written(file, text)
    }

    fn read_as_written(file: &Path, text: &str) -> Result<Self, ConfigurationError> {
        let mut found = Self::default();
        let document: Value = match serde_saphyr::from_str(text) {
            Ok(document) => document,
            Err(cause) => {
                let syntax = |_| {
                    let message = yaml_fault(&cause);
                    ConfigurationError::Syntax { file: file.to_owned(), message }
                };
                let document = serde_saphyr::from_str_with_options(text, last_wins()).map_err(syntax)?;
                let fault = yaml_fault(&cause);
                found.oddities.push(format!("{}: {fault}; the last value is used", file.display()));
                document
            }
        };
        let Value::Object(mut document) = document else {
            let message = format!("expected a map, found {}", shown(&document));
            return Err(ConfigurationError::Syntax { file: file.to_owned(), message });
        };
        for (what, expected) in [("apiVersion", API_VERSION), ("kind", KIND)] {
            let found = document.remove(what).unwrap_or_default();
            if found != expected {
                let found = found.as_str().map_or_else(|| shown(&found), str::to_owned);
                return Err(ConfigurationError::Kind { file: file.to_owned(), what, found, expected });
            }
        }
        let mut unknown = Vec::new();
        found.take(file, "", document, &mut unknown).map_err(|error| error.placed(text))?;
        let more = unknown.len().saturating_sub(UNKNOWN_NAMED_MAX);
        let unknown = unknown.iter().take(UNKNOWN_NAMED_MAX);
        found.oddities.extend(unknown.map(|path| format!("{}: unknown field \"{path}\"", file.display())));
        if more > 0 {
            found.oddities.push(format!("{}: {more} more unknown fields", file.display()));
        }
        Ok(found)
    }

    fn take(
        &mut self,
        file: &Path,
        at: &str,
        map: Map<String, Value>,
        unknown: &mut Vec<String>,
    ) -> Result<(), ConfigurationError> {
        for (name, value) in map {
            let path = if at.is_empty() { name } else { format!("{at}.{name}") };
            if let Some(field) = field(&path) {
                let misfit = misfit(field.kind, field.path.to_owned(), &value, unknown);
                if let Some((path, expected, value)) = misfit {
                    let (file, found) = (file.to_owned(), shown(value));
                    return Err(ConfigurationError::Type { file, place: None, path, expected, found });
                }
                self.fields.insert(field.path, value);
                continue;
            }
            match value {
                _ if !is_map(&path) => unknown.push(path),
                Value::Object(map) => self.take(file, &path, map, unknown)?,
                Value::Null => {
                    let below = FIELDS.iter().filter(|field| is_below(field.path, &path));
                    self.fields.extend(below.map(|field| (field.path, Value::Null)));
                }
                other => {
                    let found = shown(&other);
                    let file = file.to_owned();
                    return Err(ConfigurationError::Type {
                        file,
                        place: None,
                        path,
                        expected: "a map",
                        found,
                    });
                }
            }
        }
        Ok(())
    }

    fn make_absolute(&mut self, file: &Path) {
        for path in PATHS {
            if let Some(Value::String(text)) = self.fields.get_mut(path)
                && Path::new(text).is_relative()
                && !text.is_empty()
            {
                *text = cleaned(&file.with_file_name(&*text)).display().to_string();
            }
        }
    }

    /// Sets the thresholds that a file leaves out: a drop-in lies over them.
    pub(crate) fn default_eviction(&mut self) {
        self.fields.entry("evictionHard").or_insert_with(defaults::eviction_hard);
    }

    /// Whether `evictionHard` is set here.
    pub(crate) fn sets_eviction(&self) -> bool {
        self.fields.get("evictionHard").is_some_and(|value| !value.is_null())
    }

    /// Lays a drop-in over this: maps by name are merged, `null` takes away, anything else is replaced (RFC 7386).
    pub(crate) fn overlay(&mut self, later: Self) {
        self.oddities.extend(later.oddities);
        for (path, value) in later.fields {
            match (self.fields.get_mut(path), value) {
                (_, Value::Null) => drop(self.fields.remove(path)),
                (Some(Value::Object(old)), Value::Object(new)) => defaults::merge(old, new),
                (_, Value::Object(new)) => {
                    let mut map = Map::new();
                    defaults::merge(&mut map, new);
                    self.fields.insert(path, Value::Object(map));
                }
                (_, value) => drop(self.fields.insert(path, value)),
            }
        }
    }

    /// Lays flags over files: they win whole, except that feature gates of files that no flag names stay, and that file patterns
    /// of flags come after those of files.
    pub(crate) fn override_by(&mut self, flags: BTreeMap<&'static str, Value>) {
        for (path, value) in flags {
            match (path, self.fields.get_mut(path), value) {
                ("featureGates", Some(Value::Object(old)), Value::Object(new)) => old.extend(new),
                ("logging.vmodule", Some(Value::Array(old)), Value::Array(new)) => old.extend(new),
                (_, _, value) => drop(self.fields.insert(path, value)),
            }
        }
    }

    /// Returns what was passed over in the files, a sentence each.
    pub(crate) fn oddities(&self) -> &[String] {
        &self.oddities
    }

    /// Fields that someone set to something that isn't done yet, in the table's order.
    pub(crate) fn not_yet(&self) -> Vec<&'static str> {
        let asks = |field: &&Field| match (field.fate, self.fields.get(field.path)) {
            (FieldSupport::Fixed(values), Some(value)) => {
                !values.iter().chain(NOTHING).any(|fixed| is_same(field.kind, value, fixed))
            }
            _ => false,
        };
        FIELDS.iter().filter(asks).map(|field| field.path).collect()
    }

    /// The fields as one document, nested as in a file.
    pub(crate) fn document(&self) -> Value {
        let mut document = Map::new();
        for (path, value) in &self.fields {
            insert(&mut document, path, value.clone());
        }
        Value::Object(document)
    }
}

/// Whether a field's path is below this map.
/// The path without `.` and with each `..` taken by its words, as upstream joins a relative path to the file's folder.
pub(crate) fn cleaned(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if clean.file_name().is_some() => {
                clean.pop();
            }
            Component::ParentDir if clean.has_root() => {}
            Component::CurDir => {}
            part => clean.push(part),
        }
    }
    clean
}

fn is_below(path: &str, map: &str) -> bool {
    path.strip_prefix(map).is_some_and(|rest| rest.starts_with('.'))
}

/// Of a name that stands twice in a map the last value counts.
fn last_wins() -> serde_saphyr::Options {
    serde_saphyr::options! { duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins }
}

fn insert(map: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => drop(map.insert(path.to_owned(), value)),
        Some((first, rest)) => {
            let below = map.entry(first).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(below) = below {
                insert(below, rest, value);
            }
        }
    }
}

/// Whether a value is the one that this JSON text has.
fn is_same(kind: Kind, value: &Value, text: &str) -> bool {
    let fixed: Value = serde_json::from_str(text).unwrap_or_default();
    if kind == Kind::Duration {
        let length = |value: &Value| value.as_str().and_then(duration::nanoseconds);
        return length(value).is_some() && length(value) == length(&fixed);
    }
    match (value.as_f64(), fixed.as_f64()) {
        (Some(value), Some(fixed)) => value == fixed,
        _ => *value == fixed,
    }
}

/// Where a value isn't of its kind, what was expected there, and what is there. `null` fits everything. Fields that don't exist
/// are put down.
fn misfit<'a>(
    kind: Kind,
    path: String,
    value: &'a Value,
    unknown: &mut Vec<String>,
) -> Option<(String, &'static str, &'a Value)> {
    let (fits, expected) = match (kind, value) {
        (_, Value::Null) | (Kind::Any, _) => return None,
        (Kind::Bool, _) => (value.is_boolean(), "true or false"),
        (Kind::Int, _) => (value.is_i64(), "a whole number"),
        (Kind::Float, _) => (value.is_number(), "a number"),
        (Kind::Verbosity, _) => {
            let fits = value.as_u64().is_some_and(|number| u32::try_from(number).is_ok());
            (fits, "a whole number from 0 to 4294967295")
        }
        (Kind::Quantity, _) => {
            let fits = value.as_str().is_none_or(|text| quantity::parse(text).is_ok());
            (fits && (value.is_string() || value.is_number()), "a quantity such as 64Ki")
        }
        (Kind::Text, _) => (value.is_string(), "a text"),
        (Kind::Duration, _) => {
            let is_duration = value.as_str().is_some_and(|text| duration::nanoseconds(text).is_some());
            (is_duration, "a duration such as 1m30s")
        }
        (Kind::Texts, Value::Array(items)) => return misfit_item(Kind::Text, &path, items, unknown),
        (Kind::Ints, Value::Array(items)) => return misfit_item(Kind::Int, &path, items, unknown),
        (Kind::Period, _) => {
            let is_duration = value.as_str().is_some_and(|text| duration::nanoseconds(text).is_some());
            (is_duration || value.is_i64(), "a duration such as 5s, or a number of nanoseconds")
        }
        (Kind::Texts | Kind::Ints | Kind::Maps(_) | Kind::Taints | Kind::FilePatterns, value)
            if !value.is_array() =>
        {
            (false, "a list")
        }
        (Kind::Maps(fields), Value::Array(items)) => return misfit_map(fields, &path, items, unknown),
        (Kind::Taints, Value::Array(items)) => return misfit_map(TAINT, &path, items, unknown),
        (Kind::FilePatterns, Value::Array(items)) => return misfit_map(FILE_PATTERN, &path, items, unknown),
        (Kind::TextMap, Value::Object(map)) => return misfit_value(Kind::Text, &path, map, unknown),
        (Kind::BoolMap, Value::Object(map)) => return misfit_value(Kind::Bool, &path, map, unknown),
        (Kind::TextsMap, Value::Object(map)) => return misfit_value(Kind::Texts, &path, map, unknown),
        _ => (false, "a map"),
    };
    (!fits).then_some((path, expected, value))
}

/// Fields of a taint.
const TAINT: &[(&str, Kind)] =
    &[("key", Kind::Text), ("value", Kind::Text), ("effect", Kind::Text), ("timeAdded", Kind::Text)];

/// Fields of a file pattern.
const FILE_PATTERN: &[(&str, Kind)] = &[("filePattern", Kind::Text), ("verbosity", Kind::Verbosity)];

fn misfit_item<'a>(
    kind: Kind,
    path: &str,
    items: &'a [Value],
    unknown: &mut Vec<String>,
) -> Option<(String, &'static str, &'a Value)> {
    let mut items = items.iter().enumerate();
    items.find_map(|(index, item)| misfit(kind, format!("{path}[{index}]"), item, unknown))
}

fn misfit_value<'a>(
    kind: Kind,
    path: &str,
    map: &'a Map<String, Value>,
    unknown: &mut Vec<String>,
) -> Option<(String, &'static str, &'a Value)> {
    map.iter().find_map(|(name, value)| misfit(kind, format!("{path}[{name}]"), value, unknown))
}

fn misfit_map<'a>(
    fields: &[(&str, Kind)],
    path: &str,
    items: &'a [Value],
    unknown: &mut Vec<String>,
) -> Option<(String, &'static str, &'a Value)> {
    items.iter().enumerate().find_map(|(index, item)| {
        let place = format!("{path}[{index}]");
        let Value::Object(map) = item else { return Some((place, "a map", item)) };
        map.iter().find_map(|(name, value)| {
            let place = format!("{place}.{name}");
            match fields.iter().find(|(field, _)| field == name) {
                Some((_, kind)) => misfit(*kind, place, value, unknown),
                None => {
                    unknown.push(place);
                    None
                }
            }
        })
    })
}

/// A value for a message.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
