//! Sets of one source, one after the other, and what each changes: what upstream's `config_test.go` knows
//! (`tests/upstream.md`).

use super::*;

/// A pod as `namespace/name`, optionally with marks: `!` another spec, `@` another status, `#` another label, `~` another
/// annotation, `-` to be deleted.
fn written(text: &str) -> Pod {
    let (full_name, marks) = match text.find(['!', '@', '#', '~', '-']) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let (namespace, name) = full_name.split_once('/').unwrap();
    let mut pod = pod(name, full_name);
    pod.metadata.namespace = Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty());
    for mark in marks.chars() {
        match mark {
            '!' => pod.spec = Some(PodSpec { priority: Some(1), ..PodSpec::default() }),
            '@' => pod.status = Some(PodStatus { message: Some("new".into()), ..PodStatus::default() }),
            '#' => pod.metadata.labels = Some([("key".to_owned(), "new".to_owned())].into()),
            '~' => annotate(&mut pod, "kubernetes.io/blah"),
            '-' => pod.metadata.deletion_timestamp = Some(Time(at(9))),
            other => panic!("{other}"),
        }
    }
    pod
}

/// What each set changes, as `OPERATION name name`, sets apart by `|`.
fn story(sets: &[&str]) -> String {
    let mut merged = MergedPods::default();
    let changes = sets.iter().map(|set| {
        let pods: Vec<Pod> = set.split_whitespace().map(written).collect();
        let updates = merge(&mut merged, &pods, 1).into_updates(&SourceName::file());
        let words = updates.iter().map(|update| {
            let op = format!("{:?}", update.op).to_uppercase();
            let mut names = names(&update.pods);
            names.sort_unstable();
            [vec![op.as_str()], names].concat().join(" ")
        });
        words.collect::<Vec<_>>().join(", ")
    });
    changes.collect::<Vec<_>>().join(" | ")
}

#[test]
fn sets_of_a_source_become_operations() {
    let cases: [(&str, &[&str], &str); 15] = [
        ("a pod is new", &["new/foo"], "ADD foo"),
        ("a pod without a namespace is none the less a pod", &["/foo"], "ADD foo"),
        ("a pod in the default namespace", &["default/foo"], "ADD foo"),
        ("pods of one name in two namespaces", &["default/foo", "default/foo new/foo"], "ADD foo | ADD foo"),
        ("a pod that is there already", &["new/foo", "new/foo"], "ADD foo | "),
        ("a pod changes and goes", &["new/foo", "new/foo!", ""], "ADD foo | UPDATE foo | REMOVE foo"),
        ("a pod is to be deleted", &["new/foo", "new/foo-"], "ADD foo | DELETE foo"),
        (
            "of three pods one goes, one changes, one stays, and one comes",
            &["new/foo new/foo2 new/foo3", "new/foo new/foo2 new/foo3", "new/foo2! new/foo3 new/foo4"],
            "ADD foo foo2 foo3 |  | REMOVE foo, ADD foo4, UPDATE foo2",
        ),
        (
            "only a status changes",
            &["new/a new/b new/c", "new/a new/b new/c", "new/a@ new/b new/c"],
            "ADD a b c |  | RECONCILE a",
        ),
        ("a status and the spec change", &["new/a new/b", "new/a@! new/b"], "ADD a b | UPDATE a"),
        ("an empty set says that the source has spoken, once", &["", "", "new/foo"], "ADD |  | ADD foo"),
        (
            "an annotation comes, and goes",
            &["new/foo1 new/foo2", "new/foo1 new/foo2~", "new/foo1 new/foo2"],
            "ADD foo1 foo2 | UPDATE foo2 | UPDATE foo2",
        ),
        ("a label changes", &["new/foo2", "new/foo2#"], "ADD foo2 | UPDATE foo2"),
        ("all changes at once are a deletion", &["new/foo", "new/foo!@#~-"], "ADD foo | DELETE foo"),
        ("a pod comes back after it went", &["new/foo", "", "new/foo"], "ADD foo | REMOVE foo | ADD foo"),
    ];
    for (name, sets, expected) in cases {
        assert_eq!(story(sets), expected, "{name}");
    }
}
