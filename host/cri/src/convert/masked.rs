//! Paths that containers can't see: upstream's list for `procMount: Default`. The runtime ignores it for privileged containers.

use std::path::Path;
use std::sync::LazyLock;

/// The part that is the same on every machine.
const FIXED: [&str; 12] = [
    "/proc/asound",
    "/proc/acpi",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/sys/firmware",
    "/sys/devices/virtual/powercap",
];

/// Where the kernel lists the CPUs that the machine may ever have.
const POSSIBLE_FILE: &str = "/sys/devices/system/cpu/possible";
/// More CPUs than any kernel is built for.
const CPUS_MAX: usize = 8192;

/// This machine's, looked up once.
pub(crate) static MASKED_PATHS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let possible = std::fs::read_to_string(POSSIBLE_FILE).ok();
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    masked_paths(possible.as_deref(), available, |path| Path::new(path).exists())
});

/// The fixed paths, and the counters of throttling of each possible CPU that has some: they report the load of others. Without a list
/// that can be read the `available` CPUs are taken.
fn masked_paths(possible: Option<&str>, available: usize, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let cpus = possible.and_then(cpu_list).unwrap_or_else(|| (0..available.min(CPUS_MAX)).collect());
    let throttling = cpus.into_iter().map(|cpu| format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle"));
    FIXED.iter().map(|path| (*path).to_owned()).chain(throttling.filter(|path| exists(path))).collect()
}

/// CPUs of the kernel's form `0-3,8`; none if it isn't that, or has more than there can be.
fn cpu_list(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if last >= CPUS_MAX {
            return None;
        }
        cpus.extend(first..=last);
        if cpus.len() > CPUS_MAX {
            return None;
        }
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    //! Which CPUs' counters are hidden.

    use super::*;

    #[test]
    fn throttling_of_each_possible_cpu_that_has_counters_is_masked() {
        /// The kernel's list, available CPUs, those with counters, those masked.
        type Case = (Option<&'static str>, usize, &'static [usize], &'static [usize]);
        let cases: [Case; 10] = [
            (Some("0-3\n"), 2, &[0, 1, 2, 3], &[0, 1, 2, 3]),
            (Some("0-3\n"), 2, &[1, 3, 4], &[1, 3]),
            (Some("0,2-3,7\n"), 1, &[0, 1, 2, 3, 7], &[0, 2, 3, 7]),
            (Some("0\n"), 8, &[0, 1], &[0]),
            (Some("0-3\n"), 4, &[], &[]),
            (None, 2, &[0, 1, 2], &[0, 1]),
            (Some(""), 2, &[0, 1, 2], &[0, 1]),
            (Some("0-x"), 1, &[0, 1], &[0]),
            (Some("0-99999999999"), 1, &[0, 1], &[0]),
            (Some("3-1"), 2, &[0, 1, 2, 3], &[]),
        ];
        for (possible, available, with, expected) in cases {
            let path = |cpu: &usize| format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle");
            let there: Vec<_> = with.iter().map(path).collect();
            let masked = masked_paths(possible, available, |path| there.iter().any(|there| there == path));
            assert_eq!(masked[..FIXED.len()], FIXED, "{possible:?}");
            assert_eq!(masked[FIXED.len()..], expected.iter().map(path).collect::<Vec<_>>(), "{possible:?}");
        }
    }
}
