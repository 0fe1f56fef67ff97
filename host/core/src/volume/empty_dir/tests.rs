//! Tests of `emptyDir`: media, sizes and pages.

use super::*;
use crate::node::NodeFacts;

const GIB: u64 = 1 << 30;

fn pod(yaml: &str) -> Pod {
    serde_saphyr::from_str(yaml).unwrap()
}

fn kind_of(pod: &Pod, medium: &str, size_limit: Option<&str>) -> Result<VolumeKind, String> {
    let source = EmptyDirVolumeSource {
        medium: Some(medium.to_owned()),
        size_limit: size_limit.map(|limit| Quantity(limit.to_owned())),
    };
    let status = "{status: {allocatable: {memory: 4Gi}}}";
    let node = NodeFacts { node: serde_saphyr::from_str(status).unwrap(), ..NodeFacts::default() };
    kind(PodFields { pod, pod_ips: &[], node: &node }, "v", &source).map_err(|error| error.to_string())
}

#[test]
fn a_volume_in_memory_is_as_large_as_the_smallest_limit() {
    let unlimited = pod("{spec: {containers: [{name: a}]}}");
    let limited = pod("{spec: {containers: [{name: a, resources: {limits: {memory: 2Gi}}}]}}");
    let half = pod("{spec: {containers: [{name: a, resources: {limits: {memory: 1Gi}}}, {name: b}]}}");
    let both = pod("{spec: {containers: [{name: a, resources: {limits: {memory: 1Gi}}},
                                         {name: b, resources: {limits: {memory: 512Mi}}}]}}");
    let init = pod("{spec: {initContainers: [{name: i}],
                            containers: [{name: a, resources: {limits: {memory: 1Gi}}}]}}");
    let whole = pod("{spec: {resources: {limits: {memory: 3Gi}}, containers: [{name: a}]}}");
    let huge = pod("{spec: {containers: [{name: a, resources: {limits: {memory: 64Gi}}}]}}");
    for (pod, size_limit, expected) in [
        (&unlimited, None, 4 * GIB),
        (&unlimited, Some("1Gi"), GIB),
        (&unlimited, Some("5Gi"), 4 * GIB),
        (&unlimited, Some("0"), 4 * GIB),
        (&unlimited, Some("-1"), 4 * GIB),
        (&limited, None, 2 * GIB),
        (&limited, Some("1Gi"), GIB),
        (&limited, Some("3Gi"), 2 * GIB),
        (&limited, Some("2Gi"), 2 * GIB),
        // One container without a limit: the pod has none.
        (&half, None, 4 * GIB),
        (&init, None, 4 * GIB),
        (&both, None, GIB + GIB / 2),
        (&whole, None, 3 * GIB),
        (&huge, None, 4 * GIB),
    ] {
        let expected = Ok(VolumeKind::Tmpfs { size_bytes: Some(expected) });
        assert_eq!(kind_of(pod, "Memory", size_limit), expected, "{size_limit:?} {pod:?}");
    }
    let source = EmptyDirVolumeSource { medium: Some("Memory".to_owned()), size_limit: None };
    let fields = PodFields { pod: &unlimited, pod_ips: &[], node: &NodeFacts::default() };
    let unknown = kind(fields, "v", &source).unwrap();
    assert_eq!(unknown, VolumeKind::Tmpfs { size_bytes: None });
}

#[test]
fn huge_pages_are_of_the_size_that_containers_ask_for() {
    let request = |size: &str| format!("{{limits: {{memory: 1Gi}}, requests: {{hugepages-{size}: 4Mi}}}}");
    let none = pod("{spec: {containers: [{name: a}]}}");
    let two = pod(&format!("{{spec: {{containers: [{{name: a, resources: {}}}]}}}}", request("2Mi")));
    let init = pod(&format!(
        "{{spec: {{initContainers: [{{name: i, resources: {}}}], containers: [{{name: a}}]}}}}",
        request("1Gi")
    ));
    let whole = pod(&format!("{{spec: {{resources: {}, containers: [{{name: a}}]}}}}", request("2Mi")));
    let several = pod(&format!(
        "{{spec: {{containers: [{{name: a, resources: {}}}, {{name: b, resources: {}}}]}}}}",
        request("2Mi"),
        request("1Gi")
    ));
    let pages = |page_bytes| Ok(VolumeKind::HugePages { page_bytes });
    let missing = |medium: &str| {
        Err(format!(
            "volume v: medium {medium}: huge pages requested, but there is no resource request for huge pages"
        ))
    };
    let conflict =
        Err("volume v: medium HugePages can't be used if containers request several sizes of huge pages"
            .to_owned());
    for (pod, medium, expected) in [
        (&two, "HugePages", pages(2 << 20)),
        (&two, "HugePages-2Mi", pages(2 << 20)),
        (&two, "HugePages-1Gi", missing("HugePages-1Gi")),
        (&init, "HugePages", pages(GIB)),
        (&init, "HugePages-1Gi", pages(GIB)),
        (&whole, "HugePages", pages(2 << 20)),
        (&several, "HugePages", conflict),
        (&several, "HugePages-1Gi", pages(GIB)),
        (&several, "HugePages-2Mi", pages(2 << 20)),
        (&none, "HugePages", missing("HugePages")),
        (&none, "HugePages-2Mi", missing("HugePages-2Mi")),
        (&two, "HugePages-", Err("volume v: unknown storage medium \"HugePages-\"".to_owned())),
        (&two, "HugePages-x", Err("volume v: unknown storage medium \"HugePages-x\"".to_owned())),
    ] {
        assert_eq!(kind_of(pod, medium, None), expected, "{medium} {pod:?}");
    }
}

#[test]
fn a_medium_or_a_size_that_is_none_is_refused() {
    let pod = pod("{spec: {containers: [{name: a}]}}");
    assert_eq!(kind_of(&pod, "", Some("1Gi")), Ok(VolumeKind::EmptyDir));
    assert_eq!(kind_of(&pod, "Disk", None), Err("volume v: unknown storage medium \"Disk\"".to_owned()));
    let problem = "volume v: sizeLimit \"much\" is not a quantity".to_owned();
    assert_eq!(kind_of(&pod, "Memory", Some("much")), Err(problem));
}
