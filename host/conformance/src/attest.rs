//! A report in the form that is signed, so that a host can demand it.

use jiff::Timestamp;
use witlet_wasm::attestation::{Checks, Conformance, Statement, Tested};
use witlet_wasm::record::replay::digest_of;
use witlet_wasm::role::Role;

use crate::check::CheckResult;
use crate::plan::Layer;
use crate::report::Report;

/// Returns what is signed of a report. A role counts as tried if a check of it passed beyond loading it: one whose checks were all
/// skipped is left out, and a host doesn't take the report for it. A layer that wasn't asked for is left out, and a host doesn't
/// take the report at all. `now` is when the examination was done.
pub fn statement(report: &Report, now: Timestamp) -> Statement {
    let tried = |role: Role| {
        report.checks.iter().any(|check| {
            let beyond = check.layer != Layer::Load;
            beyond && check.role == Some(role) && check.result == CheckResult::Passed
        })
    };
    let roles = report.roles.iter().filter(|served| tried(served.role));
    let roles = roles
        .map(|served| Tested { role: served.role.as_str().to_owned(), version: served.version.to_owned() });
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let checks = report.layers.iter().map(|layer| {
        let count = report.count(*layer);
        let checks = Checks {
            passed: number(count.passed),
            failed: number(count.failed),
            skipped: number(count.skipped),
        };
        (layer.as_str().to_owned(), checks)
    });
    let conformance = Conformance {
        kit_version: report.kit_version.to_owned(),
        roles: roles.collect(),
        config_digest: digest_of(report.config.to_string().as_bytes()),
        passed: report.passed(),
        checks: checks.collect(),
        seed: report.seed,
        time: now,
    };
    Statement::new(&*report.component.name, &*report.component.digest, conformance)
}

#[cfg(test)]
mod tests;
