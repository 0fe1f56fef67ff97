//! Tests of which volumes are set up, and how each kind is.

use k8s_openapi::api::core::v1::Pod;

use super::*;
use crate::node::NodeFacts;

fn of(yaml: &str) -> Result<Vec<VolumeSetUp>, String> {
    let pod: Pod = serde_saphyr::from_str(yaml).unwrap();
    let fields = PodFields { pod: &pod, pod_ips: &[], node: &NodeFacts::default() };
    let desired = set_ups(fields, &ReferencedObjects::default());
    desired.into_iter().map(|desired| desired.set_up.map_err(|error| error.to_string())).collect()
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
        volumes: [{name: unused, hostPath: {path: /x}}, {name: apps, emptyDir: {}}, {name: inits, emptyDir: {}},
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
    let wrong = one("hostPath: {path: /x, type: Gate}", "");
    assert_eq!(wrong, Err("volume v: \"Gate\" is an invalid volume type".to_owned()));
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
        ("configMap: {name: c, optional: true}", own(true)),
        ("secret: {secretName: s, optional: true}", own(true)),
        ("hostPath: {path: /x}", None),
    ] {
        assert_eq!(one(volume, group).unwrap().ownership, ownership, "{volume}");
        assert_eq!(one(volume, "").unwrap().ownership, None, "{volume}");
    }
    let wrong = one("emptyDir: {}", "securityContext: {fsGroup: -1},");
    assert_eq!(wrong, Err("fsGroup -1 is not a group id".to_owned()));
}

#[test]
fn a_volume_that_can_not_be_is_reported_next_to_those_that_can() {
    let pod: Pod = serde_saphyr::from_str(
        "{spec: {volumes: [{name: a, configMap: {name: gone}}, {name: b, emptyDir: {}}, {name: c, nfs: {server: s, path: /}}],
                 containers: [{name: x, volumeMounts: [{name: a, mountPath: /a}, {name: b, mountPath: /b},
                                                       {name: c, mountPath: /c}]}]}}",
    )
    .unwrap();
    let fields = PodFields { pod: &pod, pod_ips: &[], node: &NodeFacts::default() };
    let desired = set_ups(fields, &ReferencedObjects::default());
    let rows: Vec<(&str, Option<String>, bool)> = desired
        .iter()
        .map(|desired| {
            let error = desired.set_up.as_ref().err();
            let about_content = error.is_some_and(VolumeSpecError::is_about_content);
            (desired.name.as_str(), error.map(ToString::to_string), about_content)
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("a", Some("configmap \"gone\" not found".to_owned()), true),
            ("b", None, false),
            ("c", Some("volume c: nfs volumes are not supported by this release".to_owned()), false),
        ]
    );
}

#[test]
fn a_volume_has_another_fingerprint_as_soon_as_anything_of_it_differs() {
    let file = |path: &str, content: &str, mode, owner| crate::volume::VolumeFile {
        path: path.into(),
        content: content.into(),
        mode,
        owner,
    };
    let of = |files, medium| VolumeSetUp {
        name: "v".to_owned(),
        kind: VolumeKind::Files { plugin: "p", files, medium },
        ownership: None,
    };
    use crate::volume::FilesMedium::{Disk, Memory};
    let all = [
        of(vec![], Disk),
        of(vec![], Memory { size_bytes: None, is_secret: false }),
        of(vec![file("a", "b", 0o644, None)], Disk),
        of(vec![file("ab", "", 0o644, None)], Disk),
        of(vec![file("", "ab", 0o644, None)], Disk),
        of(vec![file("a", "b", 0o600, None)], Disk),
        of(vec![file("a", "b", 0o644, Some(1))], Disk),
        VolumeSetUp { name: "w".to_owned(), ..of(vec![], Disk) },
        VolumeSetUp { kind: VolumeKind::EmptyDir, ..of(vec![], Disk) },
        VolumeSetUp {
            ownership: Some(Ownership { gid: 1, on_root_mismatch: false, read_only: true }),
            ..of(vec![], Disk)
        },
    ];
    for (i, one) in all.iter().enumerate() {
        for (j, other) in all.iter().enumerate() {
            assert_eq!(one.fingerprint() == other.fingerprint(), i == j, "{one:?} {other:?}");
        }
    }
}

#[test]
fn kinds_that_are_not_done_are_refused_by_name() {
    for (source, kind) in [
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
