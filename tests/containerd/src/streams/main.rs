//! Logs, commands, terminals and forwarded ports as an API server and kubectl ask for them: through the API server's node
//! proxy path, this node's endpoints and containerd's streaming server, to real processes.
#![allow(clippy::print_stderr, reason = "a test program of its own, and this is its report")]

mod cases;
mod kubectl;
mod unused;
mod world;

use std::process::ExitCode;
use std::sync::Arc;
use witlet_harness::WAIT_TIMEOUT;

use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime as Tokio;
use witlet_harness::{Containerd, HarnessError, run_or_ignore};

use witlet_harness::streams::kubectl::Kubectl;
use world::{Case, TestNode, World};

/// Why a case failed.
type Outcome = Result<(), String>;

fn all() -> impl Iterator<Item = &'static Case> {
    cases::CASES.iter().chain(kubectl::LOGS).chain(kubectl::CASES)
}

fn main() -> ExitCode {
    run_or_ignore(all().map(|case| case.name), run)
}

fn run(arguments: &Arguments) -> Result<ExitCode, HarnessError> {
    let io = |cause| HarnessError::Io { action: "start tokio".to_owned(), cause };
    let tokio = Tokio::new().map_err(io)?;
    let containerd = Arc::new(tokio.block_on(Containerd::start())?);
    let no_kubectl = Kubectl::version().err();
    let trials = all().enumerate().map(|(number, case)| {
        let containerd = containerd.clone();
        let place = TestNode { endpoint: containerd.endpoint(), logs: containerd.log_root(), number };
        let is_ignored = case.needs_kubectl && no_kubectl.is_some();
        if let (true, Some(reason)) = (is_ignored, &no_kubectl) {
            eprintln!("SKIPPED {}: {reason}", case.name);
        }
        Trial::test(case.name, move || in_network(&containerd, place, case)).with_ignored_flag(is_ignored)
    });
    let conclusion = libtest_mimic::run(arguments, trials.collect());
    let containerd = Arc::into_inner(containerd);
    let left = || HarnessError::Answer("a test still has containerd".to_owned());
    tokio.block_on(containerd.ok_or_else(left)?.stop())?;
    Ok(conclusion.exit_code())
}

/// Where containerd's streaming server listens, and nowhere else.
fn in_network(containerd: &Containerd, place: TestNode, case: &'static Case) -> Result<(), Failed> {
    let done = containerd.in_network(move || -> Outcome {
        let tokio = Tokio::new().map_err(|error| error.to_string())?;
        tokio.block_on(async {
            let world = World::new(place, case).await?;
            let outcome = tokio::time::timeout(WAIT_TIMEOUT, (case.run)(&world)).await;
            world.stop().await;
            outcome.map_err(|_| format!("it took longer than {:?}", WAIT_TIMEOUT))?
        })
    });
    match done {
        Ok(outcome) => outcome.map_err(Failed::from),
        Err(error) => Err(Failed::from(error.to_string())),
    }
}
