//! Traffic of block devices, by cgroup and by file system.

use std::collections::BTreeMap;

/// Devices that are shown of one cgroup at most: a machine with more has its busiest first ones by number.
const DEVICES_MAX: usize = 64;

/// A block device, by its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockDevice {
    pub major: u32,
    /// Among the driver's devices.
    pub minor: u32,
}

/// What a cgroup read from and wrote to a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskUsage {
    pub device: BlockDevice,
    /// Bytes, by kind of operation: `Read`, `Write`, and in version 1 sums of them.
    pub bytes: BTreeMap<&'static str, u64>,
    pub operations: BTreeMap<&'static str, u64>,
    /// `io.cost`, where the kernel shows it: used, waited, in debt, delayed, in microseconds.
    pub cost: Option<[u64; 4]>,
}

/// A file system of the node on a block device, or in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilesystemUsage {
    /// The device's path, or the folder where a file system in memory is mounted.
    pub device: String,
    /// Bytes.
    pub capacity: u64,
    /// Bytes.
    pub used: u64,
    /// How many there may be.
    pub inodes: u64,
    /// How many are left.
    pub inodes_free: u64,
    /// What the device did since the machine was started; none of a file system in memory.
    pub traffic: Option<Partition>,
}

/// What a device did since the machine was started: a line of `/proc/diskstats`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partition {
    /// Its name below `/dev`.
    pub name: String,
    /// Reads, merged reads, sectors of 512 bytes read, milliseconds spent reading.
    pub reads: [u64; 4],
    /// The same of writes.
    pub writes: [u64; 4],
    pub in_flight: u64,
    /// Milliseconds in which operations were under way.
    pub busy: u64,
    /// The same, times the operations.
    pub weighted: u64,
}

/// The devices of `/proc/diskstats`.
pub fn partitions(diskstats: &str) -> BTreeMap<BlockDevice, Partition> {
    diskstats.lines().filter_map(partition).collect()
}

fn partition(line: &str) -> Option<(BlockDevice, Partition)> {
    let mut words = line.split_whitespace();
    let device = BlockDevice { major: words.next()?.parse().ok()?, minor: words.next()?.parse().ok()? };
    let name = words.next()?.to_owned();
    let figures: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
    let [r0, r1, r2, r3, w0, w1, w2, w3, in_flight, busy, weighted, ..] = figures[..] else { return None };
    let (reads, writes) = ([r0, r1, r2, r3], [w0, w1, w2, w3]);
    Some((device, Partition { name, reads, writes, in_flight, busy, weighted }))
}

/// Parses lines such as `8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0`.
pub(super) fn disks_v2(stat: &str) -> Vec<DiskUsage> {
    stat.lines().filter_map(disk_v2).take(DEVICES_MAX).collect()
}

fn disk_v2(line: &str) -> Option<DiskUsage> {
    let mut words = line.split_whitespace();
    let device = device(words.next()?)?;
    let figures: BTreeMap<&str, u64> = words
        .filter_map(|word| word.split_once('='))
        .filter_map(|(name, value)| Some((name, value.parse().ok()?)))
        .collect();
    let figure = |name: &str| figures.get(name).copied();
    // A device that nothing was asked of has a line without figures.
    let both = |read: &str, write: &str| {
        let of = [("Read", figure(read)), ("Write", figure(write))];
        of.into_iter().filter_map(|(operation, value)| Some((operation, value?))).collect::<BTreeMap<_, _>>()
    };
    let cost = ["cost.usage", "cost.wait", "cost.indebt", "cost.indelay"];
    let usage = DiskUsage {
        device,
        bytes: both("rbytes", "wbytes"),
        operations: both("rios", "wios"),
        cost: figure("cost.usage").map(|_| cost.map(|name| figure(name).unwrap_or(0))),
    };
    (!usage.bytes.is_empty()).then_some(usage)
}

/// Reads the scheduler's counts where it keeps some, else of those of throttling, which every version of the kernel keeps.
pub(super) fn disks_v1(read: impl Fn(&str) -> Option<String>) -> Vec<DiskUsage> {
    let figures = |kind: &str, file: &str| {
        operations(&read(&format!("blkio.{kind}.{file}_recursive")).unwrap_or_default())
    };
    let (mut kind, mut bytes) = ("bfq", figures("bfq", "io_service_bytes"));
    if bytes.is_empty() {
        (kind, bytes) = ("throttle", figures("throttle", "io_service_bytes"));
    }
    let mut counts = if bytes.is_empty() { BTreeMap::new() } else { figures(kind, "io_serviced") };
    let of_device = |(device, bytes)| {
        let operations = counts.remove(&device).unwrap_or_default();
        DiskUsage { device, bytes, operations, cost: None }
    };
    bytes.into_iter().take(DEVICES_MAX).map(of_device).collect()
}

type Operations = BTreeMap<&'static str, u64>;

/// Parses lines such as `8:0 Read 4096`; the line of the total has no device.
fn operations(text: &str) -> BTreeMap<BlockDevice, Operations> {
    let mut all: BTreeMap<BlockDevice, Operations> = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [of, operation, value] = words[..] else { continue };
        let known = ["Read", "Write", "Sync", "Async", "Discard", "Total"];
        let operation = known.into_iter().find(|name| *name == operation);
        let Some((device, operation)) = device(of).zip(operation) else { continue };
        let Ok(value) = value.parse() else { continue };
        all.entry(device).or_default().insert(operation, value);
    }
    all
}

fn device(text: &str) -> Option<BlockDevice> {
    let (major, minor) = text.split_once(':')?;
    Some(BlockDevice { major: major.parse().ok()?, minor: minor.parse().ok()? })
}
