//! The layer `versions`: which versions of its contracts serve a component, of all that this host has.

use witlet_wasm::inspect::served_versions;
use witlet_wasm::role::Role;

use crate::check::{CheckResult, Checks, Finding};
use crate::ctx::Ctx;

const ID: &str = "versions/served";
const CONTRACT: &str = "a contract only gains functions within its track: a host serves what was built against the same version or an older \
                        one of that track";

/// Examines this layer.
pub(crate) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    for served in ctx.inspection.roles.clone() {
        let package = package(served.role);
        let built = built_against(&ctx.inspection.exports, package);
        for version in served_versions(served.role) {
            let title = format!(
                "{package}@{version} serves it, which was built against {}",
                built.unwrap_or("no version")
            );
            checks.add(served.role, ID, title, judge(package, built, version, version == &served.version));
        }
    }
}

/// Whether a version of a contract serves it. `serving` says whether it is the one that does.
fn judge(package: &str, built: Option<&str>, version: &str, serving: bool) -> CheckResult {
    match built {
        _ if serving => CheckResult::Passed,
        Some(built) => {
            CheckResult::Skipped { why: format!("{package}@{version} is of another track than {built}") }
        }
        None => CheckResult::Failed(Finding::new(package, "an export without a version", CONTRACT)),
    }
}

fn package(role: Role) -> &'static str {
    match role {
        Role::Admission => "witlet:admission",
        Role::Probe => "witlet:probe",
        Role::PodSource => "witlet:pod-source",
    }
}

/// The version of a package among names such as `witlet:admission/handler@0.1.0`.
fn built_against<'a>(exports: &'a [String], package: &str) -> Option<&'a str> {
    exports.iter().find_map(|export| {
        let (name, version) = export.split_once('@')?;
        name.strip_prefix(package)?.starts_with('/').then_some(version)
    })
}

#[cfg(test)]
mod tests;
