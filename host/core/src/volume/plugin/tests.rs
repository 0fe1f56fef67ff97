//! What volumes are called.

use serde_json::json;

use super::*;

#[test]
fn volumes_that_are_mounted_have_upstreams_names() {
    let kinds = [
        ("scratch", json!({"emptyDir": {}}), "kubernetes.io/empty-dir"),
        ("ram", json!({"emptyDir": {"medium": "Memory"}}), "kubernetes.io/empty-dir"),
        ("nothing", json!({}), "kubernetes.io/empty-dir"),
        ("files", json!({"configMap": {"name": "c"}}), "kubernetes.io/configmap"),
        ("key", json!({"secret": {"secretName": "s"}}), "kubernetes.io/secret"),
        ("fields", json!({"downwardAPI": {}}), "kubernetes.io/downward-api"),
        ("token", json!({"projected": {"sources": []}}), "kubernetes.io/projected"),
        ("host", json!({"hostPath": {"path": "/"}}), "kubernetes.io/host-path"),
    ];
    let mut volumes = vec![json!({"name": "unused", "emptyDir": {}})];
    let mut mounts = Vec::new();
    for (name, source, _) in &kinds {
        let mut volume = source.clone();
        volume["name"] = json!(name);
        volumes.push(volume);
        mounts.push(json!({"name": name, "mountPath": format!("/{name}")}));
    }
    let container = json!({"name": "app", "volumeMounts": mounts});
    let spec = json!({"containers": [container], "volumes": volumes});
    let spec: PodSpec = serde_json::from_value(spec).expect("a spec");
    let expected = kinds.map(|(name, _, plugin)| (name.to_owned(), plugin));
    assert_eq!(mounted_plugins(&spec), expected);
}
