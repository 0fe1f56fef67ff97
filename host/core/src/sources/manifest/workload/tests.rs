//! Which pod comes of which object, and what is said of objects without one.

use expect_test::{Expect, expect};

use super::*;
use crate::pod::SourceName;

const SPEC: &str = "spec: {containers: [{name: a, image: b}]}";

fn read(text: &str) -> Workloads {
    pods(text.as_bytes(), Arrival::ApiServer { node_name: Some("n1"), now: Timestamp::UNIX_EPOCH })
}

/// An object with this template.
fn object(api_version: &str, kind: &str, template: &str) -> String {
    format!(
        "apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: web, namespace: shop}}\nspec: {template}\n"
    )
}

fn template() -> String {
    format!("{{template: {{metadata: {{labels: {{app: web}}, namespace: other}}, {SPEC}}}}}")
}

/// A pod with its owner and labels.
fn shown(found: &WorkloadPod) -> String {
    let metadata = &found.pod.metadata;
    let owner = metadata.owner_references.iter().flatten().next();
    let owner = owner
        .map_or_else(String::new, |owner| format!(" of {} {} {}", owner.api_version, owner.kind, owner.name));
    let labels = metadata.labels.iter().flatten().map(|(key, value)| format!(" {key}={value}"));
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let item = if found.item.is_empty() { String::new() } else { format!("{}: ", found.item) };
    format!(
        "{item}{}: {}/{}{owner}{}",
        found.object,
        text(&metadata.namespace),
        text(&metadata.name),
        labels.collect::<String>()
    )
}

/// Pods, then what makes none, then what is wrong, each on a line.
fn check(text: &str, expected: Expect) {
    let found = read(text);
    let mut lines: Vec<String> = found.pods.iter().map(shown).collect();
    let skipped = |skipped: &SkippedObject| {
        format!("skipped {} of document {}", skipped.object, skipped.document.number)
    };
    lines.extend(found.skipped.iter().map(skipped));
    lines.extend(found.problems.iter().map(Problem::to_string));
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn each_kind_comes_to_the_pod_that_its_controller_makes() {
    let of = |api_version: &str, kind: &str| object(api_version, kind, &template());
    check(
        &format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\n{SPEC}\n"),
        expect!["Pod web: default/web"],
    );
    check(
        &of("apps/v1", "Deployment"),
        expect![
            "Deployment shop/web: shop/web-xxxxxxxxxx-xxxxx of apps/v1 ReplicaSet web-xxxxxxxxxx app=web pod-template-hash=xxxxxxxxxx"
        ],
    );
    check(
        &of("apps/v1", "ReplicaSet"),
        expect!["ReplicaSet shop/web: shop/web-xxxxx of apps/v1 ReplicaSet web app=web"],
    );
    check(
        &of("apps/v1", "StatefulSet"),
        expect![
            "StatefulSet shop/web: shop/web-0 of apps/v1 StatefulSet web app=web apps.kubernetes.io/pod-index=0 statefulset.kubernetes.io/pod-name=web-0"
        ],
    );
    check(
        &of("apps/v1", "DaemonSet"),
        expect!["DaemonSet shop/web: shop/web-xxxxx of apps/v1 DaemonSet web app=web"],
    );
    check(
        &of("batch/v1", "Job"),
        expect![
            "Job shop/web: shop/web-xxxxx of batch/v1 Job web app=web batch.kubernetes.io/job-name=web job-name=web"
        ],
    );
    check(
        &object(
            "batch/v1",
            "CronJob",
            &format!("{{schedule: '@daily', jobTemplate: {{spec: {}}}}}", template()),
        ),
        expect![
            "CronJob shop/web: shop/web-xxxxxxxx-xxxxx of batch/v1 Job web-xxxxxxxx app=web batch.kubernetes.io/job-name=web-xxxxxxxx job-name=web-xxxxxxxx"
        ],
    );
    check(
        &of("v1", "ReplicationController"),
        expect!["ReplicationController shop/web: shop/web-xxxxx of v1 ReplicationController web app=web"],
    );
}

#[test]
fn lists_and_documents_are_read_whole_and_a_fault_costs_its_object_alone() {
    let item = format!("{{metadata: {{name: a}}, {SPEC}}}");
    check(
        &format!("apiVersion: v1\nkind: PodList\nitems: [{item}, {{metadata: {{name: A_}}, {SPEC}}}]\n"),
        expect![[r#"
            items[0]: Pod a: default/a
            document 1 (line 1): pod "A_": items[1].metadata.name: Invalid value: "A_": must have at most 253 lower-case letters, digits, `-` and `.`, and each part must begin and end with a letter or digit"#]],
    );
    let text = [
        "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\n",
        "apiVersion: v1\nkind: [Pod\n",
        "just: a map\n",
        "apiVersion: extensions/v1beta1\nkind: Deployment\nmetadata: {name: old}\n",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: bare}\nspec: {replicas: 2}\n",
        "apiVersion: apps/v1\nkind: Deployment\nspec: {}\n",
        &object("apps/v1", "Deployment", "{template: {spec: {containers: [{name: a, imag: b}]}}}"),
        &object("apps/v1", "Deployment", &template()),
    ];
    check(
        &text.join("---\n"),
        expect![[r#"
        Deployment shop/web: shop/web-xxxxxxxxxx-xxxxx of apps/v1 ReplicaSet web-xxxxxxxxxx app=web pod-template-hash=xxxxxxxxxx
        skipped Service shop/web of document 1
        document 2 (line 5): line 6, column 7: unclosed bracket '['
        document 3 (line 8): kind is missing (expected apiVersion: v1 and kind: Pod)
        document 4 (line 10): pod "old": apiVersion: must be apps/v1 for a Deployment, found "extensions/v1beta1"
        document 5 (line 14): pod "bare": spec.template: Required value: a pod's metadata and spec
        document 6 (line 19): metadata.name: Required value
        document 7 (line 23): pod "web": spec.template.spec.containers[0].imag: unknown field
        document 7 (line 23): pod "web": spec.template.spec.containers[0].image: Required value"#]],
    );
    check(
        "apiVersion: policy.example.com/v1\nkind: AllowList\nmetadata: {name: a}\n",
        expect!["skipped AllowList a of document 1"],
    );
    check("", expect!["the file is empty; remove it to have no pods"]);
}

#[test]
fn a_bound_pod_has_what_an_api_server_fills_in() {
    let pod = |spec: &str| {
        let text = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{generateName: web-}}\nspec: {{containers: [{{name: a, image: b}}]{spec}}}\n"
        );
        read(&text).pods.remove(0).pod
    };
    let plain = pod("");
    assert_eq!(plain.metadata.name.as_deref(), Some("web-xxxxx"));
    assert_eq!(plain.metadata.uid, pod("").metadata.uid, "the same pod has the same UID");
    assert_eq!(static_pod::source_of(&plain), Some("api"));
    let spec = plain.spec.expect("a spec");
    assert_eq!((spec.node_name.as_deref(), spec.priority), (Some("n1"), Some(0)));
    assert_eq!(spec.tolerations.iter().flatten().count(), 2);
    assert_eq!(spec.restart_policy.as_deref(), Some("Always"));
    let priority = |more: &str| pod(more).spec.and_then(|spec| spec.priority);
    for (more, expected) in [
        (", priorityClassName: system-node-critical", Some(2_000_001_000)),
        (", priorityClassName: system-cluster-critical", Some(2_000_000_000)),
        (", priorityClassName: high", None),
        (", priorityClassName: high, priority: 7", Some(7)),
    ] {
        assert_eq!(priority(more), expected, "{more}");
    }
    let bound = pod(", nodeName: other, tolerations: [{operator: Exists}]").spec.expect("a spec");
    assert_eq!((bound.node_name.as_deref(), bound.tolerations.iter().flatten().count()), (Some("other"), 1));
}

#[test]
fn a_daemon_tolerates_what_its_controller_adds() {
    let count = |more: &str| {
        let template = format!("{{template: {{spec: {{containers: [{{name: a, image: b}}]{more}}}}}}}");
        let found = read(&object("apps/v1", "DaemonSet", &template)).pods.remove(0);
        found.pod.spec.and_then(|spec| spec.tolerations).map_or(0, |tolerations| tolerations.len())
    };
    assert_eq!((count(""), count(", hostNetwork: true")), (6, 7));
    assert_eq!(count(", tolerations: [{operator: Exists, effect: NoSchedule}]"), 3);
}

#[test]
fn a_static_pod_is_adopted_and_held_to_what_this_release_acts_on() {
    let source = SourceName::file();
    let arrival = Arrival::Static(Origin { source: &source, place: "/pods/web.yaml", node_name: "n1" });
    let of = |spec: &str| {
        let text = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec: {{containers: [{{name: a, image: b}}]{spec}}}\n"
        );
        pods(text.as_bytes(), arrival)
    };
    let pod = &of("").pods[0].pod;
    assert_eq!((pod.metadata.name.as_deref(), static_pod::source_of(pod)), (Some("web-n1"), Some("file")));
    let refused = of(", serviceAccountName: builder");
    assert!(refused.pods.is_empty() && refused.problems.len() == 1, "{refused:?}");
}

#[test]
fn what_is_read_is_bounded() {
    let pod = format!("{{metadata: {{name: a}}, {SPEC}}}, ");
    let found = read(&format!("apiVersion: v1\nkind: PodList\nitems: [{}]\n", pod.repeat(PODS_MAX + 1)));
    assert_eq!((found.pods.len(), found.problems.len()), (PODS_MAX, 1));
    let wrong = "{metadata: {name: a}}, ".repeat(PROBLEMS_MAX + 7);
    let found = read(&format!("apiVersion: v1\nkind: PodList\nitems: [{wrong}]\n"));
    assert_eq!(found.problems.len(), PROBLEMS_MAX + 1);
    assert!(matches!(found.problems.last(), Some(Problem { fault: Fault::More { .. }, .. })), "{found:?}");
}

#[test]
fn a_phase_is_kept_of_pods_alone() {
    let with = |text: String| format!("{text}status: {{phase: Succeeded}}\n");
    let pod = with(format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\n{SPEC}\n"));
    assert_eq!(read(&pod).pods[0].phase.as_deref(), Some("Succeeded"));
    assert_eq!(read(&with(object("batch/v1", "Job", &template()))).pods[0].phase, None);
}
