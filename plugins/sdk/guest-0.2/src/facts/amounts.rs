//! What a pod counts for, by the rules of the scheduler.

use std::collections::BTreeMap;

use serde_json::Value;

use super::json::items;
use super::quantity::amount;

/// Amounts by resource.
pub(super) type Amounts = BTreeMap<String, i64>;

/// The amounts of a map of quantities.
pub(super) fn amounts(map: &Value) -> Amounts {
    let entries = map.as_object().into_iter().flatten();
    entries.map(|(resource, quantity)| (resource.clone(), amount(resource, quantity))).collect()
}

/// The names of these together, sorted, each once.
pub(super) fn names<const N: usize>(of: [&Amounts; N]) -> Vec<String> {
    let mut names: Vec<String> = of.into_iter().flat_map(BTreeMap::keys).cloned().collect();
    names.sort();
    names.dedup();
    names
}

/// Adds amounts to amounts.
pub(super) fn add(total: &mut Amounts, more: &Amounts) {
    for (resource, amount) in more {
        let sum = total.entry(resource.clone()).or_insert(0);
        *sum = sum.saturating_add(*amount);
    }
}

fn raise(total: &mut Amounts, other: Amounts) {
    for (resource, amount) in other {
        let most = total.entry(resource).or_insert(amount);
        *most = amount.max(*most);
    }
}

/// Whether an init container goes on running next to the app containers.
pub(super) fn is_sidecar(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

/// What a pod's `requests` or `limits` come to: the greater of what its containers and sidecars have together and what each init
/// container has while it runs; what the pod as a whole states goes before that, overhead comes on top.
pub(super) fn of_pod(spec: &Value, part: &str) -> Amounts {
    let of = |container: &Value| amounts(&container["resources"][part]);
    let mut total = Amounts::new();
    items(&spec["containers"]).iter().for_each(|container| add(&mut total, &of(container)));
    let (mut sidecars, mut starting) = (Amounts::new(), Amounts::new());
    for container in items(&spec["initContainers"]) {
        let mut needed = of(container);
        if is_sidecar(container) {
            add(&mut total, &needed);
            add(&mut sidecars, &needed);
            needed = sidecars.clone();
        } else {
            add(&mut needed, &sidecars);
        }
        raise(&mut starting, needed);
    }
    raise(&mut total, starting);
    let of_pod = amounts(&spec["resources"][part]).into_iter();
    total.extend(
        of_pod
            .filter(|(name, _)| matches!(name.as_str(), "cpu" | "memory") || name.starts_with("hugepages-")),
    );
    let mut overhead = amounts(&spec["overhead"]);
    if part == "limits" {
        // Only what is limited is limited to more.
        overhead.retain(|resource, _| total.get(resource).is_some_and(|limit| *limit != 0));
    }
    add(&mut total, &overhead);
    total
}

/// The class of service: what the status says, or else by CPU and memory of all containers, or of the pod where it states any.
pub(super) fn qos(manifest: &Value) -> &str {
    let settled = manifest["status"]["qosClass"].as_str();
    if let Some(class @ ("Guaranteed" | "Burstable" | "BestEffort")) = settled {
        return class;
    }
    let spec = &manifest["spec"];
    let stated = |resources: &&Value| {
        !amounts(&resources["requests"]).is_empty() || !amounts(&resources["limits"]).is_empty()
    };
    let of_containers = ["containers", "initContainers"].into_iter().flat_map(|list| items(&spec[list]));
    let counted: Vec<&Value> = match Some(&spec["resources"]).filter(stated) {
        Some(resources) => vec![resources],
        None => of_containers.map(|container| &container["resources"]).collect(),
    };
    let of = |resources: &Value, part: &str| {
        let mut found = amounts(&resources[part]);
        found.retain(|name, amount| matches!(name.as_str(), "cpu" | "memory") && *amount > 0);
        found
    };
    let (mut requests, mut limits, mut all_limited) = (Amounts::new(), Amounts::new(), true);
    for resources in counted {
        let limited = of(resources, "limits");
        all_limited &= limited.len() == 2;
        add(&mut requests, &of(resources, "requests"));
        add(&mut limits, &limited);
    }
    match (requests.is_empty() && limits.is_empty(), all_limited && requests == limits) {
        (true, _) => "BestEffort",
        (false, true) => "Guaranteed",
        (false, false) => "Burstable",
    }
}
