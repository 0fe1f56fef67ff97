//! Patches: JSON merge, JSON patch, strategic merge.

use serde_json::{Map, Value};

use crate::error::ApiError;
use crate::value::as_map;

use order::Order;

mod order;

/// The three kinds of patches, by content type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchType {
    /// RFC 7386.
    Merge,
    /// RFC 6902.
    Json,
    /// Kubernetes' own, with lists merged by key.
    Strategic,
}

impl PatchType {
    /// By the content type of the request; 415 for others.
    pub(crate) fn of(content_type: &str) -> Result<Self, ApiError> {
        match content_type.split(';').next().unwrap_or_default().trim() {
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/json-patch+json" => Ok(Self::Json),
            "application/strategic-merge-patch+json" => Ok(Self::Strategic),
            other => {
                let message = format!(
                    "the body of the request was in an unknown format - accepted media types include: \
                     application/json-patch+json, application/merge-patch+json, \
                     application/strategic-merge-patch+json, not {other}"
                );
                Err(ApiError::new(415, "UnsupportedMediaType", message))
            }
        }
    }
}

/// The object with the patch applied; 400 for a patch that can't be read.
pub(crate) fn apply(kind: PatchType, original: &Value, patch: Value) -> Result<Value, ApiError> {
    let mut object = original.clone();
    match kind {
        PatchType::Merge => merge(&mut object, patch),
        PatchType::Json => return json(object, &patch),
        PatchType::Strategic => {
            let Value::Object(patch) = patch else {
                return Err(ApiError::bad_request("a strategic merge patch is an object"));
            };
            strategic_map(as_map(&mut object), patch, "")?;
        }
    }
    Ok(object)
}

fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    let target = as_map(target);
    for (key, value) in patch {
        if value.is_null() {
            target.remove(&key);
        } else {
            merge(target.entry(key).or_insert(Value::Null), value);
        }
    }
}

/// How a list under this field is merged, from the `patchStrategy` and `patchMergeKey` of upstream's types.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ListRule {
    /// Replaced whole.
    Atomic,
    /// Objects merged by this key.
    ByKey(&'static str),
    /// Primitives, added.
    Set,
}

/// Fields that upstream's types mark for merging; `parent` is the field that the list's object lies in.
fn list_rule(parent: &str, field: &str) -> ListRule {
    match field {
        "conditions" => ListRule::ByKey("type"),
        "addresses" if parent == "status" => ListRule::ByKey("type"),
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "volumes"
        | "env"
        | "imagePullSecrets"
        | "schedulingGates"
        | "resourceClaims"
        | "resourceClaimStatuses"
        | "secrets" => ListRule::ByKey("name"),
        "volumeMounts" => ListRule::ByKey("mountPath"),
        "volumeDevices" => ListRule::ByKey("devicePath"),
        "hostAliases" | "podIPs" | "hostIPs" => ListRule::ByKey("ip"),
        "topologySpreadConstraints" => ListRule::ByKey("topologyKey"),
        "ports" if parent == "spec" => ListRule::ByKey("port"),
        "ports" => ListRule::ByKey("containerPort"),
        "ownerReferences" => ListRule::ByKey("uid"),
        "finalizers" | "podCIDRs" => ListRule::Set,
        _ => ListRule::Atomic,
    }
}

fn strategic_map(
    target: &mut Map<String, Value>,
    mut patch: Map<String, Value>,
    at: &str,
) -> Result<(), ApiError> {
    match patch.remove("$patch").as_ref().map(|v| v.as_str().unwrap_or_default()) {
        None | Some("merge") => {}
        Some("replace") => {
            *target = patch;
            return Ok(());
        }
        Some("delete") => {
            target.clear();
            return Ok(());
        }
        Some(other) => return Err(ApiError::bad_request(format!("Unknown patch type {other} found"))),
    }
    if let Some(keep) = patch.remove("$retainKeys") {
        let keep = keep.as_array().cloned().unwrap_or_default();
        target.retain(|key, _| keep.iter().any(|k| k == key));
    }
    let orders = Order::take_all(target, &mut patch, at)?;
    for (key, value) in patch {
        if let Some(field) = key.strip_prefix("$deleteFromPrimitiveList/") {
            let gone = value.as_array().cloned().unwrap_or_default();
            if let Some(list) = target.get_mut(field).and_then(Value::as_array_mut) {
                list.retain(|item| !gone.contains(item));
            }
            continue;
        }
        match (target.get_mut(&key), value) {
            (_, Value::Null) => {
                target.remove(&key);
            }
            (Some(Value::Object(current)), Value::Object(patch)) => strategic_map(current, patch, &key)?,
            (Some(Value::Array(current)), Value::Array(patch)) => {
                strategic_list(current, patch, list_rule(at, &key), &key)?;
            }
            (_, value) => {
                let value = without_directives(value, &key)?;
                target.insert(key, value);
            }
        }
    }
    for order in orders {
        order.apply(target);
    }
    Ok(())
}

/// What a patch sets where nothing was: the directives apply to nothing, nulls delete nothing, and keys aren't required.
fn without_directives(value: Value, field: &str) -> Result<Value, ApiError> {
    match value {
        Value::Object(patch) => {
            let mut made = Map::new();
            strategic_map(&mut made, patch, field)?;
            Ok(Value::Object(made))
        }
        Value::Array(patch) => {
            let is_directive = |item: &Value| {
                matches!(item.get("$patch").and_then(Value::as_str), Some("delete" | "replace"))
            };
            let items = patch.into_iter().filter(|item| !is_directive(item));
            items.map(|item| without_directives(item, field)).collect()
        }
        other => Ok(other),
    }
}

fn strategic_list(
    target: &mut Vec<Value>,
    patch: Vec<Value>,
    rule: ListRule,
    field: &str,
) -> Result<(), ApiError> {
    let ListRule::ByKey(merge_key) = rule else {
        if rule == ListRule::Set {
            for item in patch {
                if !target.contains(&item) {
                    target.push(item);
                }
            }
        } else {
            *target = patch;
        }
        return Ok(());
    };
    if patch.iter().any(|item| item.get("$patch").and_then(Value::as_str) == Some("replace")) {
        *target = patch.into_iter().filter(|item| item.get("$patch").is_none()).collect();
        return Ok(());
    }
    for item in patch {
        let Value::Object(mut item) = item else {
            return Err(ApiError::bad_request(format!("{field} is a list of objects")));
        };
        let Some(key) = item.get(merge_key).cloned() else {
            return Err(no_merge_key(&Value::Object(item), merge_key));
        };
        if item.get("$patch").and_then(Value::as_str) == Some("delete") {
            target.retain(|current| current.get(merge_key) != Some(&key));
            continue;
        }
        match target.iter_mut().find(|current| current.get(merge_key) == Some(&key)) {
            Some(Value::Object(current)) => strategic_map(current, item, field)?,
            _ => {
                item.remove("$patch");
                target.push(without_directives(Value::Object(item), field)?);
            }
        }
    }
    Ok(())
}

/// As upstream's, which doesn't take it for the sender's mistake, and has no reason for it.
fn no_merge_key(item: &Value, merge_key: &str) -> ApiError {
    let message = format!("map: {item} does not contain declared merge key: {merge_key}");
    ApiError::new(500, "", message)
}

fn json(mut object: Value, patch: &Value) -> Result<Value, ApiError> {
    let steps = patch.as_array().ok_or_else(|| ApiError::bad_request("a JSON patch is a list"))?;
    for step in steps {
        let path = step.get("path").and_then(Value::as_str).unwrap_or_default();
        let value = step.get("value").cloned().unwrap_or(Value::Null);
        let failed = || {
            let message = format!("the server rejected our request due to an error in our request: {step}");
            ApiError::new(422, "Invalid", message)
        };
        match step.get("op").and_then(Value::as_str).unwrap_or_default() {
            "add" => json_add(&mut object, path, value).ok_or_else(failed)?,
            "replace" => *object.pointer_mut(path).ok_or_else(failed)? = value,
            "remove" => {
                json_remove(&mut object, path).ok_or_else(failed)?;
            }
            "test" => {
                if object.pointer(path) != Some(&value) {
                    return Err(failed());
                }
            }
            op @ ("move" | "copy") => {
                let from = step.get("from").and_then(Value::as_str).unwrap_or_default();
                let value = object.pointer(from).cloned().ok_or_else(failed)?;
                if op == "move" {
                    json_remove(&mut object, from).ok_or_else(failed)?;
                }
                json_add(&mut object, path, value).ok_or_else(failed)?;
            }
            _ => return Err(failed()),
        }
    }
    Ok(object)
}

fn split(path: &str) -> Option<(&str, String)> {
    let (parent, last) = path.rsplit_once('/')?;
    Some((parent, last.replace("~1", "/").replace("~0", "~")))
}

fn json_add(object: &mut Value, path: &str, value: Value) -> Option<()> {
    let (parent, last) = split(path)?;
    match object.pointer_mut(parent)? {
        Value::Object(map) => {
            map.insert(last, value);
        }
        Value::Array(list) if last == "-" => list.push(value),
        Value::Array(list) => {
            let at: usize = last.parse().ok().filter(|&at| at <= list.len())?;
            list.insert(at, value);
        }
        _ => return None,
    }
    Some(())
}

fn json_remove(object: &mut Value, path: &str) -> Option<Value> {
    let (parent, last) = split(path)?;
    match object.pointer_mut(parent)? {
        Value::Object(map) => map.remove(&last),
        Value::Array(list) => {
            let at: usize = last.parse().ok().filter(|&at| at < list.len())?;
            Some(list.remove(at))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
