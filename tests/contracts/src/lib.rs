//! What every implementation of the runtime ports promises, as one suite: containerd through the CRI client, the
//! embedded runtime, and the fake that scenarios run on.
//!
//! A case is a function over the ports; it knows no implementation. What a runtime can't show at all (a fake has no
//! processes) it doesn't offer in its [`Environment`], and the cases that need it are reported as skipped, with the
//! reason.
#![forbid(unsafe_code)]

mod cases;
mod environment;
mod fixture;
mod report;

pub use cases::{CASES, Case};
pub use environment::{Commands, Environment, Offers, Processes, Registry, Workload, WorkloadOnPath};
pub use report::{Outcome, Report};

use witlet_ports::Runtime;

/// Runs every case, one after the other, each with sandboxes of its own which are removed afterwards.
pub async fn run_all(runtime: &Runtime, environment: &Environment) -> Report {
    let mut report = Report::default();
    for case in CASES {
        report.add(case.name, run_case(case, runtime, environment).await);
    }
    report
}

/// Runs one case, unless the runtime lacks what it needs. Cases may run at the same time on one runtime.
pub async fn run_case(case: &Case, runtime: &Runtime, environment: &Environment) -> Outcome {
    if let Some(reason) = case.skipped(environment) {
        return Outcome::Skipped(reason);
    }
    let fixture = fixture::Fixture::new(case.name, runtime, environment);
    let verdict = (case.run)(&fixture).await;
    let cleaned = fixture.clean_up().await;
    match verdict.and(cleaned) {
        Ok(()) => Outcome::Passed,
        Err(violation) => Outcome::Failed(violation.to_string()),
    }
}
