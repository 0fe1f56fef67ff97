//! What the controllers of Kubernetes make of their templates: names, owners, labels and tolerations of a pod (upstream:
//! `pkg/controller`). What is random there is `x` here.

use k8s_openapi::api::core::v1::{Pod, PodSpec, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::pod::validation::{FieldError, is_dns_subdomain};
use crate::text::shortened;

/// Random letters behind a generated name.
pub(super) const RANDOM: &str = "xxxxx";
/// What stands for the hash of a Deployment's template.
const HASH: &str = "xxxxxxxxxx";
/// What stands for the minute of a CronJob's Job.
const MINUTE: &str = "xxxxxxxx";
/// Of an API version that a message shows.
const API_VERSION_BYTES_SHOWN_MAX: usize = 80;
/// How long a pod stays on a node that isn't ready, unless it says otherwise (upstream: `DefaultTolerationSeconds`).
const UNREADY_SECONDS: i64 = 300;

/// A kind of object that makes pods.
struct ControllerKind {
    api_version: &'static str,
    kind: &'static str,
    /// Path of the pod's template.
    template: &'static str,
    /// The object between it and the pod, with what follows its name; none if it owns the pod itself.
    between: Option<(&'static str, &'static str, &'static str)>,
}

const KINDS: [ControllerKind; 7] = [
    ControllerKind {
        api_version: "apps/v1",
        kind: "Deployment",
        template: "spec.template",
        between: Some(("apps/v1", "ReplicaSet", HASH)),
    },
    ControllerKind { api_version: "apps/v1", kind: "ReplicaSet", template: "spec.template", between: None },
    ControllerKind { api_version: "apps/v1", kind: "StatefulSet", template: "spec.template", between: None },
    ControllerKind { api_version: "apps/v1", kind: "DaemonSet", template: "spec.template", between: None },
    ControllerKind { api_version: "batch/v1", kind: "Job", template: "spec.template", between: None },
    ControllerKind {
        api_version: "batch/v1",
        kind: "CronJob",
        template: "spec.jobTemplate.spec.template",
        between: Some(("batch/v1", "Job", MINUTE)),
    },
    ControllerKind {
        api_version: "v1",
        kind: "ReplicationController",
        template: "spec.template",
        between: None,
    },
];

/// A template that was taken out of its object.
pub(super) struct Template {
    pub(super) path: &'static str,
    /// It: metadata and spec of a pod.
    pub(super) value: Value,
    /// Who makes pods of it.
    pub(super) controller: Controller,
}

/// The owner of a pod.
pub(super) struct Controller {
    /// The object of the file.
    made_of: &'static str,
    api_version: &'static str,
    kind: &'static str,
    namespace: Option<String>,
    name: String,
}

/// The template of an object; none if its kind makes no pods.
///
/// # Errors
/// When it should have one and hasn't, or its name can't be a pod's.
pub(super) fn template(
    api_version: &str,
    kind: &str,
    value: &mut Value,
) -> Result<Option<Template>, FieldError> {
    let error = |path: &str, message: String| FieldError { path: path.to_owned(), message };
    let Some(known) = KINDS.iter().find(|known| known.kind == kind) else { return Ok(None) };
    if known.api_version != api_version {
        let found = shortened(api_version, API_VERSION_BYTES_SHOWN_MAX);
        let message = format!("must be {} for a {kind}, found {found:?}", known.api_version);
        return Err(error("apiVersion", message));
    }
    let text = |value: &Value, field: &str| {
        value.pointer(field).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let Some(name) = text(value, "/metadata/name") else {
        return Err(error("metadata.name", "Required value".to_owned()));
    };
    if !is_dns_subdomain(&name) {
        return Err(error("metadata.name", "must be a DNS subdomain".to_owned()));
    }
    let namespace = text(value, "/metadata/namespace");
    let pointer = format!("/{}", known.template.replace('.', "/"));
    let taken = value.pointer_mut(&pointer).map(Value::take).filter(Value::is_object);
    let Some(taken) = taken else {
        return Err(error(known.template, "Required value: a pod's metadata and spec".to_owned()));
    };
    let controller = match known.between {
        None => Controller {
            made_of: known.kind,
            api_version: known.api_version,
            kind: known.kind,
            namespace,
            name,
        },
        Some((api_version, between, suffix)) => Controller {
            made_of: known.kind,
            api_version,
            kind: between,
            namespace,
            name: format!("{name}-{suffix}"),
        },
    };
    Ok(Some(Template { path: known.template, value: taken, controller }))
}

impl Controller {
    /// Makes the template's pod one of this controller.
    pub(super) fn put_on(&self, pod: &mut Pod) {
        let Self { made_of, api_version, kind, namespace, name } = self;
        let metadata = &mut pod.metadata;
        let prefix = format!("{name}-");
        let has_index = *kind == "StatefulSet";
        let pod_name = format!("{prefix}{}", if has_index { "0" } else { RANDOM });
        let labels = match (*made_of, *kind) {
            ("Deployment", _) => vec![("pod-template-hash", HASH.to_owned())],
            (_, "Job") => vec![("batch.kubernetes.io/job-name", name.clone()), ("job-name", name.clone())],
            (_, "StatefulSet") => vec![
                ("apps.kubernetes.io/pod-index", "0".to_owned()),
                ("statefulset.kubernetes.io/pod-name", pod_name.clone()),
            ],
            (_, _) => Vec::new(),
        };
        metadata.name = Some(pod_name.clone());
        metadata.generate_name = (!has_index).then_some(prefix);
        metadata.namespace = namespace.clone();
        metadata.uid = None;
        let labels = labels.into_iter().map(|(key, value)| (key.to_owned(), value));
        metadata.labels.get_or_insert_default().extend(labels);
        metadata.owner_references = Some(vec![OwnerReference {
            api_version: (*api_version).to_owned(),
            kind: (*kind).to_owned(),
            name: name.clone(),
            uid: uid_of(kind, namespace.as_deref().unwrap_or_default(), name),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }]);
        let spec = pod.spec.get_or_insert_default();
        if has_index {
            spec.hostname = Some(pod_name);
        }
        if *kind == "DaemonSet" {
            tolerate_as_daemon(spec);
        }
    }
}

/// What every pod of a DaemonSet tolerates (upstream: `AddOrUpdateDaemonPodTolerations`).
fn tolerate_as_daemon(spec: &mut PodSpec) {
    let mut taints = vec![
        ("node.kubernetes.io/not-ready", "NoExecute"),
        ("node.kubernetes.io/unreachable", "NoExecute"),
        ("node.kubernetes.io/disk-pressure", "NoSchedule"),
        ("node.kubernetes.io/memory-pressure", "NoSchedule"),
        ("node.kubernetes.io/pid-pressure", "NoSchedule"),
        ("node.kubernetes.io/unschedulable", "NoSchedule"),
    ];
    if spec.host_network == Some(true) {
        taints.push(("node.kubernetes.io/network-unavailable", "NoSchedule"));
    }
    for (key, effect) in taints {
        tolerate(spec, key, effect, None);
    }
}

/// What the API server lets every pod tolerate for a while.
pub(super) fn tolerate_unready(spec: &mut PodSpec) {
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        tolerate(spec, key, "NoExecute", Some(UNREADY_SECONDS));
    }
}

/// Adds a toleration, unless the pod has one of this taint.
fn tolerate(spec: &mut PodSpec, key: &str, effect: &str, seconds: Option<i64>) {
    let covers = |toleration: &Toleration| {
        let is_key = toleration.key.as_deref().is_none_or(|own| own.is_empty() || own == key);
        let is_effect = toleration.effect.as_deref().is_none_or(|own| own.is_empty() || own == effect);
        is_key && is_effect
    };
    let tolerations = spec.tolerations.get_or_insert_default();
    if tolerations.iter().any(covers) {
        return;
    }
    tolerations.push(Toleration {
        key: Some(key.to_owned()),
        operator: Some("Exists".to_owned()),
        effect: Some(effect.to_owned()),
        toleration_seconds: seconds,
        ..Toleration::default()
    });
}

/// A UID in the API server's form, the same for the same object.
pub(super) fn uid_of(kind: &str, namespace: &str, name: &str) -> String {
    let digest = hex::encode(&Sha256::digest(format!("{kind}\n{namespace}\n{name}"))[..16]);
    [&digest[..8], &digest[8..12], &digest[12..16], &digest[16..20], &digest[20..]].join("-")
}
