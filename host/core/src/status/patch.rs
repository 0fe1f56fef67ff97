//! What the API server is sent so that its status of a pod becomes the agent's: a strategic merge patch of the fields that
//! differ, and of those only that a kubelet writes (upstream: `PatchPodStatus`).

use jiff::Timestamp;
use k8s_openapi::api::core::v1::PodStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Map, Value, json};

use super::conditions::OWNED;
use crate::pod::quantity;

#[cfg(test)]
mod tests;

/// The fields of a status that are the node's, conditions and addresses apart. Lists among them are replaced whole.
const PLAIN_FIELDS: [&str; 14] = [
    "allocatedResources",
    "containerStatuses",
    "ephemeralContainerStatuses",
    "hostIP",
    "initContainerStatuses",
    "message",
    "observedGeneration",
    "phase",
    "podIP",
    "qosClass",
    "reason",
    "resize",
    "resources",
    "startTime",
];
/// Lists that are merged by the address of their entries.
const ADDRESS_FIELDS: [&str; 2] = ["hostIPs", "podIPs"];
/// Amounts by name of the resource, which have more than one way to be written.
const AMOUNTS: [&str; 3] = ["allocatedResources", "limits", "requests"];
/// Empty objects that the API server always writes and that say nothing.
const EMPTY_SAYS_NOTHING: [&str; 5] = ["allocatedResources", "lastState", "limits", "requests", "state"];

/// The body of a PATCH on `pods/status` that turns `base`, which the API server has, into `desired`; none if nothing that
/// matters differs. It holds for the pod with this UID alone: the server answers 422 if another has its name by now.
///
/// Times count in whole seconds and amounts by what they are worth, as the server keeps them. Conditions of others are
/// neither changed nor dropped, even if `desired` doesn't have them.
pub fn patch(uid: &str, base: &PodStatus, desired: &PodStatus) -> Option<Value> {
    if base == desired {
        return None;
    }
    let (base, desired) = (as_object(base), as_object(desired));
    let mut status = Map::new();
    for field in PLAIN_FIELDS {
        if let Some(change) = change(field, base.get(field), desired.get(field)) {
            status.insert(field.to_owned(), change);
        }
    }
    let is_owned = |kind: &str| OWNED.contains(&kind);
    let conditions = Keyed { key: "type", ordered: false, base: list(&base, "conditions") };
    conditions.put_change(&mut status, "conditions", list(&desired, "conditions"), is_owned);
    for field in ADDRESS_FIELDS {
        let addresses = Keyed { key: "ip", ordered: true, base: list(&base, field) };
        addresses.put_change(&mut status, field, list(&desired, field), |_| true);
    }
    (!status.is_empty()).then(|| json!({ "metadata": { "uid": uid }, "status": status }))
}

/// Cuts all times to whole seconds, in which the API says them. A status that went through the server and came back is equal
/// then, so that nothing has to be checked in detail.
pub(super) fn in_whole_seconds(status: &mut PodStatus) {
    let cut = |time: &mut Option<Time>| {
        if let Some(time) = time
            && time.0.subsec_nanosecond() != 0
        {
            // A second that begins in range is in range itself.
            time.0 = Timestamp::from_second(time.0.as_second()).unwrap_or(time.0);
        }
    };
    cut(&mut status.start_time);
    for condition in status.conditions.iter_mut().flatten() {
        cut(&mut condition.last_transition_time);
        cut(&mut condition.last_probe_time);
    }
    let lists = [
        &mut status.container_statuses,
        &mut status.init_container_statuses,
        &mut status.ephemeral_container_statuses,
    ];
    for container in lists.into_iter().flatten().flatten() {
        for state in [&mut container.state, &mut container.last_state].into_iter().flatten() {
            if let Some(running) = &mut state.running {
                cut(&mut running.started_at);
            }
            if let Some(ended) = &mut state.terminated {
                cut(&mut ended.started_at);
                cut(&mut ended.finished_at);
            }
        }
    }
}

fn as_object(status: &PodStatus) -> Map<String, Value> {
    match serde_json::to_value(status).expect("a status has only string keys, so it always becomes JSON") {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn list<'a>(object: &'a Map<String, Value>, field: &str) -> &'a [Value] {
    object.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns what has to be said for a member to become `new`: the new value, of an object what differs in it, null if it goes.
fn change(name: &str, old: Option<&Value>, new: Option<&Value>) -> Option<Value> {
    if is_same(name, old, new) {
        return None;
    }
    match (old, new) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => Some(Value::Object(changes(name, old, new))),
        (_, Some(new)) => Some(new.clone()),
        (_, None) => Some(Value::Null),
    }
}

fn changes(parent: &str, old: &Map<String, Value>, new: &Map<String, Value>) -> Map<String, Value> {
    let changed = members(old, new).filter_map(|name| {
        // Entries of a map of amounts are compared as such.
        let role = if AMOUNTS.contains(&parent) { parent } else { name };
        Some((name.to_owned(), change(role, old.get(name), new.get(name))?))
    });
    changed.collect()
}

/// Names of all members that either has, each once.
fn members<'a>(
    old: &'a Map<String, Value>,
    new: &'a Map<String, Value>,
) -> impl Iterator<Item = &'a str> + 'a {
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    new.keys().chain(gone).map(String::as_str)
}

/// Whether two members of this name say the same.
fn is_same(name: &str, a: Option<&Value>, b: Option<&Value>) -> bool {
    let says = |value: &&Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !(fields.is_empty() && EMPTY_SAYS_NOTHING.contains(&name)),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    };
    match (a.filter(says), b.filter(says)) {
        (None, None) => true,
        (Some(Value::Object(a)), Some(Value::Object(b))) => members(a, b).all(|member| {
            let role = if AMOUNTS.contains(&name) { name } else { member };
            is_same(role, a.get(member), b.get(member))
        }),
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(name, Some(a), Some(b)))
        }
        (Some(Value::String(a)), Some(Value::String(b))) if AMOUNTS.contains(&name) => is_same_amount(a, b),
        (a, b) => a == b,
    }
}

fn is_same_amount(a: &str, b: &str) -> bool {
    let amount = |text: &str| quantity::parse(text).ok();
    a == b || matches!((amount(a), amount(b)), (Some(a), Some(b)) if a.compare(&b).is_eq())
}

/// A list whose entries go by a key.
struct Keyed<'a> {
    key: &'static str,
    /// Whether the order of the entries says something.
    ordered: bool,
    base: &'a [Value],
}

impl Keyed<'_> {
    /// Puts what makes the list `desired` into the patch: entries that are new or changed, those that go and may, and the order
    /// of them all.
    fn put_change(
        &self,
        status: &mut Map<String, Value>,
        field: &str,
        desired: &[Value],
        may_go: impl Fn(&str) -> bool,
    ) {
        let mut entries: Vec<Value> = desired.iter().filter_map(|entry| self.change_of(entry)).collect();
        let gone = self
            .base
            .iter()
            .filter_map(|entry| self.key_of(entry))
            .filter(|key| may_go(key) && !desired.iter().any(|entry| self.key_of(entry) == Some(key)));
        entries.extend(gone.map(|key| json!({ "$patch": "delete", self.key: key })));
        let common = |list: &[Value], other: &[Value]| -> Vec<String> {
            let keys = list.iter().filter_map(|entry| self.key_of(entry));
            let common = keys.filter(|key| other.iter().any(|entry| self.key_of(entry) == Some(key)));
            common.map(str::to_owned).collect()
        };
        let moved = self.ordered && common(desired, self.base) != common(self.base, desired);
        if entries.is_empty() && !moved {
            return;
        }
        let order = desired.iter().filter_map(|entry| self.key_of(entry)).map(|key| json!({ self.key: key }));
        status.insert(format!("$setElementOrder/{field}"), order.collect());
        if !entries.is_empty() {
            status.insert(field.to_owned(), Value::Array(entries));
        }
    }

    fn key_of<'a>(&self, entry: &'a Value) -> Option<&'a str> {
        entry.get(self.key)?.as_str()
    }

    /// Returns what is sent for an entry: all of a new one, of another its key and what changed, nothing if nothing did.
    fn change_of(&self, entry: &Value) -> Option<Value> {
        let key = self.key_of(entry)?;
        let old = self.base.iter().find(|old| self.key_of(old) == Some(key)).and_then(Value::as_object);
        let (Some(old), Some(new)) = (old, entry.as_object()) else { return Some(entry.clone()) };
        let mut changed = changes("", old, new);
        if changed.is_empty() {
            return None;
        }
        changed.insert(self.key.to_owned(), Value::from(key));
        Some(Value::Object(changed))
    }
}
