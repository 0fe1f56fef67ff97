//! The part of JSON Schema (2020-12) that manifests may use, compiled once: each value is checked against one schema, so that a check takes
//! no more steps than schema and value have parts.

mod check;

use std::collections::BTreeMap;
use std::sync::Arc;

use regex_lite::{Regex, RegexBuilder};
use serde_json::{Map, Number, Value};
use thiserror::Error;

pub use check::{FINDINGS_MAX, FieldOutline, Mismatch};

/// Keywords that say nothing of a value.
const SILENT: [&str; 8] =
    ["$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated"];
/// Keywords that are checked.
pub const KEYWORDS: [&str; 11] = [
    "type",
    "enum",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
];
/// How deep schemas lie in each other.
const DEPTH_MAX: usize = 32;
/// How many names or values one keyword has.
const ITEMS_MAX: usize = 256;
/// How long a pattern is.
const PATTERN_BYTES_MAX: usize = 1024;
/// How large a compiled pattern gets.
const PATTERN_SIZE_MAX: usize = 64 << 10;
/// How long a path gets.
const PATH_BYTES_MAX: usize = 512;
/// How much of foreign words a message shows.
const WORDS_BYTES_MAX: usize = 64;

/// A keyword that can't be used, or not so.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{path}: {problem}")]
pub struct SchemaError {
    /// Where, such as `config.properties.label.minLength`.
    pub path: String,
    /// What is wrong, and the way out.
    pub problem: String,
}

/// A schema that can be checked against.
#[derive(Clone, Debug)]
pub struct Schema {
    text: Arc<Value>,
    root: Arc<Node>,
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Schema {
    /// Compiles a schema; `name` is what paths of errors begin with.
    ///
    /// # Errors
    /// When it uses what isn't supported, by name, or doesn't use it as JSON Schema has it.
    pub fn compile(text: Value, name: &str) -> Result<Self, SchemaError> {
        let root = Arc::new(node(&text, name, 0)?);
        Ok(Self { text: Arc::new(text), root })
    }

    /// Returns the schema as it was written.
    pub fn text(&self) -> &Value {
        &self.text
    }
}

/// A type of JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Object,
    Array,
    String,
    Number,
    Integer,
    Boolean,
    Null,
}

impl Type {
    const ALL: [Self; 7] =
        [Self::Object, Self::Array, Self::String, Self::Number, Self::Integer, Self::Boolean, Self::Null];

    fn as_str(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
            Self::Null => "null",
        }
    }

    fn named(name: &Value) -> Option<Self> {
        Self::ALL.into_iter().find(|found| name.as_str() == Some(found.as_str()))
    }
}

/// What fields may be there that `properties` doesn't name.
#[derive(Debug, Default)]
enum Others {
    #[default]
    Any,
    None,
    /// Those that fit this.
    Like(Box<Node>),
}

/// One schema.
#[derive(Debug, Default)]
struct Node {
    /// Empty for any.
    types: Vec<Type>,
    values: Option<Vec<Value>>,
    minimum: Option<Number>,
    maximum: Option<Number>,
    length_min: Option<u64>,
    length_max: Option<u64>,
    pattern: Option<Regex>,
    items: Option<Box<Node>>,
    properties: BTreeMap<String, Node>,
    required: Vec<String>,
    others: Others,
    description: Option<String>,
}

fn refused<T>(path: &str, problem: impl Into<String>) -> Result<T, SchemaError> {
    Err(SchemaError { path: path.to_owned(), problem: problem.into() })
}

fn node(schema: &Value, path: &str, depth: usize) -> Result<Node, SchemaError> {
    if depth > DEPTH_MAX {
        return refused(path, format!("has more than {DEPTH_MAX} schemas in each other"));
    }
    let Some(keywords) = schema.as_object() else {
        return refused(path, format!("a schema must be an object, found {}", shown(schema)));
    };
    let mut made = Node::default();
    for (keyword, value) in keywords {
        let at = joined(path, &format!(".{}", cut(keyword)));
        match keyword.as_str() {
            "type" => made.types = types(value, &at)?,
            "enum" => made.values = Some(list(value, &at)?.to_vec()),
            "properties" => made.properties = properties(value, &at, depth)?,
            "required" => made.required = names(value, &at)?,
            "additionalProperties" => {
                made.others = match value {
                    Value::Bool(true) => Others::Any,
                    Value::Bool(false) => Others::None,
                    schema => Others::Like(Box::new(node(schema, &at, depth + 1)?)),
                }
            }
            "items" => made.items = Some(Box::new(node(value, &at, depth + 1)?)),
            "minimum" => made.minimum = Some(number(value, &at)?),
            "maximum" => made.maximum = Some(number(value, &at)?),
            "minLength" => made.length_min = Some(length(value, &at)?),
            "maxLength" => made.length_max = Some(length(value, &at)?),
            "pattern" => made.pattern = Some(pattern(value, &at)?),
            "description" => made.description = value.as_str().map(str::to_owned),
            silent if SILENT.contains(&silent) => {}
            _ => {
                let problem = format!("the keyword is not supported: use {}", KEYWORDS.join(", "));
                return refused(&at, problem);
            }
        }
    }
    Ok(made)
}

fn types(value: &Value, at: &str) -> Result<Vec<Type>, SchemaError> {
    let expected = || {
        let all = Type::ALL.map(Type::as_str).join(", ");
        refused(at, format!("must be one of {all}, or a list of them, found {}", shown(value)))
    };
    let found: Option<Vec<Type>> = match value {
        Value::Array(all) if (1..=Type::ALL.len()).contains(&all.len()) => {
            all.iter().map(Type::named).collect()
        }
        one => Type::named(one).map(|found| vec![found]),
    };
    found.map_or_else(expected, Ok)
}

fn list<'a>(value: &'a Value, at: &str) -> Result<&'a [Value], SchemaError> {
    match value.as_array() {
        Some(all) if (1..=ITEMS_MAX).contains(&all.len()) => Ok(all),
        Some(_) | None => {
            refused(at, format!("must be a list of 1 to {ITEMS_MAX} values, found {}", shown(value)))
        }
    }
}

fn names(value: &Value, at: &str) -> Result<Vec<String>, SchemaError> {
    let all = value.as_array().filter(|all| all.len() <= ITEMS_MAX);
    let names: Option<Vec<String>> =
        all.and_then(|all| all.iter().map(|name| name.as_str().map(str::to_owned)).collect());
    names.map_or_else(
        || refused(at, format!("must be a list of at most {ITEMS_MAX} names, found {}", shown(value))),
        Ok,
    )
}

fn properties(value: &Value, at: &str, depth: usize) -> Result<BTreeMap<String, Node>, SchemaError> {
    let all: &Map<String, Value> = match value.as_object() {
        Some(all) if all.len() <= ITEMS_MAX => all,
        Some(_) | None => {
            let problem = format!("must be an object of at most {ITEMS_MAX} schemas, found {}", shown(value));
            return refused(at, problem);
        }
    };
    let made = all.iter().map(|(name, schema)| {
        let of_name = node(schema, &joined(at, &format!(".{}", cut(name))), depth + 1)?;
        Ok((name.clone(), of_name))
    });
    made.collect()
}

fn number(value: &Value, at: &str) -> Result<Number, SchemaError> {
    match value {
        Value::Number(number) => Ok(number.clone()),
        other => refused(at, format!("must be a number, found {}", shown(other))),
    }
}

fn length(value: &Value, at: &str) -> Result<u64, SchemaError> {
    let problem = || format!("must be a whole number of at least 0, found {}", shown(value));
    value.as_u64().map_or_else(|| refused(at, problem()), Ok)
}

/// Compiles a pattern in the syntax of the crate `regex-lite`: that of ECMAScript without lookaround, and without classes of Unicode.
fn pattern(value: &Value, at: &str) -> Result<Regex, SchemaError> {
    let Some(text) = value.as_str().filter(|text| text.len() <= PATTERN_BYTES_MAX) else {
        return refused(
            at,
            format!("must be a text of at most {PATTERN_BYTES_MAX} bytes, found {}", shown(value)),
        );
    };
    let built = RegexBuilder::new(text).size_limit(PATTERN_SIZE_MAX).build();
    built.or_else(|error| refused(at, format!("{} is no regular expression: {error}", shown(value))))
}

/// A path with a part more; one that is too long ends with `…`.
fn joined(path: &str, part: &str) -> String {
    if path.len() + part.len() <= PATH_BYTES_MAX {
        return format!("{path}{part}");
    }
    if path.ends_with('…') { path.to_owned() } else { format!("{path}…") }
}

/// A value in a message.
fn shown(value: &Value) -> String {
    cut(&value.to_string())
}

/// Foreign words in a message.
fn cut(words: &str) -> String {
    crate::guest::printable(words, WORDS_BYTES_MAX)
}

#[cfg(test)]
mod tests;
