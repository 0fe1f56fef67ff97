//! Tests of mirrors: which are made and which go, and what one looks like.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMapVolumeSource, Volume};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

use super::*;
use crate::fixtures::{at, pod, spec};

fn annotated(name: &str, annotation: &str, value: &str) -> Pod {
    let mut pod = pod("Always", &["main"]);
    pod.metadata.name = Some(name.to_owned());
    pod.metadata.uid = Some(format!("{name}-{value}"));
    pod.metadata.annotations = Some(BTreeMap::from([(annotation.to_owned(), value.to_owned())]));
    pod
}

/// A static pod of this hash, and how far it is: `waits`, `runs`, `ends`, `ended`.
fn static_pod(name: &str, hash: &str, stage: &str) -> StaticPod {
    StaticPod {
        pod: Arc::new(annotated(name, CONFIG_HASH, hash)),
        has_status: stage != "waits",
        may_run: stage != "ended",
        is_ending: ["ends", "ended"].contains(&stage),
    }
}

fn mirror(name: &str, hash: &str) -> Pod {
    annotated(name, CONFIG_MIRROR, hash)
}

fn node() -> Node {
    let metadata = ObjectMeta {
        name: Some("node1".to_owned()),
        uid: Some("node-uid".to_owned()),
        ..ObjectMeta::default()
    };
    Node { metadata, ..Node::default() }
}

/// `name: -uid of the mirror that goes +hash of the pod that gets one`.
fn show(steps: &[MirrorStep]) -> String {
    let hash = |pod: &Arc<Pod>| pod.metadata.annotations.as_ref().unwrap()[CONFIG_HASH].clone();
    let steps = steps.iter().map(|MirrorStep { full_name, delete, create }| {
        let delete = delete.iter().map(|uid| format!(" -{uid}"));
        let create = create.iter().map(|pod| format!(" +{}", hash(pod)));
        format!("{}:{}", full_name.name, delete.chain(create).collect::<String>())
    });
    steps.collect::<Vec<_>>().join(", ")
}

fn planned(statics: &[StaticPod], mirrors: &[Pod], node: Option<&Node>, all_seen: bool) -> String {
    let by_name = mirrors.iter().map(|mirror| (PodFullName::of(mirror), Arc::new(mirror.clone())));
    show(&plan(statics, &by_name.collect(), node, all_seen))
}

#[test]
fn every_static_pod_has_one_mirror_and_no_one_else_does() {
    let deleted = |mut mirror: Pod| {
        mirror.metadata.deletion_timestamp = Some(Time(at(0)));
        mirror
    };
    let edited = |mut mirror: Pod| {
        spec(&mut mirror).containers[0].image = Some("by-hand".to_owned());
        mirror
    };
    type Case = (&'static str, Vec<StaticPod>, Vec<Pod>, &'static str);
    let cases: [Case; 16] = [
        ("nothing", vec![], vec![], ""),
        ("a new one", vec![static_pod("a", "1", "runs")], vec![], "a: +1"),
        ("one that was never synced", vec![static_pod("a", "1", "waits")], vec![], ""),
        ("all is well", vec![static_pod("a", "1", "runs")], vec![mirror("a", "1")], ""),
        ("another hash", vec![static_pod("a", "2", "runs")], vec![mirror("a", "1")], "a: -a-1 +2"),
        ("no hash", vec![static_pod("a", "2", "runs")], vec![mirror("a", "")], "a: -a- +2"),
        ("edited elsewhere", vec![static_pod("a", "1", "runs")], vec![edited(mirror("a", "1"))], ""),
        ("being deleted", vec![static_pod("a", "1", "runs")], vec![deleted(mirror("a", "1"))], "a: -a-1 +1"),
        (
            "left over",
            vec![static_pod("b", "1", "runs")],
            vec![mirror("a", "1"), mirror("b", "1")],
            "a: -a-1",
        ),
        ("it ends", vec![static_pod("a", "1", "ends")], vec![mirror("a", "1")], ""),
        ("deleted while it ends", vec![static_pod("a", "1", "ends")], vec![deleted(mirror("a", "1"))], ""),
        ("it has ended", vec![static_pod("a", "1", "ended")], vec![], ""),
        ("and was deleted", vec![static_pod("a", "1", "ended")], vec![deleted(mirror("a", "1"))], ""),
        (
            "the next one waits",
            vec![static_pod("a", "1", "ends"), static_pod("a", "2", "waits")],
            vec![mirror("a", "1")],
            "",
        ),
        (
            "the next one has a verdict already",
            vec![static_pod("a", "1", "ends"), static_pod("a", "2", "runs")],
            vec![mirror("a", "1")],
            "",
        ),
        (
            "its turn",
            vec![static_pod("a", "1", "ended"), static_pod("a", "2", "runs")],
            vec![mirror("a", "1")],
            "a: -a-1 +2",
        ),
    ];
    for (name, statics, mirrors, expected) in cases {
        assert_eq!(planned(&statics, &mirrors, Some(&node()), true), expected, "{name}");
    }
}

#[test]
fn a_mirror_of_no_one_stays_until_all_sources_were_seen() {
    assert_eq!(planned(&[], &[mirror("a", "1")], Some(&node()), false), "");
    assert_eq!(planned(&[], &[mirror("a", "1")], None, true), "a: -a-1");
    let replaced = planned(&[static_pod("a", "2", "runs")], &[mirror("a", "1")], Some(&node()), false);
    assert_eq!(replaced, "a: -a-1 +2", "whose it is is known");
}

#[test]
fn no_mirror_is_made_without_a_node_or_of_a_pod_that_draws_on_the_cluster() {
    let statics = [static_pod("a", "1", "runs")];
    assert_eq!(planned(&statics, &[], None, true), "");
    let mut leaving = node();
    leaving.metadata.deletion_timestamp = Some(Time(at(0)));
    assert_eq!(planned(&statics, &[], Some(&leaving), true), "");
    assert_eq!(planned(&statics, &[mirror("a", "0")], Some(&leaving), true), "a: -a-0");
    let mut drawing = annotated("a", CONFIG_HASH, "1");
    let config_map =
        ConfigMapVolumeSource { name: "settings".to_owned(), ..ConfigMapVolumeSource::default() };
    spec(&mut drawing).volumes =
        Some(vec![Volume { config_map: Some(config_map), name: "v".to_owned(), ..Volume::default() }]);
    let drawing = StaticPod { pod: Arc::new(drawing), ..static_pod("a", "1", "runs") };
    assert_eq!(planned(&[drawing], &[], Some(&node()), true), "");
}

#[test]
fn a_mirror_is_the_static_pod_owned_by_the_node() {
    let pod = Pod {
        status: Some(k8s_openapi::api::core::v1::PodStatus::default()),
        ..annotated("a", CONFIG_HASH, "1")
    };
    let made = mirror_of(&pod, &node()).unwrap();
    assert_eq!((&made.spec, &made.status, &made.metadata.uid), (&pod.spec, &None, &None));
    assert!(is_mirror_of(&made, &pod));
    let owner = &made.metadata.owner_references.as_ref().unwrap()[0];
    let shown = (owner.api_version.as_str(), owner.kind.as_str(), owner.name.as_str(), owner.uid.as_str());
    assert_eq!((shown, owner.controller), (("v1", "Node", "node1", "node-uid"), Some(true)));
    let unnamed = Node { metadata: ObjectMeta::default(), ..node() };
    assert_eq!(mirror_of(&pod, &unnamed), None, "the API server would refuse it");
    assert_eq!(mirror_of(&Pod::default(), &node()), None);
}
