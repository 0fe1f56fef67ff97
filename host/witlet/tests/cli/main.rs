//! The command line as people meet it: exit codes, and messages that name the thing and the way out.

mod authors;
mod book;
mod daemon;
mod eval;
mod inspect;
mod kubelet;
mod mistakes;
mod plugins;
mod registries;
mod serve;
mod sets;
mod top;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct CommandOutput {
    code: i32,
    out: String,
    err: String,
}

fn witlet(args: &[&str]) -> CommandOutput {
    run(Command::new(env!("CARGO_BIN_EXE_witlet")).args(args))
}

fn run(command: &mut Command) -> CommandOutput {
    let cache = witlet_harness::program::component_cache().expect("a test lies in a target folder");
    let command = command.env(witlet_harness::program::CACHE_VARIABLE, cache);
    let Output { status, stdout, stderr } = command.output().expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    CommandOutput { code: status.code().unwrap_or(-1), out: text(stdout), err: text(stderr) }
}

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file in a temporary folder");
    path
}

/// Checks one manifest and expects findings that hold every one of `words`.
fn check_finds(name: &str, text: &str, words: &[&str]) {
    let folder = scratch();
    let path = write(folder.path(), name, text);
    let answer = witlet(&["check", path.to_str().expect("a temporary path is UTF-8")]);
    assert_eq!(answer.code, 4, "{name}: {}{}", answer.out, answer.err);
    for word in words.iter().chain([&name]) {
        assert!(answer.out.contains(word), "{name}: {word:?} isn't in: {}", answer.out);
    }
    assert!(answer.out.len() < 20_000, "{name}: a message is for people, not {} bytes", answer.out.len());
}

/// A pod with this spec.
fn pod(spec: &str) -> String {
    format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec:\n  {spec}\n")
}

#[test]
fn without_a_command_it_shows_its_usage_and_exits_2() {
    let answer = witlet(&[]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("Usage: witlet"), "{}", answer.err);
}

#[test]
fn help_explains_commands_examples_and_exit_codes() {
    let answer = witlet(&["--help"]);
    assert_eq!(answer.code, 0);
    for word in ["run", "runtime", "get", "plugin", "check", "Exit codes:", "no agent answers"] {
        assert!(answer.out.contains(word), "{word:?} isn't in: {}", answer.out);
    }
    assert!(!answer.out.contains("compile-component"), "inner commands aren't shown");
    let nothing = witlet(&["check"]);
    assert!(nothing.code == 2 && nothing.err.contains("nothing to check: give manifests"), "{}", nothing.err);
    for command in ["run", "runtime", "check"] {
        let answer = witlet(&[command, "--help"]);
        assert!(answer.code == 0 && answer.out.contains("Example"), "{command}: {}", answer.out);
    }
}

#[test]
fn an_unknown_flag_exits_2_and_is_named() {
    let answer = witlet(&["run", "--no-such-flag"]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("--no-such-flag"), "{}", answer.err);
}

#[test]
fn an_unknown_command_is_named_and_only_shown_ones_are_suggested() {
    for (command, suggested) in [("completion", None), ("chek", Some("'check'"))] {
        let answer = witlet(&[command]);
        assert_eq!(answer.code, 2, "{}", answer.err);
        assert!(answer.err.contains(&format!("unrecognized subcommand '{command}'")), "{}", answer.err);
        assert!(!answer.err.contains("compile-component"), "{}", answer.err);
        assert!(suggested.is_none_or(|name| answer.err.contains(name)), "{}", answer.err);
    }
}

#[test]
fn get_without_a_daemon_exits_3_and_names_the_socket() {
    let folder = scratch();
    let socket = folder.path().join("none.sock");
    for what in [&["pods"][..], &["pods", "--usage"], &["node"]] {
        let answer = witlet(&[&["get"][..], what, &["--api-socket", socket.to_str().unwrap()]].concat());
        assert_eq!(answer.code, 3, "{what:?}");
        assert!(answer.err.contains("none.sock") && answer.err.contains("witlet run"), "{}", answer.err);
        assert!(answer.err.contains("caused by:"), "the cause is printed: {}", answer.err);
    }
}

#[test]
fn good_manifests_are_counted() {
    let folder = scratch();
    let one = pod("containers: [{name: a, image: 'registry.example.com/a:1'}]");
    write(folder.path(), "two.yaml", &format!("{one}---\n{}", one.replace("name: web", "name: db")));
    write(
        folder.path(),
        "one.json",
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"j"},"spec":{"containers":[{"name":"a","image":"b"}]}}"#,
    );
    write(folder.path(), ".hidden.yaml", "no pod at all");
    std::fs::create_dir(folder.path().join("subfolder")).expect("a folder in a temporary folder");
    let answer = witlet(&["check", folder.path().to_str().unwrap()]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""), "{}", answer.out);
    assert!(answer.out.contains("ok, 3 pods"), "{}", answer.out);
    assert!(answer.out.contains("subfolder: NotAFile"), "what is passed over is reported: {}", answer.out);
}

#[test]
fn bad_manifests_are_refused_with_file_and_field() {
    check_finds("broken.yaml", "apiVersion: v1\nkind: [Pod\n", &["line"]);
    check_finds("binary.yaml", "\u{0}\u{1}\u{2}", &["binary.yaml"]);
    check_finds("no-kind.yaml", "apiVersion: v1\nmetadata: {name: a}\n", &["kind"]);
    check_finds("service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n", &["Service"]);
    check_finds("empty.yaml", "", &["the file is empty"]);
    let plugins = "apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\nplugins: []\n";
    check_finds("plugins.yaml", plugins, &["found PluginConfiguration", "; name it with --plugins"]);
    check_finds("no-containers.yaml", &pod("containers: []"), &["spec.containers"]);
    let container = |rest: &str| pod(&format!("containers: [{{name: a, image: b, {rest}}}]"));
    check_finds("quantity.yaml", &container("resources: {limits: {cpu: 1x}}"), &["resources.limits", "1x"]);
    check_finds(
        "port.yaml",
        &container("ports: [{containerPort: 70000}]"),
        &["ports[0].containerPort", "70000"],
    );
    check_finds("typo.yaml", &container("imagePullPolicyy: Never"), &["imagePullPolicyy"]);
    check_finds("name.yaml", &pod("containers: [{name: Not_Valid, image: b}]"), &["spec.containers[0].name"]);
    check_finds(
        "twice.yaml",
        &pod("containers: [{name: a, image: b}, {name: a, image: b}]"),
        &["spec.containers[1].name"],
    );
    check_finds(
        "policy.yaml",
        &pod("restartPolicy: Sometimes\n  containers: [{name: a, image: b}]"),
        &["spec.restartPolicy"],
    );
}

#[test]
fn fields_that_no_one_acts_on_yet_are_refused_by_name() {
    let with = |more: &str| pod(&format!("{more}\n  containers: [{{name: a, image: b}}]"));
    check_finds(
        "volume.yaml",
        &with("volumes: [{name: v, nfs: {server: s, path: /p}}]"),
        &["volumes[0].nfs"],
    );
    check_finds(
        "secret.yaml",
        &with("volumes: [{name: v, secret: {secretName: s}}]"),
        &["volumes[0].secret"],
    );
    let device = "containers: [{name: a, image: b, volumeDevices: [{name: v, devicePath: /v}]}]";
    check_finds("device.yaml", &pod(device), &["volumeDevices"]);
}

#[test]
fn a_hundred_thousand_labels_get_a_short_clear_answer() {
    let labels: String = (0..100_000).map(|n| format!("    key-{n}: value\n")).collect();
    let text = format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  labels:\n{labels}spec: {{containers: [{{name: a, image: b}}]}}\n"
    );
    check_finds("labels.yaml", &text, &["metadata.labels"]);
}

#[test]
fn duplicate_names_in_a_folder_are_found() {
    let folder = scratch();
    let text = pod("containers: [{name: a, image: b}]");
    write(folder.path(), "first.yaml", &text);
    write(folder.path(), "second.yaml", &text);
    let answer = witlet(&["check", folder.path().to_str().unwrap()]);
    assert_eq!(answer.code, 4, "{}", answer.out);
    assert!(answer.out.contains("second.yaml") && answer.out.contains("web"), "{}", answer.out);
}

#[test]
fn one_bad_file_does_not_hide_the_others() {
    let folder = scratch();
    write(folder.path(), "a.yaml", "kind: [");
    write(folder.path(), "b.yaml", "kind: Service\napiVersion: v1\n");
    let answer = witlet(&["check", folder.path().to_str().unwrap()]);
    assert!(answer.out.contains("a.yaml") && answer.out.contains("b.yaml"), "{}", answer.out);
}

#[test]
fn missing_paths_and_nothing_to_check_are_distinguished() {
    let missing = witlet(&["check", "/nonexistent/manifests"]);
    assert_eq!(missing.code, 4, "{}{}", missing.out, missing.err);
    assert!(missing.out.contains("/nonexistent/manifests"), "{}", missing.out);
    let nothing = witlet(&["check"]);
    assert_eq!(nothing.code, 2);
    assert!(nothing.err.contains("--plugins"), "{}", nothing.err);
}

#[test]
fn broken_plugin_files_name_the_file_and_the_field() {
    let cases = [
        (
            "unknown-key.yaml",
            "plugins:\n  - name: a\n    component: ./a.wasm\n    admission: {}\n    colour: red\n",
            "colour",
        ),
        ("wrong-kind.yaml", "kind: Other\n", "kind"),
        (
            "no-file.yaml",
            "plugins:\n  - name: a\n    component: ./missing.wasm\n    admission: {}\n",
            "missing.wasm",
        ),
        (
            "twice.yaml",
            "plugins:\n  - {name: a, component: ./a.wasm, admission: {}}\n  - {name: a, component: ./a.wasm, admission: {}}\n",
            "a",
        ),
        (
            "policy.yaml",
            "plugins:\n  - {name: a, component: ./a.wasm, admission: {failurePolicy: Maybe}}\n",
            "line 4, column 63: plugins[0].admission.failurePolicy: unknown variant `Maybe`",
        ),
    ];
    for (name, text, word) in cases {
        let folder = scratch();
        let header = if text.contains("kind:") { "" } else { "kind: PluginConfiguration\n" };
        let path = write(folder.path(), name, &format!("apiVersion: witlet.dev/v1alpha1\n{header}{text}"));
        let answer = witlet(&["check", "--plugins", path.to_str().unwrap()]);
        assert_eq!(answer.code, 4, "{name}: {}{}", answer.out, answer.err);
        assert!(answer.out.contains(name) && answer.out.contains(word), "{name}: {}", answer.out);
    }
}

#[test]
fn text_that_is_no_component_is_refused_by_inspect() {
    let folder = scratch();
    let path = write(folder.path(), "plugin.wasm", "not wasm");
    let answer = witlet(&["plugin", "inspect", path.to_str().unwrap()]);
    assert_eq!(answer.code, 1);
    assert!(answer.err.contains("plugin.wasm"), "{}", answer.err);
}

#[test]
fn the_daemon_refuses_to_start_with_flags_that_cannot_work() {
    let folder = scratch();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let run = |more: &[&str]| {
        let (root, socket) = (path("root"), path("api.sock"));
        let mut args = vec!["run", "--root-dir", &root, "--api-socket", &socket, "--node-name", "node"];
        args.extend(more);
        witlet(&args)
    };
    let endpoint = run(&["--container-runtime-endpoint", "tcp://10.0.0.1:1"]);
    assert_eq!(endpoint.code, 1);
    assert!(endpoint.err.contains("tcp://10.0.0.1:1"), "{}", endpoint.err);
    let label = run(&["--node-labels", "novalue"]);
    assert_eq!(label.code, 2);
    assert!(label.err.contains("novalue"), "{}", label.err);
    let (root, socket) = (path("root"), path("api.sock"));
    let name = witlet(&["run", "--root-dir", &root, "--api-socket", &socket, "--node-name", "Bad_Name"]);
    assert_eq!(name.code, 1, "{}", name.err);
    assert!(name.err.contains("bad_name") && name.err.contains("set --node-name"), "{}", name.err);
}

#[test]
fn a_folder_or_a_pipe_is_no_component() {
    let folder = scratch();
    let answer = witlet(&["plugin", "inspect", folder.path().to_str().unwrap()]);
    assert_eq!(answer.code, 1);
    assert!(answer.err.contains("not a file"), "{}", answer.err);
}

#[test]
fn what_is_no_file_among_manifests_is_named() {
    let folder = scratch();
    std::fs::create_dir(folder.path().join("backup")).unwrap();
    std::os::unix::fs::symlink("/nonexistent", folder.path().join("moved.yaml")).unwrap();
    let answer = witlet(&["check", folder.path().to_str().unwrap()]);
    assert_eq!(answer.code, 0, "what is passed over is no finding: {}", answer.out);
    for word in ["backup", "is a folder", "moved.yaml", "is a dangling symbolic link"] {
        assert!(answer.out.contains(word), "{word:?} isn't in: {}", answer.out);
    }
}
