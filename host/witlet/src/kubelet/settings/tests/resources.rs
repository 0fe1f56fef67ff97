//! Settings of the node's resources: images, reservations, cgroups, evictions.

use super::*;

#[test]
fn the_image_garbage_collection_is_set_and_checked() {
    use witlet_core::image::gc::ImageGcPolicy;
    let policy = |high, low, min_age: i64, max_age: i64| {
        let seconds = SignedDuration::from_secs;
        ImageGcPolicy::new(high, low, seconds(min_age), seconds(max_age)).expect("a policy")
    };
    for (fields, line, expected) in [
        ("", "", policy(85, 80, 120, 0)),
        ("imageMinimumGCAge: 0s\nimageMaximumGCAge: 0s", "", policy(85, 80, 120, 0)),
        ("imageGCHighThresholdPercent: 100", "", policy(100, 80, 120, 0)),
        ("imageGCLowThresholdPercent: 0\nimageMaximumGCAge: 336h", "", policy(85, 0, 120, 1_209_600)),
        (
            "imageGCHighThresholdPercent: 70",
            "--image-gc-low-threshold=50 --image-gc-high-threshold=60 --minimum-image-ttl-duration=1s",
            policy(60, 50, 1, 0),
        ),
    ] {
        assert_eq!(good(fields, line).pods.image_gc, expected, "{fields} {line}");
    }
    let (high, low) = (
        "imageGCHighThresholdPercent (--image-gc-high-threshold)",
        "imageGCLowThresholdPercent (--image-gc-low-threshold)",
    );
    for (fields, message) in [
        ("imageGCHighThresholdPercent: 101", format!("{high} 101 must be between 0 and 100, inclusive")),
        ("imageGCHighThresholdPercent: -1", format!("{high} -1 must be between 0 and 100, inclusive")),
        ("imageGCLowThresholdPercent: 101", format!("{low} 101 must be between 0 and 100, inclusive")),
        ("imageGCLowThresholdPercent: -1", format!("{low} -1 must be between 0 and 100, inclusive")),
        ("imageGCHighThresholdPercent: 80", format!("{low} 80 must be less than {high} 80")),
        ("imageGCHighThresholdPercent: 0", format!("{low} 80 must be less than {high} 0")),
        ("imageMinimumGCAge: -1s", "imageMinimumGCAge -1s must not be negative".to_owned()),
        ("imageMaximumGCAge: -1m", "imageMaximumGCAge -1m0s must not be negative".to_owned()),
        (
            "imageMaximumGCAge: 2m",
            "imageMaximumGCAge 2m0s must be greater than imageMinimumGCAge 2m0s".to_owned(),
        ),
    ] {
        let error = read(fields, "").expect_err(fields).to_string();
        assert_eq!(error, format!("invalid configuration: {message}"));
    }
}

#[test]
fn what_is_reserved_adds_up_with_what_pods_would_be_ended_for() {
    let names = ["cpu", "ephemeral-storage", "memory", "pid"];
    let capacity = names.map(|name| (name.to_owned(), 1_000_000_000_000)).into();
    let reserved = |fields: &str, line: &str| -> Vec<(String, i64)> {
        let settings = good(fields, line);
        assert_eq!(settings.node.reserved, settings.cgroups.reservations, "one figure for both");
        settings.node.reserved.reported(&capacity).into_iter().collect()
    };
    let pair = |name: &str, amount: i64| (name.to_owned(), amount);
    let storage = pair("ephemeral-storage", 100_000_001_490);
    assert_eq!(reserved("", ""), [storage, pair("memory", 104_857_600)], "upstream's hard thresholds");
    assert_eq!(
        reserved("", "--experimental-allocatable-ignore-eviction"),
        [],
        "of pods that would be ended nothing is kept"
    );
    let fields = "systemReserved: {cpu: 100m, memory: 1Gi}\nkubeReserved: {cpu: \"1\", pid: \"1000\"}\n\
                  evictionHard: {memory.available: 1Mi}";
    let expected = [pair("cpu", 1100), pair("memory", 1_074_790_400), pair("pid", 1000)];
    assert_eq!(reserved(fields, ""), expected);
    let by_number = [pair("cpu", 3000), pair("memory", 1_074_790_400), pair("pid", 1000)];
    assert_eq!(reserved(fields, "--reserved-cpus=0-1,4"), by_number, "CPUs by number go before both amounts");
}

#[test]
fn cgroups_are_asked_for_as_upstream_has_it() {
    let of = |fields: &str, line: &str| good(fields, line).cgroups;
    let default = of("", "");
    assert_eq!((default.mode, default.root.as_str(), default.pod_pids_max), (CgroupMode::Kept, "/", None));
    assert_eq!(default.enforce, [Enforcement::Pods].into());
    assert_eq!(default.cpu_quota, CpuQuotaPolicy { is_enforced: true, period_us: 100_000 });
    assert!(!default.single_process_oom_kill);
    let fields = "cgroupRoot: /nodes\npodPidsLimit: 100\ncpuCFSQuota: false\ncpuCFSQuotaPeriod: 5ms\n\
                  singleProcessOOMKill: true\nenforceNodeAllocatable: [pods, system-reserved, kube-reserved-compressible]\n\
                  systemReservedCgroup: /system.slice\nkubeReservedCgroup: /kube.slice\nsystemReserved: {cpu: 100m}";
    let all = of(fields, "--pod-max-pids=200");
    assert_eq!((all.root.as_str(), all.pod_pids_max), ("/nodes", Some(200)));
    assert_eq!(all.cpu_quota, CpuQuotaPolicy { is_enforced: false, period_us: 5_000 });
    assert!(all.single_process_oom_kill && all.enforce.len() == 3);
    assert_eq!((all.system_cgroup.as_str(), all.kube_cgroup.as_str()), ("/system.slice", "/kube.slice"));
    let off = of("cgroupsPerQOS: false\nenforceNodeAllocatable: []", "");
    assert_eq!((off.mode, off.enforce.len()), (CgroupMode::Off, 0));
    let refused = |fields: &str| read(fields, "").expect_err(fields).to_string();
    assert_eq!(
        refused("cgroupsPerQOS: false"),
        "invalid configuration: cgroupsPerQOS (--cgroups-per-qos) must be set to true when \"pods\" contained in \
         enforceNodeAllocatable (--enforce-node-allocatable)"
    );
    assert_eq!(
        refused("cpuCFSQuotaPeriod: 2s"),
        "invalid configuration: cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {2s} must be between 1ms and 1sec, inclusive"
    );
    assert_eq!(
        refused("reservedSystemCPUs: 0-1\nsystemReservedCgroup: /s"),
        "invalid configuration: can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup \
         (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)"
    );
    assert!(
        refused("reservedSystemCPUs: first")
            .contains("unable to parse reservedSystemCPUs (--reserved-cpus) first")
    );
}

#[test]
fn thresholds_that_make_no_sense_end_the_start_in_upstreams_words() {
    let cases = [
        ("evictionHard: {memory.free: 1Gi}", "unsupported eviction signal memory.free"),
        ("evictionSoft: {memory.free: 1Gi}", "unsupported eviction signal memory.free"),
        ("evictionSoftGracePeriod: {memory.free: 1m}", "unsupported eviction signal memory.free"),
        ("evictionMinimumReclaim: {memory.free: 1Gi}", "unsupported eviction signal memory.free"),
        (
            "evictionHard: {nodefs.available: 110%}",
            "eviction percentage threshold nodefs.available must be <= 100%: 110%",
        ),
        (
            "evictionHard: {nodefs.available: \"-5%\"}",
            "eviction percentage threshold nodefs.available must be >= 0%: -5%",
        ),
        (
            "evictionHard: {memory.available: \"0\"}",
            "eviction threshold memory.available must be positive: 0",
        ),
        (
            "evictionHard: {memory.available: -1Gi}",
            "eviction threshold memory.available must be positive: -1Gi",
        ),
        (
            "evictionSoft: {memory.available: 1Gi}",
            "grace period must be specified for the soft eviction threshold memory.available",
        ),
        (
            "evictionSoft: {memory.available: 1Gi}\nevictionSoftGracePeriod: {nodefs.available: 1m}",
            "grace period must be specified for the soft eviction threshold memory.available",
        ),
        (
            "evictionSoft: {memory.available: 1Gi}\nevictionSoftGracePeriod: {memory.available: -30s}",
            "invalid eviction grace period specified: -30s, must be a positive value",
        ),
        ("evictionSoftGracePeriod: {memory.available: soon}", "time: invalid duration \"soon\""),
        (
            "evictionMinimumReclaim: {memory.available: 0%}",
            "eviction percentage minimum reclaim memory.available must be positive: 0%",
        ),
        (
            "evictionMinimumReclaim: {memory.available: -1Gi}",
            "negative eviction minimum reclaim specified for memory.available",
        ),
    ];
    for (fields, expected) in cases {
        let error = read(fields, "").expect_err(expected);
        assert_eq!(error.to_string(), expected, "{fields}");
    }
    // What switches a threshold off, or has no effect, is no error.
    for fields in [
        "evictionHard: {memory.available: 0%, nodefs.available: 100%}",
        "evictionHard: {memory.available: 1Gi}\nevictionSoft: {memory.available: 1Mi}\n\
         evictionSoftGracePeriod: {memory.available: 1m}",
    ] {
        let _settings = good(fields, "");
    }
}

#[test]
fn memory_and_swap_are_asked_for_as_upstream_has_it() {
    let of = |fields: &str| good(fields, "").cgroups;
    let default = of("");
    assert_eq!(
        (default.swap, default.memory_qos, default.qos_reserved_percent),
        (SwapBehavior::NoSwap, None, None)
    );
    for (fields, expected) in [
        ("memorySwap: {swapBehavior: \"\"}", SwapBehavior::NoSwap),
        ("memorySwap: {swapBehavior: NoSwap}", SwapBehavior::NoSwap),
        ("memorySwap: {swapBehavior: LimitedSwap}", SwapBehavior::Limited),
    ] {
        assert_eq!(of(fields).swap, expected, "{fields}");
    }
    let gate = "featureGates: {MemoryQoS: true, QOSReserved: true}\n";
    let qos = of(gate).memory_qos.expect("it is on");
    assert_eq!((qos.reservation, qos.throttling_factor), (MemoryReservation::None, 0.9));
    let tiered = of(&format!("{gate}memoryReservationPolicy: TieredReservation\nmemoryThrottlingFactor: 1"));
    let qos = tiered.memory_qos.expect("it is on");
    assert_eq!((qos.reservation, qos.throttling_factor), (MemoryReservation::Tiered, 1.0));
    assert_eq!(of(&format!("{gate}qosReserved: {{memory: 50%}}")).qos_reserved_percent, Some(50));
    assert_eq!(of("qosReserved: {memory: 50%}").qos_reserved_percent, None, "the gate is off");
    let refused = |fields: &str| read(fields, "").expect_err(fields).to_string();
    for (fields, message) in [
        (
            "memorySwap: {swapBehavior: Some}",
            "invalid configuration: memorySwap.swapBehavior \"Some\" must be one of: \"\", \"LimitedSwap\" or \"NoSwap\"",
        ),
        (
            "memoryThrottlingFactor: 0",
            "invalid configuration: memoryThrottlingFactor 0 must be greater than 0 and less than or equal to 1.0",
        ),
        (
            "memoryThrottlingFactor: 1.1",
            "invalid configuration: memoryThrottlingFactor 1.1 must be greater than 0 and less than or equal to 1.0",
        ),
        (
            "memoryReservationPolicy: TieredReservation",
            "invalid configuration: memoryReservationPolicy \"TieredReservation\" requires MemoryQoS feature gate to be enabled",
        ),
        (
            "memoryReservationPolicy: All",
            "invalid configuration: option \"All\" specified for memoryReservationPolicy. Valid options are \"None\" or \"TieredReservation\"",
        ),
        (
            "qosReserved: {memory: '50'}",
            "--qos-reserved: 50: failed to parse percentage \"50\" for \"memory\": percentage expected, got '50'",
        ),
        ("qosReserved: {cpu: 50%}", "--qos-reserved: 50%: cannot reserve \"cpu\" resource"),
    ] {
        assert_eq!(refused(fields), message);
    }
    let v1 = Machine { cgroup_v1: true, ..MACHINE };
    let fields = "failCgroupV1: false\nmemorySwap: {swapBehavior: LimitedSwap}";
    assert_eq!(read_on(fields, "", v1).map(drop), Err(SettingsError::LimitedSwap));
}

#[test]
fn the_machine_around_pods_is_kept_as_the_fields_say() {
    let of = |fields: &str| good(fields, "").cgroups;
    let default = of("");
    assert_eq!((default.own_cgroup, default.system_processes, default.oom_score), (None, None, Some(-999)));
    assert_eq!(default.tunables, TunablePolicy::Write);
    let all = of("kubeletCgroups: /kubelet\nsystemCgroups: /system\ncgroupRoot: /\noomScoreAdj: -5\n\
                  protectKernelDefaults: true");
    assert_eq!(
        (all.own_cgroup.as_deref(), all.system_processes.as_deref()),
        (Some("/kubelet"), Some("/system"))
    );
    assert_eq!((all.oom_score, all.tunables), (Some(-5), TunablePolicy::Check));
    use witlet_core::stats::system_containers::NamedCgroups;
    let named = |fields: &str, flags: &str| good(fields, flags).named_cgroups();
    assert_eq!(named("", "--runtime-cgroups="), NamedCgroups::default());
    let both = NamedCgroups { runtime: Some("/k3s".to_owned()), misc: Some("/system".to_owned()) };
    assert_eq!(named("systemCgroups: /system\ncgroupRoot: /", "--runtime-cgroups=/k3s"), both);
    let refused = |fields: &str| read(fields, "").expect_err(fields).to_string();
    assert_eq!(
        refused("systemCgroups: /system"),
        "invalid configuration: systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not \
         specified"
    );
    assert_eq!(refused("systemCgroups: /\ncgroupRoot: /"), "system container cannot be root (\"/\")");
}

#[test]
fn evictions_are_set_as_the_fields_say() {
    let thresholds = |fields: &str| -> String {
        let config = good(fields, "").eviction;
        let text = |threshold: &Threshold| {
            let grace = if threshold.is_hard() {
                String::new()
            } else {
                format!(" for {}s", threshold.grace.as_secs())
            };
            let reclaim = threshold.min_reclaim.map(|value| format!(" +{value}")).unwrap_or_default();
            format!("{}<{}{grace}{reclaim}", threshold.signal, threshold.value)
        };
        config.thresholds.iter().map(text).collect::<Vec<_>>().join(", ")
    };
    let disk = "nodefs.available<10%, nodefs.inodesFree<5%, imagefs.available<15%, imagefs.inodesFree<5%";
    let memory = |text: &str| format!("memory.available<{text}");
    let of_pods = |text: &str| format!("allocatableMemory.available<{text}");
    assert_eq!(thresholds(""), format!("{}, {disk}, {}", memory("100Mi"), of_pods("100Mi")));
    assert_eq!(thresholds("evictionHard: {}"), "", "an empty one is set, too");
    let alone = "evictionHard: {memory.available: 1Gi}";
    assert_eq!(thresholds(alone), format!("{}, {}", memory("1Gi"), of_pods("1Gi")));
    assert_eq!(thresholds(&format!("{alone}\nenforceNodeAllocatable: [none]")), memory("1Gi"));
    let ignoring = good(alone, "--experimental-allocatable-ignore-eviction").eviction.thresholds;
    let signals: Vec<String> = ignoring.iter().map(|threshold| threshold.signal.to_string()).collect();
    assert_eq!(signals, ["memory.available"], "without allocatable nothing is enforced of it");
    let merged = format!("{alone}\nmergeDefaultEvictionSettings: true");
    assert_eq!(thresholds(&merged), format!("{}, {disk}, {}", memory("1Gi"), of_pods("1Gi")));
    let soft = "evictionHard: {}\nevictionSoft: {nodefs.available: 5Gi}\nevictionSoftGracePeriod: {nodefs.available: 1m30s}\n\
                evictionMinimumReclaim: {nodefs.available: 500Mi}";
    assert_eq!(thresholds(soft), "nodefs.available<5Gi for 90s +500Mi");

    let config = good("", "").eviction;
    assert_eq!((config.max_pod_grace_seconds, config.local_storage_isolation), (0, true));
    assert_eq!(config.pressure_transition, Duration::from_mins(5));
    assert!(!config.memory_notification);
    let fields = "evictionMaxPodGracePeriod: 60\nlocalStorageCapacityIsolation: false\n\
                  evictionPressureTransitionPeriod: 30s\nkernelMemcgNotification: true";
    let config = good(fields, "").eviction;
    assert!(config.memory_notification);
    assert_eq!((config.max_pod_grace_seconds, config.local_storage_isolation), (60, false));
    assert_eq!(config.pressure_transition, Duration::from_secs(30));
}
