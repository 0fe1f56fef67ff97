//! Runs a command until it ends, or until it plainly gets nowhere: by what it does with a processor or would do with one, for on a busy
//! machine the clock says nothing of it.

use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

/// How long a command may wait altogether, for servers, for a disk or for itself: its tools may have to be fetched.
const IDLE_MAX: Duration = Duration::from_secs(20 * 60);
/// How much processor time it may take: a first build in Rust compiles its crates.
const CPU_MAX: Duration = Duration::from_secs(60 * 60);
/// How often its use is measured.
const MEASURE_PERIOD: Duration = Duration::from_secs(1);
/// How often it is checked whether it has ended.
const END_PERIOD: Duration = Duration::from_millis(20);
/// One that runs or could run for less than this part of the time waits for something.
const IDLE_PART: u32 = 10;

/// What came of a command.
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    /// What it printed; its errors are its own to redirect.
    pub(crate) printed: String,
    pub(crate) given_up: Option<GivenUp>,
}

/// Why a command was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GivenUp {
    /// It waited.
    Waited,
    /// It computed.
    Computed,
}

impl Ran {
    /// How it ended, for people.
    pub(crate) fn ended(&self) -> String {
        match self.given_up {
            None => self.status.to_string(),
            Some(GivenUp::Waited) => format!("nothing after it had waited for {}s", IDLE_MAX.as_secs()),
            Some(GivenUp::Computed) => format!("nothing after {}s of processor time", CPU_MAX.as_secs()),
        }
    }
}

/// Runs the command with its standard output caught, in a process group of its own, which is ended when it gets nowhere.
///
/// # Errors
/// When it can't be started or waited for.
#[allow(clippy::disallowed_methods, reason = "real processes are measured in real time")]
pub(crate) fn run(command: &mut Command) -> io::Result<Ran> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0).spawn()?;
    let output = child.stdout.take();
    let reading = std::thread::spawn(move || {
        let mut printed = Vec::new();
        // What a broken pipe leaves is what there is.
        let read = output.map(|mut output| output.read_to_end(&mut printed));
        (printed, read)
    });
    let (mut progress, mut measured_at) = (Progress::default(), Instant::now());
    let mut given_up = None;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(END_PERIOD);
        let passed = measured_at.elapsed();
        if passed < MEASURE_PERIOD || given_up.is_some() {
            continue;
        }
        measured_at = Instant::now();
        given_up = progress.check(Used::of_group(child.id()), passed);
        if given_up.is_some() {
            end(child.id())?;
        }
    };
    let (printed, _read) = reading.join().unwrap_or_default();
    Ok(Ran { status, printed: String::from_utf8_lossy(&printed).into_owned(), given_up })
}

/// Ends a process group, if it is there.
fn end(group: u32) -> io::Result<()> {
    let Some(group) = i32::try_from(group).ok().and_then(Pid::from_raw) else { return Ok(()) };
    match kill_process_group(group, Signal::KILL) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// What a process group had of the processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Used {
    /// Processor time, that of processes which ended and were waited for among it.
    cpu: Duration,
    /// How long those threads that are there waited for a processor.
    delayed: Duration,
}

impl Used {
    fn of_group(group: u32) -> Self {
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let ticks_per_second = rustix::param::clock_ticks_per_second();
        let mut used = Self::default();
        for process in processes.map(|entry| entry.path()) {
            let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
            let Some(ticks) = ticks(&stat, group) else { continue };
            used.cpu += Duration::from_millis(ticks.saturating_mul(1000) / ticks_per_second);
            let threads = std::fs::read_dir(process.join("task")).into_iter().flatten().flatten();
            used.delayed += threads
                .filter_map(|thread| std::fs::read_to_string(thread.path().join("schedstat")).ok())
                .filter_map(|schedstat| schedstat.split_whitespace().nth(1)?.parse().ok())
                .map(Duration::from_nanos)
                .sum::<Duration>();
        }
        used
    }
}

/// Processor time in clock ticks, with that of children that were waited for, of a process of this group (proc_pid_stat(5)). The name may
/// hold anything, and ends with the last parenthesis.
fn ticks(stat: &str, group: u32) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let is_of_group = fields.get(2)?.parse() == Ok(group);
    let times = fields.get(11..15)?.iter().map(|time| time.parse::<u64>().ok());
    is_of_group.then(|| times.sum::<Option<u64>>())?
}

/// Whether a command gets anywhere.
#[derive(Debug, Default)]
struct Progress {
    used: Used,
    idle: Duration,
}

impl Progress {
    /// After so much more time; why the command is given up, if it is.
    fn check(&mut self, used: Used, passed: Duration) -> Option<GivenUp> {
        let cpu = used.cpu.saturating_sub(self.used.cpu);
        let delayed = used.delayed.saturating_sub(self.used.delayed);
        if (cpu + delayed) * IDLE_PART < passed {
            self.idle += passed;
        }
        self.used = used;
        match (used.cpu >= CPU_MAX, self.idle >= IDLE_MAX) {
            (true, _) => Some(GivenUp::Computed),
            (false, true) => Some(GivenUp::Waited),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn used(cpu: Duration, delayed: Duration) -> Used {
        Used { cpu, delayed }
    }

    /// After how many minutes it is given up, of the first three hundred.
    fn given_up(used_after: impl Fn(u32) -> Used) -> Option<(u32, GivenUp)> {
        let mut progress = Progress::default();
        (1..=300).find_map(|minute| Some((minute, progress.check(used_after(minute), MINUTE)?)))
    }

    #[test]
    fn a_command_is_given_up_for_waiting_or_computing_and_not_for_what_others_do() {
        let (nothing, second) = (Duration::ZERO, Duration::from_secs(1));
        assert_eq!(given_up(|_| used(nothing, nothing)), Some((20, GivenUp::Waited)));
        assert_eq!(given_up(|minute| used(second * minute, nothing)), Some((20, GivenUp::Waited)));
        assert_eq!(given_up(|minute| used(MINUTE * minute, nothing)), Some((60, GivenUp::Computed)));
        assert_eq!(given_up(|minute| used(second * minute, MINUTE * minute)), None, "it gets no processor");
        let in_turn = |minute: u32| if minute.is_multiple_of(2) { nothing } else { MINUTE };
        // A process that ends takes its delay with it.
        assert_eq!(given_up(|minute| used(second * minute, in_turn(minute))), Some((40, GivenUp::Waited)));
    }

    #[test]
    fn ticks_are_those_of_the_group_with_children_that_ended() {
        let stat = "7 (a) b) S 1 42 42 0 -1 4194560 1 2 3 4 10 20 300 4000 20 0 1 0 5 6";
        assert_eq!(ticks(stat, 42), Some(4330));
        assert_eq!(ticks(stat, 43), None);
        for broken in ["", "7 (a) S", "7 (a) S 1 42 42 0 -1 4194560 1 2 3 4 x 20 300 4000"] {
            assert_eq!(ticks(broken, 42), None, "{broken:?}");
        }
    }

    #[test]
    fn a_command_that_ends_is_waited_for_with_what_it_printed() {
        let ran = run(Command::new("sh").args(["-c", "echo one; exit 3"])).expect("started");
        assert_eq!((ran.status.code(), &*ran.printed, ran.given_up), (Some(3), "one\n", None));
        assert_eq!(ran.ended(), "exit status: 3");
        assert!(run(&mut Command::new("/nonexistent")).is_err());
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a real process is measured in real time")]
    fn what_a_group_computes_is_found() {
        let mut child =
            Command::new("sh").args(["-c", "while :; do :; done"]).process_group(0).spawn().expect("started");
        let begun = Instant::now();
        let mut found = Used::default();
        while found.cpu.is_zero() && begun.elapsed() < witlet_harness::WAIT_TIMEOUT {
            found = Used::of_group(child.id());
        }
        child.kill().expect("it runs");
        child.wait().expect("it has ended");
        assert!(!found.cpu.is_zero(), "{found:?}");
        assert_eq!(Used::of_group(u32::MAX), Used::default(), "no group has this number");
    }
}
