//! Measures a component in one role: loads it, asks it in fresh instances and in a kept one, and times the floor between.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tokio::time::Instant;
use witlet_conformance::bench::Rehearsal;
use witlet_conformance::{Kit, Plan, Subject};
use witlet_wasm::compile::CompilerConfig;
use witlet_wasm::direct::floor::Floor;
use witlet_wasm::plugin::config::{WARM_IDLE_DEFAULT, Warm};
use witlet_wasm::role::Role;

use super::times::{Times, goes_on, median};
use super::{Error, scratch};
use crate::cli::BenchArgs;

/// Loads with the code in the cache; the median counts.
const CACHED_LOADS: u32 = 11;
/// Calls of the module that does nothing.
const FLOOR_CALLS: u32 = 2_000;
/// How long they may take together.
const FLOOR_TIME: Duration = Duration::from_secs(5);
/// Calls in fresh instances at most, because each of them is like the one before.
const FRESH_CALLS_MAX: u32 = 2_000;
/// How long they may take together.
const FRESH_TIME: Duration = Duration::from_secs(30);
/// How long all calls in the kept instance may take together.
const WARM_TIME: Duration = Duration::from_secs(120);
/// One instance, for as long as it is asked.
const WARM: Warm = Warm { max: 1, uses: u64::MAX, idle: WARM_IDLE_DEFAULT };
/// How many calls are made between two drawings of the bar.
const PRINTED_EVERY: u32 = 64;

/// Figures of one role.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) role: Role,
    pub(super) case: String,
    /// The first load, compiling included.
    pub(super) compiled: Duration,
    /// Another load, with the code in the cache.
    pub(super) cached: Option<Duration>,
    /// A module that does nothing, in fresh instances.
    pub(super) floor: Option<Times>,
    /// Calls in an instance of their own each.
    pub(super) fresh: Option<Calls>,
    /// Calls in one instance.
    pub(super) warm: Option<Calls>,
}

/// Calls with what they took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calls {
    pub(super) times: Times,
    /// Linear memory of the instance after the first call.
    pub(super) memory_bytes_first: usize,
    /// And after the last one.
    pub(super) memory_bytes_last: usize,
}

/// Measures the component in this role.
pub(super) async fn measure(
    subject: &Subject,
    plan: &Plan,
    role: Role,
    args: &BenchArgs,
) -> Result<Measured, Error> {
    let (_folder, code) = scratch()?;
    let kit = Kit::start(CompilerConfig::foreground(code))?;
    let case = args.case.as_deref();
    let bar = bar(role);
    bar.set_message("compile");
    bar.enable_steady_tick(Duration::from_millis(100));
    let first = kit.rehearse(subject, plan, role, case, None).await?;
    bar.disable_steady_tick();
    let (name, compiled) = (first.case.clone(), first.loaded_in);
    let mut cached = Vec::new();
    for _ in 0..CACHED_LOADS {
        cached.push(kit.rehearse(subject, plan, role, case, None).await?.loaded_in);
    }
    let floor = floor(role, &bar).await?;
    let fresh = match args.warm {
        true => None,
        false => calls(&first, args.calls.min(FRESH_CALLS_MAX), FRESH_TIME, &bar, "fresh").await?,
    };
    let warm = match args.fresh {
        true => None,
        false => {
            let kept = kit.rehearse(subject, plan, role, case, Some(WARM)).await?;
            calls(&kept, args.calls, WARM_TIME, &bar, "warm").await?
        }
    };
    bar.finish_and_clear();
    Ok(Measured { role, case: name, compiled, cached: median(cached), floor, fresh, warm })
}

/// A bar on a terminal, nothing elsewhere.
fn bar(role: Role) -> ProgressBar {
    let bar = ProgressBar::new(0);
    // Without colours and with what every terminal has; a template that can't be read leaves the bar's own.
    if let Ok(style) = ProgressStyle::with_template("{prefix} {msg:<8} [{bar:30}] {pos}/{len}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_prefix(role.as_str());
    bar
}

async fn floor(role: Role, bar: &ProgressBar) -> Result<Option<Times>, Error> {
    let floor = Floor::new(role)?;
    // The first call finds nothing of its memory mapped.
    floor.call().await?;
    begin(bar, "floor", FLOOR_CALLS);
    let started = Instant::now();
    let (mut done, mut times) = (0, Vec::new());
    while goes_on(done, FLOOR_CALLS, started.elapsed(), FLOOR_TIME) {
        let before = Instant::now();
        floor.call().await?;
        times.push(before.elapsed());
        done += 1;
        draw(bar, done);
    }
    Ok(Times::of(times))
}

async fn calls(
    rehearsal: &Rehearsal,
    requested: u32,
    allowed: Duration,
    bar: &ProgressBar,
    what: &'static str,
) -> Result<Option<Calls>, Error> {
    begin(bar, what, requested);
    let started = Instant::now();
    let (mut done, mut times) = (0, Vec::new());
    let (mut memory_bytes_first, mut memory_bytes_last) = (0, 0);
    while goes_on(done, requested, started.elapsed(), allowed) {
        let before = Instant::now();
        let asked = rehearsal.ask().await;
        times.push(before.elapsed());
        done += 1;
        memory_bytes_last =
            asked.map_err(|cause| Error::Ask { case: rehearsal.case.clone(), call: done, cause })?;
        if done == 1 {
            memory_bytes_first = memory_bytes_last;
        }
        draw(bar, done);
    }
    Ok(Times::of(times).map(|times| Calls { times, memory_bytes_first, memory_bytes_last }))
}

fn begin(bar: &ProgressBar, what: &'static str, calls: u32) {
    bar.set_message(what);
    bar.set_length(calls.into());
    bar.set_position(0);
}

fn draw(bar: &ProgressBar, done: u32) {
    if done.is_multiple_of(PRINTED_EVERY) {
        bar.set_position(done.into());
    }
}
