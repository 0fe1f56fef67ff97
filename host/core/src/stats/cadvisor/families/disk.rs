//! Traffic of block devices, and the node's file systems.

use super::{Family, Figures};
use crate::stats::cadvisor::disks::{DiskUsage, FilesystemUsage, Partition};
use crate::stats::cadvisor::rows::Row;

/// What disks count in.
const MILLISECONDS: f64 = 1e3;
const MICROSECONDS: f64 = 1e6;

pub(super) const FAMILIES: &[Family] = &[
    Family::gauge("container_fs_inodes_free", "Number of available Inodes", |row, to| {
        filesystem(row, to, |filesystem| filesystem.inodes_free);
    }),
    Family::gauge("container_fs_inodes_total", "Number of Inodes", |row, to| {
        filesystem(row, to, |filesystem| filesystem.inodes);
    }),
    Family::gauge(
        "container_fs_limit_bytes",
        "Number of bytes that can be consumed by the container on this filesystem.",
        |row, to| {
            filesystem(row, to, |filesystem| filesystem.capacity);
        },
    ),
    Family::gauge(
        "container_fs_usage_bytes",
        "Number of bytes that are consumed by the container on this filesystem.",
        |row, to| {
            filesystem(row, to, |filesystem| filesystem.used);
        },
    ),
    Family::counter("container_fs_reads_bytes_total", "Cumulative count of bytes read", |row, to| {
        disk(row, to, |disk| operation(disk, |disk| &disk.bytes, "Read"), None);
    }),
    Family::counter("container_fs_writes_bytes_total", "Cumulative count of bytes written", |row, to| {
        disk(row, to, |disk| operation(disk, |disk| &disk.bytes, "Write"), None);
    }),
    Family::counter("container_fs_reads_total", "Cumulative count of reads completed", |row, to| {
        let of_device = |device: &Partition| device.reads[0] as f64;
        disk(row, to, |disk| operation(disk, |disk| &disk.operations, "Read"), Some(of_device));
    }),
    Family::counter("container_fs_writes_total", "Cumulative count of writes completed", |row, to| {
        let of_device = |device: &Partition| device.writes[0] as f64;
        disk(row, to, |disk| operation(disk, |disk| &disk.operations, "Write"), Some(of_device));
    }),
    Family::counter("container_fs_reads_merged_total", "Cumulative count of reads merged", |row, to| {
        device(row, to, |device| device.reads[1] as f64);
    }),
    Family::counter("container_fs_writes_merged_total", "Cumulative count of writes merged", |row, to| {
        device(row, to, |device| device.writes[1] as f64);
    }),
    Family::counter(
        "container_fs_sector_reads_total",
        "Cumulative count of sector reads completed",
        |row, to| {
            device(row, to, |device| device.reads[2] as f64);
        },
    ),
    Family::counter(
        "container_fs_sector_writes_total",
        "Cumulative count of sector writes completed",
        |row, to| {
            device(row, to, |device| device.writes[2] as f64);
        },
    ),
    Family::counter(
        "container_fs_read_seconds_total",
        "Cumulative count of seconds spent reading",
        |row, to| {
            device(row, to, |device| device.reads[3] as f64 / MILLISECONDS);
        },
    ),
    Family::counter(
        "container_fs_write_seconds_total",
        "Cumulative count of seconds spent writing",
        |row, to| {
            device(row, to, |device| device.writes[3] as f64 / MILLISECONDS);
        },
    ),
    Family::gauge("container_fs_io_current", "Number of I/Os currently in progress", |row, to| {
        device(row, to, |device| device.in_flight as f64);
    }),
    Family::counter(
        "container_fs_io_time_seconds_total",
        "Cumulative count of seconds spent doing I/Os",
        |row, to| {
            device(row, to, |device| device.busy as f64 / MILLISECONDS);
        },
    ),
    Family::counter(
        "container_fs_io_time_weighted_seconds_total",
        "Cumulative weighted I/O time in seconds",
        |row, to| device(row, to, |device| device.weighted as f64 / MILLISECONDS),
    ),
    Family::counter(
        "container_fs_io_cost_usage_seconds_total",
        "Cumulative IOCost usage in seconds",
        |row, to| {
            cost(row, to, |[usage, ..]| usage);
        },
    ),
    Family::counter(
        "container_fs_io_cost_wait_seconds_total",
        "Cumulative IOCost wait in seconds",
        |row, to| {
            cost(row, to, |[_, wait, ..]| wait);
        },
    ),
    Family::counter(
        "container_fs_io_cost_indebt_seconds_total",
        "Cumulative IOCost debt in seconds",
        |row, to| {
            cost(row, to, |[_, _, indebt, _]| indebt);
        },
    ),
    Family::counter(
        "container_fs_io_cost_indelay_seconds_total",
        "Cumulative IOCost delay in seconds",
        |row, to| {
            cost(row, to, |[.., indelay]| indelay);
        },
    ),
    Family::counter("container_blkio_device_usage_total", "Blkio Device bytes usage", |row, to| {
        for disk in &row.details.disks {
            let (major, minor) = (disk.device.major.to_string(), disk.device.minor.to_string());
            let device = to.device(disk.device).unwrap_or_default();
            for (operation, bytes) in &disk.bytes {
                let labels =
                    [("device", &*device), ("major", &*major), ("minor", &*minor), ("operation", *operation)];
                to.put_with(&labels, *bytes as f64);
            }
        }
    }),
];

fn filesystem(row: &Row, to: &mut Figures<'_>, figure: fn(&FilesystemUsage) -> u64) {
    for filesystem in &row.filesystems {
        to.put_with(&[("device", &filesystem.device)], figure(filesystem) as f64);
    }
}

fn operation(
    disk: &DiskUsage,
    of: fn(&DiskUsage) -> &std::collections::BTreeMap<&'static str, u64>,
    operation: &str,
) -> f64 {
    of(disk).get(operation).copied().unwrap_or(0) as f64
}

/// What the cgroup did, by device, and what devices of file systems did.
fn disk(
    row: &Row,
    to: &mut Figures<'_>,
    of_cgroup: fn(&DiskUsage) -> f64,
    of_device: Option<fn(&Partition) -> f64>,
) {
    let mut shown = Vec::new();
    for disk in &row.details.disks {
        let Some(device) = to.device(disk.device) else { continue };
        to.put_with(&[("device", &device)], of_cgroup(disk));
        shown.push(device);
    }
    let Some(of_device) = of_device else { return };
    for filesystem in &row.filesystems {
        // A series may be there once: a disk without partitions has a file system itself.
        if let Some(traffic) = &filesystem.traffic
            && !shown.contains(&filesystem.device)
        {
            to.put_with(&[("device", &filesystem.device)], of_device(traffic));
        }
    }
}

/// What the kernel counts by device only.
fn device(row: &Row, to: &mut Figures<'_>, figure: fn(&Partition) -> f64) {
    for filesystem in &row.filesystems {
        if let Some(traffic) = &filesystem.traffic {
            to.put_with(&[("device", &filesystem.device)], figure(traffic));
        }
    }
}

fn cost(row: &Row, to: &mut Figures<'_>, figure: fn([u64; 4]) -> u64) {
    for disk in &row.details.disks {
        if let Some((device, cost)) = to.device(disk.device).zip(disk.cost) {
            to.put_with(&[("device", &device)], figure(cost) as f64 / MICROSECONDS);
        }
    }
}
