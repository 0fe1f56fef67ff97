//! Sources of plugins give way: no pod of theirs stands in the way of another source's.

use super::*;

fn plugin() -> SourceName {
    SourceName::from("plugin")
}

/// `source: +added -removed !left out` of each change.
fn show(changes: Vec<(SourceName, SourceChange)>) -> Vec<String> {
    let words = |(source, change): (SourceName, SourceChange)| {
        let mut words = vec![format!("{source}:")];
        words.extend(names(&change.added).into_iter().map(|name| format!("+{name}")));
        words.extend(names(&change.removed).into_iter().map(|name| format!("-{name}")));
        words.extend(change.duplicates.iter().map(|duplicate| match duplicate {
            Duplicate::Name { pod } | Duplicate::Uid { pod } => {
                format!("?{}", names(std::slice::from_ref(pod))[0])
            }
            Duplicate::OwnedBySource { pod, owner } | Duplicate::NameOfSource { pod, owner } => {
                format!("!{} of {owner}", names(std::slice::from_ref(pod))[0])
            }
        }));
        words.join(" ")
    };
    changes.into_iter().map(words).collect()
}

#[test]
fn a_name_that_another_source_has_is_left_to_it_until_it_lets_go() {
    let mut merged = MergedPods::default();
    let own =
        |merged: &mut MergedPods, pods: &[Pod]| show(merged.merge(&SourceName::file(), set(pods), at(1)));
    assert_eq!(own(&mut merged, &[pod("web", "f")]), ["file: +web"]);
    let pods = set(&[pod("web", "p1"), pod("db", "p2")]);
    assert_eq!(show(merged.merge_of_plugin(&plugin(), pods, at(2))), ["plugin: +db !web of file"]);
    assert_eq!(own(&mut merged, &[]), ["file: -web", "plugin: +web"]);
}

#[test]
fn a_plugin_that_came_first_loses_the_name_to_a_source_of_the_agents_own() {
    let mut merged = MergedPods::default();
    let pods = set(&[pod("web", "p1"), pod("db", "p2")]);
    assert_eq!(show(merged.merge_of_plugin(&plugin(), pods, at(1))), ["plugin: +web +db"]);
    let own = show(merged.merge(&SourceName::file(), set(&[pod("web", "f")]), at(2)));
    assert_eq!(own, ["file: +web", "plugin: -web !web of file"]);
    assert_eq!(merged.len(), 2);
    let own = show(merged.merge(&SourceName::file(), Vec::new(), at(3)));
    assert_eq!(own, ["file: -web", "plugin: +web"]);
}

#[test]
fn of_two_plugins_the_first_keeps_the_name() {
    let mut merged = MergedPods::default();
    let second = SourceName::from("second");
    merged.merge_of_plugin(&plugin(), set(&[pod("web", "1")]), at(1));
    let change = show(merged.merge_of_plugin(&second, set(&[pod("web", "2")]), at(2)));
    assert_eq!(change, ["second: !web of plugin"]);
    assert_eq!(show(merged.remove_source(&plugin(), at(3))), ["plugin: -web", "second: +web"]);
    assert!(!merged.is_seen(&plugin()) && merged.is_seen(&second));
}

#[test]
fn sources_of_the_agents_own_share_names_as_ever() {
    let mut merged = MergedPods::default();
    merged.merge(&SourceName::file(), set(&[pod("web", "1")]), at(1));
    let change = show(merged.merge(&SourceName::http(), set(&[pod("web", "2")]), at(2)));
    assert_eq!(change, ["http: +web"], "the queue of static pods sees to the rest");
}

#[test]
fn a_source_that_is_gone_is_unseen() {
    let mut merged = MergedPods::default();
    assert_eq!(show(merged.remove_source(&plugin(), at(1))), ["plugin:"]);
    assert!(!merged.is_seen(&plugin()));
    merged.merge_of_plugin(&plugin(), Vec::new(), at(2));
    assert!(merged.is_seen(&plugin()));
}

/// A set of one of four sources, of which the last two are plugins': names and UIDs of its pods.
fn sets() -> impl Strategy<Value = Vec<(usize, Vec<(u8, u8)>)>> {
    let pods = proptest::collection::vec((0_u8..4, 0_u8..6), 0..5);
    proptest::collection::vec((0_usize..4, pods), 1..24)
}

fn current(merged: &MergedPods, source: &SourceName) -> BTreeSet<(PodFullName, PodUid)> {
    let pods = merged.sources.get(source).into_iter().flat_map(|state| state.pods.values());
    pods.map(|pod| (PodFullName::of(pod), PodUid::of(pod))).collect()
}

proptest! {
    #[test]
    fn nothing_that_plugins_bring_changes_what_others_have(sets in sets()) {
        let sources = ["file", "http", "plugin-a", "plugin-b"].map(SourceName::from);
        let (mut together, mut alone) = (MergedPods::default(), MergedPods::default());
        for (second, (index, pods)) in sets.into_iter().enumerate() {
            let source = &sources[index];
            // UIDs are each source's own, and each name's: `allow` sees to that for plugins.
            let pods = pods.iter().map(|(name, uid)| pod(&format!("p{name}"), &format!("{source}-{name}-{uid}")));
            let pods: Vec<Pod> = pods.collect();
            let now = at(i64::try_from(second).expect("few sets"));
            if index < 2 {
                let changes = together.merge(source, set(&pods), now);
                let expected = alone.merge(source, set(&pods), now);
                prop_assert_eq!(names(&changes[0].1.added), names(&expected[0].1.added));
                prop_assert_eq!(names(&changes[0].1.removed), names(&expected[0].1.removed));
            } else if pods.is_empty() {
                together.remove_source(source, now);
            } else {
                together.merge_of_plugin(source, set(&pods), now);
            }
            for own in &sources[..2] {
                prop_assert_eq!(current(&together, own), current(&alone, own));
            }
            for plugin in &sources[2..] {
                let taken: BTreeSet<PodFullName> = sources
                    .iter()
                    .filter(|other| *other != plugin)
                    .flat_map(|other| current(&together, other))
                    .map(|(name, _)| name)
                    .collect();
                for (name, _) in current(&together, plugin) {
                    prop_assert!(!taken.contains(&name), "{plugin} has {name}, and so has another");
                }
            }
        }
    }
}

#[test]
fn a_set_from_before_the_start_gives_way_leaves_the_plugin_unseen_and_never_outdoes_its_answer() {
    let mut merged = MergedPods::default();
    merged.merge(&SourceName::file(), set(&[pod("web", "f")]), at(1));
    let pods = || set(&[pod("web", "p1"), pod("db", "p2")]);
    assert_eq!(show(merged.restore_of_plugin(&plugin(), pods(), at(2))), ["plugin: +db !web of file"]);
    assert!(!merged.is_seen(&plugin()));
    assert_eq!(
        show(merged.merge_of_plugin(&plugin(), set(&[pod("new", "p3")]), at(3))),
        ["plugin: +new -db"]
    );
    assert!(merged.is_seen(&plugin()));
    assert_eq!(show(merged.restore_of_plugin(&plugin(), pods(), at(4))), [""; 0]);
    merged.restore_of_plugin(&SourceName::from("other"), pods(), at(5));
    merged.remove_source(&SourceName::from("other"), at(6));
    merged.merge_of_plugin(&SourceName::from("other"), set(&[]), at(7));
    assert!(merged.is_seen(&SourceName::from("other")), "one that comes back is seen as any");
}
