//! Manifests: what is read, and which problems are reported.

use expect_test::{Expect, expect};

use super::*;
use crate::pod::{PodFullName, PodUid, SourceName};

fn read(text: impl AsRef<[u8]>) -> Result<Vec<Pod>, ManifestError> {
    let source = SourceName::file();
    static_pods(text.as_ref(), Origin { source: &source, place: "/etc/pods/web.yaml", node_name: "n1" })
}

/// The pods' names, or one line for each problem.
fn check(text: impl AsRef<[u8]>, expected: Expect) {
    let shown = match read(text) {
        Ok(pods) => pods.iter().map(|pod| PodFullName::of(pod).to_string()).collect::<Vec<_>>().join(" "),
        Err(error) => error.problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n"),
    };
    expected.assert_eq(&shown);
}

const POD: &str =
    "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: b}]}\n";

#[test]
fn yaml_json_and_lists_become_pods() {
    check(POD, expect!["default/web-n1"]);
    let json = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","annotations":{"a":"\ud83d\ude00\/"}},
        "spec":{"containers":[{"name":"a","image":"b"}]}}"#;
    check(json, expect!["default/web-n1"]);
    check(json.replace("\n        ", "\n\t\t"), expect!["default/web-n1"]);
    let two = format!("# first\n{POD}---\n---\n# nothing\n---\n{}", POD.replace("web", "db"));
    check(&two, expect!["default/web-n1 default/db-n1"]);
    check(format!("%YAML 1.2\n---\n{POD}...\n"), expect!["default/web-n1"]);
    check(format!("\u{feff}{}", POD.replace('\n', "\r\n")), expect!["default/web-n1"]);
    let item = "metadata: {name: a, namespace: x}, spec: {containers: [{name: a, image: b}]}";
    check(format!("{{apiVersion: v1, kind: PodList, items: [{{{item}}}]}}"), expect!["x/a-n1"]);
    check(
        format!("{{apiVersion: v1, kind: List, items: [{{apiVersion: v1, kind: Pod, {item}}}]}}"),
        expect!["x/a-n1"],
    );
    check("apiVersion: v1\nkind: PodList\nitems: []\n", expect![""]);
}

#[test]
fn a_pod_that_was_read_is_adopted_and_whole() {
    let pod = read(POD).expect("a pod").remove(0);
    assert_eq!(PodUid::of(&pod).as_str().len(), 32);
    assert_eq!(static_pod::source_of(&pod), Some("file"));
    assert_eq!(pod.spec.and_then(|spec| spec.restart_policy).as_deref(), Some("Always"));
}

#[test]
fn an_exported_pod_is_read_without_what_the_server_wrote() {
    let exported = format!(
        "{}status: {{phase: Running, whatever: 1}}\n",
        POD.replace(
            "{name: web}",
            "{name: web, uid: u-1, resourceVersion: '5', creationTimestamp: '2026-01-01T00:00:00Z'}"
        )
    );
    let pod = read(&exported).expect("a pod").remove(0);
    assert_eq!(PodUid::of(&pod).as_str(), "u-1");
    assert_eq!(pod.metadata.resource_version, None);
    assert_eq!(pod.status.and_then(|status| status.phase).as_deref(), Some("Pending"));
}

#[test]
fn yaml_words_and_numbers_mean_what_upstream_takes_them_for() {
    let pod =
        read(POD.replace("image: b", "image: b, tty: yes, resources: {limits: {cpu: 0.5, memory: 1e3}}"))
            .expect("a pod")
            .remove(0);
    let container = &pod.spec.expect("a spec").containers[0];
    assert_eq!(container.tty, Some(true));
    let limits = container.resources.clone().and_then(|resources| resources.limits).expect("limits");
    assert_eq!(crate::pod::resources::amount("cpu", &limits["cpu"]), Ok(500));
    assert_eq!(crate::pod::resources::amount("memory", &limits["memory"]), Ok(1000));
}

#[test]
fn what_is_no_manifest_is_reported_in_one_sentence() {
    check("", expect!["the file is empty; remove it to have no pods"]);
    check("# nothing\n---\n\n", expect!["the file is empty; remove it to have no pods"]);
    check(b"\xff\xfe\x00", expect!["the file must be UTF-8 text: invalid byte at offset 0"]);
    check(
        "just text",
        expect![
            "document 1 (line 1): a manifest must be an object with apiVersion, kind, metadata and spec, found a text"
        ],
    );
    check(
        "- a\n- b",
        expect![
            "document 1 (line 1): a manifest must be an object with apiVersion, kind, metadata and spec, found a list"
        ],
    );
    check(
        "apiVersion: v1\nmetadata: {}",
        expect!["document 1 (line 1): kind is missing (expected apiVersion: v1 and kind: Pod)"],
    );
    check(
        "kind: Pod\n",
        expect!["document 1 (line 1): apiVersion is missing (expected apiVersion: v1 and kind: Pod)"],
    );
    check(
        "kind: Deployment\napiVersion: apps/v1\n",
        expect!["document 1 (line 1): kind must be Pod, PodList or List of v1, found Deployment of apps/v1"],
    );
    check(
        "kind: Service\napiVersion: v1\n",
        expect!["document 1 (line 1): kind must be Pod, PodList or List of v1, found Service of v1"],
    );
    check("kind: List\napiVersion: v1\n", expect!["document 1 (line 1): items: must be a list"]);
    check(
        "kind: List\napiVersion: v1\nitems: [{kind: List, apiVersion: v1}]",
        expect![
            "document 1 (line 1): kind must be Pod, PodList or List of v1, found List inside a list of v1"
        ],
    );
    check(
        "kind: List\napiVersion: v1\nitems: [{metadata: {name: x}}]",
        expect!["document 1 (line 1): kind is missing (expected apiVersion: v1 and kind: Pod)"],
    );
}

#[test]
fn broken_syntax_is_reported_with_its_line_in_the_file() {
    check(
        "a: [1, 2\nb: 3",
        expect!["document 1 (line 1): line 2, column 2: illegal placement of ':' indicator"],
    );
    check(
        format!("{POD}---\nkind: Pod\n  name: x\n"),
        expect!["document 2 (line 6): line 7, column 7: mapping values are not allowed in this context"],
    );
    check(
        "{\"a\": 1,\n  \"b\": }",
        expect!["document 1 (line 1): kind is missing (expected apiVersion: v1 and kind: Pod)"],
    );
    check(
        "kind: Pod\nkind: Pod\n",
        expect![[r#"document 1 (line 1): line 2, column 1: duplicate key "kind" in a mapping"#]],
    );
    check(
        "kind: \"Pod\napiVersion: v1",
        expect!["document 1 (line 1): line 2, column 1: invalid indentation in multiline quoted scalar"],
    );
}

#[test]
fn all_problems_of_all_documents_are_reported_with_their_fields() {
    let text = "\
apiVersion: v1
kind: Pod
metadata: {name: Web!}
spec:
  restartPolicy: Sometimes
  containers:
  - {name: a, image: b, imag: c, volumeDevices: [{name: v, devicePath: /v}]}
  - {name: a, ports: [{containerPort: 99999}], resources: {limits: {memory: 64MB}}}
  containres: []
---
# the second
apiVersion: v1
kind: Pod
metadata: {name: db}
spec: {containers: [{name: a, image: [b]}]}
---
apiVersion: v1
kind: PodList
items:
- {metadata: {name: ok}, spec: {containers: [{name: a, image: b}]}}
- {metadata: {name: bad}, spec: {containers: [], volumes: [{name: v, nfs: {server: s, path: /p}}]}}
";
    check(
        text,
        expect![[r#"
            document 1 (line 1): spec.containres: unknown field
            document 1 (line 1): spec.containers[0].imag: unknown field
            document 1 (line 1): spec.containers[0].volumeDevices: not supported by this release
            document 1 (line 1): metadata.name: Invalid value: "Web!-n1": must have at most 253 lower-case letters, digits, `-` and `.`, and each part must begin and end with a letter or digit
            document 1 (line 1): spec.restartPolicy: Unsupported value: "Sometimes": supported values: Always, OnFailure, Never
            document 1 (line 1): spec.containers[1].name: Duplicate value: "a"
            document 1 (line 1): spec.containers[1].image: Required value
            document 1 (line 1): spec.containers[1].resources.limits.memory: Invalid value: `64MB` is not a quantity: unknown suffix `MB`, expected one of n u m k M G T P E Ki Mi Gi Ti Pi Ei, or an exponent
            document 1 (line 1): spec.containers[1].ports[0].containerPort: Invalid value: 99999: must be between 1 and 65535, inclusive
            document 2 (line 12): line 15, column 38: pod "db": spec.containers[0].image: expected a string, found a list
            document 3 (line 17): pod "bad": items[1].spec.volumes[0].nfs: not supported by this release
            document 3 (line 17): pod "bad": items[1].spec.containers: Required value: at least one container"#]],
    );
}

#[test]
fn ten_thousand_labels_get_one_clear_sentence() {
    let labels: String = (0..10_000).map(|number| format!("    label-{number}: x\n")).collect();
    let text = POD.replace("metadata: {name: web}", &format!("metadata:\n  name: web\n  labels:\n{labels}"));
    check(
        text,
        expect![
            "document 1 (line 1): pod \"web\": metadata.labels: Too many: 10000: must have at most 1000 items"
        ],
    );
}

#[test]
fn bombs_end_early_in_a_clear_sentence() {
    let mut aliases = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let references = vec![format!("*a{}", level - 1); 10].join(", ");
        aliases.push_str(&format!("a{level}: &a{level} [{references}]\n"));
    }
    check(
        aliases,
        expect![
            "document 1 (line 1): line 5, column 45: alias replay limit exceeded: total_replayed_events=100001 > 100000"
        ],
    );
    check("[".repeat(100_000), expect!["document 1 (line 1): line 1, column 256: recursion limit exceeded"]);
    check(
        format!("a: {}", "{a: ".repeat(200)),
        expect!["document 1 (line 1): line 1, column 256: values must not be nested deeper than 64 levels"],
    );
    check(
        format!("{{\"a\": {}1{}}}", "[".repeat(500), "]".repeat(500)),
        expect!["document 1 (line 1): line 1, column 133: recursion limit exceeded"],
    );
    check(
        "- x\n".repeat(NODES_MAX + 1),
        expect!["document 1 (line 1): line 500000, column 3: the document must have at most 500000 values"],
    );
    check("a: 1\n---\n".repeat(PODS_MAX + 1), expect!["the file must have at most 1000 documents and pods"]);
    check(
        vec![b' '; MANIFEST_BYTES_MAX + 1],
        expect!["the file must have at most 10485760 bytes, found 10485761"],
    );
}

#[test]
fn problems_beyond_the_bound_are_counted() {
    let bad = "apiVersion: v1\nkind: Pod\nspec: {}\n---\n".repeat(150);
    let error = read(bad).expect_err("no name, no containers");
    assert_eq!(error.problems.len(), PROBLEMS_MAX + 1);
    assert_eq!(error.problems[PROBLEMS_MAX].fault, Fault::More { count: 200 });
}

proptest::proptest! {
    #[test]
    fn no_text_is_too_strange_for_an_answer(text in "[a-z{}\\[\\]:,#&*!|>%@\"'\n\t -]{0,200}") {
        let _ = read(&text);
    }

    #[test]
    fn a_cut_manifest_is_never_taken_for_no_pods(end in 0..POD.len()) {
        proptest::prop_assert!(read(&POD[..end]).is_err() || end >= POD.len() - 1);
    }
}

#[test]
fn aliases_of_long_texts_fill_no_memory() {
    let bomb = |times: usize| {
        let (text, aliases) = ("x".repeat(100_000), vec!["*long"; times].join(", "));
        format!("{POD}extra: [&long {text}, {aliases}]\n")
    };
    let error = |text: String| read(text).expect_err("no pod has a field named extra").to_string();
    assert!(error(bomb(40)).contains("extra"), "four megabytes are read");
    assert!(error(bomb(50)).contains("ScalarBytes"), "{}", error(bomb(50)));
    let file: String = (0..10).map(|_| format!("---\n{}", bomb(40))).collect();
    assert!(error(file).contains("ScalarBytes"), "the documents of a file share what aliases add");
}
