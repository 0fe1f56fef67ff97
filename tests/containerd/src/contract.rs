//! The contract of the runtime ports on real containerd and runc.
#![allow(clippy::print_stderr, reason = "a test program of its own, and this is its report")]

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime as Tokio;
use witlet_contracts::{CASES, Case, Environment, Outcome, run_case};
use witlet_harness::{Containerd, HarnessError, REGISTRY_PROGRAM, Registry, is_required, run_or_ignore};
use witlet_ports::Runtime;

/// What every case shares.
struct Shared {
    tokio: Arc<Tokio>,
    runtime: Runtime,
    environment: Environment,
}

fn main() -> ExitCode {
    run_or_ignore(CASES.iter().map(|case| case.name), run)
}

fn run(arguments: &Arguments) -> Result<ExitCode, HarnessError> {
    let tokio = Tokio::new().map_err(|cause| HarnessError::Io { action: "start tokio".to_owned(), cause })?;
    let tokio = Arc::new(tokio);
    let containerd = tokio.block_on(Containerd::start())?;
    let registry = match Registry::is_installed() {
        true => Some(tokio.block_on(Registry::start(&containerd))?),
        false if is_required() => {
            let missing = format!("{REGISTRY_PROGRAM} isn't installed (Debian package of the same name)");
            return Err(HarnessError::Answer(missing));
        }
        false => None,
    };
    let (runtime, environment) = {
        let _inside = tokio.enter();
        (containerd.runtime()?, containerd.environment(registry.as_ref()))
    };
    let shared = Arc::new(Shared { tokio: tokio.clone(), runtime, environment });
    let trials = CASES.iter().map(|case| trial(case, shared.clone())).collect();
    let conclusion = libtest_mimic::run(arguments, trials);
    drop(registry);
    tokio.block_on(containerd.stop())?;
    Ok(conclusion.exit_code())
}

fn trial(case: &'static Case, shared: Arc<Shared>) -> Trial {
    let skipped = case.skipped(&shared.environment);
    if let Some(reason) = &skipped {
        eprintln!("SKIPPED {}: {reason}", case.name);
    }
    let is_ignored = skipped.is_some();
    let trial = Trial::test(case.name, move || {
        let outcome = run_case(case, &shared.runtime, &shared.environment);
        match shared.tokio.block_on(outcome) {
            Outcome::Passed => Ok(()),
            Outcome::Skipped(reason) => Err(Failed::from(format!("it can't be run here: {reason}"))),
            Outcome::Failed(violation) => Err(Failed::from(violation)),
        }
    });
    trial.with_ignored_flag(is_ignored)
}
