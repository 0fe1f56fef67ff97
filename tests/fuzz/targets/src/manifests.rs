//! Manifests, and a folder of them seen time and again: the parser of `host/core`, the file source of `host/node`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use witlet_core::pod::static_pod::Origin;
use witlet_core::pod::{PodFullName, SourceName, validation};
use witlet_core::sources::manifest::workload::{self, Arrival};
use witlet_core::sources::manifest::{ManifestError, PODS_MAX, PROBLEMS_MAX, static_pods};
use witlet_node::file_source::{FileState, Folder, Listing};

use crate::{Target, check_message, split_at_line};

pub(crate) const TARGET: Target = Target {
    name: "manifests",
    run,
    words: &[
        "apiVersion: v1\n",
        "kind: Pod\n",
        "kind: PodList\n",
        "kind: List\n",
        "kind: Deployment\n",
        "apiVersion: apps/v1\n",
        "template:\n",
        "items:\n",
        "metadata:\n",
        "name: ",
        "namespace: ",
        "labels:\n",
        "annotations:\n",
        "spec:\n",
        "containers:\n",
        "initContainers:\n",
        "volumes:\n",
        "hostPath:\n",
        "emptyDir: {}",
        "configMap:\n",
        "image: busybox:1\n",
        "command: [sh]",
        "env:\n",
        "value: ",
        "valueFrom:\n",
        "ports:\n",
        "containerPort: 80",
        "hostPort: ",
        "livenessProbe:\n",
        "httpGet:\n",
        "exec:\n",
        "port: http",
        "resources:\n",
        "limits:\n",
        "cpu: 100m",
        "memory: 1Gi",
        "restartPolicy: Always",
        "hostNetwork: true",
        "tolerations:\n",
        "terminationGracePeriodSeconds: ",
        "subPathExpr: $(A)",
        "mountPath: /a",
        "volumeMounts:\n",
        "securityContext:\n",
        "runAsUser: ",
        "priority: ",
        "hostAliases:\n",
        "ip: 127.0.0.1",
        "hostnames: [a]",
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}",
        "---read\n",
    ],
};

/// The line that parts what a file holds first from what it holds later.
const LATER: &str = "---read";

fn run(data: &[u8]) {
    let read = read(data, "/manifests/a.yaml");
    assert_eq!(read, self::read(data, "/manifests/a.yaml"), "the same bytes are the same manifest");
    match read {
        Ok(pods) => {
            assert!(pods.len() <= PODS_MAX, "{} pods", pods.len());
            pods.iter().for_each(check_pod);
        }
        Err(error) => {
            assert!(
                (1..=PROBLEMS_MAX + 1).contains(&error.problems.len()),
                "{} problems",
                error.problems.len()
            );
            for problem in &error.problems {
                check_message(&problem.to_string(), 0);
            }
        }
    }
    objects(data);
    if let Ok(text) = std::str::from_utf8(data) {
        let (first, later) = split_at_line(text, LATER);
        folder(first.as_bytes(), later.as_bytes());
    }
}

/// What objects come to is valid, and each fault is said in a line.
fn objects(data: &[u8]) {
    let arrival =
        Arrival::Static(Origin { source: &SourceName::file(), place: "/a.yaml", node_name: "node-1" });
    let found = workload::pods(data, arrival);
    assert!(found.pods.len() <= PODS_MAX && found.problems.len() <= PROBLEMS_MAX + 1, "too many");
    for found in &found.pods {
        check_pod(&found.pod);
    }
    for problem in &found.problems {
        check_message(&problem.to_string(), 0);
    }
}

fn read(bytes: &[u8], place: &str) -> Result<Vec<Pod>, ManifestError> {
    static_pods(bytes, Origin { source: &SourceName::file(), place, node_name: "node-1" })
}

/// What is taken is valid, is this node's, and is the same when it is written and read again.
fn check_pod(pod: &Pod) {
    assert_eq!(validation::validate(pod), Vec::new());
    let written = serde_json::to_string(pod).expect("a pod becomes JSON");
    assert_eq!(serde_json::from_str::<Pod>(&written).ok().as_ref(), Some(pod), "{written}");
    let spec = pod.spec.as_ref().expect("a valid pod has a spec");
    assert_eq!(spec.node_name.as_deref(), Some("node-1"));
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    assert!(
        !uid.is_empty() && uid.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/'),
        "UID {uid:?}"
    );
}

/// Two files, which then change places, break, and come back.
fn folder(first: &[u8], later: &[u8]) {
    let (one, other) = ("/manifests/a.yaml", "/manifests/b.yaml");
    let files = |states: [FileState; 2]| {
        Listing::Files(BTreeMap::from_iter([one, other].map(str::to_owned).into_iter().zip(states)))
    };
    let content = |bytes: &[u8]| FileState::Content(bytes.to_vec());
    let mut folder = Folder::new(SourceName::file(), "node-1".to_owned(), "/manifests".to_owned());

    let seen = folder.observe(files([content(first), content(later)]));
    let pods = seen.pods.expect("the first check brings a set");
    let names: BTreeSet<PodFullName> = pods.iter().map(|pod| PodFullName::of(pod)).collect();
    assert_eq!(names.len(), pods.len(), "each name is there once");
    let are_good = read(first, one).is_ok() && read(later, other).is_ok();
    assert_eq!(seen.complete, are_good);

    for again in
        [files([FileState::Unchanged, FileState::Unchanged]), files([content(first), content(later)])]
    {
        let again = folder.observe(again);
        assert!(again.pods.is_none() && again.reports.is_empty(), "nothing changed");
        assert_eq!(again.complete, seen.complete);
    }
    let broken = folder.observe(files([content(b"{"), FileState::Unreadable("gone".to_owned())]));
    assert!(broken.pods.is_none(), "files that broke keep their pods");
    let back = folder.observe(files([content(first), content(later)]));
    assert!(back.pods.is_none(), "and have the same ones afterwards");

    let turned = folder.observe(files([content(later), content(first)]));
    let turned = turned.pods.unwrap_or_else(|| pods.clone());
    if are_good {
        let turned: BTreeSet<PodFullName> = turned.iter().map(|pod| PodFullName::of(pod)).collect();
        assert_eq!(turned, names, "the same names, whichever file they are in");
    }
    let gone = folder.observe(Listing::Missing).pods.unwrap_or_default();
    assert_eq!(gone, Vec::<Arc<Pod>>::new());
}
