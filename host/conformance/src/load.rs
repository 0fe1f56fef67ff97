//! The layer `load`: what a component is, whether it fits this host, and whether it takes its configuration.

use serde_json::Value;
use witlet_core::error::one_line;
use witlet_wasm::compile::{COMPONENT_BYTES_MAX, CompileError};
use witlet_wasm::inspect::InspectError;
use witlet_wasm::limits::Limits;
use witlet_wasm::plugin::LoadError;
use witlet_wasm::role::Role;

use crate::{CheckResult, Checks, Ctx, Finding, Setup};

const SIZE: (&str, &str) = ("load/size", "it is no larger than a component may be");

/// Examines this layer.
pub(crate) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    component(ctx, checks);
    cases(ctx, checks);
    for role in ctx.roles() {
        let setup = match ctx.setup(role) {
            Ok(setup) => setup,
            Err(error) => {
                let finding = Finding::new(
                    "limits and grants",
                    error.to_string(),
                    "limits and grants are as in a PluginConfiguration",
                );
                checks.judge(role, "load/setup", "its limits and grants can be taken", Some(finding));
                continue;
            }
        };
        let fits = needs(ctx, checks, &setup);
        let granted = grants(ctx, checks, &setup);
        if fits && granted {
            validate(ctx, checks, &setup).await;
        }
    }
    checks.figure("component size", "bytes", ctx.inspection.size_bytes as f64);
    checks.figure("static memory", "bytes", ctx.inspection.needs.memory_bytes as f64);
}

/// What the bytes themselves say.
fn component(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    let inspection = &ctx.inspection;
    let imports = format!("imports {}", list(&inspection.imports));
    let obstacles = (!inspection.obstacles.is_empty()).then(|| {
        Finding::new(
            imports.as_str(),
            inspection.obstacles.join("; "),
            "a plugin exports witlet:admission/handler, witlet:probe/prober or witlet:pod-source/source in a version \
             that this host serves, and imports witlet:* of such versions and WASI 0.2",
        )
    });
    let roles: Vec<String> =
        inspection.roles.iter().map(|served| format!("{} {}", served.role, served.version)).collect();
    checks.judge(None, "load/world", format!("it has a role and links: {}", list(&roles)), obstacles);
    // A larger one isn't even looked into: see `not_a_component`.
    checks.add(None, SIZE.0, SIZE.1, CheckResult::Passed);
}

/// Case files are about roles that the component has.
fn cases(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    // Without a role the finding is that.
    if ctx.inspection.roles.is_empty() {
        return;
    }
    // Of the component's roles, whether the plan examines them or not.
    let served = |role: Role| ctx.inspection.roles.iter().any(|served| served.role == role);
    for file in ctx.plan.cases.iter().filter(|file| !served(file.role())) {
        let finding = Finding::new(
            file.name.as_str(),
            format!("its cases are of the role {}, which the component doesn't have", file.role()),
            "a case file names a role of the component; `--cases` names files in place of those that lie beside it",
        );
        checks.judge(file.role(), "load/cases", "case files are of its roles", Some(finding));
    }
}

fn list(items: &[String]) -> String {
    if items.is_empty() { "nothing".to_owned() } else { items.join(", ") }
}

/// Whether it fits into its limits before it does anything.
fn needs(ctx: &Ctx<'_>, checks: &mut Checks<'_>, setup: &Setup) -> bool {
    let needs = &ctx.inspection.needs;
    let fault = needs.check(&Limits::with_memory(setup.memory_bytes)).err();
    let title = format!("its {} bytes of initial memory fit into {}", needs.memory_bytes, setup.memory_bytes);
    let finding = fault.as_ref().map(|error| {
        Finding::new(
            format!("limits: {{memory: {}}}", setup.memory_bytes),
            one_line(error),
            "a component whose static needs exceed its limits isn't loaded: raise `limits.memory`, or build it smaller",
        )
    });
    checks.judge(setup.role, "load/needs", title, finding);
    fault.is_none()
}

/// Whether it is granted what it can't be loaded without.
fn grants(ctx: &Ctx<'_>, checks: &mut Checks<'_>, setup: &Setup) -> bool {
    let granted = setup.grants().map(|grants| grants.names()).unwrap_or_default();
    let needed = &ctx.inspection.needs_grants;
    let missing: Vec<&str> =
        needed.iter().copied().filter(|name| !granted.iter().any(|granted| granted == name)).collect();
    let finding = (!missing.is_empty()).then(|| {
        let told = if setup.grants.is_null() { "no grants".to_owned() } else { format!("grants: {}", setup.grants) };
        Finding::new(
            told,
            format!("it imports what needs the grants {}", missing.join(" and ")),
            "witlet:host/secret needs the grant `secrets`, witlet:probe/exec the grant `exec`: add them with `--grants`, \
             or with `grants:` of a case file",
        )
    });
    checks.judge(setup.role, "load/grants", "it is granted what it can't be loaded without", finding);
    missing.is_empty()
}

/// Compiles and links it, and has it look at its configuration.
async fn validate(ctx: &Ctx<'_>, checks: &mut Checks<'_>, setup: &Setup) {
    let error = match load(ctx, setup).await {
        Ok(()) => {
            checks.add(
                setup.role,
                "load/link",
                "it compiles and its types are the contract's",
                CheckResult::Passed,
            );
            checks.add(setup.role, "load/validate", "it takes its configuration", CheckResult::Passed);
            return;
        }
        Err(error) => error,
    };
    let config = || format!("config: {}", setup.config);
    let told = interface(setup.role);
    match &error {
        LoadError::Configuration { words } => {
            checks.add(
                setup.role,
                "load/link",
                "it compiles and its types are the contract's",
                CheckResult::Passed,
            );
            let out = way_out(ctx, setup.role, &setup.config);
            let finding = Finding::new(
                config(),
                format!("validate refuses it: {words:?}"),
                format!("{told}.validate takes the configuration that the plugin is used with: {out}"),
            );
            checks.judge(setup.role, "load/validate", "it takes its configuration", Some(finding));
        }
        LoadError::Validate(cause) => {
            checks.add(
                setup.role,
                "load/link",
                "it compiles and its types are the contract's",
                CheckResult::Passed,
            );
            let finding = Finding::new(
                config(),
                one_line(cause),
                format!(
                    "{told}.validate returns nothing, or an error in the plugin's own words, within a second"
                ),
            );
            checks.judge(setup.role, "load/validate", "it takes its configuration", Some(finding));
        }
        other => {
            let finding = Finding::new(
                "the component",
                one_line(other),
                format!("the component compiles, and what it imports and exports has the types of {told}"),
            );
            checks.judge(
                setup.role,
                "load/link",
                "it compiles and its types are the contract's",
                Some(finding),
            );
        }
    }
}

/// What a refused configuration means, and what to do.
fn way_out(ctx: &Ctx<'_>, role: Role, config: &Value) -> String {
    let known = ctx.plan.config.is_some() || ctx.files(role).next().is_some();
    if known || !config.is_null() {
        return "give one that it takes, with `--config` or with `config:` of a case file".to_owned();
    }
    "the kit knows none: give it with `--config FILE|JSON`, or with `config:` of a case file (`--cases`)"
        .to_owned()
}

/// The interface that makes a component one of this role.
pub(crate) fn interface(role: Role) -> &'static str {
    match role {
        Role::Admission => "handler",
        Role::Probe => "prober",
        Role::PodSource => "source",
    }
}

async fn load(ctx: &Ctx<'_>, setup: &Setup) -> Result<(), LoadError> {
    // An address for what stands for one in the configuration.
    let setup = setup.at(crate::scene::address());
    match setup.role {
        Role::Admission => ctx.handler(&setup).await.map(drop),
        Role::Probe => ctx.prober(&setup).await.map(drop),
        Role::PodSource => ctx.source(&setup).await.map(drop),
    }
}

/// The one finding about bytes that are no component, or too many.
pub(crate) fn not_a_component(checks: &mut Checks<'_>, error: &InspectError) {
    if let InspectError::NotAComponent(CompileError::TooLarge { bytes }) = error {
        let contract = format!("a component has {COMPONENT_BYTES_MAX} bytes at most");
        let finding = Finding::new(format!("{bytes} bytes"), "the host refuses it", contract);
        return checks.judge(None, SIZE.0, SIZE.1, Some(finding));
    }
    let finding = Finding::new(
        "the file",
        one_line(error),
        "a plugin is a WebAssembly component (not a core module), as `wasm-tools component new`, cargo-component, \
         componentize-py and jco make them",
    );
    checks.judge(None, "load/component", "it is a WebAssembly component", Some(finding));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layer, Silent};

    #[test]
    fn what_is_too_large_is_told_apart_from_what_is_no_component() {
        let told = |error: InspectError| {
            let mut checks = Checks::new(Layer::Load, &Silent);
            not_a_component(&mut checks, &error);
            checks.checks.into_iter().map(|check| (check.id, check.result)).collect::<Vec<_>>()
        };
        let bytes = COMPONENT_BYTES_MAX + 1;
        let large = told(InspectError::NotAComponent(CompileError::TooLarge { bytes }));
        assert!(matches!(&large[..], [("load/size", CheckResult::Failed(_))]), "{large:?}");
        let text = told(InspectError::NotAComponent(CompileError::NotAComponent { found: "it is empty" }));
        assert!(matches!(&text[..], [("load/component", CheckResult::Failed(_))]), "{text:?}");
    }
}
