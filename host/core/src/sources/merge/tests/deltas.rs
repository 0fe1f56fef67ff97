//! Sources that report one pod at a time, as the API server's watch does.

use super::*;

fn api() -> SourceName {
    SourceName::from("api")
}

/// `OPERATION name` of each change, and `!name` of what was left out.
fn show(changes: Changes) -> String {
    let words = changes.into_iter().flat_map(|(source, mut change)| {
        let left_out = std::mem::take(&mut change.duplicates).into_iter().map(|duplicate| match duplicate {
            Duplicate::Name { pod } | Duplicate::Uid { pod } => format!("?{}", names(&[pod])[0]),
            Duplicate::OwnedBySource { pod, .. } | Duplicate::NameOfSource { pod, .. } => {
                format!("!{}", names(&[pod])[0])
            }
        });
        let left_out: Vec<String> = left_out.collect();
        let updates = change.into_updates(&source).into_iter();
        let lines = updates.map(|update| format!("{:?} {}", update.op, names(&update.pods).join(" ")));
        lines.chain(left_out).collect::<Vec<_>>()
    });
    words.collect::<Vec<_>>().join(", ")
}

#[test]
fn a_source_that_tells_of_single_pods_is_merged_by_the_same_rules() {
    let mut merged = MergedPods::default();
    let mut take = |update| show(merged.take(&api(), update, at(1)));
    let put = |pod: Pod| SourceUpdate::Put(Arc::new(pod));
    let edited = |uid: &str| {
        let mut pod = pod("web", uid);
        annotate(&mut pod, "note");
        pod
    };
    let with_status = |mut pod: Pod| {
        pod.status = Some(PodStatus { phase: Some("Running".into()), ..PodStatus::default() });
        pod
    };
    let ending = |mut pod: Pod| {
        pod.metadata.deletion_timestamp = Some(Time(at(9)));
        pod
    };
    assert_eq!(take(replaced(set(&[pod("db", "1")]))), "Add db");
    assert_eq!(take(put(pod("web", "2"))), "Add web");
    assert_eq!(take(put(pod("web", "2"))), "", "the same again");
    assert_eq!(take(put(with_status(pod("web", "2")))), "Reconcile web");
    assert_eq!(take(put(with_status(edited("2")))), "Update web");
    assert_eq!(take(put(ending(edited("2")))), "Delete web");
    assert_eq!(take(put(pod("web", "3"))), "Remove web, Add web", "another object has the name");
    assert_eq!(take(SourceUpdate::Deleted("2".into())), "", "it was gone before");
    assert_eq!(take(SourceUpdate::Deleted("3".into())), "Remove web");
    assert_eq!(take(put(pod("web", "3"))), "Add web", "it came back with its UID");
    assert_eq!(take(SourceUpdate::Incomplete(Some("why".to_owned()))), "");
    assert_eq!(take(replaced(set(&[pod("db", "1")]))), "Remove web");
    assert!(merged.is_seen(&api()) && merged.len() == 1);
}

#[test]
fn a_single_pod_waits_for_its_uid_and_a_plugins_for_its_name() {
    let (mut merged, plugin) = (MergedPods::default(), SourceName::from("plugin"));
    merged.merge(&SourceName::file(), set(&[pod("web", "1"), pod("db", "2")]), at(1));
    let put = |pod: Pod| SourceUpdate::Put(Arc::new(pod));
    assert_eq!(show(merged.take(&api(), put(pod("other", "1")), at(2))), "!other");
    assert_eq!(show(merged.take_of_plugin(&plugin, put(pod("db", "p")), at(3))), "!db");
    assert!(!merged.is_seen(&api()), "it hasn't reported all that it has");
    assert_eq!(
        show(merged.take(&SourceName::file(), SourceUpdate::Deleted("1".into()), at(4))),
        "Remove web, Add other"
    );
    assert_eq!(show(merged.take_of_plugin(&plugin, SourceUpdate::Deleted("p".into()), at(5))), "");
    assert_eq!(
        show(merged.merge(&SourceName::file(), Vec::new(), at(6))),
        "Remove db",
        "no one waits any more"
    );
    assert_eq!(show(merged.take_of_plugin(&plugin, put(pod("other", "q")), at(7))), "!other");
}

proptest! {
    /// Whatever comes as a set may as well come pod by pod.
    #[test]
    fn single_pods_come_to_the_same_as_sets(sets in prop::collection::vec(any_set(), 1..8)) {
        let (mut whole, mut single) = (MergedPods::default(), MergedPods::default());
        for pods in sets {
            // An object keeps its name as long as it lives; two have one at most one after the other.
            let named = |mut pod: Pod| {
                let is_late = pod.metadata.uid.as_deref() > Some("u2");
                pod.metadata.name = Some(if is_late { "late" } else { "early" }.to_owned());
                pod
            };
            let pods: Vec<Pod> = pods.into_iter().map(named).collect();
            whole.merge(&api(), set(&pods), at(1));
            let has: Vec<Arc<Pod>> = whole.sources[&api()].pods.values().cloned().collect();
            let gone = single.sources.get(&api()).into_iter().flat_map(|state| state.pods.keys().cloned());
            let gone: Vec<PodUid> = gone.filter(|uid| !has.iter().any(|pod| PodUid::of(pod) == *uid)).collect();
            for uid in gone {
                single.take(&api(), SourceUpdate::Deleted(uid), at(1));
            }
            for pod in has {
                single.take(&api(), SourceUpdate::Put(pod), at(1));
            }
            let pods = |merged: &MergedPods| -> BTreeMap<PodUid, Arc<Pod>> {
                merged.sources.get(&api()).into_iter().flat_map(|state| state.pods.clone()).collect()
            };
            prop_assert_eq!(pods(&whole), pods(&single));
        }
    }
}
