//! The layer `load`: what a component is, whether it fits this host, and whether it takes its configuration.

mod manifest;

use serde_json::Value;
use witlet_core::error::one_line;
use witlet_wasm::compile::{COMPONENT_BYTES_MAX, CompileError};
use witlet_wasm::inspect::InspectError;
use witlet_wasm::limits::Limits;
use witlet_wasm::role::Role;

use crate::check::{CheckResult, Checks, Finding, Named};
use crate::ctx::Ctx;
use crate::environment::address::address;
use crate::plugin::validated;
use crate::plugin_response::{ResponseKind, failure};
use crate::setup::Setup;

const SIZE: Named = ("load/size", "it is no larger than a component may be");

const LINK: Named = ("load/link", "it compiles and its types are the contract's");
const VALIDATE: Named = ("load/validate", "it takes its configuration");

pub(crate) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    component(ctx, checks);
    cases(ctx, checks);
    manifest::examine(ctx, checks);
    for role in ctx.roles() {
        let setup = match ctx.setup(role) {
            Ok(setup) => setup,
            Err(error) => {
                let contract = "limits and grants are as in a PluginConfiguration";
                let finding = Finding::new("limits and grants", error, contract);
                checks.add(role, "load/setup", "its limits and grants can be taken", Some(finding));
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
    checks.add(None, "load/world", format!("it has a role and links: {}", list(&roles)), obstacles);
    // A larger one isn't even inspected: see `not_a_component`.
    checks.named(None, SIZE, CheckResult::Passed);
}

/// Case files are about roles that the component has.
fn cases(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    // Without a role the finding is that.
    if ctx.inspection.roles.is_empty() {
        return;
    }
    // Of the component's roles, whether the plan examines them or not.
    let served = |role: Role| ctx.inspection.roles.iter().any(|served| served.role == role);
    for file in ctx.plan.cases.iter().filter(|file| !served(file.role)) {
        let finding = Finding::new(
            file.name.as_str(),
            format!("its cases are of the role {}, which the component doesn't have", file.role),
            "a case file names a role of the component; `--cases` names files in place of those next to it",
        );
        checks.add(file.role, "load/cases", "case files are of its roles", Some(finding));
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
    checks.add(setup.role, "load/needs", title, finding);
    fault.is_none()
}

/// Whether it is granted what it can't be loaded without.
fn grants(ctx: &Ctx<'_>, checks: &mut Checks<'_>, setup: &Setup) -> bool {
    let granted = setup.grants().map(|grants| grants.names()).unwrap_or_default();
    let needed = &ctx.inspection.needs_grants;
    let missing: Vec<&str> =
        needed.iter().copied().filter(|name| !granted.iter().any(|granted| granted == name)).collect();
    let finding = (!missing.is_empty()).then(|| {
        let shown = if setup.grants.is_null() { "no grants".to_owned() } else { format!("grants: {}", setup.grants) };
        Finding::new(
            shown,
            format!("it imports what needs the grants {}", missing.join(" and ")),
            "witlet:host/secret needs the grant `secrets`, witlet:probe/exec the grant `exec`: add them with `--grants`, \
             or with `grants:` of a case file",
        )
    });
    checks.add(setup.role, "load/grants", "it is granted what it can't be loaded without", finding);
    missing.is_empty()
}

/// Compiles and links it, and has it check its configuration.
async fn validate(ctx: &Ctx<'_>, checks: &mut Checks<'_>, setup: &Setup) {
    let interface = interface(setup.role);
    // An address for what stands for one in the configuration.
    let answered = match validated(ctx.load(&setup.at(address())).await) {
        Ok(answered) => answered,
        Err(error) => {
            let contract = format!(
                "the component compiles, and what it imports and exports has the types of {interface}"
            );
            let finding = Finding::new("the component", one_line(&error), contract);
            return checks.named(setup.role, LINK, Some(finding));
        }
    };
    checks.named(setup.role, LINK, CheckResult::Passed);
    let finding = match &answered {
        Ok(answer) if answer.kind == ResponseKind::Error => {
            let out = way_out(ctx, setup.role, &setup.config);
            let contract =
                format!("{interface}.validate takes the configuration that the plugin is used with: {out}");
            Some((format!("validate refuses it: {:?}", answer.text), contract))
        }
        answered => failure(answered, "").map(|fault| {
            let returns = "returns nothing, or an error in the plugin's own words, within a second";
            (fault.seen, format!("{interface}.validate {returns}"))
        }),
    };
    let config = format!("config: {}", setup.config);
    checks.named(setup.role, VALIDATE, finding.map(|(seen, contract)| Finding::new(config, seen, contract)));
}

/// Returns what a refused configuration means, and what to do.
fn way_out(ctx: &Ctx<'_>, role: Role, config: &Value) -> String {
    let known = ctx.plan.config.is_some() || ctx.cases(role).next().is_some();
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

/// The one finding about bytes that are no component, or too many.
pub(crate) fn not_a_component(checks: &mut Checks<'_>, error: &InspectError) {
    if let InspectError::NotAComponent(CompileError::TooLarge { bytes }) = error {
        let contract = format!("a component has {COMPONENT_BYTES_MAX} bytes at most");
        let finding = Finding::new(format!("{bytes} bytes"), "the host refuses it", contract);
        return checks.named(None, SIZE, Some(finding));
    }
    let finding = Finding::new(
        "the file",
        one_line(error),
        "a plugin is a WebAssembly component (not a core module), as `wasm-tools component new`, cargo-component, \
         componentize-py and jco make them",
    );
    checks.add(None, "load/component", "it is a WebAssembly component", Some(finding));
}

#[cfg(test)]
mod tests;
