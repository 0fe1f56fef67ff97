//! The fields of a manifest that this release acts on. Everything else is refused: a probe that no one runs or a
//! volume that no one mounts must not pass in silence.

use std::borrow::Cow;

use serde_json::Value;

use crate::pod::validation::Problems;

#[cfg(test)]
mod tests;

/// What happens to a field that a manifest sets.
enum Rule {
    /// Acted on, or harmless without: the whole tree below is let through.
    Accept,
    /// Only these values do what they say, compared as text.
    Only(&'static [&'static str]),
    /// Refused with a reason better than "not supported by this release".
    Refuse(&'static str),
}

use Rule::{Accept, Only, Refuse};

const API_OBJECTS: &str = "Forbidden: static pods may not refer to objects of an API server";
const FROM_SERVER: &str = "Forbidden: only an API server may set this field";
const WINDOWS: &str = "Unsupported value: supported values: linux";

/// One row for each field; `[]` stands for any index, and all kinds of containers are looked up as `spec.containers[]`. A
/// field that is only the beginning of rows is inspected. Later features add rows here, or take refusals out.
const RULES: &[(&str, Rule)] = &[
    ("apiVersion", Accept),
    ("kind", Accept),
    ("status", Accept),
    // What a server wrote into an exported pod is dropped when the pod is adopted; a deletion would be lost.
    ("metadata.annotations", Accept),
    ("metadata.creationTimestamp", Accept),
    ("metadata.deletionGracePeriodSeconds", Refuse(FROM_SERVER)),
    ("metadata.deletionTimestamp", Refuse(FROM_SERVER)),
    ("metadata.finalizers", Refuse("Forbidden: static pods may not have finalizers")),
    ("metadata.generateName", Refuse("Forbidden: static pods must have metadata.name instead")),
    ("metadata.generation", Accept),
    ("metadata.labels", Accept),
    ("metadata.managedFields", Accept),
    ("metadata.name", Accept),
    ("metadata.namespace", Accept),
    ("metadata.ownerReferences", Accept),
    ("metadata.resourceVersion", Accept),
    ("metadata.selfLink", Accept),
    ("metadata.uid", Accept),
    // Known to admission, the scheduler or no one on a node.
    ("spec.affinity", Accept),
    ("spec.automountServiceAccountToken", Only(&["false"])),
    ("spec.enableServiceLinks", Accept),
    ("spec.nodeName", Accept),
    ("spec.nodeSelector", Accept),
    ("spec.os.name", Accept),
    ("spec.overhead", Accept),
    ("spec.preemptionPolicy", Accept),
    ("spec.priority", Accept),
    ("spec.priorityClassName", Accept),
    ("spec.schedulerName", Accept),
    ("spec.tolerations", Accept),
    ("spec.topologySpreadConstraints", Accept),
    // The life of the pod.
    ("spec.activeDeadlineSeconds", Accept),
    ("spec.readinessGates", Accept),
    ("spec.restartPolicy", Accept),
    ("spec.terminationGracePeriodSeconds", Accept),
    // The sandbox.
    ("spec.dnsConfig", Accept),
    ("spec.dnsPolicy", Accept),
    ("spec.hostAliases", Accept),
    ("spec.hostIPC", Accept),
    ("spec.hostNetwork", Accept),
    ("spec.hostPID", Accept),
    ("spec.hostUsers", Accept),
    ("spec.hostname", Accept),
    ("spec.hostnameOverride", Accept),
    ("spec.resources", Accept),
    ("spec.resources.claims", Refuse(API_OBJECTS)),
    ("spec.runtimeClassName", Accept),
    ("spec.securityContext", Accept),
    // Volumes are labelled one file after the other, or by their runtime.
    ("spec.securityContext.seLinuxChangePolicy", Refuse("not supported by this release")),
    ("spec.securityContext.windowsOptions", Refuse(WINDOWS)),
    ("spec.setHostnameAsFQDN", Accept),
    ("spec.shareProcessNamespace", Accept),
    ("spec.subdomain", Accept),
    ("spec.imagePullSecrets", Refuse(API_OBJECTS)),
    ("spec.serviceAccount", Refuse(API_OBJECTS)),
    ("spec.serviceAccountName", Refuse(API_OBJECTS)),
    ("spec.resourceClaims", Refuse(API_OBJECTS)),
    // Volumes.
    ("spec.volumes[].name", Accept),
    ("spec.volumes[].configMap", Refuse(API_OBJECTS)),
    ("spec.volumes[].downwardAPI", Accept),
    // A size on disk is reported to be void (`pod::void_limits`), and so is ephemeral storage: a kubelet runs such pods.
    ("spec.volumes[].emptyDir", Accept),
    ("spec.volumes[].ephemeral", Refuse(API_OBJECTS)),
    ("spec.volumes[].hostPath", Accept),
    ("spec.volumes[].persistentVolumeClaim", Refuse(API_OBJECTS)),
    ("spec.volumes[].projected.defaultMode", Accept),
    ("spec.volumes[].projected.sources[].clusterTrustBundle", Refuse(API_OBJECTS)),
    ("spec.volumes[].projected.sources[].configMap", Refuse(API_OBJECTS)),
    ("spec.volumes[].projected.sources[].downwardAPI", Accept),
    ("spec.volumes[].projected.sources[].podCertificate", Refuse(API_OBJECTS)),
    ("spec.volumes[].projected.sources[].secret", Refuse(API_OBJECTS)),
    ("spec.volumes[].projected.sources[].serviceAccountToken", Refuse(API_OBJECTS)),
    ("spec.volumes[].secret", Refuse(API_OBJECTS)),
    // Containers.
    ("spec.containers[].args", Accept),
    ("spec.containers[].command", Accept),
    ("spec.containers[].env[].name", Accept),
    ("spec.containers[].env[].value", Accept),
    ("spec.containers[].env[].valueFrom.fieldRef.apiVersion", Only(&["v1"])),
    ("spec.containers[].env[].valueFrom.fieldRef.fieldPath", Accept),
    ("spec.containers[].env[].valueFrom.fileKeyRef", Accept),
    ("spec.containers[].env[].valueFrom.resourceFieldRef", Accept),
    ("spec.containers[].env[].valueFrom.configMapKeyRef", Refuse(API_OBJECTS)),
    ("spec.containers[].env[].valueFrom.secretKeyRef", Refuse(API_OBJECTS)),
    ("spec.containers[].envFrom", Refuse(API_OBJECTS)),
    ("spec.containers[].image", Accept),
    ("spec.containers[].imagePullPolicy", Accept),
    ("spec.containers[].lifecycle", Accept),
    ("spec.containers[].livenessProbe", Accept),
    ("spec.containers[].name", Accept),
    ("spec.containers[].ports", Accept),
    ("spec.containers[].readinessProbe", Accept),
    ("spec.containers[].resizePolicy", Accept),
    ("spec.containers[].resources.claims", Refuse(API_OBJECTS)),
    ("spec.containers[].resources.limits", Accept),
    ("spec.containers[].resources.requests", Accept),
    ("spec.containers[].restartPolicy", Accept),
    ("spec.containers[].restartPolicyRules", Accept),
    ("spec.containers[].securityContext", Accept),
    ("spec.containers[].securityContext.windowsOptions", Refuse(WINDOWS)),
    ("spec.containers[].startupProbe", Accept),
    ("spec.containers[].stdin", Accept),
    ("spec.containers[].stdinOnce", Accept),
    ("spec.containers[].targetContainerName", Accept),
    ("spec.containers[].terminationMessagePath", Accept),
    ("spec.containers[].terminationMessagePolicy", Accept),
    ("spec.containers[].tty", Accept),
    ("spec.containers[].volumeMounts", Accept),
    ("spec.containers[].workingDir", Accept),
];

/// The row that a place is looked up by.
fn row_of(pattern: &str) -> Cow<'_, str> {
    let kinds = ["spec.initContainers", "spec.ephemeralContainers"];
    match kinds.into_iter().find_map(|kind| pattern.strip_prefix(kind)) {
        Some(rest) => Cow::Owned(format!("spec.containers{rest}")),
        None => Cow::Borrowed(pattern),
    }
}

/// Reports each field of a pod (as JSON, in the shape of the API) that isn't supported. `root` goes before each path.
pub(super) fn check(pod: &Value, root: &str, problems: &mut Problems) {
    let mut at = FieldPath { pattern: String::new(), path: root.to_owned() };
    visit(pod, &mut at, problems);
}

/// A place in the tree, as a pattern for the table and as a path for people.
struct FieldPath {
    pattern: String,
    path: String,
}

impl FieldPath {
    fn within(&mut self, pattern: &str, path: &str, inspect: impl FnOnce(&mut Self)) {
        let (pattern_end, path_end) = (self.pattern.len(), self.path.len());
        self.pattern.push_str(pattern);
        self.path.push_str(path);
        inspect(self);
        self.pattern.truncate(pattern_end);
        self.path.truncate(path_end);
    }
}

fn visit(value: &Value, at: &mut FieldPath, problems: &mut Problems) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter().filter(|(_, value)| is_set(value)) {
                let dot = |text: &str| if text.is_empty() { name.clone() } else { format!(".{name}") };
                let (pattern, path) = (dot(&at.pattern), dot(&at.path));
                at.within(&pattern, &path, |at| field(value, at, problems));
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                at.within("[]", &format!("[{index}]"), |at| visit(item, at, problems));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn field(value: &Value, at: &mut FieldPath, problems: &mut Problems) {
    let text = || value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let row = row_of(&at.pattern).into_owned();
    match RULES.iter().find(|(pattern, _)| *pattern == row) {
        Some((_, Accept)) => {
            // A row may single out what lies below an accepted field.
            if let Value::Object(fields) = value {
                for (name, _) in fields.iter().filter(|(_, value)| is_set(value)) {
                    let below = format!("{row}.{name}");
                    if let Some((_, Refuse(reason))) = RULES.iter().find(|(pattern, _)| *pattern == below) {
                        problems.add(format!("{}.{name}", at.path), *reason);
                    }
                }
            }
        }
        Some((_, Only(values))) => {
            if !values.contains(&text().as_str()) {
                let message = format!("only {} is supported by this release", values.join(", "));
                problems.add(&at.path, message);
            }
        }
        Some((_, Refuse(reason))) => problems.add(&at.path, *reason),
        None if leads_on(&row) => visit(value, at, problems),
        None => problems.add(&at.path, "not supported by this release"),
    }
}

fn leads_on(pattern: &str) -> bool {
    RULES.iter().any(|(row, _)| row.strip_prefix(pattern).is_some_and(|rest| rest.starts_with(['.', '['])))
}

/// Nulls and empty lists and maps say nothing.
fn is_set(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::String(text) => !text.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}
