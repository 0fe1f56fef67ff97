//! Files and their content, in order.

use std::collections::BTreeMap;

use crate::cgroup::{
    CgroupFacts, CgroupVersion, ResourceConfig, ValueError, WriteKind, cpu_max, number, writes,
};

fn facts(version: CgroupVersion, hugetlb: bool) -> CgroupFacts {
    let mut controllers: Vec<&str> = vec!["cpu", "cpuset", "memory", "pids"];
    if hugetlb {
        controllers.push("hugetlb");
    }
    CgroupFacts {
        version,
        controllers: controllers.into_iter().map(str::to_owned).collect(),
        hugepage_sizes: vec![2 << 20, 1 << 30],
    }
}

fn shown(config: &ResourceConfig, facts: &CgroupFacts) -> Vec<String> {
    writes(config, facts).into_iter().map(|write| format!("{}={}", write.file, write.value)).collect()
}

fn whole() -> ResourceConfig {
    ResourceConfig {
        memory_bytes: Some(100),
        cpu_shares: Some(1_024),
        cpu_quota_us: Some(20_000),
        cpu_period_us: Some(100_000),
        pids_max: Some(64),
        cpus: Some("0-3".to_owned()),
        hugepages: BTreeMap::from([(1 << 30, 4)]),
        unified: BTreeMap::from([("memory.min".to_owned(), "5".to_owned())]),
    }
}

#[test]
fn version_1_in_the_librarys_order() {
    let expected = [
        "cpuset.cpus=0-3",
        "memory.limit_in_bytes=100",
        "cpu.shares=1024",
        "cpu.cfs_period_us=100000",
        "cpu.cfs_quota_us=20000",
        "pids.max=64",
        "hugetlb.1GB.limit_in_bytes=4",
        "hugetlb.1GB.rsvd.limit_in_bytes=4",
        "hugetlb.2MB.limit_in_bytes=0",
        "hugetlb.2MB.rsvd.limit_in_bytes=0",
    ];
    assert_eq!(shown(&whole(), &facts(CgroupVersion::V1, true)), expected);
    assert_eq!(shown(&whole(), &facts(CgroupVersion::V1, false)), expected[..6]);
}

#[test]
fn version_2_in_the_librarys_order() {
    let expected = [
        "pids.max=64",
        "memory.max=100",
        "cpu.weight=39",
        "cpu.max=20000 100000",
        "cpuset.cpus=0-3",
        "hugetlb.1GB.max=4",
        "hugetlb.1GB.rsvd.max=4",
        "hugetlb.2MB.max=0",
        "hugetlb.2MB.rsvd.max=0",
        "memory.min=5",
    ];
    assert_eq!(shown(&whole(), &facts(CgroupVersion::V2, true)), expected);
}

#[test]
fn no_limit_is_written_as_each_version_has_it() {
    let none = ResourceConfig {
        memory_bytes: Some(-1),
        cpu_quota_us: Some(-1),
        cpu_period_us: Some(100_000),
        pids_max: Some(-1),
        ..ResourceConfig::default()
    };
    assert_eq!(
        shown(&none, &facts(CgroupVersion::V1, false)),
        ["memory.limit_in_bytes=-1", "cpu.cfs_period_us=100000", "cpu.cfs_quota_us=-1", "pids.max=max"]
    );
    assert_eq!(
        shown(&none, &facts(CgroupVersion::V2, false)),
        ["pids.max=max", "memory.max=max", "cpu.max=max 100000"]
    );
}

#[test]
fn zero_is_not_given_but_for_process_ids() {
    let zero = ResourceConfig {
        memory_bytes: Some(0),
        cpu_shares: Some(0),
        cpu_quota_us: Some(0),
        cpu_period_us: Some(0),
        pids_max: Some(0),
        ..ResourceConfig::default()
    };
    for version in [CgroupVersion::V1, CgroupVersion::V2] {
        assert_eq!(shown(&zero, &facts(version, false)), ["pids.max=1"], "{version:?}");
    }
    let nothing = ResourceConfig::default();
    assert_eq!(shown(&nothing, &facts(CgroupVersion::V1, false)), [""; 0]);
}

#[test]
fn what_may_fail_says_so() {
    let kinds: Vec<(String, WriteKind)> = writes(&whole(), &facts(CgroupVersion::V1, true))
        .into_iter()
        .map(|write| (write.file, write.kind))
        .filter(|(_, kind)| *kind != WriteKind::Plain)
        .collect();
    let expected = [
        ("cpu.shares", WriteKind::Shares),
        ("cpu.cfs_period_us", WriteKind::Period),
        ("hugetlb.1GB.rsvd.limit_in_bytes", WriteKind::IfPresent),
        ("hugetlb.2MB.rsvd.limit_in_bytes", WriteKind::IfPresent),
    ];
    assert_eq!(kinds, expected.map(|(file, kind)| (file.to_owned(), kind)));
    let alone = ResourceConfig { cpu_period_us: Some(1_000), ..ResourceConfig::default() };
    assert_eq!(writes(&alone, &facts(CgroupVersion::V1, false))[0].kind, WriteKind::Plain);
}

#[test]
fn values_are_read_back() {
    for (text, value) in [("5\n", 5), ("max", 0), ("-1\n", 0), ("9223372036854771712", 0), ("0", 0)] {
        assert_eq!(number(text), Ok(value), "{text}");
    }
    for text in ["", "x", "1 2", "-2"] {
        assert_eq!(number(text), Err(ValueError(text.to_owned())));
    }
    assert_eq!(cpu_max("max 100000\n"), Ok((0, 100_000)));
    assert_eq!(cpu_max("20000 100000\n"), Ok((20_000, 100_000)));
    for text in ["", "max", "1 2 3", "a b"] {
        assert!(cpu_max(text).is_err(), "{text}");
    }
}
