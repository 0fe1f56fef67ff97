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
    let mut config = MergedConfig::default();
    let own =
        |config: &mut MergedConfig, pods: &[Pod]| show(config.merge(&SourceName::file(), set(pods), at(1)));
    assert_eq!(own(&mut config, &[pod("web", "f")]), ["file: +web"]);
    let pods = set(&[pod("web", "p1"), pod("db", "p2")]);
    assert_eq!(show(config.merge_of_plugin(&plugin(), pods, at(2))), ["plugin: +db !web of file"]);
    assert_eq!(own(&mut config, &[]), ["file: -web", "plugin: +web"]);
}

#[test]
fn a_plugin_that_came_first_loses_the_name_to_a_source_of_the_agents_own() {
    let mut config = MergedConfig::default();
    let pods = set(&[pod("web", "p1"), pod("db", "p2")]);
    assert_eq!(show(config.merge_of_plugin(&plugin(), pods, at(1))), ["plugin: +web +db"]);
    let own = show(config.merge(&SourceName::file(), set(&[pod("web", "f")]), at(2)));
    assert_eq!(own, ["file: +web", "plugin: -web !web of file"]);
    assert_eq!(config.len(), 2);
    let own = show(config.merge(&SourceName::file(), Vec::new(), at(3)));
    assert_eq!(own, ["file: -web", "plugin: +web"]);
}

#[test]
fn of_two_plugins_the_first_keeps_the_name() {
    let mut config = MergedConfig::default();
    let second = SourceName::from("second");
    config.merge_of_plugin(&plugin(), set(&[pod("web", "1")]), at(1));
    let change = show(config.merge_of_plugin(&second, set(&[pod("web", "2")]), at(2)));
    assert_eq!(change, ["second: !web of plugin"]);
    assert_eq!(show(config.remove_source(&plugin(), at(3))), ["plugin: -web", "second: +web"]);
    assert!(!config.is_seen(&plugin()) && config.is_seen(&second));
}

#[test]
fn sources_of_the_agents_own_share_names_as_ever() {
    let mut config = MergedConfig::default();
    config.merge(&SourceName::file(), set(&[pod("web", "1")]), at(1));
    let change = show(config.merge(&SourceName::http(), set(&[pod("web", "2")]), at(2)));
    assert_eq!(change, ["http: +web"], "the queue of static pods sees to the rest");
}

#[test]
fn a_source_that_is_gone_is_unseen() {
    let mut config = MergedConfig::default();
    assert_eq!(show(config.remove_source(&plugin(), at(1))), ["plugin:"]);
    assert!(!config.is_seen(&plugin()));
    config.merge_of_plugin(&plugin(), Vec::new(), at(2));
    assert!(config.is_seen(&plugin()));
}
