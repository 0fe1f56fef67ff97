//! Feature gates: which ones can be chosen, and what the others are here.

use std::collections::BTreeMap;

/// Gates that handlers of admission look at: what the operator says is passed on to them.
const CHOSEN: &[&str] = &["PodLevelResources"];

/// Gates whose features are always on here.
const ON: &[&str] = &[
    "ContainerRestartRules",
    "EnvFiles",
    "HostnameOverride",
    "InPlacePodVerticalScaling",
    "KubeletFineGrainedAuthz",
    "NodeDeclaredFeatures",
    "PodLifecycleSleepAction",
    "PodLifecycleSleepActionAllowZero",
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
    "WatchList",
    "WatchListClient",
];

/// Gates that ask for something else than what happens anyway, in order.
pub(super) fn not_yet(gates: &BTreeMap<String, bool>) -> Vec<&str> {
    let ignored = |(name, wanted): &(&String, &bool)| {
        !CHOSEN.contains(&name.as_str()) && **wanted != ON.contains(&name.as_str())
    };
    gates.iter().filter(ignored).map(|(name, _)| name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    //! What is told of gates.

    use super::*;

    #[test]
    fn gates_are_told_that_change_nothing_though_they_should() {
        let cases: &[(&str, bool, bool)] = &[
            ("PodLevelResources", true, false),
            ("PodLevelResources", false, false),
            ("EnvFiles", true, false),
            ("EnvFiles", false, true),
            ("MemoryQoS", true, true),
            ("MemoryQoS", false, false),
            ("NoSuchGate", true, true),
        ];
        for (name, wanted, told) in cases {
            let gates = BTreeMap::from([((*name).to_owned(), *wanted)]);
            assert_eq!(!not_yet(&gates).is_empty(), *told, "{name}={wanted}");
        }
    }
}
