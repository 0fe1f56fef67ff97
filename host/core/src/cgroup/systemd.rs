//! What systemd is asked for by its driver: transient slices and their properties (`opencontainers/cgroups/systemd`).

use std::collections::BTreeMap;

use super::convert::{CPU_PERIOD_US, cpu_weight};
use super::resources::ResourceConfig;
use super::writes::CgroupVersion;
use crate::node::allocatable::cpu_set;
use crate::runtime::CgroupDriver;

/// What names of slices end with.
const SLICE: &str = ".slice";
/// The slice of the root cgroup.
const ROOT_SLICE: &str = "-.slice";
/// First releases of systemd that know a property.
const HAS_QUOTA_PERIOD: u32 = 242;
const HAS_ALLOWED_CPUS: u32 = 244;
/// systemd keeps quotas in whole percents of a CPU: microseconds per second.
const QUOTA_STEP_US: u128 = 10_000;
const SECOND_US: u128 = 1_000_000;

/// A slice by its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceUnit {
    /// Its own: `kubepods-burstable.slice`.
    pub name: String,
    /// The one that it is in: `kubepods.slice`, `-.slice` for the root.
    pub parent: String,
}

impl SliceUnit {
    /// The slice at a path below the mount points of controllers; none for the root and for what is no slice.
    pub fn at(path: &str) -> Option<Self> {
        let mut parts = path.split('/').filter(|part| !part.is_empty()).rev();
        let name = parts.next().filter(|name| name.ends_with(SLICE))?.to_owned();
        Some(Self { name, parent: parts.next().unwrap_or(ROOT_SLICE).to_owned() })
    }
}

/// A property's value by its type in D-Bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitValue {
    /// `b`
    Bool(bool),
    /// `s`
    Text(String),
    /// `as`
    Texts(Vec<String>),
    /// `t`; the largest is "no limit".
    Number(u64),
    /// `ay`
    Bytes(Vec<u8>),
}

/// A property of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitProperty {
    /// As systemd calls it.
    pub name: &'static str,
    /// What it is set to.
    pub value: UnitValue,
}

fn number(name: &'static str, value: u64) -> UnitProperty {
    UnitProperty { name, value: UnitValue::Number(value) }
}

/// Returns what a slice is started with. No limits: these are set once it is there.
pub fn start_properties(unit: &SliceUnit, version: CgroupVersion) -> Vec<UnitProperty> {
    let io = match version {
        CgroupVersion::V1 => "BlockIOAccounting",
        CgroupVersion::V2 => "IOAccounting",
    };
    let flag = |name, value| UnitProperty { name, value: UnitValue::Bool(value) };
    vec![
        UnitProperty {
            name: "Description",
            value: UnitValue::Text(format!("libcontainer container {}", unit.name)),
        },
        UnitProperty { name: "Wants", value: UnitValue::Texts(vec![unit.parent.clone()]) },
        flag("MemoryAccounting", true),
        flag("CPUAccounting", true),
        flag(io, true),
        flag("TasksAccounting", true),
        flag("DefaultDependencies", false),
    ]
}

/// Returns what a slice is set to, and what is written into the files of its cgroup after that: the same, but for a quota, which
/// systemd rounds. `systemd` is its release; 0 if it isn't known.
pub fn set_properties(
    config: &ResourceConfig,
    version: CgroupVersion,
    systemd: u32,
) -> (Vec<UnitProperty>, ResourceConfig) {
    let given = |value: Option<i64>| value.filter(|value| *value != 0);
    // Below 0 is no limit, which is the largest number here.
    let limit = |value: i64| u64::try_from(value).unwrap_or(u64::MAX);
    let mut all = Vec::new();
    if let Some(bytes) = given(config.memory_bytes) {
        let name = match version {
            CgroupVersion::V1 => "MemoryLimit",
            CgroupVersion::V2 => "MemoryMax",
        };
        all.push(number(name, limit(bytes)));
    }
    if let Some(shares) = given(config.cpu_shares) {
        all.push(match version {
            CgroupVersion::V1 => number("CPUShares", limit(shares)),
            CgroupVersion::V2 => number("CPUWeight", limit(cpu_weight(shares))),
        });
    }
    let (quota, period) = (given(config.cpu_quota_us), given(config.cpu_period_us));
    if let Some(period) = period.filter(|_| systemd >= HAS_QUOTA_PERIOD) {
        all.push(number("CPUQuotaPeriodUSec", limit(period)));
    }
    if quota.is_some() || period.is_some() {
        let per_second = quota.and_then(|quota| quota_per_second(quota, period)).unwrap_or(u64::MAX);
        all.push(number("CPUQuotaPerSecUSec", per_second));
    }
    if let Some(pids) = config.pids_max {
        // The kernel would take no process at all.
        all.push(number("TasksMax", limit(if pids == 0 { 1 } else { pids })));
    }
    let cpus = config.cpus.as_deref().filter(|_| systemd >= HAS_ALLOWED_CPUS).and_then(cpu_bits);
    all.extend(cpus.map(|cpus| UnitProperty { name: "AllowedCPUs", value: UnitValue::Bytes(cpus) }));
    if version == CgroupVersion::V2 {
        all.extend(unified(&config.unified));
    }
    let rounded = quota.map(|quota| systemd_quota(quota, period.unwrap_or(CPU_PERIOD_US)));
    (all, ResourceConfig { cpu_quota_us: rounded.or(config.cpu_quota_us), ..config.clone() })
}

/// Files of version 2 that systemd has a property for.
fn unified(files: &BTreeMap<String, String>) -> impl Iterator<Item = UnitProperty> + '_ {
    files.iter().filter_map(|(file, value)| {
        let name = match file.as_str() {
            "memory.high" => "MemoryHigh",
            "memory.low" => "MemoryLow",
            "memory.max" => "MemoryMax",
            "memory.min" => "MemoryMin",
            "memory.swap.max" => "MemorySwapMax",
            _ => return None,
        };
        let value = value.trim();
        let value = if value == "max" { u64::MAX } else { value.parse().ok()? };
        Some(number(name, value))
    })
}

/// Microseconds of CPU in each second, in whole percents; none is no limit.
fn quota_per_second(quota_us: i64, period_us: Option<i64>) -> Option<u64> {
    let quota = u128::try_from(quota_us).ok().filter(|quota| *quota > 0)?;
    let period = u128::try_from(period_us.unwrap_or(CPU_PERIOD_US)).ok().filter(|period| *period > 0)?;
    let per_second = (quota * SECOND_US / period).next_multiple_of(QUOTA_STEP_US);
    Some(u64::try_from(per_second).unwrap_or(u64::MAX))
}

/// The quota that a slice has once it was set: systemd keeps whole percents of a CPU, and upstream rounds up, so that what is
/// below can have what it asks for.
pub fn systemd_quota(quota_us: i64, period_us: i64) -> i64 {
    let Some(per_second) = quota_per_second(quota_us, Some(period_us)) else { return quota_us };
    let quota = i128::from(per_second) * i128::from(period_us) / 1_000_000;
    i64::try_from(quota).unwrap_or(i64::MAX)
}

/// Returns what a quota is once a driver has set it.
pub fn quota_of_driver(driver: CgroupDriver, quota_us: i64, period_us: i64) -> i64 {
    match driver {
        CgroupDriver::Cgroupfs => quota_us,
        CgroupDriver::Systemd => systemd_quota(quota_us, period_us),
    }
}

/// CPUs in the kernel's list form as bits, the lowest in the first byte.
fn cpu_bits(list: &str) -> Option<Vec<u8>> {
    let cpus = cpu_set(list)?;
    let bytes = usize::try_from(*cpus.last()? / 8).ok()? + 1;
    let mut bits = vec![0_u8; bytes];
    for cpu in cpus {
        let byte = usize::try_from(cpu / 8).ok().and_then(|at| bits.get_mut(at))?;
        *byte |= 1 << (cpu % 8);
    }
    Some(bits)
}

/// The release in systemd's own `Version`, such as `v245.4-1.fc32`, with or without quotes. None if it has no number.
pub fn systemd_release(version: &str) -> Option<u32> {
    let number = version.trim_start_matches(['"', 'v']);
    let digits = number.find(|char: char| !char.is_ascii_digit()).unwrap_or(number.len());
    number.get(..digits)?.parse().ok()
}
