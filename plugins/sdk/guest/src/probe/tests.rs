//! Tests that the target leads to the facts it names.

use std::time::Duration;

use serde_json::json;

use super::{ExecError, NamedPort, Output, ProbeKind};
use crate::Error;
use crate::facts::TargetFacts;

#[test]
fn getters_lead_to_the_facts_of_their_name() {
    let port = NamedPort { name: "web".to_owned(), port: 80, protocol: "TCP".to_owned() };
    let facts = TargetFacts {
        manifest: json!({"metadata": {"labels": {"app": "web"}}}),
        container: "side".to_owned(),
        container_id: "c1".to_owned(),
        restarts: 3,
        pod_ips: vec!["10.0.0.7".to_owned(), "fd00::7".to_owned()],
        host_ips: vec!["192.0.2.1".to_owned()],
        named_ports: vec![port.clone()],
        kind: ProbeKind::Startup,
        remaining: Duration::from_millis(1_500),
        ..TargetFacts::default()
    };
    let target = facts.target();
    assert_eq!((target.container(), target.container_id()), ("side".to_owned(), "c1".to_owned()));
    assert_eq!((target.restarts(), target.kind()), (3, ProbeKind::Startup));
    assert_eq!((target.pod_ips(), target.host_ips()), (facts.pod_ips.clone(), facts.host_ips.clone()));
    assert_eq!((target.named_ports(), target.remaining()), (vec![port], Duration::from_millis(1_500)));
    assert_eq!(target.at::<String>("/metadata/labels/app").expect("text").as_deref(), Some("web"));
    assert_eq!(target.at::<String>("/metadata/name").expect("nothing"), None);
    assert!(target.at::<u8>("/metadata/labels/app").is_err());
    assert!(target.pod_json().contains("labels"));
}

#[test]
fn the_host_is_the_one_that_is_named_or_the_pods_first_address() {
    let host = |named: Option<&str>, pod_ips: &[&str]| {
        let pod_ips = pod_ips.iter().map(|ip| (*ip).to_owned()).collect();
        let facts = TargetFacts { pod_ips, ..TargetFacts::default() };
        facts.target().host_or_pod_ip(named).map_err(|error| error.to_string())
    };
    let none = Err("the pod has no IP address".to_owned());
    let cases = [
        (None, &["10.0.0.7", "fd00::7"][..], Ok("10.0.0.7".to_owned())),
        (Some(""), &["fd00::7"], Ok("fd00::7".to_owned())),
        (Some("example.org"), &["10.0.0.7"], Ok("example.org".to_owned())),
        (Some("example.org"), &[], Ok("example.org".to_owned())),
        (None, &[], none.clone()),
        (None, &[""], none),
    ];
    for (named, pod_ips, expected) in cases {
        assert_eq!(host(named, pod_ips), expected, "{named:?} {pod_ips:?}");
    }
    assert!(matches!(TargetFacts::default().target().pod_ip(), Err(Error::NoAddress)));
}

#[test]
fn a_command_comes_to_what_the_facts_say() {
    let command = vec!["cat".to_owned(), "/tmp/healthy".to_owned()];
    let ran = Ok(Output { exit_code: 1, output: b"no such file".to_vec() });
    let facts = TargetFacts { commands: vec![(command.clone(), ran.clone())], ..TargetFacts::default() };
    assert_eq!(facts.target().exec(&command), ran);
    assert!(matches!(facts.target().exec(&command[..1]), Err(ExecError::Failed { .. })));
}
