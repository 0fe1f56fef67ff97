//! The pods that the objects of a file come to: pods themselves, and those that controllers make of their templates.
//!
//! Nothing runs by this: it is for commands that show what would become of a pod. So a fault costs its object alone.

mod controller;

use std::fmt;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;

use super::super::supported;
use super::{
    Document, Fault, PODS_MAX, PROBLEMS_MAX, Problem, decode_strictly, documents, join, place_of, report,
    shortened, type_of,
};
use crate::node::whole_seconds;
use crate::pod::static_pod::{self, CONFIG_SOURCE, Origin};
use crate::pod::validation::{FieldError, Problems};
use crate::pod::{defaults, validation};
use controller::{RANDOM, Template, uid_of};

#[cfg(test)]
mod tests;

/// The value of [`CONFIG_SOURCE`] that stands for the API server.
const API_SOURCE: &str = "api";
/// The service account and the namespace of a pod that names none.
const DEFAULT: &str = "default";
/// What the API server makes of the two classes that every cluster has (`pkg/apis/scheduling/types.go`).
const SYSTEM_PRIORITIES: [(&str, i32); 2] =
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

/// How the pods come to the node, and so what is filled in.
#[derive(Clone, Copy, Debug)]
pub enum Arrival<'a> {
    /// As an API server binds them to the node.
    ApiServer {
        /// For pods that name no node; none leaves them without.
        node_name: Option<&'a str>,
        /// When they are made.
        now: Timestamp,
    },
    /// As a source of the node's own adopts them.
    Static(Origin<'a>),
}

/// What a file comes to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workloads {
    /// In the file's order.
    pub pods: Vec<WorkloadPod>,
    /// Objects that make no pods.
    pub skipped: Vec<SkippedObject>,
    /// What is wrong with the others.
    pub problems: Vec<Problem>,
}

/// A pod, and what it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadPod {
    pub document: Document,
    /// Path of its object in the document: empty, or `items[3]`.
    pub item: String,
    /// The object that the file has.
    pub object: ObjectName,
    /// `status.phase` of a pod that was exported with its status.
    pub phase: Option<String>,
    pub pod: Pod,
}

/// An object without pods, such as a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedObject {
    pub document: Document,
    pub object: ObjectName,
}

/// What an object is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectName {
    /// As written, cut short.
    pub kind: String,
    /// Empty if it names none.
    pub namespace: String,
    /// Empty if it has none.
    pub name: String,
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, namespace, name } = self;
        match namespace.as_str() {
            "" => write!(f, "{kind} {name}"),
            namespace => write!(f, "{kind} {namespace}/{name}"),
        }
    }
}

impl ObjectName {
    fn of(kind: &str, value: &Value) -> Self {
        let text = |field: &str| shortened(value.pointer(field).and_then(Value::as_str).unwrap_or_default());
        Self { kind: shortened(kind), namespace: text("/metadata/namespace"), name: text("/metadata/name") }
    }
}

/// One object of a document.
struct Object {
    document: Document,
    item: String,
    api_version: String,
    kind: String,
    value: Value,
}

/// Reads a file's objects. Of a list all items are read.
pub fn pods(bytes: &[u8], arrival: Arrival<'_>) -> Workloads {
    let mut found = Workloads::default();
    let values = documents(bytes, &mut found.problems);
    let mut objects = 0;
    for (document, value) in values {
        let parts =
            value.and_then(|value| objects_of(document, value)).unwrap_or_else(|fault| vec![Err(fault)]);
        for part in parts {
            objects += 1;
            if objects > PODS_MAX {
                found.problems.push(Problem { document: None, fault: Fault::TooMany });
                return bounded(found);
            }
            match part {
                Ok(object) => read(object, bytes, arrival, &mut found),
                Err(fault) => found.problems.push(Problem { document: Some(document), fault }),
            }
        }
    }
    bounded(found)
}

/// No more problems than anyone reads; the rest is counted.
fn bounded(mut found: Workloads) -> Workloads {
    if let Some(count) = found.problems.len().checked_sub(PROBLEMS_MAX).filter(|count| *count > 0) {
        found.problems.truncate(PROBLEMS_MAX);
        found.problems.push(Problem { document: None, fault: Fault::More { count } });
    }
    found
}

/// The object of a document, or the items of a list. Items of a typed list may leave out what they are.
fn objects_of(document: Document, value: Value) -> Result<Vec<Result<Object, Fault>>, Fault> {
    let (api_version, kind) = type_of(&value)?;
    let (api_version, kind) = (api_version.to_owned(), kind.to_owned());
    let is_list = kind == "List" || kind.ends_with("List") && value.get("items").is_some();
    let Some(item_kind) = kind.strip_suffix("List").filter(|_| is_list) else {
        return Ok(vec![Ok(Object { document, item: String::new(), api_version, kind, value })]);
    };
    let items = match value {
        Value::Object(mut fields) => fields.remove("items"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    };
    let Some(Value::Array(items)) = items else {
        return Err(field_fault(None, "items", "must be a list"));
    };
    let object = |(index, value): (usize, Value)| {
        let item = format!("items[{index}]");
        let untyped = value.get("kind").is_none() && value.get("apiVersion").is_none() && value.is_object();
        if untyped && !item_kind.is_empty() {
            let (api_version, kind) = (api_version.clone(), item_kind.to_owned());
            return Ok(Object { document, item, api_version, kind, value });
        }
        let (api_version, kind) = type_of(&value)?;
        if kind == "List" || value.get("items").is_some() {
            return Err(field_fault(None, &item, "must not be a list itself"));
        }
        let (api_version, kind) = (api_version.to_owned(), kind.to_owned());
        Ok(Object { document, item, api_version, kind, value })
    };
    Ok(items.into_iter().enumerate().map(object).collect())
}

fn field_fault(pod: Option<String>, path: &str, message: &str) -> Fault {
    let field = FieldError { path: path.to_owned(), message: message.to_owned() };
    Fault::Field { place: None, pod, field }
}

/// Adds the pod of an object of the file, or why there is none.
fn read(object: Object, file: &[u8], arrival: Arrival<'_>, found: &mut Workloads) {
    let Object { document, item, api_version, kind, mut value } = object;
    let name = ObjectName::of(&kind, &value);
    let pod_name = (!name.name.is_empty()).then(|| name.name.clone());
    let problems_of_file = &mut found.problems;
    let phase = value.pointer("/status/phase").and_then(Value::as_str).map(shortened);
    let template = match controller::template(&api_version, &kind, &mut value) {
        Ok(template) => template,
        Err(field) => {
            let field = FieldError { path: join(&item, &field.path), ..field };
            return report(problems_of_file, document, None, pod_name, vec![field]);
        }
    };
    let (root, mut value, controller) = match template {
        None if (api_version.as_str(), kind.as_str()) == ("v1", "Pod") => (item.clone(), value, None),
        None => return found.skipped.push(SkippedObject { document, object: name }),
        Some(Template { path, value, controller }) => (join(&item, path), value, Some(controller)),
    };
    let mut problems = Problems::default();
    let Some(mut pod) = decode_strictly(&mut value, &root, &mut problems) else {
        let mistyped = problems.finish(&root);
        let place = place_of(file, document, &mistyped);
        return report(problems_of_file, document, place, pod_name, mistyped);
    };
    if let Some(controller) = &controller {
        controller.put_on(&mut pod);
    }
    let pod = match arrival {
        Arrival::ApiServer { node_name, now } => bound(pod, node_name, now),
        Arrival::Static(origin) => {
            supported::check(&value, &root, &mut problems);
            let mut pod = static_pod::adopt(pod, origin);
            defaults::apply(&mut pod);
            pod
        }
    };
    for error in validation::validate(&pod) {
        problems.add(join(&root, &error.path), error.message);
    }
    let problems = problems.finish(&root);
    if problems.is_empty() {
        let phase = phase.filter(|_| controller.is_none());
        return found.pods.push(WorkloadPod { document, item, object: name, phase, pod });
    }
    report(problems_of_file, document, None, pod_name, problems);
}

/// The pod as an API server has it once it is bound to the node: what that fills in, as far as the pod alone says it.
fn bound(mut pod: Pod, node_name: Option<&str>, now: Timestamp) -> Pod {
    let metadata = &mut pod.metadata;
    let is_said = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
    if !is_said(&metadata.namespace) {
        metadata.namespace = Some(DEFAULT.to_owned());
    }
    if !is_said(&metadata.name) {
        metadata.name = metadata.generate_name.as_ref().map(|prefix| format!("{prefix}{RANDOM}"));
    }
    if !is_said(&metadata.uid) {
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        metadata.uid = Some(uid_of("Pod", &part(&metadata.namespace), &part(&metadata.name)));
    }
    metadata.creation_timestamp.get_or_insert_with(|| Time(whole_seconds(now)));
    metadata.annotations.get_or_insert_default().insert(CONFIG_SOURCE.to_owned(), API_SOURCE.to_owned());
    let spec = pod.spec.get_or_insert_default();
    if !is_said(&spec.node_name) {
        spec.node_name = node_name.map(str::to_owned);
    }
    if !is_said(&spec.service_account_name) {
        spec.service_account_name = Some(DEFAULT.to_owned());
    }
    if spec.priority.is_none() {
        let class = spec.priority_class_name.as_deref().unwrap_or_default();
        let system = SYSTEM_PRIORITIES.iter().find(|(name, _)| *name == class);
        // What other classes mean only the cluster knows.
        spec.priority = if class.is_empty() { Some(0) } else { system.map(|(_, priority)| *priority) };
    }
    controller::tolerate_unready(spec);
    defaults::apply(&mut pod);
    pod
}
