//! What hooks of the spec come to.

use k8s_openapi::api::core::v1::{
    ContainerPort, ExecAction, HTTPGetAction, HTTPHeader, SleepAction, TCPSocketAction,
};

use super::*;

fn container() -> Container {
    let port =
        ContainerPort { name: Some("web".to_owned()), container_port: 8080, ..ContainerPort::default() };
    Container { ports: Some(vec![port]), ..Container::default() }
}

fn get(get: HTTPGetAction, pod_ip: Option<&str>) -> Result<HttpHook, TargetError> {
    let handler = LifecycleHandler { http_get: Some(get), ..LifecycleHandler::default() };
    hook(&handler, &container(), pod_ip).map(|hook| match hook {
        Hook::HttpGet(request) => request,
        other => panic!("{other:?}"),
    })
}

#[test]
fn a_request_has_every_reference_resolved() {
    let header = HTTPHeader { name: "Authorization".to_owned(), value: "secret".to_owned() };
    let action = HTTPGetAction {
        host: None,
        http_headers: Some(vec![header]),
        path: Some("stop?now".to_owned()),
        port: IntOrString::String("web".to_owned()),
        scheme: Some("HTTPS".to_owned()),
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let expected = HttpHook {
        scheme: Scheme::Https,
        host: "10.0.0.7".to_owned(),
        port: 8080,
        path: "/stop?now".to_owned(),
        headers: vec![
            pair("Authorization", "secret"),
            pair("User-Agent", "kube-lifecycle/1.36"),
            pair("Accept", "*/*"),
        ],
    };
    assert_eq!(get(action.clone(), Some("10.0.0.7")), Ok(expected));
    assert_eq!(get(action, None), Err(http::TargetError::NoAddress.into()));
}

#[test]
fn ports_and_schemes_have_defaults() {
    let port = |port| HTTPGetAction { port, host: Some("localhost".to_owned()), ..HTTPGetAction::default() };
    let cases = [
        (IntOrString::String(String::new()), Ok(80)),
        (IntOrString::Int(81), Ok(81)),
        (IntOrString::String("82".to_owned()), Ok(82)),
        (IntOrString::String("ftp".to_owned()), Err(TargetError::UnknownPort { name: "ftp".to_owned() })),
        (IntOrString::Int(0), Err(http::TargetError::InvalidPort { port: 0 }.into())),
    ];
    for (given, expected) in cases {
        let found = get(port(given.clone()), None);
        assert_eq!(found.as_ref().map(|hook| hook.port), expected.as_ref().map(|port| *port), "{given:?}");
        assert!(found.is_err() || found.is_ok_and(|hook| hook.scheme == Scheme::Http));
    }
}

#[test]
fn commands_and_sleeps_need_no_address() {
    let exec = ExecAction { command: Some(vec!["stop".to_owned()]) };
    let exec = LifecycleHandler { exec: Some(exec), ..LifecycleHandler::default() };
    assert_eq!(hook(&exec, &container(), None), Ok(Hook::Exec { command: vec!["stop".to_owned()] }));
    for (seconds, expected) in [(5, 5), (0, 0), (-5, 0)] {
        let sleep = LifecycleHandler { sleep: Some(SleepAction { seconds }), ..LifecycleHandler::default() };
        assert_eq!(hook(&sleep, &container(), None), Ok(Hook::Sleep(Duration::from_secs(expected))));
    }
}

#[test]
fn a_hook_that_does_nothing_is_an_error() {
    assert_eq!(
        hook(&LifecycleHandler::default(), &container(), Some("10.0.0.7")),
        Err(TargetError::NoHandler)
    );
    let socket = TCPSocketAction { port: IntOrString::Int(80), host: None };
    let tcp = LifecycleHandler { tcp_socket: Some(socket), ..LifecycleHandler::default() };
    assert_eq!(hook(&tcp, &container(), Some("10.0.0.7")), Err(TargetError::TcpSocketHook));
}
