//! Tests of the patch: what is sent for two statuses, and that a server which applies it has what was desired.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateRunning, ContainerStatus, PodCondition, PodIP, ResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use proptest::prelude::*;

use super::*;
use crate::fixtures::at;

fn condition(kind: &str, status: &str) -> PodCondition {
    PodCondition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        last_transition_time: Some(Time(at(1))),
        ..PodCondition::default()
    }
}

fn container(name: &str, ready: bool) -> ContainerStatus {
    ContainerStatus { name: name.to_owned(), ready, ..ContainerStatus::default() }
}

fn running() -> PodStatus {
    PodStatus {
        phase: Some("Running".to_owned()),
        start_time: Some(Time(at(0))),
        conditions: Some(vec![condition("Ready", "True"), condition("PodScheduled", "True")]),
        container_statuses: Some(vec![container("a", true), container("b", true)]),
        pod_ip: Some("192.0.2.7".to_owned()),
        pod_ips: ips(&["192.0.2.7"]),
        ..PodStatus::default()
    }
}

fn ips(ips: &[&str]) -> Option<Vec<PodIP>> {
    Some(ips.iter().map(|ip| PodIP { ip: (*ip).to_owned() }).collect())
}

/// The status of the patch, which has the UID and nothing else next to it.
fn status_of(body: Value) -> Value {
    assert_eq!(body["metadata"], json!({ "uid": "u1" }));
    assert_eq!(body.as_object().map(Map::len), Some(2));
    body["status"].clone()
}

/// From one status to a changed one this is sent.
fn check(name: &str, base: &PodStatus, desired: &PodStatus, expected: &Value) {
    let sent = patch("u1", base, desired).map_or(Value::Null, status_of);
    assert_eq!(sent, *expected, "{name}");
}

fn changed(change: impl FnOnce(&mut PodStatus)) -> PodStatus {
    let mut status = running();
    change(&mut status);
    status
}

#[test]
fn only_what_differs_is_sent() {
    let base = running();
    check("nothing", &base, &running(), &Value::Null);
    let failed = changed(|status| {
        status.phase = Some("Failed".to_owned());
        status.reason = Some("Evicted".to_owned());
        status.pod_ip = None;
    });
    check("fields", &base, &failed, &json!({ "phase": "Failed", "reason": "Evicted", "podIP": null }));
    let unready = changed(|status| {
        status.container_statuses = Some(vec![container("a", true), container("b", false)]);
    });
    let whole = serde_json::to_value(&unready.container_statuses).unwrap();
    check("statuses of containers are whole", &base, &unready, &json!({ "containerStatuses": whole }));
    let gone = changed(|status| status.container_statuses = None);
    check("and go as one", &base, &gone, &json!({ "containerStatuses": null }));
}

#[test]
fn conditions_are_sent_one_by_one() {
    let base = changed(|status| {
        let conditions = status.conditions.as_mut().unwrap();
        conditions[0].message = Some("for now".to_owned());
        conditions.extend([condition("PodResizePending", "True"), condition("example.com/x", "True")]);
    });
    let desired = changed(|status| {
        let conditions = status.conditions.as_mut().unwrap();
        conditions[0].status = "False".to_owned();
        conditions[0].last_transition_time = Some(Time(at(9)));
        conditions.insert(0, condition("Initialized", "True"));
    });
    let expected = json!({
        "$setElementOrder/conditions": [{ "type": "Initialized" }, { "type": "Ready" }, { "type": "PodScheduled" }],
        "conditions": [
            { "type": "Initialized", "status": "True", "lastTransitionTime": "2027-01-15T08:00:01Z" },
            { "type": "Ready", "status": "False", "lastTransitionTime": "2027-01-15T08:00:09Z", "message": null },
            { "type": "PodResizePending", "$patch": "delete" },
        ],
    });
    check("what another owns stays", &base, &desired, &expected);
    let turned = changed(|status| status.conditions.as_mut().unwrap().reverse());
    check("their order says nothing", &running(), &turned, &Value::Null);
}

#[test]
fn addresses_that_vanish_are_deleted_by_name() {
    let base = changed(|status| status.pod_ips = ips(&["192.0.2.7", "2001:db8::7"]));
    let second = changed(|status| status.pod_ips = ips(&["2001:db8::7", "2001:db8::8"]));
    let order = json!([{ "ip": "2001:db8::7" }, { "ip": "2001:db8::8" }]);
    let entries = json!([{ "ip": "2001:db8::8" }, { "ip": "192.0.2.7", "$patch": "delete" }]);
    check("one of two", &base, &second, &json!({ "$setElementOrder/podIPs": order, "podIPs": entries }));
    let none = changed(|status| status.pod_ips = None);
    let expected =
        json!({ "$setElementOrder/podIPs": [], "podIPs": [{ "ip": "192.0.2.7", "$patch": "delete" }] });
    check("all", &running(), &none, &expected);
    let turned = changed(|status| status.pod_ips = ips(&["2001:db8::7", "192.0.2.7"]));
    let order = json!([{ "ip": "2001:db8::7" }, { "ip": "192.0.2.7" }]);
    check("the first is the pod's own", &base, &turned, &json!({ "$setElementOrder/podIPs": order }));
}

#[test]
fn what_others_write_is_not_touched() {
    let base = changed(|status| {
        status.nominated_node_name = Some("node1".to_owned());
        status.resource_claim_statuses = Some(Vec::new());
        status.conditions.as_mut().unwrap().push(condition("example.com/x", "True"));
    });
    check("left out", &base, &running(), &Value::Null);
}

fn with_resources(cpu: &str, memory: &str) -> PodStatus {
    let amounts: BTreeMap<String, Quantity> = [("cpu", cpu), ("memory", memory)]
        .map(|(name, amount)| (name.to_owned(), Quantity(amount.to_owned())))
        .into();
    changed(|status| {
        let resources =
            ResourceRequirements { limits: Some(amounts.clone()), ..ResourceRequirements::default() };
        status.allocated_resources = Some(amounts);
        status.container_statuses.as_mut().unwrap()[0].resources = Some(resources);
    })
}

#[test]
fn what_only_reads_differently_is_the_same() {
    check("amounts", &with_resources("0.5", "1024Mi"), &with_resources("500m", "1Gi"), &Value::Null);
    let expected = json!({ "allocatedResources": { "cpu": "2" } });
    let sent = patch("u1", &with_resources("500m", "1Gi"), &with_resources("2", "1024Mi")).unwrap();
    assert_eq!(sent["status"]["allocatedResources"], expected["allocatedResources"]);
    assert!(sent["status"]["containerStatuses"].is_array());
    let later = changed(|status| {
        status.start_time = Some(Time(at(0) + jiff::SignedDuration::from_millis(400)));
    });
    check("parts of a second", &running(), &later, &Value::Null);
    let mut cut = later;
    in_whole_seconds(&mut cut);
    assert_eq!(cut, running());
    let spelled = changed(|status| {
        status.init_container_statuses = Some(Vec::new());
        status.container_statuses.as_mut().unwrap()[0].last_state = Some(ContainerState::default());
    });
    check("empty lists and states", &spelled, &running(), &Value::Null);
    let begun = changed(|status| {
        let running = Some(ContainerStateRunning::default());
        let state = Some(ContainerState { running, ..ContainerState::default() });
        status.container_statuses.as_mut().unwrap()[0].state = state;
    });
    assert!(patch("u1", &running(), &begun).is_some(), "that it runs says something");
}

/// What a server makes of a patch: the rules of strategic merge for a status.
fn apply(base: &PodStatus, body: Option<&Value>) -> PodStatus {
    let Some(body) = body else { return base.clone() };
    let mut status = serde_json::to_value(base).unwrap();
    for (field, change) in body["status"].as_object().unwrap() {
        let (order, field) = match field.strip_prefix("$setElementOrder/") {
            Some(field) => (Some(change), field),
            None => (None, field.as_str()),
        };
        let key = if field == "conditions" { "type" } else { "ip" };
        if !["conditions", "podIPs", "hostIPs"].contains(&field) {
            status[field] = change.clone();
            continue;
        }
        let mut list = status[field].as_array().cloned().unwrap_or_default();
        match order {
            Some(order) => {
                let rank =
                    |entry: &Value| order.as_array().unwrap().iter().position(|o| o[key] == entry[key]);
                list.sort_by_key(|entry| rank(entry).unwrap_or(usize::MAX));
            }
            None => {
                for entry in change.as_array().unwrap() {
                    let at = list.iter().position(|old| old[key] == entry[key]);
                    match (at, entry.get("$patch").is_some()) {
                        (Some(at), true) => drop(list.remove(at)),
                        (None, true) => {}
                        (Some(at), false) => {
                            let old = list[at].as_object_mut().unwrap();
                            old.extend(entry.as_object().unwrap().clone());
                            old.retain(|_, value| !value.is_null());
                        }
                        (None, false) => list.push(entry.clone()),
                    }
                }
                let order = &body["status"][format!("$setElementOrder/{field}")];
                let rank =
                    |entry: &Value| order.as_array().unwrap().iter().position(|o| o[key] == entry[key]);
                list.sort_by_key(|entry| rank(entry).unwrap_or(usize::MAX));
            }
        }
        status[field] = Value::Array(list);
    }
    serde_json::from_value(status).unwrap()
}

fn any_status() -> impl Strategy<Value = PodStatus> {
    let kinds = ["Ready", "Initialized", "PodScheduled", "PodResizePending"];
    let conditions = prop::collection::btree_map(
        prop::sample::select(kinds.to_vec()),
        (any::<bool>(), 0..3_i64, prop::option::of("[ab]")),
        0..4,
    );
    let containers = prop::collection::vec(("[abc]", any::<bool>()), 0..3);
    let addresses = prop::sample::subsequence(vec!["192.0.2.1", "192.0.2.2", "2001:db8::1"], 0..=3);
    let phase = prop::option::of(prop::sample::select(vec!["Pending", "Running", "Failed"]));
    (conditions, containers, addresses.prop_shuffle(), phase, prop::option::of(0..3_i64)).prop_map(
        |(conditions, containers, addresses, phase, generation)| PodStatus {
            conditions: Some(
                conditions
                    .into_iter()
                    .map(|(kind, (holds, time, message))| PodCondition {
                        last_transition_time: Some(Time(at(time))),
                        message,
                        ..condition(kind, if holds { "True" } else { "False" })
                    })
                    .collect(),
            ),
            container_statuses: Some(
                containers.iter().map(|(name, ready)| container(name, *ready)).collect(),
            ),
            pod_ips: ips(&addresses),
            phase: phase.map(str::to_owned),
            observed_generation: generation,
            ..PodStatus::default()
        },
    )
}

proptest! {
    #[test]
    fn a_server_that_applies_it_has_the_desired_status(base in any_status(), desired in any_status()) {
        let body = patch("u1", &base, &desired);
        let after = apply(&base, body.as_ref());
        prop_assert_eq!(patch("u1", &after, &desired), None, "{:?}", body);
        prop_assert_eq!(&after.phase, &desired.phase);
        prop_assert_eq!(after.pod_ips.unwrap_or_default(), desired.pod_ips.unwrap_or_default());
    }
}
