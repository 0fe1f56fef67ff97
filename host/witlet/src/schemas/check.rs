//! JSON Schema as far as the book's schemas use it. A keyword that isn't known here is an error: it would be checked by no one.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

/// Keywords that say nothing of a value.
const SILENT: [&str; 5] = ["$schema", "$id", "$defs", "title", "description"];

/// The schemas of a folder by the names of their files.
pub(super) struct Schemas(BTreeMap<String, Value>);

impl Schemas {
    pub(super) fn read(folder: &Path) -> Self {
        let entries = std::fs::read_dir(folder).expect("the book has schemas");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let read = |path: std::path::PathBuf| {
            let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).expect("a schema can be read");
            let schema = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            (name, schema)
        };
        Self(paths.map(read).collect())
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// Returns what a schema says at this JSON pointer.
    pub(super) fn at(&self, file: &str, pointer: &str) -> &Value {
        self.0[file].pointer(pointer).unwrap_or_else(|| panic!("{file} has no {pointer}"))
    }

    /// Returns what is wrong with a value by the schema in this file.
    pub(super) fn findings(&self, file: &str, value: &Value) -> Vec<String> {
        let mut findings = Vec::new();
        self.check(file, &self.0[file], value, "", &mut findings);
        findings
    }

    fn check(&self, file: &str, schema: &Value, value: &Value, at: &str, findings: &mut Vec<String>) {
        let Some(schema) = schema.as_object() else {
            return findings.push(format!("{file}: a schema must be an object, found {schema}"));
        };
        for (keyword, expected) in schema {
            match keyword.as_str() {
                silent if SILENT.contains(&silent) => {}
                "type" => {
                    let types: Vec<&str> = match expected {
                        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
                        one => one.as_str().into_iter().collect(),
                    };
                    if !types.iter().any(|name| is_of(value, name)) {
                        findings.push(format!("{at} must be {}, found {value}", types.join(" or ")));
                    }
                }
                "enum" => {
                    if !expected.as_array().is_some_and(|all| all.contains(value)) {
                        findings.push(format!("{at} must be one of {expected}, found {value}"));
                    }
                }
                "const" if value != expected => {
                    findings.push(format!("{at} must be {expected}, found {value}"))
                }
                "minimum" if value.as_f64() < expected.as_f64() && value.is_number() => {
                    findings.push(format!("{at} must be at least {expected}, found {value}"));
                }
                "const" | "minimum" => {}
                "$ref" => {
                    let (other, found) = self.find(file, expected.as_str().unwrap_or_default());
                    self.check(other, found, value, at, findings);
                }
                "anyOf" => self.any_of(file, expected, value, at, findings),
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(file, expected, item, &format!("{at}[{index}]"), findings);
                    }
                }
                "required" => {
                    let names = expected.as_array().into_iter().flatten().filter_map(Value::as_str);
                    let missing = names.filter(|name| value.is_object() && value.get(name).is_none());
                    findings.extend(missing.map(|name| format!("{at}.{name} is missing")));
                }
                "properties" | "additionalProperties" => {}
                unknown => findings.push(format!("{file}: the keyword {unknown} isn't checked")),
            }
        }
        if let Some(fields) = value.as_object() {
            self.fields(file, schema, fields, at, findings);
        }
    }

    fn fields(
        &self,
        file: &str,
        schema: &Map<String, Value>,
        fields: &Map<String, Value>,
        at: &str,
        findings: &mut Vec<String>,
    ) {
        for (name, field) in fields {
            let at = format!("{at}.{name}");
            let of_name = schema.get("properties").and_then(|properties| properties.get(name));
            match (of_name, schema.get("additionalProperties")) {
                (Some(schema), _) => self.check(file, schema, field, &at, findings),
                (None, Some(Value::Bool(false))) => findings.push(format!("{at} isn't in {file}")),
                (None, Some(schema @ Value::Object(_))) => self.check(file, schema, field, &at, findings),
                (None, _) => {}
            }
        }
    }

    /// One of them is enough; otherwise all that is wrong with each.
    fn any_of(&self, file: &str, all: &Value, value: &Value, at: &str, findings: &mut Vec<String>) {
        let mut wrong = Vec::new();
        for schema in all.as_array().into_iter().flatten() {
            let mut of_this = Vec::new();
            self.check(file, schema, value, at, &mut of_this);
            if of_this.is_empty() {
                return;
            }
            wrong.extend(of_this);
        }
        findings.extend(wrong);
    }

    /// `other.json#/$defs/name`, or `#/$defs/name` of the same file.
    fn find<'a>(&'a self, file: &'a str, reference: &'a str) -> (&'a str, &'a Value) {
        let (other, pointer) = reference.split_once('#').unwrap_or((reference, ""));
        let other = if other.is_empty() { file } else { other };
        let found = self.0.get(other).and_then(|schema| schema.pointer(pointer));
        (other, found.unwrap_or_else(|| panic!("{file} refers to {reference}, which isn't there")))
    }
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    }
}
