//! Which rows a watch of pods prints.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;

struct Epoch;

impl Clock for Epoch {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

fn args(namespace: Option<&str>) -> GetArgs {
    GetArgs {
        name: None,
        namespace: namespace.map(str::to_owned),
        output: OutputFormat::Table,
        api_socket: "/nowhere".into(),
    }
}

fn change(kind: &str, phase: &str) -> Change {
    let object = json!({
        "metadata": {"name": "web-node1", "namespace": "default", "uid": "u-1", "creationTimestamp": "1970-01-01T00:00:00Z"},
        "spec": {"containers": [{"name": "app"}]}, "status": {"phase": phase},
    });
    Change { kind: kind.to_owned(), object }
}

#[test]
fn a_row_is_printed_when_it_differs_and_when_its_pod_is_gone() {
    let args = args(None);
    let mut watched = PodWatch { args: &args, clock: &Epoch, shown: BTreeMap::new() };
    let mut status = |kind: &str, phase: &str| -> Option<String> {
        let line = watched.show(change(kind, phase)).expect("it is a pod")?;
        line.split_whitespace().nth(3).map(str::to_owned)
    };
    assert_eq!(status("ADDED", "Pending").as_deref(), Some("Pending"));
    assert_eq!(status("MODIFIED", "Running").as_deref(), Some("Running"));
    assert_eq!(status("MODIFIED", "Running"), None, "nothing that is shown has changed");
    assert_eq!(status("ADDED", "Running"), None, "the agent was started again");
    assert_eq!(status("DELETED", "Running").as_deref(), Some("Deleted"));
    assert_eq!(status("ADDED", "Running").as_deref(), Some("Running"));
}

#[test]
fn pods_of_other_namespaces_are_left_out() {
    let args = args(Some("kube-system"));
    let mut watched = PodWatch { args: &args, clock: &Epoch, shown: BTreeMap::new() };
    assert_eq!(watched.show(change("ADDED", "Running")).expect("it is a pod"), None);
    let no_pod = Change { kind: "ADDED".to_owned(), object: Value::from("text") };
    assert!(watched.show(no_pod).is_err());
}
