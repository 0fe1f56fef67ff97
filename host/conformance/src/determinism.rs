//! The layer `determinism`: the same question gets the same answer, after any other question, in any instance, at any time of the
//! machine's clock.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use witlet_core::admission::AdmissionRequest;
use witlet_core::error::one_line;
use witlet_wasm::role::Role;

use crate::check::{Checks, Finding, Named, Tried};
use crate::ctx::Ctx;
use crate::plugin::validated;
use crate::plugin_request::PluginRequest;
use crate::plugin_response::comparable;
use crate::scenario::{Scenario, scenarios};
use crate::setup::Setup;

/// Finds `validate-reads-the-clock`.
const CLOCK: Named = ("determinism/other-clock", "a configuration is judged the same way at another time");
const VALIDATES: &str = "validate judges the configuration that it is given: what was taken when the plugin was loaded must be \
                         taken when the node starts again";
/// Another day, another year, another decade.
const DAYS_AHEAD: [(&str, u32); 4] = [
    ("now", 0),
    ("with the machine's clock a day ahead", 1),
    ("with the machine's clock a year ahead", 366),
    ("with the machine's clock twenty years ahead", 20 * 366),
];
const DAY: Duration = Duration::from_secs(24 * 3600);

const VERDICT: &str = "handler.admit: the verdict must be a function of the request and the configuration: the same question gets \
                       the same answer, in a fresh instance and in a used one";

/// How often the same instance is asked the same.
const CALLS: usize = 6;
/// How often it is asked the first question: who keeps count may begin late.
const WARM_CALLS: usize = 256;
/// How many answers may be late before an instance isn't asked again: an endless one would take all day.
const LATE_MAX: usize = 6;
/// What random numbers are made from, one after the other.
const SALTS: [&str; 5] = ["one", "two", "three", "four", "five"];

/// A check of a handler, and what is asked before or around the question.
///
/// What a probe finds and what a source has is the world's business: `properties/unchanged-world` checks one that stays the same.
struct Same {
    check: Named,
    tries: fn(&Ctx<'_>, &Scenario, &Scenario) -> Vec<Try>,
}

const SAME: [Same; 3] = [
    // Finds `counts-calls`, `tires-after-a-hundred-calls`.
    Same {
        check: ("determinism/warm-instance", "an instance that was asked before gives the same verdict"),
        tries: |ctx, scenario, _| vec![Try { calls: WARM_CALLS, ..Try::warm(ctx, scenario, "one instance") }],
    },
    // Finds `keeps-the-time`, `keeps-the-first-namespace`, `caches-by-name`.
    Same {
        check: (
            "determinism/after-other-questions",
            "an instance that was asked something else gives the same verdict",
        ),
        tries: after_others,
    },
    // Finds `draws-lots`, `follows-its-hash-map`.
    Same {
        check: ("determinism/random-numbers", "other random numbers give the same verdict"),
        tries: |_, scenario, _| {
            let salted = |salt: &str| {
                Try::new(&scenario.setup, "with other random numbers")
                    .with(|setup| setup.random_salt = salt.into())
            };
            SALTS.map(salted).into()
        },
    },
];

pub(crate) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    for role in ctx.roles() {
        checks.named(role, CLOCK, validate(ctx, role).await);
    }
    if ctx.has(Role::Admission) {
        for same in &SAME {
            checks.named(Role::Admission, same.check, examine_one(ctx, same).await);
        }
    }
}

async fn examine_one(ctx: &Ctx<'_>, same: &Same) -> Tried {
    let all = scenarios(ctx, Role::Admission)?;
    for (index, scenario) in all.iter().enumerate() {
        let mut answers = Vec::new();
        Try::new(&scenario.setup, "a fresh instance").answer(ctx, scenario, &mut answers).await?;
        for mut one in (same.tries)(ctx, scenario, &all[(index + 1) % all.len()]) {
            if index > 0 {
                one.calls = one.calls.min(CALLS);
            }
            one.answer(ctx, scenario, &mut answers).await?;
        }
        if let Some(seen) = differing(&answers) {
            return Ok(Some(Finding::new(scenario.shown(), seen, VERDICT)));
        }
    }
    Ok(None)
}

/// A plugin that is loaded for a scenario, asked something else first, and then the scenario's question so often.
struct Try {
    place: String,
    setup: Setup,
    before: Option<PluginRequest>,
    calls: usize,
}

impl Try {
    fn new(setup: &Setup, place: &str) -> Self {
        Self { place: place.to_owned(), setup: setup.clone(), before: None, calls: 1 }
    }

    fn warm(ctx: &Ctx<'_>, scenario: &Scenario, place: &str) -> Self {
        Self::new(&scenario.setup, place).with(|setup| setup.warm = Some(ctx.plan.warm))
    }

    fn with(mut self, change: impl FnOnce(&mut Setup)) -> Self {
        change(&mut self.setup);
        self
    }

    async fn answer(
        self,
        ctx: &Ctx<'_>,
        scenario: &Scenario,
        answers: &mut Vec<(String, Option<String>)>,
    ) -> Result<(), String> {
        let Self { place, setup, before, calls } = self;
        let mut stage = scenario.with(|scenario| scenario.setup = setup).stage(ctx).await?;
        if let Some(before) = before {
            // What it says to that isn't the question.
            stage.ask_this(&before).await;
        }
        let mut late = 0;
        for call in 1..=calls {
            let answer = comparable(&stage.ask().await.result);
            late += usize::from(answer.is_none());
            let of_calls = || format!("call {call} of {place}");
            answers.push((if calls == 1 { place.clone() } else { of_calls() }, answer));
            if late == LATE_MAX {
                break;
            }
        }
        Ok(())
    }
}

/// Asks an instance before: another question, one about a pod that has only the name in common, and one of yesterday.
fn after_others(ctx: &Ctx<'_>, scenario: &Scenario, next: &Scenario) -> Vec<Try> {
    let PluginRequest::Admit(request, _) = &scenario.question else { return Vec::new() };
    let yesterday = request.now.checked_sub(DAY).unwrap_or(request.now);
    let yesterday = AdmissionRequest { now: yesterday, ..*request.clone() };
    let others = [
        (format!("after {}", next.name), next.question.clone()),
        ("after a pod of the same name and other labels".to_owned(), PluginRequest::admit(namesake(request))),
        ("after a pod of another namespace".to_owned(), PluginRequest::admit(elsewhere(request))),
        ("after a question of yesterday".to_owned(), PluginRequest::admit(yesterday)),
    ];
    others.map(|(place, before)| Try { before: Some(before), ..Try::warm(ctx, scenario, &place) }).into()
}

/// About another pod of the same name: with a label if the other has none, without any if it has some.
fn namesake(request: &AdmissionRequest) -> AdmissionRequest {
    let mut pod = Pod::clone(&request.pod);
    pod.metadata.uid = Some("uid-of-a-namesake".to_owned());
    pod.metadata.labels = match pod.metadata.labels.as_ref().is_none_or(|labels| labels.is_empty()) {
        true => Some([("example.com/namesake".to_owned(), "yes".to_owned())].into()),
        false => None,
    };
    AdmissionRequest { pod: Arc::new(pod), ..request.clone() }
}

fn elsewhere(request: &AdmissionRequest) -> AdmissionRequest {
    let mut pod = Pod::clone(&request.pod);
    pod.metadata.uid = Some("uid-from-elsewhere".to_owned());
    pod.metadata.namespace = Some("elsewhere".to_owned());
    AdmissionRequest { pod: Arc::new(pod), ..request.clone() }
}

/// Whether `validate` judges the configuration, and nothing else.
async fn validate(ctx: &Ctx<'_>, role: Role) -> Tried {
    let setup = ctx.setup(role)?;
    let mut answers = Vec::new();
    for (condition, days) in DAYS_AHEAD {
        let ahead = Setup { clock_ahead: DAY * days, ..setup.clone() };
        answers.push((condition.to_owned(), judged(ctx, &ahead).await));
    }
    Ok(differing(&answers).map(|seen| {
        let input = format!("configuration {}", setup.config);
        Finding::new(input, seen, VALIDATES)
    }))
}

/// Returns what it makes of its configuration when it is loaded.
async fn judged(ctx: &Ctx<'_>, setup: &Setup) -> Option<String> {
    let answered = validated(ctx.load(setup).await);
    answered.map_or_else(|error| Some(one_line(&error)), |answered| comparable(&answered))
}

/// The first two answers that differ, with where each came from. What has no answer says nothing.
fn differing(answers: &[(String, Option<String>)]) -> Option<String> {
    let mut given = answers.iter().filter_map(|(place, answer)| Some((place, answer.as_ref()?)));
    let first = given.next()?;
    let other = given.find(|(_, answer)| *answer != first.1)?;
    Some(format!("{}: {}; {}: {}", first.0, first.1, other.0, other.1))
}

#[cfg(test)]
mod tests;
