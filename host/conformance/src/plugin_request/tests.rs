//! Defaults of questions.

use super::*;

#[test]
fn the_plain_node_and_the_plain_pod_can_be_read() {
    let node = node_default();
    assert_eq!(node.node.metadata.name.as_deref(), Some(NODE_NAME));
    let containers = plain_pod().spec.map(|spec| spec.containers.len());
    assert_eq!(containers, Some(1));
}

#[test]
fn a_probe_goes_where_the_servers_are_unless_it_says_otherwise() {
    let address = IpAddr::from([127, 0, 0, 7]);
    let request =
        || ProbeRequest { parameters: r#"{"at":"${ADDRESS}"}"#.into(), ..probe_request(plain_pod()) };
    let asked = |question: PluginRequest| match question.placed(address) {
        PluginRequest::Probe { request, .. } => (request.parameters.to_string(), request.pod_ips),
        other => panic!("{other:?}"),
    };
    let parameters = || r#"{"at":"127.0.0.7"}"#.to_owned();
    assert_eq!(asked(PluginRequest::probe(request())), (parameters(), vec![address]));
    let elsewhere = PluginRequest::Probe { request: Box::new(request()), own_address: false };
    assert_eq!(asked(elsewhere), (parameters(), Vec::new()));
}
