//! `witlet plugin eval` and `witlet plugin audit`: real components asked about manifests, recorded calls and an agent's pods.

use std::io::{BufReader, Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use witlet_harness::WAIT_TIMEOUT;

use crate::daemon::{Owned, wait_for};
use crate::plugins::recorded;
use crate::serve::plugins;
use crate::{CommandOutput, pod, scratch, witlet, write};

/// A container of this image with no more to it.
const APP: &str = "containers: [{name: app, image: 'app:1'}]";

/// Evaluates with the words behind the command's name.
pub(crate) fn eval(words: &[&str]) -> CommandOutput {
    witlet(&[&["plugin", "eval"], words].concat())
}

pub(crate) fn file(folder: &Path, name: &str, text: &str) -> String {
    write(folder, name, text).display().to_string()
}

/// The exit code is this, and all words are on standard output.
fn prints(answer: &CommandOutput, code: i32, words: &[&str]) {
    assert_eq!(answer.code, code, "{}{}", answer.out, answer.err);
    for word in words {
        assert!(answer.out.contains(word), "{word:?} isn't in: {}{}", answer.out, answer.err);
    }
}

fn reported(answer: &CommandOutput) -> Value {
    let report = serde_json::from_str(&answer.out);
    assert!(report.is_ok(), "{report:?}: {}{}", answer.out, answer.err);
    report.expect("it is JSON")
}

/// What became of the question at this handler of the first pod.
fn handler<'a>(report: &'a Value, name: &str) -> &'a Value {
    let handlers = report["pods"][0]["handlers"].as_array().expect("handlers");
    let found = handlers.iter().find(|handler| handler["name"] == name);
    assert!(found.is_some(), "no {name}: {report}");
    found.expect("it is there")
}

#[test]
fn shipped_handlers_judge_a_pod_as_a_node_does() {
    let folder = scratch();
    let plain = file(folder.path(), "plain.yaml", &pod(APP));
    prints(&eval(&[&plain]), 0, &["default/web: admitted", "status: the pod starts", "1 pod: 1 admitted"]);

    let sysctl = format!("securityContext: {{sysctls: [{{name: kernel.msgmax, value: '1'}}]}}\n  {APP}");
    let sysctl = file(folder.path(), "sysctl.yaml", &pod(&sysctl));
    let refused =
        ["default/web: rejected by sysctls", "reason SysctlForbidden", "Pod was rejected: forbidden sysctl"];
    prints(&eval(&[&sysctl]), 5, &refused);
    prints(&eval(&[&sysctl, "--allowed-unsafe-sysctls", "kernel.msg*"]), 0, &[]);

    let large = "containers: [{name: app, image: 'app:1', resources: {requests: {cpu: '3'}}}]";
    let large = file(folder.path(), "large.yaml", &pod(large));
    prints(&eval(&[&large]), 0, &[]);
    let others = pod("containers: [{name: app, image: 'db:1', resources: {requests: {cpu: '2'}}}]");
    let others = file(folder.path(), "others.yaml", &others.replace("name: web", "name: db"));
    let short = eval(&[&large, "--others", &others, "-o", "json"]);
    prints(&short, 5, &[]);
    let report = reported(&short);
    let expected = json!([{"resource": "cpu", "requested": 3000, "used": 2000, "capacity": 4000}]);
    let resources = handler(&report, "node-resources");
    assert_eq!((&resources["outcome"], &resources["shortages"]), (&json!("shortage"), &expected), "{report}");
    assert_eq!(report["pods"][0]["status"]["reason"], "OutOfcpu", "{report}");
    assert_eq!(handler(&report, "node-affinity")["outcome"], "notAsked");
    let all = reported(&eval(&[&large, "--others", &others, "-o", "json", "--all"]));
    let affinity = handler(&all, "node-affinity");
    assert_eq!((&affinity["outcome"], &affinity["counts"]), (&json!("admit"), &json!(false)));
    let node = "{name: node, node: {metadata: {name: node}, status: {allocatable: {cpu: '8', memory: 8Gi, pods: '10'}}}}";
    let node = file(folder.path(), "node.yaml", node);
    prints(&eval(&[&large, "--others", &others, "--node", &node]), 0, &["default/web: admitted"]);
}

#[test]
fn the_handlers_of_a_plugin_file_are_asked_as_their_entries_say() {
    let folder = scratch();
    let entries = "\
- {name: tags, component: no-latest-tag.wasm, admission: {order: 1, match: {namespaces: [shop]}}}
- {name: elsewhere, component: hostile.wasm, config: defer, admission: {order: 2, match: {namespaces: [ci]}}}
- {name: traps, component: hostile.wasm, config: trap, admission: {order: 3, failurePolicy: Admit}}
- {name: tried, component: hostile.wasm, config: defer, admission: {order: 4, mode: shadow}}
- {name: gate, component: hostile.wasm, config: defer, admission: {order: 5}}
";
    let file_of_plugins = plugins(folder.path(), entries);
    let deployment = |image: &str, namespace: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, namespace: {namespace}}}\n\
             spec: {{template: {{spec: {{containers: [{{name: app, image: '{image}'}}]}}}}}}\n"
        )
    };
    let latest = file(folder.path(), "latest.yaml", &deployment("app:latest", "shop"));
    let words = [
        "Deployment shop/web",
        "shop/web-xxxxxxxxxx-xxxxx: rejected by tags",
        "match.namespaces: the pod has the namespace shop",
        "(plugin tags, sha256:",
        "not asked",
        "defer (shadow)",
    ];
    prints(&eval(&[&latest, "--plugins", &file_of_plugins]), 5, &words);
    let fixed = file(folder.path(), "fixed.yaml", &deployment("app:1", "shop"));
    let words = [
        "deferred by gate",
        "HandlerTrapped",
        "it counts as admitted (failurePolicy Admit)",
        "containers: waiting, reason Blocked",
    ];
    prints(&eval(&[&fixed, "--plugins", &file_of_plugins, "--shipped=false"]), 5, &words);
    let system = file(folder.path(), "system.yaml", &deployment("app:latest", "kube-system"));
    let report = reported(&eval(&[&system, "--plugins", &file_of_plugins, "-o", "json"]));
    assert_eq!(report["pods"][0]["outcome"], "admitted", "{report}");
    let tags = handler(&report, "tags");
    assert_eq!((&tags["outcome"], &tags["rule"]), (&json!("notMatched"), &json!("match.systemPods")));

    let missing = plugins(folder.path(), "- {name: gone, component: gone.wasm, admission: {}}\n");
    prints(
        &eval(&[&fixed, "--plugins", &missing]),
        4,
        &["error: plugin \"gone\" is not loaded", "HandlerNotLoaded"],
    );
    let wrong = plugins(folder.path(), "- {name: a, component: a.wasm, admission: {}, colour: red}\n");
    prints(&eval(&[&fixed, "--plugins", &wrong]), 4, &["plugins.yaml", "colour"]);
}

#[test]
fn an_invalid_document_is_named_and_the_others_are_judged() {
    let folder = scratch();
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n";
    let text = [pod(APP), "kind: [\n".to_owned(), service.to_owned(), pod(&APP.replace("image", "imag"))];
    let mixed = file(folder.path(), "mixed.yaml", &text.join("---\n"));
    let words = [
        "default/web: admitted",
        "mixed.yaml: document 2 (line 7): line ",
        "skipped: ",
        "document 3 (line 9): Service web has no pod",
        "spec.containers[0].imag: unknown field",
    ];
    prints(&eval(&[&mixed]), 4, &words);
    prints(&eval(&["/nonexistent.yaml"]), 4, &["error: failed to read /nonexistent.yaml"]);
    let usage = eval(&[&mixed, "--old", &mixed]);
    assert!(usage.code == 2 && usage.err.contains("--operation resize"), "{}", usage.err);
    assert_eq!(eval(&[]).code, 2);
    assert_eq!(eval(&[&mixed, "--component", "a.wasm", "--plugins", "b.yaml"]).code, 2);
    let help = eval(&["--help"]);
    prints(&help, 0, &["Exit codes: 0 if all pods are admitted, 5", "Examples:", "--expression"]);
}

#[test]
fn one_component_or_expression_is_asked_alone() {
    let folder = scratch();
    let web = file(folder.path(), "web.yaml", &pod(APP));
    let config = r#"{"allow": ["registry.example.com"]}"#;
    let policy = ["--component", "builtin:image-policy", "-o", "json", "--config"];
    let answer = eval(&[&[&web[..]], &policy[..], &[config]].concat());
    prints(&answer, 5, &[]);
    let report = reported(&answer);
    assert_eq!(report["pods"][0]["handlers"].as_array().map(Vec::len), Some(1), "{report}");
    assert_eq!(handler(&report, "image-policy")["reason"], "ImageNotAllowed");
    let path = file(folder.path(), "config.json", &config.replace("registry.example.com", "*"));
    prints(&eval(&[&[&web[..]], &policy[..], &[&path]].concat()), 0, &[]);
    let refused = eval(&[&[&web[..]], &policy[..], &["{}"]].concat());
    prints(&refused, 4, &["config: the field allow is missing"]);
    assert_eq!(reported(&refused)["pods"], json!([]), "nothing is learnt of it");
    prints(&eval(&[&web, "--component", "/nonexistent.wasm"]), 4, &["/nonexistent.wasm"]);
    let in_it = folder.path().display().to_string();
    prints(&eval(&[&in_it]), 4, &["must be a file, found a folder: use ", "/*.yaml"]);
    let of_node = config.replace("registry.example.com", "${node.labels['registry']}");
    let of_node = [&[&web[..]], &policy[..], &[&of_node]].concat();
    prints(&eval(&of_node), 4, &["the node has no label", "registry"]);
    let node = "{kind: Node, apiVersion: v1, metadata: {name: edge, labels: {registry: 'docker.io'}}}";
    let node = file(folder.path(), "node.yaml", node);
    prints(&eval(&[&of_node[..], &["--node", &node]].concat()), 0, &[]);

    let never = eval(&[&web, "--expression", "false", "--message", "never so"]);
    if witlet_plugins::SHIPPED.iter().any(|shipped| shipped.name == "cel") {
        prints(&never, 5, &["rejected by cel", "never so"]);
        prints(&eval(&[&web, "--expression", "true"]), 0, &[]);
        let misspelt = eval(&[&web, "--expression", "object.spec.hostNetwrok"]);
        prints(&misspelt, 4, &["error: --expression, line 1, column 13: ", "did you mean hostNetwork?"]);
    } else {
        assert!(never.code == 1 && never.err.contains("the shipped handler `cel`"), "{}", never.err);
    }
}

#[test]
fn recorded_questions_are_asked_again() {
    let folder = scratch();
    let mut call = recorded(&json!({"kind": "admit"}));
    call["question"]["node"]["node"]["status"] =
        json!({"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "10"}});
    call["question"]["node"]["facts"] = json!({"os": "linux"});
    let good = file(folder.path(), "good.json", &call.to_string());
    prints(
        &eval(&["--recording", &good]),
        0,
        &["good.json: recorded call of node-os", "default/web: admitted"],
    );
    call["question"]["pod"]["pod"]["spec"]["os"] = json!({"name": "windows"});
    let windows = file(folder.path(), "windows.json", &call.to_string());
    let both = eval(&["--recording", &good, "--recording", &windows]);
    prints(&both, 5, &["default/web: rejected by node-os", "2 pods: 1 admitted, 1 rejected"]);
    prints(&eval(&["--recording", "/nonexistent.json"]), 4, &["/nonexistent.json"]);
    assert_eq!(eval(&["--recording", &good, "--now", "2026-01-01T00:00:00Z"]).code, 2);
}

#[test]
fn standard_input_is_read() {
    let mut process = Command::new(env!("CARGO_BIN_EXE_witlet"))
        .args([
            "plugin",
            "eval",
            "-",
            "--component",
            "builtin:image-policy",
            "--config",
            r#"{"allow": ["*"]}"#,
        ])
        .env(
            witlet_harness::program::CACHE_VARIABLE,
            witlet_harness::program::component_cache().expect("a test lies in a target folder"),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut input = process.stdin.take().expect("it is piped");
    input.write_all(pod(APP).as_bytes()).expect("it is read");
    drop(input);
    let output = process.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("standard input: document 1 (line 1): Pod web"),
        "{text}"
    );
}

/// Reads lines until one has these words; all lines up to there.
fn lines_until(from: &mut impl std::io::BufRead, words: &str) -> String {
    let mut text = String::new();
    loop {
        let before = text.len();
        let count = from.read_line(&mut text).expect("it is text");
        assert_ne!(count, 0, "it ended before {words:?}: {text}");
        if text[before..].contains(words) {
            return text;
        }
    }
}

#[test]
fn a_watch_judges_again_when_a_file_changes_and_goes_on_after_errors() {
    let folder = scratch();
    let web = file(folder.path(), "web.yaml", &pod(APP));
    let entry = |image: &str| {
        format!(
            "- {{name: images, component: 'builtin:image-policy', admission: {{}}, config: {{allow: ['{image}']}}}}\n"
        )
    };
    let configured = plugins(folder.path(), &entry("*"));
    let process = Command::new(env!("CARGO_BIN_EXE_witlet"))
        .args(["plugin", "eval", &web, "--plugins", &configured, "--shipped=false", "--watch"])
        .env(
            witlet_harness::program::CACHE_VARIABLE,
            witlet_harness::program::component_cache().expect("a test lies in a target folder"),
        )
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut process = Owned(process);
    let mut out = BufReader::new(process.0.stdout.take().expect("it is piped"));
    let mut err = BufReader::new(process.0.stderr.take().expect("it is piped"));
    let mut waits = || lines_until(&mut err, "Waiting for changes of 2 files");
    lines_until(&mut out, "1 pod: 1 admitted");
    waits();
    plugins(folder.path(), &entry("registry.example.com"));
    lines_until(&mut out, "1 pod: 1 rejected");
    waits();
    std::fs::write(&web, "kind: [").expect("a temporary folder");
    lines_until(&mut out, "error: ");
    waits();
    // As editors write.
    let next = write(
        folder.path(),
        "next.yaml",
        &pod("containers: [{name: app, image: 'registry.example.com/app:1'}]"),
    );
    std::fs::rename(next, &web).expect("a temporary folder");
    lines_until(&mut out, "1 pod: 1 admitted");
    waits();
    let id = rustix::process::Pid::from_child(&process.0);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("it can be signalled");
    let ended = || process.0.try_wait().expect("it is this program's child");
    let status = wait_for("the watch ends", WAIT_TIMEOUT, ended);
    assert!(status.success(), "the last result counts: {status}");
}

#[test]
fn a_watch_that_reads_standard_input_is_ended_by_a_signal() {
    let process = Command::new(env!("CARGO_BIN_EXE_witlet"))
        .args(["plugin", "eval", "-", "--watch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let mut process = Owned(process);
    let mut input = process.0.stdin.take().expect("it is piped");
    input.write_all(b"# more may follow\n").expect("it reads");
    let is_read = || (rustix::io::ioctl_fionread(&input).expect("a pipe") == 0).then_some(());
    wait_for("standard input is read", WAIT_TIMEOUT, is_read);
    let id = rustix::process::Pid::from_child(&process.0);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("it can be signalled");
    let ended = || process.0.try_wait().expect("it is this program's child");
    let status = wait_for("the command ends", WAIT_TIMEOUT, ended);
    assert_eq!(status.signal(), Some(rustix::process::Signal::TERM.as_raw()), "{status}");
}

/// An agent that has these pods, for as many requests as are made of it. What is null it refuses.
fn agent(folder: &Path, pods: Value, node: Value) -> String {
    let socket = folder.join("agent.sock");
    let listener = UnixListener::bind(&socket).expect("a socket in a temporary folder");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count > 0) {
                head.push(byte[0]);
            }
            let asked_for_pods = head.starts_with(b"GET /pods ");
            let answer = if asked_for_pods { &pods } else { &node };
            let status = if answer.is_null() { "503 Service Unavailable" } else { "200 OK" };
            let body = answer.to_string();
            let length = body.len();
            let response = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
            // A client that has gone away has what it needed.
            let _ = stream.write_all(response.as_bytes());
        }
    });
    socket.display().to_string()
}

#[test]
fn an_audit_names_the_running_pods_that_would_not_be_admitted() {
    let folder = scratch();
    let running = |name: &str, image: &str| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "shop", "uid": name, "annotations": {"kubernetes.io/config.source": "api"}},
            "spec": {"nodeName": "n1", "containers": [{"name": "app", "image": image}]},
            "status": {"phase": "Running"},
        })
    };
    let mut done = running("done", "app:latest");
    done["status"]["phase"] = json!("Succeeded");
    let items = [running("web", "app:1"), running("db", "app:latest"), done];
    let pods = json!({"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": items});
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "u1"},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
    });
    let socket = agent(folder.path(), pods, node);
    let configured = plugins(folder.path(), "- {name: tags, component: no-latest-tag.wasm, admission: {}}\n");
    let audit = |words: &[&str]| {
        witlet(&[&["plugin", "audit", "--api-socket", &socket, "--shipped=false"], words].concat())
    };
    let table = audit(&["--plugins", &configured]);
    prints(&table, 5, &["NAMESPACE", "2 pods, 1 would not be admitted", "rejected", "tags"]);
    assert!(table.out.contains("db") && !table.out.contains("web"), "{}", table.out);
    let report = reported(&audit(&["--plugins", &configured, "-o", "json"]));
    assert_eq!((&report["kind"], report["pods"].as_array().map(Vec::len)), (&json!("PluginAudit"), Some(2)));
    prints(&audit(&[]), 0, &["2 pods, 0 would not be admitted"]);
    let missing =
        plugins(folder.path(), "- {name: gone, component: gone.wasm, admission: {failurePolicy: Admit}}\n");
    prints(&audit(&["--plugins", &missing]), 4, &["error: plugin \"gone\" is not loaded"]);
    let none = witlet(&["plugin", "audit", "--api-socket", "/nonexistent.sock"]);
    assert!(none.code == 3 && none.err.contains("/nonexistent.sock"), "{} {}", none.code, none.err);
    let other = scratch();
    let refuses = agent(other.path(), Value::Null, Value::Null);
    let refused = witlet(&["plugin", "audit", "--api-socket", &refuses]);
    assert!(refused.code == 1 && refused.err.contains("503"), "{} {}", refused.code, refused.err);
}

#[test]
fn every_operation_can_be_asked_of_a_handler_that_subscribes_to_it() {
    let folder = scratch();
    let config = r#"{"do": "operation", "subscribe": ["add", "update", "ephemeral", "image-resolved", "readmit", "recheck"]}"#;
    let entry = format!(
        "- {{name: newer, component: v0-2.wasm, grants: {{secrets: [none]}}, config: {config}, admission: {{recheck: 10m}}}}\n"
    );
    let configured = plugins(folder.path(), &entry);
    let old = file(folder.path(), "old.yaml", &pod(APP));
    let edited = APP.replace("app:1", "app:2");
    let edited = format!("{edited}\n  ephemeralContainers: [{{name: dbg, image: 'dbg:1'}}]");
    let new = file(folder.path(), "new.yaml", &pod(&edited));
    let cases: [(&str, &[&str], &str); 6] = [
        ("add", &[], "phase Failed, reason Asked"),
        ("update", &["--old", &old], "Asked"),
        ("ephemeral", &["--old", &old], "Asked"),
        ("image-resolved", &["--container", "app"], "the container waits as ImageRejected"),
        ("readmit", &[], "the pod ends as Failed, within its grace"),
        ("recheck", &[], "the pod ends as Failed, within its grace"),
    ];
    for (operation, more, words) in cases {
        let asked = ["--plugins", &configured, "--operation", operation];
        let asked = [&[&*new], &asked[..], more].concat();
        prints(&eval(&asked), 5, &["default/web: rejected by newer", words]);
        let report = reported(&eval(&[&asked[..], &["-o", "json"]].concat()));
        let message = handler(&report, "newer")["message"].as_str().expect("a message").to_owned();
        assert!(message.starts_with(operation), "{report}");
        assert_eq!(report["pods"][0]["operation"], operation, "{report}");
        let rule = |equality: &str| {
            let rule = format!("request.phase {equality} '{operation}'");
            eval(&[&[&*new, "--expression", &rule, "--operation", operation], more].concat())
        };
        prints(&rule("=="), 0, &["default/web: admitted"]);
        prints(&rule("!="), 5, &["default/web: rejected by cel"]);
    }
    let unchanged = eval(&[&old, "--operation", "update", "--old", &old]);
    prints(&unchanged, 0, &["default/web: admitted", "status: the pod gets what it asks for"]);
    let lacking = eval(&[&new, "--operation", "update"]);
    assert_eq!(lacking.code, 2, "{}", lacking.err);
    assert!(lacking.err.contains("--operation update needs --old"), "{}", lacking.err);
    prints(&eval(&[&new, "--operation", "image-resolved"]), 4, &[]);
}
