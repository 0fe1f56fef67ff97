//! How the pods that two sources name differ.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::yaml;

#[cfg(test)]
mod tests;

/// The pods of a set, as far as comparing it with another one takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodSetDigest {
    /// By namespace and name: what the manifest says, whatever form it says it in.
    pods: BTreeMap<String, [u8; 32]>,
}

/// How a pod of one set isn't as in the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodDifference {
    /// The other set doesn't have it.
    Added,
    /// Only the other set has it.
    Missing,
    /// Both have it, and their manifests say something else.
    Changed,
}

impl fmt::Display for PodDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Added => "has the pod",
            Self::Missing => "does not have the pod",
            Self::Changed => "has the pod with another manifest",
        })
    }
}

impl PodSetDigest {
    /// Digests a set of manifests, one pod each. One that is none goes by its text.
    pub fn of(manifests: &[String]) -> Self {
        Self { pods: manifests.iter().map(|text| entry(text)).collect() }
    }

    /// How many pods there are.
    pub fn len(&self) -> usize {
        self.pods.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }

    /// Returns what isn't as in `other`, sorted by the pods' namespaces and names.
    pub fn differences(&self, other: &Self) -> Vec<(String, PodDifference)> {
        let ours = self.pods.iter().filter_map(|(pod, digest)| match other.pods.get(pod) {
            None => Some((pod.clone(), PodDifference::Added)),
            Some(theirs) if theirs != digest => Some((pod.clone(), PodDifference::Changed)),
            Some(_) => None,
        });
        let missing = other.pods.keys().filter(|pod| !self.pods.contains_key(*pod));
        let missing = missing.map(|pod| (pod.clone(), PodDifference::Missing));
        let mut differences: Vec<_> = ours.chain(missing).collect();
        differences.sort_by(|(one, _), (other, _)| one.cmp(other));
        differences
    }
}

fn entry(text: &str) -> (String, [u8; 32]) {
    let read = yaml::read::<Value>(text).ok();
    let name = |value: &Value| Some(value.pointer("/metadata/name")?.as_str()?.to_owned());
    match read.and_then(|value| Some((name(&value)?, value))) {
        Some((name, mut value)) => {
            let namespace = value.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or("default");
            let pod = format!("{namespace}/{name}");
            value.sort_all_objects();
            (pod, Sha256::digest(value.to_string()).into())
        }
        None => {
            let digest = Sha256::digest(text);
            (format!("a manifest that can't be read, sha256:{}", &hex::encode(digest)[..12]), digest.into())
        }
    }
}
