//! What a bundle is: JSON or YAML, in one document or several. Each is a Pod, a PodList or List of v1, a plain list of pods,
//! or a PodBundle of `witlet.dev/v1alpha1`, which is a list with a version:
//!
//! ```yaml
//! apiVersion: witlet.dev/v1alpha1
//! kind: PodBundle
//! version: 7
//! items: []
//! ```

use serde_json::Value;
use thiserror::Error;

#[cfg(test)]
mod tests;

/// Pods of one bundle.
pub(crate) const PODS_MAX: usize = 1000;
/// How deep values may lie in each other.
const DEPTH_MAX: usize = 64;
/// Values in one bundle, those that aliases repeat included.
const NODES_MAX: usize = 1_000_000;
/// How much aliases may add.
const ALIAS_EVENTS_MAX: usize = 100_000;
/// What has a version.
const BUNDLE: (&str, &str) = ("witlet.dev/v1alpha1", "PodBundle");

/// A bundle that isn't taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum BundleError {
    #[error("the bundle is empty: to have no pods, let it be an empty list")]
    Empty,
    #[error("the bundle is no UTF-8 text")]
    NotText,
    #[error("the bundle is neither JSON nor YAML: {message}")]
    Syntax { message: String },
    #[error("{place} is {found}, not a Pod, PodList, List, PodBundle or list of pods")]
    Kind { place: String, found: String },
    #[error("{place} has no list of items")]
    NoItems { place: String },
    #[error("the bundle has more than {PODS_MAX} pods")]
    TooMany,
    #[error("{place} has a version that is no whole number from 0")]
    Version { place: String },
    #[error("the bundle has several versions")]
    SeveralVersions,
    #[error("the bundle has no version, and one is required")]
    NoVersion,
    #[error("the bundle has version {found}, and version {last} was here already")]
    Replayed { found: u64, last: u64 },
}

/// A bundle taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bundle {
    /// Each pod as JSON.
    pub(crate) pods: Vec<String>,
    pub(crate) version: Option<u64>,
}

/// Reads a bundle as a whole, or not at all.
pub(crate) fn read(bytes: &[u8]) -> Result<Bundle, BundleError> {
    let text = std::str::from_utf8(bytes).map_err(|_| BundleError::NotText)?;
    let documents = documents(text.strip_prefix('\u{feff}').unwrap_or(text))?;
    if documents.is_empty() {
        return Err(BundleError::Empty);
    }
    let mut bundle = Bundle::default();
    for (index, document) in documents.into_iter().enumerate() {
        bundle.add(document, &format!("document {}", index + 1))?;
    }
    Ok(bundle)
}

/// Whether a bundle of this version may come after one of the last. The same version may come again: servers restart.
pub(crate) fn check_version(
    found: Option<u64>,
    last: Option<u64>,
    required: bool,
) -> Result<(), BundleError> {
    match (found, last) {
        (Some(found), Some(last)) if found < last => Err(BundleError::Replayed { found, last }),
        (None, Some(_)) => Err(BundleError::NoVersion),
        (None, None) if required => Err(BundleError::NoVersion),
        (Some(_), _) | (None, None) => Ok(()),
    }
}

fn documents(text: &str) -> Result<Vec<Value>, BundleError> {
    if text.trim_start().starts_with(['{', '['])
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(vec![value]);
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEPTH_MAX,
            max_nodes: NODES_MAX,
            max_events: 2 * NODES_MAX,
            max_documents: PODS_MAX,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: ALIAS_EVENTS_MAX,
        },
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::Error,
        legacy_octal_numbers: true,
        with_snippet: false,
    };
    let documents: Vec<Value> = serde_saphyr::from_multiple_with_options(text, options)
        .map_err(|error| BundleError::Syntax { message: error.without_snippet().to_string() })?;
    // What stands between two separators without content.
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}

impl Bundle {
    fn add(&mut self, document: Value, place: &str) -> Result<(), BundleError> {
        if let Value::Array(items) = document {
            return self.add_all(items, place, false);
        }
        match kind(&document) {
            (Some("v1"), Some("Pod")) => self.push(&document),
            (Some("v1"), Some("PodList")) => self.add_items(document, place, true),
            (Some("v1"), Some("List")) => self.add_items(document, place, false),
            (Some(api_version), Some(name)) if (api_version, name) == BUNDLE => {
                let version = match document.get("version") {
                    None | Some(Value::Null) => None,
                    Some(version) => {
                        let place = place.to_owned();
                        Some(version.as_u64().ok_or(BundleError::Version { place })?)
                    }
                };
                if version.is_some() && self.version.is_some() {
                    return Err(BundleError::SeveralVersions);
                }
                self.version = self.version.or(version);
                self.add_items(document, place, true)
            }
            _ => Err(unknown(&document, place)),
        }
    }

    fn add_items(&mut self, mut list: Value, place: &str, typed: bool) -> Result<(), BundleError> {
        match list.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => self.add_all(items, place, typed),
            _ => Err(BundleError::NoItems { place: place.to_owned() }),
        }
    }

    /// `typed`: the list says what its items are.
    fn add_all(&mut self, items: Vec<Value>, place: &str, typed: bool) -> Result<(), BundleError> {
        for (index, mut item) in items.into_iter().enumerate() {
            let untyped = typed && kind(&item) == (None, None);
            if let (true, Value::Object(fields)) = (untyped, &mut item) {
                fields.insert("apiVersion".to_owned(), Value::from("v1"));
                fields.insert("kind".to_owned(), Value::from("Pod"));
            }
            match kind(&item) {
                (Some("v1"), Some("Pod")) => self.push(&item)?,
                _ => return Err(unknown(&item, &format!("item {} of {place}", index + 1))),
            }
        }
        Ok(())
    }

    fn push(&mut self, pod: &Value) -> Result<(), BundleError> {
        if self.pods.len() >= PODS_MAX {
            return Err(BundleError::TooMany);
        }
        self.pods.push(pod.to_string());
        Ok(())
    }
}

fn kind(value: &Value) -> (Option<&str>, Option<&str>) {
    let text = |field: &str| value.get(field).and_then(Value::as_str);
    (text("apiVersion"), text("kind"))
}

fn unknown(value: &Value, place: &str) -> BundleError {
    let found = match value {
        Value::Object(_) => match kind(value) {
            (Some(api_version), Some(kind)) => format!("{kind} of {api_version}"),
            _ => "an object without apiVersion or kind".to_owned(),
        },
        Value::Array(_) => "a list".to_owned(),
        Value::Null => "nothing".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => "a plain value".to_owned(),
    };
    let found = found.chars().take(120).collect();
    BundleError::Kind { place: place.to_owned(), found }
}
