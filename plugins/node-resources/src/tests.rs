//! Tests of the handler on whole requests.

use witlet_plugin_sdk::facts::{NodeFacts, PodFacts, RequestFacts};
use witlet_plugin_sdk::{AdmissionHandler, Operation, Quantity, Shortage, Verdict};

use super::NodeResources;

fn quantities(list: &[(&str, i64)]) -> Vec<Quantity> {
    list.iter()
        .map(|(resource, amount)| Quantity { resource: (*resource).to_owned(), amount: *amount })
        .collect()
}

fn verdict(operation: Operation, cpu: i64) -> Verdict {
    let facts = RequestFacts {
        operation,
        pod: PodFacts { requests: quantities(&[("cpu", cpu)]), ..PodFacts::default() },
        node: NodeFacts {
            capacity: quantities(&[("cpu", 9_000), ("pods", 110)]),
            allocatable: quantities(&[("cpu", 4_000), ("pods", 110)]),
            requested: quantities(&[("cpu", 3_000), ("pods", 1)]),
            ..NodeFacts::default()
        },
        ..RequestFacts::default()
    };
    NodeResources::admit(&facts.request(), &()).expect("a verdict")
}

fn cpu_shortage(requested: i64) -> Verdict {
    Verdict::Shortage(vec![Shortage { resource: "cpu".to_owned(), requested, used: 3_000, capacity: 4_000 }])
}

#[test]
fn a_pod_is_held_against_what_is_allocatable() {
    assert_eq!(verdict(Operation::Add, 1_000), Verdict::Admit);
    assert_eq!(verdict(Operation::Add, 1_001), cpu_shortage(1_001));
    assert_eq!(verdict(Operation::Add, 4_001), cpu_shortage(4_001));
}

#[test]
fn a_resize_that_fits_the_empty_node_may_be_asked_again_and_any_other_is_infeasible() {
    assert_eq!(verdict(Operation::Resize, 1_000), Verdict::Admit);
    assert_eq!(verdict(Operation::Resize, 4_000), cpu_shortage(4_000));
    assert_eq!(
        verdict(Operation::Resize, 4_001),
        Verdict::reject(
            "Infeasible",
            "Node didn't have enough capacity: cpu, requested: 4001, capacity: 4000"
        )
    );
}
