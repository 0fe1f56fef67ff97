//! Which system containers are checked, and since when they are there.

use SystemContainer::{Kubelet, Misc, Pods, Runtime};

use super::*;
use crate::stats::summary::tests::usage;

#[test]
fn only_what_is_named_is_checked() {
    /// The two settings, and what they name.
    type Case = (Option<&'static str>, Option<&'static str>, &'static [(SystemContainer, &'static str)]);
    let cases: [Case; 5] = [
        (None, None, &[]),
        (Some(""), Some(""), &[]),
        (Some("/k3s"), None, &[(Runtime, "/k3s")]),
        (None, Some("/system"), &[(Misc, "/system")]),
        (Some("/"), Some("/system"), &[(Runtime, "/"), (Misc, "/system")]),
    ];
    for (runtime, misc, expected) in cases {
        let names = NamedCgroups { runtime: runtime.map(str::to_owned), misc: misc.map(str::to_owned) };
        assert_eq!(names.named().collect::<Vec<_>>(), expected, "{names:?}");
    }
}

#[test]
fn each_is_as_old_as_its_cgroup_but_for_the_agent() {
    let second = |second| Timestamp::from_second(second).expect("a time");
    let of = |nanoseconds, created_at| SystemUsage { usage: usage(nanoseconds, 5), created_at };
    let found = BTreeMap::from([
        (Pods, of(4, Some(second(40)))),
        (Kubelet, of(1, Some(second(10)))),
        (Misc, of(3, None)),
        (Runtime, of(2, Some(second(20)))),
    ]);
    let shown = measurements(&found, second(99), |of, usage| {
        usage.cpu_nanoseconds.filter(|_| of != Pods).map(|used| used * 100)
    });
    let shown: Vec<_> = shown
        .iter()
        .map(|one| (one.name, one.started_at, one.usage.cpu_nanoseconds, one.nanocores))
        .collect();
    assert_eq!(
        shown,
        [
            ("kubelet", Some(second(99)), Some(1), Some(100)),
            ("runtime", Some(second(20)), Some(2), Some(200)),
            ("misc", None, Some(3), Some(300)),
            ("pods", Some(second(40)), Some(4), None),
        ]
    );
}

#[test]
fn what_was_not_found_is_not_shown() {
    assert!(measurements(&BTreeMap::new(), Timestamp::UNIX_EPOCH, |_, _| Some(1)).is_empty());
}
