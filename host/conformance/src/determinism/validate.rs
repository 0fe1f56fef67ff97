//! `validate` judges the configuration, and nothing else.

use std::time::Duration;

use witlet_wasm::plugin::{CallError, LoadError};
use witlet_wasm::role::Role;

use super::{REPEAT, both, differing};
use crate::properties::questions::error_told;
use crate::{CheckResult, Checks, Ctx, Finding, Setup};

const AGAIN: (&str, &str) = ("determinism/validate", "the same configuration is judged the same way");
const CLOCK: (&str, &str) =
    ("determinism/other-clock", "a configuration is judged the same way at another time");
const CONTRACT: &str = "validate judges the configuration that it is given: what was taken when the plugin was loaded must be \
                        taken when the node starts again";
/// Another day, another year, another decade.
const AHEAD: [(&str, u64); 3] = [("a day ahead", 1), ("a year ahead", 366), ("twenty years ahead", 20 * 366)];
const DAY: Duration = Duration::from_secs(24 * 3600);

pub(super) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>, role: Role) {
    let setup = match ctx.setup(role) {
        Ok(setup) => setup,
        Err(error) => {
            checks.skip(role, AGAIN.0, AGAIN.1, error.to_string());
            checks.skip(role, CLOCK.0, CLOCK.1, error.to_string());
            return;
        }
    };
    let now = ("now".to_owned(), judged(ctx, &setup).await);
    let again = ("once more".to_owned(), judged(ctx, &setup).await);
    checks.add(role, AGAIN.0, AGAIN.1, result(&setup, &[now.clone(), again]));
    let mut answers = vec![now];
    for (told, days) in AHEAD {
        let days = u32::try_from(days).unwrap_or(u32::MAX);
        let ahead = Setup { clock_ahead: DAY * days, ..setup.clone() };
        answers.push((format!("with the machine's clock {told}"), judged(ctx, &ahead).await));
    }
    checks.add(role, CLOCK.0, CLOCK.1, result(&setup, &answers));
}

fn result(setup: &Setup, answers: &[(String, Option<String>)]) -> CheckResult {
    match differing(answers) {
        None => CheckResult::Passed,
        Some(pair) => {
            let input = format!("configuration {}", setup.config);
            CheckResult::Failed(Finding::new(input, both(pair), CONTRACT).repeated_by(REPEAT))
        }
    }
}

/// What it makes of its configuration when it is loaded.
async fn judged(ctx: &Ctx<'_>, setup: &Setup) -> Option<String> {
    let loaded = match setup.role {
        Role::Admission => ctx.handler(setup).await.map(drop),
        Role::Probe => ctx.prober(setup).await.map(drop),
        Role::PodSource => ctx.source(setup).await.map(drop),
    };
    match loaded {
        Ok(()) => Some("it is content".to_owned()),
        Err(LoadError::Configuration { words }) => Some(format!("an error: {words}")),
        Err(LoadError::Validate(CallError::Refused { words })) => Some(format!("an error: {words}")),
        Err(LoadError::Validate(error)) => error_told(&error),
        Err(other) => Some(other.sentence()),
    }
}
