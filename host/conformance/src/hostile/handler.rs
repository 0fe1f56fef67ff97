//! Questions that mean harm to handlers.

use std::sync::Arc;

use witlet_core::admission::{AdmissionRequest, AdmittedPod, Operation};
use witlet_core::node::NodeFacts;
use witlet_wasm::role::Role;

use super::{Found, pods, short};
use crate::properties::answers;
use crate::properties::patient::Patient;
use crate::properties::questions::of_pod;
use crate::{Checks, Ctx};

const ROLE: Role = Role::Admission;
const PODS: (&str, &str) = ("hostile/pods", "every pod that a host can have gets a verdict");
const AROUND: (&str, &str) = ("hostile/node", "every node and all its pods get a verdict");

pub(super) async fn examine(ctx: &Ctx<'_>, checks: &mut Checks<'_>) {
    let loaded = match ctx.setup(ROLE) {
        Ok(setup) => Patient::load(ctx, &setup).await.map_err(|error| error.sentence()),
        Err(error) => Err(error.to_string()),
    };
    let handler = match loaded {
        Ok(handler) => handler,
        Err(why) => {
            checks.skip(ROLE, PODS.0, PODS.1, why.clone());
            return checks.skip(ROLE, AROUND.0, AROUND.1, why);
        }
    };
    let mut found = Found::default();
    for hostile in pods::pods() {
        if found.gives_up() {
            break;
        }
        let json = serde_json::to_string(&hostile.pod).unwrap_or_default();
        for operation in [Operation::Add, Operation::Resize] {
            let request = of_pod(operation, hostile.pod.clone());
            ask(&handler, hostile.name, &json, &request, &mut found).await;
        }
    }
    checks.add(ROLE, PODS.0, PODS.1, found.result());
    let mut found = Found::default();
    for (name, request) in around() {
        if found.gives_up() {
            break;
        }
        ask(&handler, name, name, &request, &mut found).await;
    }
    checks.add(ROLE, AROUND.0, AROUND.1, found.result());
}

async fn ask(handler: &Patient, name: &str, shown: &str, request: &AdmissionRequest, found: &mut Found) {
    let asked = handler.ask(request).await;
    let input = if shown == name { name.to_owned() } else { format!("{name}: {}", short(shown)) };
    found.add(name, answers::no_verdict(&asked.result).map(|fault| fault.on(input)));
}

/// A plain pod on nodes, and beside pods, that are anything but plain.
fn around() -> Vec<(&'static str, AdmissionRequest)> {
    let plain = || of_pod(Operation::Add, pods::plain(|_| {}));
    let nothing = NodeFacts {
        name: String::new(),
        node: Default::default(),
        addresses: Vec::new(),
        facts: Default::default(),
        devices: String::new(),
    };
    let others: Arc<[AdmittedPod]> = pods::pods()
        .into_iter()
        .map(|hostile| AdmittedPod { pod: Arc::new(hostile.pod), source: "file".into() })
        .collect();
    let odd = NodeFacts {
        facts: super::texts::ODD.iter().map(|(_, text)| ((*text).to_owned(), (*text).to_owned())).collect(),
        devices: "[]".to_owned(),
        ..nothing.clone()
    };
    vec![
        ("a node of which nothing is known", AdmissionRequest { node: Arc::new(nothing), ..plain() }),
        ("a node with odd facts", AdmissionRequest { node: Arc::new(odd), ..plain() }),
        ("a node full of odd pods", AdmissionRequest { other_pods: others, ..plain() }),
        ("a question from before 1970", AdmissionRequest { now: jiff::Timestamp::MIN, ..plain() }),
        ("a question from the year 9999", AdmissionRequest { now: jiff::Timestamp::MAX, ..plain() }),
        ("a source of an odd name", AdmissionRequest { source: "🦀".into(), ..plain() }),
    ]
}
