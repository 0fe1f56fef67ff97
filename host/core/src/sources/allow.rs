//! What a pod source outside the host may bring (`podSource.allow`), pod by pod.
//!
//! A source of pods is as powerful as root, so an operator says what it may bring. A pod beyond that is left out, and so
//! is one that claims to be someone else's; the rest of the set counts.

use std::collections::HashSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::claims::Claims;
use super::manifest::{self, ManifestError};
use super::pod_security::{self, SecurityLevel};
use crate::pod::static_pod::{CONFIG_SOURCE, Origin};
use crate::pod::{PodFullName, PodUid, SourceName};
use crate::text::glob;

#[cfg(test)]
mod tests;

/// Bytes of one manifest in a source's set. A pod has at most 1.5 MiB as JSON; YAML is rarely larger.
pub const MANIFEST_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Bytes of all manifests of a set.
pub const SET_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Pods that a source may have when no one says otherwise: upstream's `maxPods`.
pub const PODS_DEFAULT: usize = 110;
/// The most pods that an allowance can name.
pub const PODS_MAX: usize = manifest::PODS_MAX;

/// What a source may bring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Patterns of namespaces, in which `*` stands for any run of characters. None of them lets no pod through.
    pub namespaces: Vec<String>,
    /// How the names of its pods begin.
    pub name_prefix: Option<String>,
    /// What its pods may do.
    pub pod_security: SecurityLevel,
    /// How many pods it may have. A set with more isn't taken at all: which of them would be left out would be chance.
    pub pods_max: usize,
}

impl Default for Allowance {
    /// Lets nothing through: no namespace is named.
    fn default() -> Self {
        Self {
            namespaces: Vec::new(),
            name_prefix: None,
            pod_security: SecurityLevel::default(),
            pods_max: PODS_DEFAULT,
        }
    }
}

/// A rule that a pod breaks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Error)]
pub enum Rule {
    /// Its namespace isn't among the allowed ones.
    #[error("namespace {namespace} is not in podSource.allow.namespaces")]
    Namespace { namespace: String },
    /// Its name begins otherwise.
    #[error("metadata.name must begin with {prefix} (podSource.allow.namePrefix)")]
    NamePrefix {
        /// What it should begin with.
        prefix: String,
    },
    /// It is bound to another node.
    #[error("spec.nodeName must be empty or this node's name, found {node_name:?}")]
    OtherNode { node_name: String },
    /// It says that another source brought it.
    #[error("annotation {CONFIG_SOURCE} must not name another source, found {source_name:?}")]
    OtherSource { source_name: String },
    /// It carries an annotation that only the agent or an API server writes.
    #[error("annotation {annotation} must not be set by a source")]
    Forged { annotation: &'static str },
    /// An earlier pod of the set has its name.
    #[error("duplicate name: an earlier pod of the set has it")]
    DuplicateName,
    /// An earlier pod of the set has its UID.
    #[error("duplicate UID: an earlier pod of the set has it")]
    DuplicateUid,
    /// It may do more than the level allows.
    #[error("violates PodSecurity {level}: {}", violations.join("; "))]
    PodSecurity {
        level: SecurityLevel,
        /// Each in one clause.
        violations: Vec<String>,
    },
}

impl Allowance {
    /// Every rule that the pod breaks by itself. `claims` are what it said before it was adopted.
    pub(super) fn check(&self, pod: &Pod, claims: &Claims, origin: Origin<'_>) -> Vec<Rule> {
        let mut broken = Vec::new();
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        if !self.namespaces.iter().any(|pattern| glob(pattern, namespace)) {
            broken.push(Rule::Namespace { namespace: namespace.to_owned() });
        }
        if let Some(prefix) = self.name_prefix.as_deref().filter(|prefix| !claims.name.starts_with(prefix)) {
            broken.push(Rule::NamePrefix { prefix: prefix.to_owned() });
        }
        if let Some(node_name) = claims.node_name.as_deref().filter(|name| *name != origin.node_name) {
            broken.push(Rule::OtherNode { node_name: manifest::shortened(node_name) });
        }
        if let Some(name) = claims.source.as_deref().filter(|name| *name != origin.source.as_str()) {
            broken.push(Rule::OtherSource { source_name: manifest::shortened(name) });
        }
        broken.extend(claims.forged.iter().map(|annotation| Rule::Forged { annotation }));
        let violations = pod_security::violations(pod, self.pod_security);
        if !violations.is_empty() {
            broken.push(Rule::PodSecurity { level: self.pod_security, violations });
        }
        broken
    }
}

/// A pod that was left out of a set, or a manifest that isn't one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// A pod that the source may not bring.
    Forbidden {
        /// Its name with the node's.
        pod: PodFullName,
        /// All that it breaks; at least one.
        rules: Vec<Rule>,
    },
    /// A manifest that can't be understood.
    Invalid {
        /// `manifest 3`, counted from 1, and the pod's name if it has one.
        place: String,
        /// What is wrong with it.
        message: String,
    },
}

/// A set that can't be taken as a whole; the last one stands.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SetError {
    /// More pods than the source may have.
    #[error("the set must have at most {max} pods, found {found}")]
    TooMany {
        found: usize,
        /// How many may be.
        max: usize,
    },
    /// More than [`SET_BYTES_MAX`].
    #[error("the set must have at most {SET_BYTES_MAX} bytes, found {bytes}")]
    TooLarge { bytes: usize },
    /// A set of pods without a pod: to have none, a source says that it is empty.
    #[error("the set must have at least one pod; a source without pods returns `empty`")]
    NoPods,
}

/// A set as far as it may be brought.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AllowedPods {
    /// The pods, in the source's order: adopted, defaulted, validated, allowed.
    pub pods: Vec<Arc<Pod>>,
    /// What isn't among them.
    pub left_out: Vec<LeftOut>,
    /// Whether every manifest could be understood. A forbidden pod is understood and not desired here, so that one that ran
    /// before ends; of one that isn't understood no one can tell.
    pub complete: bool,
}

/// Turns a set of manifests into what may run of it. A pod whose newest manifest isn't understood stays as it is in `last`,
/// if it still may be there; and if a manifest doesn't even tell its pod's name, nothing that `last` has goes.
///
/// # Errors
/// The set has no pod, more than it may have, or more bytes.
pub fn take(
    manifests: &[String],
    source: &SourceName,
    node_name: &str,
    allowance: &Allowance,
    last: &[Arc<Pod>],
) -> Result<AllowedPods, SetError> {
    check_size(manifests, allowance)?;
    let place = format!("plugin:{source}");
    let origin = Origin { source, place: &place, node_name };
    let mut set = Set { taken: AllowedPods { complete: true, ..AllowedPods::default() }, ..Set::default() };
    let mut unread = Vec::new();
    let mut nameless = false;
    for (index, text) in manifests.iter().enumerate() {
        match read(text, origin) {
            Ok((pod, claims)) => set.add(pod, allowance, &claims, origin),
            Err(Unread { name, message }) => {
                let of = name.as_ref().map(|name| format!(" (pod {name})")).unwrap_or_default();
                let place = format!("manifest {}{of}", index + 1);
                set.taken.left_out.push(LeftOut::Invalid { place, message });
                set.taken.complete = false;
                match name {
                    Some(name) => unread.push(name),
                    None => nameless = true,
                }
            }
        }
    }
    for pod in last.iter().filter(|pod| nameless || unread.contains(&PodFullName::of(pod))) {
        set.keep(pod, allowance, origin);
    }
    Ok(set.taken)
}

/// Returns what of an old set is still allowed, for when the allowance has become smaller.
pub fn still_allowed(
    pods: &[Arc<Pod>],
    source: &SourceName,
    node_name: &str,
    allowance: &Allowance,
) -> Vec<Arc<Pod>> {
    let origin = Origin { source, place: "", node_name };
    let mut set = Set::default();
    pods.iter().for_each(|pod| set.keep(pod, allowance, origin));
    set.taken.pods
}

fn check_size(manifests: &[String], allowance: &Allowance) -> Result<(), SetError> {
    let (found, max) = (manifests.len(), allowance.pods_max.min(PODS_MAX));
    let bytes = manifests.iter().map(String::len).fold(0, usize::saturating_add);
    match found {
        0 => Err(SetError::NoPods),
        _ if found > max => Err(SetError::TooMany { found, max }),
        _ if bytes > SET_BYTES_MAX => Err(SetError::TooLarge { bytes }),
        _ => Ok(()),
    }
}

#[derive(Default)]
struct Set {
    taken: AllowedPods,
    names: HashSet<PodFullName>,
    uids: HashSet<PodUid>,
    /// As they were written.
    written_uids: HashSet<String>,
    /// Names of pods that were left out as forbidden: older versions of them don't stay, either.
    forbidden: HashSet<PodFullName>,
}

impl Set {
    fn add(&mut self, pod: Pod, allowance: &Allowance, claims: &Claims, origin: Origin<'_>) {
        let full_name = PodFullName::of(&pod);
        let mut rules = allowance.check(&pod, claims, origin);
        if self.names.contains(&full_name) {
            rules.push(Rule::DuplicateName);
        } else if claims.uid.as_ref().is_some_and(|uid| self.written_uids.contains(uid)) {
            rules.push(Rule::DuplicateUid);
        }
        if rules.is_empty() {
            self.written_uids.extend(claims.uid.clone());
            self.insert(full_name, Arc::new(pod));
        } else {
            self.forbidden.insert(full_name.clone());
            self.taken.left_out.push(LeftOut::Forbidden { pod: full_name, rules });
        }
    }

    /// Takes over a pod of an older set, unless the newer one has it or it isn't allowed any more.
    fn keep(&mut self, pod: &Arc<Pod>, allowance: &Allowance, origin: Origin<'_>) {
        let full_name = PodFullName::of(pod);
        let suffix = format!("-{}", origin.node_name.to_lowercase());
        let name = full_name.name.strip_suffix(suffix.as_str()).unwrap_or(&full_name.name);
        let claims = Claims { name: name.to_owned(), ..Claims::default() };
        let is_new = !self.names.contains(&full_name)
            && !self.forbidden.contains(&full_name)
            && !self.uids.contains(&PodUid::of(pod));
        if is_new && allowance.check(pod, &claims, origin).is_empty() {
            self.insert(full_name, pod.clone());
        }
    }

    fn insert(&mut self, full_name: PodFullName, pod: Arc<Pod>) {
        self.names.insert(full_name);
        self.uids.insert(PodUid::of(&pod));
        self.taken.pods.push(pod);
    }
}

struct Unread {
    /// The name of the pod, with the node's, if it can be reported.
    name: Option<PodFullName>,
    message: String,
}

fn read(text: &str, origin: Origin<'_>) -> Result<(Pod, Claims), Unread> {
    let nameless = |message: String| Unread { name: None, message };
    if text.len() > MANIFEST_BYTES_MAX {
        let message = format!("must have at most {MANIFEST_BYTES_MAX} bytes, found {}", text.len());
        return Err(nameless(message));
    }
    match manifest::plugin_pods(text, origin, |written| own_uid(origin.source, written)) {
        Ok(mut pods) if pods.len() == 1 => Ok(pods.swap_remove(0)),
        Ok(pods) => Err(nameless(format!("must have exactly one pod, found {}", pods.len()))),
        Err(error) => Err(Unread { name: manifest::name_of(text, origin), message: problems(&error) }),
    }
}

/// The place is the source's, and reported elsewhere.
fn problems(error: &ManifestError) -> String {
    error.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// A fixed UID keeps a pod the same while it is edited. It is the source's own, and that of this name: no source can lay hands
/// on another's pods by naming their UIDs, nor have one pod under two names.
fn own_uid(source: &SourceName, written: &Pod) -> Option<String> {
    let ObjectMeta { name, namespace, uid, .. } = &written.metadata;
    let uid = uid.as_deref().filter(|uid| !uid.is_empty())?;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let mut hash = Sha256::new();
    hash.update(format!("source:{source}\nnamespace:{}\nname:{}\nuid:{uid}", text(namespace), text(name)));
    Some(hex::encode(&hash.finalize()[..16]))
}
