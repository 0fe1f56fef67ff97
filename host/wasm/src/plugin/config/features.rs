//! What this host has, by name: an entry or a file may require it, so that hosts of several releases can share one file.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{ConfigError, check_count, check_name, field};
use crate::guest::printable;

/// How many features an entry or a file can require.
pub const REQUIRES_MAX: usize = 32;
/// How much of a feature's name is shown.
const NAME_SHOWN_BYTES_MAX: usize = 63;

/// What a host may have or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Feature {
    /// As `requires` names it.
    pub name: &'static str,
    pub description: &'static str,
}

const fn feature(name: &'static str, description: &'static str) -> Feature {
    Feature { name, description }
}

/// What this host has. A name never comes to mean anything else; the operators' book lists them.
pub const FEATURES: &[Feature] = &[
    feature("admission-0.1", "admission handlers built against witlet:admission@0.1"),
    feature("probe-0.1", "probe types built against witlet:probe@0.1"),
    feature("pod-source-0.1", "pod sources built against witlet:pod-source@0.1"),
    feature("admission-0.2", "admission handlers built against witlet:admission@0.2"),
    feature("probe-0.2", "probe types built against witlet:probe@0.2"),
    feature("pod-source-0.2", "pod sources built against witlet:pod-source@0.2"),
    feature("oci", "components from registries, component: oci://…"),
    feature("require-conformance", "demands of signed conformance reports, requireConformance"),
    feature(
        "require-signature",
        "demands of cosign's signatures of components from registries, requireSignature",
    ),
    feature("shadow", "handlers whose verdicts are compared and don't count, admission.mode: shadow"),
    feature("shadow-of", "shadows of another entry in any role, shadowOf"),
    feature("record", "recorded calls for witlet plugin replay, record"),
    feature("record-triggers", "which calls are recorded, record.on"),
    feature("load-timeout", "a bound for how long pods wait for a load, admission.loadTimeout"),
    feature("system-pods", "handlers that aren't asked about system pods, admission.match.systemPods"),
    feature(
        "match-criteria",
        "labels, operations, priority classes, sources, service accounts, images in admission.match",
    ),
    feature("decision-log", "a line of JSON for each decision about a pod, decisionLog"),
    feature("match-exclude", "pods that are left out, admission.match.exclude"),
    feature("match-edits", "the operations update and ephemeral in admission.match.operations"),
    feature("data", "data next to the configuration of an entry, data"),
    feature("node-variables", "values of the node in config, ${node.name} and ${node.labels['KEY']}"),
    feature("match-images", "the operation image-resolved in admission.match.operations"),
    feature("recheck", "running pods that handlers are asked about again, admission.recheck"),
    feature(
        "readmit",
        "pods that handlers are asked about after a restart of the agent, the operation readmit",
    ),
    feature("fetched-data", "data from URLs and registries, data.url and data.oci"),
    feature("rollout", "handlers that take another's place by degrees, admission.rollout"),
    feature("tls-authorities", "further certificate authorities of servers, grants.tlsAuthorities"),
    feature("tls-client-certificate", "a certificate that is shown to servers, grants.tlsClientCertificate"),
    feature("network-pod-loopback", "the loopback interface of probed pods, pod-loopback in grants.network"),
];

/// An entry that isn't used because it is optional and this host lacks what it requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedEntry {
    pub name: String,
    /// What this host doesn't have.
    pub lacks: Vec<String>,
}

impl fmt::Display for SkippedEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.lacks.len() == 1 { "" } else { "s" };
        write!(f, "is skipped: this host has no feature{plural} {}", self.lacks.join(", "))
    }
}

/// What of a file this host can't have.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Skipped {
    /// Places in the list of plugins.
    pub(super) places: BTreeSet<usize>,
    pub(super) entries: Vec<SkippedEntry>,
}

/// As much of the file as any host can read, whatever else a later release may add.
#[derive(Default, Deserialize)]
struct FileRequirements {
    #[serde(default)]
    requires: Vec<String>,
    #[serde(default)]
    plugins: Vec<EntryRequirements>,
}

#[derive(Deserialize)]
struct EntryRequirements {
    #[serde(default)]
    name: String,
    #[serde(default)]
    requires: Vec<String>,
    #[serde(default)]
    optional: bool,
}

/// Checks which entries this host has to skip, before anything else of them is read.
///
/// # Errors
///
/// When the file, or an entry that isn't optional, requires what this host doesn't have.
pub(super) fn check(text: &str) -> Result<Skipped, ConfigError> {
    // A file that can't be read up to here is refused when it is parsed as a whole.
    let FileRequirements { requires, plugins } = serde_saphyr::from_str(text).unwrap_or_default();
    if let Some((index, name)) = first_lacking(&requires) {
        return field(&format!("requires[{index}]"), lacking(name));
    }
    let mut skipped = Skipped::default();
    for (place, EntryRequirements { name, requires, optional }) in plugins.into_iter().enumerate() {
        let Some((index, lacked)) = first_lacking(&requires) else { continue };
        if !optional {
            let problem = format!(
                "{}; with `optional: true` a host that doesn't have it skips the entry",
                lacking(lacked)
            );
            return field(&format!("plugins[{place}].requires[{index}]"), problem);
        }
        check_name(&name, &format!("plugins[{place}].name"))?;
        let lacks = requires.into_iter().filter(|name| !has_feature(name));
        let lacks = lacks.take(REQUIRES_MAX).map(|name| printable(&name, NAME_SHOWN_BYTES_MAX)).collect();
        skipped.places.insert(place);
        skipped.entries.push(SkippedEntry { name, lacks });
    }
    Ok(skipped)
}

/// Refuses what couldn't take effect in a requirement that this host meets.
pub(super) fn check_entry(requires: &[String], optional: bool, path: &str) -> Result<(), ConfigError> {
    check_count(&format!("{path}.requires"), requires.len(), REQUIRES_MAX)?;
    if optional && requires.is_empty() {
        return field(&format!("{path}.optional"), "requires `requires`: set it, or remove this");
    }
    Ok(())
}

/// Whether this host has the feature with this name.
pub(crate) fn has_feature(name: &str) -> bool {
    FEATURES.iter().any(|feature| feature.name == name)
}

fn first_lacking(requires: &[String]) -> Option<(usize, &str)> {
    requires
        .iter()
        .enumerate()
        .map(|(index, name)| (index, name.as_str()))
        .find(|(_, name)| !has_feature(name))
}

fn lacking(name: &str) -> String {
    format!("this host has no feature {name:?}: `witlet plugin features` lists what it has")
}
