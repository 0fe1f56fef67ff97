//! Tests of what containers see.

use super::*;
use crate::runtime::MountPropagation::{Bidirectional, HostToContainer, Private};

const VOLUMES: &str =
    "[{name: disk, emptyDir: {}}, {name: host, hostPath: {path: /x}}, {name: down, downwardAPI: {}},
                        {name: many, projected: {}}]";

struct Case {
    pod: Pod,
    has_address: bool,
    recursive_read_only: bool,
    selinux: bool,
}

fn case(mounts: &str, container: &str) -> Case {
    let yaml = format!(
        "{{spec: {{volumes: {VOLUMES}, containers: [{{name: a, volumeMounts: [{mounts}] {container}}}]}}}}"
    );
    let pod = serde_saphyr::from_str(&yaml).unwrap();
    Case { pod, has_address: false, recursive_read_only: false, selinux: false }
}

fn plan(case: &Case) -> Result<Vec<PlannedMount>, String> {
    let env = [("POD".to_owned(), "web-0".to_owned()), ("UP".to_owned(), "..".to_owned())];
    mounts(MountInput {
        pod: &case.pod,
        container: &case.pod.spec.as_ref().unwrap().containers[0],
        env: &env,
        has_address: case.has_address,
        recursive_read_only: case.recursive_read_only,
        selinux: case.selinux,
    })
    .map_err(|error| error.to_string())
}

fn one(mount: &str) -> Result<PlannedMount, String> {
    plan(&case(mount, "")).map(|mut mounts| mounts.remove(0))
}

#[test]
fn mounts_come_in_the_specs_order_before_the_hosts_file_and_the_message() {
    let mut case = case(
        "{name: host, mountPath: /h}, {name: disk, mountPath: d, subPath: s}",
        ", terminationMessagePath: /dev/message",
    );
    let places = |case: &Case| -> Vec<(MountSource, PathBuf)> {
        plan(case).unwrap().into_iter().map(|mount| (mount.source, mount.container_path)).collect()
    };
    let sub_path = SubPath { volume: "disk".into(), container: "a".into(), index: 1, path: "s".into() };
    let volumes = [
        (MountSource::Volume("host".into()), PathBuf::from("/h")),
        (MountSource::SubPath(sub_path), PathBuf::from("/d")),
    ];
    let message = [(MountSource::TerminationLog, PathBuf::from("/dev/message"))];
    let hosts = [(MountSource::HostsFile, PathBuf::from("/etc/hosts"))];
    assert_eq!(places(&case), [&volumes[..], &message].concat());
    case.has_address = true;
    assert_eq!(places(&case), [&volumes[..], &hosts, &message].concat());
}

#[test]
fn a_container_that_mounts_its_own_hosts_file_keeps_it() {
    let mut own = case("{name: host, mountPath: /etc/hosts}", "");
    own.has_address = true;
    let sources: Vec<MountSource> = plan(&own).unwrap().into_iter().map(|mount| mount.source).collect();
    assert_eq!(sources, [MountSource::Volume("host".into())]);
    let mut other = case("{name: host, mountPath: /etc}", "");
    other.has_address = true;
    assert_eq!(plan(&other).unwrap().len(), 2);
}

#[test]
fn an_empty_message_path_mounts_nothing() {
    assert_eq!(plan(&case("", ", terminationMessagePath: ''")), Ok(vec![]));
    assert_eq!(plan(&case("", "")), Ok(vec![]));
}

#[test]
fn volumes_that_the_agent_writes_are_read_only_whatever_the_mount_says() {
    for (name, asked, read_only) in [
        ("disk", false, false),
        ("disk", true, true),
        ("host", false, false),
        ("host", true, true),
        ("down", false, true),
        ("many", false, true),
    ] {
        let mount = one(&format!("{{name: {name}, mountPath: /v, readOnly: {asked}}}")).unwrap();
        assert_eq!((mount.read_only, mount.recursive_read_only), (read_only, false), "{name} {asked}");
    }
}

#[test]
fn propagation_is_as_the_mount_says() {
    for (mode, expected) in [
        ("None", Ok(Private)),
        ("HostToContainer", Ok(HostToContainer)),
        ("Bidirectional", Ok(Bidirectional)),
        ("Sideways", Err("invalid MountPropagation mode: \"Sideways\"".to_owned())),
    ] {
        let mount = one(&format!("{{name: disk, mountPath: /v, mountPropagation: {mode}}}"));
        assert_eq!(mount.map(|mount| mount.propagation), expected);
    }
    assert_eq!(one("{name: disk, mountPath: /v}").unwrap().propagation, Private);
}

#[test]
fn recursive_read_only_needs_a_read_only_private_mount_and_a_runtime_that_can() {
    const RRO: &str = "failed to resolve recursive read-only mode";
    let refused = |problem: &str| {
        Err(format!("{RRO}: volume \"disk\" requested recursive read-only mode, but it is {problem}"))
    };
    for (fields, can, expected) in [
        ("readOnly: true", true, Ok(false)),
        ("readOnly: true, recursiveReadOnly: Disabled", true, Ok(false)),
        ("recursiveReadOnly: Disabled", false, Ok(false)),
        ("readOnly: true, recursiveReadOnly: IfPossible", false, Ok(false)),
        ("readOnly: true, recursiveReadOnly: IfPossible", true, Ok(true)),
        ("readOnly: true, recursiveReadOnly: Enabled", true, Ok(true)),
        ("readOnly: true, recursiveReadOnly: Enabled", false, refused("not supported by the runtime")),
        ("recursiveReadOnly: Enabled", true, refused("not read-only")),
        ("recursiveReadOnly: IfPossible", false, refused("not read-only")),
        ("readOnly: true, recursiveReadOnly: Enabled, mountPropagation: None", true, Ok(true)),
        (
            "readOnly: true, recursiveReadOnly: IfPossible, mountPropagation: HostToContainer",
            true,
            refused("not compatible with propagation \"HostToContainer\""),
        ),
        (
            "readOnly: true, recursiveReadOnly: Maybe",
            true,
            Err(format!("{RRO}: unknown recursive read-only mode \"Maybe\"")),
        ),
    ] {
        let mut case = case(&format!("{{name: disk, mountPath: /v, {fields}}}"), "");
        case.recursive_read_only = can;
        let found = plan(&case).map(|mounts| mounts[0].recursive_read_only);
        assert_eq!(found, expected, "{fields} {can}");
    }
}

#[test]
fn sub_paths_are_expanded_and_stay_below_the_volume() {
    let problem = |path: &str, problem: &str| Err(format!("unable to provision SubPath `{path}`: {problem}"));
    let absolute = |path: &str| Err(format!("error SubPath `{path}` must not be an absolute path"));
    let ok = |path: &str| Ok(Some(PathBuf::from(path)));
    for (field, expected) in [
        ("subPath: a/b", ok("a/b")),
        ("subPath: ''", Ok(None)),
        // Only the expression has variables.
        ("subPath: $(POD)", ok("$(POD)")),
        ("subPathExpr: logs/$(POD)", ok("logs/web-0")),
        ("subPathExpr: ''", Ok(None)),
        ("subPath: /a", absolute("/a")),
        ("subPath: a/../b", problem("a/../b", "must not contain '..'")),
        ("subPathExpr: /$(POD)", absolute("/web-0")),
        ("subPathExpr: $(UP)/x", problem("../x", "must not contain '..'")),
        ("subPath: \"a\\0b\"", problem("a\0b", "must not contain a zero byte")),
        ("subPathExpr: $(UNSET)", Err("missing value for UNSET".to_owned())),
    ] {
        let found = one(&format!("{{name: disk, mountPath: /v, {field}}}")).map(|mount| match mount.source {
            MountSource::SubPath(sub_path) => Some(sub_path.path),
            MountSource::Volume(_) => None,
            other @ (MountSource::HostsFile | MountSource::TerminationLog) => panic!("{other:?}"),
        });
        assert_eq!(found, expected, "{field}");
    }
}

#[test]
fn a_mount_of_a_volume_that_is_not_there_is_refused() {
    let expected = Err("cannot find volume \"gone\" to mount into container \"a\"".to_owned());
    assert_eq!(one("{name: gone, mountPath: /v}"), expected);
}

#[test]
fn selinux_labels_what_is_the_pods_own() {
    let mounts = "{name: disk, mountPath: /d}, {name: host, mountPath: /h}, {name: down, mountPath: /w}";
    let mut case = case(mounts, ", terminationMessagePath: /m");
    case.has_address = true;
    let labels = |case: &Case| -> Vec<bool> {
        plan(case).unwrap().into_iter().map(|mount| mount.selinux_relabel).collect()
    };
    assert_eq!(labels(&case), [false; 5]);
    case.selinux = true;
    assert_eq!(labels(&case), [true, false, true, true, true]);
}

#[test]
fn a_planned_mount_becomes_one_at_its_place() {
    let mount = one("{name: disk, mountPath: /v, readOnly: true}").unwrap().at("/on/host".into());
    assert_eq!(
        mount,
        Mount {
            container_path: "/v".into(),
            host_path: "/on/host".into(),
            read_only: true,
            recursive_read_only: false,
            propagation: Private,
            selinux_relabel: false,
        }
    );
}
