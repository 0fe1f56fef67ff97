//! Called as the kubelet: whose name does it, exit codes, and messages that name flag, file and field.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{CommandOutput, run, scratch, witlet, write};

/// So that what this machine is doesn't matter.
const ANYWHERE: [&str; 2] = ["--fail-cgroupv1=false", "--fail-swap-on=false"];

fn kubelet(flags: &[&str]) -> CommandOutput {
    witlet(&[&["kubelet"], flags].concat())
}

/// Flags of a node in this folder that talks to no one.
fn in_folder(folder: &Path) -> Vec<String> {
    let flag = |name: &str, file: &str| format!("--{name}={}", folder.join(file).display());
    let mut flags: Vec<String> = ANYWHERE.map(str::to_owned).into();
    flags.extend([
        flag("root-dir", "root"),
        flag("api-socket", "api.sock"),
        format!("--container-runtime-endpoint=unix://{}", folder.join("no-runtime.sock").display()),
        "--address=127.0.0.1".to_owned(),
        "--healthz-port=0".to_owned(),
        "--hostname-override=node".to_owned(),
        "--cgroups-per-qos=false".to_owned(),
        "--enforce-node-allocatable=none".to_owned(),
    ]);
    flags
}

fn refused(flags: &[String]) -> String {
    let words: Vec<&str> = flags.iter().map(String::as_str).collect();
    let answer = kubelet(&words);
    assert_eq!(answer.code, 1, "{}{}", answer.out, answer.err);
    answer.err
}

#[test]
fn its_name_makes_it_the_kubelet() {
    let folder = scratch();
    let name = folder.path().join("kubelet");
    symlink(env!("CARGO_BIN_EXE_witlet"), &name).expect("a link in a temporary folder");
    let by_name = Command::new(&name).arg("--version").output().expect("the binary runs");
    let expected = format!("Kubernetes v1.36.0+witlet.{}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(String::from_utf8_lossy(&by_name.stdout), expected);
    assert_eq!(kubelet(&["--version"]).out, expected);
    // Witlet's own commands stay, because it calls itself.
    let own = Command::new(&name).args(["get", "--help"]).output().expect("the binary runs");
    assert!(String::from_utf8_lossy(&own.stdout).contains("pods"));
}

#[test]
fn help_lists_every_flag_and_exits_0() {
    let answer = kubelet(&["--help"]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    for flag in
        ["--kubeconfig", "--bootstrap-kubeconfig", "--config-dir", "--node-ip", "-v, --v", "--plugins"]
    {
        assert!(answer.out.contains(flag), "{flag} isn't in: {}", answer.out);
    }
    // As many as those of a kubelet 1.36.2 of the same names.
    let is_deprecated = |line: &&str| line.ends_with("(DEPRECATED)");
    assert_eq!(answer.out.lines().filter(is_deprecated).count(), 125, "{}", answer.out);
    for (flag, expected) in [("--address ", true), ("--boot-id-file ", true), ("--provider-id ", false)] {
        let line = answer.out.lines().find(|line| line.contains(flag)).expect("the flag has a line");
        assert_eq!(is_deprecated(&line), expected, "{line}");
    }
    for flag in ["--minimum-container-ttl-duration ", "--fail-cgroupv1", "--kubeconfig string"] {
        let line = answer.out.lines().find(|line| line.contains(flag)).expect("the flag has a line");
        assert_eq!(is_deprecated(&line), flag.starts_with("--minimum"), "{line}");
    }
}

#[test]
fn what_no_kubelet_has_is_refused_as_pflag_does() {
    for (flags, words) in [
        (&["--no-such-flag"][..], "failed to parse kubelet flag: unknown flag: --no-such-flag"),
        (&["-x"], "unknown shorthand flag: 'x' in -x"),
        (&["--max-pods=many"], "invalid argument \"many\" for \"--max-pods\" flag"),
        (&["start"], "unknown command \"start\""),
    ] {
        let answer = kubelet(flags);
        assert_eq!(answer.code, 1, "{flags:?}: {}", answer.err);
        assert!(answer.err.contains(words), "{flags:?}: {}", answer.err);
        assert_eq!(answer.err.lines().count(), 1, "{flags:?}: {}", answer.err);
    }
}

/// What a configuration of these lines is answered, on a node whose kubeconfig is missing.
fn answered(lines: &str) -> String {
    let folder = scratch();
    let head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
    let path = write(folder.path(), "config.yaml", &format!("{head}{lines}\n"));
    let mut flags = in_folder(folder.path());
    flags.extend([format!("--config={}", path.display()), "--kubeconfig=/no/such/kubelet.conf".to_owned()]);
    refused(&flags)
}

#[test]
fn a_value_that_is_not_one_is_refused_with_file_and_path() {
    let error = answered("authentication: {anonymous: {enabled: no way}}");
    let words = "config.yaml: line 3, column 39: authentication.anonymous.enabled: expected true or false";
    assert!(error.contains(words), "{error}");
    assert!(!error.contains("/no/such/kubelet.conf"), "it went on: {error}");
}

#[test]
fn a_field_that_is_not_one_is_reported_with_its_file_and_does_not_stop_the_node() {
    let error = answered("maxPod: 1");
    assert!(error.contains("config.yaml: unknown field") && error.contains("maxPod"), "{error}");
    assert!(error.contains("/no/such/kubelet.conf"), "it went no further: {error}");
}

#[test]
fn without_its_kubeconfig_it_says_which_file_is_missing() {
    let folder = scratch();
    let mut flags = in_folder(folder.path());
    flags.push("--kubeconfig=/no/such/kubelet.conf".to_owned());
    let error = refused(&flags);
    assert!(error.contains("/no/such/kubelet.conf"), "{error}");
}

#[test]
fn the_embedded_runtime_is_no_runtime_of_a_cluster() {
    let folder = scratch();
    let mut flags = in_folder(folder.path());
    flags.push("--kubeconfig=/no/such/kubelet.conf".to_owned());
    flags.push("--container-runtime-endpoint=embedded".to_owned());
    let error = refused(&flags);
    assert!(error.contains("loopback addresses") && error.contains("--kubeconfig"), "{error}");
}

#[test]
fn a_port_that_is_taken_is_named_with_its_flag() {
    let folder = scratch();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("it is bound").port();
    let mut flags = in_folder(folder.path());
    flags.push(format!("--port={port}"));
    let error = refused(&flags);
    assert!(error.contains(&format!("127.0.0.1:{port}")) && error.contains("--port"), "{error}");
}

#[test]
fn a_log_that_cannot_be_is_refused_in_upstreams_words() {
    let error = answered("logging: {format: json, vmodule: [{filePattern: a, verbosity: 1}]}");
    let words = "error: initialize logging: logging.vmodule: Forbidden: Only supported for text log format\n";
    assert_eq!(error, words);
}

#[test]
fn information_that_is_held_back_is_written_to_standard_output_at_the_end() {
    let folder = scratch();
    let fields = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nnoSuchField: 1\n\
                  featureGates: {LoggingAlphaOptions: true}\nlogging:\n  format: json\n  flushFrequency: 24h\n  \
                  options: {json: {splitStream: true, infoBufferSize: 64Mi}}\n";
    let config = write(folder.path(), "config.yaml", fields);
    let mut flags = in_folder(folder.path());
    flags.extend([format!("--config={}", config.display()), "--kubeconfig=/no/such/kubelet.conf".to_owned()]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_witlet"));
    let answer = run(command.arg("kubelet").args(flags).env_remove("RUST_LOG"));
    assert_eq!(answer.code, 1, "{}", answer.err);
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| panic!("{text}"));
    let information: Vec<Value> = answer.out.lines().map(json).collect();
    assert_eq!(information[0]["msg"], "Kubelet version", "{information:?}");
    assert!(information.iter().all(|line| line["v"].is_u64() && line["level"].is_null()), "{information:?}");
    let (log, error) = answer.err.split_once("error: ").expect("the error stands at the end");
    assert!(error.contains("/no/such/kubelet.conf"), "{error}");
    let warnings: Vec<Value> = log.lines().map(json).collect();
    let is_warning = |line: &Value| line["level"] == "warning" || line["v"].is_null();
    assert!(!warnings.is_empty() && warnings.iter().all(is_warning), "{warnings:?}");
    assert!(warnings.iter().any(|line| line.to_string().contains("noSuchField")), "{warnings:?}");
}
