//! The kubelet's command line, read as pflag reads it.

pub(crate) mod shown;
pub(crate) mod table;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::kubelet::configuration::fields::Kind;
use crate::logging::vmodule::{self, FileVerbosity};
use table::{DEPRECATED, Flag, Own, SHORTHANDS, Target, flag};
use witlet_core::duration;
use witlet_core::pod::quantity;

#[cfg(test)]
mod tests;

/// Why a command line can't be understood.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum FlagError {
    /// No kubelet has this flag.
    #[error("unknown flag: --{name}")]
    Unknown {
        /// As it was given.
        name: String,
    },
    /// No flag has this letter.
    #[error("unknown shorthand flag: {letter:?} in -{group}")]
    Shorthand {
        letter: char,
        /// What it stands in.
        group: String,
    },
    /// It isn't written as flags are.
    #[error("bad flag syntax: {text}")]
    Syntax {
        /// As it was given.
        text: String,
    },
    /// A value is missing.
    #[error("flag needs an argument: --{name}")]
    NoValue {
        /// The flag.
        name: &'static str,
    },
    /// The value isn't one of this flag's.
    #[error("invalid argument {value:?} for \"--{name}\" flag: {why}")]
    Value {
        /// The flag.
        name: &'static str,
        /// What was given.
        value: String,
        /// What is wrong with it.
        why: String,
    },
    /// An argument that belongs to no flag.
    #[error("unknown command {argument:?}: the kubelet takes flags only")]
    Argument {
        /// As it was given.
        argument: String,
    },
}

/// What a command line says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Flags {
    /// Fields of the configuration that flags set, by their paths.
    pub(crate) fields: BTreeMap<&'static str, Value>,
    /// The newest value of each flag that stands for no field.
    pub(crate) own: BTreeMap<&'static str, Value>,
    /// The value of every flag that was given, also of those that nothing follows from.
    pub(crate) given: BTreeMap<&'static str, Value>,
    /// Names of flags that aren't acted on yet and ask for something else than what happens anyway.
    pub(crate) not_yet: Vec<&'static str>,
    /// A sentence for each flag that was given and goes away upstream.
    pub(crate) deprecated: Vec<String>,
}

impl Flags {
    /// The value of a flag that takes a text; none if it wasn't given or is empty.
    pub(crate) fn text(&self, own: Own) -> Option<&str> {
        self.value(own)?.as_str().filter(|text| !text.is_empty())
    }

    /// Whether a switch is on.
    pub(crate) fn is_on(&self, own: Own) -> bool {
        self.value(own).and_then(Value::as_bool).unwrap_or(false)
    }

    /// The pairs of a flag that takes some.
    pub(crate) fn pairs(&self, own: Own) -> BTreeMap<String, String> {
        let pairs = self.value(own).and_then(Value::as_object).into_iter().flatten();
        pairs.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
    }

    /// The value of a flag that takes a number; none if it wasn't given.
    pub(crate) fn integer(&self, own: Own) -> Option<i64> {
        self.value(own)?.as_i64()
    }

    fn value(&self, own: Own) -> Option<&Value> {
        let flag = table::FLAGS.iter().find(|flag| flag.target == Target::Own(own))?;
        self.own.get(flag.name)
    }

    fn set(&mut self, flag: &'static Flag, text: &str) -> Result<(), FlagError> {
        let wrong = |why| FlagError::Value { name: flag.name, value: text.to_owned(), why };
        let value = read(flag.kind, text).map_err(wrong)?;
        self.warn_deprecated(flag.name);
        join(self.given.entry(flag.name).or_default(), value.clone());
        match flag.target {
            Target::Field(path) => join(self.fields.entry(path).or_default(), value),
            Target::Own(_) => join(self.own.entry(flag.name).or_default(), value),
            Target::NotYet(values) if !values.contains(&text) && !self.not_yet.contains(&flag.name) => {
                self.not_yet.push(flag.name);
            }
            Target::NotYet(_) | Target::Nothing => {}
        }
        Ok(())
    }

    fn warn_deprecated(&mut self, name: &str) {
        let Some((_, why)) = DEPRECATED.iter().find(|(deprecated, _)| *deprecated == name) else { return };
        let warning = format!("Flag --{name} has been deprecated, {why}");
        if !self.deprecated.contains(&warning) {
            self.deprecated.push(warning);
        }
    }
}

/// The flag that stands for a field.
pub(crate) fn name_of(path: &str) -> Option<&'static str> {
    let stands_for = |flag: &&Flag| matches!(flag.target, Target::Field(of) if of == path);
    table::FLAGS.iter().find(stands_for).map(|flag| flag.name)
}

/// Lists and maps of a flag that is given again grow; of other flags the last value counts.
fn join(old: &mut Value, new: Value) {
    match (old, new) {
        (Value::Array(old), Value::Array(new)) => old.extend(new),
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in new {
                match (old.get_mut(&key), value) {
                    (Some(Value::Array(old)), Value::Array(new)) => old.extend(new),
                    (_, value) => drop(old.insert(key, value)),
                }
            }
        }
        (old, new) => *old = new,
    }
}

/// Reads a command line, without the program's name.
pub(crate) fn parse(arguments: &[String]) -> Result<Flags, FlagError> {
    let mut flags = Flags::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            match rest.next() {
                Some(argument) => return Err(FlagError::Argument { argument: argument.clone() }),
                None => break,
            }
        } else if let Some(long) = argument.strip_prefix("--") {
            parse_long(&mut flags, argument, long, &mut rest)?;
        } else if let Some(group) = argument.strip_prefix('-').filter(|group| !group.is_empty()) {
            parse_short(&mut flags, group, &mut rest)?;
        } else {
            return Err(FlagError::Argument { argument: argument.clone() });
        }
    }
    Ok(flags)
}

fn parse_long<'a>(
    flags: &mut Flags,
    argument: &str,
    long: &str,
    rest: &mut impl Iterator<Item = &'a String>,
) -> Result<(), FlagError> {
    if long.starts_with(['-', '=']) {
        return Err(FlagError::Syntax { text: argument.to_owned() });
    }
    let (name, value) = match long.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (long, None),
    };
    // The kubelet takes both.
    let found = flag(&name.replace('_', "-")).ok_or(FlagError::Unknown { name: name.to_owned() })?;
    match (value, alone(found)) {
        (Some(value), _) => flags.set(found, value),
        (None, Some(value)) => flags.set(found, value),
        (None, None) => {
            let value = rest.next().ok_or(FlagError::NoValue { name: found.name })?;
            flags.set(found, value)
        }
    }
}

fn parse_short<'a>(
    flags: &mut Flags,
    group: &str,
    rest: &mut impl Iterator<Item = &'a String>,
) -> Result<(), FlagError> {
    let mut letters = group.chars();
    while let Some(letter) = letters.next() {
        let long = SHORTHANDS.iter().find(|(short, _)| *short == letter).map(|(_, long)| *long);
        let Some(found) = long.and_then(flag) else {
            return Err(FlagError::Shorthand { letter, group: group.to_owned() });
        };
        let after = letters.as_str();
        if let Some(value) = after.strip_prefix('=') {
            return flags.set(found, value);
        }
        match alone(found) {
            Some(value) => flags.set(found, value)?,
            None if after.is_empty() => {
                let value = rest.next().ok_or(FlagError::NoValue { name: found.name })?;
                return flags.set(found, value);
            }
            None => return flags.set(found, after),
        }
    }
    Ok(())
}

/// Returns what a flag means that stands alone; none if it needs a value.
fn alone(flag: &Flag) -> Option<&'static str> {
    (flag.kind == Kind::Bool || flag.target == Target::Own(Own::Version)).then_some("true")
}

/// A flag's value, in the form that the configuration has it in.
fn read(kind: Kind, text: &str) -> Result<Value, String> {
    let list = || text.split(',').map(str::trim).filter(|item| !item.is_empty());
    match kind {
        Kind::Bool => boolean(text).map(Value::Bool),
        Kind::Int => integer(text).map(Value::from),
        Kind::Float => match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(json!(number)),
            Ok(_) | Err(_) => Err("expected a number".to_owned()),
        },
        Kind::Verbosity => vmodule::verbosity(text).map(Value::from),
        Kind::FilePatterns => vmodule::parse(text).map(|files| files.into_iter().map(file_pattern).collect()),
        Kind::Quantity => match quantity::parse(text) {
            Ok(_) => Ok(Value::from(text)),
            Err(_) => Err(NO_QUANTITY.to_owned()),
        },
        Kind::Duration | Kind::Period => match duration::nanoseconds(text) {
            Some(_) => Ok(Value::from(text)),
            None => Err(format!("time: invalid duration {text:?}")),
        },
        Kind::Text | Kind::Any => Ok(Value::from(text)),
        Kind::Texts => Ok(list().map(Value::from).collect()),
        Kind::Ints => list().map(|item| integer(item).map(Value::from)).collect(),
        Kind::TextMap => pairs(text, &['=', '<'], |value| Ok(Value::from(value))),
        Kind::BoolMap => pairs(text, &['='], |value| boolean(value).map(Value::Bool)),
        Kind::TextsMap => pairs(text, &[':'], |value| Ok(json!([value]))),
        Kind::Taints => list().map(taint).collect(),
        Kind::Maps(_) => Err("expected only in a configuration file".to_owned()),
    }
}

/// Upstream's words for what isn't one.
const NO_QUANTITY: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// An entry of `--vmodule`, as the configuration has it.
fn file_pattern(file: FileVerbosity) -> Value {
    json!({"filePattern": file.pattern, "verbosity": file.verbosity})
}

/// Go's `strconv.ParseBool`.
fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err(format!("strconv.ParseBool: parsing {text:?}: invalid syntax")),
    }
}

fn integer(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| format!("strconv.ParseInt: parsing {text:?}: invalid syntax"))
}

fn pairs(
    text: &str,
    separators: &[char],
    value: impl Fn(&str) -> Result<Value, String>,
) -> Result<Value, String> {
    let mut map = Map::new();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (key, found) = pair
            .split_once(separators)
            .ok_or_else(|| format!("malformed pair, expect string{}string", separators[0]))?;
        join(map.entry(key.trim()).or_insert(Value::Null), value(found.trim())?);
    }
    Ok(Value::Object(map))
}

/// `key=value:effect` or `key:effect`, as a taint of the API.
fn taint(text: &str) -> Result<Value, String> {
    let invalid = || format!("invalid taint spec: {text}");
    let (name, effect) = text.rsplit_once(':').ok_or_else(invalid)?;
    let (key, value) = name.split_once('=').unwrap_or((name, ""));
    if key.is_empty() || !matches!(effect, "NoSchedule" | "PreferNoSchedule" | "NoExecute") {
        return Err(invalid());
    }
    let mut taint = json!({"key": key, "effect": effect});
    if !value.is_empty() {
        taint["value"] = Value::from(value);
    }
    Ok(taint)
}
