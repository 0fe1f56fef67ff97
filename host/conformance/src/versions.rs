//! The layer `versions`: which versions of its contracts serve a component, of all that this host has.

use witlet_wasm::inspect::served_versions;
use witlet_wasm::role::Role;

use crate::{CheckResult, Checks, Ctx, Finding};

const ID: &str = "versions/served";
const IMPORTS: (&str, &str) =
    ("versions/imports", "this host has every interface that it imports of this project, in its version");
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
    let obstacles = &ctx.inspection.obstacles;
    let found = obstacles
        .first()
        .map(|_| Finding::new(ours(&ctx.inspection.imports), obstacles.join("; "), CONTRACT));
    checks.judge(None, IMPORTS.0, IMPORTS.1, found);
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

/// Imports of this project, for people.
fn ours(imports: &[String]) -> String {
    let ours: Vec<&str> =
        imports.iter().map(String::as_str).filter(|import| import.starts_with("witlet:")).collect();
    format!("imports {}", ours.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_a_contract_is_in_the_names_of_its_exports() {
        let exports = ["witlet:probe/prober@0.1.0".to_owned(), "witlet:pod-source/source@0.2.0".to_owned()];
        assert_eq!(built_against(&exports, "witlet:probe"), Some("0.1.0"));
        assert_eq!(built_against(&exports, "witlet:pod-source"), Some("0.2.0"));
        assert_eq!(built_against(&exports, "witlet:pod"), None);
        assert_eq!(built_against(&exports, "witlet:admission"), None);
    }

    #[test]
    fn versions_of_other_tracks_are_told_and_fail_nothing() {
        assert_eq!(judge("witlet:probe", Some("0.1.0"), "0.1.0", true), CheckResult::Passed);
        let CheckResult::Skipped { why } = judge("witlet:probe", Some("0.1.0"), "0.2.0", false) else {
            panic!("it isn't served by that one")
        };
        assert_eq!(why, "witlet:probe@0.2.0 is of another track than 0.1.0");
    }
}
