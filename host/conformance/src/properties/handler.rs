//! Properties of admission handlers.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use serde::Deserialize as _;
use serde_json::Value;
use witlet_core::admission::{AdmissionRequest, AdmittedPod, Operation};
use witlet_core::node::NodeFacts;
use witlet_wasm::role::Role;

use super::patient::Patient;
use super::questions::{Group, Named, decision_told, groups, of_pod, shown};
use super::search::Search;
use super::{answers, pods, quantities, repeat};
use crate::{Checks, Ctx, Finding};

const ROLE: Role = Role::Admission;
const ANSWERS: (&str, &str) = ("properties/verdicts", "every pod gets a verdict that the contract has");
const QUANTITIES: (&str, &str) =
    ("properties/quantity-notation", "a quantity that is written otherwise changes no decision");
const FACTS: (&str, &str) = ("properties/added-facts", "facts that nobody knows change no decision");
const NUMBER: &str = "a quantity is a number, however it is written (500m and 0.5 are the same): pod.requests gives cpu in \
                      milli-CPU and everything else in base units, and handler.admit decides on the same request the same way";
const NEW_FACTS: &str = "node.facts: keys may be added at any time, so that handler.admit takes no notice of those that it \
                         doesn't know, nor of their places";

/// In how many ways each quantity is written.
const WAYS: usize = 3;
/// Facts that no plugin knows: one before and one behind all others.
const UNKNOWN_FACTS: [&str; 2] = ["a.unknown.example.com", "z.unknown.example.com"];

pub(super) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    let loaded = match load(ctx).await {
        Ok(loaded) => loaded,
        Err(why) => {
            for (id, title) in [ANSWERS, QUANTITIES, FACTS] {
                checks.skip(ROLE, id, title, why.clone());
            }
            return;
        }
    };
    let found = verdicts(ctx, &loaded[0].0).await;
    checks.judge(ROLE, ANSWERS.0, ANSWERS.1, found);
    let found = unchanged(ctx, &loaded, NUMBER, otherwise_written).await;
    checks.judge(ROLE, QUANTITIES.0, QUANTITIES.1, found);
    let found = unchanged(ctx, &loaded, NEW_FACTS, |request| vec![with_facts(request)]).await;
    checks.judge(ROLE, FACTS.0, FACTS.1, found);
}

/// The handler for each way in which it is asked; the first is the plan's.
async fn load(ctx: &Ctx<'_>) -> Result<Vec<(Patient, Group)>, String> {
    let mut loaded = Vec::new();
    for group in groups(ctx)? {
        let handler = Patient::load(ctx, &group.setup).await;
        let handler =
            handler.map_err(|error| format!("it can't be loaded as its cases say: {}", error.sentence()))?;
        loaded.push((handler, group));
    }
    Ok(loaded)
}

/// Generated pods, added and resized.
async fn verdicts(ctx: &Ctx<'_>, handler: &Patient) -> Option<Finding> {
    let mut search = Search::new(ctx.plan.seed, ctx.plan.property_cases, pods::drafts);
    while let Some(draft) = search.next() {
        let mut found = None;
        for operation in [Operation::Add, Operation::Resize] {
            let request = of_pod(operation, draft.pod());
            let asked = handler.ask(&request).await;
            let name = match operation {
                Operation::Add => "a generated pod",
                Operation::Resize => "a generated pod that is resized",
            };
            let finding = answers::verdict(&asked.result).map(|fault| fault.on(shown(name, &request)));
            found = found.or(finding);
        }
        search.told(draft, found);
    }
    search.found().map(|(_, finding)| finding.repeated_by(repeat(ctx)))
}

/// Whether a handler decides otherwise on what should make no difference: of all questions of the cases, and of generated
/// pods.
async fn unchanged(
    ctx: &Ctx<'_>,
    loaded: &[(Patient, Group)],
    contract: &'static str,
    others: impl Fn(&AdmissionRequest) -> Vec<AdmissionRequest>,
) -> Option<Finding> {
    for (handler, group) in loaded {
        for Named { name, request } in &group.questions {
            if let Some(finding) = differs(handler, name, request, &others(request), contract).await {
                return Some(finding.repeated_by(repeat(ctx)));
            }
        }
    }
    let mut search = Search::new(ctx.plan.seed, ctx.plan.property_cases, pods::drafts);
    while let Some(draft) = search.next() {
        let request = of_pod(Operation::Add, draft.pod());
        let handler = &loaded[0].0;
        let found = differs(handler, "a generated pod", &request, &others(&request), contract).await;
        search.told(draft, found);
    }
    search.found().map(|(_, finding)| finding.repeated_by(repeat(ctx)))
}

async fn differs(
    handler: &Patient,
    name: &str,
    request: &AdmissionRequest,
    others: &[AdmissionRequest],
    contract: &'static str,
) -> Option<Finding> {
    let first = decision_told(&handler.ask(request).await.result)?;
    for other in others {
        let second = decision_told(&handler.ask(other).await.result)?;
        if first != second {
            let input = format!("{}\nand {}", shown(name, request), shown("then", other));
            return Some(Finding::new(input, format!("{first}, and then {second}"), contract));
        }
    }
    None
}

/// The request with all quantities of pods and node written in other ways.
fn otherwise_written(request: &AdmissionRequest) -> Vec<AdmissionRequest> {
    let ways = (0..WAYS).filter_map(|way| {
        let pod = rewritten_pod(&request.pod, way)?;
        let others = request.other_pods.iter().map(|other| AdmittedPod {
            pod: rewritten_pod(&other.pod, way).unwrap_or_else(|| other.pod.clone()),
            source: other.source.clone(),
        });
        let node = rewritten_node(&request.node, way);
        Some(AdmissionRequest { pod, other_pods: others.collect(), node, ..request.clone() })
    });
    ways.collect()
}

fn rewritten_pod(pod: &Pod, way: usize) -> Option<Arc<Pod>> {
    let rewritten = rewritten(pod, way)?;
    Pod::deserialize(rewritten).ok().map(Arc::new)
}

fn rewritten_node(facts: &Arc<NodeFacts>, way: usize) -> Arc<NodeFacts> {
    let node = rewritten(&facts.node, way).and_then(|node| Node::deserialize(node).ok());
    match node {
        Some(node) => Arc::new(NodeFacts { node, ..NodeFacts::clone(facts) }),
        None => facts.clone(),
    }
}

fn rewritten(object: &impl serde::Serialize, way: usize) -> Option<Value> {
    quantities::rewritten(&serde_json::to_value(object).ok()?, way)
}

/// The request with facts more.
fn with_facts(request: &AdmissionRequest) -> AdmissionRequest {
    let mut node = NodeFacts::clone(&request.node);
    node.facts.extend(UNKNOWN_FACTS.map(|key| (key.to_owned(), "unknown".to_owned())));
    AdmissionRequest { node: Arc::new(node), ..request.clone() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_is_written_otherwise_in_pod_others_and_node() {
        let pod = |cpu: &str| json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}});
        let request = super::super::questions::request(Operation::Add, pod("500m"));
        let other = AdmittedPod { pod: Arc::new(pods::pod(&pod("1"))), source: request.source.clone() };
        let request = AdmissionRequest { other_pods: [other].into(), ..request };
        let others = otherwise_written(&request);
        assert_eq!(others.len(), WAYS);
        for other in &others {
            assert_ne!(other.pod, request.pod);
            assert_ne!(other.other_pods[0].pod, request.other_pods[0].pod);
            assert_ne!(other.node.node, request.node.node);
        }
        let plain = super::super::questions::request(
            Operation::Add,
            json!({"metadata": {"name": "a"}, "spec": {"containers": []}}),
        );
        assert!(otherwise_written(&plain).is_empty());
    }

    #[test]
    fn added_facts_stand_around_the_others() {
        let request = super::super::questions::request(Operation::Add, json!({"metadata": {"name": "a"}}));
        let more = with_facts(&request);
        let keys: Vec<&String> = more.node.facts.keys().collect();
        assert_eq!(keys.first().map(|key| key.as_str()), Some(UNKNOWN_FACTS[0]));
        assert_eq!(keys.last().map(|key| key.as_str()), Some(UNKNOWN_FACTS[1]));
        assert_eq!(keys.len(), request.node.facts.len() + UNKNOWN_FACTS.len());
    }
}
