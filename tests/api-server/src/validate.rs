//! What upstream refuses with 422: the rules that an agent, or a test of one, could break.

use serde_json::{Value, json};

use crate::error::Cause;
use crate::resources::Resource;
use crate::value::{as_map, list, number, text};

/// Longest name of an object.
const NAME_MAX: usize = 253;

/// Finds what is wrong with a new object.
pub(crate) fn created(resource: &Resource, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let name = text(object, "/metadata/name");
    if !is_name(resource, name) {
        let why = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
                   and must start and end with an alphanumeric character";
        causes.push(Cause::invalid("metadata.name", &name.into(), why));
    }
    causes.extend(owners(object));
    match resource.name {
        "pods" => causes.extend(pod(object)),
        "leases" => causes.extend(lease(object)),
        "events" => causes.extend(event(object)),
        "nodes" => causes.extend(node(object)),
        _ => {}
    }
    causes
}

/// Finds what is wrong with a change.
pub(crate) fn changed(resource: &Resource, subresource: &str, new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = owners(new);
    match (resource.name, subresource) {
        ("pods", "status") => causes.extend(pod_status(new, old)),
        ("pods", "ephemeralcontainers") => causes.extend(ephemeral(new, old)),
        ("pods", "resize") => {}
        ("pods", _) => causes.extend(pod_change(new, old)),
        ("leases", _) => causes.extend(lease(new)),
        ("events", _) => causes.extend(event(new)),
        ("nodes", _) => {
            causes.extend(node(new));
            let (old, new) = (text(old, "/spec/providerID"), text(new, "/spec/providerID"));
            if !old.is_empty() && old != new {
                causes.push(Cause::forbidden("spec", "node updates may only change labels, taints, or capacity (or configSource, if the DynamicKubeletConfig feature gate is enabled)"));
            }
        }
        ("configmaps" | "secrets", _) => causes.extend(immutable(new, old)),
        _ => {}
    }
    causes
}

fn is_name(resource: &Resource, name: &str) -> bool {
    if name.is_empty() || name.len() > NAME_MAX {
        return false;
    }
    // Upstream's `ValidateCertificateRequestName` takes any name that a path can have: nodes' requests have digests in theirs.
    if resource.name == "certificatesigningrequests" {
        return !name.contains(['/', '%']) && name != "." && name != "..";
    }
    // Names of access rules may have colons; none of this table's resources has such names but events, which upstream checks less.
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    let ends = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_plain = name.chars().all(allowed) && name.starts_with(ends) && name.ends_with(ends);
    let is_one_label = matches!(resource.name, "namespaces" | "services");
    is_plain && !(is_one_label && (name.contains('.') || name.len() > 63))
}

fn owners(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (at, owner) in list(object, "/metadata/ownerReferences").iter().enumerate() {
        for field in ["apiVersion", "kind", "name", "uid"] {
            if text(owner, &format!("/{field}")).is_empty() {
                let path = format!("metadata.ownerReferences[{at}].{field}");
                causes.push(Cause::invalid(path, &"".into(), &format!("{field} must not be empty")));
            }
        }
    }
    causes
}

fn pod(pod: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if list(pod, "/spec/containers").is_empty() {
        causes.push(Cause::required("spec.containers", ""));
    }
    let policy = text(pod, "/spec/restartPolicy");
    if !matches!(policy, "Always" | "OnFailure" | "Never") {
        causes.push(unsupported("spec.restartPolicy", policy, "\"Always\", \"Never\", \"OnFailure\""));
    }
    let volumes = list(pod, "/spec/volumes");
    let mut names = Vec::new();
    for kind in ["containers", "initContainers"] {
        for (at, container) in list(pod, &format!("/spec/{kind}")).iter().enumerate() {
            let path = format!("spec.{kind}[{at}]");
            let name = text(container, "/name");
            if name.is_empty() {
                causes.push(Cause::required(format!("{path}.name"), ""));
            } else if names.contains(&name) {
                causes.push(Cause {
                    reason: "FieldValueDuplicate",
                    field: format!("{path}.name"),
                    message: format!("Duplicate value: \"{name}\""),
                });
            }
            names.push(name);
            if text(container, "/image").is_empty() {
                causes.push(Cause::required(format!("{path}.image"), ""));
            }
            for (mount_at, mount) in list(container, "/volumeMounts").iter().enumerate() {
                if !volumes.iter().any(|volume| volume["name"] == mount["name"]) {
                    causes.push(Cause {
                        reason: "FieldValueNotFound",
                        field: format!("{path}.volumeMounts[{mount_at}].name"),
                        message: format!("Not found: {}", mount["name"]),
                    });
                }
            }
        }
    }
    causes
}

fn unsupported(field: &str, value: &str, supported: &str) -> Cause {
    let message = format!("Unsupported value: \"{value}\": supported values: {supported}");
    Cause { reason: "FieldValueNotSupported", field: field.to_owned(), message }
}

/// A change of a pod may touch images, the deadline, tolerations, gates, and a negative grace period.
fn pod_change(new: &Value, old: &Value) -> Vec<Cause> {
    let masked = |pod: &Value| {
        let mut spec = pod["spec"].clone();
        for kind in ["containers", "initContainers"] {
            for container in spec.get_mut(kind).and_then(Value::as_array_mut).into_iter().flatten() {
                as_map(container).remove("image");
            }
        }
        let map = as_map(&mut spec);
        for key in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
            map.remove(key);
        }
        spec
    };
    let mut causes = Vec::new();
    let (mut was, is) = (masked(old), masked(new));
    if number(&was, "/terminationGracePeriodSeconds").is_some_and(|s| s < 0)
        && number(&is, "/terminationGracePeriodSeconds") == Some(1)
    {
        as_map(&mut was).insert("terminationGracePeriodSeconds".to_owned(), 1.into());
    }
    if was != is {
        let why = "pod updates may not change fields other than `spec.containers[*].image`,\
                   `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to \
                   existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
                   previously negative)";
        causes.push(Cause::forbidden("spec", why));
    }
    let kept = list(new, "/spec/tolerations");
    if list(old, "/spec/tolerations").iter().any(|toleration| !kept.contains(toleration)) {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        causes.push(Cause::forbidden("spec.tolerations", why));
    }
    let (was, is) = (number(old, "/spec/activeDeadlineSeconds"), number(new, "/spec/activeDeadlineSeconds"));
    if let Some(was) = was
        && is.is_none_or(|is| is > was)
    {
        let why = "must be less than or equal to previous value";
        causes.push(Cause::invalid("spec.activeDeadlineSeconds", &json!(is), why));
    }
    causes
}

/// A container that has ended for good stays ended.
fn pod_status(new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let policy = text(old, "/spec/restartPolicy");
    for (kind, spec_kind) in
        [("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")]
    {
        let is_init = kind == "initContainerStatuses";
        if policy == "Always" && !is_init {
            continue;
        }
        for (at, was) in list(old, &format!("/status/{kind}")).iter().enumerate() {
            let Some(ended) = was.pointer("/state/terminated") else { continue };
            let spec = list(old, &format!("/spec/{spec_kind}")).iter().find(|c| c["name"] == was["name"]);
            let own = spec
                .is_some_and(|c| c.get("restartPolicy").is_some() || c.get("restartPolicyRules").is_some());
            let may_restart = own || number(ended, "/exitCode") != Some(0) && policy != "Never";
            if may_restart || is_init && policy == "Always" {
                continue;
            }
            let is = list(new, &format!("/status/{kind}")).iter().find(|s| s["name"] == was["name"]);
            if is.is_some_and(|status| status.pointer("/state/terminated").is_none()) {
                let why = "may not be transitioned to non-terminated state";
                causes.push(Cause::forbidden(format!("status.{kind}[{at}].state"), why));
            }
        }
    }
    for (at, condition) in list(new, "/status/conditions").iter().enumerate() {
        let name = text(condition, "/type");
        if !is_qualified(name) {
            let why = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                       alphanumeric character";
            causes.push(Cause::invalid(format!("status.conditions[{at}].Type"), &name.into(), why));
        }
    }
    for (at, item) in list(new, "/status/podIPs").iter().enumerate() {
        let ip = text(item, "/ip");
        if ip.parse::<std::net::IpAddr>().is_err() {
            let why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
            causes.push(Cause::invalid(format!("status.podIPs[{at}].ip"), &ip.into(), why));
        }
    }
    causes
}

/// A name, perhaps behind a domain and a slash, as labels and conditions have it.
fn is_qualified(name: &str) -> bool {
    let own = match name.split_once('/') {
        None => name,
        Some((domain, own)) => {
            let is_part =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
            if domain.is_empty() || domain.len() > 253 || !domain.bytes().all(is_part) {
                return false;
            }
            own
        }
    };
    let is_end = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    own.len() <= 63
        && is_end(own.bytes().next())
        && is_end(own.bytes().last())
        && own.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Ephemeral containers are added, never changed or removed.
fn ephemeral(new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let is = list(new, "/spec/ephemeralContainers");
    for was in list(old, "/spec/ephemeralContainers") {
        let name = text(was, "/name");
        match is.iter().find(|c| c["name"] == was["name"]) {
            None => {
                let why = format!("existing ephemeral containers \"{name}\" may not be removed");
                causes.push(Cause::forbidden("spec.ephemeralContainers", &why));
            }
            Some(found) if found != was => {
                let why = format!("existing ephemeral containers \"{name}\" may not be changed");
                causes.push(Cause::forbidden("spec.ephemeralContainers", &why));
            }
            Some(_) => {}
        }
    }
    let names = |kind: &str| list(new, &format!("/spec/{kind}")).iter().map(|c| text(c, "/name"));
    let others: Vec<&str> = names("containers").chain(names("initContainers")).collect();
    for (at, container) in is.iter().enumerate() {
        let (path, name) = (format!("spec.ephemeralContainers[{at}]"), text(container, "/name"));
        if others.contains(&name) || names("ephemeralContainers").take(at).any(|other| other == name) {
            let message = format!("Duplicate value: \"{name}\"");
            causes.push(Cause { reason: "FieldValueDuplicate", field: format!("{path}.name"), message });
        }
        let target = text(container, "/targetContainerName");
        if !target.is_empty() && !others.contains(&target) {
            let (field, message) =
                (format!("{path}.targetContainerName"), format!("Not found: \"{target}\""));
            causes.push(Cause { reason: "FieldValueNotFound", field, message });
        }
    }
    causes
}

fn lease(lease: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (field, least) in [("leaseDurationSeconds", 1), ("leaseTransitions", 0)] {
        let value = number(lease, &format!("/spec/{field}"));
        if let Some(value) = value.filter(|&value| value < least) {
            let why =
                if least == 1 { "must be greater than 0" } else { "must be greater than or equal to 0" };
            causes.push(Cause::invalid(format!("spec.{field}"), &value.into(), why));
        }
    }
    causes
}

fn event(event: &Value) -> Vec<Cause> {
    let (about, own) = (text(event, "/involvedObject/namespace"), text(event, "/metadata/namespace"));
    let fits = if about.is_empty() { own == "default" } else { about == own };
    let mut causes = Vec::new();
    if !fits {
        let why = "does not match event.namespace";
        causes.push(Cause::invalid("involvedObject.namespace", &about.into(), why));
    }
    if event.get("eventTime").is_some_and(|time| !time.is_null()) {
        for field in ["reportingComponent", "reportingInstance", "action", "reason"] {
            if text(event, &format!("/{field}")).is_empty() {
                let shown = if field == "reportingComponent" { "reportingController" } else { field };
                causes.push(Cause::required(shown, ""));
            }
        }
    }
    causes
}

fn node(node: &Value) -> Vec<Cause> {
    let addresses = list(node, "/status/addresses");
    let twice = |(at, address): (usize, &Value)| {
        addresses[..at].contains(address).then(|| Cause {
            reason: "FieldValueDuplicate",
            field: format!("status.addresses[{at}]"),
            message: format!("Duplicate value: {address}"),
        })
    };
    addresses.iter().enumerate().filter_map(twice).collect()
}

fn immutable(new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if old.get("immutable") == Some(&Value::Bool(true)) {
        let why = "field is immutable when `immutable` is set";
        for field in ["immutable", "data", "binaryData"] {
            if old.get(field) != new.get(field) {
                causes.push(Cause::forbidden(field, why));
            }
        }
    }
    if old.get("type") != new.get("type") {
        causes.push(Cause::immutable("type", &new["type"]));
    }
    causes
}
