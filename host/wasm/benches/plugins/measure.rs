//! Rounds, percentiles, memory, and how a figure is printed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use tempfile::TempDir;
use tokio::time::Instant;
use witlet_ports::Clock;
use witlet_wasm::compile::CompilerConfig;
use witlet_wasm::plugin::config::{WARM_IDLE_DEFAULT, Warm};

/// A clock that stands still.
pub(crate) struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

/// One instance is kept, for as long as it is asked.
pub(crate) const WARM: Warm = Warm { max: 1, uses: u64::MAX, idle: WARM_IDLE_DEFAULT };

/// A runtime for what has to wait.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(describe)
}

/// A folder that ends with the run, and a compiler whose cache is in it.
pub(crate) fn compiler() -> Result<(TempDir, CompilerConfig), String> {
    let folder = TempDir::new().map_err(describe)?;
    let compiler = CompilerConfig::new(cache(folder.path()));
    Ok((folder, compiler))
}

/// Where compiled code goes below a folder.
pub(crate) fn cache(folder: &Path) -> PathBuf {
    folder.join("compiled")
}

/// An error in its words.
pub(crate) fn describe(error: impl std::fmt::Display) -> String {
    format!("{error:#}")
}

/// How long calls took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// The fastest round's mean, because everything else is the machine's doing.
    pub(crate) fastest: f64,
    /// Half of the calls took at most so long.
    pub(crate) p50: f64,
    /// 99 of 100 calls.
    pub(crate) p99: f64,
}

/// Microseconds of each call, taken in rounds.
#[derive(Debug)]
pub(crate) struct Rounds {
    calls: Vec<f64>,
    fastest: f64,
}

impl Rounds {
    pub(crate) fn new() -> Self {
        Self { calls: Vec::new(), fastest: f64::INFINITY }
    }

    /// Adds a round.
    pub(crate) fn add(&mut self, calls: Vec<Duration>) {
        let microseconds = calls.iter().map(|call| call.as_secs_f64() * 1e6);
        let mean = microseconds.clone().sum::<f64>() / calls.len() as f64;
        self.fastest = self.fastest.min(mean);
        self.calls.extend(microseconds);
    }

    /// Of all rounds, one at least.
    pub(crate) fn times(mut self) -> Times {
        self.calls.sort_by(f64::total_cmp);
        let at = |part: usize| self.calls[(self.calls.len() * part / 100).min(self.calls.len() - 1)];
        Times { fastest: self.fastest, p50: at(50), p99: at(99) }
    }
}

/// Times calls that run on this thread.
pub(crate) fn time(
    rounds: u32,
    calls: u32,
    mut call: impl FnMut() -> Result<(), String>,
) -> Result<Times, String> {
    let mut all = Rounds::new();
    for _ in 0..rounds {
        let mut round = Vec::with_capacity(calls as usize);
        for _ in 0..calls {
            let start = Instant::now();
            call()?;
            round.push(start.elapsed());
        }
        all.add(round);
    }
    Ok(all.times())
}

/// A figure and its floor.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) value: f64,
    pub(crate) floor: Option<f64>,
    pub(crate) budget: Option<f64>,
}

impl Line {
    /// Prints itself; returns whether it keeps its budget.
    #[allow(clippy::print_stdout, reason = "a benchmark talks to its user")]
    pub(crate) fn print(&self) -> bool {
        let Self { name, unit, value, floor, budget } = self;
        println!(
            "{}",
            json!({"name": name, "unit": unit, "value": round(*value), "floor": floor.map(round),
                   "ratio": floor.map(|floor| round(value / floor)), "budget": budget.map(round)})
        );
        budget.is_none_or(|budget| *value <= budget)
    }
}

/// A figure alone.
pub(crate) fn report(name: &str, unit: &'static str, value: f64, floor: Option<f64>) {
    Line { name: name.to_owned(), unit, value, floor, budget: None }.print();
}

/// The fastest round, with its budget, and the percentiles, each with the floor's own.
pub(crate) fn report_times(name: &str, times: Times, floor: Times, budget: Option<f64>) -> bool {
    report(&format!("{name}/p50"), "us", times.p50, Some(floor.p50));
    report(&format!("{name}/p99"), "us", times.p99, Some(floor.p99));
    Line { name: name.to_owned(), unit: "us", value: times.fastest, floor: Some(floor.fastest), budget }
        .print()
}

fn round(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// A field of `/proc/self/status` in bytes; zero where it is missing.
pub(crate) fn resident(key: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
    let kib =
        line.trim_start_matches(':').split_whitespace().next().and_then(|text| text.parse::<f64>().ok());
    kib.unwrap_or_default() * 1024.0
}

/// What this process has resident, in bytes, counted page by page: the figure of [`resident`] is only near it.
pub(crate) fn resident_exactly() -> f64 {
    let maps = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let line = maps.lines().find_map(|line| line.strip_prefix("Rss:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<f64>().ok()).unwrap_or_default() * 1024.0
}

/// Processor time that this process has had, in seconds.
pub(crate) fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
