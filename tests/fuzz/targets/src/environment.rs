//! A container's environment, `$(VAR)` in its texts and paths, and files of variables: `host/core`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use k8s_openapi::api::core::v1::{Container, EnvVar, Pod, PodSpec, Volume, VolumeMount};
use witlet_core::container::spec::{
    ContainerInput, Host, ImageFacts, Objects, container_spec, env_file, expand_variables,
};
use witlet_core::node::NodeFacts;
use witlet_core::volume::{MountInput, MountSource, mounts};

use crate::{Target, check_message, split_at_line};

pub(crate) const TARGET: Target = Target {
    name: "environment",
    run,
    words: &[
        "$(",
        "$(A)",
        "$$(A)",
        "$$",
        "$",
        ")",
        "(",
        "A=",
        "B=$(A)",
        "C=$(B)$(B)$(B)$(B)",
        "$(A)/$(B)",
        "../",
        "/",
        "--args\n",
        "--file\n",
        "A='b'\n",
        "A= 'b'",
        "# c",
        "'",
        "\r\n",
        "\r",
        "A ='b'",
    ],
};

/// Bytes of one text after expansion, and of a path (Linux).
const TEXT_BYTES_MAX: usize = 128 * 1024;

/// Lines `NAME=VALUE`, then arguments a line each, then a file of variables.
fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (text, file) = split_at_line(&text, "--file");
    let (variables, args) = split_at_line(text, "--args");
    let env: Vec<EnvVar> = variables.lines().filter_map(|line| line.split_once('=')).map(variable).collect();
    let args: Vec<String> = args.lines().map(str::to_owned).collect();
    check_expansion(&env, &args);
    check_container(&env, &args);
    check_paths(&env, &args);
    check_file(file);
}

fn variable((name, value): (&str, &str)) -> EnvVar {
    EnvVar { name: name.to_owned(), value: Some(value.to_owned()), value_from: None }
}

fn container(env: &[EnvVar], args: &[String]) -> Container {
    Container {
        name: "main".to_owned(),
        env: Some(env.to_vec()),
        args: Some(args.to_vec()),
        ..Container::default()
    }
}

/// The rule of upstream's expansion, letter by letter.
fn expanded(text: &str, values: &BTreeMap<&str, &str>) -> String {
    let letters: Vec<char> = text.chars().collect();
    let (mut out, mut at) = (String::new(), 0);
    // Where the next parenthesis closes, from behind, so that this stays fast.
    let mut closes = vec![None; letters.len() + 1];
    for index in (0..letters.len()).rev() {
        closes[index] = if letters[index] == ')' { Some(index) } else { closes[index + 1] };
    }
    while at < letters.len() {
        let next = letters.get(at + 1);
        match (letters[at], next) {
            ('$', Some('$')) => {
                out.push('$');
                at += 2;
            }
            ('$', Some('(')) if closes[at + 2].is_some() => {
                let end = closes[at + 2].unwrap_or(at);
                let name: String = letters[at + 2..end].iter().collect();
                match values.get(name.as_str()) {
                    Some(value) => out.push_str(value),
                    None => out.push_str(&format!("$({name})")),
                }
                at = end + 1;
            }
            (letter, _) => {
                out.push(letter);
                at += 1;
            }
        }
    }
    out
}

fn check_expansion(env: &[EnvVar], args: &[String]) {
    let values: BTreeMap<&str, &str> = env
        .iter()
        .map(|variable| (variable.name.as_str(), variable.value.as_deref().unwrap_or_default()))
        .collect();
    for text in args {
        let expected = expanded(text, &values);
        match expand_variables(text, |name| values.get(name).copied()) {
            Ok(found) => assert_eq!(found, expected, "{text:?} with {values:?}"),
            Err(_) => assert!(expected.len() > TEXT_BYTES_MAX, "{text:?} is refused"),
        }
    }
}

fn check_container(env: &[EnvVar], args: &[String]) {
    let (pod, container, node) = (Pod::default(), container(env, args), NodeFacts::default());
    let input = ContainerInput {
        pod: &pod,
        container: &container,
        restart_count: 0,
        image: ImageFacts::default(),
        pod_ips: &[],
        mounts: &[],
        devices: &[],
        pid_target: None,
        objects: Objects::default(),
        host: Host::new(&node, Path::new("/seccomp")),
    };
    let found = match container_spec(input) {
        Ok(found) => found,
        Err(error) => {
            return check_message(
                &error.to_string(),
                2 * env.iter().map(|e| e.name.len()).max().unwrap_or(0),
            );
        }
    };
    let names: BTreeSet<&str> = found.env.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), found.env.len(), "each name is there once");
    assert_eq!(names, env.iter().map(|variable| variable.name.as_str()).collect());
    let values: BTreeMap<&str, &str> =
        found.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let expected: Vec<String> = args.iter().map(|text| expanded(text, &values)).collect();
    assert_eq!(found.args, expected);
}

/// A path below a volume never leads out of it.
fn check_paths(env: &[EnvVar], args: &[String]) {
    let env: Vec<(String, String)> = env
        .iter()
        .map(|variable| (variable.name.clone(), variable.value.clone().unwrap_or_default()))
        .collect();
    let volume = Volume { name: "data".to_owned(), ..Volume::default() };
    let spec = PodSpec { volumes: Some(vec![volume]), ..PodSpec::default() };
    let pod = Pod { spec: Some(spec), ..Pod::default() };
    for (at, path) in args.iter().enumerate() {
        let (expr, plain) = if at % 2 == 0 { (Some(path.clone()), None) } else { (None, Some(path.clone())) };
        let mount = VolumeMount {
            name: "data".to_owned(),
            mount_path: "/data".to_owned(),
            sub_path_expr: expr,
            sub_path: plain,
            ..VolumeMount::default()
        };
        let container =
            Container { name: "main".to_owned(), volume_mounts: Some(vec![mount]), ..Container::default() };
        let input = MountInput {
            pod: &pod,
            container: &container,
            env: &env,
            has_address: false,
            recursive_read_only: false,
            selinux: false,
        };
        match mounts(input) {
            Ok(planned) => planned.iter().for_each(|mount| check_sub_path(&mount.source, path.len())),
            // A path of the pod's own is reported as it stands, as upstream does.
            Err(error) => check_message(&error.to_string(), 2 * path.len()),
        }
    }
}

/// Only what is expanded has a bound of its own.
fn check_sub_path(source: &MountSource, written: usize) {
    let MountSource::SubPath(sub_path) = source else { return };
    let is_below = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    assert!(sub_path.path.components().all(is_below), "{} leads out of the volume", sub_path.path.display());
    assert!(sub_path.path.as_os_str().len() <= written.max(4096));
}

/// The last value that a file is asked for is found as it was written, whatever stands before it.
fn check_file(file: &str) {
    let before = env_file::value_of(file, "DESIRED");
    assert_eq!(before, env_file::value_of(file, "DESIRED"));
    if env_file::value_of(file, "NO SUCH NAME") == Ok(None) && before == Ok(None) {
        let end = if file.is_empty() || file.ends_with('\n') { "" } else { "\n" };
        for last in ["", "\n", "\r\n", "\r", " # a comment"] {
            let longer = format!("{file}{end}DESIRED='a\nb'{last}");
            assert_eq!(env_file::value_of(&longer, "DESIRED"), Ok(Some("a\nb".to_owned())), "{longer:?}");
        }
    }
}
