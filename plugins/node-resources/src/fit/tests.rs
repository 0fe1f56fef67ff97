//! Tests of the fit.

use witlet_plugin_sdk::Quantity;

use super::shortages;

/// Parses `cpu=500 memory=1024`.
fn quantities(text: &str) -> Vec<Quantity> {
    text.split_whitespace()
        .map(|pair| {
            let (resource, amount) = pair.split_once('=').expect("resource=amount");
            Quantity { resource: resource.to_owned(), amount: amount.parse().expect("a number") }
        })
        .collect()
}

fn check(requests: &str, used: &str, allocatable: &str, expected: &str) {
    let found: Vec<String> = shortages(&quantities(requests), &quantities(used), &quantities(allocatable))
        .iter()
        .map(|s| format!("{}: {}+{}>{}", s.resource, s.used, s.requested, s.capacity))
        .collect();
    assert_eq!(found.join(", "), expected, "requests {requests}; used {used}; allocatable {allocatable}");
}

#[test]
fn a_pod_fits_up_to_the_last_unit() {
    check("", "", "pods=1", "");
    check("cpu=1000", "cpu=3000 pods=1", "cpu=4000 pods=2", "");
    check("cpu=1001", "cpu=3000 pods=1", "cpu=4000 pods=2", "cpu: 3000+1001>4000");
    check("memory=1", "memory=10", "memory=10 pods=9", "memory: 10+1>10");
    check("ephemeral-storage=2", "", "ephemeral-storage=1 pods=9", "ephemeral-storage: 0+2>1");
}

#[test]
fn the_number_of_pods_counts_for_a_pod_that_asks_for_nothing() {
    check("", "pods=110", "pods=110", "pods: 110+1>110");
    check("", "", "", "pods: 0+1>0");
}

#[test]
fn a_resource_that_is_not_asked_for_never_lacks() {
    check("cpu=0 memory=0", "cpu=9 memory=9", "cpu=1 memory=1 pods=9", "");
    check("memory=1", "cpu=9", "cpu=1 memory=1 pods=9", "");
}

#[test]
fn shortages_come_in_upstreams_order() {
    check(
        "cpu=2 ephemeral-storage=2 example.com/b=2 example.com/a=2 hugepages-2Mi=2 memory=2",
        "pods=3",
        "cpu=1 ephemeral-storage=1 example.com/a=1 example.com/b=1 hugepages-2Mi=1 memory=1 pods=3",
        "pods: 3+1>3, cpu: 0+2>1, memory: 0+2>1, ephemeral-storage: 0+2>1, example.com/a: 0+2>1, \
         example.com/b: 0+2>1, hugepages-2Mi: 0+2>1",
    );
}

#[test]
fn only_an_extended_resource_may_be_unknown_to_the_node() {
    check("example.com/gpu=1", "", "pods=9", "");
    check("example.com/gpu=1", "", "example.com/gpu=0 pods=9", "example.com/gpu: 0+1>0");
    check("hugepages-2Mi=1", "", "pods=9", "hugepages-2Mi: 0+1>0");
    check("kubernetes.io/thing=1", "", "pods=9", "kubernetes.io/thing: 0+1>0");
    check("requests.example.com/gpu=1", "", "pods=9", "requests.example.com/gpu: 0+1>0");
}

#[test]
fn extreme_amounts_do_not_overflow() {
    check(
        &format!("cpu={}", i64::MAX),
        &format!("cpu={}", i64::MAX),
        "cpu=0 pods=9",
        "cpu: 9223372036854775807+9223372036854775807>0",
    );
    check("cpu=1", &format!("cpu={}", i64::MIN), &format!("cpu={} pods=9", i64::MAX), "");
}
