//! A probe finds what is there now, whatever it found before.

use witlet_core::probe::ProbeOutcome;
use witlet_wasm::plugin::CallError;
use witlet_wasm::role::Role;

use super::{REPEAT, both, differing};
use crate::hostile::stage::{passing, stage};
use crate::properties::questions::error_told;
use crate::{Checks, Ctx, Finding};

const ROLE: Role = Role::Probe;
const CHECK: (&str, &str) = ("determinism/check-parameters", "the same parameters are judged the same way");
const AGAIN: (&str, &str) = ("determinism/probe-again", "a probe that is done again finds the same");
const JUDGES: &str = "prober.check-parameters says whether a probe with these parameters makes sense: asked once, before the \
                      first probe with them";
const ONCE: &str = "prober.probe probes once: what it finds doesn't depend on probes before";
/// How often the same instance probes the same.
const CALLS: usize = 4;
/// How many cases are probed again.
const CASES_MAX: usize = 6;

pub(super) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    match check(ctx).await {
        Ok(found) => checks.judge(ROLE, CHECK.0, CHECK.1, found),
        Err(why) => checks.skip(ROLE, CHECK.0, CHECK.1, why),
    }
    match again(ctx).await {
        Ok(found) => checks.judge(ROLE, AGAIN.0, AGAIN.1, found),
        Err(why) => checks.skip(ROLE, AGAIN.0, AGAIN.1, why),
    }
}

async fn check(ctx: &Ctx<'_>) -> Result<Option<Finding>, String> {
    let setup = ctx.setup(ROLE).map_err(|error| error.to_string())?;
    let load = |setup| async move { ctx.prober(&setup).await.map_err(|error| error.sentence()) };
    let (fresh, warm) = (load(setup.clone()).await?, load(setup.warmed(ctx.plan.warm)).await?);
    for parameters in ctx.parameters() {
        let mut answers = Vec::new();
        for (place, prober) in
            [("a fresh instance", &fresh), ("a kept one", &warm), ("the kept one again", &warm)]
        {
            let told = match prober.check(&parameters).await.result {
                Ok(()) => Some("it is content".to_owned()),
                Err(error) => error_told(&error),
            };
            answers.push((place.to_owned(), told));
        }
        if let Some(pair) = differing(&answers) {
            let finding = Finding::new(format!("parameters {parameters}"), both(pair), JUDGES);
            return Ok(Some(finding.repeated_by(REPEAT)));
        }
    }
    Ok(None)
}

async fn again(ctx: &Ctx<'_>) -> Result<Option<Finding>, String> {
    let cases = passing(ctx);
    if cases.is_empty() {
        return Err("there is no case in which a probe passes: add one (--cases)".to_owned());
    }
    for (file, case) in cases.into_iter().take(CASES_MAX) {
        let warm = ctx.plan.warm;
        let staged = stage(ctx, file, case, &case.servers, |setup| setup.warm = Some(warm)).await?;
        let mut answers = Vec::new();
        for call in 1..=CALLS {
            let asked = staged.prober.check_and_probe(&staged.request).await;
            answers.push((format!("probe {call}"), word(&asked.result)));
        }
        if let Some(pair) = differing(&answers) {
            let finding = Finding::new(format!("case {:?}, again and again", case.name), both(pair), ONCE);
            return Ok(Some(finding.repeated_by(REPEAT)));
        }
    }
    Ok(None)
}

/// What a probe found, without its details: they may hold times.
fn word(result: &Result<ProbeOutcome, CallError>) -> Option<String> {
    match result {
        Ok(ProbeOutcome::Success(_)) => Some("success".to_owned()),
        Ok(ProbeOutcome::Warning(_)) => Some("warning".to_owned()),
        Ok(ProbeOutcome::Failure(_)) => Some("failure".to_owned()),
        Err(CallError::Refused { .. }) => Some("an error".to_owned()),
        Err(error) => error_told(error),
    }
}
