//! Parameters and targets that mean harm to probe types.

use std::collections::BTreeSet;

use serde_json::Value;
use witlet_core::probe::ProbeRequest;
use witlet_wasm::plugin::CallError;
use witlet_wasm::role::Role;

use super::{Found, patiently, pods, short, texts};
use crate::ctx::Prober;
use crate::properties::answers;
use crate::properties::prober::{nobody, target};
use crate::{Checks, Ctx, Finding};

const ROLE: Role = Role::Probe;
const PARAMETERS: (&str, &str) =
    ("hostile/parameters", "parameters that make no sense are refused in the plugin's own words");
const TARGETS: (&str, &str) = ("hostile/targets", "every target that a host can have gets an outcome");
const CHECKS: &str = "prober.check-parameters says whether a probe with these parameters makes sense: an error, in the plugin's own \
                      words, where it doesn't";
const ACCEPTED: &str = "prober.check-parameters is asked before the first probe with these parameters: what it is content with can \
                        be probed";

/// How many sets of parameters are tried.
const PARAMETERS_MAX: usize = 160;
/// Of how many known ones each field is changed.
const KNOWN_MAX: usize = 2;

pub(super) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    match ctx.planned_prober().await {
        Ok(prober) => {
            let found = parameters(ctx, &prober).await;
            checks.add(ROLE, PARAMETERS.0, PARAMETERS.1, found.result());
            let found = targets(ctx, &prober).await;
            checks.add(ROLE, TARGETS.0, TARGETS.1, found.result());
        }
        Err(why) => {
            checks.skip(ROLE, PARAMETERS.0, PARAMETERS.1, why.clone());
            checks.skip(ROLE, TARGETS.0, TARGETS.1, why);
        }
    }
}

async fn parameters(ctx: &Ctx<'_>, prober: &Prober) -> Found {
    let mut found = Found::default();
    for (name, parameters) in hostile_parameters(&ctx.parameters()) {
        if found.gives_up() {
            break;
        }
        let finding = judge(prober, &parameters).await;
        let input = format!("{name}: {}", short(&parameters.to_string()));
        found.add(&name, finding.map(|(seen, contract)| Finding::new(input, seen, contract)));
    }
    found
}

/// What is nobody's parameters, and known ones with one thing changed.
fn hostile_parameters(known: &[Value]) -> Vec<(String, Value)> {
    let mut seen = BTreeSet::new();
    let changed = known.iter().take(KNOWN_MAX).flat_map(texts::changed);
    let changed = changed.map(|(name, value)| (format!("known parameters {name}"), value));
    let values = texts::values().into_iter().map(|(name, value)| (format!("{name} as parameters"), value));
    let mut all: Vec<(String, Value)> = values.chain(changed).collect();
    all.retain(|(_, value)| seen.insert(value.to_string()));
    all.truncate(PARAMETERS_MAX);
    all
}

/// What a probe type does wrong with parameters: what was seen, and the contract.
async fn judge(prober: &Prober, parameters: &Value) -> Option<(String, &'static str)> {
    let request = target(pods::plain(|_| {}), &parameters.to_string());
    let asked = patiently(async || prober.check(parameters).await).await;
    match &asked.result {
        Ok(()) => {}
        Err(CallError::Refused { words }) if !words.trim().is_empty() => return None,
        Err(error) => return answers::call(error, CHECKS).map(|fault| (fault.seen, fault.contract)),
    }
    let probed = patiently(async || prober.probe(&request).await).await;
    let fault = answers::no_outcome(&probed.result)?;
    Some((format!("check-parameters is content, and the probe: {}", fault.seen), ACCEPTED))
}

async fn targets(ctx: &Ctx<'_>, prober: &Prober) -> Found {
    let mut found = Found::default();
    // Those of cases in which it passes come first.
    let known = ctx.parameters();
    let parameters = known.first().map_or_else(|| "null".to_owned(), Value::to_string);
    let mut all: Vec<(&str, ProbeRequest)> =
        pods::pods().into_iter().map(|hostile| (hostile.name, target(hostile.pod, &parameters))).collect();
    let plain = || target(pods::plain(|_| {}), &parameters);
    all.extend([
        ("a pod without an address", ProbeRequest { pod_ips: Vec::new(), ..plain() }),
        ("a node without an address", ProbeRequest { host_ips: Vec::new(), ..plain() }),
        (
            "a pod with an address of IPv6 only",
            ProbeRequest { pod_ips: vec![[0, 0, 0, 0, 0, 0, 0, 1].into()], ..plain() },
        ),
        ("a pod with very many addresses", ProbeRequest { pod_ips: vec![nobody(); 1000], ..plain() }),
        ("a container that the pod doesn't have", ProbeRequest { container: "nobody".to_owned(), ..plain() }),
        ("a container without a name", ProbeRequest { container: String::new(), ..plain() }),
        ("a container that was restarted for years", ProbeRequest { restarts: u32::MAX, ..plain() }),
    ]);
    for (name, request) in all {
        if found.gives_up() {
            break;
        }
        let asked = patiently(async || prober.check_and_probe(&request).await).await;
        found.add(
            name,
            answers::no_outcome(&asked.result)
                .map(|fault| fault.on(format!("{name}, parameters {parameters}"))),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn known_parameters_are_changed_and_none_is_tried_twice() {
        let all = hostile_parameters(&[json!({"port": 1}), json!({"port": 2})]);
        assert!(all.contains(&("known parameters with null as \"port\"".to_owned(), json!({"port": null}))));
        let texts: BTreeSet<String> = all.iter().map(|(_, value)| value.to_string()).collect();
        assert_eq!(texts.len(), all.len());
        assert!(all.len() < PARAMETERS_MAX);
    }
}
