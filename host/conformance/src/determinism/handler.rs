//! A verdict is a function of the request and the configuration.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use witlet_core::admission::AdmissionRequest;
use witlet_wasm::role::Role;

use super::{REPEAT, both, differing};
use crate::ctx::Handler;
use crate::properties::questions::{Group, Named, at, groups, shown, verdict_told};
use crate::{Checks, Ctx, Finding, Setup};

const ROLE: Role = Role::Admission;
const FRESH: (&str, &str) = ("determinism/fresh-instance", "two fresh instances give the same verdict");
const WARM: (&str, &str) =
    ("determinism/warm-instance", "an instance that was asked before gives the same verdict");
const OTHERS: (&str, &str) =
    ("determinism/after-other-questions", "an instance that was asked something else gives the same verdict");
const RANDOM: (&str, &str) = ("determinism/random-numbers", "other random numbers give the same verdict");
const CONTRACT: &str = "handler.admit: the verdict must be a function of the request and the configuration: the same question \
                        gets the same answer, in a fresh instance and in a used one";

/// How often the same instance is asked the same.
const WARM_CALLS: usize = 6;
/// How often it is asked the first question: who keeps count may begin late.
const FIRST_WARM_CALLS: usize = 256;
/// How many answers may be late before an instance isn't asked again: an endless one would take all day.
const LATE_MAX: usize = 6;
/// What random numbers are made from, one after the other.
const SALTS: [&str; 5] = ["one", "two", "three", "four", "five"];
/// How long ago a question was that is asked before another one.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Questions of a group, with what a fresh instance says.
struct Known {
    group: Group,
    answers: Vec<Option<String>>,
}

pub(super) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    let known = match ask_all(ctx).await {
        Ok((known, found)) => {
            checks.judge(ROLE, FRESH.0, FRESH.1, found);
            known
        }
        Err(why) => {
            for (id, title) in [FRESH, WARM, OTHERS, RANDOM] {
                checks.skip(ROLE, id, title, why.clone());
            }
            return;
        }
    };
    match warm(ctx, &known).await {
        Ok(found) => checks.judge(ROLE, WARM.0, WARM.1, found),
        Err(why) => checks.skip(ROLE, WARM.0, WARM.1, why),
    }
    match after_others(ctx, &known).await {
        Ok(found) => checks.judge(ROLE, OTHERS.0, OTHERS.1, found),
        Err(why) => checks.skip(ROLE, OTHERS.0, OTHERS.1, why),
    }
    match random(ctx, &known).await {
        Ok(found) => checks.judge(ROLE, RANDOM.0, RANDOM.1, found),
        Err(why) => checks.skip(ROLE, RANDOM.0, RANDOM.1, why),
    }
}

async fn load(ctx: &Ctx<'_>, setup: &Setup) -> Result<Handler, String> {
    let loaded = ctx.handler(setup).await;
    loaded.map_err(|error| format!("it can't be loaded as its cases say: {}", error.sentence()))
}

async fn told(handler: &Handler, request: &AdmissionRequest) -> Option<String> {
    verdict_told(&handler.ask(request).await.result)
}

fn finding(named: &Named, answers: &[(String, Option<String>)]) -> Option<Finding> {
    let pair = differing(answers)?;
    Some(Finding::new(shown(&named.name, &named.request), both(pair), CONTRACT).repeated_by(REPEAT))
}

/// Asks each question of two fresh instances.
async fn ask_all(ctx: &Ctx<'_>) -> Result<(Vec<Known>, Option<Finding>), String> {
    let (mut all, mut found) = (Vec::new(), None);
    for group in groups(ctx)? {
        let handler = load(ctx, &group.setup).await?;
        let mut answers = Vec::with_capacity(group.questions.len());
        for named in &group.questions {
            let first = told(&handler, &named.request).await;
            let second = told(&handler, &named.request).await;
            answers.push(first.clone());
            let both =
                [("a fresh instance".to_owned(), first), ("another fresh instance".to_owned(), second)];
            found = found.or_else(|| finding(named, &both));
        }
        all.push(Known { group, answers });
    }
    Ok((all, found))
}

/// Asks each question of one instance again and again.
async fn warm(ctx: &Ctx<'_>, known: &[Known]) -> Result<Option<Finding>, String> {
    for Known { group, answers } in known {
        for (index, (named, fresh)) in group.questions.iter().zip(answers).enumerate() {
            let handler = load(ctx, &group.setup.warmed(ctx.plan.warm)).await?;
            let mut answers = vec![("a fresh instance".to_owned(), fresh.clone())];
            let calls = if index == 0 { FIRST_WARM_CALLS } else { WARM_CALLS };
            let mut late = 0;
            for call in 1..=calls {
                let answer = told(&handler, &named.request).await;
                late += usize::from(answer.is_none());
                answers.push((format!("call {call} of one instance"), answer));
                if late == LATE_MAX {
                    break;
                }
            }
            if let Some(found) = finding(named, &answers) {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

/// Asks each question of an instance that was asked something else before: another question, one about a pod that has only the
/// name in common, and one of yesterday.
async fn after_others(ctx: &Ctx<'_>, known: &[Known]) -> Result<Option<Finding>, String> {
    for Known { group, answers } in known {
        for (index, (named, fresh)) in group.questions.iter().zip(answers).enumerate() {
            let before = &group.questions[(index + 1) % group.questions.len()];
            let others = [
                (format!("after {}", before.name), before.request.clone()),
                ("after a pod of the same name and other labels".to_owned(), namesake(&named.request)),
                ("after a pod of another namespace".to_owned(), elsewhere(&named.request)),
                ("after a question of yesterday".to_owned(), yesterday(&named.request)),
            ];
            for (place, other) in others {
                let handler = load(ctx, &group.setup.warmed(ctx.plan.warm)).await?;
                // What it says to that isn't the question.
                told(&handler, &other).await;
                let used = told(&handler, &named.request).await;
                let answers = [("a fresh instance".to_owned(), fresh.clone()), (place, used)];
                if let Some(found) = finding(named, &answers) {
                    return Ok(Some(found));
                }
            }
        }
    }
    Ok(None)
}

/// Asks each question of instances whose random numbers are others.
async fn random(ctx: &Ctx<'_>, known: &[Known]) -> Result<Option<Finding>, String> {
    for Known { group, answers } in known {
        for salt in SALTS {
            let setup = Setup { random_salt: salt.into(), ..group.setup.clone() };
            let handler = load(ctx, &setup).await?;
            for (named, fresh) in group.questions.iter().zip(answers) {
                let other = told(&handler, &named.request).await;
                let answers = [
                    ("a fresh instance".to_owned(), fresh.clone()),
                    ("with other random numbers".to_owned(), other),
                ];
                if let Some(found) = finding(named, &answers) {
                    return Ok(Some(found));
                }
            }
        }
    }
    Ok(None)
}

fn yesterday(request: &AdmissionRequest) -> AdmissionRequest {
    at(request, request.now.checked_sub(DAY).unwrap_or(request.now))
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

#[cfg(test)]
mod tests {
    use serde_json::json;
    use witlet_core::admission::Operation;

    use super::*;
    use crate::properties::questions::request;

    #[test]
    fn pods_asked_about_before_differ_in_what_they_say() {
        let labelled = request(
            Operation::Add,
            json!({"metadata": {"name": "a", "namespace": "n", "labels": {"a": "b"}}}),
        );
        let plain = request(Operation::Add, json!({"metadata": {"name": "a", "namespace": "n"}}));
        assert_eq!(namesake(&labelled).pod.metadata.labels, None);
        assert!(namesake(&plain).pod.metadata.labels.is_some());
        for other in [namesake(&plain), elsewhere(&plain)] {
            assert_eq!(other.pod.metadata.name, plain.pod.metadata.name);
            assert_ne!(other.pod.metadata.uid, plain.pod.metadata.uid);
        }
        assert_ne!(elsewhere(&plain).pod.metadata.namespace, plain.pod.metadata.namespace);
        assert_eq!(yesterday(&plain).now.duration_until(plain.now).as_secs(), 24 * 3600);
    }
}
