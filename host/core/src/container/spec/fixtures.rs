//! Inputs of the tests of specs.

use std::path::Path;

use k8s_openapi::api::core::v1::{Container, Pod};

use super::{ContainerInput, Host, ImageFacts, Objects};
use crate::node::NodeFacts;

/// A node with 8 GB, two addresses, and huge pages of two sizes.
pub(super) fn node(cgroup_version: &str) -> NodeFacts {
    let node = serde_json::json!({"status": {
        "capacity": {"memory": "8G", "hugepages-2Mi": "0", "hugepages-1Gi": "0"},
        "allocatable": {"cpu": "4", "memory": "6G"},
    }});
    NodeFacts {
        name: "node-1".to_owned(),
        node: serde_json::from_value(node).unwrap(),
        addresses: vec!["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()],
        facts: [("cgroup.version".to_owned(), cgroup_version.to_owned())].into(),
        ..NodeFacts::default()
    }
}

pub(super) fn host(node: &NodeFacts) -> Host<'_> {
    Host::new(node, Path::new("/var/lib/witlet/seccomp"))
}

/// The first instance of a container that has nothing but its spec.
pub(super) fn input<'a>(pod: &'a Pod, container: &'a Container, host: Host<'a>) -> ContainerInput<'a> {
    ContainerInput {
        pod,
        container,
        restart_count: 0,
        image: ImageFacts { reference: "sha256:abc", ..ImageFacts::default() },
        pod_ips: &[],
        mounts: &[],
        devices: &[],
        pid_target: None,
        objects: Objects::default(),
        host,
    }
}
