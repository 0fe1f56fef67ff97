//! Tests of what a restarted agent remembers.

use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::*;
use crate::fixtures::{first, pod, spec};

fn resources(cpu: &str, storage: &str) -> ResourceRequirements {
    let amounts = [("cpu", cpu), ("ephemeral-storage", storage)];
    let amounts = amounts.map(|(name, amount)| (name.to_owned(), Quantity(amount.to_owned())));
    ResourceRequirements {
        requests: Some(amounts.clone().into()),
        limits: Some(amounts.into()),
        claims: None,
    }
}

#[test]
fn an_admitted_pod_with_a_sandbox_is_not_judged_again() {
    let pod = pod("Always", &["a"]);
    let mut memory = AdmissionMemory::default();
    assert!(!memory.is_remembered(&pod, true));
    assert!(memory.remember(&pod));
    assert!(memory.is_remembered(&pod, true));
    assert!(!memory.is_remembered(&pod, false), "without a sandbox nothing of it runs");
}

#[test]
fn only_what_changed_has_to_be_saved() {
    let mut pod = pod("Always", &["a"]);
    let mut memory = AdmissionMemory::default();
    assert!(memory.remember(&pod));
    assert!(!memory.remember(&pod));
    first(&mut pod).image = Some("newer".to_owned());
    assert!(memory.remember(&pod));
    assert!(!memory.retain(|_| true));
    assert!(memory.forget(&PodUid::of(&pod)));
    assert!(!memory.forget(&PodUid::of(&pod)));
    assert!(memory.is_empty());
}

#[test]
fn a_changed_spec_is_judged_again_and_a_resize_is_not() {
    let mut admitted = pod("Always", &["a"]);
    first(&mut admitted).resources = Some(resources("1", "1Gi"));
    let mut memory = AdmissionMemory::default();
    memory.remember(&admitted);
    let changed = |change: &dyn Fn(&mut Pod)| {
        let mut pod = admitted.clone();
        change(&mut pod);
        memory.is_remembered(&pod, true)
    };
    assert!(changed(&|pod| first(pod).resources = Some(resources("2", "1Gi"))), "CPU is resizable");
    assert!(changed(&|pod| pod.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into())));
    assert!(!changed(&|pod| first(pod).resources = Some(resources("1", "2Gi"))), "storage isn't");
    assert!(!changed(&|pod| first(pod).image = Some("newer".to_owned())));
    assert!(!changed(&|pod| spec(pod).host_network = Some(true)));
    assert!(!changed(&|pod| pod.metadata.uid = Some("another".to_owned())));
}

#[test]
fn pods_that_nobody_wants_any_more_are_forgotten() {
    let mut memory = AdmissionMemory::default();
    for uid in ["one", "two"] {
        let mut pod = pod("Always", &["a"]);
        pod.metadata.uid = Some(uid.to_owned());
        memory.remember(&pod);
    }
    assert!(memory.retain(|uid| uid.as_str() == "two"));
    assert_eq!(memory.len(), 1);
}

#[test]
fn what_is_saved_reads_back_the_same() {
    let mut memory = AdmissionMemory::default();
    assert_eq!(AdmissionMemory::decode(&memory.encode()).unwrap(), memory);
    memory.remember(&pod("Always", &["a"]));
    assert_eq!(AdmissionMemory::decode(&memory.encode()).unwrap(), memory);
}

#[test]
fn what_earlier_releases_saved_is_still_understood() {
    let saved = br#"{"version":1,"admitted":{"uid-1":"9f54d6b6ff1e82cf"}}"#;
    let memory = AdmissionMemory::decode(saved).unwrap();
    assert!(memory.is_remembered(&pod("Always", &["a"]), true));
}

#[test]
fn what_is_not_a_memory_is_refused_and_says_why() {
    for bytes in [&b""[..], b"{", b"[]", b"\xff", br#"{"version":1}"#] {
        assert!(matches!(AdmissionMemory::decode(bytes), Err(MemoryError::Malformed(_))), "{bytes:?}");
    }
    let error = AdmissionMemory::decode(br#"{"version":2,"admitted":{}}"#).unwrap_err();
    assert_eq!(error.to_string(), "the memory of admitted pods has version 2, this release reads 1");
}
