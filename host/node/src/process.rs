//! This process, as the kernel counts it.

use std::fs;

use jiff::{SignedDuration, Timestamp};
use witlet_core::stats::exposition::{Exposition, Kind};
use witlet_ports::MetricsSource;

#[cfg(test)]
mod tests;

/// When this process was started; none if `/proc` doesn't say.
pub fn process_started_at() -> Option<Timestamp> {
    let (process, machine) =
        (fs::read_to_string("/proc/self/stat").ok()?, fs::read_to_string("/proc/stat").ok()?);
    started_at(&process, &machine, rustix::param::clock_ticks_per_second())
}

/// When the machine was started; none if `/proc` doesn't say.
pub fn machine_booted_at() -> Option<Timestamp> {
    Timestamp::from_second(boot_second(&fs::read_to_string("/proc/stat").ok()?)?).ok()
}

/// Of the line `btime 1790000000` of `/proc/stat`.
pub(crate) fn boot_second(machine: &str) -> Option<i64> {
    machine.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

/// From `/proc/PID/stat` and `/proc/stat`: ticks since the machine's start, which is in whole seconds.
fn started_at(process: &str, machine: &str, ticks_per_second: u64) -> Option<Timestamp> {
    let ticks: u64 = field(process, 22)?.parse().ok()?;
    let booted = boot_second(machine)?;
    let milliseconds = ticks.checked_mul(1000)?.checked_div(ticks_per_second)?;
    let since_boot = SignedDuration::from_millis(i64::try_from(milliseconds).ok()?);
    Timestamp::from_second(booted).ok()?.checked_add(since_boot).ok()
}

/// A field of `/proc/PID/stat`, counted from 1 as proc(5) has them. The second one, a name in parentheses, may hold anything.
fn field(stat: &str, number: usize) -> Option<&str> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(number.checked_sub(3)?)
}

/// Metrics of this process, under the names that Prometheus' clients have.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessMetrics;

/// What the kernel says of a process; none is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ProcessFigures {
    cpu_seconds: Option<f64>,
    virtual_bytes: Option<u64>,
    resident_bytes: Option<u64>,
    open_files: Option<u64>,
    /// As many as it may open.
    files_max: Option<u64>,
    /// It may have as much; infinite without a limit.
    virtual_bytes_max: Option<f64>,
}

impl ProcessFigures {
    fn of_this() -> Self {
        let read = |file: &str| fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default();
        let ticks = rustix::param::clock_ticks_per_second();
        let page_bytes = u64::try_from(rustix::param::page_size()).unwrap_or_default();
        // The folder is read through one more of them.
        let open_files =
            fs::read_dir("/proc/self/fd").ok().map(|files| (files.count() as u64).saturating_sub(1));
        Self { open_files, ..Self::parse(&read("stat"), &read("limits"), ticks, page_bytes) }
    }

    /// From `/proc/PID/stat` and `/proc/PID/limits`.
    fn parse(stat: &str, limits: &str, ticks_per_second: u64, page_bytes: u64) -> Self {
        let figure = |number| field(stat, number).and_then(|value| value.parse::<u64>().ok());
        let ticks = figure(14).zip(figure(15)).map(|(user, system)| user.saturating_add(system));
        let limit = |name: &str| {
            let rest = limits.lines().find_map(|line| line.strip_prefix(name))?;
            rest.split_ascii_whitespace().next()
        };
        let bytes_max = limit("Max address space").and_then(|value| match value {
            "unlimited" => Some(f64::INFINITY),
            value => value.parse::<u64>().ok().map(|value| value as f64),
        });
        Self {
            cpu_seconds: ticks
                .filter(|_| ticks_per_second > 0)
                .map(|ticks| ticks as f64 / ticks_per_second as f64),
            virtual_bytes: figure(23),
            resident_bytes: figure(24).map(|pages| pages.saturating_mul(page_bytes)),
            open_files: None,
            files_max: limit("Max open files").and_then(|value| value.parse().ok()),
            virtual_bytes_max: bytes_max,
        }
    }
}

impl MetricsSource for ProcessMetrics {
    fn write(&self, to: &mut Exposition) {
        let figures = ProcessFigures::of_this();
        let count = |value: Option<u64>| value.map(|value| value as f64);
        let started = process_started_at().map(|at| at.as_millisecond() as f64 / 1e3);
        let help = "Total user and system CPU time spent in seconds.";
        if let Some(seconds) = figures.cpu_seconds {
            to.family("process_cpu_seconds_total", help, Kind::Counter).sample(&[], seconds);
        }
        for (name, help, value) in [
            ("process_max_fds", "Maximum number of open file descriptors.", count(figures.files_max)),
            ("process_open_fds", "Number of open file descriptors.", count(figures.open_files)),
            (
                "process_resident_memory_bytes",
                "Resident memory size in bytes.",
                count(figures.resident_bytes),
            ),
            ("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", started),
            ("process_virtual_memory_bytes", "Virtual memory size in bytes.", count(figures.virtual_bytes)),
            (
                "process_virtual_memory_max_bytes",
                "Maximum amount of virtual memory available in bytes.",
                figures.virtual_bytes_max,
            ),
        ] {
            if let Some(value) = value {
                to.gauge(name, help, value);
            }
        }
    }
}
