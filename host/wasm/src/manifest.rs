//! The manifest of a component: what its author says of it, the configuration that it takes, and the grants that it wants.
//!
//! It is JSON in a custom section of the component, written by `witlet plugin manifest` from YAML. It is foreign input: of a bounded size,
//! read strictly, and refused with the name of the field.

mod schema;
mod section;

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use witlet_core::yaml;

use crate::guest::{misleads, printable};
use crate::plugin::config::{API_VERSION, no_name};
pub use schema::{FINDINGS_MAX, FieldOutline, KEYWORDS, Mismatch, Schema, SchemaError};
pub use section::{SECTION, SectionError};

/// `kind` of a manifest.
pub const KIND: &str = "PluginManifest";
/// How large a manifest is, as it is written and in a component.
pub const MANIFEST_BYTES_MAX: usize = 64 << 10;
/// Fields of `grants:` that a manifest can want.
pub const GRANTS: [&str; 5] = ["network", "secrets", "exec", "files", "state"];
/// How long a text is that isn't described otherwise.
const TEXT_BYTES_MAX: usize = 1024;
/// How long a version is.
const VERSION_BYTES_MAX: usize = 64;
/// How much of the parser's words is kept.
const WORDS_BYTES_MAX: usize = 1024;
/// The beginning of keys of annotations.
const ANNOTATION: &str = "org.opencontainers.image.";

/// Why a manifest isn't taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ManifestError {
    /// It has too many bytes.
    #[error("the manifest has {bytes} bytes, at most {MANIFEST_BYTES_MAX} are allowed")]
    TooLarge { bytes: usize },
    /// The component has more than one.
    #[error("the component has {count} sections {SECTION}, at most one is allowed")]
    Many { count: usize },
    /// Neither JSON nor YAML, an unknown field, a value of the wrong type.
    #[error("{message}")]
    Syntax {
        /// The parser's words, with line and column.
        message: String,
    },
    /// Another document, or one of a release that writes another form.
    #[error("expected kind {KIND} of {API_VERSION}, found {kind} of {api_version}")]
    Kind { kind: String, api_version: String },
    /// A field has what it may not.
    #[error("{field}: {problem}")]
    Field {
        field: String,
        /// What is wrong, and the way out.
        problem: String,
    },
}

impl From<SchemaError> for ManifestError {
    fn from(error: SchemaError) -> Self {
        Self::Field { field: error.path, problem: error.problem }
    }
}

/// A grant that a plugin wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestedGrant {
    /// A field of `grants:`, one of [`GRANTS`].
    pub name: String,
    /// What the plugin does with it.
    pub reason: String,
}

/// What a component's author says of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    document: Document,
    config: Option<Schema>,
    parameters: Option<Schema>,
}

/// As it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Document {
    api_version: String,
    kind: String,
    name: String,
    version: String,
    description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    authors: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    documentation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    homepage: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    licenses: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vendor: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    config: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parameters: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    grants: Vec<RequestedGrant>,
}

/// What says how the rest is read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
}

impl Manifest {
    /// Reads YAML, or JSON, as an author writes it.
    ///
    /// # Errors
    /// When anything in it is wrong.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        Self::read(text, of_yaml, of_yaml)
    }

    /// Returns what a component says of itself; none if it says nothing.
    ///
    /// # Errors
    /// When its manifest is broken, or there is more than one.
    pub fn of(wasm: &[u8]) -> Result<Option<Self>, ManifestError> {
        let json = match section::find(wasm)[..] {
            [] => return Ok(None),
            [json] => json,
            ref more => return Err(ManifestError::Many { count: more.len() }),
        };
        if json.len() > MANIFEST_BYTES_MAX {
            return Err(ManifestError::TooLarge { bytes: json.len() });
        }
        let text = std::str::from_utf8(json)
            .map_err(|error| ManifestError::Syntax { message: error.to_string() })?;
        Self::read(text, of_json, of_json).map(Some)
    }

    fn read(
        text: &str,
        head: impl Fn(&str) -> Result<Head, String>,
        document: impl Fn(&str) -> Result<Document, String>,
    ) -> Result<Self, ManifestError> {
        if text.len() > MANIFEST_BYTES_MAX {
            return Err(ManifestError::TooLarge { bytes: text.len() });
        }
        let syntax =
            |message: String| ManifestError::Syntax { message: printable(&message, WORDS_BYTES_MAX) };
        let Head { api_version, kind } = head(text).map_err(syntax)?;
        if kind != KIND || api_version != API_VERSION {
            let cut = |word: &str| format!("{:?}", printable(word, VERSION_BYTES_MAX));
            return Err(ManifestError::Kind { kind: cut(&kind), api_version: cut(&api_version) });
        }
        let manifest = Self::checked(document(text).map_err(syntax)?)?;
        // YAML may be shorter.
        let bytes = manifest.json().len();
        if bytes > MANIFEST_BYTES_MAX { Err(ManifestError::TooLarge { bytes }) } else { Ok(manifest) }
    }

    fn checked(document: Document) -> Result<Self, ManifestError> {
        let refused = |field: &str, problem: String| {
            Err(ManifestError::Field {
                field: field.to_owned(),
                problem: printable(&problem, WORDS_BYTES_MAX),
            })
        };
        if let Some(problem) = no_name(&document.name) {
            return refused("name", problem);
        }
        let is_of_version = |letter: char| letter.is_ascii_alphanumeric() || ".-+_".contains(letter);
        let version = &document.version;
        if version.is_empty() || version.len() > VERSION_BYTES_MAX || !version.chars().all(is_of_version) {
            let rule = format!("letters, digits and `.-+_`, from 1 to {VERSION_BYTES_MAX}, such as 1.4.0");
            return refused("version", format!("{version:?} isn't a version: {rule}"));
        }
        for (field, text) in document.texts() {
            if let Some(problem) = no_text(text) {
                return refused(field, problem);
            }
        }
        let mut names = BTreeSet::new();
        for (index, grant) in document.grants.iter().enumerate() {
            let at = |field: &str| format!("grants[{index}].{field}");
            if !GRANTS.contains(&&*grant.name) {
                let expected = GRANTS.join(", ");
                return refused(
                    &at("name"),
                    format!("{:?} is no grant: expected one of {expected}", grant.name),
                );
            }
            if !names.insert(&*grant.name) {
                return refused(&at("name"), format!("{} is requested twice: give one reason", grant.name));
            }
            if let Some(problem) = no_text(&grant.reason) {
                return refused(&at("reason"), problem);
            }
        }
        let compile = |schema: &Option<Value>, name: &str| {
            schema.clone().map(|schema| Schema::compile(schema, name)).transpose()
        };
        let config = compile(&document.config, "config")?;
        let parameters = compile(&document.parameters, "parameters")?;
        Ok(Self { document, config, parameters })
    }

    /// The component with this manifest as its only one. The same for the same arguments.
    ///
    /// # Errors
    /// When the bytes are no component.
    pub fn embed(&self, wasm: &[u8]) -> Result<Vec<u8>, SectionError> {
        section::replaced(wasm, self.json().as_bytes())
    }

    /// Returns the text as it is in a component.
    pub fn json(&self) -> String {
        // Texts and JSON alone always have a JSON form.
        serde_json::to_string(&self.document).unwrap_or_default()
    }

    /// The plugin's name, as an entry may call it.
    pub fn name(&self) -> &str {
        &self.document.name
    }

    /// The component's version.
    pub fn version(&self) -> &str {
        &self.document.version
    }

    /// Returns what the plugin does.
    pub fn description(&self) -> &str {
        &self.document.description
    }

    /// Returns what `config:` of an entry must be; none if it says nothing of it.
    pub fn config(&self) -> Option<&Schema> {
        self.config.as_ref()
    }

    /// Returns what `parameters` of a probe must be; none if it says nothing of it.
    pub fn parameters(&self) -> Option<&Schema> {
        self.parameters.as_ref()
    }

    /// The grants that it wants.
    pub fn grants(&self) -> &[RequestedGrant] {
        &self.document.grants
    }

    /// The grants that it wants and isn't given, each in a sentence. `given` are fields of `grants:`.
    pub fn ungranted(&self, given: &[String]) -> Vec<String> {
        let missing = self.grants().iter().filter(|requested| !given.contains(&requested.name));
        let sentence = |RequestedGrant { name, reason }: &RequestedGrant| {
            format!("it wants the grant {name}, which its entry does not give: {reason}")
        };
        missing.map(sentence).collect()
    }

    /// Returns it as annotations of an OCI manifest.
    pub fn annotations(&self) -> BTreeMap<String, String> {
        let Document { name, version, .. } = &self.document;
        let texts = self.document.texts().map(|(field, text)| match field {
            "homepage" => ("url", text),
            same => (same, text),
        });
        let all = [("title", &**name), ("version", &**version)].into_iter().chain(texts);
        all.map(|(key, text)| (format!("{ANNOTATION}{key}"), text.to_owned())).collect()
    }
}

/// As it is written.
impl Serialize for Manifest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.document.serialize(serializer)
    }
}

impl Document {
    /// Texts for people, by their fields.
    fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let Self { description, authors, documentation, homepage, licenses, source, vendor, .. } = self;
        let others = [
            ("authors", authors),
            ("documentation", documentation),
            ("homepage", homepage),
            ("licenses", licenses),
            ("source", source),
            ("vendor", vendor),
        ];
        let others = others.into_iter().filter_map(|(field, text)| Some((field, text.as_deref()?)));
        std::iter::once(("description", &**description)).chain(others)
    }
}

fn of_yaml<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    yaml::read(text)
}

fn of_json<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Why a text can't be shown on one line; none if it can.
fn no_text(text: &str) -> Option<String> {
    if text.trim().is_empty() {
        return Some("may not be empty".to_owned());
    }
    if text.len() > TEXT_BYTES_MAX {
        return Some(format!("has {} bytes, at most {TEXT_BYTES_MAX} are allowed", text.len()));
    }
    text.contains(misleads).then(|| "must be one line without control characters".to_owned())
}

#[cfg(test)]
mod tests;
