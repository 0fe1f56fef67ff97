//! The files of a cgroup and their content, in the order in which upstream's library writes them (`opencontainers/cgroups`:
//! `fs` for version 1, `fs2` for version 2).

use std::collections::BTreeSet;

use super::convert::{cpu_weight, hugepage_unit_size};
use super::resources::ResourceConfig;

/// Which of the kernel's two interfaces there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CgroupVersion {
    /// A tree for each controller.
    V1,
    V2,
}

/// What the machine's cgroups are like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupFacts {
    pub version: CgroupVersion,
    /// Controllers that are mounted (version 1), or that the root has (version 2).
    pub controllers: BTreeSet<String>,
    /// Sizes of huge pages in bytes.
    pub hugepage_sizes: Vec<u64>,
}

/// How a write that fails, or is taken with another value, is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// An error ends the update.
    Plain,
    /// A file that isn't there is passed over.
    IfPresent,
    /// The kernel clamps the value without a word: it is read back, and another one is an error.
    Shares,
    /// The kernel refuses a period that the old quota doesn't go with: it is written again after the next write.
    Period,
}

/// One write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileWrite {
    /// Whose tree the file is in; version 2 has one for all.
    pub controller: &'static str,
    /// Name of the file.
    pub file: String,
    pub value: String,
    /// What happens if it fails.
    pub kind: WriteKind,
}

fn plain(controller: &'static str, file: &str, value: impl ToString) -> FileWrite {
    FileWrite { controller, file: file.to_owned(), value: value.to_string(), kind: WriteKind::Plain }
}

/// Returns what is written to set a cgroup, in order.
pub fn writes(config: &ResourceConfig, facts: &CgroupFacts) -> Vec<FileWrite> {
    match facts.version {
        CgroupVersion::V1 => v1(config, facts),
        CgroupVersion::V2 => v2(config, facts),
    }
}

/// 0 is what upstream's library takes for "not given".
fn given(value: Option<i64>) -> Option<i64> {
    value.filter(|value| *value != 0)
}

fn pids(limit: i64) -> String {
    match limit {
        // The kernel would take no process at all.
        0 => "1".to_owned(),
        limit if limit < 0 => "max".to_owned(),
        limit => limit.to_string(),
    }
}

fn v1(config: &ResourceConfig, facts: &CgroupFacts) -> Vec<FileWrite> {
    let mut all = Vec::new();
    if let Some(cpus) = &config.cpus {
        all.push(plain("cpuset", "cpuset.cpus", cpus));
    }
    if let Some(bytes) = given(config.memory_bytes) {
        all.push(plain("memory", "memory.limit_in_bytes", bytes));
    }
    if let Some(shares) = given(config.cpu_shares) {
        all.push(FileWrite { kind: WriteKind::Shares, ..plain("cpu", "cpu.shares", shares) });
    }
    if let Some(period) = given(config.cpu_period_us) {
        let kind = if given(config.cpu_quota_us).is_some() { WriteKind::Period } else { WriteKind::Plain };
        all.push(FileWrite { kind, ..plain("cpu", "cpu.cfs_period_us", period) });
    }
    if let Some(quota) = given(config.cpu_quota_us) {
        all.push(plain("cpu", "cpu.cfs_quota_us", quota));
    }
    if let Some(limit) = config.pids_max {
        all.push(plain("pids", "pids.max", pids(limit)));
    }
    for (size, limit) in hugepages(config, facts) {
        let file = |infix: &str| format!("hugetlb.{size}{infix}.limit_in_bytes");
        all.push(plain("hugetlb", &file(""), limit));
        all.push(FileWrite { kind: WriteKind::IfPresent, ..plain("hugetlb", &file(".rsvd"), limit) });
    }
    all
}

fn v2(config: &ResourceConfig, facts: &CgroupFacts) -> Vec<FileWrite> {
    let mut all = Vec::new();
    if let Some(limit) = config.pids_max {
        all.push(plain("pids", "pids.max", pids(limit)));
    }
    if let Some(bytes) = given(config.memory_bytes) {
        let value = if bytes < 0 { "max".to_owned() } else { bytes.to_string() };
        all.push(plain("memory", "memory.max", value));
    }
    if let Some(shares) = given(config.cpu_shares) {
        all.push(plain("cpu", "cpu.weight", cpu_weight(shares)));
    }
    let (quota, period) = (given(config.cpu_quota_us), given(config.cpu_period_us));
    if quota.is_some() || period.is_some() {
        let quota =
            quota.filter(|quota| *quota > 0).map_or_else(|| "max".to_owned(), |quota| quota.to_string());
        let period = period.unwrap_or(super::convert::CPU_PERIOD_US);
        all.push(plain("cpu", "cpu.max", format!("{quota} {period}")));
    }
    if let Some(cpus) = &config.cpus {
        all.push(plain("cpuset", "cpuset.cpus", cpus));
    }
    for (size, limit) in hugepages(config, facts) {
        all.push(plain("hugetlb", &format!("hugetlb.{size}.max"), limit));
        let reserved = plain("hugetlb", &format!("hugetlb.{size}.rsvd.max"), limit);
        all.push(FileWrite { kind: WriteKind::IfPresent, ..reserved });
    }
    all.extend(config.unified.iter().map(|(file, value)| plain("unified", file, value)));
    all
}

/// Limits by the kernel's names of sizes: those that are given, then 0 for the machine's others.
fn hugepages(config: &ResourceConfig, facts: &CgroupFacts) -> Vec<(String, u64)> {
    if !facts.controllers.contains("hugetlb") {
        return Vec::new();
    }
    let given = config.hugepages.iter().map(|(size, limit)| (*size, *limit));
    let others = facts.hugepage_sizes.iter().filter(|size| !config.hugepages.contains_key(size));
    let all = given.chain(others.map(|size| (*size, 0)));
    all.filter_map(|(size, limit)| Some((hugepage_unit_size(size)?, limit))).collect()
}
