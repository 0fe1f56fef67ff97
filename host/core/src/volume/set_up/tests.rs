//! Tests of which volumes are set up, and how each kind is.

use k8s_openapi::api::core::v1::Pod;

use super::*;
use crate::node::NodeFacts;

fn of(yaml: &str) -> Result<Vec<VolumeSetUp>, String> {
    let pod: Pod = serde_saphyr::from_str(yaml).unwrap();
    set_ups(PodFields { pod: &pod, pod_ips: &[], node: &NodeFacts::default() })
        .map_err(|error| error.to_string())
}

fn one(volume: &str, pod: &str) -> Result<VolumeSetUp, String> {
    let yaml = format!(
        "{{spec: {{volumes: [{{name: v, {volume}}}], {pod}
                   containers: [{{name: a, volumeMounts: [{{name: v, mountPath: /v}}]}}]}}}}"
    );
    of(&yaml).map(|mut volumes| volumes.remove(0))
}

#[test]
fn only_what_a_container_mounts_is_set_up() {
    let volumes = of("
      spec:
        volumes: [{name: nobodys, hostPath: {path: /x}}, {name: apps, emptyDir: {}}, {name: inits, emptyDir: {}},
                  {name: debuggers, emptyDir: {}}]
        initContainers: [{name: i, volumeMounts: [{name: inits, mountPath: /v}]}]
        containers: [{name: a, volumeMounts: [{name: apps, mountPath: /v}, {name: apps, mountPath: /w}]}]
        ephemeralContainers: [{name: e, volumeMounts: [{name: debuggers, mountPath: /v}]}]");
    let names: Vec<String> = volumes.unwrap().into_iter().map(|volume| volume.name).collect();
    assert_eq!(names, ["apps", "inits", "debuggers"]);
    assert_eq!(of("{}"), Ok(vec![]));
}

#[test]
fn a_volume_without_a_source_is_an_empty_folder() {
    let expected = VolumeSetUp { name: "v".to_owned(), kind: VolumeKind::EmptyDir, ownership: None };
    assert_eq!(one("", ""), Ok(expected.clone()));
    assert_eq!(one("emptyDir: {}", ""), Ok(expected));
}

#[test]
fn each_host_path_type_has_its_check() {
    use HostPathCheck::*;
    for (kind, check) in [
        ("", Unset),
        ("DirectoryOrCreate", DirectoryOrCreate),
        ("Directory", Directory),
        ("FileOrCreate", FileOrCreate),
        ("File", File),
        ("Socket", Socket),
        ("CharDevice", CharDevice),
        ("BlockDevice", BlockDevice),
    ] {
        let volume = one(&format!("hostPath: {{path: /x, type: '{kind}'}}"), "").unwrap();
        assert_eq!(volume.kind, VolumeKind::HostPath { path: "/x".into(), check });
    }
    let unset = one("hostPath: {path: /x}", "").unwrap();
    assert_eq!(unset.kind, VolumeKind::HostPath { path: "/x".into(), check: Unset });
    let wrong = one("hostPath: {path: /x, type: Door}", "");
    assert_eq!(wrong, Err("volume v: \"Door\" is an invalid volume type".to_owned()));
    let climbing = one("hostPath: {path: /x/../y}", "");
    assert_eq!(climbing, Err("volume v: invalid HostPath `/x/../y`: must not contain '..'".to_owned()));
}

#[test]
fn the_pods_group_owns_what_is_the_pods_and_not_what_is_the_hosts() {
    let group = "securityContext: {fsGroup: 2000, fsGroupChangePolicy: OnRootMismatch},";
    let own = |read_only| Some(Ownership { gid: 2000, on_root_mismatch: false, read_only });
    for (volume, ownership) in [
        ("emptyDir: {}", own(false)),
        ("emptyDir: {medium: Memory}", own(false)),
        ("downwardAPI: {}", own(true)),
        ("projected: {}", own(true)),
        ("hostPath: {path: /x}", None),
    ] {
        assert_eq!(one(volume, group).unwrap().ownership, ownership, "{volume}");
        assert_eq!(one(volume, "").unwrap().ownership, None, "{volume}");
    }
    let wrong = one("emptyDir: {}", "securityContext: {fsGroup: -1},");
    assert_eq!(wrong, Err("fsGroup -1 is not a group id".to_owned()));
}

#[test]
fn kinds_that_are_not_done_are_refused_by_name() {
    for (source, kind) in [
        ("secret: {secretName: s}", "secret"),
        ("configMap: {name: c}", "configMap"),
        ("persistentVolumeClaim: {claimName: c}", "persistentVolumeClaim"),
        ("nfs: {server: s, path: /}", "nfs"),
        ("csi: {driver: d}", "csi"),
        ("image: {reference: r}", "image"),
        ("ephemeral: {}", "ephemeral"),
    ] {
        let expected = Err(format!("volume v: {kind} volumes are not supported by this release"));
        assert_eq!(one(source, ""), expected);
    }
}
