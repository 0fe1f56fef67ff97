//! The layer `vectors`: what the author's cases say, and what every plugin of a role must answer in a well-formed way.

use std::time::Duration;

use witlet_wasm::role::Role;

use crate::case_run::{CaseRun, ReceivedBytes};
use crate::cases::matching::{log_text, said};
use crate::cases::model::{Case, CaseFile};
use crate::check::{CheckResult, Checks, Finding};
use crate::ctx::Ctx;
use crate::plugin_request::PluginRequest;
use crate::plugin_response::{ResponseKind, is};
use crate::scenario::StageError;
use crate::setup::Setup;

/// What a probe has for a target of the kit's at most: it may wait for one on which no server listens.
const TARGET_TIME_MAX: Duration = Duration::from_secs(1);
/// Id of a case of the author's. Finds `skips-what-it-cannot-read`, `no-pods-for-empty`.
const CASE: &str = "vectors/case";
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
enum Whose {
    Author,
    Every,
}

pub(crate) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    for file in ctx.plan.cases.iter().filter(|file| ctx.has(file.role)) {
        // Of each file alike, so that it is reported once.
        if let Err(error) = ctx.setup_of(file, None) {
            let contract = "limits and grants of a case file are as in a PluginConfiguration";
            let finding = Finding::new(file.name.as_str(), error, contract);
            checks.add(file.role, CASE, "its limits and grants can be taken", Some(finding));
            continue;
        }
        for case in &file.cases {
            if let Ok(setup) = ctx.setup_of(file, case.config.as_ref()) {
                let result = carry_out(ctx, &setup, file, case, Whose::Author).await;
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
            None => carry_out(ctx, setup, file, &case, Whose::Every).await,
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

/// Carries one case out: the first call that comes to something else is the finding.
async fn carry_out(ctx: &Ctx<'_>, setup: &Setup, file: &CaseFile, case: &Case, whose: Whose) -> CheckResult {
    let mut run = CaseRun::new(file, case);
    let (seen, says) = match run.carry_out(ctx, setup, case, false).await {
        Ok(()) => match different(&run, case) {
            Some(found) => found,
            None => return CheckResult::Passed,
        },
        Err(error) => match not_run(whose, &error) {
            Some(says) => (error.into(), says.to_owned()),
            None => return CheckResult::Skipped { why: error.into() },
        },
    };
    let (input, prefix) = match whose {
        Whose::Author => (format!("case {:?} of {}", case.name, file.name), "the case says: "),
        Whose::Every => (format!("the kit's vector {:?}", case.name), ""),
    };
    CheckResult::Failed(Finding::new(input, seen, format!("{prefix}{says}")))
}

/// Returns what a case that couldn't be carried out says. By the plugin's fault it is a finding; where the machine can't prepare it, an
/// author's case is one too, because it counts on it, and one of the kit's own was skipped.
fn not_run(whose: Whose, error: &StageError) -> Option<&'static str> {
    match (error, whose) {
        (StageError::Load(_), _) => {
            Some("the plugin is loaded with the case's configuration, limits and grants")
        }
        (StageError::Environment(_), Whose::Author) => {
            Some("the case's servers and folders can be had on this machine")
        }
        (StageError::Environment(_), Whose::Every) => None,
    }
}

/// Returns what was seen in the first call that came to something else, with what happened around it, for an author who looks for a fault; and
/// what the case says.
fn different(run: &CaseRun, case: &Case) -> Option<(String, String)> {
    let (index, call) = run.calls.iter().enumerate().find(|(_, call)| call.differs.is_some())?;
    let mut seen = call.differs.clone().unwrap_or_default();
    if run.role == Role::PodSource && case.validate.is_none() {
        seen = format!("step {}: {seen}", index + 1);
    }
    let received = run.received.iter();
    seen.extend(
        received.map(|ReceivedBytes { port, text }| format!("\nthe server on port {port} received {text:?}")),
    );
    seen.extend(call.commands.iter().map(|command| format!("\nit ran {command:?}")));
    if !call.log.is_empty() && !seen.contains("in the log;") {
        seen = format!("{seen}\nit logged\n{}", log_text(&call.log));
    }
    let expect = case.validate.as_ref().unwrap_or_else(|| &case.steps[index].expect);
    Some((seen, format!("{}, {}", said(expect, WELL_FORMED), call.function)))
}

#[cfg(test)]
mod tests;
