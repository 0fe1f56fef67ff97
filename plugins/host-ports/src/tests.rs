//! Tests of the handler on whole requests.

use witlet_plugin_sdk::facts::{NodeFacts, PodFacts, RequestFacts};
use witlet_plugin_sdk::{AdmissionHandler, HostPort, Verdict};

use super::{HostPorts, MESSAGE, REASON};

fn verdict(requested: &[u16], used: &[u16]) -> Verdict {
    let ports = |numbers: &[u16]| -> Vec<HostPort> {
        let port =
            |port: &u16| HostPort { ip: "0.0.0.0".to_owned(), protocol: "TCP".to_owned(), port: *port };
        numbers.iter().map(port).collect()
    };
    let facts = RequestFacts {
        pod: PodFacts { host_ports: ports(requested), ..PodFacts::default() },
        node: NodeFacts { used_host_ports: ports(used), ..NodeFacts::default() },
        ..RequestFacts::default()
    };
    HostPorts::admit(&facts.request(), &()).expect("a verdict")
}

#[test]
fn a_pod_is_rejected_only_if_a_port_of_its_own_is_taken() {
    assert_eq!(verdict(&[], &[80]), Verdict::Admit);
    assert_eq!(verdict(&[80], &[]), Verdict::Admit);
    assert_eq!(verdict(&[80, 81], &[82]), Verdict::Admit);
    assert_eq!(verdict(&[81, 80], &[80]), Verdict::reject(REASON, MESSAGE));
}
