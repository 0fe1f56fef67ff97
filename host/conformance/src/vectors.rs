//! The layer `vectors`: what the author's cases say, and what every plugin of a role must answer in a well-formed way.

use std::time::Duration;

use witlet_wasm::role::Role;

use crate::cases::matching::{differs, log_text, said};
use crate::cases::model::{Case, CaseFile};
use crate::check::{CheckResult, Checks, Finding, cut};
use crate::ctx::Ctx;
use crate::environment::address::address;
use crate::load::interface;
use crate::plugin::validated;
use crate::plugin_request::PluginRequest;
use crate::plugin_response::{ResponseKind, is};
use crate::scenario::{Scenario, Stage, StageError, StepReport};
use crate::setup::Setup;

const REPEAT: &str = "--only vectors";
/// What a probe has for a target of the kit's at most: it may wait for one on which no server listens.
const TARGET_TIME_MAX: Duration = Duration::from_secs(1);
/// Id of a case of the author's. Finds `skips-what-it-cannot-read`, `no-pods-for-empty`.
const CASE: &str = "vectors/case";
/// What `validate` promises.
pub(crate) const VALIDATES: &str =
    "validate returns nothing, or an error in the plugin's own words, within a second";
/// Any answer that the contract has.
const WELL_FORMED: &str = "an answer that the contract has, or an error in its own words";

/// The golden vectors of plugins, which every one must answer in a well-formed way: names and texts of case files. Those of hosts lie
/// next to them.
const EVERY: [(&str, &str); 4] = [
    ("admission/pods.yaml", include_str!("../vectors/plugin/admission/pods.yaml")),
    ("admission/nodes.yaml", include_str!("../vectors/plugin/admission/nodes.yaml")),
    ("probe/targets.yaml", include_str!("../vectors/plugin/probe/targets.yaml")),
    ("pod-source/folders.yaml", include_str!("../vectors/plugin/pod-source/folders.yaml")),
];

/// Ids of what every plugin must answer, by role.
fn every_id(role: Role) -> &'static str {
    match role {
        Role::Admission => "vectors/every-pod",
        Role::Probe => "vectors/every-target",
        Role::PodSource => "vectors/every-folder",
    }
}

/// Who says what must be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose<'a> {
    /// The author, in this file.
    Author(&'a str),
    /// The contract.
    Every,
}

pub(crate) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    for file in ctx.plan.cases.iter().filter(|file| ctx.has(file.role)) {
        // Of each file alike, so that it is reported once.
        if let Err(error) = ctx.setup_of(file, None) {
            let contract = "limits and grants of a case file are as in a PluginConfiguration";
            let finding = Finding::new(file.name.as_str(), error.to_string(), contract);
            checks.add(file.role, CASE, "its limits and grants can be taken", Some(finding));
            continue;
        }
        for case in &file.cases {
            if let Ok(setup) = ctx.setup_of(file, case.config.as_ref()) {
                let result = carry_out(ctx, &setup, case, Whose::Author(&file.name)).await;
                checks.add(file.role, CASE, case.name.as_str(), result);
            }
        }
    }
    for role in ctx.roles() {
        if ctx.cases(role).next().is_none() {
            let why = "there are no cases of this role: say what it must answer in a case file (`--cases FILE`), or in \
                       `cases.yaml` next to the component";
            checks.skip_all(role, &[("vectors/cases", "it answers as its author says")], why);
        }
    }
    // All of them are case files: a test reads them.
    for file in EVERY.iter().filter_map(|(name, text)| CaseFile::parse(name, text).ok()) {
        // A setup that can't be taken was reported by the layer before.
        if ctx.has(file.role)
            && let Ok(setup) = ctx.setup(file.role)
        {
            every(ctx, checks, &setup, &file).await;
        }
    }
}

/// Asks what every plugin of a role must answer: a probe type with parameters that it takes, a source with the servers of its case.
async fn every(ctx: &Ctx<'_>, checks: &mut Checks<'_>, setup: &Setup, file: &CaseFile) {
    let role = file.role;
    let taken = if role == Role::Probe { taken(ctx, setup).await } else { None };
    let servers = ctx.cases(role).next().map(|(_, case)| case.servers.clone()).unwrap_or_default();
    for case in &file.cases {
        let mut case = case.clone();
        let why = match (role, &taken) {
            (Role::Probe, None) => Some(
                "it refuses all parameters that the kit knows: a case with `parameters` says what it takes",
            ),
            (Role::PodSource, _)
                if setup.guest_paths.is_empty() && case.steps.iter().any(|step| !step.folders.is_empty()) =>
            {
                Some("the kit knows no folder that it reads: a case with `folders` says which")
            }
            (Role::PodSource, _) => {
                case.servers.clone_from(&servers);
                None
            }
            (..) => None,
        };
        for step in &mut case.steps {
            step.question.give(TARGET_TIME_MAX);
            if let (PluginRequest::Probe { request, .. }, Some(parameters)) = (&mut step.question, &taken) {
                request.parameters = parameters.clone();
            }
        }
        let result = match why {
            Some(why) => CheckResult::Skipped { why: why.to_owned() },
            None => carry_out(ctx, setup, &case, Whose::Every).await,
        };
        checks.add(role, every_id(role), case.name.as_str(), result);
    }
}

/// The first parameters that a probe type takes; none if it refuses all that are known. What is no refusal is for the checks to find.
async fn taken(ctx: &Ctx<'_>, setup: &Setup) -> Option<std::sync::Arc<str>> {
    let plugin = ctx.load(setup).await.ok()?;
    for parameters in ctx.parameters() {
        let asked = plugin.ask(&PluginRequest::Check(parameters.clone())).await;
        if !is(&asked.result, ResponseKind::ParametersRefused) {
            return Some(parameters);
        }
    }
    None
}

/// Carries one case out: the first step that comes to something else is the finding.
async fn carry_out(ctx: &Ctx<'_>, setup: &Setup, case: &Case, whose: Whose<'_>) -> CheckResult {
    let found = match (&case.validate, Scenario::beginning(setup, case)) {
        (Some(expect), _) => {
            let says = format!("{}, {}.validate", said(expect, WELL_FORMED), interface(setup.role));
            let seen = match validated(&ctx.load(&setup.at(address())).await) {
                Ok(answered) => differs(expect, &answered, &[], VALIDATES),
                Err(seen) => Some(seen),
            };
            Ok(seen.map(|seen| (seen, says)))
        }
        (None, Some(scenario)) => steps(ctx, &scenario, case).await,
        (None, None) => Ok(None),
    };
    let (input, prefix) = match whose {
        Whose::Author(file) => (format!("case {:?} of {file}", case.name), "the case says: "),
        Whose::Every => (format!("the kit's vector {:?}", case.name), ""),
    };
    let (seen, says) = match found {
        Ok(None) => return CheckResult::Passed,
        Ok(Some(found)) => found,
        Err(error) => match not_run(whose, &error) {
            Some(says) => (error.into(), says.to_owned()),
            None => return CheckResult::Skipped { why: error.into() },
        },
    };
    CheckResult::Failed(Finding::new(input, seen, format!("{prefix}{says}")).repeated_by(REPEAT))
}

/// What a case that couldn't be carried out says. By the plugin's fault it is a finding; where the machine can't set the scene, an
/// author's case is one too, for he counts on it, and one of the kit's own was skipped.
fn not_run(whose: Whose<'_>, error: &StageError) -> Option<&'static str> {
    match (error, whose) {
        (StageError::Load(_), _) => {
            Some("the plugin is loaded with the case's configuration, limits and grants")
        }
        (StageError::Environment(_), Whose::Author(_)) => {
            Some("the case's servers and folders can be had on this machine")
        }
        (StageError::Environment(_), Whose::Every) => None,
    }
}

/// What was seen in the first step that differs, and what the case says.
async fn steps(
    ctx: &Ctx<'_>,
    scenario: &Scenario,
    case: &Case,
) -> Result<Option<(String, String)>, StageError> {
    let mut stage = scenario.stage(ctx).await?;
    for (index, step) in case.steps.iter().enumerate() {
        let StepReport { lines, differs, .. } = stage.carry_out(step).await?;
        let Some(mut seen) = differs else { continue };
        if scenario.setup.role == Role::PodSource {
            seen = format!("step {}: {seen}", index + 1);
        }
        seen.push_str(&around(&stage));
        if !lines.is_empty() && !seen.contains("in the log;") {
            seen = format!("{seen}\nit logged\n{}", log_text(&lines));
        }
        let says = format!("{}, {}", said(&step.expect, WELL_FORMED), step.question.function());
        return Ok(Some((seen, says)));
    }
    Ok(None)
}

/// What servers received and which commands ran, for an author who looks for a fault.
fn around(stage: &Stage) -> String {
    let received = stage.servers.received().into_iter().map(|(port, bytes)| {
        let text = String::from_utf8_lossy(&bytes);
        format!("\nthe server on port {port} received {:?}", cut(text.into_owned()))
    });
    let ran = stage.plugin.commands().into_iter().map(|command| format!("\nit ran {command:?}"));
    received.chain(ran).collect()
}

#[cfg(test)]
mod tests;
