//! This process, as the kernel counts it.

use std::fs;

use jiff::{SignedDuration, Timestamp};

#[cfg(test)]
mod tests;

/// When this process was started; none if `/proc` doesn't say.
pub fn process_started_at() -> Option<Timestamp> {
    let (process, machine) =
        (fs::read_to_string("/proc/self/stat").ok()?, fs::read_to_string("/proc/stat").ok()?);
    started_at(&process, &machine, rustix::param::clock_ticks_per_second())
}

/// From `/proc/PID/stat` and `/proc/stat`: ticks since the machine's start, which is in whole seconds.
fn started_at(process: &str, machine: &str, ticks_per_second: u64) -> Option<Timestamp> {
    let ticks: u64 = field(process, 22)?.parse().ok()?;
    let booted: i64 = machine.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    let milliseconds = ticks.checked_mul(1000)?.checked_div(ticks_per_second)?;
    let since_boot = SignedDuration::from_millis(i64::try_from(milliseconds).ok()?);
    Timestamp::from_second(booted).ok()?.checked_add(since_boot).ok()
}

/// A field of `/proc/PID/stat`, counted from 1 as proc(5) has them. The second one, a name in parentheses, may hold anything.
fn field(stat: &str, number: usize) -> Option<&str> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(number.checked_sub(3)?)
}
