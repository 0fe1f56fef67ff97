//! Field and label selectors.

use serde_json::Value;

use crate::error::ApiError;
use crate::resources::Resource;
use crate::value::text;

/// One requirement of a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    Is(String, String),
    IsNot(String, String),
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Absent(String),
}

/// Which objects a list or watch shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    namespace: String,
    fields: Vec<Requirement>,
    labels: Vec<Requirement>,
}

impl Selector {
    /// Reads both selectors; 400 for a field that the resource can't be selected by.
    pub(crate) fn parse(
        resource: &Resource,
        namespace: &str,
        fields: &str,
        labels: &str,
    ) -> Result<Self, ApiError> {
        let fields = parse(fields).map_err(ApiError::bad_request)?;
        for requirement in &fields {
            let (Requirement::Is(field, _) | Requirement::IsNot(field, _)) = requirement else {
                return Err(ApiError::bad_request("field selectors know = and != only"));
            };
            if !is_selectable(resource, field) {
                let message = format!("field label not supported: {field}");
                return Err(ApiError::bad_request(message));
            }
        }
        let labels = parse(labels).map_err(ApiError::bad_request)?;
        Ok(Self { namespace: namespace.to_owned(), fields, labels })
    }

    /// Whether everything of the namespace is shown.
    pub(crate) fn is_open(&self) -> bool {
        self.fields.is_empty() && self.labels.is_empty()
    }

    /// Whether this object is shown.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        let in_namespace = self.namespace.is_empty() || text(object, "/metadata/namespace") == self.namespace;
        in_namespace
            && self
                .fields
                .iter()
                .all(|requirement| holds(requirement, |field| Some(field_of(object, field).to_owned())))
            && self.labels.iter().all(|requirement| {
                holds(requirement, |label| {
                    let labels = object.pointer("/metadata/labels")?;
                    Some(labels.get(label)?.as_str()?.to_owned())
                })
            })
    }
}

fn holds(requirement: &Requirement, value: impl Fn(&str) -> Option<String>) -> bool {
    match requirement {
        Requirement::Is(key, expected) => value(key).as_ref() == Some(expected),
        Requirement::IsNot(key, expected) => value(key).as_ref() != Some(expected),
        Requirement::In(key, expected) => value(key).is_some_and(|v| expected.contains(&v)),
        Requirement::NotIn(key, expected) => value(key).is_none_or(|v| !expected.contains(&v)),
        Requirement::Exists(key) => value(key).is_some(),
        Requirement::Absent(key) => value(key).is_none(),
    }
}

/// The fields that upstream can select by, for the resources that a node agent or its tests select.
fn is_selectable(resource: &Resource, field: &str) -> bool {
    let own: &[&str] = match resource.name {
        "pods" => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        "nodes" => &["spec.unschedulable"],
        "events" => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.fieldPath",
            "reason",
            "type",
            "source",
            "reportingComponent",
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
        ],
        "secrets" => &["type"],
        "namespaces" => &["status.phase"],
        "certificatesigningrequests" => &["spec.signerName"],
        "services" => &["spec.clusterIP", "spec.type"],
        _ => &[],
    };
    field == "metadata.name" || (field == "metadata.namespace" && resource.namespaced) || own.contains(&field)
}

fn field_of<'a>(object: &'a Value, field: &str) -> &'a str {
    match field {
        "spec.unschedulable" | "spec.hostNetwork" => {
            let set = object.pointer(&format!("/{}", field.replace('.', "/"))) == Some(&Value::Bool(true));
            if set { "true" } else { "false" }
        }
        "source" => text(object, "/source/component"),
        _ => {
            let kept = field.replacen("regarding.", "involvedObject.", 1);
            text(object, &format!("/{}", kept.replace('.', "/")))
        }
    }
}

fn parse(selector: &str) -> Result<Vec<Requirement>, String> {
    pieces(selector).into_iter().map(|piece| requirement(&piece)).collect()
}

/// Splits at commas outside parentheses.
fn pieces(selector: &str) -> Vec<String> {
    let (mut pieces, mut piece, mut depth) = (Vec::new(), String::new(), 0_u32);
    for letter in selector.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                pieces.push(std::mem::take(&mut piece));
                continue;
            }
            _ => {}
        }
        piece.push(letter);
    }
    pieces.push(piece);
    pieces.into_iter().map(|piece| piece.trim().to_owned()).filter(|piece| !piece.is_empty()).collect()
}

fn requirement(piece: &str) -> Result<Requirement, String> {
    let own = |text: &str| text.trim().to_owned();
    if let Some((key, value)) = piece.split_once("!=") {
        return Ok(Requirement::IsNot(own(key), own(value)));
    }
    if let Some((key, value)) = piece.split_once("==").or_else(|| piece.split_once('=')) {
        return Ok(Requirement::Is(own(key), own(value)));
    }
    if let Some((head, values)) = piece.split_once('(') {
        let values = values
            .trim_end()
            .strip_suffix(')')
            .ok_or_else(|| format!("unable to parse requirement: {piece}"))?;
        let values = values.split(',').map(own).collect();
        let mut words = head.split_whitespace();
        return match (words.next(), words.next(), words.next()) {
            (Some(key), Some("in"), None) => Ok(Requirement::In(own(key), values)),
            (Some(key), Some("notin"), None) => Ok(Requirement::NotIn(own(key), values)),
            _ => Err(format!("unable to parse requirement: {piece}")),
        };
    }
    Ok(match piece.strip_prefix('!') {
        Some(key) => Requirement::Absent(own(key)),
        None => Requirement::Exists(own(piece)),
    })
}
