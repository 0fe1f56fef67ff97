//! Feature gates: which ones there are, which can be chosen, and what the others are here.

mod table;

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;
use witlet_core::stats::exposition::{Exposition, Kind};
use witlet_ports::MetricsSource;

use table::{DEPENDENCIES, GATES, Stage, gate};

#[cfg(test)]
mod tests;

/// Gates that stand for all of a stage that no one named.
const ALL_ALPHA: &str = "AllAlpha";
const ALL_BETA: &str = "AllBeta";

/// Gates that handlers of admission check: what the operator says is passed on to them.
const CHOSEN: &[&str] = &["PodLevelResources"];

/// Gates that the settings of the node follow.
const FOLLOWED: &[&str] = &[
    "ComponentFlagz",
    "ComponentStatusz",
    "ContainerCheckpoint",
    "ContextualLogging",
    "KubeletEnsureSecretPulledImages",
    "LoggingAlphaOptions",
    "LoggingBetaOptions",
    "MemoryQoS",
    "QOSReserved",
];

/// Gates of the kubelet's whose features are always on here.
const ON: &[&str] = &[
    "ContainerRestartRules",
    "EnvFiles",
    "ExecProbeTimeout",
    "HostnameOverride",
    "InPlacePodVerticalScaling",
    "KubeletCgroupDriverFromCRI",
    "KubeletFineGrainedAuthz",
    "NodeDeclaredFeatures",
    "NodeLogQuery",
    "PodLifecycleSleepAction",
    "PodLifecycleSleepActionAllowZero",
    "PodLogsQuerySplitStreams",
    "PodObservedGenerationTracking",
    "PodReadyToStartContainersCondition",
    "PreventStaticPodAPIReferences",
    "ProcMountType",
    "RecursiveReadOnlyMounts",
    "ReloadKubeletServerCertificateFile",
    "RestartAllContainersOnContainerExits",
    "SidecarContainers",
    "SupplementalGroupsPolicy",
    "UserNamespacesSupport",
    "WatchListClient",
];

/// Gates that can't be set like this, in upstream's words.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum GateError {
    /// There is no such gate, or there is none any more.
    #[error("unrecognized feature gate: {name}")]
    Unknown {
        /// As it was given.
        name: String,
    },
    /// It can't be chosen any more.
    #[error("cannot set feature gate {name} to {requested}, feature is locked to {}", !requested)]
    Locked {
        name: String,
        /// What was asked for.
        requested: bool,
    },
    /// It is on, and something that it depends on is off.
    #[error("{name} is enabled, but depends on features that are disabled: [{}]", missing.join(" "))]
    Dependency {
        name: &'static str,
        /// What it depends on.
        missing: Vec<&'static str>,
    },
}

/// Whether upstream would start with these gates; the first thing that is wrong with them, if not.
pub(super) fn check(gates: &BTreeMap<String, bool>) -> Result<(), GateError> {
    let is_special = |name: &str| matches!(name, ALL_ALPHA | ALL_BETA);
    if let Some(name) = gates.keys().find(|name| !is_special(name) && gate(name).is_none()) {
        return Err(GateError::Unknown { name: name.clone() });
    }
    for (name, requested) in gates {
        let locked = gate(name).filter(|gate| gate.default.locked && gate.default.on != *requested);
        if locked.is_some() {
            return Err(GateError::Locked { name: name.clone(), requested: *requested });
        }
    }
    let enabled: BTreeSet<&str> =
        GATES.iter().map(|gate| gate.name).filter(|name| is_enabled(gates, name)).collect();
    for (name, needed) in DEPENDENCIES.iter().filter(|(name, _)| enabled.contains(name)) {
        let missing: Vec<_> = needed.iter().copied().filter(|needed| !enabled.contains(needed)).collect();
        if !missing.is_empty() {
            return Err(GateError::Dependency { name, missing });
        }
    }
    Ok(())
}

/// What a gate comes to: as it was set, as all of its stage were, or its default.
pub(super) fn is_enabled(gates: &BTreeMap<String, bool>, name: &str) -> bool {
    if let Some(requested) = gates.get(name) {
        return *requested;
    }
    let Some(gate) = gate(name) else { return false };
    let of_stage = match gate.stage {
        Stage::Alpha => gates.get(ALL_ALPHA),
        Stage::Beta => gates.get(ALL_BETA),
        Stage::Ga | Stage::Deprecated => None,
    };
    of_stage.copied().unwrap_or(gate.default.on)
}

/// What each gate comes to here, for monitoring: of those that the node checks whether the feature is on here, of others what they are
/// upstream.
pub(crate) struct GateMetrics(pub(crate) BTreeMap<String, bool>);

impl MetricsSource for GateMetrics {
    fn write(&self, to: &mut Exposition) {
        let help = "[BETA] This metric records the data about the stage and enablement of a k8s feature.";
        let mut family = to.family("kubernetes_feature_enabled", help, Kind::Gauge);
        for gate in GATES {
            let stage = match gate.stage {
                Stage::Alpha => "ALPHA",
                Stage::Beta => "BETA",
                Stage::Ga => "",
                Stage::Deprecated => "DEPRECATED",
            };
            let is_on = f64::from(u8::from(is_in_force(&self.0, gate.name)));
            family.sample(&[("name", gate.name), ("stage", stage)], is_on);
        }
    }
}

/// Whether a feature is on here, whatever was asked for.
fn is_in_force(gates: &BTreeMap<String, bool>, name: &str) -> bool {
    let is_of_node = gate(name).is_some_and(|gate| gate.is_of_node);
    if !is_of_node || CHOSEN.contains(&name) || FOLLOWED.contains(&name) {
        return is_enabled(gates, name);
    }
    ON.contains(&name)
}

/// The gates as handlers get them: those that were set, and those that can be chosen as they come out.
pub(super) fn resolved(gates: &BTreeMap<String, bool>) -> BTreeMap<String, bool> {
    let mut resolved = gates.clone();
    if gates.contains_key(ALL_BETA) {
        resolved.extend(CHOSEN.iter().map(|name| ((*name).to_owned(), is_enabled(gates, name))));
    }
    resolved
}

/// Gates that ask for something else than what happens anyway, in order. Gates of other programs ask for nothing here.
pub(super) fn not_yet(gates: &BTreeMap<String, bool>) -> Vec<&str> {
    let ignored = |(name, requested): &(&String, &bool)| match name.as_str() {
        ALL_ALPHA => **requested,
        ALL_BETA => !**requested,
        name if CHOSEN.contains(&name) || FOLLOWED.contains(&name) => false,
        name => gate(name).is_none_or(|gate| gate.is_of_node) && **requested != ON.contains(&name),
    };
    gates.iter().filter(ignored).map(|(name, _)| name.as_str()).collect()
}
