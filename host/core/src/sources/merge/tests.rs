//! Merging: tables of the rules, and what must hold for any sequence of sets.

use k8s_openapi::api::core::v1::{PodSpec, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use proptest::prelude::*;

use super::*;

mod deltas;
mod of_plugins;
mod stories;

fn pod(name: &str, uid: &str) -> Pod {
    let mut pod = Pod { spec: Some(PodSpec::default()), ..Pod::default() };
    pod.metadata.namespace = Some("default".into());
    pod.metadata.name = Some(name.into());
    pod.metadata.uid = Some(uid.into());
    pod
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn set(pods: &[Pod]) -> Vec<Arc<Pod>> {
    pods.iter().cloned().map(Arc::new).collect()
}

fn names(pods: &[Arc<Pod>]) -> Vec<&str> {
    pods.iter().map(|pod| pod.metadata.name.as_deref().unwrap_or_default()).collect()
}

type Changes = Vec<(SourceName, SourceChange)>;

fn replaced(pods: Vec<Arc<Pod>>) -> SourceUpdate {
    SourceUpdate::Replaced { pods, incomplete: None }
}

/// Sets are what most sources send.
impl MergedPods {
    fn merge(&mut self, source: &SourceName, pods: Vec<Arc<Pod>>, now: Timestamp) -> Changes {
        self.take(source, replaced(pods), now)
    }

    fn merge_of_plugin(&mut self, source: &SourceName, pods: Vec<Arc<Pod>>, now: Timestamp) -> Changes {
        self.take_of_plugin(source, replaced(pods), now)
    }

    fn restore_of_plugin(&mut self, source: &SourceName, pods: Vec<Arc<Pod>>, now: Timestamp) -> Changes {
        self.take_of_plugin(source, SourceUpdate::Restored(pods), now)
    }
}

/// The one change of a source that no one else waits for.
fn merge(merged: &mut MergedPods, pods: &[Pod], second: i64) -> SourceChange {
    let mut changes = merged.merge(&SourceName::file(), set(pods), at(second));
    assert_eq!(changes.len(), 1);
    changes.remove(0).1
}

/// What happens to one pod when its next version comes: the operations, without the first add.
fn next(change: impl FnOnce(&mut Pod)) -> Vec<PodOperation> {
    let mut merged = MergedPods::default();
    let mut pod = pod("web", "1");
    pod.metadata.annotations = Some([("note".to_owned(), "x".to_owned())].into());
    merge(&mut merged, &[pod.clone()], 1);
    change(&mut pod);
    let change = merge(&mut merged, &[pod], 2);
    change.into_updates(&SourceName::file()).into_iter().map(|update| update.op).collect()
}

fn annotate(pod: &mut Pod, name: &str) {
    pod.metadata.annotations.get_or_insert_default().insert(name.to_owned(), "changed".to_owned());
}

#[test]
fn each_difference_has_its_operation() {
    use PodOperation::{Delete, Reconcile, Update};
    let deleted = |pod: &mut Pod| pod.metadata.deletion_timestamp = Some(Time(at(9)));
    let status = |pod: &mut Pod| {
        pod.status = Some(PodStatus { phase: Some("Running".into()), ..PodStatus::default() });
    };
    assert_eq!(next(|_| {}), [], "nothing");
    assert_eq!(
        next(|pod| pod.spec = Some(PodSpec { priority: Some(1), ..PodSpec::default() })),
        [Update],
        "spec"
    );
    assert_eq!(next(|pod| pod.metadata.labels = Some([("a".into(), "b".into())].into())), [Update], "label");
    assert_eq!(next(|pod| pod.metadata.labels = Some([].into())), [], "no labels is no labels");
    assert_eq!(next(|pod| annotate(pod, "note")), [Update], "annotation");
    assert_eq!(next(|pod| annotate(pod, "kubernetes.io/config.hash")), [Update], "hash");
    assert_eq!(next(|pod| annotate(pod, CONFIG_SEEN)), [], "seen");
    assert_eq!(next(|pod| annotate(pod, CONFIG_SOURCE)), [], "source");
    assert_eq!(next(|pod| annotate(pod, CONFIG_MIRROR)), [], "mirror");
    assert_eq!(next(|pod| pod.metadata.resource_version = Some("8".into())), [], "resource version");
    assert_eq!(next(status), [Reconcile], "status");
    assert_eq!(next(deleted), [Delete], "deletion");
    assert_eq!(next(|pod| pod.metadata.deletion_grace_period_seconds = Some(3)), [Update], "grace");
    let all = |pod: &mut Pod| {
        deleted(pod);
        status(pod);
        annotate(pod, "note");
    };
    assert_eq!(next(all), [Delete], "deletion goes before update and reconcile");
}

#[test]
fn updates_come_in_upstreams_order() {
    let mut merged = MergedPods::default();
    merge(&mut merged, &[pod("gone", "1"), pod("edited", "2"), pod("ending", "3"), pod("seen", "4")], 1);
    let mut edited = pod("edited", "2");
    annotate(&mut edited, "note");
    let mut ending = pod("ending", "3");
    ending.metadata.deletion_timestamp = Some(Time(at(1)));
    let mut seen = pod("seen", "4");
    seen.status = Some(PodStatus { phase: Some("Failed".into()), ..PodStatus::default() });
    let change = merge(&mut merged, &[seen, ending, edited, pod("new", "5")], 2);
    let updates = change.into_updates(&SourceName::file());
    let log: Vec<_> = updates.iter().map(|update| (update.op, names(&update.pods))).collect();
    assert_eq!(
        log,
        [
            (PodOperation::Remove, vec!["gone"]),
            (PodOperation::Add, vec!["new"]),
            (PodOperation::Update, vec!["edited"]),
            (PodOperation::Delete, vec!["ending"]),
            (PodOperation::Reconcile, vec!["seen"]),
        ]
    );
}

#[test]
fn pods_that_their_source_has_stamped_are_handed_on_without_a_copy() {
    let mut merged = MergedPods::default();
    let stamped = |name: &str| {
        let mut pod = pod(name, name);
        let seen = (CONFIG_SEEN.to_owned(), "1970-01-01T00:00:07Z".to_owned());
        pod.metadata.annotations = Some([seen].into());
        Arc::new(pod)
    };
    let (of_api, of_file) = (stamped("a"), Arc::new(pod("b", "b")));
    let mut merge = |pods: &[&Arc<Pod>]| {
        let pods = pods.iter().map(|pod| (*pod).clone()).collect();
        merged.merge(&SourceName::from("api"), pods, at(9)).remove(0).1
    };
    let added = merge(&[&of_api, &of_file]).added;
    assert!(Arc::ptr_eq(&added[0], &of_api));
    assert_eq!(first_seen(&added[1]), Some("1970-01-01T00:00:09Z"), "others don't stamp");
    // The next version brings the same time, and isn't copied either.
    let mut changed = Pod::clone(&of_api);
    changed.status = Some(PodStatus { phase: Some("Failed".into()), ..PodStatus::default() });
    let changed = Arc::new(changed);
    let reconciled = merge(&[&changed, &of_file]).reconciled;
    assert!(Arc::ptr_eq(&reconciled[0], &changed));
}

#[test]
fn the_first_set_marks_the_source_seen_even_without_pods() {
    let mut merged = MergedPods::default();
    assert!(!merged.is_seen(&SourceName::file()));
    let updates = merge(&mut merged, &[], 1).into_updates(&SourceName::file());
    assert!(matches!(updates.as_slice(), [PodUpdate { op: PodOperation::Add, pods, .. }] if pods.is_empty()));
    assert!(merged.is_seen(&SourceName::file()));
    assert!(merge(&mut merged, &[], 2).into_updates(&SourceName::file()).is_empty());
}

#[test]
fn the_time_of_the_first_check_stays() {
    let mut merged = MergedPods::default();
    let added = merge(&mut merged, &[pod("web", "1")], 100).added;
    assert_eq!(first_seen(&added[0]), Some("1970-01-01T00:01:40Z"));
    let mut edited = pod("web", "1");
    annotate(&mut edited, "note");
    let updated = merge(&mut merged, &[edited], 200).updated;
    assert_eq!(first_seen(&updated[0]), Some("1970-01-01T00:01:40Z"));
}

#[test]
fn the_same_set_again_changes_nothing() {
    let mut merged = MergedPods::default();
    let pods = set(&[pod("a", "1"), pod("b", "2")]);
    merged.merge(&SourceName::file(), pods.clone(), at(1));
    for again in [pods.clone(), pods.iter().map(|pod| Arc::new(Pod::clone(pod))).collect()] {
        let changes = merged.merge(&SourceName::file(), again, at(2));
        assert!(changes[0].1.clone().into_updates(&SourceName::file()).is_empty());
    }
}

#[test]
fn of_two_pods_with_one_name_or_uid_the_first_wins_and_the_other_is_reported() {
    let mut merged = MergedPods::default();
    let change = merge(&mut merged, &[pod("web", "1"), pod("web", "2"), pod("other", "1")], 1);
    assert_eq!(names(&change.added), ["web"]);
    assert_eq!(
        change.duplicates,
        [
            Duplicate::Name { pod: Arc::new(pod("web", "2")) },
            Duplicate::Uid { pod: Arc::new(pod("other", "1")) }
        ]
    );
}

#[test]
fn a_uid_belongs_to_the_source_that_brought_it_until_that_lets_go() {
    let (file, plugin) = (SourceName::file(), SourceName::from("compose"));
    let mut merged = MergedPods::default();
    merged.merge(&file, set(&[pod("web", "1")]), at(1));
    let changes = merged.merge(&plugin, set(&[pod("mine", "1"), pod("more", "2")]), at(2));
    assert_eq!(names(&changes[0].1.added), ["more"]);
    assert!(
        matches!(&changes[0].1.duplicates[..], [Duplicate::OwnedBySource { owner, .. }] if *owner == file)
    );
    let changes = merged.merge(&file, Vec::new(), at(3));
    let log: Vec<_> = changes
        .iter()
        .map(|(source, change)| (source.as_str(), names(&change.removed), names(&change.added)))
        .collect();
    assert_eq!(log, [("file", vec!["web"], vec![]), ("compose", vec![], vec!["mine"])]);
    assert_eq!(merged.len(), 2);
}

fn any_set() -> impl Strategy<Value = Vec<Pod>> {
    let any_pod = (0..6_u8, 0..6_u8, 0..3_i32, any::<bool>()).prop_map(|(name, uid, priority, ending)| {
        let mut pod = pod(&format!("p{name}"), &format!("u{uid}"));
        pod.spec = Some(PodSpec { priority: Some(priority), ..PodSpec::default() });
        pod.metadata.deletion_timestamp = ending.then(|| Time(at(1)));
        pod
    });
    prop::collection::vec(any_pod, 0..8)
}

proptest! {
    #[test]
    fn applying_the_changes_to_the_old_set_gives_the_new_one(
        steps in prop::collection::vec((any::<bool>(), any_set()), 1..12)
    ) {
        let sources = [SourceName::file(), SourceName::from("compose")];
        let mut merged = MergedPods::default();
        let mut applied: BTreeMap<(SourceName, PodUid), Arc<Pod>> = BTreeMap::new();
        for (second, (which, pods)) in steps.into_iter().enumerate() {
            let source = sources[usize::from(which)].clone();
            let second = i64::try_from(second).expect("a few steps");
            let changes = merged.merge(&source, set(&pods), at(second));
            let left_out = changes[0].1.duplicates.len();
            for (source, change) in changes {
                for update in change.into_updates(&source) {
                    for pod in update.pods {
                        let key = (source.clone(), PodUid::of(&pod));
                        match update.op {
                            PodOperation::Remove => prop_assert!(applied.remove(&key).is_some()),
                            PodOperation::Add => prop_assert!(applied.insert(key, pod).is_none()),
                            PodOperation::Update | PodOperation::Delete | PodOperation::Reconcile => {
                                prop_assert!(applied.insert(key, pod).is_some());
                            }
                        }
                    }
                }
            }
            let expected: BTreeMap<_, _> = merged
                .sources
                .iter()
                .flat_map(|(source, state)| {
                    state.pods.iter().map(|(uid, pod)| ((source.clone(), uid.clone()), pod.clone()))
                })
                .collect();
            prop_assert_eq!(&applied, &expected);
            let uids: HashSet<_> = applied.keys().map(|(_, uid)| uid).collect();
            prop_assert_eq!(uids.len(), applied.len(), "a UID belongs to one source");
            let of_source = applied.keys().filter(|(name, _)| *name == source).count();
            prop_assert_eq!(of_source + left_out, pods.len(), "each pod of the set is taken or reported");
        }
    }
}
