//! What probes of the spec come to.

use k8s_openapi::api::core::v1::{
    ContainerPort, ExecAction, GRPCAction, HTTPGetAction, HTTPHeader, TCPSocketAction,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::super::Scheme;
use super::*;

fn container() -> Container {
    let port = |name: &str, container_port| ContainerPort {
        name: Some(name.to_owned()),
        container_port,
        host_port: Some(1),
        ..ContainerPort::default()
    };
    Container {
        name: "a".to_owned(),
        ports: Some(vec![port("web", 8080), port("none", 0), port("80", 8000)]),
        ..Container::default()
    }
}

fn int(port: i32) -> IntOrString {
    IntOrString::Int(port)
}

fn name(port: &str) -> IntOrString {
    IntOrString::String(port.to_owned())
}

fn get(path: &str, port: IntOrString) -> Probe {
    let get = HTTPGetAction { path: Some(path.to_owned()), port, ..HTTPGetAction::default() };
    Probe { http_get: Some(get), ..Probe::default() }
}

fn of(probe: &Probe) -> Result<ProbeCheck, TargetError> {
    check(probe, &container(), Some("10.0.0.7"))
}

#[test]
fn ports_are_numbers_names_or_digits() {
    let unknown = |name: &str| TargetError::UnknownPort { name: name.to_owned() };
    let cases = [
        (int(80), Ok(80)),
        (int(65535), Ok(65535)),
        (int(0), Err(TargetError::InvalidPort { port: 0 })),
        (int(-1), Err(TargetError::InvalidPort { port: -1 })),
        (int(65536), Err(TargetError::InvalidPort { port: 65536 })),
        (name("web"), Ok(8080)),
        (name("none"), Err(TargetError::InvalidPort { port: 0 })),
        (name("80"), Ok(8000)),
        (name("81"), Ok(81)),
        (name("dns"), Err(unknown("dns"))),
        (name(""), Err(unknown(""))),
        (name("118888888888"), Err(TargetError::InvalidPort { port: 118_888_888_888 })),
    ];
    for (port, expected) in cases {
        let socket = TCPSocketAction { port: port.clone(), host: None };
        let probe = Probe { tcp_socket: Some(socket), ..Probe::default() };
        let expected = expected.map(|port| ProbeCheck::TcpSocket { host: "10.0.0.7".to_owned(), port });
        assert_eq!(of(&probe), expected, "{port:?}");
    }
}

#[test]
fn paths_are_sent_as_go_would_send_them() {
    let cases = [
        ("", "/"),
        ("/", "/"),
        ("/healthz", "/healthz"),
        ("healthz", "/healthz"),
        ("/a?b=c&d", "/a?b=c&d"),
        ("?x", "/?x"),
        ("/a#fragment", "/a"),
        ("/a b", "/a%20b"),
        ("/a%20b", "/a%20b"),
        ("/%zz?x", "/%25zz%3Fx"),
        ("/ü", "/%C3%BC"),
        ("/a?q=ü z", "/a?q=%C3%BC%20z"),
        ("http://other:1/path?q", "/path?q"),
        ("http://other", "/"),
        ("//other/path", "/path"),
        ("/a//b/../c", "/a//b/../c"),
        ("/a\r\nHost: evil", "/a%0D%0AHost:%20evil"),
    ];
    for (path, expected) in cases {
        let Ok(ProbeCheck::HttpGet { path: sent, .. }) = of(&get(path, int(80))) else { panic!("{path}") };
        assert_eq!(sent, expected, "{path:?}");
    }
}

#[test]
fn headers_have_defaults_that_the_spec_overrides() {
    let all = ["User-Agent: kube-probe/1.36", "Accept: */*"];
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);
    let cases: [Case<'_>; 9] = [
        (&[], &all),
        (&[("X-A", "1"), ("X-A", "2")], &["X-A: 1", "X-A: 2", all[0], all[1]]),
        (&[("user-agent", "me")], &["user-agent: me", all[1]]),
        (&[("User-Agent", "")], &[all[1]]),
        (&[("Accept", "")], &[all[0]]),
        (&[("accept", "text/html")], &["accept: text/html", all[0]]),
        (&[("host", "example.org")], &["Host: example.org", all[0], all[1]]),
        (&[("Host", "a"), ("Host", "b")], &["Host: a", all[0], all[1]]),
        (&[("Host", "")], &all),
    ];
    for (given, expected) in cases {
        let header = |(name, value): &(&str, &str)| HTTPHeader {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
        };
        let mut probe = get("/", int(80));
        let action = probe.http_get.as_mut().expect("it has one");
        action.http_headers = Some(given.iter().map(header).collect());
        let Ok(ProbeCheck::HttpGet { headers, .. }) = of(&probe) else { panic!("{given:?}") };
        let sent: Vec<String> = headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        assert_eq!(sent, expected, "{given:?}");
    }
}

#[test]
fn schemes_are_http_and_https_in_any_case() {
    let unknown = TargetError::UnknownScheme { scheme: "ftp".to_owned() };
    let cases = [
        (None, Ok(Scheme::Http)),
        (Some(""), Ok(Scheme::Http)),
        (Some("HTTP"), Ok(Scheme::Http)),
        (Some("HTTPS"), Ok(Scheme::Https)),
        (Some("https"), Ok(Scheme::Https)),
        (Some("ftp"), Err(unknown)),
    ];
    for (scheme, expected) in cases {
        let mut probe = get("/", int(80));
        probe.http_get.as_mut().expect("it has one").scheme = scheme.map(str::to_owned);
        let found = of(&probe).map(|check| match check {
            ProbeCheck::HttpGet { scheme, .. } => scheme,
            other => panic!("{other:?}"),
        });
        assert_eq!(found, expected, "{scheme:?}");
    }
}

#[test]
fn a_host_that_isnt_named_is_the_pods_address() {
    let cases = [
        (None, Some("10.0.0.7"), Ok("10.0.0.7")),
        (Some(""), Some("fd00::7"), Ok("fd00::7")),
        (Some("example.org"), Some("10.0.0.7"), Ok("example.org")),
        (Some("example.org"), None, Ok("example.org")),
        (None, None, Err(TargetError::NoAddress)),
        (None, Some(""), Err(TargetError::NoAddress)),
    ];
    for (host, pod_ip, expected) in cases {
        let socket = TCPSocketAction { port: int(1), host: host.map(str::to_owned) };
        let probe = Probe { tcp_socket: Some(socket), ..Probe::default() };
        let expected = expected.map(|host: &str| ProbeCheck::TcpSocket { host: host.to_owned(), port: 1 });
        assert_eq!(check(&probe, &container(), pod_ip), expected, "{host:?} {pod_ip:?}");
    }
}

#[test]
fn commands_and_grpc_services_are_taken_as_they_are() {
    let exec = ExecAction { command: Some(vec!["cat".to_owned(), "$(A)".to_owned()]) };
    let probe = Probe { exec: Some(exec), ..Probe::default() };
    let expected = ProbeCheck::Exec { command: vec!["cat".to_owned(), "$(A)".to_owned()] };
    assert_eq!(check(&probe, &container(), None), Ok(expected), "needs no address");

    let grpc = |port, service: Option<&str>| Probe {
        grpc: Some(GRPCAction { port, service: service.map(str::to_owned) }),
        ..Probe::default()
    };
    let found = |service: &str| ProbeCheck::Grpc {
        host: "10.0.0.7".to_owned(),
        port: 9,
        service: service.to_owned(),
    };
    assert_eq!(of(&grpc(9, Some("db"))), Ok(found("db")));
    assert_eq!(of(&grpc(9, None)), Ok(found("")));
    assert_eq!(of(&grpc(0, None)), Err(TargetError::InvalidPort { port: 0 }));
    assert_eq!(of(&Probe::default()), Err(TargetError::NoHandler));
}
