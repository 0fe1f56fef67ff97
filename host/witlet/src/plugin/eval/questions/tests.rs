//! Which questions files and flags come to.

use clap::Parser as _;
use witlet_core::sources::manifest::MANIFEST_BYTES_MAX;

use super::*;
use crate::cli::{Cli, Command, Plugin};

/// A file with this text in a folder.
fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a temporary folder is writable");
    path.display().to_string()
}

fn pod(name: &str, more: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{{name: a, image: b}}]{more}}}\n"
    )
}

fn gathered(words: &[&str]) -> Questions {
    let cli = Cli::try_parse_from(["witlet", "plugin", "eval"].iter().chain(words)).expect("a command line");
    let Command::Plugin(Plugin::Eval(args)) = cli.command else { panic!("another command") };
    gather(&args, &mut Files::default(), Timestamp::UNIX_EPOCH)
}

fn only(mut questions: Questions) -> PodQuestion {
    assert_eq!((questions.asked.len(), questions.problems.as_slice()), (1, &[][..]));
    questions.asked.remove(0)
}

#[test]
fn without_flags_a_pod_comes_from_an_api_server_to_a_node_with_capacity() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let web = file(folder.path(), "web.yaml", &pod("web", ""));
    let request = only(gathered(&[&web])).request;
    assert_eq!((request.operation, request.source.as_str()), (Operation::Add, "api"));
    assert_eq!((request.node.name.as_str(), node_name(&request.pod)), ("node-1", Some("node-1")));
    assert_eq!((request.now, request.other_pods.len()), (Timestamp::UNIX_EPOCH, 0));
    let bound = file(folder.path(), "bound.yaml", &pod("web", ", nodeName: worker"));
    let node = only(gathered(&[&bound])).request.node;
    let label = node.node.metadata.labels.iter().flatten().find(|(key, _)| *key == HOSTNAME_LABEL);
    assert_eq!((node.name.as_str(), label.map(|(_, value)| value.as_str())), ("worker", Some("worker")));
}

#[test]
fn flags_say_when_where_and_from_whom() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let web = file(folder.path(), "web.yaml", &pod("web", ""));
    let node = file(folder.path(), "node.yaml", "{name: edge, facts: {os: linux}}");
    let request =
        only(gathered(&[&web, "--node", &node, "--now", "2026-01-02T03:04:05Z", "--standalone"])).request;
    assert_eq!((request.node.name.as_str(), request.source.as_str()), ("edge", "file"));
    assert_eq!(request.now.to_string(), "2026-01-02T03:04:05Z");
    assert_eq!(request.pod.metadata.name.as_deref(), Some("web-edge"));
    let of_plugin = only(gathered(&[&web, "--source", "compose"])).request;
    assert_eq!((of_plugin.source.as_str(), source_of(&of_plugin.pod)), ("compose", Some("compose")));
}

#[test]
fn other_pods_count_that_are_on_the_node_and_have_not_ended() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let web = file(folder.path(), "web.yaml", &pod("web", ""));
    let text = [
        pod("db", ""),
        pod("web", ""),
        format!("{}status: {{phase: Succeeded}}\n", pod("done", "")),
        pod("far", ", nodeName: other"),
        "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n".to_owned(),
    ];
    let others = file(folder.path(), "others.yaml", &text.join("---\n"));
    let names = |questions: &Questions| {
        let others = questions.asked[0].request.other_pods.iter();
        others.map(|other| PodFullName::of(&other.pod).to_string()).collect::<Vec<_>>().join(" ")
    };
    let questions = gathered(&[&web, "--others", &others]);
    assert_eq!(names(&questions), "default/db default/far", "the pod itself isn't among the others");
    assert_eq!(questions.skipped.len(), 2, "{:?}", questions.skipped);
    let node = file(folder.path(), "node.yaml", "{name: edge}");
    let questions = gathered(&[&web, "--others", &others, "--node", &node]);
    assert_eq!(names(&questions), "default/db");
    assert!(questions.skipped[1].contains("2 of 4 pods have ended or are on other nodes"), "{questions:?}");
}

#[test]
fn a_resize_is_compared_with_what_the_pod_has() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let with_cpu = |name: &str, cpu: &str| {
        pod(name, "").replace("image: b", &format!("image: b, resources: {{requests: {{cpu: '{cpu}'}}}}"))
    };
    let of = |text: String, name: &str| file(folder.path(), name, &text);
    let (one, two, nine) = (
        of(with_cpu("web", "1"), "one.yaml"),
        of(with_cpu("web", "2"), "two.yaml"),
        of(with_cpu("web", "9"), "nine.yaml"),
    );
    let other = of(with_cpu("db", "1"), "other.yaml");
    let resize = |new: &str, old: &str| gathered(&[new, "--operation", "resize", "--old", old]);
    let decided = |questions: Questions, has_cpu: Option<&str>| {
        let has_cpu = has_cpu.map(str::to_owned);
        let question = only(questions);
        assert_eq!(question.request.operation, Operation::Resize);
        let status = question.request.pod.status.as_ref();
        let has = status.and_then(|status| status.container_statuses.as_ref()?[0].resources.clone());
        assert_eq!(has.and_then(|has| has.requests).map(|requests| requests["cpu"].0.clone()), has_cpu);
        question.decided.map(|outcome| outcome.kind.as_str())
    };
    assert_eq!(decided(resize(&two, &one), Some("1")), None, "the handlers are asked");
    assert_eq!(decided(resize(&one, &one), Some("1")), Some("admitted"));
    assert_eq!(decided(resize(&nine, &one), Some("1")), Some("rejected"));
    assert_eq!(decided(gathered(&[&two, "--operation", "resize"]), None), None);
    let problems = resize(&two, &other).problems;
    assert!(problems[0].ends_with("document 1 (line 1): --old has no pod default/web"), "{problems:?}");
}

#[test]
fn what_is_wrong_is_named_and_the_rest_is_judged() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = format!("{}---\nkind: [\n---\n{}", pod("web", ""), pod("db", ""));
    let mixed = file(folder.path(), "mixed.yaml", &text);
    let questions = gathered(&[&mixed, "/nonexistent.yaml"]);
    assert_eq!(questions.asked.len(), 2);
    let [document, missing] = questions.problems.as_slice() else { panic!("{questions:?}") };
    assert!(document.starts_with(&format!("{mixed}: document 2 (line 6): line ")), "{document}");
    assert!(missing.starts_with("failed to read /nonexistent.yaml: "), "{missing}");
    let empty =
        gathered(&[&file(folder.path(), "s.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n")]);
    assert_eq!(empty.problems, ["no pods found in the files"]);
    let node = file(folder.path(), "node.yaml", "{nodes: 1}");
    let other_node = gathered(&[&mixed, "--node", &node]);
    assert!(other_node.asked.is_empty() && other_node.problems[0].contains("nodes"), "{other_node:?}");
    let long =
        file(folder.path(), "long.yaml", &format!("{}{}", pod("web", ""), "#".repeat(MANIFEST_BYTES_MAX)));
    let refused = format!("failed to read {long}: the file must have at most {MANIFEST_BYTES_MAX} bytes");
    for words in [&[long.as_str()][..], &[&mixed, "--node", &long]] {
        let too_long = gathered(words);
        assert!(too_long.asked.is_empty(), "{words:?}");
        assert_eq!(too_long.problems, [refused.as_str()], "{words:?}");
    }
    let recording = gathered(&["--recording", &mixed]);
    assert!(recording.asked.is_empty() && recording.problems[0].contains("mixed.yaml"), "{recording:?}");
}
