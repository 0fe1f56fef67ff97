//! Whether a compiling child still gets anywhere: by its CPU time, for on a busy machine the clock says nothing of it.

use std::time::Duration;

/// How many checks of a child fall into the time that it may go without any CPU time.
const CHECKS: u32 = 20;

/// When a child was last observed to have got CPU time.
#[derive(Debug, Default, PartialEq, Eq)]
struct Observed {
    cpu: Duration,
    /// Since the child's start, when its CPU time last grew.
    at: Duration,
}

impl Observed {
    /// Whether the child has gone without CPU time for `limit`. `cpu` is what it has taken so far, all threads together, and unknown
    /// once it has ended; `elapsed` is the time since its start.
    fn is_stalled(&mut self, cpu: Option<Duration>, elapsed: Duration, limit: Duration) -> bool {
        if let Some(cpu) = cpu.filter(|cpu| *cpu > self.cpu) {
            *self = Self { cpu, at: elapsed };
        }
        elapsed.saturating_sub(self.at) >= limit
    }
}

/// Returns when the process has gone without CPU time for `limit`.
pub(super) async fn stalled(process: Option<u32>, limit: Duration) {
    let begun = tokio::time::Instant::now();
    let mut seen = Observed::default();
    loop {
        tokio::time::sleep(limit / CHECKS).await;
        if seen.is_stalled(process.and_then(cpu), begun.elapsed(), limit) {
            return;
        }
    }
}

/// User and system time of a process, all threads together.
fn cpu(process: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    Some(Duration::from_millis(ticks(&stat)?.saturating_mul(1000) / rustix::param::clock_ticks_per_second()))
}

/// Fields 14 and 15 of a process's `stat` (proc_pid_stat(5)). The second field may hold spaces and parentheses, and ends with the last one.
fn ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11).map(str::parse::<u64>);
    let (user, system) = (fields.next()?.ok()?, fields.next()?.ok()?);
    Some(user.saturating_add(system))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(180);

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_compiler_that_gets_little_of_a_busy_machine_is_not_stalled() {
        let mut seen = Observed::default();
        for minute in 1..=60 {
            let cpu = Some(Duration::from_millis(10) * minute);
            assert!(!seen.is_stalled(cpu, seconds(60) * minute, LIMIT), "minute {minute}");
        }
    }

    #[test]
    fn a_compiler_that_gets_nothing_is_stalled_after_the_limit() {
        let mut seen = Observed::default();
        // When, what was seen, whether it is stalled.
        let table = [
            (9, Some(0), false),
            (179, Some(0), false),
            (180, Some(0), true),
            (181, Some(1), false),
            (360, Some(1), false),
            (361, Some(1), true),
            // What has ended, or can't be read, gets nothing.
            (362, Some(2), false),
            (541, None, false),
            (542, None, true),
        ];
        for (at, cpu, expected) in table {
            let cpu = cpu.map(seconds);
            assert_eq!(seen.is_stalled(cpu, seconds(at), LIMIT), expected, "after {at} s");
        }
    }

    #[test]
    fn cpu_time_is_read_whatever_a_process_is_called() {
        let stat = |name: &str| format!("4711 ({name}) R 1 2 3 4 5 6 7 8 9 10 250 30 0 0 39 19 3 0 1 2 3");
        for name in ["witlet", "a) R 1 (b", ")", "x y"] {
            assert_eq!(ticks(&stat(name)), Some(280), "{name}");
        }
        for broken in ["", "4711 witlet R 1", "4711 (witlet) R 1 2", "1 (x) R 1 2 3 4 5 6 7 8 9 10 many 30"] {
            assert_eq!(ticks(broken), None, "{broken:?}");
        }
        assert!(cpu(std::process::id()).is_some(), "a process may check itself");
    }
}
