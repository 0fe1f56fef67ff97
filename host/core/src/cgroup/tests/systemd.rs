//! What is put into units, as upstream's library puts it (`systemd/systemd_test.go` and what it covers).

use std::collections::BTreeMap;

use crate::cgroup::{
    CgroupVersion, ResourceConfig, SliceUnit, UnitProperty, UnitValue, quota_of_driver, set_properties,
    start_properties, systemd_quota, systemd_release,
};
use crate::runtime::CgroupDriver;

/// One that knows every property.
const NEW: u32 = 252;

fn shown(properties: &[UnitProperty]) -> Vec<String> {
    let text = |value: &UnitValue| match value {
        UnitValue::Bool(value) => value.to_string(),
        UnitValue::Text(text) => text.clone(),
        UnitValue::Texts(texts) => format!("{texts:?}"),
        UnitValue::Number(u64::MAX) => "infinity".to_owned(),
        UnitValue::Number(number) => number.to_string(),
        UnitValue::Bytes(bytes) => format!("{bytes:?}"),
    };
    properties.iter().map(|property| format!("{}={}", property.name, text(&property.value))).collect()
}

fn set(config: &ResourceConfig, version: CgroupVersion, systemd: u32) -> (Vec<String>, Option<i64>) {
    let (properties, files) = set_properties(config, version, systemd);
    let quota = files.cpu_quota_us;
    assert_eq!(
        ResourceConfig { cpu_quota_us: config.cpu_quota_us, ..files },
        *config,
        "the rest is the same"
    );
    (shown(&properties), quota)
}

#[test]
fn units_are_named_by_the_last_part_of_a_path() {
    for (path, expected) in [
        ("/kubepods.slice", Some(("kubepods.slice", "-.slice"))),
        ("/kubepods.slice/kubepods-burstable.slice", Some(("kubepods-burstable.slice", "kubepods.slice"))),
        (
            "/a.slice/a-kubepods.slice/a-kubepods-pod1_2.slice/",
            Some(("a-kubepods-pod1_2.slice", "a-kubepods.slice")),
        ),
        ("/", None),
        ("", None),
        ("/kubepods", None),
        ("/kubepods.slice/cri-containerd-1.scope", None),
    ] {
        let unit = SliceUnit::at(path);
        let names = unit.as_ref().map(|unit| (unit.name.as_str(), unit.parent.as_str()));
        assert_eq!(names, expected, "{path}");
    }
}

#[test]
fn a_slice_is_started_without_limits() {
    let unit = SliceUnit { name: "kubepods-burstable.slice".into(), parent: "kubepods.slice".into() };
    let mut expected = [
        "Description=libcontainer container kubepods-burstable.slice",
        "Wants=[\"kubepods.slice\"]",
        "MemoryAccounting=true",
        "CPUAccounting=true",
        "IOAccounting=true",
        "TasksAccounting=true",
        "DefaultDependencies=false",
    ];
    assert_eq!(shown(&start_properties(&unit, CgroupVersion::V2)), expected);
    expected[4] = "BlockIOAccounting=true";
    assert_eq!(shown(&start_properties(&unit, CgroupVersion::V1)), expected);
}

fn whole() -> ResourceConfig {
    ResourceConfig {
        memory_bytes: Some(64 << 20),
        cpu_shares: Some(1_024),
        cpu_quota_us: Some(20_000),
        cpu_period_us: Some(100_000),
        pids_max: Some(64),
        cpus: Some("0-3,9".to_owned()),
        hugepages: BTreeMap::from([(1 << 30, 4)]),
        unified: [("memory.min", "5"), ("memory.low", "max"), ("memory.oom.group", "1")]
            .map(|(file, value)| (file.to_owned(), value.to_owned()))
            .into(),
    }
}

#[test]
fn limits_become_properties_of_each_version() {
    let expected = [
        "MemoryMax=67108864",
        "CPUWeight=39",
        "CPUQuotaPeriodUSec=100000",
        "CPUQuotaPerSecUSec=200000",
        "TasksMax=64",
        "AllowedCPUs=[15, 2]",
        "MemoryLow=infinity",
        "MemoryMin=5",
    ];
    assert_eq!(set(&whole(), CgroupVersion::V2, NEW).0, expected);
    let expected = [
        "MemoryLimit=67108864",
        "CPUShares=1024",
        "CPUQuotaPeriodUSec=100000",
        "CPUQuotaPerSecUSec=200000",
        "TasksMax=64",
        "AllowedCPUs=[15, 2]",
    ];
    assert_eq!(set(&whole(), CgroupVersion::V1, NEW).0, expected);
}

#[test]
fn older_releases_get_what_they_know() {
    for (systemd, period, cpus) in
        [(244, true, true), (243, true, false), (241, false, false), (0, false, false)]
    {
        let (properties, _) = set(&whole(), CgroupVersion::V2, systemd);
        let has = |name: &str| properties.iter().any(|property| property.starts_with(name));
        assert_eq!(has("CPUQuotaPeriodUSec="), period, "{systemd}");
        assert_eq!(has("AllowedCPUs="), cpus, "{systemd}");
    }
}

#[test]
fn what_is_not_given_is_not_set_and_no_limit_is_infinity() {
    let none = ResourceConfig::default();
    assert_eq!(set(&none, CgroupVersion::V2, NEW), (Vec::new(), None));
    let zero = ResourceConfig {
        memory_bytes: Some(0),
        cpu_shares: Some(0),
        cpu_quota_us: Some(0),
        cpu_period_us: Some(0),
        pids_max: Some(0),
        ..none.clone()
    };
    assert_eq!(set(&zero, CgroupVersion::V2, NEW), (vec!["TasksMax=1".to_owned()], Some(0)));
    let unlimited = ResourceConfig {
        memory_bytes: Some(-1),
        cpu_quota_us: Some(-1),
        cpu_period_us: Some(100_000),
        pids_max: Some(-1),
        ..none.clone()
    };
    let expected = [
        "MemoryMax=infinity",
        "CPUQuotaPeriodUSec=100000",
        "CPUQuotaPerSecUSec=infinity",
        "TasksMax=infinity",
    ];
    assert_eq!(set(&unlimited, CgroupVersion::V2, NEW), (expected.map(str::to_owned).to_vec(), Some(-1)));
    let period = ResourceConfig { cpu_period_us: Some(50_000), ..none };
    let expected = ["CPUQuotaPeriodUSec=50000", "CPUQuotaPerSecUSec=infinity"].map(str::to_owned).to_vec();
    assert_eq!(set(&period, CgroupVersion::V2, NEW), (expected, None));
}

#[test]
fn quotas_are_rounded_up_to_whole_percents() {
    for (quota, period, per_second, rounded) in [
        (100_000, Some(100_000), 1_000_000, 100_000),
        (1_500, Some(100_000), 20_000, 2_000),
        (1_000, Some(100_000), 10_000, 1_000),
        (33_300, Some(100_000), 340_000, 34_000),
        (8_000, Some(10_000), 800_000, 8_000),
        (501, Some(10_000), 60_000, 600),
        (1_500, None, 20_000, 2_000),
    ] {
        let config =
            ResourceConfig { cpu_quota_us: Some(quota), cpu_period_us: period, ..ResourceConfig::default() };
        let (properties, file) = set(&config, CgroupVersion::V2, NEW);
        assert!(properties.contains(&format!("CPUQuotaPerSecUSec={per_second}")), "{quota}: {properties:?}");
        assert_eq!(file, Some(rounded), "{quota} of {period:?}");
        let period = period.unwrap_or(100_000);
        assert_eq!(systemd_quota(rounded, period), rounded, "once");
        assert_eq!(quota_of_driver(CgroupDriver::Systemd, quota, period), rounded);
        assert_eq!(quota_of_driver(CgroupDriver::Cgroupfs, quota, period), quota);
    }
    for none in [0, -1] {
        assert_eq!(systemd_quota(none, 100_000), none);
    }
    assert!(systemd_quota(i64::MAX, 1_000) > 0, "without overflow");
}

#[test]
fn cpus_are_bits_from_the_lowest() {
    for (list, expected) in [
        ("0", Some("[1]")),
        ("0-3", Some("[15]")),
        ("4-7", Some("[240]")),
        ("8", Some("[0, 1]")),
        ("0,8-9,17", Some("[1, 3, 2]")),
        ("", None),
        ("many", None),
        ("3-1", None),
    ] {
        let config = ResourceConfig { cpus: Some(list.to_owned()), ..ResourceConfig::default() };
        let expected: Vec<String> = expected.map(|bits| format!("AllowedCPUs={bits}")).into_iter().collect();
        assert_eq!(set(&config, CgroupVersion::V2, NEW).0, expected, "{list:?}");
    }
}

#[test]
fn the_release_is_the_first_number_of_the_version() {
    for (version, expected) in [
        ("\"v245.4-1.fc32\"", Some(245)),
        ("\"245.4-1.fc32\"", Some(245)),
        ("\"v241-1.fc32\"", Some(241)),
        ("\"v241.4-1.fc32\"", Some(241)),
        ("v241.4-1.fc32", Some(241)),
        ("241.4-1.fc32", Some(241)),
        ("252 (252.39-1~deb12u2)", Some(252)),
        ("", None),
        ("abc", None),
    ] {
        assert_eq!(systemd_release(version), expected, "{version}");
    }
}
