//! Containers: names, images, ports, environment, resources, identities.

use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{Container, ContainerPort, EnvVar, PodSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::{Problems, names, quoted};
use crate::pod::quantity::{self, Amount};
use crate::pod::resources::{CPU, MEMORY};

const EPHEMERAL_STORAGE: &str = "ephemeral-storage";

pub(super) fn all(spec: &PodSpec, problems: &mut Problems) {
    if spec.containers.is_empty() {
        problems.add("spec.containers", "at least one container is required");
    }
    let on_host = spec.host_network.unwrap_or(false);
    let mut seen = HashSet::new();
    let mut host_ports = HashSet::new();
    let lists = [("containers", Some(&spec.containers)), ("initContainers", spec.init_containers.as_ref())];
    for (list, containers) in lists {
        for (index, container) in containers.into_iter().flatten().enumerate() {
            let path = format!("spec.{list}[{index}]");
            if container.name.is_empty() {
                problems.add(format!("{path}.name"), "is required");
            } else if !seen.insert(container.name.as_str()) {
                let message = format!("another container is named {}", quoted(&container.name));
                problems.add(format!("{path}.name"), message);
            } else {
                names::dns_label(&format!("{path}.name"), &container.name, problems);
            }
            one(&path, container, problems);
            ports(&path, container, on_host, &mut host_ports, problems);
        }
    }
}

fn one(path: &str, container: &Container, problems: &mut Problems) {
    match container.image.as_deref().unwrap_or_default() {
        "" => problems.add(format!("{path}.image"), "is required"),
        image if image.trim() != image => {
            problems.add(format!("{path}.image"), format!("{} has white space around it", quoted(image)));
        }
        _ => {}
    }
    problems.one_of(
        &format!("{path}.imagePullPolicy"),
        container.image_pull_policy.as_deref(),
        &["Always", "IfNotPresent", "Never"],
    );
    problems.one_of(
        &format!("{path}.terminationMessagePolicy"),
        container.termination_message_policy.as_deref(),
        &["File", "FallbackToLogsOnError"],
    );
    for (index, variable) in container.env.iter().flatten().enumerate() {
        environment(&format!("{path}.env[{index}]"), variable, problems);
    }
    if let Some(required) = &container.resources {
        resources(&format!("{path}.resources"), required, problems);
    }
    if let Some(context) = &container.security_context {
        let path = format!("{path}.securityContext");
        ids(&path, context.run_as_user, context.run_as_group, problems);
        if context.privileged == Some(true) && context.allow_privilege_escalation == Some(false) {
            let message = "can't be false in a privileged container";
            problems.add(format!("{path}.allowPrivilegeEscalation"), message);
        }
    }
}

fn ports<'a>(
    path: &str,
    container: &'a Container,
    on_host: bool,
    taken: &mut HashSet<(&'a str, &'a str, i32)>,
    problems: &mut Problems,
) {
    let mut seen = HashSet::new();
    for (index, port) in container.ports.iter().flatten().enumerate() {
        let path = format!("{path}.ports[{index}]");
        port_numbers(&path, port, on_host, problems);
        problems.one_of(&format!("{path}.protocol"), port.protocol.as_deref(), &["TCP", "UDP", "SCTP"]);
        if let Some(name) = port.name.as_deref().filter(|name| !name.is_empty()) {
            if !names::is_port_name(name) {
                let message = format!(
                    "{} must be at most 15 lower-case letters, digits and single `-`, with at least one letter",
                    quoted(name)
                );
                problems.add(format!("{path}.name"), message);
            } else if !seen.insert(name) {
                problems.add(format!("{path}.name"), format!("another port is named {}", quoted(name)));
            }
        }
        let ip = port.host_ip.as_deref().unwrap_or_default();
        if !ip.is_empty() && ip.parse::<IpAddr>().is_err() {
            problems.add(format!("{path}.hostIP"), format!("{} is no IP address", quoted(ip)));
        }
        let host_port = port.host_port.unwrap_or(0);
        if host_port != 0 && !taken.insert((port.protocol.as_deref().unwrap_or("TCP"), ip, host_port)) {
            problems
                .add(format!("{path}.hostPort"), format!("{host_port} is taken by another port of this pod"));
        }
    }
}

fn port_numbers(path: &str, port: &ContainerPort, on_host: bool, problems: &mut Problems) {
    let allowed = 1..=i32::from(u16::MAX);
    let message = |number: i32| format!("{number} must be 1 to {}", u16::MAX);
    if !allowed.contains(&port.container_port) {
        problems.add(format!("{path}.containerPort"), message(port.container_port));
    }
    let host_port = port.host_port.unwrap_or(0);
    if host_port != 0 && !allowed.contains(&host_port) {
        problems.add(format!("{path}.hostPort"), message(host_port));
    } else if on_host && host_port != 0 && host_port != port.container_port {
        problems.add(format!("{path}.hostPort"), "must be the containerPort on the host network");
    }
}

fn environment(path: &str, variable: &EnvVar, problems: &mut Problems) {
    if !names::is_environment_name(&variable.name) {
        let message = format!("{} must be printable ASCII characters other than `=`", quoted(&variable.name));
        problems.add(format!("{path}.name"), message);
    }
    if variable.value.as_deref().is_some_and(|value| value.contains('\0')) {
        problems.add(format!("{path}.value"), "must not contain a NUL");
    }
    let Some(source) = &variable.value_from else { return };
    if variable.value.as_deref().is_some_and(|value| !value.is_empty()) {
        problems.add(format!("{path}.valueFrom"), "can't stand beside a value");
    }
    let sources = [
        source.field_ref.is_some(),
        source.resource_field_ref.is_some(),
        source.config_map_key_ref.is_some(),
        source.secret_key_ref.is_some(),
        source.file_key_ref.is_some(),
    ];
    if sources.into_iter().filter(|set| *set).count() != 1 {
        problems.add(format!("{path}.valueFrom"), "must have exactly one source");
    }
    if let Some(field) = source.field_ref.as_ref().filter(|field| !is_field_path(&field.field_path)) {
        let message = format!("{} is no field that a variable can be taken from", quoted(&field.field_path));
        problems.add(format!("{path}.valueFrom.fieldRef.fieldPath"), message);
    }
}

/// The fields of a pod that upstream offers to environment variables.
fn is_field_path(path: &str) -> bool {
    const PLAIN: [&str; 9] = [
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    ];
    let subscript = |field: &str| path.strip_prefix(field)?.strip_prefix("['")?.strip_suffix("']");
    let key = subscript("metadata.labels").or_else(|| subscript("metadata.annotations"));
    PLAIN.contains(&path) || key.is_some_and(names::is_qualified_name)
}

/// User and group ids: 0 to 2³¹ − 1.
pub(super) fn ids(path: &str, user: Option<i64>, group: Option<i64>, problems: &mut Problems) {
    for (field, id) in [("runAsUser", user), ("runAsGroup", group)] {
        if id.is_some_and(|id| !(0..=i64::from(i32::MAX)).contains(&id)) {
            problems.add(format!("{path}.{field}"), format!("must be 0 to {}", i32::MAX));
        }
    }
}

pub(super) fn resources(path: &str, resources: &ResourceRequirements, problems: &mut Problems) {
    let limits = resource_list(&format!("{path}.limits"), resources.limits.as_ref(), problems);
    // Defaulting copies limits into requests: what is wrong with the limit is told once.
    let own = resources.requests.iter().flatten().filter(|(name, request)| {
        resources.limits.as_ref().and_then(|limits| limits.get(*name)) != Some(*request)
    });
    let own = own.map(|(name, request)| (name.clone(), request.clone())).collect();
    let requests = resource_list(&format!("{path}.requests"), Some(&own), problems);
    for (name, request) in requests {
        let path = format!("{path}.requests.{name}");
        match limits.get(name) {
            Some(limit) if request.compare(limit).is_gt() => {
                problems.add(path, "must not be more than the limit")
            }
            Some(limit) if !may_overcommit(name) && request.compare(limit).is_ne() => {
                problems.add(path, "must equal the limit, for this resource can't be overcommitted");
            }
            Some(_) => {}
            None if !may_overcommit(name) => problems.add(path, "needs a limit that equals it"),
            None => {}
        }
    }
}

/// CPU, memory and disk can be promised to more than one; pieces such as GPUs and huge pages can't.
fn may_overcommit(name: &str) -> bool {
    [CPU, MEMORY, EPHEMERAL_STORAGE].contains(&name)
}

/// The amounts that are right; what is wrong is reported.
pub(super) fn resource_list<'a>(
    path: &str,
    list: Option<&'a BTreeMap<String, Quantity>>,
    problems: &mut Problems,
) -> BTreeMap<&'a str, Amount> {
    let mut amounts = BTreeMap::new();
    for (name, quantity) in list.into_iter().flatten() {
        names::qualified_name(path, name, problems);
        let path = format!("{path}.{name}");
        if !may_overcommit(name) && !name.starts_with("hugepages-") && !name.contains('/') {
            problems.add(&path, "is no resource of a container: cpu, memory, ephemeral-storage, hugepages-… or one with a DNS name and `/`");
        }
        match quantity::parse(&quantity.0) {
            Ok(amount) if amount.is_negative() => problems.add(path, "must not be negative"),
            Ok(amount) if amount.has_fraction() && !may_overcommit(name) => {
                problems.add(path, "must be a whole number");
            }
            Ok(amount) => {
                amounts.insert(name.as_str(), amount);
            }
            Err(error) => problems.add(path, error.to_string()),
        }
    }
    amounts
}
