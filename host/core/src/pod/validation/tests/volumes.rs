//! Volumes and their mounts.

use super::*;

fn volume_fields(source: Value) -> Vec<String> {
    let mut volume = json!({"name": "v"});
    if let (Some(volume), Value::Object(source)) = (volume.as_object_mut(), source) {
        volume.extend(source);
    }
    let found = fields(json!({"volumes": [volume]}));
    found.into_iter().map(|field| field.replace("spec.volumes[0].", "")).collect()
}

#[test]
fn volumes_have_a_name_of_their_own_and_one_source() {
    let named = |names: &[&str]| {
        let volumes: Vec<_> = names.iter().map(|name| json!({"name": name})).collect();
        fields(json!({"volumes": volumes}))
    };
    assert_eq!(named(&["a", "b-1"]), [""; 0]);
    let expected = ["spec.volumes[0].name", "spec.volumes[1].name", "spec.volumes[3].name"];
    assert_eq!(named(&["", "A", "a", "a"]), expected);
    let two = json!({"emptyDir": {}, "hostPath": {"path": "/x"}});
    assert_eq!(volume_fields(two), ["spec.volumes[0]"]);
}

#[test]
fn sources_are_checked() {
    let item = |path: &str, field: &str| json!({"path": path, "fieldRef": {"fieldPath": field}});
    let files = |items: Vec<Value>| json!({"downwardAPI": {"items": items}});
    let cases = [
        (json!({"emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}), vec![]),
        (json!({"emptyDir": {"medium": "HugePages"}}), vec![]),
        (json!({"emptyDir": {"medium": "HugePages-2Mi"}}), vec![]),
        (json!({"emptyDir": {"medium": "HugePages-much"}}), vec!["emptyDir.medium"]),
        (json!({"emptyDir": {"medium": "Disk"}}), vec!["emptyDir.medium"]),
        (json!({"emptyDir": {"medium": "Memory", "sizeLimit": "-1"}}), vec!["emptyDir.sizeLimit"]),
        (json!({"emptyDir": {"medium": "Memory", "sizeLimit": "much"}}), vec!["emptyDir.sizeLimit"]),
        (json!({"hostPath": {"path": "/x", "type": "DirectoryOrCreate"}}), vec![]),
        (json!({"hostPath": {"path": "/x", "type": "Folder"}}), vec!["hostPath.type"]),
        (json!({"hostPath": {"path": ""}}), vec!["hostPath.path"]),
        (json!({"hostPath": {"path": "/x/../y"}}), vec!["hostPath.path"]),
        (json!({"hostPath": {"path": "x"}}), vec!["hostPath.path"]),
        (files(vec![item("a/b", "metadata.name"), item("c", "metadata.labels")]), vec![]),
        (files(vec![item("a", "spec.nodeName")]), vec!["downwardAPI.items[0].fieldRef.fieldPath"]),
        (files(vec![item("/a", "metadata.name")]), vec!["downwardAPI.items[0].path"]),
        (files(vec![item("..a", "metadata.name")]), vec!["downwardAPI.items[0].path"]),
        (files(vec![item("a/../b", "metadata.name")]), vec!["downwardAPI.items[0].path"]),
        (
            files(vec![item("a", "metadata.uid"), item("a", "metadata.name")]),
            vec!["downwardAPI.items[1].path"],
        ),
        (files(vec![json!({"path": "a"})]), vec!["downwardAPI.items[0]"]),
        (
            files(vec![json!({"path": "a", "mode": 512, "resourceFieldRef": {"resource": "limits.cpu"}})]),
            vec!["downwardAPI.items[0].mode", "downwardAPI.items[0].resourceFieldRef.containerName"],
        ),
        (json!({"downwardAPI": {"defaultMode": 511}}), vec![]),
        (json!({"downwardAPI": {"defaultMode": -1}}), vec!["downwardAPI.defaultMode"]),
        (json!({"projected": {"sources": [files(vec![item("a", "metadata.name")])]}}), vec![]),
        (
            json!({"projected": {"defaultMode": 512, "sources": [
                files(vec![item("a", "metadata.name")]), files(vec![item("a", "metadata.uid")]),
            ]}}),
            vec!["projected.defaultMode", "projected.sources[1].downwardAPI.items[0].path"],
        ),
    ];
    for (source, expected) in cases {
        assert_eq!(volume_fields(source.clone()), expected, "{source}");
    }
}

#[test]
fn mounts_are_checked() {
    let of = |privileged: bool, mounts: Value| {
        let spec = json!({"volumes": [{"name": "v"}, {"name": "w"}]});
        let container = json!({"volumeMounts": mounts, "securityContext": {"privileged": privileged}});
        let found = container_fields_in(spec, container);
        found.into_iter().map(|field| field.replace("volumeMounts", "")).collect::<Vec<_>>()
    };
    let one = |more: Value| {
        let mut mount = json!({"name": "v", "mountPath": "/v"});
        if let (Some(mount), Value::Object(more)) = (mount.as_object_mut(), more) {
            mount.extend(more);
        }
        json!([mount])
    };
    let cases = [
        (json!({}), vec![]),
        (json!({"name": "x"}), vec!["[0].name"]),
        (json!({"name": ""}), vec!["[0].name"]),
        (json!({"mountPath": ""}), vec!["[0].mountPath"]),
        (json!({"subPath": "a/b"}), vec![]),
        (json!({"subPath": "/a"}), vec!["[0].subPath"]),
        (json!({"subPath": "a/../b"}), vec!["[0].subPath"]),
        (json!({"subPathExpr": "$(A)/b"}), vec![]),
        (json!({"subPathExpr": "../$(A)"}), vec!["[0].subPathExpr"]),
        (json!({"subPath": "a", "subPathExpr": "b"}), vec!["[0].subPathExpr"]),
        (json!({"mountPropagation": "HostToContainer"}), vec![]),
        (json!({"mountPropagation": "Both"}), vec!["[0].mountPropagation"]),
        (json!({"mountPropagation": "Bidirectional"}), vec!["[0].mountPropagation"]),
        (json!({"recursiveReadOnly": "Enabled", "readOnly": true}), vec![]),
        (json!({"recursiveReadOnly": "Disabled"}), vec![]),
        (json!({"recursiveReadOnly": "IfPossible"}), vec!["[0].recursiveReadOnly"]),
        (json!({"recursiveReadOnly": "x", "readOnly": true}), vec!["[0].recursiveReadOnly"]),
        (
            json!({"recursiveReadOnly": "Enabled", "readOnly": true, "mountPropagation": "HostToContainer"}),
            vec!["[0].recursiveReadOnly"],
        ),
    ];
    for (mount, expected) in cases {
        assert_eq!(of(false, one(mount.clone())), expected, "{mount}");
    }
    assert_eq!(of(true, one(json!({"mountPropagation": "Bidirectional"}))), [""; 0]);
    let at_one_place = json!([{"name": "v", "mountPath": "/v"}, {"name": "w", "mountPath": "/v"}]);
    assert_eq!(of(false, at_one_place), ["[1].mountPath"]);
    let twice = json!([{"name": "v", "mountPath": "/v"}, {"name": "v", "mountPath": "/w"}]);
    assert_eq!(of(false, twice), [""; 0]);
}
