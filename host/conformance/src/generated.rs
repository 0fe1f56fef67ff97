//! Pods that people write, generated from a seed, and the smallest of those that fail.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::check::Finding;
use crate::plugin_request::pod;

/// How many steps are made from a pod that fails to a smaller one.
const SHRINK_STEPS_MAX: usize = 96;

/// Fields of pods, and what each may hold.
const FIELDS: &str = include_str!("../vectors/generated/pods.yaml");
/// The containers of a pod, as far as it has so many.
const CONTAINERS: [&str; 4] =
    ["/spec/containers/0", "/spec/containers/1", "/spec/initContainers/0", "/spec/initContainers/1"];

/// [`FIELDS`], by JSON pointers; a field comes before what is in it.
#[derive(Debug, Default, Deserialize)]
struct Fields {
    pod: BTreeMap<String, Vec<Value>>,
    container: BTreeMap<String, Vec<Value>>,
}

impl Fields {
    fn read() -> Self {
        // It is YAML of these fields: a test reads it.
        serde_saphyr::from_str(FIELDS).unwrap_or_default()
    }
}

/// What stands where in a pod.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draft(Vec<(String, Value)>);

impl Draft {
    /// The one of this number.
    fn of(seed: u64, number: u32) -> Self {
        let mut state = seed ^ (u64::from(number) << 32).wrapping_add(0x9e37_79b9_7f4a_7c15);
        // Splitmix64: the same pods on each machine and with each release of a library.
        let mut random = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            usize::try_from((mixed ^ (mixed >> 31)) >> 33).unwrap_or_default()
        };
        let Fields { pod, container } = Fields::read();
        let of_containers = CONTAINERS.iter().flat_map(|at| {
            container.iter().map(move |(pointer, values)| (format!("{at}{pointer}"), values.clone()))
        });
        let mut chosen = Vec::new();
        for (pointer, values) in pod.into_iter().chain(of_containers) {
            let (is_there, which) = (random() % 2 == 0, random() % values.len().max(1));
            chosen.extend(values.get(which).filter(|_| is_there).map(|value| (pointer, value.clone())));
        }
        Self(chosen)
    }

    pub(crate) fn pod(&self) -> Pod {
        let mut json = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "generated", "namespace": "shop", "uid": "uid-of-a-generated-pod"},
            "spec": {"containers": [{"name": "app-0", "image": "nginx:1.27"}]},
        });
        for (pointer, value) in &self.0 {
            put(&mut json, pointer, value.clone());
        }
        pod(&json)
    }
}

/// Puts a value where a pointer leads, and objects on the way. Where an array isn't so long nothing is put; null takes away.
pub(crate) fn put(json: &mut Value, pointer: &str, value: Value) {
    let (holder, name) = pointer.rsplit_once('/').unwrap_or(("", pointer));
    let missing = !holder.is_empty() && json.pointer(holder).is_none();
    if missing && !holder.ends_with(|letter: char| letter.is_ascii_digit()) {
        put(json, holder, json!({}));
    }
    if let Some(Value::Object(fields)) = json.pointer_mut(holder) {
        match value {
            Value::Null => _ = fields.remove(name),
            value => _ = fields.insert(name.to_owned(), value),
        }
    }
}

/// Judges so many pods of a seed, and makes the first one that fails smaller, a field at a time. How the smallest one fails.
pub(crate) async fn search(
    seed: u64,
    count: u32,
    mut judge: impl AsyncFnMut(&Draft) -> Option<Finding>,
) -> Option<Finding> {
    for number in 0..count {
        let mut smallest = Draft::of(seed, number);
        let Some(mut found) = judge(&smallest).await else { continue };
        let mut lacks = 0;
        for _ in 0..SHRINK_STEPS_MAX {
            if lacks == smallest.0.len() {
                break;
            }
            let mut smaller = smallest.clone();
            smaller.0.remove(lacks);
            match judge(&smaller).await {
                Some(finding) => (smallest, found) = (smaller, finding),
                None => lacks += 1,
            }
        }
        return Some(found);
    }
    None
}

#[cfg(test)]
mod tests;
