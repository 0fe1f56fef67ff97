//! Which gates upstream starts with, and what is reported of those that change nothing.

use witlet_core::stats::exposition::written;

use super::*;

fn gates(text: &str) -> BTreeMap<String, bool> {
    let pairs = text.split(',').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').expect("a pair"));
    pairs.map(|(name, value)| (name.to_owned(), value == "true")).collect()
}

#[test]
fn the_table_is_in_order_and_its_parts_fit_each_other() {
    assert!(GATES.is_sorted_by(|one, next| one.name < next.name), "a gate is listed twice, or out of order");
    for (name, needed) in DEPENDENCIES {
        for name in needed.iter().chain([name]) {
            assert!(gate(name).is_some(), "{name} isn't in the table");
        }
    }
    for name in ON.iter().chain(CHOSEN).chain(FOLLOWED) {
        assert!(gate(name).is_some_and(|gate| gate.is_of_node), "{name} isn't a gate of the kubelet's");
    }
    assert_eq!(check(&gates("")), Ok(()), "the defaults fit each other");
}

#[test]
fn gates_are_refused_in_upstreams_words() {
    let cases = [
        ("NoSuchGate=true", Err("unrecognized feature gate: NoSuchGate")),
        // Gone with 1.36.
        ("CPUManager=true", Err("unrecognized feature gate: CPUManager")),
        ("CloudDualStackNodeIPs=true", Err("unrecognized feature gate: CloudDualStackNodeIPs")),
        // An unknown one ends it before anything else is checked.
        ("ImageVolume=false,NoSuchGate=true", Err("unrecognized feature gate: NoSuchGate")),
        (
            "SidecarContainers=false",
            Err("cannot set feature gate SidecarContainers to false, feature is locked to true"),
        ),
        (
            "GitRepoVolumeDriver=true",
            Err("cannot set feature gate GitRepoVolumeDriver to true, feature is locked to false"),
        ),
        ("SidecarContainers=true", Ok(())),
        ("GitRepoVolumeDriver=false", Ok(())),
        ("CustomCPUCFSQuotaPeriod=false", Ok(())),
        ("MemoryQoS=true", Ok(())),
        (
            "GracefulNodeShutdown=false",
            Err(
                "GracefulNodeShutdownBasedOnPodPriority is enabled, but depends on features that are disabled: \
                 [GracefulNodeShutdown]",
            ),
        ),
        (
            "GracefulNodeShutdown=false,GracefulNodeShutdownBasedOnPodPriority=false,WindowsGracefulNodeShutdown=false",
            Ok(()),
        ),
        ("AllAlpha=false", Ok(())),
        ("AllAlpha=true", Ok(())),
        ("AllBeta=true", Ok(())),
        ("AllAlpha=true,AllBeta=true", Ok(())),
        ("AllBeta=false", Ok(())),
        (
            "AllBeta=false,RestartAllContainersOnContainerExits=true",
            Err(
                "RestartAllContainersOnContainerExits is enabled, but depends on features that are disabled: \
                 [ContainerRestartRules NodeDeclaredFeatures]",
            ),
        ),
    ];
    for (text, expected) in cases {
        let found = check(&gates(text)).map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "{text}");
    }
}

#[test]
fn gates_of_a_stage_follow_its_own_gate_unless_they_are_named() {
    let cases = [
        ("", "PodLevelResources", true),
        ("AllBeta=false", "PodLevelResources", false),
        ("AllBeta=false,PodLevelResources=true", "PodLevelResources", true),
        ("AllAlpha=true", "MemoryQoS", true),
        ("AllAlpha=true,MemoryQoS=false", "MemoryQoS", false),
        ("AllBeta=false", "SidecarContainers", true),
        ("", "NoSuchGate", false),
    ];
    for (text, name, expected) in cases {
        assert_eq!(is_enabled(&gates(text), name), expected, "{text}: {name}");
    }
    assert_eq!(resolved(&gates("AllBeta=false")), gates("AllBeta=false,PodLevelResources=false"));
    assert_eq!(resolved(&gates("PodLevelResources=true")), gates("PodLevelResources=true"));
}

#[test]
fn gates_are_reported_that_change_nothing_though_they_should() {
    let cases: &[(&str, bool)] = &[
        ("PodLevelResources=true", false),
        ("PodLevelResources=false", false),
        ("EnvFiles=true", false),
        ("EnvFiles=false", true),
        ("MemoryQoS=true", false),
        ("ComponentFlagz=false,ComponentStatusz=false", false),
        ("ContextualLogging=false,LoggingAlphaOptions=true,LoggingBetaOptions=false", false),
        ("PodLevelResourceManagers=true", true),
        ("PodLevelResourceManagers=false", false),
        ("GracefulNodeShutdown=true", true),
        ("NodeLogQuery=true,PodLogsQuerySplitStreams=true", false),
        ("AllAlpha=true", true),
        ("AllAlpha=false", false),
        ("AllBeta=true", false),
        ("AllBeta=false", true),
        // The API server's and the scheduler's.
        ("JobManagedBy=true", false),
        ("MatchLabelKeysInPodTopologySpread=false", false),
    ];
    for (text, reported) in cases {
        assert_eq!(!not_yet(&gates(text)).is_empty(), *reported, "{text}");
    }
}

#[test]
fn each_gate_is_shown_as_what_it_is_here() {
    let shown = |text: &str| written(|to| GateMetrics(gates(text)).write(to)).expect("it is small");
    let asked = shown("MemoryQoS=true,EnvFiles=false,DynamicResourceAllocation=true");
    for (name, stage, value) in [
        ("MemoryQoS", "ALPHA", 1),
        // It is always on here, and others aren't there, whatever was asked for.
        ("EnvFiles", "BETA", 1),
        ("SidecarContainers", "", 1),
        ("PodLevelResources", "BETA", 1),
        ("CSIVolumeHealth", "ALPHA", 0),
    ] {
        let line = format!("kubernetes_feature_enabled{{name=\"{name}\",stage=\"{stage}\"}} {value}\n");
        assert!(asked.contains(&line), "{line} isn't in:\n{asked}");
    }
    assert_eq!(asked.lines().count(), GATES.len() + 2);
    assert!(shown("PodLevelResources=false").contains("name=\"PodLevelResources\",stage=\"BETA\"} 0\n"));
}
