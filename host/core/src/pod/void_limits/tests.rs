//! Which limits are void.

use super::*;

#[test]
fn sizes_on_disk_and_ephemeral_storage_are_void_and_nothing_else() {
    let size = r#"emptyDir.sizeLimit of volume "v""#;
    let storage = |name: &str| format!("limits.ephemeral-storage of container {name:?}");
    let none = String::new();
    for (spec, void) in [
        ("{containers: [{name: a}]}", none.clone()),
        ("{containers: [], volumes: [{name: v, emptyDir: {}}]}", none.clone()),
        ("{containers: [], volumes: [{name: v, emptyDir: {sizeLimit: '0'}}]}", none.clone()),
        ("{containers: [], volumes: [{name: v, emptyDir: {sizeLimit: 1Gi, medium: Memory}}]}", none.clone()),
        ("{containers: [], volumes: [{name: v, emptyDir: {sizeLimit: 1Gi}}]}", size.to_owned()),
        ("{containers: [{name: a, resources: {limits: {cpu: 1}}}]}", none),
        ("{containers: [{name: a, resources: {limits: {ephemeral-storage: 1Gi}}}]}", storage("a")),
        (
            "{containers: [{name: a, resources: {limits: {ephemeral-storage: 1Gi}}}],
              initContainers: [{name: i, resources: {limits: {ephemeral-storage: 1Gi}}}],
              volumes: [{name: v, emptyDir: {sizeLimit: 1Gi}}]}",
            format!("{size}, {}, {}", storage("i"), storage("a")),
        ),
    ] {
        let mut pod = Pod { spec: Some(serde_saphyr::from_str(spec).unwrap()), ..Pod::default() };
        assert_eq!(message(&pod), None, "it may be evicted: {spec}");
        let source =
            |source: &str| Some([("kubernetes.io/config.source".to_owned(), source.to_owned())].into());
        pod.metadata.annotations = source("compose");
        assert_eq!(message(&pod), None, "a plugin's pods may be evicted: {spec}");
        pod.metadata.annotations = source("file");
        let expected = (!void.is_empty())
            .then(|| format!("Not enforced, because critical pods are never evicted: {void}"));
        assert_eq!(message(&pod), expected, "{spec}");
    }
}
