//! Static pods: adoption, marks and the queue for a name.

use k8s_openapi::api::core::v1::PodSpec;

use super::*;

fn written(name: &str) -> Pod {
    let mut pod = Pod::default();
    pod.metadata.name = Some(name.to_owned());
    pod.spec = Some(PodSpec::default());
    pod
}

fn adopted(pod: Pod, place: &str, node_name: &str) -> Pod {
    adopt(pod, Origin { source: &SourceName::file(), place, node_name })
}

#[test]
fn an_adopted_pod_has_name_namespace_node_marks_and_toleration() {
    let mut pod = written("web");
    pod.metadata.resource_version = Some("7".into());
    pod.status = Some(PodStatus { phase: Some("Running".into()), ..PodStatus::default() });
    pod.metadata.annotations = Some([(CONFIG_MIRROR.to_owned(), "x".to_owned())].into());
    let pod = adopted(pod, "/etc/pods/web.yaml", "Node-A");
    assert_eq!(PodFullName::of(&pod).to_string(), "default/web-node-a");
    assert_eq!(PodUid::of(&pod).as_str().len(), 32);
    assert_eq!(annotation(&pod, CONFIG_HASH), pod.metadata.uid.as_deref());
    assert_eq!(source_of(&pod), Some("file"));
    assert!(is_static(&pod) && is_critical(&pod) && !is_mirror(&pod));
    assert_eq!(pod.metadata.resource_version, None);
    let spec = pod.spec.expect("a spec");
    assert_eq!(spec.node_name.as_deref(), Some("Node-A"));
    assert_eq!(spec.tolerations.map(|tolerations| tolerations.len()), Some(1));
    assert_eq!(pod.status.and_then(|status| status.phase).as_deref(), Some("Pending"));
}

#[test]
fn the_uid_follows_content_place_and_node_and_nothing_else() {
    let base = PodUid::of(&adopted(written("web"), "/a", "n"));
    let mut with_status = written("web");
    with_status.status = Some(PodStatus { phase: Some("Running".into()), ..PodStatus::default() });
    assert_eq!(PodUid::of(&adopted(with_status, "/a", "n")), base, "status is no content");
    assert_eq!(
        PodUid::of(&adopted(written("web"), "/a", "N")),
        base,
        "case of the node's name doesn't count"
    );
    for (what, other) in [
        ("place", adopted(written("web"), "/b", "n")),
        ("node", adopted(written("web"), "/a", "m")),
        ("content", adopted(written("web2"), "/a", "n")),
    ] {
        assert_ne!(PodUid::of(&other), base, "{what}");
    }
}

#[test]
fn sources_of_a_kubelet_give_its_uids_and_others_their_own() {
    let from = |source: &str, node_name| {
        let origin = Origin { source: &SourceName::from(source), place: "http://pods", node_name };
        PodUid::of(&adopt(written("web"), origin))
    };
    assert_eq!(from("http", "n"), from("http", "m"), "a URL gives one on all nodes");
    assert_ne!(from("file", "n"), from("file", "m"));
    assert_ne!(from("compose", "n"), from("compose", "m"));
    assert_ne!(from("compose", "n"), from("http", "n"));
    assert_ne!(from("compose", "n"), from("file", "n"));
}

#[test]
fn a_uid_of_its_own_stays_when_the_content_changes() {
    let mut pod = written("web");
    pod.metadata.uid = Some("mine".into());
    pod.metadata.namespace = Some("apps".into());
    let pod = adopted(pod, "/a", "n");
    assert_eq!(PodUid::of(&pod).as_str(), "mine");
    assert_eq!(annotation(&pod, CONFIG_HASH), Some("mine"));
    assert_eq!(PodFullName::of(&pod).to_string(), "apps/web-n");
}

#[test]
fn static_mirror_and_critical_pods_are_distinguished() {
    let with = |key: &str, value: &str, priority: Option<i32>| {
        let mut pod = written("p");
        pod.metadata.annotations = Some([(key.to_owned(), value.to_owned())].into());
        pod.spec = Some(PodSpec { priority, ..PodSpec::default() });
        pod
    };
    let cases = [
        ("api pod", with(CONFIG_SOURCE, "api", None), (false, false, false)),
        ("api pod of high priority", with(CONFIG_SOURCE, "api", Some(1_999_999_999)), (false, false, false)),
        ("api pod of system priority", with(CONFIG_SOURCE, "api", Some(2_000_000_000)), (false, false, true)),
        ("file pod", with(CONFIG_SOURCE, "file", None), (true, false, true)),
        ("plugin pod", with(CONFIG_SOURCE, "compose", None), (true, false, true)),
        ("mirror pod", with(CONFIG_MIRROR, "h", None), (false, true, true)),
        ("pod without marks", written("p"), (false, false, false)),
    ];
    for (what, pod, expected) in cases {
        assert_eq!((is_static(&pod), is_mirror(&pod), is_critical(&pod)), expected, "{what}");
    }
}

#[test]
fn one_pod_runs_under_a_name_and_the_others_follow_in_order() {
    let name = PodFullName::new("default", "web");
    let [a, b, c] = ["a", "b", "c"].map(PodUid::from);
    let mut queue = StaticPodQueue::default();
    for uid in [&a, &b, &c, &b] {
        queue.enqueue(&name, uid);
    }
    assert!(!queue.allow_start(&name, &b), "a came first");
    assert!(queue.allow_start(&name, &a));
    assert!(queue.allow_start(&name, &a), "asking twice changes nothing");
    assert!(!queue.allow_start(&name, &b));
    assert_eq!(queue.forget(&name, &a), Some(b.clone()));
    assert!(!queue.allow_start(&name, &c), "b is next");
    assert!(queue.allow_start(&name, &b));
    assert_eq!(queue.forget(&name, &c), None, "c gave up while b runs");
    assert_eq!(queue.forget(&name, &b), None);
    assert!(queue.started.is_empty() && queue.waiting.is_empty(), "nothing is left behind");
}

#[test]
fn a_waiting_pod_that_is_no_longer_desired_lets_the_next_one_pass() {
    let name = PodFullName::new("default", "web");
    let [a, b] = ["a", "b"].map(PodUid::from);
    let mut queue = StaticPodQueue::default();
    queue.enqueue(&name, &a);
    queue.enqueue(&name, &b);
    assert_eq!(queue.forget(&name, &a), Some(b.clone()));
    assert!(queue.allow_start(&name, &b));
}

#[test]
fn names_are_independent() {
    let mut queue = StaticPodQueue::default();
    let uid = PodUid::from("a");
    assert!(queue.allow_start(&PodFullName::new("x", "web"), &uid));
    assert!(queue.allow_start(&PodFullName::new("y", "web"), &PodUid::from("b")));
    assert_eq!(queue.started(&PodFullName::new("x", "web")), Some(&uid));
}

#[test]
fn a_pod_may_start_when_it_is_in_front_and_the_name_is_free() {
    /// Who has started, who waits; whether `0` may start; who has started and who waits then.
    type Row = (&'static str, &'static [&'static str], bool, &'static str, &'static [&'static str]);
    let table: [Row; 8] = [
        ("", &[], true, "0", &[]),
        ("1", &[], false, "1", &["0"]),
        ("0", &[], true, "0", &[]),
        ("", &["0"], true, "0", &[]),
        ("", &["1", "0"], false, "", &["1", "0"]),
        ("", &["0", "1"], true, "0", &["1"]),
        ("1", &["2", "0"], false, "1", &["2", "0"]),
        ("", &["0", "0", "1", "1"], true, "0", &["1"]),
    ];
    let name = PodFullName::new("default", "foo");
    for (started, waiting, allowed, then_started, then_waiting) in table {
        let mut queue = StaticPodQueue::default();
        if !started.is_empty() {
            assert!(queue.allow_start(&name, &PodUid::from(started)));
        }
        for uid in waiting {
            queue.enqueue(&name, &PodUid::from(*uid));
        }
        let other = PodFullName::new("default", "bar");
        assert!(queue.allow_start(&other, &PodUid::from("of another name")));
        assert_eq!(queue.allow_start(&name, &PodUid::from("0")), allowed, "{started} {waiting:?}");
        assert_eq!(queue.started(&name).map_or("", PodUid::as_str), then_started, "{started} {waiting:?}");
        let line = queue.waiting.get(&name).into_iter().flatten().map(PodUid::as_str);
        assert_eq!(line.collect::<Vec<_>>(), then_waiting, "{started} {waiting:?}");
    }
}

#[test]
fn pods_that_are_over_before_their_turn_are_not_waited_for() {
    let name = PodFullName::new("default", "foo");
    let mut queue = StaticPodQueue::default();
    let uids = ["2", "3", "0", "1"].map(PodUid::from);
    for uid in &uids {
        queue.enqueue(&name, uid);
    }
    assert_eq!(queue.forget(&name, &uids[0]), Some(uids[1].clone()));
    assert_eq!(queue.forget(&name, &uids[1]), Some(uids[2].clone()));
    assert!(queue.allow_start(&name, &uids[2]));
    assert_eq!(queue.waiting[&name], [uids[3].clone()]);
}

#[test]
fn only_a_pod_whose_containers_always_restart_takes_over_what_is_left_of_one_with_its_uid() {
    for (spec, takes_over) in [
        ("{containers: [{name: a}]}", true),
        ("{restartPolicy: Always, containers: [{name: a}], initContainers: [{name: i}]}", true),
        ("{restartPolicy: Always, containers: [], initContainers: [{name: s, restartPolicy: Always}]}", true),
        ("{restartPolicy: OnFailure, containers: [{name: a}]}", false),
        ("{restartPolicy: Never, containers: [{name: a}]}", false),
        ("{restartPolicy: Always, containers: [{name: a}, {name: b, restartPolicy: Never}]}", false),
    ] {
        let pod = Pod { spec: Some(serde_saphyr::from_str(spec).unwrap()), ..Pod::default() };
        assert_eq!(takes_remains_over(&pod), takes_over, "{spec}");
    }
}
