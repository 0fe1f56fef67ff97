//! The layer `properties`: generated inputs get answers that the contract has, and what makes no difference makes none.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use serde::de::DeserializeOwned;
use witlet_core::admission::{AdmissionRequest, AdmittedPod, Operation};
use witlet_core::node::NodeFacts;
use witlet_wasm::role::Role;

use crate::check::{Checks, Finding, Named, Tried};
use crate::ctx::Ctx;
use crate::generated::{Draft, search};
use crate::plugin_request::{PluginRequest, admission_request, target};
use crate::plugin_response::{decision, fault};
use crate::quantities;
use crate::scenario::{Stage, plain, scenarios};
use crate::unchanged;

/// Finds `empty-message`, `megabyte-message`, `error-for-a-resize` and other verdicts that the contract doesn't have.
const VERDICTS: Named = ("properties/verdicts", "every pod gets a verdict that the contract has");
/// Finds `megabyte-detail`.
const OUTCOMES: Named = ("properties/outcomes", "every target gets an outcome that the contract has");
/// How many generated targets are probed: each one may take all its time.
const TARGETS_MAX: u32 = 16;
/// In how many ways each quantity is written.
const WAYS: usize = 3;
/// Facts that no plugin knows: one before and one behind all others.
const UNKNOWN_FACTS: [&str; 2] = ["a.unknown.example.com", "z.unknown.example.com"];

struct Otherwise {
    check: Named,
    contract: &'static str,
    others: fn(&PluginRequest) -> Vec<PluginRequest>,
}

const OTHERWISE: [Otherwise; 2] = [
    // Finds `misreads-milli-cpu`, `misreads-memory`.
    Otherwise {
        check: ("properties/quantity-notation", "a quantity that is written otherwise changes no decision"),
        contract: "a quantity is a number, however it is written (500m and 0.5 are the same): pod.requests gives cpu in \
                   milli-CPU and everything else in base units, and handler.admit decides on the same request the same way",
        others: other_quantities,
    },
    // Finds `takes-the-first-fact`.
    Otherwise {
        check: ("properties/added-facts", "unknown facts change no decision"),
        contract: "node.facts: keys may be added at any time, so that handler.admit takes no notice of those that it doesn't \
                   know, nor of their places",
        others: more_facts,
    },
];

pub(crate) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    let repeat =
        format!("--only properties --seed {} --property-cases {}", ctx.plan.seed, ctx.plan.property_cases);
    let repeated = |tried: Tried| tried.map(|found| found.map(|found| found.repeated_by(repeat.as_str())));
    for role in ctx.roles() {
        let well_formed = match role {
            Role::Admission => VERDICTS,
            Role::Probe => OUTCOMES,
            Role::PodSource => {
                unchanged::examine(ctx, checks).await;
                continue;
            }
        };
        let tried = well_formed_answers(ctx, role).await;
        checks.named(role, well_formed, repeated(tried));
        for otherwise in OTHERWISE.iter().filter(|_| role == Role::Admission) {
            let tried = same_decisions(ctx, otherwise).await;
            checks.named(role, otherwise.check, repeated(tried));
        }
    }
}

/// Questions about a generated pod: with all parameters that are known, or added and resized.
fn questions(ctx: &Ctx<'_>, role: Role, draft: &Draft) -> Vec<PluginRequest> {
    match role {
        Role::Admission => [Operation::Add, Operation::Resize]
            .map(|operation| PluginRequest::admit(admission_request(operation, draft.pod())))
            .into(),
        Role::Probe | Role::PodSource => {
            let of = |parameters: &Arc<str>| PluginRequest::probe(target(draft.pod(), parameters));
            ctx.parameters().iter().map(of).collect()
        }
    }
}

async fn well_formed_answers(ctx: &Ctx<'_>, role: Role) -> Tried {
    let mut stage = plain(ctx, role)?.stage(ctx).await?;
    let targets = if role == Role::Probe { TARGETS_MAX } else { u32::MAX };
    let judge = async |draft: &Draft| {
        for question in questions(ctx, role, draft) {
            let answered = stage.ask_this(&question).await.result;
            if let Some(fault) = fault(&answered, question.contract()) {
                return Some(Finding::of(format!("a generated pod: {}", question.shown()), fault));
            }
        }
        None
    };
    Ok(search(ctx.plan.seed, ctx.plan.property_cases.min(targets), judge).await)
}

/// Whether a plugin decides otherwise on what should make no difference: of all questions of the cases, and of generated pods.
async fn same_decisions(ctx: &Ctx<'_>, otherwise: &Otherwise) -> Tried {
    for scenario in scenarios(ctx, Role::Admission)? {
        let mut stage = scenario.stage(ctx).await?;
        if let Some(found) = differs(&mut stage, &scenario.name, &scenario.question, otherwise).await {
            return Ok(Some(found));
        }
    }
    let mut stage = plain(ctx, Role::Admission)?.stage(ctx).await?;
    let judge = async |draft: &Draft| {
        let question = PluginRequest::admit(admission_request(Operation::Add, draft.pod()));
        differs(&mut stage, "a generated pod", &question, otherwise).await
    };
    Ok(search(ctx.plan.seed, ctx.plan.property_cases, judge).await)
}

async fn differs(
    stage: &mut Stage,
    name: &str,
    question: &PluginRequest,
    otherwise: &Otherwise,
) -> Option<Finding> {
    let first = decision(&stage.ask_this(question).await.result)?;
    for other in (otherwise.others)(question) {
        let second = decision(&stage.ask_this(&other).await.result)?;
        if first != second {
            let input = format!("{name}: {}\nand then: {}", question.shown(), other.shown());
            let seen = format!("{first}, and then {second}");
            return Some(Finding::new(input, seen, otherwise.contract));
        }
    }
    None
}

/// Returns the question with all quantities of pods and node written in other ways.
fn other_quantities(question: &PluginRequest) -> Vec<PluginRequest> {
    let PluginRequest::Admit(request, _) = question else { return Vec::new() };
    let ways = (0..WAYS).filter_map(|way| {
        let pod: Pod = rewritten(&*request.pod, way)?;
        let others = request.other_pods.iter().map(|other| AdmittedPod {
            pod: rewritten(&*other.pod, way).map_or_else(|| other.pod.clone(), Arc::new),
            source: other.source.clone(),
        });
        let node: Option<Node> = rewritten(&request.node.node, way);
        let node = node.map(|node| Arc::new(NodeFacts { node, ..NodeFacts::clone(&request.node) }));
        Some(PluginRequest::admit(AdmissionRequest {
            pod: Arc::new(pod),
            other_pods: others.collect(),
            node: node.unwrap_or_else(|| request.node.clone()),
            ..*request.clone()
        }))
    });
    ways.collect()
}

fn rewritten<T: serde::Serialize + DeserializeOwned>(object: &T, way: usize) -> Option<T> {
    let rewritten = quantities::rewritten(&serde_json::to_value(object).ok()?, way)?;
    serde_json::from_value(rewritten).ok()
}

fn more_facts(question: &PluginRequest) -> Vec<PluginRequest> {
    let PluginRequest::Admit(request, _) = question else { return Vec::new() };
    let mut node = NodeFacts::clone(&request.node);
    node.facts.extend(UNKNOWN_FACTS.map(|key| (key.to_owned(), "unknown".to_owned())));
    vec![PluginRequest::admit(AdmissionRequest { node: Arc::new(node), ..*request.clone() })]
}

#[cfg(test)]
mod tests;
