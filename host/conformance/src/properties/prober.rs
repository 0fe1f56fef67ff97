//! Properties of probe types.

use std::net::IpAddr;
use std::time::Duration;

use serde_json::Value;
use witlet_core::probe::{ProbeKind, ProbeRequest};
use witlet_wasm::plugin::CallError;
use witlet_wasm::role::Role;

use super::questions::{error_told, passes};
use super::search::Search;
use super::{answers, pods, repeat};
use crate::cases::probe_request;
use crate::ctx::Prober;
use crate::{Checks, Ctx, Finding};

const ROLE: Role = Role::Probe;
const OUTCOMES: (&str, &str) = ("properties/outcomes", "every target gets an outcome that the contract has");
const NOTATION: (&str, &str) =
    ("properties/parameters-notation", "parameters that are written otherwise are the same parameters");
const JSON: &str = "prober.check-parameters and prober.probe get parameters as a JSON object, in which order and space mean \
                    nothing (RFC 8259)";

/// How many generated targets are probed: each one may take all its time.
const TARGETS_MAX: u32 = 16;
/// What each of them has.
const TIME: Duration = Duration::from_millis(500);

pub(super) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    match ctx.planned_prober().await {
        Ok(prober) => {
            let found = outcomes(ctx, &prober).await;
            checks.judge(ROLE, OUTCOMES.0, OUTCOMES.1, found);
            let found = notations(ctx, &prober).await;
            checks.judge(ROLE, NOTATION.0, NOTATION.1, found);
        }
        Err(why) => {
            for (id, title) in [OUTCOMES, NOTATION] {
                checks.skip(ROLE, id, title, why.clone());
            }
        }
    }
}

/// A target where nobody listens.
pub(crate) fn target(pod: k8s_openapi::api::core::v1::Pod, parameters: &str) -> ProbeRequest {
    ProbeRequest {
        parameters: parameters.into(),
        pod_ips: vec![nobody()],
        timeout: TIME,
        ..probe_request(pod, ProbeKind::Readiness)
    }
}

/// An address of the loopback network on which nobody of the kit's listens.
pub(crate) fn nobody() -> IpAddr {
    crate::scene::address()
}

/// Generated targets, with all parameters that are known.
async fn outcomes(ctx: &Ctx<'_>, prober: &Prober) -> Option<Finding> {
    let parameters = ctx.parameters();
    let cases = ctx.plan.property_cases.min(TARGETS_MAX);
    let mut search = Search::new(ctx.plan.seed, cases, pods::drafts);
    while let Some(draft) = search.next() {
        let mut found = None;
        for parameters in &parameters {
            let request = target(draft.pod(), &parameters.to_string());
            let asked = prober.check_and_probe(&request).await;
            let input = || format!("parameters {parameters} for a generated pod: {}", draft.json());
            found = found.or(answers::outcome(&asked.result).map(|fault| fault.on(input())));
        }
        search.told(draft, found);
    }
    search.found().map(|(_, finding)| finding.repeated_by(repeat(ctx)))
}

/// The parameters that are known, in other words of JSON.
async fn notations(ctx: &Ctx<'_>, prober: &Prober) -> Option<Finding> {
    for parameters in ctx.parameters() {
        let first = judged(prober, &parameters.to_string()).await?;
        for text in otherwise(&parameters) {
            let second = judged(prober, &text).await?;
            if first != second {
                let input = format!("parameters {parameters}, and then {text}");
                return Some(Finding::new(input, format!("{first}, and then {second}"), JSON));
            }
        }
    }
    None
}

/// What a plugin makes of parameters, in words that are the same for the same answer. None if it was too busy to say.
async fn judged(prober: &Prober, parameters: &str) -> Option<&'static str> {
    let asked = prober.check_and_probe(&target(Default::default(), parameters)).await;
    match &asked.result {
        Ok(_) if passes(&asked.result) => Some("it passes"),
        Ok(_) => Some("it fails"),
        Err(CallError::Refused { .. }) => Some("an error"),
        Err(error) => error_told(error).map(|_| "no answer"),
    }
}

/// The same JSON with space between everything, and with the fields of its objects the other way round.
fn otherwise(value: &Value) -> Vec<String> {
    let spaced = format!(" {value:#} \n");
    let turned = turned(value);
    let mut others = vec![spaced, turned];
    let as_it_is = value.to_string();
    others.retain(|other| *other != as_it_is);
    others
}

fn turned(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .rev()
                .map(|(name, field)| format!("{}:{}", Value::from(name.as_str()), turned(field)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(turned).collect::<Vec<_>>().join(",")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn other_notations_are_the_same_json() {
        let value = json!({"port": 1, "a": {"c": [1, "\"x\""], "b": null}});
        let others = otherwise(&value);
        assert_eq!(others.len(), 2);
        for other in others {
            assert_ne!(other, value.to_string());
            assert_eq!(serde_json::from_str::<Value>(&other).expect("JSON"), value);
        }
        assert_eq!(turned(&value), r#"{"port":1,"a":{"c":[1,"\"x\""],"b":null}}"#);
        assert_eq!(otherwise(&Value::Null), [" null \n"]);
    }
}
