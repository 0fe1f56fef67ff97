//! The layer `vectors`: what the author's cases say, and what every plugin of a role must answer in a well-formed way.

mod cases;
mod files;

pub use files::{host, plugin};

use serde_json::Value;
use witlet_wasm::plugin::CallError;
use witlet_wasm::role::Role;

use crate::cases::{CaseFile, Cases, ProbeCase, SourceCase};
use crate::{Checks, Ctx, Setup};

/// Examines this layer.
pub(crate) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    for file in ctx.plan.cases.iter().filter(|file| ctx.has(file.role())) {
        cases::carry_out(ctx, checks, file).await;
    }
    for role in ctx.roles() {
        if ctx.files(role).all(CaseFile::is_empty) {
            let why = "there are no cases of this role: say what it must answer in a case file (`--cases FILE`), or in \
                       `cases.yaml` beside the component";
            checks.skip(role, "vectors/cases", "it answers as its author says", why);
        }
    }
    for file in plugin() {
        let role = file.role();
        // A setup that can't be taken was told by the layer before.
        if ctx.has(role)
            && let Ok(setup) = ctx.setup(role)
        {
            every(ctx, checks, &setup, &file).await;
        }
    }
}

/// The first parameters that a probe type takes; none if it refuses all that are known. What is no refusal is for the checks to
/// find.
async fn taken(ctx: &Ctx<'_>, setup: &Setup) -> Option<Value> {
    let prober = ctx.prober(setup).await.ok()?;
    for parameters in ctx.parameters() {
        match prober.check(&parameters).await.result {
            Err(CallError::Refused { .. }) => {}
            Ok(()) | Err(_) => return Some(parameters),
        }
    }
    None
}

/// Asks what every plugin of a role must answer.
async fn every(ctx: &Ctx<'_>, checks: &mut Checks<'_>, setup: &Setup, file: &CaseFile) {
    match &file.cases {
        Cases::Admission(asked) => {
            for case in asked {
                cases::admission(ctx, checks, setup, case, cases::Whose::Every).await;
            }
        }
        Cases::Probe(asked) => {
            let parameters = taken(ctx, setup).await;
            for case in asked {
                let Some(parameters) = &parameters else {
                    let why = "it refuses all parameters that the kit knows: a case with `parameters` says what it takes";
                    checks.skip(Role::Probe, cases::EVERY_PROBER, case.name.as_str(), why);
                    continue;
                };
                let case = ProbeCase { parameters: parameters.clone(), ..case.clone() };
                cases::probe(ctx, checks, setup, &case, cases::Whose::Every).await;
            }
        }
        Cases::PodSource(asked) => {
            let servers = ctx.source_cases().next().map(|(_, case)| case.servers.clone()).unwrap_or_default();
            for case in asked {
                if setup.guest_paths.is_empty() && case.steps.iter().any(|step| !step.folders.is_empty()) {
                    let why = "the kit knows no folder that it reads: a case with `folders` says which";
                    checks.skip(Role::PodSource, cases::EVERY_SOURCE, case.name.as_str(), why);
                    continue;
                }
                let case = SourceCase { servers: servers.clone(), ..case.clone() };
                cases::source(ctx, checks, setup, &case, cases::Whose::Every).await;
            }
        }
    }
}
