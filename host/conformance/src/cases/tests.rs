//! Case files as they are read: what is taken, and in which words the rest is refused.

use std::time::Duration;

use serde_json::json;
use witlet_core::admission::AdmissionRequest;
use witlet_core::probe::ProbeRequest;
use witlet_wasm::role::Role;

use super::expect::{Expect, Text};
use super::model::Case;
use super::*;
use crate::environment::commands::ExecAnswer;
use crate::environment::folders::{Content, SpecialContent};
use crate::environment::servers::{Behaviour, Protocol};
use crate::plugin_request::PluginRequest;
use crate::plugin_response::ResponseKind;

fn read(role: &str, rest: &str) -> Result<CaseFile, CasesError> {
    let text = format!("apiVersion: witlet.dev/v1alpha1\nkind: PluginCases\nrole: {role}\n{rest}");
    CaseFile::parse("cases.yaml", &text)
}

fn cases(role: &str, rest: &str) -> Vec<Case> {
    read(role, rest).expect("a case file").cases
}

fn request(case: &Case) -> &AdmissionRequest {
    match &case.steps[0].question {
        PluginRequest::Admit(request, _) => request,
        other => panic!("{other:?}"),
    }
}

fn target(case: &Case) -> (&ProbeRequest, bool) {
    match &case.steps[0].question {
        PluginRequest::Probe { request, own_address } => (request, *own_address),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_question_does_not_say_is_as_of_a_plain_node_and_pod() {
    let cases = |role, rest| cases(role, rest).remove(0);
    let case = cases(
        "admission",
        "cases: [{name: a, request: {pod: {spec: {containers: [{name: app}]}}}, expect: {verdict: admit}}]",
    );
    let request = request(&case);
    let metadata = &request.pod.metadata;
    assert_eq!(
        (metadata.name.as_deref(), metadata.namespace.as_deref(), metadata.uid.as_deref()),
        (Some("web"), Some("default"), Some("uid-of-default-web"))
    );
    assert_eq!(
        (request.now.to_string(), request.source.to_string()),
        ("2026-01-01T00:00:00Z".to_owned(), "file".to_owned())
    );
    assert_eq!(request.node.node.metadata.name.as_deref(), Some("node-1"), "the plain node can be read");
    let allocatable = request.node.node.status.as_ref().and_then(|status| status.allocatable.clone());
    assert_eq!(allocatable.expect("it has capacity")["cpu"].0, "4");
    assert_eq!(request.other_pods.len(), 0);
    let case = cases("probe", "cases: [{name: a, expect: {outcome: success}}]");
    let (target, own_address) = target(&case);
    assert_eq!((&*target.parameters, own_address, target.restarts), ("null", true, 0));
    assert_eq!((target.container.as_str(), target.timeout), ("main", Duration::from_secs(10)));
}

#[test]
fn a_pod_that_runs_has_an_old_one_and_an_image_is_of_a_container() {
    let of = |request: &str| {
        let all = cases(
            "admission",
            &format!("cases: [{{name: a, request: {request}, expect: {{verdict: admit}}}}]"),
        );
        self::request(&all[0]).clone()
    };
    let pod = |image: &str| format!("{{spec: {{containers: [{{name: app, image: '{image}'}}]}}}}");
    let (one, two) = (pod("app:1"), pod("app:2"));
    let image = |pod: &k8s_openapi::api::core::v1::Pod| {
        pod.spec.clone().and_then(|spec| spec.containers[0].image.clone())
    };
    let update = of(&format!("{{operation: update, pod: {two}, old: {one}}}"));
    let old = update.old_pod.expect("it runs");
    assert_eq!((image(&update.pod).as_deref(), image(&old).as_deref()), (Some("app:2"), Some("app:1")));
    assert_eq!(
        (&old.metadata.name, &old.metadata.uid),
        (&update.pod.metadata.name, &update.pod.metadata.uid)
    );
    for operation in ["resize", "ephemeral", "readmit", "recheck"] {
        let same = of(&format!("{{operation: {operation}, pod: {one}}}"));
        assert_eq!(same.old_pod.as_deref(), Some(&*same.pod), "{operation}");
    }
    assert_eq!(of(&format!("{{pod: {one}}}")).old_pod, None);
    let resolved = of(&format!(
        "{{operation: image-resolved, pod: {one}, image: {{sizeBytes: 7, credentials: secret}}}}"
    ));
    let found = resolved.image.expect("an image");
    assert_eq!((found.container.as_str(), found.id.as_str(), found.size_bytes), ("app", "app:1", Some(7)));
    assert_eq!(resolved.old_pod, None);
    let refused = |request: &str| {
        let rest = format!("cases: [{{name: a, request: {request}, expect: {{verdict: admit}}}}]");
        read("admission", &rest).expect_err("refused").to_string()
    };
    for (request, words) in [
        (format!("{{old: {one}}}"), "old: only for operations about a pod that runs"),
        ("{operation: update, old: {spec: {container: []}}}".to_owned(), "old.spec"),
        ("{image: {}}".to_owned(), "image: only for operation image-resolved"),
        (
            "{operation: image-resolved, image: {container: db}}".to_owned(),
            "image.container: the pod has no container \"db\"",
        ),
        ("{operation: fly}".to_owned(), "unknown variant `fly`"),
    ] {
        let error = refused(&request);
        assert!(error.contains(words), "{words:?} isn't in {error}");
    }
}

#[test]
fn a_configuration_of_null_is_not_one_that_is_left_out() {
    let cases = cases(
        "admission",
        "config: {a: 1}\ncases:\n- {name: own, config: {b: 2}, expect: {validate: ok}}\n- {name: none, config: null, expect: {validate: ok}}\n\
         - {name: file, expect: {validate: ok}}\n",
    );
    let configs: Vec<_> = cases.iter().map(|case| case.config.clone()).collect();
    assert_eq!(configs, [Some(json!({"b": 2})), Some(json!(null)), None]);
}

#[test]
fn expectations_are_read() {
    let expect = |text: &str| {
        let request = if text.contains("validate") { "" } else { "request: {}, " };
        let mut case =
            cases("admission", &format!("cases: [{{name: a, {request}expect: {text}}}]")).remove(0);
        case.validate.take().unwrap_or_else(|| case.steps.remove(0).expect)
    };
    let nothing = Expect {
        kind: Some(ResponseKind::Done),
        reason: None,
        text: Text::default(),
        milliseconds: None,
        resources: None,
        pods: None,
        cursor: None,
        logs: Vec::new(),
    };
    let contains = |words: &str| Text { contains: vec![words.to_owned()], ..Text::default() };
    let error = |words| Expect { kind: Some(ResponseKind::Error), text: contains(words), ..nothing.clone() };
    assert_eq!(expect("{validate: ok}"), nothing);
    assert_eq!(expect("{validate: at least one}"), error("at least one"));
    assert_eq!(expect("{error: words}"), error("words"));
    let (kind, reason, text) = (Some(ResponseKind::Reject), Some("Never".to_owned()), contains("x"));
    assert_eq!(
        expect("{verdict: reject, reason: Never, messageContains: x}"),
        Expect { kind, reason, text, ..nothing }
    );
}

#[test]
fn servers_and_commands_are_read() {
    let case = &cases(
        "probe",
        r#"
cases:
  - name: a
    servers:
      - {port: 1, behaviour: refuse}
      - {port: 2, dialog: [{receive: "a", send: {hex: "00 ff"}}, {until: "\r\n", send: {base64: "AQI="}}]}
      - {port: 3, behaviour: drip, dialog: [{send: {repeat: [ab, 2]}}]}
      - {port: 4, http: [{path: /x, requestHeaders: {A: b}, headers: {c: d}, body: e}]}
      - {port: 5, protocol: UDP, behaviour: silent}
    execs:
      - {command: [a], output: out}
      - {command: [b], timedOut: true}
      - {command: [c], failed: gone}
    expect: {outcome: success}
"#,
    )[0];
    let behaviours: Vec<Behaviour> = case.servers.iter().map(|server| server.behaviour).collect();
    use Behaviour::{Answer, Drip, Refuse, Silent};
    assert_eq!(behaviours, [Refuse, Answer, Drip, Answer, Silent]);
    let turns = &case.servers[1].dialog;
    assert_eq!(
        (&turns[0].send[..], &turns[1].until[..], &turns[1].send[..]),
        (&[0, 255][..], &b"\r\n"[..], &[1, 2][..])
    );
    assert_eq!(case.servers[2].dialog[0].send, b"abab");
    let answers = &case.servers[3].http;
    assert_eq!((answers[0].status, answers[0].request_headers["A"].as_str()), (200, "b"));
    assert_eq!(case.servers[4].protocol, Protocol::Udp);
    let succeed: Vec<bool> = case.execs.iter().map(ExecAnswer::succeeds).collect();
    assert_eq!(succeed, [true, false, false]);
}

#[test]
fn folders_hold_files_links_and_folders() {
    let case = &cases(
        "podSource",
        r#"
cases:
  - name: a
    steps:
      - folders: {/pods: {a.json: "{}", l: {link: a.json}, d: {folder: {b.json: ""}}, "x/y.json": "1"}, /gone: null}
        expect: {snapshot: pods}
"#,
    )[0];
    let folders = &case.steps[0].folders;
    assert_eq!(folders["/gone"], None);
    let pods = folders["/pods"].as_ref().expect("it is filled");
    assert_eq!(pods["a.json"], Content::File(b"{}".to_vec()));
    assert_eq!(pods["l"], Content::Special(SpecialContent::Link("a.json".to_owned())));
    assert!(
        matches!(&pods["d"], Content::Special(SpecialContent::Folder(inner)) if inner.contains_key("b.json"))
    );
    let file = read(
        "podSource",
        "cases: [{name: a, steps: [{folders: {/b: {}, /a: {}}, expect: {snapshot: empty}}]}]",
    );
    assert_eq!(file.expect("a case file").guest_paths(), ["/a", "/b"]);
}

/// Cases, and words of the errors that they are.
type Wrong = &'static [(&'static str, &'static str)];

const WRONG_ADMISSION: Wrong = &[
    (
        "{name: a, request: {}, expect: {verdict: maybe}}",
        "case \"a\": cases[0].expect.verdict: unknown variant `maybe`",
    ),
    (
        "{name: a, request: {}, expect: {verdict: admit, reason: X}}",
        "cases[0].expect.reason: not allowed with `admit`: remove it",
    ),
    (
        "{name: a, request: {}, expect: {}}",
        "cases[0].expect.verdict: a case expects one of `verdict`, `error` and `validate`",
    ),
    ("{name: a, expect: {verdict: admit}}", "cases[0].request: missing"),
    (
        "{name: a, request: {}, expect: {validate: ok}}",
        "cases[0].request: must not be set with `expect.validate`",
    ),
    (
        "{name: a, request: {pod: {spec: {containers: [{name: b, imgae: c}]}}}, expect: {verdict: admit}}",
        "cases[0].request.pod.spec.containers[0].imgae: there is no such field",
    ),
    (
        "{name: a, request: {pod: {spec: {containers: 7}}}, expect: {verdict: admit}}",
        "cases[0].request.pod.spec.containers: invalid type",
    ),
    (
        "{name: a, request: {otherPods: [{pod: {metdata: {a: b}}}]}, expect: {verdict: admit}}",
        "cases[0].request.otherPods[0].pod.metdata",
    ),
    ("{name: a, reqest: {}, expect: {verdict: admit}}", "cases[0].reqest: unknown field `reqest`"),
    ("{name: '', request: {}, expect: {verdict: admit}}", "cases[0].name: every case has a name"),
    (
        "{name: a, request: {}, expect: {verdict: admit}}, {name: a, request: {}, expect: {verdict: admit}}",
        "cases[1].name: every case has a name",
    ),
    (
        "{name: a, request: {}, expect: {verdict: reject, message: a, messageContains: b}}",
        "one of `message`, `messageContains` and `messageJson` is enough",
    ),
];

const WRONG_PROBE: Wrong = &[
    (
        "{name: a, servers: [{port: 1}], expect: {outcome: success}}",
        "cases[0].servers[0].behaviour: a server has one of",
    ),
    (
        "{name: a, servers: [{port: 1, protocol: UDP, tls: true, behaviour: silent}], expect: {outcome: failure}}",
        "cases[0].servers[0].behaviour: `tls` is for TCP",
    ),
    (
        "{name: a, servers: [{port: 70000, behaviour: close}], expect: {outcome: success}}",
        "cases[0].servers[0]",
    ),
    (
        "{name: a, servers: [{port: 1, dialog: [{send: {hex: xyz}}]}], expect: {outcome: success}}",
        "cases[0].servers[0].dialog[0].send: \"xyz\": Odd number of digits",
    ),
    (
        "{name: a, execs: [{command: [a], exitCode: 1, failed: b}], expect: {outcome: success}}",
        "cases[0].execs[0]: a command ends in one way",
    ),
    (
        "{name: a, expect: {outcome: success, parameters: ok}}",
        "cases[0].expect.outcome: a case expects one of",
    ),
];

const WRONG_SOURCE: Wrong = &[
    ("{name: a}", "cases[0].steps: missing"),
    (
        "{name: a, steps: [{expect: {feedback: ok}}]}",
        "cases[0].steps[0].statuses: a step with `statuses` expects `feedback`",
    ),
    (
        "{name: a, steps: [{statuses: [{namespace: a, name: b}], expect: {feedback: ok}}]}",
        "cases[0].steps[0].statuses[0].uid: missing",
    ),
    (
        "{name: a, steps: [{statuses: [{namespace: a, name: b, uid: c, leftOut: {reason: d, message: e}}], expect: {feedback: ok}}]}",
        "cases[0].steps[0].statuses[0].leftOut: a pod that isn't run has neither",
    ),
    (
        "{name: a, steps: [{expect: {snapshot: empty, pods: []}}]}",
        "cases[0].steps[0].expect.pods: not allowed with `empty`: remove it",
    ),
    (
        "{name: a, steps: [{folders: {/a: {../b: c}}, expect: {snapshot: empty}}]}",
        "isn't the path of a file within the folder",
    ),
];

#[test]
fn what_is_wrong_is_reported_by_file_case_and_field() {
    for (role, wrong) in [("admission", WRONG_ADMISSION), ("probe", WRONG_PROBE), ("podSource", WRONG_SOURCE)]
    {
        for (case, words) in wrong {
            let error = read(role, &format!("cases: [{case}]")).expect_err(case).to_string();
            assert!(error.starts_with("cases.yaml: ") && error.contains(words), "{case}\n{error}");
        }
    }
}

#[test]
fn heads_of_files_are_checked() {
    let cases = [
        ("apiVersion: v1\nkind: PluginCases\nrole: probe\ncases: []\n", "apiVersion: \"v1\" isn't"),
        (
            "apiVersion: witlet.dev/v1alpha1\nkind: Cases\nrole: probe\ncases: []\n",
            "kind: must be \"PluginCases\", found \"Cases\"",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n",
            "found \"Pod\": `witlet plugin eval` asks admission handlers about manifests",
        ),
        ("apiVersion: witlet.dev/v1alpha1\nrole: probe\ncases: []\n", "missing field `kind`"),
        (
            "apiVersion: witlet.dev/v1alpha1\nkind: PluginCases\nrole: sink\ncases: []\n",
            "role: unknown variant",
        ),
        (
            "apiVersion: witlet.dev/v1alpha1\nkind: PluginCases\nrole: podSource\ngrants: {files: []}\ncases: []\n",
            "grants.files: must not be set",
        ),
        ("{", "cases.yaml: "),
    ];
    for (text, words) in cases {
        let error = CaseFile::parse("cases.yaml", text).expect_err(text).to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn files_are_found_next_to_a_component() {
    let folder = tempfile::tempdir().expect("a folder");
    let component = folder.path().join("a.wasm");
    assert_eq!(next_to(&component).expect("nothing is wrong").len(), 0);
    let text = "apiVersion: witlet.dev/v1alpha1\nkind: PluginCases\nrole: probe\ncases: []\n";
    let cases = folder.path().join("cases");
    std::fs::create_dir(&cases).expect("the folder is writable");
    assert!(matches!(find(&cases), Err(CasesError::NoFiles { .. })));
    assert_eq!(next_to(&component).expect("an empty folder has none").len(), 0);
    for name in ["b.yaml", "a.json", "README.md"] {
        std::fs::write(cases.join(name), text).expect("the folder is writable");
    }
    let names: Vec<String> =
        next_to(&component).expect("two files").into_iter().map(|file| file.name).collect();
    assert!(names.len() == 2 && names[0].ends_with("a.json") && names[1].ends_with("b.yaml"), "{names:?}");
    std::fs::write(folder.path().join("cases.yaml"), text).expect("the folder is writable");
    assert!(next_to(&component).expect("the file first")[0].name.ends_with("cases.yaml"));
    assert!(matches!(find(&folder.path().join("no.yaml")), Err(CasesError::Read { .. })));
}

#[test]
fn the_case_files_of_the_book_can_be_read() {
    let chapter = include_str!("../../../../docs/src/authors/testing.md");
    let blocks: Vec<&str> =
        chapter.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let roles: Vec<Role> = blocks
        .iter()
        .map(|text| CaseFile::parse("testing.md", text).unwrap_or_else(|error| panic!("{error}")).role())
        .collect();
    assert_eq!(roles, [Role::Admission, Role::Probe, Role::Probe, Role::PodSource]);
}

#[test]
fn what_is_missing_as_a_whole_is_reported_without_a_path_of_dots() {
    let head = "apiVersion: witlet.dev/v1alpha1\nkind: PluginCases\nrole: admission\n";
    for (text, reported) in [
        ("", "a.yaml: the file: a case file has the fields apiVersion, kind, role and cases"),
        ("[]", "a.yaml: the file: a case file has the fields apiVersion, kind, role and cases"),
        (head, "a.yaml: the file: missing field `cases`"),
        (&format!("{head}cases: [{{name: one}}]"), "a.yaml: case \"one\": cases[0]: missing field `expect`"),
    ] {
        let error = CaseFile::parse("a.yaml", text).expect_err("it isn't complete");
        assert_eq!(error.to_string(), reported);
    }
}

#[test]
fn a_node_alone_is_a_kubernetes_node_or_what_a_case_says_of_one() {
    let of = |value| node(Some(value));
    let default = node(None).expect("the node that has everything");
    let named = of(json!({"name": "edge", "facts": {"os": "linux"}})).expect("a node");
    assert_eq!((named.name.as_str(), named.facts.len(), &named.node), ("edge", 1, &default.node));
    let object = of(json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker"},
        "status": {
            "addresses": [{"type": "Hostname", "address": "worker"}, {"type": "InternalIP", "address": "10.0.0.7"}],
            "allocatable": {"cpu": "2"},
        },
    }))
    .expect("a node");
    assert_eq!(
        (object.name.as_str(), object.addresses),
        ("worker", vec!["10.0.0.7".parse().expect("an address")])
    );
    assert_eq!(object.facts, default.facts, "what it doesn't say of its machine is as of the other one");
    let words = |value| of(value).expect_err("no node").to_string();
    assert!(words(json!({"kind": "Pod"})).starts_with("kind: expected a Node"));
    assert!(
        words(json!({"kind": "Node", "spec": {"taint": []}, "metadata": {"nam": "x"}}))
            .contains("metadata.nam")
    );
    assert!(words(json!({"adresses": []})).contains("adresses"));
    assert!(words(json!(7)).starts_with("node: "));
}
