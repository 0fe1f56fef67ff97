//! Manifests: the bytes of a file turned into pods, or into everything that is wrong with them.
//!
//! A file is taken whole or not at all. Upstream reads one pod per file and drops unknown fields; here several
//! documents and lists are read, and a field that no one knows or acts on is an error, because on a node without an API
//! server no one else would tell the operator.

mod split;
pub mod workload;

use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;
use thiserror::Error;

use super::claims::Claims;
use super::supported;
use crate::pod::static_pod::{self, Origin};
use crate::pod::validation::{FieldError, Problems};
use crate::pod::{PodFullName, defaults, validation};
use crate::yaml::{self, Position};

#[cfg(test)]
mod tests;

/// Bytes of one manifest: upstream's bound.
pub const MANIFEST_BYTES_MAX: usize = 10 * 1024 * 1024;
/// Documents in one file, and pods in all its lists.
pub const PODS_MAX: usize = 1000;
/// Problems that are reported of one file; the rest is counted.
pub const PROBLEMS_MAX: usize = 100;
/// How deep values may lie in each other.
const DEPTH_MAX: usize = 64;
/// Values in one document. A pod has some hundreds; 100,000 labels fit, so that they get their own message.
const NODES_MAX: usize = 500_000;
/// How many values aliases may add, in all documents of a file together: without them no document needs more than its own.
const ALIAS_EVENTS_MAX: usize = 100_000;
/// How many bytes of text they may add.
const ALIAS_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A file that isn't taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestError {
    /// The file, URL or the like.
    pub place: String,
    /// At least one.
    pub problems: Vec<Problem>,
}

impl std::error::Error for ManifestError {}

impl std::fmt::Display for ManifestError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: ", self.place)?;
        for (index, problem) in self.problems.iter().enumerate() {
            write!(f, "{}{problem}", if index == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

/// One thing wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The document, if it is one's.
    pub document: Option<Document>,
    pub fault: Fault,
}

/// A document in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document {
    /// The first has 1; empty ones aren't counted.
    pub number: usize,
    /// Line of its first content, from 1.
    pub line: usize,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.document {
            Some(Document { number, line }) => {
                write!(f, "document {number} (line {line}): {}", self.fault)
            }
            None => write!(f, "{}", self.fault),
        }
    }
}

/// What can be wrong with a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// More than [`MANIFEST_BYTES_MAX`].
    #[error("the file must have at most {MANIFEST_BYTES_MAX} bytes, found {bytes}")]
    TooLarge { bytes: usize },
    /// Not UTF-8.
    #[error("the file must be UTF-8 text: invalid byte at offset {offset}")]
    NotText {
        /// Bytes before the first that is wrong.
        offset: usize,
    },
    /// Nothing but white space and comments. An empty list is a way to say that there are no pods.
    #[error("the file is empty; remove it to have no pods")]
    Empty,
    /// More than [`PODS_MAX`].
    #[error("the file must have at most {PODS_MAX} documents and pods")]
    TooMany,
    /// Neither YAML nor JSON, or beyond the bounds on depth, size and aliases.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// Line in the file, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        message: String,
    },
    /// A list, a number, a text.
    #[error("a manifest must be an object with apiVersion, kind, metadata and spec, found {found}")]
    NotAnObject { found: &'static str },
    /// No kind or no API version.
    #[error("{field} is missing (expected apiVersion: v1 and kind: Pod)")]
    Untyped {
        /// Which of the two.
        field: &'static str,
    },
    /// A kind that isn't run here.
    #[error("kind must be Pod, PodList or List of v1, found {kind} of {api_version}")]
    Kind { api_version: String, kind: String },
    /// More than [`PROBLEMS_MAX`].
    #[error("and {count} more errors")]
    More { count: usize },
    /// A field of a pod.
    #[error(
        "{}{}{field}",
        place.map(|place| format!("{place}: ")).unwrap_or_default(),
        pod.as_deref().map(|pod| format!("pod {pod:?}: ")).unwrap_or_default()
    )]
    Field {
        /// Where it stands in the file, for a value of another type.
        place: Option<Position>,
        /// The pod's name, if it has one.
        pod: Option<String>,
        field: FieldError,
    },
}

/// Reads a manifest: static pods of this node, named, defaulted and validated; or everything that is wrong.
///
/// # Errors
/// The manifest can't be read, or a pod of it isn't valid; the error has all problems.
pub fn static_pods(bytes: &[u8], origin: Origin<'_>) -> Result<Vec<Pod>, ManifestError> {
    read(bytes, origin, |_| ())
        .map(|pods| pods.into_iter().map(|(pod, ())| pod).collect())
        .map_err(|problems| ManifestError { place: origin.place.to_owned(), problems })
}

/// The same for a source outside the host, with what each pod claimed to be. A UID that stands in the manifest is replaced
/// by what `own_uid` makes of the pod.
pub(super) fn plugin_pods(
    text: &str,
    origin: Origin<'_>,
    own_uid: impl Fn(&Pod) -> Option<String>,
) -> Result<Vec<(Pod, Claims)>, ManifestError> {
    let claim = |pod: &mut Pod| {
        let claims = Claims::of(pod);
        pod.metadata.uid = own_uid(pod);
        claims
    };
    read(text.as_bytes(), origin, claim)
        .map_err(|problems| ManifestError { place: origin.place.to_owned(), problems })
}

/// The full name that the one pod of a manifest would have on this node, though the manifest may not be taken.
pub(super) fn name_of(text: &str, origin: Origin<'_>) -> Option<PodFullName> {
    let mut parts = parts(text.as_bytes(), &mut Vec::new());
    if parts.len() != 1 {
        return None;
    }
    let (_, part) = parts.pop()?;
    let namespace = match part.value.pointer("/metadata/namespace") {
        None | Some(Value::Null) => "default",
        Some(namespace) => namespace.as_str()?,
    };
    let namespace = if namespace.is_empty() { "default" } else { namespace };
    let name = format!("{}-{}", part.name()?, origin.node_name.to_lowercase());
    validation::is_dns_label(namespace).then(|| PodFullName::new(namespace, &name))
}

/// Reads a manifest's pods, each with what `inspect` finds before the pod is adopted.
fn read<T>(
    bytes: &[u8],
    origin: Origin<'_>,
    inspect: impl Fn(&mut Pod) -> T,
) -> Result<Vec<(Pod, T)>, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut pods = Vec::new();
    for (document, part) in parts(bytes, &mut problems) {
        let mut found = Problems::default();
        let root = part.root.clone();
        let name = part.name();
        let Some(mut pod) = decode(part, &mut found) else {
            let mistyped = found.finish(&root);
            let place = place_of(bytes, document, &mistyped);
            report(&mut problems, document, place, name, mistyped);
            continue;
        };
        let seen = inspect(&mut pod);
        let mut pod = static_pod::adopt(pod, origin);
        defaults::apply(&mut pod);
        for error in validation::validate(&pod) {
            found.add(join(&root, &error.path), error.message);
        }
        let found = found.finish(&root);
        if found.is_empty() {
            pods.push((pod, seen));
        }
        report(&mut problems, document, None, name, found);
    }
    if problems.is_empty() {
        return Ok(pods);
    }
    if let Some(count) = problems.len().checked_sub(PROBLEMS_MAX).filter(|count| *count > 0) {
        problems.truncate(PROBLEMS_MAX);
        problems.push(Problem { document: None, fault: Fault::More { count } });
    }
    Err(problems)
}

fn report(
    problems: &mut Vec<Problem>,
    document: Document,
    place: Option<Position>,
    pod: Option<String>,
    found: Vec<FieldError>,
) {
    problems.extend(found.into_iter().map(|field| Problem {
        document: Some(document),
        fault: Fault::Field { place, pod: pod.clone(), field },
    }));
}

/// Where the value stands at which decoding ended.
fn place_of(bytes: &[u8], document: Document, mistyped: &[FieldError]) -> Option<Position> {
    let documents = split::documents(text_of(bytes).ok()?);
    documents.get(document.number.checked_sub(1)?)?.place_of(&mistyped.first()?.path, documents.len())
}

/// The text without its mark of the byte order, or how many bytes come before the first that is none.
fn text_of(bytes: &[u8]) -> Result<&str, usize> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.valid_up_to())?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// One pod of a document, not yet decoded.
struct Part {
    /// Path of the pod in its document: empty, or `items[3]`.
    root: String,
    value: Value,
}

impl Part {
    fn name(&self) -> Option<String> {
        let name = self.value.pointer("/metadata/name")?.as_str()?;
        validation::is_dns_subdomain(name).then(|| name.to_owned())
    }
}

fn parts(bytes: &[u8], problems: &mut Vec<Problem>) -> Vec<(Document, Part)> {
    let mut parts = Vec::new();
    for (document, value) in documents(bytes, problems) {
        match value.and_then(pods_of) {
            Ok(pods) => parts.extend(pods.into_iter().map(|part| (document, part))),
            Err(fault) => problems.push(Problem { document: Some(document), fault }),
        }
    }
    if parts.len() > PODS_MAX {
        problems.push(Problem { document: None, fault: Fault::TooMany });
        parts.clear();
    }
    parts
}

/// The documents of a file, each with its value or with what is wrong with it.
fn documents(bytes: &[u8], problems: &mut Vec<Problem>) -> Vec<(Document, Result<Value, Fault>)> {
    let mut whole_file = |fault| problems.push(Problem { document: None, fault });
    if bytes.len() > MANIFEST_BYTES_MAX {
        whole_file(Fault::TooLarge { bytes: bytes.len() });
        return Vec::new();
    }
    let text = match text_of(bytes) {
        Ok(text) => text,
        Err(offset) => {
            whole_file(Fault::NotText { offset });
            return Vec::new();
        }
    };
    let documents = split::documents(text);
    match documents.len() {
        0 => whole_file(Fault::Empty),
        1..=PODS_MAX => {}
        _ => {
            whole_file(Fault::TooMany);
            return Vec::new();
        }
    }
    let parsed = documents.iter().enumerate().map(|(index, source)| {
        let document = Document { number: index + 1, line: source.content_line };
        (document, source.parse(documents.len()))
    });
    parsed.collect()
}

/// The pods of one document: itself, or the items of a list. Items of a `PodList` may leave out what they are.
fn pods_of(value: Value) -> Result<Vec<Part>, Fault> {
    match kind_of(&value)? {
        Kind::Pod => Ok(vec![Part { root: String::new(), value }]),
        list @ (Kind::PodList | Kind::List) => {
            let items = match value {
                Value::Object(mut fields) => fields.remove("items"),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
            };
            let Some(Value::Array(items)) = items else {
                return Err(Fault::Field {
                    place: None,
                    pod: None,
                    field: FieldError { path: "items".to_owned(), message: "must be a list".to_owned() },
                });
            };
            let mut parts = Vec::with_capacity(items.len());
            for (index, value) in items.into_iter().enumerate() {
                let untyped =
                    value.get("kind").is_none() && value.get("apiVersion").is_none() && value.is_object();
                let is_pod = match list {
                    Kind::PodList if untyped => true,
                    Kind::PodList | Kind::List | Kind::Pod => matches!(kind_of(&value)?, Kind::Pod),
                };
                if !is_pod {
                    return Err(Fault::Kind {
                        api_version: "v1".to_owned(),
                        kind: "List inside a list".to_owned(),
                    });
                }
                parts.push(Part { root: format!("items[{index}]"), value });
            }
            Ok(parts)
        }
    }
}

enum Kind {
    Pod,
    PodList,
    List,
}

fn kind_of(value: &Value) -> Result<Kind, Fault> {
    match type_of(value)? {
        ("v1", "Pod") => Ok(Kind::Pod),
        ("v1", "PodList") => Ok(Kind::PodList),
        ("v1", "List") => Ok(Kind::List),
        (api_version, kind) => {
            Err(Fault::Kind { api_version: shortened(api_version), kind: shortened(kind) })
        }
    }
}

/// `apiVersion` and `kind`.
fn type_of(value: &Value) -> Result<(&str, &str), Fault> {
    let found = match value {
        Value::Object(_) => None,
        Value::Null => Some("null"),
        Value::Bool(_) => Some("a boolean"),
        Value::Number(_) => Some("a number"),
        Value::String(_) => Some("a text"),
        Value::Array(_) => Some("a list"),
    };
    if let Some(found) = found {
        return Err(Fault::NotAnObject { found });
    }
    let text = |field: &'static str| {
        let value = value.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        value.ok_or(Fault::Untyped { field })
    };
    let kind = text("kind")?;
    Ok((text("apiVersion")?, kind))
}

/// A foreign text for a message.
pub(super) fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Decodes one pod. Reports fields that no pod has, fields of a wrong type (the first: decoding ends there), and fields
/// that this release doesn't act on.
fn decode(part: Part, problems: &mut Problems) -> Option<Pod> {
    let Part { root, mut value } = part;
    let pod = decode_strictly(&mut value, &root, problems)?;
    supported::check(&value, &root, problems);
    Some(pod)
}

/// The same without a check of what this release acts on. What no pod has is removed from the value.
fn decode_strictly(value: &mut Value, root: &str, problems: &mut Problems) -> Option<Pod> {
    if let Value::Object(fields) = value {
        fields.insert("apiVersion".to_owned(), Value::from("v1"));
        fields.insert("kind".to_owned(), Value::from("Pod"));
        // What someone else once saw of the pod doesn't matter, whatever is in it.
        fields.remove("status");
    }
    let pod: Pod = match serde_path_to_error::deserialize(&*value) {
        Ok(pod) => pod,
        Err(error) => {
            let path = error.path().to_string();
            let words = yaml::type_fault(&error.inner().to_string());
            problems.add(join(root, if path == "." { "" } else { &path }), words);
            return None;
        }
    };
    let known = match serde_json::to_value(&pod) {
        Ok(known) => known,
        Err(error) => {
            problems.add(root, error.to_string());
            return None;
        }
    };
    remove_unknown(value, &known, root, &mut |path| problems.add(path, "unknown field"));
    Some(pod)
}

/// Removes what was written of an object and didn't survive decoding, because the object has no such field, and reports the path of each.
pub fn remove_unknown(written: &mut Value, known: &Value, path: &str, report: &mut impl FnMut(String)) {
    match (written, known) {
        (Value::Object(written), Value::Object(known)) => {
            written.retain(|name, value| {
                let keep = value.is_null() || known.contains_key(name);
                if !keep {
                    report(join(path, name));
                }
                keep
            });
            for (name, value) in written.iter_mut() {
                if let Some(known) = known.get(name) {
                    remove_unknown(value, known, &join(path, name), report);
                }
            }
        }
        (Value::Array(written), Value::Array(known)) => {
            for (index, (written, known)) in written.iter_mut().zip(known).enumerate() {
                remove_unknown(written, known, &format!("{path}[{index}]"), report);
            }
        }
        // A scalar that was decoded is known.
        (_, _) => {}
    }
}

fn join(root: &str, path: &str) -> String {
    match (root.is_empty(), path.is_empty()) {
        (true, _) => path.to_owned(),
        (false, true) => root.to_owned(),
        (false, false) => format!("{root}.{path}"),
    }
}
