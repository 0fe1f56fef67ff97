//! Containers: names, images, ports, resources, restarts; what only some kinds of them may have.

use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{
    Container, ContainerPort, EphemeralContainer, PodSpec, ResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::{Problems, env, handler, names, quoted, security, volume};
use crate::container::plan::as_container;
use crate::pod::quantity::{self, Amount};
use crate::pod::resources::{CPU, EPHEMERAL_STORAGE, HUGE_PAGES, MEMORY, is_sidecar};

/// Restart rules of one container, and exit codes in one rule: upstream's bounds.
const RESTART_RULES_MAX: usize = 20;
const EXIT_CODES_MAX: usize = 255;

pub(super) fn all(spec: &PodSpec, problems: &mut Problems) {
    if spec.containers.is_empty() {
        problems.add("spec.containers", "Required value: at least one container");
    }
    let on_host = spec.host_network.unwrap_or(false);
    let mut seen = HashSet::new();
    let mut host_ports = HashSet::new();
    for (index, container) in spec.containers.iter().enumerate() {
        let path = format!("spec.containers[{index}]");
        name(&path, &container.name, &mut seen, problems);
        one(&path, container, spec, problems);
        handler::all(&path, container, spec, problems);
        volume::mounts(&path, container, spec, false, problems);
        restarts(&path, container, problems);
        resizes(&path, container, spec, problems);
        ports(&path, container, on_host, &mut host_ports, problems);
    }
    for (index, container) in spec.init_containers.iter().flatten().enumerate() {
        let path = format!("spec.initContainers[{index}]");
        name(&path, &container.name, &mut seen, problems);
        one(&path, container, spec, problems);
        if is_sidecar(container) {
            handler::all(&path, container, spec, problems);
            resizes(&path, container, spec, problems);
        } else {
            let of = "init containers without restartPolicy: Always";
            handler::none(&path, container, of, problems);
        }
        volume::mounts(&path, container, spec, false, problems);
        restarts(&path, container, problems);
        ports(&path, container, on_host, &mut host_ports, problems);
    }
    for (index, container) in spec.ephemeral_containers.iter().flatten().enumerate() {
        let path = format!("spec.ephemeralContainers[{index}]");
        name(&path, &container.name, &mut seen, problems);
        ephemeral(&path, container, spec, problems);
    }
}

fn name<'a>(path: &str, name: &'a str, seen: &mut HashSet<&'a str>, problems: &mut Problems) {
    if name.is_empty() {
        problems.add(format!("{path}.name"), "Required value");
    } else if !seen.insert(name) {
        problems.add(format!("{path}.name"), format!("Duplicate value: {}", quoted(name)));
    } else {
        names::dns_label(&format!("{path}.name"), name, problems);
    }
}

/// One for looking for faults has nothing that the pod's life depends on.
fn ephemeral(path: &str, ephemeral: &EphemeralContainer, spec: &PodSpec, problems: &mut Problems) {
    let container = as_container(ephemeral);
    one(path, &container, spec, problems);
    handler::none(path, &container, "ephemeral containers", problems);
    volume::mounts(path, &container, spec, true, problems);
    let has_resources =
        |resources: &ResourceRequirements| resources.limits.is_some() || resources.requests.is_some();
    let fields = [
        ("ports", container.ports.as_ref().is_some_and(|ports| !ports.is_empty())),
        ("resources", container.resources.as_ref().is_some_and(has_resources)),
        ("restartPolicy", container.restart_policy.is_some()),
        (
            "restartPolicyRules",
            container.restart_policy_rules.as_ref().is_some_and(|rules| !rules.is_empty()),
        ),
    ];
    for (field, _) in fields.into_iter().filter(|(_, set)| *set) {
        problems.add(format!("{path}.{field}"), "Forbidden: may not be set for ephemeral containers");
    }
    let target = ephemeral.target_container_name.as_deref().filter(|name| !name.is_empty());
    let mut others = spec.containers.iter().chain(spec.init_containers.iter().flatten());
    if let Some(target) = target.filter(|target| !others.any(|other| other.name == *target)) {
        let message = format!("Not found: {}: must be a container of this pod", quoted(target));
        problems.add(format!("{path}.targetContainerName"), message);
    }
}

fn one(path: &str, container: &Container, spec: &PodSpec, problems: &mut Problems) {
    match container.image.as_deref().unwrap_or_default() {
        "" => problems.add(format!("{path}.image"), "Required value"),
        image if image.trim() != image => {
            problems.add(
                format!("{path}.image"),
                format!("Invalid value: {}: must not begin or end with white space", quoted(image)),
            );
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
        env::variable(&format!("{path}.env[{index}]"), variable, spec, problems);
    }
    if let Some(required) = &container.resources {
        resources(&format!("{path}.resources"), required, problems);
    }
    if let Some(context) = &container.security_context {
        security::of_container(&format!("{path}.securityContext"), context, spec, problems);
    }
}

/// A container's own restart policy and its rules by exit code (KEP-5307).
fn restarts(path: &str, container: &Container, problems: &mut Problems) {
    let policy = container.restart_policy.as_deref();
    problems.one_of(&format!("{path}.restartPolicy"), policy, &["Always", "OnFailure", "Never"]);
    let rules = container.restart_policy_rules.as_deref().unwrap_or_default();
    let path_of_rules = format!("{path}.restartPolicyRules");
    if !rules.is_empty() && policy.is_none() {
        problems.add(
            format!("{path}.restartPolicy"),
            "Required value: must be set together with restartPolicyRules",
        );
    }
    if rules.len() > RESTART_RULES_MAX {
        problems.add(
            &path_of_rules,
            format!("Too many: {}: must have at most {RESTART_RULES_MAX} items", rules.len()),
        );
    }
    for (index, rule) in rules.iter().enumerate() {
        let path = format!("{path_of_rules}[{index}]");
        problems.one_of(&format!("{path}.action"), Some(&rule.action), &["Restart", "RestartAllContainers"]);
        let Some(codes) = &rule.exit_codes else {
            problems.add(format!("{path}.exitCodes"), "Required value");
            continue;
        };
        problems.one_of(&format!("{path}.exitCodes.operator"), Some(&codes.operator), &["In", "NotIn"]);
        if codes.values.as_ref().is_some_and(|values| values.len() > EXIT_CODES_MAX) {
            let message = format!("Too many: must have at most {EXIT_CODES_MAX} items");
            problems.add(format!("{path}.exitCodes.values"), message);
        }
    }
}

/// What happens to a running container whose CPU or memory changes (KEP-1287).
fn resizes(path: &str, container: &Container, spec: &PodSpec, problems: &mut Problems) {
    let mut seen = HashSet::new();
    for (index, policy) in container.resize_policy.iter().flatten().enumerate() {
        let path = format!("{path}.resizePolicy[{index}]");
        let (resource, restart) = (policy.resource_name.as_str(), policy.restart_policy.as_str());
        problems.one_of(&format!("{path}.resourceName"), Some(resource), &[CPU, MEMORY]);
        let allowed = ["NotRequired", "RestartContainer"];
        problems.one_of(&format!("{path}.restartPolicy"), Some(restart), &allowed);
        if !seen.insert(resource) {
            problems.add(format!("{path}.resourceName"), format!("Duplicate value: {}", quoted(resource)));
        }
        if restart == "RestartContainer" && spec.restart_policy.as_deref() == Some("Never") {
            let message = "Forbidden: may not be RestartContainer when spec.restartPolicy is Never";
            problems.add(format!("{path}.restartPolicy"), message);
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
                    "Invalid value: {}: must have at most 15 lower-case letters, digits and single `-`, and at least one letter",
                    quoted(name)
                );
                problems.add(format!("{path}.name"), message);
            } else if !seen.insert(name) {
                problems.add(format!("{path}.name"), format!("Duplicate value: {}", quoted(name)));
            }
        }
        let ip = port.host_ip.as_deref().unwrap_or_default();
        if !ip.is_empty() && ip.parse::<IpAddr>().is_err() {
            problems.add(
                format!("{path}.hostIP"),
                format!(
                    "Invalid value: {}: must be a valid IP address, such as 10.9.8.7 or 2001:db8::ffff",
                    quoted(ip)
                ),
            );
        }
        let host_port = port.host_port.unwrap_or(0);
        if host_port != 0 && !taken.insert((port.protocol.as_deref().unwrap_or("TCP"), ip, host_port)) {
            problems.add(
                format!("{path}.hostPort"),
                format!("Duplicate value: {host_port}: another port of this pod uses it"),
            );
        }
    }
}

fn port_numbers(path: &str, port: &ContainerPort, on_host: bool, problems: &mut Problems) {
    let allowed = 1..=i32::from(u16::MAX);
    let message =
        |number: i32| format!("Invalid value: {number}: must be between 1 and {}, inclusive", u16::MAX);
    if !allowed.contains(&port.container_port) {
        problems.add(format!("{path}.containerPort"), message(port.container_port));
    }
    let host_port = port.host_port.unwrap_or(0);
    if host_port != 0 && !allowed.contains(&host_port) {
        problems.add(format!("{path}.hostPort"), message(host_port));
    } else if on_host && host_port != 0 && host_port != port.container_port {
        problems
            .add(format!("{path}.hostPort"), "Forbidden: must equal containerPort when hostNetwork is true");
    }
}

pub(super) fn resources(path: &str, resources: &ResourceRequirements, problems: &mut Problems) {
    let limits = resource_list(&format!("{path}.limits"), resources.limits.as_ref(), problems);
    // Defaulting copies limits into requests: what is wrong with the limit is reported once.
    let own = resources.requests.iter().flatten().filter(|(name, request)| {
        resources.limits.as_ref().and_then(|limits| limits.get(*name)) != Some(*request)
    });
    let own = own.map(|(name, request)| (name.clone(), request.clone())).collect();
    let requests = resource_list(&format!("{path}.requests"), Some(&own), problems);
    for (name, request) in requests {
        let path = format!("{path}.requests.{name}");
        match limits.get(name) {
            Some(limit) if request.compare(limit).is_gt() => {
                problems.add(path, "Invalid value: must be less than or equal to the limit")
            }
            Some(limit) if !may_overcommit(name) && request.compare(limit).is_ne() => {
                problems
                    .add(path, "Invalid value: must equal the limit: this resource may not be overcommitted");
            }
            Some(_) => {}
            None if !may_overcommit(name) => problems
                .add(path, "Invalid value: must have an equal limit: this resource may not be overcommitted"),
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
        if !may_overcommit(name) && !name.starts_with(HUGE_PAGES) && !name.contains('/') {
            problems.add(&path, "Unsupported value: supported resources of a container: cpu, memory, ephemeral-storage, hugepages-<size>, DOMAIN/NAME");
        }
        match quantity::parse(&quantity.0) {
            Ok(amount) if amount.is_negative() => {
                problems.add(path, "Invalid value: must be greater than or equal to 0")
            }
            Ok(amount) if amount.has_fraction() && !may_overcommit(name) => {
                problems.add(path, "Invalid value: must be an integer");
            }
            Ok(amount) => {
                amounts.insert(name.as_str(), amount);
            }
            Err(error) => problems.add(path, format!("Invalid value: {error}")),
        }
    }
    amounts
}
