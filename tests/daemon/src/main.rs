//! The scenarios of `witlet_testkit`, played by the real daemon on the embedded runtime and on containerd, and what can
//! be seen on containerd only.
//!
//! Where containerd can't run its scenarios count as ignored, with the reason on standard error;
//! `WITLET_REQUIRE_CONTAINERD=1` makes that a failure.
#![forbid(unsafe_code)]
#![allow(clippy::print_stderr, reason = "the main function of a test program")]

mod cluster;
mod hanging;
mod killed;
mod on_containerd;
mod restarts;

use std::fmt::Display;
use std::process::ExitCode;
use std::sync::Arc;

use futures::future::BoxFuture;
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::sync::{Mutex, OwnedMutexGuard};
use witlet_harness::streams::kubectl::Kubectl;
use witlet_harness::{
    Containerd, REQUIRE_VARIABLE, asks_for_systemd, features_skip_reason, is_required, pins_skip_reason,
    report, skip_reason,
};
use witlet_testkit::scenarios::{Outcome, SCENARIOS};

use witlet_harness::node::{DaemonWorld, Kind};

/// What all scenarios share.
struct Stage {
    tokio: tokio::runtime::Runtime,
    /// Started by the first scenario that needs it.
    containerd: Arc<Mutex<Option<Containerd>>>,
}

impl Stage {
    /// Starts containerd, unless it was.
    async fn containerd(&self) -> Result<OwnedMutexGuard<Option<Containerd>>, Failed> {
        let mut containerd = self.containerd.clone().lock_owned().await;
        if containerd.is_none() {
            *containerd = Some(Containerd::start().await.map_err(|error| Failed::from(report(&error)))?);
        }
        Ok(containerd)
    }

    /// Plays a test where containerd's streaming server and the pods are, and nowhere else.
    fn in_containerds_network(&self, test: cluster::ContainerdTest) -> Result<(), Failed> {
        let containerd = self.tokio.block_on(self.containerd())?;
        let containerd = containerd.as_ref().ok_or("containerd doesn't run")?;
        let endpoint = containerd.endpoint();
        let played = containerd.in_network(move || {
            // Threads of this runtime are born into that network.
            let tokio = tokio::runtime::Runtime::new()?;
            tokio.block_on(test(endpoint))
        });
        played.map_err(|error| Failed::from(report(&error)))?
    }

    async fn world(&self, kind: Kind) -> Result<DaemonWorld, Failed> {
        if kind == Kind::Containerd {
            drop(self.containerd().await?);
        }
        DaemonWorld::start(kind, self.containerd.clone()).await
    }

    /// Plays a scenario in a new world, and leaves nothing of it.
    fn play(&self, kind: Kind, index: usize) -> Result<(), Failed> {
        self.tokio.block_on(async {
            let mut world = self.world(kind).await?;
            let outcome = SCENARIOS[index].play(&mut world).await;
            let log = world.log();
            let ended = world.end().await;
            match outcome {
                Outcome::Passed => ended,
                Outcome::Skipped(why) => Err(Failed::from(format!("this world should show it: {why}"))),
                Outcome::Failed(what) => Err(Failed::from(format!("{what}\nthe daemon's log:\n{log}"))),
            }
        })
    }
}

/// What the embedded runtime can't show, and why: its workloads live in its own process, so it can't go away under
/// them.
const NOT_EMBEDDED: &[&str] = &["a_runtime_that_was_away_is_reported_and_nothing_is_lost"];

/// A test with a daemon of its own.
type Test = fn(DaemonWorld) -> BoxFuture<'static, Result<(), Failed>>;

/// A test that brings its own world.
type OwnTest = fn() -> BoxFuture<'static, Result<(), Failed>>;

/// Tests on a runtime that answers at once.
const ON_FAKE: &[(&str, OwnTest)] = &[
    ("a_restart_ends_no_pod_that_would_be_rejected_now", || Box::pin(restarts::judged_otherwise())),
    ("failure_policies_hold_for_plugins_that_do_not_load_at_the_start", || {
        Box::pin(restarts::cannot_be_judged())
    }),
    ("a_daemon_that_is_killed_while_it_swaps_starts_whole", || Box::pin(killed::while_it_swaps())),
    ("a_daemon_that_is_killed_while_it_compiles_starts_whole", || Box::pin(killed::while_it_compiles())),
    ("a_daemon_that_is_killed_while_it_pulls_starts_whole", || Box::pin(killed::while_it_pulls())),
];

fn trials(stage: &Arc<Stage>, kind: Kind, ignored: bool) -> Vec<Trial> {
    let scenarios = SCENARIOS.iter().enumerate().map(|(index, scenario)| {
        let stage = stage.clone();
        let not_here = kind == Kind::Embedded && NOT_EMBEDDED.contains(&scenario.name);
        let name = format!("{}::{}", kind.name(), scenario.name);
        Trial::test(name, move || stage.play(kind, index)).with_ignored_flag(ignored || not_here)
    });
    let own = match kind {
        Kind::Embedded => &[],
        Kind::Containerd => on_containerd::TESTS,
    };
    let no_features = if kind == Kind::Containerd && !ignored { features_skip_reason() } else { None };
    if let Some(why) = &no_features {
        eprintln!("SKIPPED: {}: {why}", on_containerd::NEEDS_FEATURES);
    }
    let own = own.iter().map(|(name, test)| {
        let ignored = ignored || (no_features.is_some() && *name == on_containerd::NEEDS_FEATURES);
        let stage = stage.clone();
        let run = move || {
            stage.tokio.block_on(async {
                let world = stage.world(kind).await?;
                test(world).await
            })
        };
        Trial::test(format!("{}::{name}", kind.name()), run).with_ignored_flag(ignored)
    });
    scenarios.chain(own).collect()
}

/// Tests that are played in containerd's network.
fn in_network(
    stage: &Arc<Stage>,
    tests: &'static [(&str, cluster::ContainerdTest)],
    ignored: bool,
) -> impl Iterator<Item = Trial> {
    tests.iter().map(move |(name, test)| {
        let stage = stage.clone();
        let run = move || stage.in_containerds_network(*test);
        Trial::test(format!("containerd::{name}"), run).with_ignored_flag(ignored)
    })
}

/// Whether cases can't run here; the reason is reported.
fn is_skipped(what: &str, why: Option<impl Display>) -> bool {
    if let Some(why) = &why {
        eprintln!("SKIPPED: {what}: {why}");
    }
    why.is_some()
}

/// All tests that are played in containerd's network, ignored `without` it.
fn in_containerds_network(stage: &Arc<Stage>, without: bool) -> Vec<Trial> {
    let no_kubectl = is_skipped("kubectl with the daemon", Kubectl::version().err());
    let no_kubelet = is_skipped("next to a kubelet", cluster::with_kubelet::why_not());
    let no_swap = is_skipped("swap of pods", cluster::swap::why_not());
    let of_runtime = (!asks_for_systemd()).then_some("the runtime makes cgroups");
    let no_systemd = is_skipped("a start without a message bus", of_runtime);
    let mut all = Vec::new();
    for (tests, ignored) in [
        (cluster::kubectl::TESTS, without || no_kubectl),
        (cluster::evicted::TESTS, without),
        (cluster::with_kubelet::TESTS, without || no_kubelet),
        (cluster::oom::TESTS, without),
        (cluster::swap::TESTS, without || no_swap),
        (cluster::cgroup_start::TESTS, without),
        (cluster::cgroup_start::ON_SYSTEMD, without || no_systemd),
    ] {
        all.extend(in_network(stage, tests, ignored));
    }
    all
}

/// Tests that bring all that they need; some of it can't be `without` containerd.
fn in_worlds_of_their_own(stage: &Arc<Stage>, without: bool) -> Vec<Trial> {
    let not_in_place = is_skipped("the daemon in the kubelet's place", cluster::why_not_in_place());
    let no_promtool =
        is_skipped("promtool on the metrics of a node and on rules", cluster::promtool::why_not());
    let no_prometheus = is_skipped("a real Prometheus", cluster::prometheus::why_not());
    let no_registry = is_skipped("a full disk of images", cluster::images::why_not());
    let pins_none = is_skipped("pinned images", pins_skip_reason());
    let mut all = Vec::new();
    for (tests, ignored) in [
        (cluster::TESTS, false),
        (cluster::images::TESTS, without || no_registry),
        (cluster::images::PINNED, without || no_registry || pins_none),
        (cluster::IN_PLACE, not_in_place),
        (cluster::WITH_PROMTOOL, no_promtool),
        (cluster::WITH_PROMETHEUS, no_prometheus),
    ] {
        for (name, test) in tests {
            let stage = stage.clone();
            let run = move || stage.tokio.block_on(test());
            all.push(Trial::test(format!("cluster::{name}"), run).with_ignored_flag(ignored));
        }
    }
    all
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // One after the other: two cores, and one containerd.
    arguments.test_threads = Some(1);
    let skip = skip_reason();
    if let Some(skip) = &skip {
        if is_required() {
            eprintln!("FAILED: {REQUIRE_VARIABLE} is set, and {skip}");
            return ExitCode::FAILURE;
        }
        eprintln!("SKIPPED: the daemon on containerd: {skip}");
    }
    let Ok(tokio) = tokio::runtime::Runtime::new() else {
        eprintln!("FAILED: no threads");
        return ExitCode::FAILURE;
    };
    let stage = Arc::new(Stage { tokio, containerd: Arc::default() });
    let mut all = trials(&stage, Kind::Embedded, false);
    all.extend(trials(&stage, Kind::Containerd, skip.is_some()));
    let hundred = stage.clone();
    all.push(Trial::test("fake::a_hundred_pods_and_a_hanging_plugin_do_not_hold_up_the_loop", move || {
        hundred.tokio.block_on(hanging::hundred_pods())
    }));
    for (name, test) in ON_FAKE {
        let stage = stage.clone();
        all.push(Trial::test(format!("fake::{name}"), move || stage.tokio.block_on(test())));
    }
    let without = skip.is_some();
    all.extend(in_containerds_network(&stage, without));
    all.extend(in_worlds_of_their_own(&stage, without));
    let conclusion = libtest_mimic::run(&arguments, all);
    let stopped = stage.tokio.block_on(async {
        match stage.containerd.lock().await.take() {
            Some(containerd) => containerd.stop().await,
            None => Ok(()),
        }
    });
    if let Err(error) = stopped {
        eprintln!("FAILED: containerd didn't end well: {}", report(&error));
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}
