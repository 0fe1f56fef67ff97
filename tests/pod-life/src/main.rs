//! A pod's life with the real daemon, on the embedded runtime and on containerd: started, probed, hooked, its log followed, a command
//! run in it, its port forwarded, its agent killed and started again, and ended.
//!
//! The rest of what the daemon does with real runtimes is shown by `tests/daemon`, which takes longer. Where containerd
//! can't run its cases count as ignored, with the reason on standard error; `WITLET_REQUIRE_CONTAINERD=1` makes that a failure.
#![forbid(unsafe_code)]
#![allow(clippy::print_stderr, reason = "the main function of a test program")]

mod cgroups;
mod containerd;
mod inspect;
mod usage;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime as Tokio;
use tokio::sync::Mutex;
use witlet_harness::node::{DaemonWorld, Kind};
use witlet_harness::{Containerd, REQUIRE_VARIABLE, is_required, report, skip_reason};
use witlet_testkit::scenarios::{Outcome, SCENARIOS};

/// What is played on both runtimes: all that a pod may have, and an agent that is killed under it.
const PLAYED: [&str; 2] =
    ["pods_with_sidecars_probes_and_hooks_outlive_the_agent", "a_removed_manifest_stops_and_removes_the_pod"];

/// The containerd that the cases share, started by the first one that needs it.
type Shared = Arc<Mutex<Option<Containerd>>>;

fn failed(error: &dyn std::error::Error) -> Failed {
    Failed::from(report(error))
}

async fn start(containerd: &Shared) -> Result<(), Failed> {
    let mut containerd = containerd.lock().await;
    if containerd.is_none() {
        *containerd = Some(Containerd::start().await.map_err(|error| failed(&error))?);
    }
    Ok(())
}

/// Plays a scenario in a new world, and leaves nothing of it.
fn play(name: &str, kind: Kind, containerd: Shared) -> Result<(), Failed> {
    let scenario =
        SCENARIOS.iter().find(|scenario| scenario.name == name).ok_or("there is no such scenario")?;
    Tokio::new()?.block_on(async {
        if kind == Kind::Containerd {
            start(&containerd).await?;
        }
        let mut world = DaemonWorld::start(kind, containerd).await?;
        let outcome = scenario.play(&mut world).await;
        let log = world.log();
        let ended = world.end().await;
        match outcome {
            Outcome::Passed => ended,
            Outcome::Skipped(why) => Err(Failed::from(format!("this world should show it: {why}"))),
            Outcome::Failed(what) => Err(Failed::from(format!("{what}\nthe daemon's log:\n{log}"))),
        }
    })
}

/// Plays a pod of an API server where containerd's streaming server and the pods are, and nowhere else.
fn streams(shared: &Shared) -> Result<(), Failed> {
    let tokio = Tokio::new()?;
    tokio.block_on(start(shared))?;
    let containerd = tokio.block_on(shared.lock());
    let containerd = containerd.as_ref().ok_or("containerd doesn't run")?;
    let endpoint = containerd.endpoint();
    // Threads of that runtime are born into the network.
    let played = containerd.in_network(move || Tokio::new()?.block_on(containerd::a_pods_life(endpoint)));
    played.map_err(|error| failed(&error))?
}

/// Pods of all classes, with a check of the machine's cgroups.
fn classes(shared: &Shared) -> Result<(), Failed> {
    let tokio = Tokio::new()?;
    tokio.block_on(async {
        start(shared).await?;
        let containerd = shared.lock().await;
        let containerd = containerd.as_ref().ok_or("containerd doesn't run")?;
        cgroups::classes(containerd.endpoint(), containerd.daemon_arguments()).await
    })
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // They share one containerd.
    arguments.test_threads = Some(1);
    let skip = if arguments.list { None } else { skip_reason() };
    if let Some(skip) = &skip {
        if is_required() {
            eprintln!("FAILED: {REQUIRE_VARIABLE} is set, and {skip}");
            return ExitCode::FAILURE;
        }
        eprintln!("SKIPPED: a pod's life on containerd: {skip}");
    }
    let containerd = Shared::default();
    let mut trials = Vec::new();
    for kind in [Kind::Embedded, Kind::Containerd] {
        for name in PLAYED {
            let containerd = containerd.clone();
            let trial = Trial::test(format!("{}::{name}", kind.name()), move || play(name, kind, containerd));
            trials.push(trial.with_ignored_flag(kind == Kind::Containerd && skip.is_some()));
        }
    }
    let shared = containerd.clone();
    let name = "containerd::a_pod_is_followed_asked_and_reached_until_it_has_ended";
    trials.push(Trial::test(name, move || streams(&shared)).with_ignored_flag(skip.is_some()));
    let shared = containerd.clone();
    let name = "containerd::pods_have_the_cgroups_of_a_kubelet_and_leave_none";
    trials.push(Trial::test(name, move || classes(&shared)).with_ignored_flag(skip.is_some()));
    let conclusion = libtest_mimic::run(&arguments, trials);
    let stopped = Tokio::new().map(|tokio| {
        tokio.block_on(async {
            match containerd.lock().await.take() {
                Some(containerd) => containerd.stop().await,
                None => Ok(()),
            }
        })
    });
    match stopped {
        Ok(Ok(())) => conclusion.exit_code(),
        Ok(Err(error)) => {
            eprintln!("FAILED: containerd didn't end well: {}", report(&error));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}
