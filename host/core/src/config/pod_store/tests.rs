//! The index of desired pods.

use super::*;
use crate::pod::static_pod::CONFIG_MIRROR;

fn pod(name: &str, uid: &str) -> Arc<Pod> {
    let mut pod = Pod::default();
    pod.metadata.namespace = Some("default".into());
    pod.metadata.name = Some(name.into());
    pod.metadata.uid = Some(uid.into());
    Arc::new(pod)
}

fn mirror(name: &str, uid: &str) -> Arc<Pod> {
    let mut pod = Arc::unwrap_or_clone(pod(name, uid));
    pod.metadata.annotations = Some([(CONFIG_MIRROR.to_owned(), "hash".to_owned())].into());
    Arc::new(pod)
}

#[test]
fn a_name_leads_to_the_pod_that_came_last_and_back_when_it_goes() {
    let name = PodFullName::new("default", "web");
    let mut store = PodStore::default();
    store.upsert(pod("web", "old"));
    store.upsert(pod("web", "new"));
    assert_eq!(store.by_full_name(&name).map(|pod| PodUid::of(pod)), Some(PodUid::from("new")));
    store.remove(&pod("web", "new"));
    assert_eq!(store.by_full_name(&name).map(|pod| PodUid::of(pod)), Some(PodUid::from("old")));
    store.remove(&pod("web", "old"));
    assert!(store.by_full_name(&name).is_none() && store.is_empty() && store.names.is_empty());
}

#[test]
fn a_pod_put_in_the_place_of_another_is_listed_once() {
    let mut store = PodStore::default();
    store.upsert(pod("b", "1"));
    store.upsert(pod("a", "2"));
    store.upsert(pod("b", "1"));
    let listed: Vec<_> = store.pods().map(|pod| PodFullName::of(pod).to_string()).collect();
    assert_eq!(listed, ["default/a", "default/b"]);
    assert_eq!(store.len(), 2);
}

#[test]
fn a_mirror_never_stands_for_a_pod_but_its_uid_leads_to_the_static_pod() {
    let name = PodFullName::new("default", "web");
    let mut store = PodStore::default();
    store.upsert(mirror("web", "m1"));
    assert!(store.is_empty() && store.by_uid(&PodUid::from("m1")).is_none());
    assert_eq!(store.translate_uid(&mirror("web", "m1")), PodUid::from("m1"));
    store.upsert(pod("web", "s1"));
    assert_eq!(store.translate_uid(&mirror("web", "m1")), PodUid::from("s1"));
    store.remove(&mirror("web", "another"));
    assert!(store.mirror_of(&name).is_some());
    store.remove(&mirror("web", "m1"));
    assert!(store.mirror_of(&name).is_none() && store.len() == 1);
}
