//! Names and attributes of spans of requests.

use super::*;
use crate::trace::AttributeValue;

fn shown(start: &SpanStart) -> String {
    let attributes = start.attributes.iter().map(|attribute| match &attribute.value {
        AttributeValue::Text(text) => format!("{}={text}", attribute.name),
        AttributeValue::Int(number) => format!("{}={number}", attribute.name),
    });
    format!("{:?} {}: {}", start.kind, start.name, attributes.collect::<Vec<_>>().join(" "))
}

const REQUEST: ServerRequest<'static> = ServerRequest {
    method: "GET",
    path: "/containerLogs/default/web/app",
    route: Some("/containerLogs/{podNamespace}/{podID}/{containerName}"),
    is_https: true,
    port: Some(10250),
    peer: SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7)), 40000),
    user_agent: Some("kube-apiserver"),
    forwarded_for: None,
    version: "2.0",
};

#[test]
fn a_request_that_is_answered_has_upstreams_attributes() {
    assert_eq!(
        shown(&server(&REQUEST)),
        "Server /containerLogs/{podNamespace}/{podID}/{containerName}: server.address=kubelet http.request.method=GET \
         url.scheme=https server.port=10250 network.peer.address=192.0.2.7 network.peer.port=40000 \
         user_agent.original=kube-apiserver client.address=192.0.2.7 url.path=/containerLogs/default/web/app \
         network.protocol.version=2.0 http.route=/containerLogs/{podNamespace}/{podID}/{containerName}"
    );
    let bare = ServerRequest {
        method: "brew",
        route: None,
        is_https: false,
        port: Some(80),
        user_agent: None,
        forwarded_for: Some("203.0.113.9, 10.0.0.1"),
        version: "1.1",
        ..REQUEST
    };
    assert_eq!(
        shown(&server(&bare)),
        "Server : server.address=kubelet http.request.method=GET url.scheme=http http.request.method_original=brew \
         network.peer.address=192.0.2.7 network.peer.port=40000 client.address=203.0.113.9 \
         url.path=/containerLogs/default/web/app network.protocol.version=1.1"
    );
}

#[test]
fn a_request_to_the_api_server_has_upstreams_attributes() {
    let request = ClientRequest {
        method: "PATCH",
        url: "https://api.example:6443/api/v1/nodes/n?x=1",
        host: "api.example",
        port: Some(6443),
        is_https: true,
    };
    assert_eq!(
        shown(&client(&request)),
        "Client HTTP PATCH: http.request.method=PATCH url.full=https://api.example:6443/api/v1/nodes/n?x=1 \
         server.address=api.example server.port=6443"
    );
}

#[test]
fn codes_are_errors_of_the_side_that_made_them() {
    let unset = || SpanStatus::Unset;
    let error = |message: &str| SpanStatus::Error(message.to_owned());
    for (code, of_server, of_client) in [
        (200, unset(), unset()),
        (101, unset(), unset()),
        (404, unset(), error("")),
        (500, error(""), error("")),
        (599, error(""), error("")),
        (99, error("Invalid HTTP status code 99"), error("Invalid HTTP status code 99")),
        (600, error("Invalid HTTP status code 600"), error("Invalid HTTP status code 600")),
    ] {
        assert_eq!(server_end(code).1, of_server, "{code}");
        assert_eq!(client_end(code).1, of_client, "{code}");
        let names = client_end(code).0.into_iter().map(|attribute| attribute.name);
        let expected: &[&str] = if of_client == unset() {
            &["http.response.status_code"]
        } else {
            &["http.response.status_code", "error.type"]
        };
        assert_eq!(names.collect::<Vec<_>>(), expected, "{code}");
    }
}

#[test]
fn what_a_client_says_is_cut() {
    let long = "x".repeat(2 * crate::trace::VALUE_BYTES_MAX);
    let start = server(&ServerRequest { path: &long, ..REQUEST });
    let path = start.attributes.iter().find(|attribute| attribute.name == "url.path").expect("there");
    assert_eq!(path.value, AttributeValue::Text("x".repeat(crate::trace::VALUE_BYTES_MAX)));
}
