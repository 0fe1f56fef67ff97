//! Defaults of pods, as upstream's v1 types have them.

use serde_json::{Map, Value, json};

use crate::resources::Resource;
use crate::value::{as_map, default_to, object};

/// Sets what the object leaves open.
pub(crate) fn fill(resource: &Resource, object: &mut Value) {
    if resource.is_pods() {
        pod(object);
    }
}

fn pod(pod: &mut Value) {
    let spec = object(pod, "spec");
    default_to(spec, "restartPolicy", "Always");
    default_to(spec, "dnsPolicy", "ClusterFirst");
    default_to(spec, "terminationGracePeriodSeconds", 30);
    default_to(spec, "schedulerName", "default-scheduler");
    default_to(spec, "securityContext", json!({}));
    default_to(spec, "enableServiceLinks", true);
    let is_on_host = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for key in ["containers", "initContainers", "ephemeralContainers"] {
        for item in items(spec, key) {
            container(item, is_on_host);
        }
    }
    for item in items(spec, "volumes") {
        volume(item);
    }
    if let Some(account) = spec.get("serviceAccountName").cloned() {
        default_to(spec, "serviceAccount", account);
    }
}

fn items<'a>(map: &'a mut Map<String, Value>, key: &str) -> impl Iterator<Item = &'a mut Value> {
    map.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten()
}

fn container(container: &mut Value, is_on_host: bool) {
    let map = as_map(container);
    let image = map.get("image").and_then(Value::as_str).unwrap_or_default();
    let policy = if is_latest(image) { "Always" } else { "IfNotPresent" };
    default_to(map, "imagePullPolicy", policy);
    default_to(map, "terminationMessagePath", "/dev/termination-log");
    default_to(map, "terminationMessagePolicy", "File");
    default_to(map, "resources", json!({}));
    if let Some(limits) = map["resources"].get("limits").cloned() {
        let requests = object(&mut map["resources"], "requests");
        for (name, amount) in limits.as_object().into_iter().flatten() {
            default_to(requests, name, amount.clone());
        }
    }
    for port in items(map, "ports") {
        let port = as_map(port);
        default_to(port, "protocol", "TCP");
        if is_on_host {
            let number = port.get("containerPort").cloned().unwrap_or_default();
            default_to(port, "hostPort", number);
        }
    }
    for variable in items(map, "env") {
        if let Some(field) = variable.pointer_mut("/valueFrom/fieldRef") {
            default_to(as_map(field), "apiVersion", "v1");
        }
    }
    for key in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = map.get_mut(key) {
            probe_defaults(as_map(probe));
        }
    }
    for hook in ["postStart", "preStop"] {
        if let Some(get) =
            map.get_mut("lifecycle").and_then(|l| l.get_mut(hook)).and_then(|h| h.get_mut("httpGet"))
        {
            http_get(as_map(get));
        }
    }
}

fn is_latest(image: &str) -> bool {
    let last = image.rsplit('/').next().unwrap_or_default();
    !image.contains('@') && last.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

fn probe_defaults(probe: &mut Map<String, Value>) {
    for (key, value) in
        [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
    {
        if probe.get(key).is_none_or(|v| v.as_i64() == Some(0)) {
            probe.insert(key.to_owned(), value.into());
        }
    }
    if let Some(get) = probe.get_mut("httpGet") {
        http_get(as_map(get));
    }
    if let Some(grpc) = probe.get_mut("grpc") {
        default_to(as_map(grpc), "service", "");
    }
}

fn http_get(get: &mut Map<String, Value>) {
    default_to(get, "path", "/");
    default_to(get, "scheme", "HTTP");
}

fn volume(volume: &mut Value) {
    let map = as_map(volume);
    if map.keys().all(|key| key == "name") {
        map.insert("emptyDir".to_owned(), json!({}));
    }
    for kind in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = map.get_mut(kind) {
            default_to(as_map(source), "defaultMode", 0o644);
        }
    }
    if let Some(path) = map.get_mut("hostPath") {
        default_to(as_map(path), "type", "");
    }
    for source in map.values_mut() {
        let projected = source.get_mut("sources").and_then(Value::as_array_mut);
        for source in projected.into_iter().flatten() {
            if let Some(token) = source.get_mut("serviceAccountToken") {
                default_to(as_map(token), "expirationSeconds", 3600);
            }
            if let Some(files) = source.get_mut("downwardAPI") {
                field_versions(files);
            }
        }
        field_versions(source);
    }
}

fn field_versions(files: &mut Value) {
    for file in files.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(field) = file.get_mut("fieldRef") {
            default_to(as_map(field), "apiVersion", "v1");
        }
    }
}

/// The pod's quality of service, from its own resources where it has any, else from those of its containers.
pub(crate) fn qos_class(pod: &Value) -> &'static str {
    let of_pod = pod.pointer("/spec/resources").filter(|own| {
        ["requests", "limits"].iter().any(|kind| own[kind].as_object().is_some_and(|some| !some.is_empty()))
    });
    let containers = crate::value::list(pod, "/spec/containers").iter();
    let containers = containers.chain(crate::value::list(pod, "/spec/initContainers"));
    let of_containers = containers.map(|container| &container["resources"]);
    let holders: Vec<&Value> = of_pod.map_or_else(|| of_containers.collect(), |own| vec![own]);
    let mut is_guaranteed = true;
    let mut asks = false;
    for resources in holders {
        for name in ["cpu", "memory"] {
            let [limit, request] = ["limits", "requests"].map(|kind| resources[kind].get(name));
            asks |= limit.is_some() || request.is_some();
            is_guaranteed &= limit.is_some() && limit == request;
        }
    }
    match (asks, is_guaranteed) {
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
        _ => "BestEffort",
    }
}
