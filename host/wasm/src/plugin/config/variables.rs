//! What an entry's `config:` may name of the node: `${node.name}` and `${node.labels['KEY']}`.
//!
//! A file is checked without a node, so that what is written wrongly is found before it is on one. The values are filled in when
//! the plugin is loaded, and again when the node has others.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;
use witlet_core::node::NodeFacts;
use witlet_core::pod::fields::is_environment_field;

use super::{ConfigError, field};
use crate::guest::printable;

/// How many variables an entry's `config:` can have.
pub const VARIABLES_MAX: usize = 256;

/// What a variable begins with; behind another `$` it is text.
const BEGIN: &str = "${";
/// How much of what should be a variable is shown.
const SHOWN_BYTES_MAX: usize = 128;
/// Stands for values while a file is checked.
const CHECKED: &str = "";

/// One value of the node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Variable {
    NodeName,
    /// `${node.labels['KEY']}`
    NodeLabel(String),
}

/// Values of variables; none of what the node doesn't have.
pub(crate) type Values = BTreeMap<Variable, Option<String>>;

impl Variable {
    /// Parses what stands in the braces.
    fn parse(text: &str) -> Result<Self, String> {
        if text == "node.name" {
            return Ok(Self::NodeName);
        }
        match text.strip_prefix("node.labels['").and_then(|rest| rest.strip_suffix("']")) {
            // A pod's labels have the same keys.
            Some(key) if is_environment_field(&format!("metadata.labels['{key}']")) => {
                Ok(Self::NodeLabel(key.to_owned()))
            }
            Some(key) => Err(format!("{:?} isn't the key of a label", printable(key, SHOWN_BYTES_MAX))),
            None => Err(format!(
                "${{{}}} isn't known: there are ${{node.name}} and ${{node.labels['KEY']}}, and $${{ is the text ${{",
                printable(text, SHOWN_BYTES_MAX)
            )),
        }
    }

    /// Returns what it is on this node.
    pub(crate) fn on(&self, node: Option<&NodeFacts>) -> Option<String> {
        let node = node?;
        match self {
            Self::NodeName => Some(node.name.clone()).filter(|name| !name.is_empty()),
            Self::NodeLabel(key) => node.node.metadata.labels.as_ref()?.get(key).cloned(),
        }
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NodeName => f.write_str("${node.name}"),
            Self::NodeLabel(key) => write!(f, "${{node.labels['{key}']}}"),
        }
    }
}

/// Refuses what is no variable.
pub(super) fn check(config: &Value, path: &str) -> Result<(), ConfigError> {
    let mut count = 0;
    let mut value = |_: Variable| {
        count += 1;
        if count > VARIABLES_MAX {
            return Err(format!("more than {VARIABLES_MAX} variables in one configuration"));
        }
        Ok(CHECKED.to_owned())
    };
    match filled(config, path, &mut value) {
        Ok(_) => Ok(()),
        Err(Unfilled { place, problem }) => field(&place, problem),
    }
}

/// The configuration with the values of this node in it.
///
/// # Errors
/// In one sentence, when the node doesn't have a value, or isn't known.
pub(crate) fn fill(config: &Value, node: Option<&NodeFacts>) -> Result<Value, String> {
    let mut value = |variable: Variable| {
        variable.on(node).ok_or_else(|| match (node, &variable) {
            (None, _) => format!("{variable} is unknown: there is no node"),
            (Some(_), Variable::NodeName) => "the node has no name".to_owned(),
            (Some(_), Variable::NodeLabel(key)) => format!("the node has no label {key:?}"),
        })
    };
    filled(config, "config", &mut value).map_err(|Unfilled { place, problem }| format!("{place}: {problem}"))
}

/// The variables of a configuration that was checked, with their values on this node.
pub(crate) fn values(config: &Value, node: Option<&NodeFacts>) -> Values {
    let mut values = Values::new();
    let mut value = |variable: Variable| {
        let now = variable.on(node);
        values.insert(variable, now);
        Ok(CHECKED.to_owned())
    };
    // What is no variable was refused before.
    let _checked = filled(config, "config", &mut value);
    values
}

/// Where something can't be filled in, and why.
struct Unfilled {
    place: String,
    problem: String,
}

/// Gives a variable's value, or says why there is none.
type Lookup<'a> = dyn FnMut(Variable) -> Result<String, String> + 'a;

/// The same with the variables of all texts filled in; keys of maps stay as they are.
fn filled(config: &Value, place: &str, value: &mut Lookup<'_>) -> Result<Value, Unfilled> {
    Ok(match config {
        Value::String(text) => Value::String(
            text_filled(text, value).map_err(|problem| Unfilled { place: place.to_owned(), problem })?,
        ),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            let items = items.map(|(index, item)| filled(item, &format!("{place}[{index}]"), value));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Object(members) => {
            let members = members.iter().map(|(key, member)| {
                let place = format!("{place}.{}", printable(key, SHOWN_BYTES_MAX));
                Ok::<_, Unfilled>((key.clone(), filled(member, &place, value)?))
            });
            Value::Object(members.collect::<Result<_, _>>()?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => config.clone(),
    })
}

fn text_filled(text: &str, value: &mut Lookup<'_>) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) = rest.split_once(BEGIN) {
        if let Some(before) = before.strip_suffix('$') {
            filled.push_str(before);
            filled.push_str(BEGIN);
            rest = from;
            continue;
        }
        filled.push_str(before);
        let Some((variable, after)) = from.split_once('}') else {
            return Err("${ has no }: write $${ for the text ${".to_owned());
        };
        filled.push_str(&value(Variable::parse(variable)?)?);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests;
