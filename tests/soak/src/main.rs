//! The real daemon under churn, on the embedded runtime and on containerd: pods come, change, crash, go and come back
//! while the daemon and containerd are killed, plugins are swapped and manifests are broken. Then everything is left to
//! settle, and what was lost is counted. It has to be nothing. A hundred random pods with all that a pod may have do the
//! same on containerd, and what is left of them on the machine is counted as well. And pods that misuse what they are
//! given end as Kubernetes says, next to pods that don't notice.
//!
//! On a runtime that answers at once plugins are swapped under probed pods, a pod source lies, probes never end, and a fleet
//! shares a plugin file. With `SOAK_SECONDS` there are a thousand swaps and 200 agents, without it fifty and four.
//!
//! Without `SOAK_SECONDS` churn is short, with the same choices each time. With it, each of its three suites goes on for so long,
//! with choices that `SOAK_SEED` repeats. The choices repeat, the moments at which they meet the daemon don't. Where
//! containerd can't run what needs it counts as ignored, with the reason on standard error;
//! `WITLET_REQUIRE_CONTAINERD=1` makes that a failure. `WITLET_OLDER_PROGRAM` (`make soak OLDER=…`) mixes an earlier release into the fleet.
#![forbid(unsafe_code)]
#![allow(clippy::print_stderr, reason = "the figures are part of what this shows")]

mod bad_input;
mod busy;
mod chaos;
mod faulty_sources;
mod figures;
mod fleet;
mod hostile;
mod node;
mod swaps;
mod workload_pattern;
mod world;

use std::process::ExitCode;
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use tokio::time::Instant;
use witlet_harness::{REQUIRE_VARIABLE, TestClock, is_required, skip_reason};
use witlet_loss_checks::Kind;
use witlet_ports::Clock;

use crate::chaos::Chaos;
use crate::workload_pattern::WorkloadPattern;
use crate::world::World;
use witlet_harness::usage::Usage;

/// The seed of the short form.
const SEED_SHORT: u64 = 7;

/// Actions in a round.
const ACTIONS: usize = 10;

/// Actions in a round with many pods.
const STRESS_ACTIONS: usize = 40;

/// How much more the daemon, or the embedded runtime, may take without pods after a third of the time than before it.
/// Threads come and go with the work, and an allocator keeps a little of what it once had.
const GROWTH_MAX: Usage = Usage { files: 4, threads: 16, memory_kib: 32 * 1024 };

/// How long it goes on, with which seed.
#[derive(Clone, Copy, Debug)]
struct Length {
    /// None is the short form.
    time: Option<Duration>,
    seed: u64,
}

impl Length {
    fn of_environment() -> Result<Self, String> {
        let number = |name: &str| match std::env::var(name) {
            Ok(text) => text.parse::<u64>().map(Some).map_err(|_| format!("{name}={text} is no number")),
            Err(_) => Ok(None),
        };
        let time = number("SOAK_SECONDS")?.map(Duration::from_secs);
        let random = u64::try_from(TestClock.now().as_millisecond()).unwrap_or(SEED_SHORT);
        let seed = number("SOAK_SEED")?.unwrap_or(if time.is_some() { random } else { SEED_SHORT });
        Ok(Self { time, seed })
    }
}

/// Hits a world for so long.
async fn soak(kind: Kind, length: Length) -> Result<(), Failed> {
    eprintln!("{}: seed {} ({:?})", kind.name(), length.seed, length.time);
    let pattern = match kind {
        Kind::Embedded => WorkloadPattern::HARSH,
        Kind::Containerd => WorkloadPattern::HARSH_VARIED,
    };
    let mut chaos = Chaos::new(World::start(kind).await?, pattern, length.seed);
    let outcome = match length.time {
        None => short(&mut chaos).await,
        Some(time) => long(&mut chaos, time).await,
    };
    end(chaos, kind.name(), length, outcome).await
}

/// A hundred random pods come and go while the daemon is killed, and nothing of them is left.
async fn stress(length: Length) -> Result<(), Failed> {
    eprintln!("a hundred pods: seed {} ({:?})", length.seed, length.time);
    let mut chaos = Chaos::new(World::start(Kind::Containerd).await?, WorkloadPattern::STRESS, length.seed);
    let outcome = come_and_go(&mut chaos, length.time).await;
    end(chaos, "a hundred pods", length, outcome).await
}

async fn come_and_go(chaos: &mut Chaos, time: Option<Duration>) -> Result<(), Failed> {
    // Without pods, the daemon answers.
    chaos.settle().await?;
    let before = chaos.world.remains_before().await?;
    let begun = Instant::now();
    chaos.stress().await?;
    chaos.settle().await?;
    loop {
        chaos.round(STRESS_ACTIONS).await?;
        if time.is_none_or(|time| begun.elapsed() >= time) {
            break;
        }
    }
    chaos.scatter().await?;
    chaos.nothing_remains(&before).await
}

/// Ends the world, and tells what was seen.
async fn end(chaos: Chaos, what: &str, length: Length, outcome: Result<(), Failed>) -> Result<(), Failed> {
    let Chaos { world, figures, .. } = chaos;
    let ended = world.end().await;
    if let Err(lost) = outcome {
        let reported = format!("seed {}: {}", length.seed, lost.message().unwrap_or_default());
        // The suites that follow take long.
        eprintln!("{reported}");
        return Err(Failed::from(reported));
    }
    ended?;
    eprintln!("{what}: {figures}");
    Ok(())
}

async fn short(chaos: &mut Chaos) -> Result<(), Failed> {
    chaos.populate()?;
    chaos.settle().await?;
    chaos.strike().await?;
    chaos.round(ACTIONS).await?;
    chaos.drain().await
}

/// For two thirds of the time everything is killed; after that the daemon lives on, and mustn't grow.
async fn long(chaos: &mut Chaos, time: Duration) -> Result<(), Failed> {
    let begun = Instant::now();
    chaos.populate()?;
    chaos.settle().await?;
    while begun.elapsed() < time * 2 / 3 {
        chaos.round(ACTIONS).await?;
    }
    chaos.kills = false;
    // What a new daemon takes at first says little: it has done some work before it is checked.
    chaos.round(ACTIONS).await?;
    chaos.drain().await?;
    let (daemon, runtime) = (chaos.world.daemon_usage()?, chaos.world.runtime_usage().await);
    while begun.elapsed() < time {
        chaos.round(ACTIONS).await?;
    }
    chaos.drain().await?;
    let after = [Some(chaos.world.daemon_usage()?), chaos.world.runtime_usage().await];
    for (what, before, after) in [("daemon", Some(daemon), after[0]), ("runtime", runtime, after[1])] {
        let (Some(before), Some(after)) = (before, after) else { continue };
        eprintln!("the {what} without pods: {before}; after a third of the time {after}");
        if !after.growth_since(before).is_within(GROWTH_MAX) {
            return Err(Failed::from(format!("the {what} grew from {before} to {after} without pods")));
        }
    }
    Ok(())
}

fn trial(kind: Kind, length: Length) -> Trial {
    Trial::test(format!("{}::nothing_is_lost_under_churn", kind.name()), move || {
        tokio::runtime::Runtime::new()?.block_on(soak(kind, length))
    })
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // One after the other: each fills the machine.
    arguments.test_threads = Some(1);
    let length = match Length::of_environment() {
        Ok(length) => length,
        Err(problem) => {
            eprintln!("FAILED: {problem}");
            return ExitCode::FAILURE;
        }
    };
    let skip = skip_reason();
    if let Some(skip) = &skip {
        if is_required() {
            eprintln!("FAILED: {REQUIRE_VARIABLE} is set, and {skip}");
            return ExitCode::FAILURE;
        }
        eprintln!("SKIPPED: the soak on containerd: {skip}");
    }
    let trials = vec![
        trial(Kind::Embedded, length),
        trial(Kind::Containerd, length).with_ignored_flag(skip.is_some()),
        Trial::test("containerd::a_hundred_random_pods_leave_nothing", move || {
            tokio::runtime::Runtime::new()?.block_on(stress(length))
        })
        .with_ignored_flag(skip.is_some()),
        Trial::test("containerd::bad_input_ends_as_it_should_and_holds_nothing_else_up", || {
            tokio::runtime::Runtime::new()?.block_on(bad_input::play())
        })
        .with_ignored_flag(skip.is_some()),
        Trial::test("fake::swaps_under_a_hundred_probed_pods_lose_no_call", move || {
            tokio::runtime::Runtime::new()?.block_on(swaps::play(length.time.is_some()))
        }),
        Trial::test("fake::a_source_that_lies_touches_no_one_elses_pods", || {
            tokio::runtime::Runtime::new()?.block_on(faulty_sources::play())
        }),
        Trial::test("fake::the_hostile_corpus_leaves_the_daemon_and_its_pods_alone", move || {
            tokio::runtime::Runtime::new()?.block_on(hostile::play(length.time.is_some()))
        }),
        Trial::test("fake::a_fleet_that_shares_a_plugin_file_outlives_bad_ones", move || {
            tokio::runtime::Runtime::new()?.block_on(fleet::play(length.time.is_some()))
        }),
        Trial::test("fake::five_hundred_probes_keep_their_periods_next_to_two_that_never_end", || {
            tokio::runtime::Runtime::new()?.block_on(busy::play())
        }),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}
